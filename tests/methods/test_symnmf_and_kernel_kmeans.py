"""Symmetric factorization and kernel k-means."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine.scales import grouped
from graphsoft.errors import InputError
from graphsoft.kernels import rows_of
from graphsoft.kernels.kernel_kmeans import Clusters, regroup
from graphsoft.kernels.symnmf import best, descend
from graphsoft.methods import KernelKMeans, SymNMF
from graphsoft.methods.symnmf import _loss, _square
from naive.baselines import best_entry, descended, kernel_loss, normalized, normalized_cut, square_loss
from shared.shapes import cloud_graph, factorized, graph_of, ring_of_cliques
from shared.strategies import extreme, graphs, small, weight_matrices

NAMES = ["symnmf", "kernel-k-means"]


def without_isolated(W):
    kept = W.sum(axis=1) > 0
    return W[kept][:, kept]


def connected_weights(max_size=8, weights=small):
    return weight_matrices(2, max_size, weights).map(without_isolated).filter(len)


# Symmetric factorization


def descended_by_rows(graph, H, pieces=1):
    """One sweep of the compiled loop, in several calls."""
    factor, adjacency = H.copy(), graph.adjacency
    gram = factor.T @ factor
    scale = 1 / np.sqrt(graph.degrees)
    for start, stop in pairwise(np.linspace(0, len(graph), pieces + 1).astype(int)):
        descend(rows_of(adjacency), scale, gram, start, stop, factor)
    np.testing.assert_allclose(gram, factor.T @ factor, atol=1e-10 * max(1.0, gram.max()))
    return factor


@given(a=st.floats(-3, 3), b=st.floats(-3, 3))
def test_the_best_value_is_the_lowest_point(a, b):
    x = best(a, b)
    assert x >= 0

    def loss(value):
        return value**4 + 2 * a * value**2 + 4 * b * value

    others = np.linspace(0, 4, 2001)
    assert loss(x) <= loss(others).min() + 1e-9
    assert x == 0 or abs(x**3 + a * x + b) <= 1e-9


def test_the_best_value_has_no_cancellation():
    assert best(1.0, -1e-12) == pytest.approx(1e-12, rel=1e-12)
    assert best(-1.0, 0.0) == pytest.approx(1.0)
    assert best(0.0, -8.0) == pytest.approx(2.0)
    assert best(0.0, 0.0) == 0


@given(W=connected_weights(), data=st.data())
@settings(max_examples=40)
def test_a_sweep_sets_every_entry_to_its_best_value(W, data):
    H = np.array(
        data.draw(
            st.lists(st.lists(st.floats(0.1, 2), min_size=3, max_size=3), min_size=len(W), max_size=len(W))
        )
    )
    A = normalized(W)
    found = descended_by_rows(graph_of(W), H, pieces=2)
    assert square_loss(A, found) <= square_loss(A, H) + 1e-9
    np.testing.assert_allclose(square_loss(A, found), square_loss(A, descended(A, H)), rtol=1e-5, atol=1e-7)


@given(W=connected_weights(), data=st.data())
@settings(max_examples=15)
def test_every_single_update_lowers_the_loss(W, data):
    seed = data.draw(st.integers(0, 99))
    H, A = np.random.default_rng(seed).uniform(size=(len(W), 2)), normalized(W)
    before = square_loss(A, H)
    for i, q in np.ndindex(H.shape):
        H[i, q] = best_entry(A, H, i, q)
        now = square_loss(A, H)
        assert now <= before + 1e-9
        before = now


@pytest.mark.parametrize("loops", [0.0, 0.7])
def test_symmetric_factorization_lowers_the_loss(loops):
    W = cloud_graph() + loops * np.eye(60)
    found = factorized(SymNMF(), graph_of(W), 6)
    assert (np.diff(found.trace) <= 1e-12).all()
    assert 0 < found.trace[-1] < found.trace[0] < 1
    assert found.status == f"converged after {found.sweeps} sweeps"
    assert len(found.trace) == found.sweeps + 1


@given(W=connected_weights(), data=st.data())
@settings(max_examples=25)
def test_the_loss_of_symmetric_factorization(W, data):
    graph, A = graph_of(W), normalized(W)
    scale = 1 / np.sqrt(graph.degrees)
    H = np.random.default_rng(data.draw(st.integers(0, 99))).uniform(size=(len(W), 3))
    square = _square(graph, scale)
    assert square == pytest.approx(np.square(A).sum())
    assert _loss(graph, scale, H, square) == pytest.approx(square_loss(A, H) / square)


def test_exact_factors_are_found():
    S = np.kron(np.eye(3), np.ones((4, 1)))
    found = factorized(SymNMF(start="random"), graph_of(S @ S.T), 3)
    assert found.trace[-1] == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(
        found.memberships.toarray() @ found.memberships.toarray().T, S @ S.T, atol=0.02
    )


def test_the_status_of_symmetric_factorization_says_that_it_stopped_early():
    found = factorized(SymNMF(start="random", max_sweeps=2), graph_of(cloud_graph()), 6)
    assert found.sweeps == 2
    assert "still falling by" in found.status


# Kernel k-means


@pytest.mark.parametrize("shift", [1.0, 3.0])
def test_the_normalized_cut_is_the_objective_of_kernel_k_means(shift):
    W = ring_of_cliques()
    d = W.sum(axis=1)
    K = shift * np.diag(1 / d) + W / np.outer(d, d)
    rng = np.random.default_rng(0)
    gaps = [
        kernel_loss(K, d, labels) - normalized_cut(W, labels)
        for labels in (np.append(rng.integers(4, size=16), range(4)) for _ in range(10))
    ]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


@given(W=connected_weights(10), data=st.data())
@settings(max_examples=40)
def test_every_move_lowers_the_normalized_cut(W, data):
    n, graph = len(W), graph_of(W)
    k = data.draw(st.integers(1, n))
    labels = np.append(
        np.arange(k), data.draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))
    )
    labels = labels.astype(np.int64)
    d, same = W.sum(axis=1), labels[:, None] == np.arange(k)
    mass, inside = d @ same, np.array([W[part][:, part].sum() for part in same.T])
    clusters = Clusters(labels, mass, inside, same.sum(axis=0))
    cut = normalized_cut(W, labels)
    for node in range(n):
        before = labels.copy()
        moved = regroup(rows_of(graph.adjacency), d, clusters, node, node + 1)
        assert moved == (labels != before).sum() <= 1
        now = normalized_cut(W, labels)
        assert now < cut if moved else now == cut
        choices = []
        for q in range(k):
            tried = before.copy()
            tried[node] = q
            if len(set(tried.tolist())) == k:
                choices.append(normalized_cut(W, tried))
        assert now <= min(choices, default=cut) + 1e-8
        cut = now
        np.testing.assert_allclose(mass, d @ (labels[:, None] == np.arange(k)), rtol=1e-9)
        np.testing.assert_allclose(
            inside, [W[labels == q][:, labels == q].sum() for q in range(k)], atol=1e-9
        )
        assert clusters.members.tolist() == np.bincount(labels, minlength=k).tolist()


def test_the_trace_of_kernel_k_means_is_the_normalized_cut():
    W = cloud_graph()
    found = factorized(KernelKMeans(), graph_of(W), 6)
    assert found.trace[-1] == pytest.approx(normalized_cut(W, found.labels))
    assert (np.diff(found.trace) <= 1e-12).all()
    assert found.trace[-1] <= normalized_cut(W, grouped(graph_of(W), 6))
    assert found.entropy.max() == 0
    assert found.status.startswith(f"converged after {found.sweeps} sweeps")


def test_clusters_of_isolated_nodes_cut_nothing():
    W = np.zeros((4, 4))
    W[:2, :2] = [[1, 1], [1, 10]]
    found = graphsoft.cluster(graph_of(W), 3, method="kernel-k-means")
    assert found.trace == (0.0, 0.0)
    assert found.labels[0] == found.labels[1]
    assert len(set(found.labels.tolist())) == 3


def test_the_status_of_kernel_k_means_says_that_it_stopped_early():
    rng = np.random.default_rng(0)
    W = rng.uniform(size=(80, 80)) * (rng.uniform(size=(80, 80)) < 0.1)
    found = factorized(KernelKMeans(max_sweeps=1), graph_of(W + W.T), 4)
    assert "points moved in the last: raise max_sweeps" in found.status


# Both


@pytest.mark.parametrize("name", NAMES)
@given(graph=graphs(weights=extreme), data=st.data())
@settings(max_examples=40)
def test_extreme_weights(name, graph, data):
    found = graphsoft.cluster(graph, data.draw(st.integers(1, len(graph))), method=name)
    S = found.memberships
    assert np.isfinite(S.data).all()
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert np.isfinite(found.trace).all()
    assert (np.diff(found.trace) <= 1e-9 * np.abs(found.trace).max(initial=1.0)).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_units_of_weights_do_not_matter(name, unit):
    W = cloud_graph()
    found, scaled = (graphsoft.cluster(graph_of(each), 6, method=name) for each in (W, W * unit))
    np.testing.assert_allclose(scaled.memberships.toarray(), found.memberships.toarray(), atol=1e-6)
    np.testing.assert_allclose(scaled.trace, found.trace, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings_", "argument"),
    [
        (lambda: SymNMF(start="middle"), "start"),
        (lambda: SymNMF(max_sweeps=0), "max_sweeps"),
        (lambda: KernelKMeans(max_sweeps=None), "max_sweeps"),
    ],
)
def test_bad_settings_are_refused(settings_, argument):
    with pytest.raises(InputError, match=f"{argument}: got"):
        settings_()
