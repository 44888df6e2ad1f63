"""Hypothesis strategies: awkward graphs, and memberships of their nodes."""

import numpy as np
from hypothesis import strategies as st

from shared.shapes import graph_of

plain = st.integers(1, 9).map(float)
small = st.floats(0.01, 100)
extreme = st.integers(-90, 90).map(lambda exponent: 10.0**exponent)


def shape(kind, n):
    """The edges of a named graph."""
    return {
        "star": [(0, i) for i in range(1, n)],
        "path": [(i - 1, i) for i in range(1, n)],
        "complete": [(i, j) for i in range(n) for j in range(i)],
        "pairs": [(i, i + 1) for i in range(0, n - 1, 2)],
        "two halves": [(i, j) for i in range(n) for j in range(i) if (i < n // 2) == (j < n // 2)],
        "empty": [],
        "loops": [(i, i) for i in range(n)],
    }[kind]


@st.composite
def weight_matrices(draw, min_size=1, max_size=12, weights=None):
    """Dense symmetric weights of named shapes or random edges, with loops and isolated nodes."""
    n = draw(st.integers(min_size, max_size))
    nodes = st.integers(0, n - 1)
    some = st.lists(st.tuples(nodes, nodes), max_size=3 * n)
    named = st.sampled_from(["star", "path", "complete", "pairs", "two halves", "empty", "loops"])
    edges = draw(st.one_of(some, named.map(lambda kind: shape(kind, n))))
    each = draw(st.sampled_from([plain, small, extreme])) if weights is None else weights
    W = np.zeros((n, n))
    for i, j in edges:
        W[i, j] = W[j, i] = draw(each)
    return W


def graphs(min_size=1, max_size=12, weights=None):
    """Checked graphs."""
    return weight_matrices(min_size, max_size, weights).map(graph_of)


@st.composite
def memberships(draw, n, m):
    """Dense rows that sum to one, with few clusters in each."""
    S = np.zeros((n, m))
    for i in range(n):
        held = draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=min(m, 3), unique=True))
        S[i, held] = [draw(st.integers(1, 8)) for _ in held]
    return S / S.sum(axis=1, keepdims=True)


@st.composite
def factored_graphs(draw, max_size=10, clusters=5, weights=None):
    """A dense weight matrix and memberships of its nodes."""
    W = draw(weight_matrices(1, max_size, weights))
    m = draw(st.integers(1, clusters))
    return W, draw(memberships(len(W), m))
