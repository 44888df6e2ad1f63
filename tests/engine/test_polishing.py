"""Polishing for an upper level, and refining within groups: against slow copies, and in whole hierarchies."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine import polishing, sweeps
from graphsoft.engine.assessing import assess
from graphsoft.engine.blocks import OneBlock
from graphsoft.engine.polishing import Log, polish_level, refine, widened_for_upper
from graphsoft.methods import Relation
from naive import engine as naive
from shared.blocks import stepped
from shared.likelihood import blurred, fall, floor_of
from shared.shapes import cloud_graph, factorized, graph_of, ring_of_cliques
from shared.strategies import factored_graphs, small


def groups_of(m, count):
    """Hard parents: cluster q in group q modulo `count`."""
    return np.eye(count)[np.arange(m) % count]


def polished(graph, S, P, sweeps=3, progress=None):
    blocks = OneBlock(graph)
    state, before = polish_level(blocks, blocks.begin(sp.csr_array(S)), P, sweeps, progress)
    return state.held, before


def refined(graph, S, P, sweeps, log):
    blocks = OneBlock(graph)
    return refine(blocks, blocks.begin(sp.csr_array(S)), 1, sweeps, log, P).held


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3))
@settings(max_examples=50)
def test_a_polishing_step_equals_the_slow_one(example, count):
    W, S = example
    S, P = blurred(S), groups_of(S.shape[1], count)
    found, before = stepped(graph_of(W), S, widened_for_upper, groups=sp.csr_array(P))
    expected = naive.polish_step(W, S, P, floor_of(W))
    expected[expected <= polishing.MIN_SHARE_POLISHED] = 0
    np.testing.assert_allclose(found.toarray(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    upper = naive.log_likelihood(W, S @ P, floor_of(W))
    assert before == pytest.approx(upper, rel=1e-9, abs=1e-9 * (1 + W.sum()))


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3))
def test_clusters_that_enter_while_polishing_are_those_of_the_slow_step(example, count):
    W, S = example
    P = groups_of(S.shape[1], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "MIN_SHARE", 0.9)  # which has no part in it
        found, _ = stepped(graph_of(W), S, widened_for_upper, groups=sp.csr_array(P))
    touched = (S > 0) | ((W > 0) @ (S > 0))
    gain = np.where(touched, naive.gains(W, S, floor_of(W)), np.nan)
    upper = naive.gains(W, S @ P, floor_of(W))
    gain = np.nan_to_num(naive.group_gains(gain, upper, S > 0, P.argmax(axis=1)))
    expected = naive.reweight(S, gain, sweeps.ENTRY_SHARE, polishing.MIN_SHARE_POLISHED)
    enters = sweeps.ENTRY_SHARE * np.clip(upper - 1, 0, 1) > polishing.MIN_SHARE_POLISHED
    border = ((S @ P > 0) | ((touched @ P > 0) & enters)).sum(axis=1) > 1
    expected[~border] = S[~border]
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-8)


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=50)
def test_polishing_sweeps_equal_the_slow_ones(example, count, times):
    W, S = example
    S, P = blurred(S), groups_of(S.shape[1], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "MIN_SHARE_POLISHED", 0.0)
        found, _ = polished(graph_of(W), S, sp.csr_array(P), times)
    expected = S
    for factor in [1.0] + times * [sweeps.OVERRELAXATION]:
        expected = naive.polish_step(W, expected, P, floor_of(W), factor)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_upper_likelihood_never_falls_while_polishing(seed):
    graph = graph_of(cloud_graph(60, seed))
    S = factorized(Relation(), graph, 9).memberships
    P = sp.csr_array(groups_of(9, 3))  # bad groups: much to gain
    worth = []
    for times in range(12):
        wide = not times
        found, _ = stepped(graph, S, widened_for_upper, groups=P) if wide else polished(graph, S, P, times)
        worth.append(assess(graph, (found @ P).tocsr()).log_likelihood)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert fall(worth, graph) < 1e-4
    assert worth[-1] > assess(graph, (S @ P).tocsr()).log_likelihood


def test_polishing_reports_its_progress():
    seen = []
    graph = graph_of(ring_of_cliques())
    S = factorized(Relation(), graph, 4).memberships
    polished(graph, S, sp.csr_array(np.ones((4, 1))), 4, progress=lambda *step: seen.append(step))
    assert seen == [("polishing", done, 5) for done in range(1, 6)]


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_refining_in_groups_equals_the_slow_steps(example, count, times, blur):
    W, S = example
    S, P = blurred(S) if blur else S, groups_of(S.shape[1], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "MIN_SHARE", 0.0)
        log = Log("refining", times + 1, None)
        found = refined(graph_of(W), S, sp.csr_array(P), times, log)
        (before,) = log.trace
    expected = S
    for factor, entry_share in [(1.0, sweeps.ENTRY_SHARE)] + times * [(sweeps.OVERRELAXATION, 0.0)]:
        gain = naive.overrelaxed(naive.gains(W, expected, floor_of(W)), factor)
        stepped = naive.reweight(expected, gain, entry_share, 0.0)
        if entry_share == 0.0:  # narrow sweeps leave out nodes of one cluster
            stepped[(expected > 0).sum(axis=1) == 1] = expected[(expected > 0).sum(axis=1) == 1]
        expected = naive.restored(stepped, expected, P)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-7)
    worth = naive.log_likelihood(W, S, floor_of(W))
    assert before == pytest.approx(worth, rel=1e-9, abs=1e-9 * (1 + W.sum()))


@pytest.mark.parametrize("seed", range(3))
def test_refining_in_groups_raises_the_finest_likelihood_and_leaves_the_upper_one(seed):
    graph = graph_of(cloud_graph(60, seed))
    S = factorized(Relation(), graph, 9).memberships
    P = sp.csr_array(groups_of(9, 3))
    S, _ = polished(graph, S, P)
    log = Log("refining", 4, None)
    found = refined(graph, S, P, 3, log)
    (before,) = log.trace
    np.testing.assert_allclose((found @ P).toarray(), (S @ P).toarray(), rtol=1e-12)
    assert before == pytest.approx(assess(graph, S).log_likelihood, rel=1e-12)
    assert assess(graph, found).log_likelihood > before


def test_refining_does_not_give_a_group_to_a_cluster_that_only_came_in():
    W = np.diag([32, 1 / 32, 1], 1)
    graph = graph_of(W + W.T)
    S, P = sp.csr_array(np.eye(4)[:, [0, 1, 3]] + np.eye(4)[:, [1, 0, 2]]), groups_of(3, 2)
    S = sp.csr_array(S.toarray() / S.toarray().sum(axis=1, keepdims=True))
    log = Log("refining", 4, None)
    found = refined(graph, S, sp.csr_array(P), 3, log)
    (before,) = log.trace
    assert assess(graph, found).log_likelihood >= before
    h = graphsoft.hierarchy(graph, [3, 2, 1])
    assert h[0].mass.min() > 1.0  # none is empty


@pytest.mark.parametrize(("rounds", "steps"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_the_finest_level_has_its_rounds_whether_or_not_levels_follow(rounds, steps):
    graph = graph_of(cloud_graph(60, 0))
    alone = graphsoft.hierarchy(graph, [9], method=Relation(rounds=rounds))
    below = graphsoft.hierarchy(graph, [9, 3], method=Relation(rounds=rounds))
    for h in (alone, below):
        assert len(h.report.levels[0].trace) == steps
    assert alone.report.levels[0].sweeps == below.report.levels[0].sweeps


def test_refining_reports_its_progress():
    seen = []
    graph = graph_of(ring_of_cliques())
    S = factorized(Relation(), graph, 4).memberships
    log = Log("refining", 3, lambda *step: seen.append(step))
    refined(graph, S, sp.csr_array(np.ones((4, 1))), 2, log)
    assert seen == [("refining", done, 3) for done in range(1, 4)]


def test_levels_above_take_one_round_and_the_finest_its_rounds_within_groups():
    X, seen = np.random.default_rng(0).normal(size=(200, 3)), []
    method = Relation(rounds=3)
    h = graphsoft.hierarchy(X, [20, 8, 3], method=method, progress=lambda *step: seen.append(step))
    finest, between, top = h.report.levels
    assert [len(each.trace) for each in h.report.levels] == [3, 1, 1]
    assert (finest.sweeps, between.sweeps, top.sweeps) == (12, 4, 4)
    assert between.status == "divided, and polished by 4 sweeps"
    assert ("refining", 12, 12) in seen
    assert finest.log_likelihood > finest.trace[-1] > finest.trace[0]
