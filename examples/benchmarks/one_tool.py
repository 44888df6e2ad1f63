"""Time one tool on a graph in a file, or on points; print as JSON what it took and what it found.

    python examples/benchmarks/one_tool.py TOOL [--file GRAPH]

``speed.py`` starts this script once for each tool. A tool first works on a small set, so that everything is
imported and compiled. With ``--file`` it clusters the graph that ``planted.py`` wrote, otherwise points
around centers that are far apart.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from planted import held_bytes, load, separate_points
from processes import measured

import graphsoft
from graphsoft import metrics, patterns

LEVELS = [100, 20, 10]
FEW_LEVELS, MANY_LEVELS = [100, 10], [10_000, 1_000, 100, 10]
POINTS, SMALL_POINTS = (20_000, 200), (2_000, 20)  # and centers
MIN_CLUSTER = 25  # with such centers hdbscan then finds about as many clusters
SHORT = 2.0  # seconds; a tool that takes less runs again, up to three times


# ------------------------------------------------------------------------------------------- graphs


def hierarchy_of(levels):
    """Return a function that finds levels of these sizes by graphsoft."""

    def run(W):
        fitting = [count for count in levels if count < W.shape[0]]  # the small graph has no room for all
        return graphsoft.hierarchy(W, levels=fitting, affinity="precomputed")[-1].labels

    return run


def igraph_network(W):
    """Build igraph's graph of the upper half, and the weights of its edges."""
    import igraph

    upper = sp.triu(W, format="coo")
    network = igraph.Graph(n=W.shape[0], edges=np.column_stack([upper.row, upper.col]))
    return network, upper.data


def leiden(W):
    network, weights = igraph_network(W)
    return network.community_leiden("modularity", weights=weights, n_iterations=2).membership


def leidenalg_partition(W):
    import leidenalg

    network, weights = igraph_network(W)
    kind = leidenalg.ModularityVertexPartition
    return leidenalg.find_partition(network, kind, weights=weights, n_iterations=2, seed=0).membership


def leiden_to_k(W, count=10):
    """Search the resolution until Leiden finds this many clusters."""
    network, weights = igraph_network(W)
    low, high = 1e-3, 1e3
    for _ in range(30):
        resolution = (low * high) ** 0.5
        found = network.community_leiden("modularity", weights=weights, resolution=resolution, n_iterations=2)
        if len(found) == count:
            break
        low, high = (resolution, high) if len(found) < count else (low, resolution)
    return found.membership


def paris(W):
    from sknetwork.hierarchy import Paris, cut_straight

    return cut_straight(Paris(reorder=False).fit_predict(W), 10)


def spectral(W):
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(100, affinity="precomputed", random_state=0).fit_predict(W)


ON_GRAPHS = {
    "graphsoft": hierarchy_of(LEVELS),
    "igraph Leiden": leiden,
    "leidenalg": leidenalg_partition,
    "Leiden searched to 10": leiden_to_k,
    "Paris": paris,
    "spectral, 100": spectral,
}
MANY = {f"graphsoft {levels}": hierarchy_of(levels) for levels in (FEW_LEVELS, MANY_LEVELS)}


# ------------------------------------------------------------------------------------------- points


def as_given(points, clusters):
    return points, clusters


def graphsoft_from_points(given):
    points, clusters = given
    return graphsoft.hierarchy(points, [clusters])[0].labels


def neighbor_graph(points, clusters):
    return graphsoft.knn_graph(points).adjacency, clusters


def graphsoft_from_graph(given):
    W, clusters = given
    return graphsoft.hierarchy(W, [clusters])[0].labels


def hdbscan_fitted(points, _=None):
    import hdbscan

    return hdbscan.HDBSCAN(min_cluster_size=MIN_CLUSTER, prediction_data=True).fit(points)


def hdbscan_vectors(fitted):
    import hdbscan

    return hdbscan.all_points_membership_vectors(fitted).argmax(axis=1)


def fast_hdbscan_labels(given):
    import fast_hdbscan

    return fast_hdbscan.HDBSCAN(min_cluster_size=MIN_CLUSTER).fit_predict(given[0])


def evoc_labels(given):
    import evoc

    points, clusters = given
    found = evoc.EVoC(approx_n_clusters=clusters, random_state=0)
    return found.fit_predict(points.astype(np.float32))


# what is done before the clock starts, and what is timed
ON_POINTS = {
    "graphsoft": (as_given, graphsoft_from_points),
    "graphsoft, from its graph": (neighbor_graph, graphsoft_from_graph),
    "hdbscan": (as_given, lambda given: hdbscan_vectors(hdbscan_fitted(*given))),
    "hdbscan, vectors alone": (hdbscan_fitted, hdbscan_vectors),
    "fast_hdbscan, one strength": (as_given, fast_hdbscan_labels),
    "evoc, one strength a layer": (as_given, evoc_labels),
}


# ------------------------------------------------------------------------------------------- timing


def timed(work, given, groups):
    """Return the shortest seconds of up to three runs, the memory of the first, and the NMI with groups."""
    seconds, extra = [], None
    while len(seconds) < 3 and sum(seconds) < SHORT:
        found, took, held = measured(lambda: work(given))
        seconds.append(took)
        extra = extra or held
    found = np.asarray(found)
    labels = np.unique(found, return_inverse=True)[1]  # some tools have -1 for noise
    return {
        "seconds": min(seconds),
        "extra": extra,
        "clusters": len(np.unique(found[found >= 0])),
        "nmi": float(metrics.nmi(groups, labels)),
    }


def on_graph(tool, file):
    W, groups = load(file)
    work = (ON_GRAPHS | MANY)[tool]
    work(type(W)(graphsoft.as_graph(patterns.block_graph(0, blocks=10, size=40)).adjacency.copy()))
    row = timed(work, W, groups)
    return row | {"graph": held_bytes(W), "nodes": W.shape[0], "entries": W.nnz}


def on_points(tool):
    prepare, work = ON_POINTS[tool]
    work(prepare(separate_points(*SMALL_POINTS)[0], SMALL_POINTS[1]))
    points, groups = separate_points(*POINTS)
    return timed(work, prepare(points, POINTS[1]), groups)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=[*ON_GRAPHS, *MANY, *ON_POINTS], metavar="TOOL")
    parser.add_argument("--file", type=Path, help="a graph that planted.py wrote")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(json.dumps(on_graph(options.tool, options.file) if options.file else on_points(options.tool)))


if __name__ == "__main__":
    main()
