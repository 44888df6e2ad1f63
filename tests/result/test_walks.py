"""Walks between points: their operators against dense definitions, and the properties they document."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.result.walks import EquivalentAdjacency, chebyshev_weights, multistep
from naive import engine as naive
from shared.shapes import cloud, graph_of, ring_of_cliques
from shared.strategies import factored_graphs, small, weight_matrices


def equivalent(W, S):
    return EquivalentAdjacency(sp.csr_array(S), graph_of(W).degrees)


@given(factored_graphs(), st.data())
def test_the_walk_through_clusters_equals_its_definition(case, data):
    W, S = case
    W = graph_of(W).adjacency.toarray()  # as_graph scales extreme weights
    dense, walk = naive.equivalent(naive.factor(W, S)), equivalent(W, S)
    scale = dense.max() or 1.0
    np.testing.assert_allclose(walk.toarray(), dense, rtol=1e-9, atol=1e-12 * scale)
    i, j = data.draw(st.integers(0, len(W) - 1)), data.draw(st.integers(0, len(W) - 1))
    np.testing.assert_allclose(walk.row(i), dense[i], rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(walk.entry(i, j), dense[i, j], rtol=1e-9, atol=1e-12 * scale)


@given(weight_matrices(weights=small), st.integers(1, 9))
def test_a_walk_along_edges_equals_its_definition(W, t):
    np.testing.assert_allclose(multistep(graph_of(W), t).toarray(), naive.walk(W, t), rtol=1e-9, atol=1e-12)


@given(weight_matrices(weights=small), st.integers(150, 100_000))
@settings(max_examples=40)
def test_a_long_walk_takes_fewer_products_and_gives_the_same(W, t):
    walk = multistep(graph_of(W), t)
    assert len(chebyshev_weights(t)) < t
    np.testing.assert_allclose(walk.toarray(), naive.walk(W, t), rtol=1e-7, atol=1e-9)


@given(st.integers(1, 5000))
def test_the_chebyshev_series_is_the_power(t):
    x = np.linspace(-1, 1, 41)
    polynomials = np.polynomial.chebyshev.chebval(x, chebyshev_weights(t))
    np.testing.assert_allclose(polynomials, x**t, rtol=0, atol=1e-13)


@given(factored_graphs(weights=small), st.integers(1, 6))
def test_walks_keep_the_degrees(case, t):
    W, S = case
    ones, degrees = np.ones(len(W)), W.sum(axis=1)
    for walk in (equivalent(W, S), equivalent(W, S).steps(t), multistep(graph_of(W), t)):
        np.testing.assert_allclose(walk @ ones, degrees, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(walk.toarray(), walk.toarray().T, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(walk.degrees, graph_of(W).degrees)


@given(factored_graphs(weights=small), st.integers(1, 6))
def test_steps_through_clusters_are_steps_of_their_walk(case, t):
    W, S = case
    dense = naive.equivalent(naive.factor(W, S))
    once = equivalent(W, S).steps(t)
    np.testing.assert_allclose(once.toarray(), naive.walk(dense, t), rtol=1e-8, atol=1e-11)
    twice = once.steps(2)  # t steps, and t steps
    np.testing.assert_allclose(twice.toarray(), naive.walk(dense, 2 * t), rtol=1e-7, atol=1e-10)


def test_an_exact_level_l_is_the_walk_of_l_steps():
    rng = np.random.default_rng(3)
    B = rng.random((12, 5)) + 0.05
    W = naive.equivalent(B)
    d, mass = B.sum(axis=1), B.sum(axis=0)
    down, up = B / d[:, None], (B / mass).T  # B_2 = B_1^T and B_3 = B_1
    for t, steps in enumerate(([down], [down, up], [down, up, down]), start=1):
        level = EquivalentAdjacency(sp.csr_array(naive.chain(steps)), graph_of(W).degrees)
        np.testing.assert_allclose(level.toarray(), multistep(graph_of(W), t).toarray(), rtol=1e-9)


@given(weight_matrices(weights=small), st.integers(1, 8), st.floats(0, 0.5), st.data())
def test_pruned_rows_never_exceed_full_rows_nor_keep_small_entries(W, t, min_share, data):
    walk, dense = multistep(graph_of(W), t), naive.walk(W, t)
    nodes = data.draw(st.lists(st.integers(0, len(W) - 1), max_size=4))
    rows = walk.sparse_rows(nodes, min_share)
    assert rows.shape == (len(nodes), len(W))
    assert (rows.toarray() <= dense[nodes] * (1 + 1e-9) + 1e-12).all()
    degrees = W.sum(axis=1)[nodes]
    kept = np.repeat(degrees, np.diff(rows.indptr))
    assert (rows.data >= min_share * kept * (1 - 1e-9)).all()
    exact = walk.sparse_rows(nodes, 0.0)
    np.testing.assert_allclose(exact.toarray(), dense[nodes], rtol=1e-9, atol=1e-12)


def test_pruned_rows_stay_sparse_where_full_rows_are_dense():
    graph = graphsoft.knn_graph(cloud(2000, d=2))
    rows = multistep(graph, 12).sparse_rows(range(0, 2000, 100), 1e-3)
    assert np.diff(rows.indptr).max() <= 1000
    kept = rows.sum(axis=1) / graph.degrees[::100]
    assert kept.min() > 0.5


@given(factored_graphs(weights=small), st.integers(1, 12))
def test_nearest_gives_the_largest_entries_of_a_row(case, count):
    W, S = case
    for walk in (equivalent(W, S), multistep(graph_of(W), 2)):
        for node in range(len(W)):
            row = walk.row(node)
            near, weights = walk.nearest(node, count)
            others = np.delete(np.arange(len(W)), node)
            ranked = others[np.argsort(-row[others], kind="stable")][:count]
            np.testing.assert_array_equal(near, [each for each in ranked if row[each] > 0])
            np.testing.assert_array_equal(weights, row[near])


def test_every_level_has_its_walk():
    h = graphsoft.hierarchy(graph_of(ring_of_cliques(6, 5)), levels=[6, 2])
    for level in h:
        dense = naive.equivalent(naive.factor(h.graph.adjacency.toarray(), level.memberships.toarray()))
        np.testing.assert_allclose(level.equivalent_adjacency.toarray(), dense, atol=1e-12)
        np.testing.assert_array_equal(level.degrees, h.graph.degrees)


def test_walks_are_linear_operators_of_scipy():
    walk = multistep(nx.karate_club_graph(), 3)
    x = np.random.default_rng(0).random((34, 2))
    np.testing.assert_allclose(walk.T @ x, walk @ x)
    np.testing.assert_allclose((2 * walk) @ x[:, 0], 2 * (walk @ x[:, 0]))
    values = sp.linalg.eigsh(walk, 3, which="LA", return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(walk.toarray())[-3:])


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    graph = graphsoft.knn_graph(cloud(3000, d=3))
    x = np.random.default_rng(1).random((3000, 4))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append((multistep(graph, 200) @ x).tobytes())
    assert found[0] == found[1]


def test_invalid_arguments_are_refused():
    walk = multistep(nx.path_graph(4), 2)
    level = graphsoft.hierarchy(nx.path_graph(4), levels=[2])[0].equivalent_adjacency
    for wrong in (-1, 4, 1.5, None, True):
        with pytest.raises(InputError, match="node: got"):
            walk.row(wrong)
        with pytest.raises(InputError, match="two: got"):
            level.entry(0, wrong)
    with pytest.raises(InputError, match="count"):
        level.nearest(0, 0)
    with pytest.raises(InputError, match="min_share"):
        walk.sparse_rows([0], 1.0)
    for wrong in (0, -3, 2.5, 10**400):
        with pytest.raises(InputError, match="t: got"):
            multistep(nx.path_graph(4), wrong)
    for wrong in (0, 10**30):
        with pytest.raises(InputError, match="count: got"):
            level.steps(wrong)
    for wrong in (3, None, np.array(1)):
        with pytest.raises(InputError, match="nodes: got"):
            walk.sparse_rows(wrong)
    with pytest.raises(InputError, match="sparse_rows: would take 1000000 steps one by one"):
        multistep(nx.path_graph(4), 10**6).sparse_rows([0])
    with pytest.raises(InputError, match=r"toarray: would write 6000 x 6000.*nearest"):
        multistep(nx.path_graph(6000), 2).toarray()
    wide = EquivalentAdjacency(sp.eye_array(6000, format="csr"), np.ones(6000))
    with pytest.raises(InputError, match="steps: would write the walk between 6000 clusters"):
        wide.steps(2)


def test_products_with_no_columns_are_empty():
    level = graphsoft.hierarchy(nx.path_graph(4), levels=[2])[0].equivalent_adjacency
    for walk in (level, multistep(nx.path_graph(4), 2)):
        assert (walk @ np.zeros((4, 0))).shape == (4, 0)


def test_vectors_of_any_number_type_can_be_multiplied():
    level = graphsoft.hierarchy(nx.path_graph(4), levels=[2])[0].equivalent_adjacency
    for walk in (level, multistep(nx.path_graph(4), 3)):
        whole, x = walk.toarray(), np.array([1, 0, 1, 0])
        for kind in (bool, np.int8, np.float16, np.float32, np.longdouble, ">f8", complex):
            np.testing.assert_allclose(walk @ x.astype(kind), whole @ x)
        np.testing.assert_allclose(walk @ (x * 1j), whole @ x * 1j)
        with pytest.raises(InputError, match="x: is an array of dtype object"):
            walk @ x.astype(object)
