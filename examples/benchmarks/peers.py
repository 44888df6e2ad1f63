"""The methods graphsoft is compared with, each a function ``(graph, features, k) -> labels``.

Every graph method gets the same weighted graph as graphsoft does. `ward_free` and `kmeans` see the features
only. A bare graph has no features, so there they run on `spectral_features`. All are deterministic. They need
the ``bench`` extra.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Graph = Any  # a symmetric scipy sparse adjacency (n, n)
Features = Any  # an array (n, d), or a scipy sparse matrix (n, d)
Peer = Callable[[Graph, Features, int], Labels]

LEIDEN_TRIES = 30
TEXT_DIMENSIONS = 100


def spectral(graph: Graph, features: Features, k: int) -> Labels:
    """Spectral clustering of scikit-learn with its defaults (k eigenvectors, then k-means)."""
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(n_clusters=k, affinity="precomputed", random_state=0)
    return model.fit_predict(_int32_matrix(graph)).astype(np.int64)


def leiden(graph: Graph, features: Features, k: int) -> Labels:
    """Leiden, with the resolution of its modularity searched until there are k clusters.

    The resolution is bisected on a log scale. Once there are k clusters, the midpoints on both sides are
    tried too, and the run of highest modularity among those with k clusters is returned. If no run has k
    clusters, it is the run with the nearest number.
    """
    import igraph
    import leidenalg

    upper = sp.coo_array(sp.triu(graph))
    network = igraph.Graph(graph.shape[0], np.column_stack(upper.coords).tolist())
    weights = upper.data.tolist()
    runs: list[tuple[int, float, Labels]] = []

    def clusters_at(log_resolution: float) -> int:
        partition = leidenalg.find_partition(
            network,
            leidenalg.RBConfigurationVertexPartition,
            weights=weights,
            resolution_parameter=math.exp(log_resolution),
            seed=0,
        )
        labels = np.asarray(partition.membership, dtype=np.int64)
        runs.append((-abs(len(partition) - k), network.modularity(labels, weights=weights), labels))
        return len(partition)

    low, high, middle = math.log(1e-4), math.log(1e4), 0.0
    for _ in range(LEIDEN_TRIES):
        found = clusters_at(middle)
        if found == k:
            clusters_at((low + middle) / 2)
            clusters_at((middle + high) / 2)
            break
        low, high = (middle, high) if found < k else (low, middle)
        middle = (low + high) / 2
    return max(runs, key=lambda run: run[:2])[2]


def paris(graph: Graph, features: Features, k: int) -> Labels:
    """Paris agglomeration of scikit-network, its tree cut into k clusters."""
    from sknetwork.hierarchy import Paris, cut_straight

    dendrogram = Paris(reorder=False).fit_predict(_int32_matrix(graph))
    heights = dendrogram[:, 2].copy()
    n = graph.shape[0]
    for row, children in enumerate(dendrogram[:, :2].astype(np.int64)):
        merges = children[children >= n] - n
        heights[row] = max([heights[row], *heights[merges]])  # rounding can put a child above its parent
    # Components join at infinite height and ties are common. A cut by rank always gives k clusters.
    dendrogram[np.argsort(heights, kind="stable"), 2] = np.arange(n - 1)
    return np.asarray(cut_straight(dendrogram, n_clusters=k), dtype=np.int64)


def ward(graph: Graph, features: Features, k: int) -> Labels:
    """Ward agglomeration that merges only along the edges of the graph."""
    return _ward(_dense(graph, features, k), k, connectivity=_int32_matrix(graph))


def ward_free(graph: Graph, features: Features, k: int) -> Labels:
    """Ward agglomeration of the features, where any two clusters may merge."""
    return _ward(_dense(graph, features, k), k, connectivity=None)


def kmeans(graph: Graph, features: Features, k: int) -> Labels:
    """k-means of the features, the best of ten starts."""
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters=k, n_init=10, random_state=0)
    return model.fit_predict(_dense(graph, features, k)).astype(np.int64)


PEERS: dict[str, Peer] = {
    "spectral": spectral,
    "leiden": leiden,
    "paris": paris,
    "ward": ward,
    "ward_free": ward_free,
    "kmeans": kmeans,
}


def run(name: str, graph: Graph, features: Features | None, k: int) -> Labels:
    """Run one peer without its warnings, such as those of disconnected graphs, which are ordinary here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PEERS[name](graph, features, k)


def spectral_features(graph: Graph, k: int) -> NDArray[np.float64]:
    """Return the k leading eigenvectors of ``D^-1/2 W D^-1/2`` as an array (n, k), for bare graphs."""
    from scipy.sparse.linalg import eigsh

    adjacency = sp.csr_array(graph, dtype=np.float64)
    n = adjacency.shape[0]
    degrees = adjacency.sum(axis=1)
    scale = sp.diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
    normalized = scale @ adjacency @ scale
    if n <= 1500:  # the dense solver is exact and fast, and never fails on repeated eigenvalues
        return np.linalg.eigh(normalized.toarray())[1][:, -k:]
    # The shift makes the largest eigenvalues those of largest modulus too.
    shifted = normalized + sp.eye_array(n)
    return eigsh(shifted, k=k, which="LA", v0=np.ones(n))[1]


def _ward(points: NDArray[np.float64], k: int, connectivity: Graph | None) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(n_clusters=k, linkage="ward", connectivity=connectivity)
    return model.fit_predict(points).astype(np.int64)


def _dense(graph: Graph, features: Features | None, k: int) -> NDArray[np.float64]:
    """Return points for the feature methods; text is reduced to 100 singular directions, rows of length 1."""
    if features is None:
        return spectral_features(graph, k)
    if not sp.issparse(features):
        return np.asarray(features, dtype=np.float64)
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    directions = min(TEXT_DIMENSIONS, min(features.shape) - 1)
    reduced = TruncatedSVD(directions, random_state=0).fit_transform(_int32_matrix(features))
    return np.asarray(normalize(reduced))


def _int32_matrix(matrix: Any) -> sp.csr_matrix:
    """Copy as a float64 csr_matrix with int32 indices, the only form that all peers take."""
    csr = sp.csr_matrix(matrix, dtype=np.float64, copy=True)
    csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return csr
