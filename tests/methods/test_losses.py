"""Relation factorization under other losses than Kullback-Leibler."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine.assessing import assess
from graphsoft.errors import InputError
from graphsoft.methods import METHODS, Relation
from graphsoft.methods.parts import losses
from graphsoft.methods.parts.losses import first_factor, loss_of, refined
from graphsoft.methods.relation import by_likelihood
from naive import engine as naive
from naive import losses as naive_losses
from shared.shapes import cloud, cloud_graph, factorized, graph_of, ring_of_cliques
from shared.strategies import factored_graphs, graphs, small, weight_matrices

betas = st.sampled_from([0.1, 0.5, 0.9, 1.0, 1.2, 1.5, 2.0])


@st.composite
def examples(draw, max_size=8):
    """Weights with some edges, the largest 1, a factor, pools of nodes, and a beta."""
    W = draw(weight_matrices(2, max_size, small).filter(np.any))
    entries = st.integers(0, 20).map(lambda value: value / 10)
    rows = st.lists(st.lists(entries, min_size=3, max_size=3), min_size=len(W), max_size=len(W))
    pool = draw(st.lists(st.integers(0, 3), min_size=len(W), max_size=len(W)))
    return W / W.max(), np.array(draw(rows)), np.unique(pool, return_inverse=True)[1], draw(betas)


def scaled(graph):
    """Dense weights divided by the largest."""
    return graph.adjacency.toarray() / graph.adjacency.data.max()


def rise(trace):
    return max([0.0, *np.diff(trace)])


# The objective and its slope


@given(examples())
def test_the_objective_equals_the_slow_one(example):
    W, G, _, beta = example
    floor = losses.FLOOR if beta != 2 else 0.0
    found = loss_of(graph_of(W), 3, beta)(G)
    pull, push = naive_losses.pull_and_push(W, G, beta, floor)
    assert found.value == pytest.approx(naive_losses.all_pairs(W, G, beta, floor), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found.pull[G > 0], pull[G > 0], rtol=1e-9)
    np.testing.assert_allclose(found.push[G > 0], push[G > 0], rtol=1e-9)


@given(examples())
def test_the_pooled_objective_equals_the_slow_one(example):
    W, G, pool, beta = example
    found = losses._divergence(sp.csr_array(W), pool, beta)(G)
    expected = naive_losses.pooled(W, G, beta, pool, losses.FLOOR)
    assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(examples())
def test_push_minus_pull_is_half_the_slope_of_the_pooled_objective(example):
    W, G, pool, beta = example
    G = G + 0.2
    found = losses._divergence(sp.csr_array(W), pool, beta)(G)
    for i, p in [(0, 0), (len(W) - 1, 2)]:
        near = np.zeros_like(G)
        near[i, p] = 1e-5
        values = [naive_losses.pooled(W, G + side * near, beta, pool, losses.FLOOR) for side in (1, -1)]
        slope = 2 * (found.push - found.pull)[i, p]
        scale = max(1.0, found.push[i, p], found.value)
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(slope, rel=1e-4, abs=1e-4 * scale)


@given(examples())
def test_pools_are_exact_for_proportional_rows_or_one_cluster(example):
    W, G, pool, beta = example
    stretch = np.linspace(1, 3, len(G))[:, None]
    proportional = stretch * G[np.unique(pool, return_index=True)[1]][pool]
    unmixed = np.where(np.arange(3) == (pool % 3)[:, None], G + 0.1, 0.0)
    nothing = np.zeros_like(W)
    for rows in (proportional, unmixed):
        exact = naive_losses.all_pairs(nothing, rows, beta)
        assert naive_losses.pooled(nothing, rows, beta, pool) == pytest.approx(exact, rel=1e-9, abs=1e-12)


@given(examples())
def test_beta_of_two_and_one_equal_their_closed_forms(example):
    W, G, _, _ = example
    graph, every = sp.csr_array(W), np.arange(len(W))
    M = G @ G.T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "FLOOR", 0.0)
        general, special = (
            look(G + 0.1) for look in (losses._divergence(graph, every, 2.0), loss_of(graph_of(W), 3, 2.0))
        )
        likely = losses._divergence(graph, every, 1.0)(G + 0.1)
    np.testing.assert_allclose(general.value, special.value, rtol=1e-9)
    np.testing.assert_allclose(general.pull, special.pull, rtol=1e-9)
    np.testing.assert_allclose(general.push, special.push, rtol=1e-9)
    M = (G + 0.1) @ (G + 0.1).T
    np.testing.assert_allclose(special.value, 0.5 * ((W - M) ** 2).sum(), rtol=1e-9)
    # the sum of the model has a closed form too; the rest is minus the log-likelihood
    edges = W > 0
    closed = (W[edges] * np.log(W[edges] / M[edges])).sum() - W.sum() + ((G + 0.1).sum(axis=0) ** 2).sum()
    np.testing.assert_allclose(likely.value, closed, rtol=1e-9, atol=1e-9)


@given(factored_graphs(weights=small))
def test_the_first_factor_gives_its_memberships_back(example):
    W, S = example
    if not W.any():
        return
    graph = graph_of(W)
    G = first_factor(graph, S)
    np.testing.assert_allclose(G @ G.T, naive.equivalent(naive.factor(scaled(graph), S)), atol=1e-12)
    back = G * G.sum(axis=0)
    np.testing.assert_allclose(back, naive.factor(scaled(graph), S), atol=1e-12)


@given(examples())
def test_one_factor_equals_the_two_of_the_paper(example):
    W, G, _, beta = example
    G = G + 0.1
    mass = G.sum(axis=0)
    both = naive_losses.in_two_factors(W, G / mass, mass**2, beta)
    assert both == pytest.approx(naive_losses.all_pairs(W, G, beta), rel=1e-9)


# Steps


@given(examples())
def test_the_proven_step_never_raises_the_objective(example):
    W, G, _, beta = example
    G = G + 0.05
    for _ in range(4):
        stepped = naive_losses.step(W, G, beta)
        before, after = (naive_losses.all_pairs(W, each, beta) for each in (G, stepped))
        assert after <= before + 1e-9 * (1 + before)
        G = np.maximum(stepped, 1e-30)


@given(examples())
def test_the_proven_step_never_raises_the_pooled_objective(example):
    W, G, pool, beta = example
    G, look = G + 0.05, losses._divergence(sp.csr_array(W), pool, beta)
    for _ in range(4):
        at = look(G)
        stepped = G * losses._growth(at) ** (0.5 / max(beta, 2 - beta))
        assert look(stepped).value <= at.value + 1e-9 * (1 + abs(at.value))
        G = stepped


def test_a_step_that_would_raise_the_objective_is_not_taken():
    """On one edge, the longer step for beta 1 alternates between too much and too little."""
    graph = graph_of(np.array([[0.0, 1.0], [1.0, 0.0]]))
    found = refined(graph, sp.csr_array(np.ones((2, 1))), 0.5, 50)
    assert rise(found.trace) == 0
    assert found.status.startswith("converged")
    # the best multiple of a row of ones: two pairs have weight 1 and two 0
    best = min(
        naive_losses.all_pairs(scaled(graph), np.full((2, 1), g), 0.5, losses.FLOOR)
        for g in np.linspace(0.1, 1, 2000)
    )
    assert found.trace[-1] == pytest.approx(best, rel=1e-4)


@given(graphs(min_size=3), st.data(), betas)
@settings(max_examples=60)
def test_any_graph_is_factorized_and_the_objective_never_rises(graph, data, beta):
    count = data.draw(st.integers(2, len(graph)))
    found = factorized(Relation(loss=beta, max_sweeps=40), graph, count)
    S = found.memberships
    assert S.shape == (len(graph), count)
    assert (S.data > 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-12)
    assert np.isfinite(found.trace).all()
    assert beta == 1 or rise(found.trace) == 0


@pytest.mark.parametrize("beta", [0.5, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_factors_found_with_pools_are_nearly_as_good(beta, seed):
    graph = graph_of(cloud_graph(300, seed))
    start = first_factor(graph, 0.9 * factorized(Relation(), graph, 6).memberships.toarray() + 0.1 / 6)
    exact, proven = loss_of(graph, 6, beta), 0.5 / max(beta, 2 - beta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "POOLS", 100)
        pooled = loss_of(graph, 6, beta)
    best, near = (losses._minimized(start, loss, proven, 200) for loss in (exact, pooled))
    assert rise(best[1]) == rise(near[1]) == 0
    before, found, min_size = exact(start).value, exact(near[0]).value, exact(best[0]).value
    assert before - found > 0.95 * (before - min_size)


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5, 2.0])
def test_at_the_end_pull_and_push_are_equal(beta):
    graph = graph_of(cloud_graph(36))
    start = first_factor(graph, 0.9 * factorized(Relation(), graph, 3).memberships.toarray() + 0.1 / 3)
    loss = loss_of(graph, 3, beta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "MIN_GAIN", 0.0)
        factor, trace, _ = losses._minimized(start, loss, 0.5 / max(beta, 2 - beta), 3000)
    assert rise(trace) == 0
    at, first = loss(factor), loss(start)
    unrest = [np.abs(G * (look.push - look.pull)).sum() for G, look in ((factor, at), (start, first))]
    assert unrest[0] < 1e-3 * unrest[1]
    # entries that have almost vanished are pushed down
    gone = factor < 1e-6 * start
    assert (at.pull[gone] <= 1.01 * at.push[gone]).all()


def test_general_steps_for_beta_one_reach_the_likelihood_of_the_engine():
    graph = graph_of(cloud_graph(60))
    start = factorized(Relation(), graph, 4).memberships
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "MIN_GAIN", 0.0)
        general = refined(graph, start, 1.0, 2000).memberships
    engine = factorized(Relation(support="dense", rounds=500), graph, 4).memberships
    worth = [assess(graph, each).log_likelihood for each in (general, engine)]
    assert worth[0] == pytest.approx(worth[1], rel=1e-3)


# Results


@pytest.mark.parametrize("loss", ["frobenius", 0.5, 1.5])
def test_cliques_are_found_among_extreme_weights(loss):
    for scale in (1e-90, 1.0, 1e90):
        found = factorized(Relation(loss=loss), graph_of(scale * ring_of_cliques()), 4)
        labels = found.labels.reshape(4, 5)
        assert (labels == labels[:, :1]).all()
        assert len(set(labels[:, 0])) == 4
        assert np.isfinite(found.trace).all()
    # the trace does not depend on the unit of the weights
    plain = factorized(Relation(loss=loss), graph_of(ring_of_cliques()), 4)
    np.testing.assert_allclose(found.trace, plain.trace, rtol=1e-6)


@pytest.mark.parametrize("loss", ["frobenius", 0.5])
def test_node_order_does_not_matter(loss):
    W = cloud_graph()
    order = np.random.default_rng(1).permutation(len(W))
    found = factorized(Relation(loss=loss), graph_of(W), 6).memberships.toarray()
    again = factorized(Relation(loss=loss), graph_of(W[order][:, order]), 6).memberships.toarray()
    np.testing.assert_allclose(again @ again.T, (found @ found.T)[order][:, order], atol=1e-6)


def test_the_size_of_pieces_does_not_change_bits(monkeypatch):
    graph = graph_of(cloud_graph())
    monkeypatch.setattr(losses, "POOLS", 25)

    def run():
        found = factorized(Relation(loss=1.5), graph, 6)
        return found.memberships.data.tobytes(), found.trace

    whole = run()
    monkeypatch.setattr(losses, "LOAD", 40)
    monkeypatch.setattr("graphsoft.parallel.LOAD", 40)
    assert run() == whole


def test_known_pairs_change_the_answer():
    W = ring_of_cliques(3)
    pairs = [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9), (0, 6), (1, 7), (2, 8)]
    for name in ("relation", "relation-frobenius", "relation-beta"):
        labels = graphsoft.cluster(W, 2, method=name, affinity="precomputed", must_link=pairs).labels
        assert (labels[:10] == labels[0]).all()
        assert (labels[10:] != labels[0]).all()


def test_all_pairs_may_be_known_to_be_apart():
    W = np.ones((3, 3)) - np.eye(3)
    apart = [(0, 1), (0, 2), (1, 2)]
    for name in ("relation", "relation-frobenius", "relation-beta"):
        found = graphsoft.cluster(W, 2, method=name, affinity="precomputed", cannot_link=apart)
        np.testing.assert_allclose(found.memberships.sum(axis=1), 1)


def test_levels_of_other_losses():
    X = cloud(120, centers=6)
    for loss in ("frobenius", 1.5):
        h = graphsoft.hierarchy(X, [12, 6], method=Relation(loss=loss))
        assert all(rise(level.trace) == 0 for level in h.report.levels)
        assert "sweeps" in h.report.levels[0].status


# Settings, status and progress


def test_names_and_numbers_mean_the_same_losses():
    assert METHODS["relation-frobenius"] == Relation(loss="frobenius")
    assert METHODS["relation-beta"].beta == 1.5
    assert by_likelihood(Relation(loss=1))
    assert by_likelihood(Relation())
    assert not by_likelihood(Relation(loss=2))
    graph = graph_of(cloud_graph())
    for pair in (("kullback-leibler", 1.0), ("frobenius", np.float32(2))):
        one, two = (factorized(Relation(loss=loss), graph, 5) for loss in pair)
        assert one.memberships.data.tobytes() == two.memberships.data.tobytes()
        assert one.trace == two.trace


@pytest.mark.parametrize("loss", ["euclidean", 0, 1e-320, -1, 2.1, True, None, np.nan, [1.5]])
def test_bad_losses_are_refused(loss):
    with pytest.raises(InputError, match=r"loss: got .*kullback-leibler"):
        Relation(loss=loss)


@pytest.mark.parametrize("loss", [1e-6, 1.5])
def test_a_loop_may_outweigh_all_edges(loss):
    W = np.diag(np.ones(7), 1)
    W += W.T
    W[0, 0] = 1e300
    found = factorized(Relation(loss=loss), graph_of(W), 3)
    assert np.isfinite(found.trace).all()
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)


def test_bad_numbers_of_sweeps_are_refused():
    with pytest.raises(InputError, match="max_sweeps: got -1"):
        Relation(loss=1.5, max_sweeps=-1)


def test_the_status_advises():
    graph = graph_of(cloud_graph())
    stopped = factorized(Relation(loss=2, max_sweeps=2), graph, 6)
    assert stopped.status.startswith("stopped at 2 sweeps, still falling by")
    assert stopped.status.endswith("a sweep: raise max_sweeps")
    assert len(stopped.trace) == 3
    assert (
        factorized(Relation(loss=2, max_sweeps=0), graph, 6).status == "stopped at 0 sweeps: raise max_sweeps"
    )
    done = factorized(Relation(loss=2, max_sweeps=2000), graph, 6)
    assert done.status == f"converged after {len(done.trace) - 1} sweeps"


def test_progress():
    seen = []
    graph = graph_of(ring_of_cliques())
    memberships = factorized(Relation(), graph, 4).memberships
    found = refined(graph, memberships, 1.5, 3, lambda *step: seen.append(step))
    assert seen == [("factorizing", done, 3) for done in range(1, len(found.trace))]
