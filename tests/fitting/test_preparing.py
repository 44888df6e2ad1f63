"""What methods work on, and the way back to the points: each step against a slow copy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.fitting.preparing import Work, prepare
from graphsoft.graph.reading import as_graph
from graphsoft.input.constraints import matrix_of_pairs
from graphsoft.methods import METHODS, Relation, Sample
from shared.shapes import cloud, graph_of
from shared.strategies import graphs, memberships

RELATION = Relation()


def merged(W, number):
    """Sum the weights between groups of nodes."""
    groups = np.eye(number.max() + 1)[number]
    return groups.T @ W @ groups


@pytest.fixture
def copies():
    """Points of which every third is a copy of the one before."""
    X = cloud(60)
    X[2::3] = X[1::3]
    return as_graph(X, n_neighbors=5)


def test_copies_are_one_node_in_an_order_of_its_own(copies):
    work = prepare(Sample(copies), 5, RELATION)
    number = copies.duplicates
    assert len(work.sample) == number.max() + 1 < len(copies)
    place = np.full(len(work.sample), -1)
    place[number] = work.node  # copies have the same place
    assert (work.node == place[number]).all()
    expected = merged(copies.adjacency.toarray(), number)
    found = work.sample.graph.adjacency.toarray()[np.ix_(place, place)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(work.degrees[place], expected.sum(axis=1), rtol=1e-12)


def test_copies_stay_apart_if_there_would_be_fewer_nodes_than_clusters(copies):
    distinct = int(copies.duplicates.max()) + 1
    assert len(prepare(Sample(copies), distinct, RELATION).sample) == distinct
    assert len(prepare(Sample(copies), distinct + 1, RELATION).sample) == len(copies)


def test_methods_that_see_copies_get_their_mean_back(copies):
    work = prepare(Sample(copies), 5, METHODS["spectral"])
    assert work.sample.graph is copies
    S = np.random.default_rng(0).dirichlet(np.ones(5), size=len(copies))
    number = copies.duplicates
    expected = np.array([S[number == number[i]].mean(axis=0) for i in range(len(copies))])
    np.testing.assert_allclose(work.restore(sp.csr_array(S)).toarray(), expected, rtol=1e-12)


@given(graphs(min_size=2), st.data())
def test_every_point_gets_the_memberships_of_its_node(graph, data):
    count = data.draw(st.integers(1, len(graph)))
    work = prepare(Sample(graph), count, RELATION)
    S = data.draw(memberships(len(work.sample), count))
    restored = work.restore(sp.csr_array(S)).toarray()
    np.testing.assert_array_equal(restored, S[work.node])
    W = graph.adjacency.toarray()
    found = work.sample.graph.adjacency.toarray()[np.ix_(work.node, work.node)]
    np.testing.assert_allclose(found, W, rtol=1e-6)


def test_strays_join_the_heaviest_cluster():
    W = np.zeros((13, 13))
    W[:6, :6], W[6:10, 6:10] = 1, 1  # the first group is heavier
    W[10, 11] = W[11, 10] = 1e-4  # and the last three nodes are strays
    np.fill_diagonal(W, 0)
    work = Work(Sample(graph_of(W))).without_strays(2)
    assert len(work.sample) == 10
    S = np.repeat(np.eye(2), [6, 4], axis=0)
    restored = work.restore(sp.csr_array(S)).toarray()
    np.testing.assert_array_equal(restored[:10], S)
    np.testing.assert_array_equal(restored[10:], [[1, 0]] * 3)


def test_nothing_is_done_where_nothing_is_odd():
    graph = graph_of(np.ones((6, 6)))
    work = Work(Sample(graph)).without_strays(2)
    S = sp.csr_array(np.eye(2)[[0, 0, 0, 1, 1, 1]])
    assert work.sample.graph is graph
    assert work.restore(S) is S


def test_known_pairs_follow_their_points():
    X = cloud(40)
    graph = graphsoft.as_graph(X, n_neighbors=5)
    pairs = matrix_of_pairs(graph.nodes, must_link=[(3, 30)], cannot_link=[(7, 9)])
    work = prepare(Sample(graph, None, pairs), 4, RELATION)
    at = work.node
    expected = np.zeros((40, 40))
    expected[at[3], at[30]] = expected[at[30], at[3]] = 1
    expected[at[7], at[9]] = expected[at[9], at[7]] = -1
    np.testing.assert_array_equal(work.pairs.toarray(), expected)
    W, largest = graph.adjacency.toarray(), graph.adjacency.data.max()
    W = np.maximum(W + largest * pairs.toarray(), 0)
    np.testing.assert_allclose(work.sample.graph.adjacency.toarray()[np.ix_(at, at)], W, rtol=1e-6)
