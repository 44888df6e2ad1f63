"""The Baum-Eagon method: its formulas, what its steps guarantee, and its use."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import METHODS, BaumEagon, Sample
from graphsoft.methods.baum_eagon import MARGIN, _Problem
from naive import baum_eagon as naive
from shared.shapes import cloud_graph, graph_of, ring_of_cliques
from shared.strategies import factored_graphs, graphs, memberships, plain, small, weight_matrices


def scaled(W):
    """Weights divided by the largest, as the method does it."""
    assume(W.any())
    return W / W.max()


def inside(S):
    """Memberships without zeros."""
    return 0.9 * S + 0.1 / S.shape[1]


def ring(n, reach=15):
    """A ring in which each node has edges to several on both sides."""
    rows = np.repeat(np.arange(n), 2 * reach)
    columns = (rows + np.tile([*range(-reach, 0), *range(1, reach + 1)], n)) % n
    return graphsoft.as_graph(sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)))


# The formulas


@given(factored_graphs())
def test_the_fit_of_memberships(drawn):
    W, S = drawn
    W = scaled(W)
    state = _Problem.of(graph_of(W)).state(S)
    np.testing.assert_allclose(state.fit.product, W @ S, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(state.fit.overlap, S.T @ S, rtol=1e-12)
    assert state.fit.scale == pytest.approx(naive.best_alpha(W, S), rel=1e-9)
    assert state.error == pytest.approx(naive.unexplained(W, S), abs=1e-9)


@given(factored_graphs())
def test_a_step_equals_that_of_the_paper(drawn):
    W, S = drawn
    W, S = scaled(W), inside(S)
    assume(S.shape[1] > 1)  # with one cluster the step may be zero over zero
    problem = _Problem.of(graph_of(W))
    state = problem.state(S)
    np.testing.assert_allclose(
        problem.step(state, 1.0, 0.0), naive.step(W, S, state.fit.scale), rtol=1e-9, atol=1e-12
    )


@given(factored_graphs(weights=small))
def test_a_larger_polynomial_means_a_smaller_distance(drawn):
    W, S = drawn
    W, n = scaled(W), len(W)
    for alpha in (0.3, 2.0):
        expected = (np.square(W).sum() - naive.objective(W, S, alpha)) / alpha + alpha * n**2
        assert naive.to_maximize(W, S, alpha) == pytest.approx(expected, rel=1e-9)


@given(weight_matrices(2, 3, plain), st.integers(2, 3), st.data())
@settings(max_examples=15)
def test_a_step_equals_that_of_the_theorem(W, k, data):
    W = scaled(W)
    S, alpha = inside(data.draw(memberships(len(W), k))), 0.7
    terms = naive.polynomial(W, k, alpha)
    assert min(terms.values()) >= -1e-12
    assert naive.value(terms, S) == pytest.approx(naive.to_maximize(W, S, alpha), rel=1e-9)
    np.testing.assert_allclose(naive.step_of_theorem(terms, S), naive.step(W, S, alpha), rtol=1e-9)


def test_no_smaller_constant_leaves_all_coefficients_positive():
    W = np.eye(2)[::-1]
    assert min(naive.polynomial(W, 2, alpha=1.0).values()) == 0
    assert min(naive.polynomial(W, 2, alpha=1.0, constant=0.99).values()) < 0


# What the steps guarantee


@given(factored_graphs(), st.sampled_from([0.1, 0.5, 1.0]))
def test_a_step_with_the_whole_constant_never_raises_the_objective(drawn, part):
    W, S = drawn
    W = scaled(W)
    problem = _Problem.of(graph_of(W))
    state = problem.state(inside(S))
    for margin in (0.0, MARGIN):
        stepped = problem.step(state, 1.0, margin)
        np.testing.assert_allclose(stepped.sum(axis=1), 1, rtol=1e-12)
        # also after a part of the step
        new = (1 - part) * state.shares + part * stepped
        before, after = (naive.objective(W, each, state.fit.scale) for each in (state.shares, new))
        assert after <= before + 1e-13 * (W**2).sum()
        assert problem.state(new).error <= state.error + 1e-14


@given(graphs(weights=small), st.data(), st.sampled_from(["adaptive", "whole"]), st.integers(0, 5))
def test_the_trace_never_rises(graph, data, constant, seed):
    assume(graph.adjacency.nnz)
    k = data.draw(st.integers(2, 4))
    method = BaumEagon(start="random", constant=constant, max_sweeps=60)
    found = method.cluster(Sample(graph), k, np.random.default_rng(seed))
    assert (np.diff(found.trace) <= 0).all()
    assert len(found.trace) == found.sweeps + 1
    assert 0 <= found.trace[-1] <= found.trace[0] <= 1
    # dropping small shares at the end changes little
    W = graph.adjacency.toarray()
    assert naive.unexplained(W, found.memberships.toarray()) == pytest.approx(found.trace[-1], abs=2e-3)


@pytest.mark.parametrize("W", [cloud_graph(42), ring_of_cliques(), ring_of_cliques() + np.eye(20)])
def test_a_run_equals_that_of_the_paper(W):
    method = BaumEagon(start="random", constant="whole", max_sweeps=25, tolerance=0)
    found = method.cluster(Sample(graph_of(W)), 3, np.random.default_rng(4))
    S, trace = naive.run(W, np.random.default_rng(4).dirichlet(np.ones(3), size=len(W)), 25)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-9)
    S[S <= 1e-4] = 0
    np.testing.assert_allclose(found.memberships.toarray(), S / S.sum(axis=1, keepdims=True), atol=1e-9)


def test_the_adaptive_constant_is_faster():
    sample = Sample(graph_of(cloud_graph(120)))
    quick = BaumEagon(tolerance=0, max_sweeps=60).cluster(sample, 6, np.random.default_rng(0))
    slow = BaumEagon(constant="whole", tolerance=0, max_sweeps=600).cluster(
        sample, 6, np.random.default_rng(0)
    )
    assert quick.trace[-1] <= slow.trace[-1]


# Use


def test_the_status_says_how_it_ended():
    seen = []
    sample = Sample(graph_of(cloud_graph(60)))
    rng = np.random.default_rng(0)
    early = BaumEagon(max_sweeps=3).cluster(sample, 3, rng, lambda *step: seen.append(step))
    assert early.status.startswith("stopped at 3 sweeps, still falling by ")
    assert early.status.endswith(" a sweep: raise max_sweeps")
    assert seen == [("fitting memberships", done, 3) for done in (1, 2, 3)]
    late = BaumEagon().cluster(sample, 3, rng)
    assert late.status == f"converged after {late.sweeps} sweeps"
    assert 3 < late.sweeps < 200


@pytest.mark.parametrize("exponent", [-299, 299])
def test_the_unit_of_the_weights_does_not_matter(exponent):
    W = cloud_graph(60)
    found, again = (graphsoft.cluster(graph_of(each), 3, "baum-eagon") for each in (W, W * 2.0**exponent))
    assert found.memberships.data.tobytes() == again.memberships.data.tobytes()
    assert found.trace == again.trace


@pytest.mark.parametrize("start", ["contraction", "random"])
def test_weights_of_all_sizes_in_one_graph(start):
    W = ring_of_cliques() * 1e-90
    W[:5, :5] *= 1e180
    found = graphsoft.cluster(graph_of(W), 3, BaumEagon(start=start))
    assert np.isfinite(found.memberships.data).all()
    assert np.isfinite(found.trace).all()
    assert len(set(found.labels[:5].tolist())) == 1


@given(weight_matrices(3, 9, small), st.randoms(use_true_random=False))
def test_a_step_does_not_depend_on_the_order_of_nodes(W, random):
    W = scaled(W)
    order = random.sample(range(len(W)), len(W))
    S = np.random.default_rng(0).dirichlet(np.ones(3), size=len(W))
    here, there = _Problem.of(graph_of(W)), _Problem.of(graph_of(W[order][:, order]))
    expected = here.step(here.state(S), 0.3, MARGIN)[order]
    np.testing.assert_allclose(there.step(there.state(S[order]), 0.3, MARGIN), expected, rtol=1e-9)


def test_one_cluster_that_explains_everything_stays():
    S = np.ones((3, 1))
    problem = _Problem.of(graph_of(np.ones((3, 3))))
    for margin in (0.0, MARGIN):
        assert problem.step(problem.state(S), 1.0, margin).tolist() == S.tolist()


def test_components_become_clusters():
    W = np.kron(np.eye(3), 1 - np.eye(6))
    found = graphsoft.cluster(graph_of(W), 3, "baum-eagon")
    assert sorted(found.labels[::6].tolist()) == [0, 1, 2]
    assert (found.entropy < 0.05).all()
    assert found.trace[-1] < 0.2  # only the empty diagonal is not explained


def test_loops_count():
    W = 1 - np.eye(12)
    W[:6, 6:] = W[6:, :6] = 0
    with_loops = graphsoft.cluster(graph_of(W + np.eye(12)), 2, "baum-eagon")
    assert with_loops.trace[-1] == pytest.approx(0, abs=1e-3)
    assert graphsoft.cluster(graph_of(W), 2, "baum-eagon").trace[-1] > 0.1


def test_a_bridge_belongs_to_both_sides():
    W = np.zeros((9, 9))
    W[:4, :4] = W[5:, 5:] = 1
    W[4] = W[:, 4] = 0.5
    S = graphsoft.cluster(graph_of(W), 2, BaumEagon(tolerance=1e-9)).memberships.toarray()
    np.testing.assert_allclose(S[4], 0.5, atol=1e-3)
    assert S.max(axis=1)[[0, 8]].min() > 0.9


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    sample, found = Sample(ring(20_000)), []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(BaumEagon(max_sweeps=4).cluster(sample, 3, np.random.default_rng(0)))
    assert found[0].memberships.data.tobytes() == found[1].memberships.data.tobytes()
    assert found[0].trace == found[1].trace


def test_memory_stays_within_ten_times_the_graph():
    graph = ring(20_000)
    matrix = graph.adjacency
    size = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    tracemalloc.start()
    try:
        BaumEagon(start="random", max_sweeps=3).cluster(Sample(graph), 10, np.random.default_rng(0))
        assert tracemalloc.get_traced_memory()[1] < 10 * size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"start": "kmeans"}, "start: got 'kmeans'"),
        ({"constant": "half"}, "constant: got 'half'"),
        ({"max_sweeps": 0}, "max_sweeps: got 0"),
        ({"tolerance": -1e-3}, "tolerance: got -0.001"),
        ({"tolerance": float("nan")}, "tolerance: got nan"),
        ({"tolerance": True}, "tolerance: got True"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(InputError, match=message):
        BaumEagon(**setting)


def test_the_row_in_the_table():
    assert METHODS["baum-eagon"] == BaumEagon()
