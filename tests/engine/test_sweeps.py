"""Sweeps of expectation maximization: against slow copies, and what one or many do to the likelihood."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.engine import blocks, polishing, sweeps
from graphsoft.engine.assessing import assess
from graphsoft.engine.blocks import OneBlock
from graphsoft.engine.coarsening import contracted
from graphsoft.engine.scales import coarsened
from graphsoft.methods import Relation
from naive import engine as naive
from shared.likelihood import blurred, fall, floor_of, rise
from shared.shapes import cloud_graph, connected, factorized, graph_of, through
from shared.strategies import factored_graphs, graphs, memberships, small

SHAPES = {
    "cloud": cloud_graph(),
    "star": np.outer(np.eye(9)[0], np.arange(9)) + np.outer(np.arange(9), np.eye(9)[0]),
    "path": np.diag(np.arange(1.0, 12), 1) + np.diag(np.arange(1.0, 12), -1),
    "bipartite": np.kron([[0, 1], [1, 0]], np.add.outer(np.arange(5), np.arange(5)) % 3 + 1.0),
}


@given(factored_graphs(weights=small))
def test_the_two_forms_of_a_step_are_one(example):
    W, S = example
    B = naive.factor(connected(W), blurred(S))
    scale = B.sum(axis=0)
    if not scale.all():
        return
    H, new_scale = naive.em_step_joint(connected(W), B / scale, scale)
    stepped = naive.em_step(connected(W), B)
    np.testing.assert_allclose(H * new_scale, stepped, rtol=1e-9)
    np.testing.assert_allclose(new_scale, stepped.sum(axis=0), rtol=1e-9)


@given(factored_graphs(weights=small))
def test_a_step_keeps_degrees_and_raises_the_likelihood(example):
    W, S = example
    S = blurred(S)
    d, B = W.sum(axis=1), naive.factor(W, S)
    stepped = naive.em_step(W, B)
    np.testing.assert_allclose(stepped.sum(axis=1), d, rtol=1e-12)
    np.testing.assert_allclose(stepped.sum(), W.sum(), rtol=1e-12)
    np.testing.assert_allclose(naive.equivalent(stepped).sum(axis=1), d, rtol=1e-12)
    after = np.where(d[:, None] > 0, stepped * naive.inverse(d)[:, None], S)
    assert naive.log_likelihood(W, after) >= naive.log_likelihood(W, S) - 1e-9 * (1 + W.sum())
    # in shares, with the certificate: a step multiplies by the gains
    np.testing.assert_allclose(after[d > 0], (S * naive.gains(W, S))[d > 0], rtol=1e-12)


@given(factored_graphs())
def test_assess(example):
    graph, S = graph_of(example[0]), example[1]
    W, fit = graph.adjacency.toarray(), assess(graph, sp.csr_array(S))
    expected = naive.log_likelihood(W, S, floor_of(W))
    d = W.sum(axis=1)
    scale = 1e-9 * sum(abs(x * np.log(x)) for x in [*d, *W[W > 0], W.sum()] if x > 0) * 10
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-9, abs=scale)
    assert fit.gap == pytest.approx(naive.kkt_gap(W, S, floor_of(W)), rel=1e-9, abs=1e-9)


@given(factored_graphs(), st.data())
def test_tied_rows_are_worth_the_same_on_every_scale(example, data):
    graph = graph_of(example[0])
    for count in range(1, len(graph)):
        scales = coarsened(graph, count)
        m = data.draw(st.integers(1, 3))
        S = sp.csr_array(data.draw(memberships(count, m)))
        group = through(scales)
        coarse, fine = contracted(graph, group, count), S[group]
        constant = 2 * sum(d * np.log(d) for d in graph.degrees if d > 0)
        constant -= 2 * sum(d * np.log(d) for d in coarse.degrees if d > 0)
        scale = 1 + sum(abs(d * np.log(d)) for d in graph.degrees if d > 0) + graph.degrees.sum()
        before, after = assess(coarse, S), assess(graph, fine)
        assert before.log_likelihood + constant == pytest.approx(after.log_likelihood, abs=1e-10 * scale)


def one_by_one(graph, S, count, min_share):
    """The memberships before each of so many narrow sweeps, and after the last."""
    found = [sp.csr_array(S)]
    for _ in range(count):
        whole = OneBlock(graph)
        found.append(sweeps.narrow_sweep(whole.seen(whole.begin(found[-1])), min_share))
    return found


@given(factored_graphs(weights=small), st.sampled_from([0.0, 1e-2, 0.3]))
def test_narrow_sweeps_equal_the_slow_ones(example, min_share):
    W, S = example
    _, found = one_by_one(graph_of(W), S, 1, min_share)
    assert (found.data > 0).all()
    gain = naive.overrelaxed(naive.gains(W, S, floor_of(W)), sweeps.OVERRELAXATION) * (S > 0)
    expected = naive.reweight(S, gain, 0.0, min_share)
    several = (S > 0).sum(axis=1) > 1
    expected[~several] = S[~several]
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-8)


@pytest.mark.parametrize("factor", [1.0, sweeps.OVERRELAXATION])
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_likelihood_never_falls_in_sweeps_on_the_support(monkeypatch, count, factor):
    monkeypatch.setattr(sweeps, "OVERRELAXATION", factor)
    graph = graph_of(cloud_graph())
    S = factorized(Relation(rounds=1, sweeps=0), graph, count).memberships
    found = one_by_one(graph, S, 20, polishing.MIN_SHARE)
    worth = [assess(graph, each).log_likelihood for each in found]
    # small shares are dropped, which costs a little
    assert fall(worth, graph) < 1e-3
    assert worth[-1] > worth[0] or count == 1


@pytest.mark.parametrize("kind", ["cloud", "star", "path", "bipartite"])
def test_overrelaxed_sweeps_converge_to_what_plain_ones_find(monkeypatch, kind):
    W = SHAPES[kind]
    graph, S = graph_of(W), blurred(np.eye(3)[np.random.default_rng(3).integers(3, size=len(W))])
    worth = {}
    for factor in (1.0, sweeps.OVERRELAXATION):
        monkeypatch.setattr(sweeps, "OVERRELAXATION", factor)
        worth[factor] = [assess(graph, each).log_likelihood for each in one_by_one(graph, S, 300, 0.0)]
    plain, overrelaxed = worth.values()
    assert fall(overrelaxed, graph) < 1e-12
    assert overrelaxed[20] - overrelaxed[0] > 0.98 * (plain[-1] - plain[0])
    assert overrelaxed[-1] > plain[-1] - 1e-6 * abs(plain[-1])


@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_a_round_is_a_wide_sweep_and_then_narrow_ones(count):
    graph = graph_of(cloud_graph())
    S = factorized(Relation(), graph, count).memberships
    ticks, whole = [], OneBlock(graph)
    log = polishing.Log("refining", 6, lambda *step: ticks.append(step))
    together = polishing.refine(whole, whole.begin(S), 1, 5, log).held
    wide, _ = sweeps.wide_sweep(whole.seen(whole.begin(S)), polishing.MIN_SHARE)
    assert together.data.tobytes() == one_by_one(graph, wide, 5, polishing.MIN_SHARE)[-1].data.tobytes()
    assert len(ticks) == 6


@given(graphs(min_size=3, weights=small), st.data())
def test_likelihood_never_falls_where_every_edge_is_explained(graph, data):
    graph = graph_of(connected(graph.adjacency.toarray()))
    count = data.draw(st.integers(1, len(graph) - 1))
    S = blurred(data.draw(memberships(len(graph), count)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "UNEXPLAINED", 1e-9)
        patch.setattr(sweeps, "OVERRELAXATION", 1.0)
        dense = factorized(Relation(support="dense", rounds=5), graph, count)
        worth = [assess(graph, each).log_likelihood for each in one_by_one(graph, S, 9, 0.0)]
    assert rise(dense.trace, graph) < 1e-12
    assert fall(worth, graph) < 1e-12
