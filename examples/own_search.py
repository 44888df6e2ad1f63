"""Let another library find the neighbors: usearch, wrapped in fifteen lines.

What graphsoft's ``neighbors=`` takes is any object with the interface of scikit-learn's transformers:
``fit_transform(X)`` gives a sparse matrix of the distances from each point to its neighbors, and
``transform(new)`` those from new points to the old ones. scikit-learn's
``KNeighborsTransformer(mode="distance")`` and pynndescent's ``PyNNDescentTransformer`` are such objects
already; :class:`Usearch` below makes one of an index of usearch, and hnswlib or faiss would go the same way.
Its graph is another each time, for it puts points in on several threads.

Printed are the seconds for the graph, recall (which part of the exact neighbors was found, for 1000 points),
and how the clusters of the hierarchies agree with those put into the points, and with each other.

Run: pip install usearch
     python examples/own_search.py [--points 30000] [--features 64]
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp
from usearch.index import Index

import graphsoft

NEIGHBORS = 10


class Usearch:
    """An index of usearch as a transformer. The index is made in `fit_transform`, and kept for new points."""

    def __init__(self, n_neighbors=NEIGHBORS + 1):  # one more, for a point finds itself
        self.n_neighbors = n_neighbors

    def fit_transform(self, X):
        """Make the index, and find the neighbors of its own points."""
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
    """Count which part of the exact nearest neighbors of some points the finder finds."""
    rows = np.random.default_rng(1).choice(len(X), min(sample, len(X)), replace=False)
    found = finder.transform(X[rows])
    lengths, hits = np.square(X, dtype=np.float64).sum(axis=1), 0
    for place, row in enumerate(rows):
        apart = lengths - 2.0 * (X @ X[row])
        apart[row] = np.inf
        exact = np.argpartition(apart, NEIGHBORS)[:NEIGHBORS]
        hits += len(np.intersect1d(exact, found.indices[found.indptr[place] : found.indptr[place + 1]]))
    return hits / (NEIGHBORS * len(rows))


def fitted(X, finder):
    """Make the graph, and the hierarchy of it; time the graph."""
    graphsoft.hierarchy(X[:500], [40], neighbors=finder)  # compiles
    began = time.perf_counter()
    graphsoft.knn_graph(X, NEIGHBORS, neighbors=finder)
    seconds = time.perf_counter() - began
    return seconds, graphsoft.hierarchy(X, [200, 40], n_neighbors=NEIGHBORS, neighbors=finder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=30_000)
    parser.add_argument("--features", type=int, default=64)
    options = parser.parse_args()
    X, truth = clouds(options.points + 500, options.features)
    X, new, truth, theirs = X[:-500], X[-500:], truth[:-500], truth[-500:]
    finder = Usearch()
    own_seconds, own = fitted(X, None)
    seconds, other = fitted(X, finder)
    print(f"{len(X)} points with {X.shape[1]} features, {NEIGHBORS} neighbors")
    print("search     seconds for the graph  recall  NMI of clusters  NMI of 500 new points")
    for name, took, part, h in (
        ("graphsoft", own_seconds, "", own),
        ("usearch", seconds, f"{recall(X, finder):.3f}", other),
    ):
        score = graphsoft.metrics.nmi(truth, h[-1].labels)
        later = graphsoft.metrics.nmi(theirs, h.predict(new))
        print(f"{name:9}  {took:21.2f}  {part:>6}  {score:15.3f}  {later:21.3f}")
    print(f"of each other: NMI {graphsoft.metrics.nmi(own[-1].labels, other[-1].labels):.3f}")
    print(other.report.notes[0])


if __name__ == "__main__":
    main()
