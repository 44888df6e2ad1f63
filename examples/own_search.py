"""Let another library find the neighbors: usearch, wrapped in fifteen lines.

    pip install usearch
    python examples/own_search.py [--points 30000] [--features 64]

The argument ``neighbors=`` of graphsoft takes any object with the interface of scikit-learn's transformers:
``fit_transform(X)`` returns a sparse matrix of the distances from each point to its neighbors, and
``transform(new)`` returns those from new points to the old ones. scikit-learn's
``KNeighborsTransformer(mode="distance")`` and pynndescent's ``PyNNDescentTransformer`` are such objects
already. :class:`Usearch` below makes one of an index of usearch; hnswlib or faiss can be wrapped in the same
way. The graph of usearch is not the same each time, because usearch adds points on several threads.

The script prints the seconds for the graph and the recall: the share of the exact neighbors that was found,
for 1000 points. It also prints how well the clusters agree with those that the points were drawn from.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp

import graphsoft

NEIGHBORS = 10


class Usearch:
    """An index of usearch as a transformer. The index is made in `fit_transform`, and kept for new points."""

    def __init__(self, n_neighbors=NEIGHBORS + 1):  # one more, because a point finds itself
        self.n_neighbors = n_neighbors

    def fit_transform(self, X):
        """Make the index, and find the neighbors of its own points."""
        from usearch.index import Index

        self.index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
        self.index.add(np.arange(len(X)), np.asarray(X, dtype=np.float32))
        return self.transform(X)

    def transform(self, X):
        """Find neighbors among the points of the index."""
        found = self.index.search(np.asarray(X, dtype=np.float32), self.n_neighbors)
        rows = np.repeat(np.arange(len(X)), found.counts)
        there = np.arange(self.n_neighbors) < found.counts[:, None]
        ends = (rows, found.keys[there].astype(np.int64))
        return sp.csr_array((np.sqrt(found.distances[there]), ends), shape=(len(X), len(self.index)))


def clouds(points, features, clusters=40, inner=10):
    """Draw points of clusters that vary in few directions each, as embeddings do."""
    rng = np.random.default_rng(0)
    truth = rng.integers(clusters, size=points)
    centers = 2 * rng.normal(size=(clusters, features)) * np.sqrt(inner / features)
    planes = rng.normal(size=(clusters, inner, features)) / np.sqrt(features)
    X = centers[truth] + 0.05 * rng.normal(size=(points, features))
    for cluster in range(clusters):
        rows = np.flatnonzero(truth == cluster)
        X[rows] += rng.normal(size=(len(rows), inner)) @ planes[cluster]
    return X.astype(np.float32), truth


def recall(X, finder, sample=1000):
    """Compute the share of the exact nearest neighbors of some points that the finder finds."""
    rows = np.random.default_rng(1).choice(len(X), min(sample, len(X)), replace=False)
    found = finder.transform(X[rows])
    lengths, hits = np.square(X, dtype=np.float64).sum(axis=1), 0
    for place, row in enumerate(rows):
        distances = lengths - 2.0 * (X @ X[row])  # squared, but for a constant
        distances[row] = np.inf
        exact = np.argpartition(distances, NEIGHBORS)[:NEIGHBORS]
        hits += len(np.intersect1d(exact, found.indices[found.indptr[place] : found.indptr[place + 1]]))
    return hits / (NEIGHBORS * len(rows))


def fit(X, finder):
    """Return the seconds that the graph takes, and the hierarchy."""
    graphsoft.hierarchy(X[:500], [40], neighbors=finder)  # compiles
    began = time.perf_counter()
    graphsoft.knn_graph(X, NEIGHBORS, neighbors=finder)
    seconds = time.perf_counter() - began
    return seconds, graphsoft.hierarchy(X, [200, 40], n_neighbors=NEIGHBORS, neighbors=finder)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=30_000)
    parser.add_argument("--features", type=int, default=64)
    options = parser.parse_args()
    X, truth = clouds(options.points + 500, options.features)
    X, new, truth, truth_of_new = X[:-500], X[-500:], truth[:-500], truth[-500:]
    finder = Usearch()
    own_seconds, own = fit(X, None)
    other_seconds, other = fit(X, finder)
    print(f"{len(X)} points with {X.shape[1]} features, {NEIGHBORS} neighbors")
    print("search     seconds for the graph  recall  NMI of clusters  NMI of 500 new points")
    for name, seconds, found, h in (
        ("graphsoft", own_seconds, "", own),
        ("usearch", other_seconds, f"{recall(X, finder):.3f}", other),
    ):
        score = graphsoft.metrics.nmi(truth, h[-1].labels)
        score_of_new = graphsoft.metrics.nmi(truth_of_new, h.predict(new))
        print(f"{name:9}  {seconds:21.2f}  {found:>6}  {score:15.3f}  {score_of_new:21.3f}")
    print(f"one against the other: NMI {graphsoft.metrics.nmi(own[-1].labels, other[-1].labels):.3f}")
    print(other.report.notes[0])


if __name__ == "__main__":
    main()
