"""The graph of all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphsoft.errors import InputError
from graphsoft.graph import pairwise
from graphsoft.graph.pairwise import pairwise_graph


def slow(X, weights, neighbors, sigma=None):
    """The definition, pair by pair."""
    n = len(X)
    d = np.array([[np.sqrt(((X[i] - X[j]) ** 2).sum()) for j in range(n)] for i in range(n)])
    s = np.array([sorted(row)[min(neighbors, n - 1)] for row in d])
    s[s == 0] = min([x for x in s if x > 0], default=1.0)
    W = np.zeros((n, n))
    for i, j in np.argwhere(~np.eye(n, dtype=bool)):
        W[i, j] = {
            "relative": np.exp(-d[i, j] / np.sqrt(s[i] * s[j])),
            "local-scaling": np.exp(-(d[i, j] ** 2) / (s[i] * s[j])),
            "gaussian": np.exp(-(d[i, j] ** 2) / 2 / (np.median(s) if sigma is None else sigma) ** 2),
        }[weights]
    return np.maximum(W, 2.0**-52 * ~np.eye(n, dtype=bool))


@given(
    arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-4, 4).map(float)),
    st.sampled_from(pairwise.PAIR_WEIGHTS),
    st.integers(1, 12),
)
def test_all_pairs_equal_the_slow_ones(X, weights, neighbors):
    graph = pairwise_graph(X, weights=weights, n_neighbors=neighbors)
    np.testing.assert_allclose(graph.adjacency.toarray(), slow(X, weights, neighbors), rtol=1e-12)
    assert (graph.adjacency != graph.adjacency.T).nnz == 0


def test_a_width_can_be_given():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = pairwise_graph(X, weights="gaussian", sigma=0.5).adjacency.toarray()
    np.testing.assert_allclose(found, slow(X, "gaussian", 10, 0.5), rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_features_give_the_same(metric):
    X = np.random.default_rng(0).poisson(1, size=(15, 8)) + np.eye(15, 8)
    dense, sparse = (pairwise_graph(form(X), metric) for form in (np.array, sp.csr_array))
    np.testing.assert_allclose(dense.adjacency.toarray(), sparse.adjacency.toarray(), rtol=1e-6)


def test_the_scale_of_the_features_does_not_matter():
    X = np.random.default_rng(0).normal(size=(20, 3))
    one, other = (pairwise_graph(scale * X).adjacency.toarray() for scale in (1, 1e300))
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e300])
def test_any_width_gives_weights(scale, sigma):
    X = np.random.default_rng(0).normal(size=(12, 3)) * scale
    weights = pairwise_graph(X, weights="gaussian", sigma=sigma).adjacency.data
    assert ((weights > 0) & (weights <= 1)).all()


@pytest.mark.parametrize("weights", pairwise.PAIR_WEIGHTS)
@pytest.mark.parametrize("metric", ["manhattan", "correlation", "braycurtis"])
def test_extreme_features_give_weights(metric, weights):
    signs = np.sign(np.random.default_rng(0).normal(size=(12, 3)))
    steps = np.abs(signs) * 10.0 ** np.linspace(-300, 300, 12)[:, None]
    for X in (signs * 1.7e308, steps):
        for neighbors in (1, 100):
            found = pairwise_graph(X, metric, weights, n_neighbors=neighbors).adjacency.data
            assert ((found > 0) & (found <= 1)).all()


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors: got 0"),
        ({"sigma": 0}, "sigma: got 0"),
        ({"sigma": "wide"}, "sigma: got 'wide'"),
        ({"sigma": True}, "sigma: got True"),
        ({"weights": "jaccard"}, "weights: got 'jaccard'"),
        ({"metric": "taxi"}, "metric: got 'taxi'"),
    ],
)
def test_bad_arguments_are_named(keywords, words):
    with pytest.raises(InputError, match=words):
        pairwise_graph([[0.0], [1.0]], **keywords)


def test_too_many_points_are_refused(monkeypatch):
    monkeypatch.setattr(pairwise, "MAX_POINTS", 3)
    with pytest.raises(InputError, match=r"X: has 4 points.*knn_graph"):
        pairwise_graph(np.eye(4))
