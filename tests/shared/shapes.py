"""Points and graphs that many tests share, and functions to compare results."""

import numpy as np
import scipy.sparse as sp

from graphsoft.fitting.finding import find
from graphsoft.graph.joining import knn_graph
from graphsoft.graph.reading import as_graph
from graphsoft.methods import Sample


def graph_of(W):
    """The checked graph of dense weights."""
    return as_graph(sp.csr_array(W), affinity="precomputed")


def factorized(method, graph, count):
    """The result of a method for a graph."""
    return find(Sample(graph), count, method, np.random.default_rng(0))


def ring_of_cliques(cliques=4, size=5):
    n = cliques * size
    W = np.kron(np.eye(cliques), np.ones((size, size))) - np.eye(n)
    for first in range(0, n, size):
        W[first, first - 1] = W[first - 1, first] = 0.2
    return W


def cloud(n=80, seed=0, centers=5, d=3):
    """Points around some centers."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.normal(size=(centers, d)) * 3, n // centers, axis=0) + rng.normal(size=(n, d))


def cloud_graph(n=60, seed=0, centers=6):
    """Dense weights of points around some centers, joined to their nearest neighbors by local scaling."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(centers, 2)) * 2, n // centers, axis=0) + rng.normal(size=(n, 2)) * 0.5
    return knn_graph(X, 8).adjacency.toarray()


def connected(W):
    """The same graph with weak edges between all nodes."""
    return W + 0.01 * (1 - np.eye(len(W)))


def through(scales):
    """For every node, the node of the coarsest scale that holds it."""
    return scales.spread(np.arange(len(scales.layers[-1])))


def bits(h):
    """All results of a hierarchy, to the last bit."""
    matrices = [matrix for level in h for matrix in (level.memberships, level.parents, level.graph)]
    matrices = [matrix for matrix in matrices if matrix is not None]
    parts = [(each.data.tobytes(), each.indices.tolist(), each.indptr.tolist()) for each in matrices]
    return parts, [level.labels.tolist() for level in h], [level.entropy.tobytes() for level in h]


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), 30)
    columns = rng.integers(0, 60, size=30 * n) + 40 * (rows % 10)
    matrix = sp.csr_array((rng.random(30 * n), (rows, columns)), shape=(n, 450))
    matrix.sort_indices()
    return matrix


def recall(found, expected):
    return np.mean([len(np.intersect1d(a, b)) / len(a) for a, b in zip(expected, found, strict=True)])
