"""Directed graphs: the walk that follows the edges, and what of it is kept."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import directed_graph
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.graph import directed
from naive import directed as naive_flows
from shared.shapes import graph_of, ring_of_cliques
from shared.strategies import plain, small, weight_matrices

teleports = st.sampled_from([0.05, 0.15, 0.5, 0.9])


@st.composite
def arrows(draw, min_size=1, max_size=8):
    """Dense weights of any directed edges, loops and nodes without edges among them."""
    n = draw(st.integers(min_size, max_size))
    nodes = st.integers(0, n - 1)
    each = draw(st.sampled_from([plain, small]))
    A = np.zeros((n, n))
    for i, j in draw(st.lists(st.tuples(nodes, nodes), max_size=3 * n)):
        A[i, j] = draw(each)
    return A


@st.composite
def returning(draw):
    """Directed weights in which every node is on a way back to itself: sums of weighted cycles."""
    n = draw(st.integers(1, 8))
    A = np.zeros((n, n))
    for _ in range(draw(st.integers(1, 4))):
        cycle = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
        weights = draw(st.lists(plain, min_size=n, max_size=n))
        for place, node in enumerate(cycle):
            A[node, cycle[(place + 1) % len(cycle)]] += weights[place]
    return A


def flow_of(A, teleport):
    return directed_graph(sp.csr_array(A), teleport).adjacency.toarray()


@given(arrows(), teleports)
def test_the_flow_is_that_of_the_equations(A, teleport):
    W = flow_of(A, teleport)
    assert (W == W.T).all()
    if A.sum() == 0:
        assert not W.any()
        return
    np.testing.assert_allclose(W, naive_flows.flow(A, teleport), rtol=1e-8, atol=1e-9 * A.sum())
    assert ((W > 0) == ((A + A.T) > 0)).all()


@given(returning())
def test_without_teleport_rows_sum_to_the_visits(A):
    W = flow_of(A, 0)
    P = A / np.where(A.sum(axis=1) > 0, A.sum(axis=1), 1.0)[:, None]
    visits = W.sum(axis=1)
    np.testing.assert_allclose(visits @ P, visits, rtol=1e-7, atol=1e-8 * A.sum())
    np.testing.assert_allclose(visits.sum(), A.sum(), rtol=1e-9)
    # the walk on the result leaves any set of nodes as often as the directed one
    inside = np.arange(len(A)) < (len(A) + 1) // 2
    F = visits[:, None] * P
    np.testing.assert_allclose(W[inside][:, ~inside].sum(), F[inside][:, ~inside].sum(), atol=1e-7 * A.sum())


@given(weight_matrices(weights=plain), st.sampled_from([0, 0.15, 0.7, 1]))
def test_a_symmetric_graph_comes_back(W, teleport):
    np.testing.assert_allclose(flow_of(W, teleport), W, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        directed_graph(graph_of(W), teleport).adjacency.toarray(), W, rtol=1e-8, atol=1e-9
    )


@given(arrows())
def test_nothing_but_teleport_is_the_mean_of_both_directions(A):
    np.testing.assert_allclose(flow_of(A, 1), (A + A.T) / 2, rtol=1e-12)


@given(arrows(min_size=2), teleports, st.integers(0, 99))
def test_the_order_of_the_nodes_does_not_matter(A, teleport, seed):
    order = np.random.default_rng(seed).permutation(len(A))
    turned = flow_of(A[order][:, order], teleport)
    np.testing.assert_allclose(turned, flow_of(A, teleport)[order][:, order], rtol=1e-8, atol=1e-9 * A.sum())


@given(returning(), st.sampled_from([1e-3, 1e3]))
def test_units_of_weights_carry_over(A, unit):
    np.testing.assert_allclose(flow_of(A * unit, 0.15), unit * flow_of(A, 0.15), rtol=1e-9)


def test_networkx_keeps_names_and_sums_parallel_edges():
    graph = nx.MultiDiGraph([("a", "b", {"weight": 2}), ("a", "b", {"weight": 1}), ("b", "a", {"weight": 3})])
    found = directed_graph(graph)
    assert found.nodes == ("a", "b")
    np.testing.assert_allclose(found.adjacency.toarray(), [[0, 3], [3, 0]])
    assert any("teleport 0.15" in note for note in found.notes)
    assert directed_graph([[0, 1], [1, 0]]).nodes == range(
        2
    )  # dense is as good, since this takes graphs only
    assert graphsoft.hierarchy(found, [2, 1]).nodes == ("a", "b")


def test_a_cycle_settles_without_teleport():
    found = directed_graph(nx.cycle_graph(7, create_using=nx.DiGraph), 0)
    np.testing.assert_allclose(found.adjacency.data, 0.5)


def test_nodes_without_ways_out_or_in():
    W = flow_of(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0.0]]), 0.15)
    assert W[0, 1] > 0
    assert W[1, 2] > 0
    notes = directed_graph(nx.DiGraph([(0, 1), (1, 2)])).notes
    assert any("1 nodes that no edge leaves" in note for note in notes)
    empty = directed_graph(sp.csr_array((3, 3)))
    assert empty.adjacency.nnz == 0
    assert len(directed_graph(nx.empty_graph(1, create_using=nx.DiGraph))) == 1


def test_a_teleport_below_rounding_is_as_none():
    cycle = nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)])
    tiny = directed_graph(cycle, 5e-324).adjacency.toarray()
    np.testing.assert_allclose(tiny, directed_graph(cycle, 0).adjacency.toarray(), rtol=1e-9)


def test_without_teleport_one_way_streets_are_refused():
    with pytest.raises(InputError, match=r"teleport: is 0, but the walk leaves 'b' .*use more than 0"):
        directed_graph(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), 0)
    apart = nx.DiGraph([(0, 1), (1, 0), (2, 3), (3, 2)])
    np.testing.assert_allclose(directed_graph(apart, 0).degrees, 1.0)


def test_a_walk_that_does_not_settle_is_told(monkeypatch):
    monkeypatch.setattr(directed, "MAX_STEPS", 3)
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)])
    with pytest.warns(GraphsoftWarning, match="has not settled after 3 steps; more teleport"):
        directed_graph(graph, 0)


def test_progress_ends_at_its_total():
    seen = []
    directed_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)]), progress=lambda *each: seen.append(each))
    assert {stage for stage, _, _ in seen} == {"following the flow"}
    done = [step for _, step, _ in seen]
    assert done == sorted(done)
    assert seen[-1][1] == seen[-1][2]


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    A = sp.random_array((3000, 3000), density=0.01, rng=rng, format="csr")
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(directed_graph(A).adjacency.data.tobytes())
    assert found[0] == found[1]


def test_clusters_are_where_the_walk_stays():
    # three rings, each gone round in one direction, with the same number of edges between the rings
    n, rings = 8, 3
    graph = nx.DiGraph()
    for ring in range(rings):
        for node in range(n):
            graph.add_edge((ring, node), (ring, (node + 1) % n))
            graph.add_edge((ring, node), (ring, (node + 2) % n))
        graph.add_edge((ring, 0), ((ring + 1) % rings, 4))
    found = graphsoft.cluster(directed_graph(graph), rings)
    labels = dict(zip(found.nodes, found.labels.tolist(), strict=True))
    assert all(len({labels[ring, node] for node in range(n)}) == 1 for ring in range(rings))
    assert len({labels[ring, 0] for ring in range(rings)}) == rings


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0, 1], [1, 0]], 1.5), r"teleport: got 1\.5"),
        (([[0, 1], [1, 0]], -0.1), r"teleport: got -0\.1"),
        (([[0, 1], [1, 0]], "some"), "teleport: got 'some'"),
        ((np.ones((2, 3)),), "X: is a graph of shape .2, 3., which is not square"),
        ((sp.csr_array([[0.0, -1.0], [1.0, 0.0]]),), "X: 1 weights are negative"),
        ((sp.csr_array([[0.0, np.nan], [1.0, 0.0]]),), "X: .*NaN"),
        ((nx.DiGraph(),), "X: is a graph without nodes"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        directed_graph(*arguments)
    with pytest.raises(InputError, match="progress"):
        directed_graph([[0, 1], [1, 0]], progress=3)


def test_the_door_names_it():
    for given_graph in (nx.DiGraph([(0, 1)]), sp.csr_array([[0.0, 2.0, 1.0], [1.0, 0, 0], [1.0, 0, 0]])):
        with pytest.raises(InputError, match=r"is not symmetric.*directed_graph"):
            graphsoft.hierarchy(given_graph, [1])


def test_the_input_is_left_alone():
    A = sp.csr_array(np.triu(ring_of_cliques(), 1))
    before = A.data.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        directed_graph(A)
    assert A.data.tobytes() == before
