"""Models of every kind, for tests of saving: how each is made, and new points for it."""

from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import graphsoft
from graphsoft import Clustering, Graph
from graphsoft.methods import METHODS
from shared.shapes import cloud

X = cloud(40, centers=4)
NEW = X[:5] + 0.25
LEVELS = [6, 3]
NAMES = [
    "a", "", "ä\ud800\n", 0, -7, 2**70, 0.5, float("inf"), None, True, b"\xff", ("a", (1, None)),
    frozenset({"x", 2}), date(2020, 2, 29), np.int8(3), np.float32(0.1), np.uint64(2**64 - 1), (), 1.5,
]  # fmt: skip


class Halves:
    """A method of somebody's own."""

    def reads(self, points, featured):
        return frozenset({"graph"})

    def cluster(self, sample, count, random, progress=None):
        labels = np.arange(len(sample)) * count // len(sample)
        shares = sp.csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)))
        return Clustering(shares, (), "halved")


def named_graph():
    weights = np.triu(np.random.default_rng(0).integers(0, 3, (len(NAMES), len(NAMES))), 1)
    return Graph(sp.csr_array(weights + weights.T), NAMES)


def distances():
    return KNeighborsTransformer(n_neighbors=5, mode="distance").fit_transform(X)


def large_numbers():
    return (X * 100).astype(np.int64) + 2**60


def large_fractions():
    return np.array([[Fraction(round(3 * x), 2) + 2**60 for x in row] for row in X], dtype=object)


def texts():
    return sp.csr_array(np.abs(X) * (np.abs(X) > 1))


MODELS = {
    "float64": lambda: (graphsoft.hierarchy(X, LEVELS, n_neighbors=5), NEW),
    "float32": lambda: (graphsoft.hierarchy(X.astype(np.float32), LEVELS), NEW.astype(np.float32)),
    "sparse": lambda: (
        graphsoft.hierarchy(texts(), LEVELS, metric="cosine", affinity="features"),
        texts()[:5] * 2,
    ),
    "data frame": lambda: (
        graphsoft.hierarchy(pd.DataFrame(X, columns=["a", "b", "ç"]), LEVELS),
        pd.DataFrame(NEW, columns=["a", "b", "ç"]),
    ),
    "duplicates": lambda: (graphsoft.hierarchy(np.vstack([X, X[:9], X[:3]]), LEVELS), NEW),
    "large numbers": lambda: (graphsoft.hierarchy(large_numbers(), LEVELS), large_numbers()[:5] + 3),
    "large fractions": lambda: (graphsoft.hierarchy(large_fractions(), LEVELS), large_fractions()[:5] + 1),
    "graph": lambda: (graphsoft.hierarchy(graphsoft.knn_graph(X, 5).adjacency, LEVELS), np.eye(40)[:5] + 1),
    "distances": lambda: (
        graphsoft.hierarchy(distances(), LEVELS, affinity="precomputed"),
        np.ones((2, 40)),
    ),
    "polish=False": lambda: (graphsoft.hierarchy(X, [9, *LEVELS], polish=False), NEW),
    "min_children": lambda: (
        graphsoft.hierarchy(X, LEVELS, min_children=2, max_children=np.int64(2)),
        NEW,
    ),
    "known": lambda: (
        graphsoft.hierarchy(
            X, LEVELS, must_link=[(0, 1)], cannot_link=np.array([[0, 39]]), known={2: "a", 30: (np.int8(1),)}
        ),
        NEW,
    ),
    "mixed methods": lambda: (
        graphsoft.hierarchy(X, [8, 4, 2], method=["ward", "relation", METHODS["spectral"]]),
        NEW,
    ),
    "own method": lambda: (graphsoft.hierarchy(X, LEVELS, method=["relation", Halves()]), NEW),
    "auto": lambda: (graphsoft.hierarchy(cloud(120, centers=3, seed=4), "auto"), NEW),
    "jaccard": lambda: (graphsoft.hierarchy(X, LEVELS, metric="manhattan", weights="jaccard"), NEW),
}  # fmt: skip
