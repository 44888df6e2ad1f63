"""Relation factorization with a penalty on each cluster: its sweeps, removals, and whole runs."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import cluster_surviving, surviving
from naive import surviving as naive
from shared.shapes import cloud, graph_of, ring_of_cliques
from shared.strategies import plain, small, weight_matrices


def state_of(W, m, penalty, seed=0):
    graph = graph_of(W / W.sum())
    shares = np.random.default_rng(seed).random((len(W), m)) + 0.1
    return surviving._State(graph, shares / shares.sum(axis=1, keepdims=True), penalty)


@given(weight_matrices(2, 8, small), st.integers(2, 4), st.floats(0, 0.9))
def test_a_sweep_equals_a_step_of_the_regularized_objective(W, m, part):
    if not W.any():
        W = W + np.eye(len(W))
    state = state_of(W, m, 0.0)
    penalty = part * state.mass.min()
    W = state.graph.adjacency.toarray()
    H = W.sum(axis=1)[:, None] * state.shares / state.mass
    lam = (state.mass - penalty) / (state.mass - penalty).sum()
    objective = state.sweep(penalty)
    np.testing.assert_allclose(objective, naive.regularized(W, H, lam, penalty), rtol=1e-8, atol=1e-9)
    new_H, _ = naive.step(W, H, lam, penalty)
    found = W.sum(axis=1)[:, None] * state.shares
    np.testing.assert_allclose(found / found.sum(axis=0), new_H, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(state.shares.sum(axis=1), 1.0)


@pytest.mark.parametrize(("max_clusters", "converged"), [(1000, True), (3, False)])
def test_the_trace_ends_with_the_objective_of_the_result(max_clusters, converged):
    W = ring_of_cliques(3, 5)
    state = state_of(W, 5, 0.05)
    trace, _, settled = surviving._survived(state, max_clusters, 1e-3, None)
    assert settled == converged
    W = state.graph.adjacency.toarray()
    H, paid = W.sum(axis=1)[:, None] * state.shares / state.mass, state.mass - 0.05
    objective = naive.regularized(W, H, paid / paid.sum(), 0.05)
    np.testing.assert_allclose(trace[-1], objective, rtol=1e-9)
    assert trace[-2] - trace[-1] > 1e-5  # so that a different number of steps would show


@given(weight_matrices(1, 12), st.sampled_from([0.0, 0.03, 0.2, 0.6]), st.integers(1, 12))
@settings(max_examples=60)
def test_the_objective_falls_and_the_clusters_left_outweigh_the_penalty(W, penalty, max_clusters):
    graph = graph_of(W)
    found = cluster_surviving(graph, penalty, max_clusters=max_clusters)
    assert (np.diff(found.trace) <= 1e-9).all()
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1.0)
    clusters = found.memberships.shape[1]
    assert clusters <= max_clusters
    if clusters > 1:
        mass = found.memberships.T @ graph.degrees / graph.degrees.sum()
        assert mass.min() > penalty - 1e-3  # small shares are dropped at the end


@given(weight_matrices(3, 8, plain), st.integers(2, 4), st.floats(0.01, 0.3))
@settings(max_examples=30)
def test_the_shares_of_a_removed_cluster_go_to_the_others(W, m, penalty):
    if not W.any():
        W = W + np.eye(len(W))
    state = state_of(W, m, penalty)
    before, mass = state.shares.copy(), state.mass
    state.remove_lightest()
    kept = np.delete(before, int(np.argmin(mass)), axis=1)
    assert state.shares.shape == kept.shape
    assert (state.shares >= kept).all()
    share, degrees = before[:, int(np.argmin(mass))], state.graph.degrees
    walks = np.array([sum(degrees[i] * share[i] * kept[i, q] for i in range(len(W))) for q in range(m - 1)])
    parts = (1 - surviving.ENTRY_SHARE) * walks / walks.sum() + surviving.ENTRY_SHARE / (m - 1)
    np.testing.assert_allclose(state.shares, kept + np.outer(share, parts))
    np.testing.assert_allclose(state.shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("blocks", [3, 5, 8])
def test_as_many_clusters_as_blocks_survive(blocks):
    graph = graphsoft.patterns.block_graph(0, blocks=blocks, size=30, inside=0.6, between=0.05)
    found = cluster_surviving(graph)
    assert found.memberships.shape[1] == blocks
    truth = [block for _, block in graph.nodes(data="block")]
    assert graphsoft.metrics.adjusted_rand(truth, found.labels) > 0.95


def test_a_higher_penalty_leaves_no_more_clusters():
    graph = graphsoft.knn_graph(cloud(300))
    left = [cluster_surviving(graph, penalty).memberships.shape[1] for penalty in (0.0, 0.01, 0.03, 0.1, 0.5)]
    assert left == sorted(left, reverse=True)
    assert left[0] > left[-1] == 1


def test_scale_threads_and_order_do_not_matter(monkeypatch):
    graph = graphsoft.as_graph(graphsoft.patterns.block_graph(2, blocks=4, size=25))
    first = cluster_surviving(graph, 0.05)
    for exponent in (-30, 20):
        scaled = cluster_surviving(sp.csr_array(graph.adjacency * 2.0**exponent), 0.05)
        assert scaled.memberships.data.tobytes() == first.memberships.data.tobytes()
        assert scaled.trace == first.trace
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert cluster_surviving(graph, 0.05).memberships.data.tobytes() == first.memberships.data.tobytes()
    order = np.random.default_rng(1).permutation(len(graph))
    reordered = cluster_surviving(sp.csr_array(graph.adjacency[order][:, order]), 0.05)
    assert graphsoft.metrics.adjusted_rand(reordered.labels, first.labels[order]) == 1.0


def test_identical_points_get_identical_memberships():
    X = np.repeat(cloud(60), 3, axis=0)
    shares = cluster_surviving(X, 0.05).memberships.toarray()
    np.testing.assert_array_equal(shares[0::3], shares[1::3])
    np.testing.assert_array_equal(shares[0::3], shares[2::3])


def test_the_status_says_if_more_sweeps_would_help():
    found = cluster_surviving(graphsoft.knn_graph(cloud(200)), 0.1, max_sweeps=2, tolerance=0.0)
    assert found.status.endswith("stopped at 2 sweeps, still falling: raise max_sweeps")
    assert len(found.trace) == 3


def test_a_graph_without_edges_is_one_cluster():
    assert cluster_surviving(nx.empty_graph(4)).memberships.toarray().tolist() == [[1.0]] * 4


def test_progress():
    calls = []
    cluster_surviving(graph_of(ring_of_cliques()), progress=lambda *call: calls.append(call))
    assert {"removing clusters", "factorizing"} <= {stage for stage, _, _ in calls}
    assert all(0 < done <= total for _, done, total in calls)


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [("penalty", 1.0), ("penalty", -0.1), ("max_clusters", 0), ("max_sweeps", 0), ("tolerance", 2)],
)
def test_bad_settings_are_refused(argument, wrong):
    with pytest.raises(InputError, match=f"{argument}: got"):
        cluster_surviving(cloud(40), **{argument: wrong})
