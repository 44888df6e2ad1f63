"""Normalized cuts: the value of soft and hard clusters, and the lowest one of small graphs."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.cuts import exact_normalized_cut, normalized_cut
from graphsoft.errors import InputError
from naive import spectral as naive
from shared.shapes import graph_of, ring_of_cliques
from shared.strategies import factored_graphs, small, weight_matrices


@given(factored_graphs())
def test_the_cut_of_soft_clusters(drawn):
    W, S = drawn
    expected = naive.normalized_cut(W, S)
    assert normalized_cut(graph_of(W), S) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert normalized_cut(graph_of(W), sp.csc_matrix(S)) == normalized_cut(graph_of(W), S)


@given(weight_matrices(), st.data())
def test_the_cut_of_labels(W, data):
    k = data.draw(st.integers(1, len(W)))
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=len(W), max_size=len(W)))
    expected = naive.normalized_cut(W, naive.indicators(labels, k))
    assert normalized_cut(graph_of(W), labels) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    names = [f"cluster {label}" for label in labels]
    assert normalized_cut(graph_of(W), names) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(factored_graphs(weights=small))
def test_both_forms_of_the_cut_are_equal(drawn):
    W, S = drawn
    S = S[:, W.sum(axis=1) @ S > 0]
    S = np.divide(S, S.sum(axis=1, keepdims=True), out=S, where=S.sum(axis=1, keepdims=True) > 0)
    if S.shape[1] and np.allclose(S.sum(axis=1), 1):
        assert normalized_cut(graph_of(W), S) == pytest.approx(naive.trace_form(W, S), abs=1e-9)


def test_light_cuts_are_exact():
    W = ring_of_cliques(2, 4)
    W[:4, 4:] *= 1e-80
    W[4:, :4] *= 1e-80
    expected = 2 * W[:4, 4:].sum() / W[:4].sum()
    assert normalized_cut(graph_of(W), [0] * 4 + [1] * 4) == pytest.approx(expected, rel=1e-12)


def test_many_clusters_take_little_memory():
    n = 20_000
    path = sp.diags_array([1.0, 1.0], offsets=[1, -1], shape=(n, n), format="csr")
    assert normalized_cut(graphsoft.as_graph(path), np.arange(n) // 2) == pytest.approx(n / 4 - 1 / 2 + 1 / 6)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ([0, 1], "got 2 for 4 nodes"),
        (np.ones((4, 2, 1)), "got shape"),
        (0, "got 0"),
        (np.full((4, 2), 0.4), "row 0, which sums to 0.8"),
        (np.tile([1.5, -0.5], (4, 1)), "holds -0.5"),
        (sp.csr_array((4, 2)), "row 0, which sums to 0"),
        ([[0], [0, 1], [0], [0]], "got"),
        (np.array([0, "a", None, 1], dtype=object), "only numbers or only strings"),
    ],
)
def test_bad_labels(labels, problem):
    with pytest.raises(InputError, match=f"labels: .*{problem}"):
        normalized_cut(nx.path_graph(4), labels)


@given(weight_matrices(1, 6), st.data())
@settings(max_examples=60, deadline=None)
def test_the_exact_cut_is_the_lowest(W, data):
    k = data.draw(st.integers(1, len(W)))
    labels, value = exact_normalized_cut(graph_of(W), k)
    assert value == pytest.approx(naive.lowest_cut(W, k), rel=1e-9, abs=1e-300)
    assert value == pytest.approx(normalized_cut(graph_of(W), labels), rel=1e-9, abs=1e-300)
    assert sorted(set(labels.tolist())) == list(range(k))


@given(weight_matrices(2, 12, small), st.data())
@settings(max_examples=20, deadline=None)
def test_the_eigenvalues_bound_the_lowest_cut(W, data):
    k = data.draw(st.integers(2, min(len(W), 4)))
    _, value = exact_normalized_cut(graph_of(W), k)
    assert k - naive.leading_values(W, k).sum() <= value + 1e-9


def test_the_lowest_cut_does_not_depend_on_the_order_of_nodes():
    rng = np.random.default_rng(0)
    W = rng.random((11, 11)) ** 3
    W += W.T
    order = rng.permutation(11)
    labels, value = exact_normalized_cut(graph_of(W), 3)
    again, other = exact_normalized_cut(graph_of(W[order][:, order]), 3)
    assert value == pytest.approx(other)
    assert graphsoft.metrics.adjusted_rand(labels[order], again) == 1
    assert value <= normalized_cut(graph_of(W), rng.integers(0, 3, 11))


@pytest.mark.parametrize(
    ("n", "k", "time"), [(13, 2, "seconds"), (20, 4, "minutes"), (40, 8, "years"), (2000, 5, "1000 years")]
)
def test_large_graphs_are_refused(n, k, time):
    with pytest.raises(InputError, match=rf"graph: has {n} nodes, and .* {time}"):
        exact_normalized_cut(nx.path_graph(n), k)


def test_the_number_of_partitions():
    from graphsoft.cuts import _partitions

    for n in range(1, 13):
        assert [_partitions(n, k) for k in range(1, n + 1)] == [
            naive.partitions(n, k) for k in range(1, n + 1)
        ]


@pytest.mark.parametrize("k", [0, 2.5, "two", 5])
def test_bad_numbers_of_clusters(k):
    with pytest.raises(InputError, match="k: got"):
        exact_normalized_cut(nx.path_graph(4), k)
