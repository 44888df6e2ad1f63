"""Relation factorization: the invariants of a step, of a run, and of the way back through the scales."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import parallel
from graphsoft.engine import polishing
from graphsoft.engine import sweeps as sweeps_of_em
from graphsoft.engine.coarsening import coarsen, contracted
from graphsoft.engine.ordering import in_clumps
from graphsoft.engine.polishing import grouped_beside_strays, polish_level, refine_in_groups
from graphsoft.engine.sweeps import UNEXPLAINED, assess
from graphsoft.errors import InputError
from graphsoft.methods import METHODS, Relation, Sample, method_named, relation
from naive import engine as naive
from shared.shapes import cloud_graph, connected, factorized, graph_of, ring_of_cliques, through
from shared.strategies import factored_graphs, graphs, memberships, small


def blurred(S):
    """Every node a little in every cluster, so that every edge is explained a little."""
    return 0.9 * S + 0.1 / S.shape[1]


def floor_of(W):
    return UNEXPLAINED / W.sum() if W.any() else 1.0


def fall(trace, graph):
    """The largest fall from one entry to the next, in nats for each unit of weight."""
    return max([0.0, *-np.diff(trace)]) / max(graph.degrees.sum(), 1e-300)


def rise(trace, graph):
    return fall(-np.array(trace), graph)


# One step, in the slow copies


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


# What memberships are worth


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
        scales = coarsen(graph, count)
        m = data.draw(st.integers(1, 3))
        S = sp.csr_array(data.draw(memberships(count, m)))
        group = through(scales, len(graph))
        coarse, fine = contracted(graph, group, count) if scales else graph, S[group]
        constant = 2 * sum(sum(d * np.log(d) for d in each.degrees if d > 0) for each in (graph,))
        constant -= 2 * sum(d * np.log(d) for d in coarse.degrees if d > 0)
        scale = 1 + sum(abs(d * np.log(d)) for d in graph.degrees if d > 0) + graph.degrees.sum()
        before, after = assess(coarse, S), assess(graph, fine)
        assert before.log_likelihood + constant == pytest.approx(after.log_likelihood, abs=1e-10 * scale)


# Whole runs

SHAPES = {
    "cloud": cloud_graph(),
    "star": np.outer(np.eye(9)[0], np.arange(9)) + np.outer(np.arange(9), np.eye(9)[0]),
    "path": np.diag(np.arange(1.0, 12), 1) + np.diag(np.arange(1.0, 12), -1),
    "bipartite": np.kron([[0, 1], [1, 0]], np.add.outer(np.arange(5), np.arange(5)) % 3 + 1.0),
}


@given(graphs(), st.data(), st.sampled_from(["adaptive", "dense"]))
def test_any_graph_is_factorized(graph, data, support):
    count = data.draw(st.integers(1, len(graph)))
    found = factorized(Relation(support=support), graph, count)
    S = found.memberships
    assert S.shape == (len(graph), count)
    assert (S.data > 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose((S.T @ graph.degrees).sum(), graph.degrees.sum(), rtol=1e-12)
    assert np.isfinite(found.trace).all()
    assert len(found.trace) <= found.sweeps


@given(graphs(), st.data())
def test_a_start_has_one_cluster_for_each_node(graph, data):
    count = data.draw(st.integers(1, len(graph)))
    S = grouped_beside_strays(graph, count)
    assert S.shape == (len(graph), count)
    assert S.data.tolist() == [1.0] * len(graph)
    assert (np.diff(S.indptr) == 1).all()


def swept_one_by_one(graph, S, sweeps, least):
    """The memberships before each narrow sweep, and after the last."""
    found = [sp.csr_array(S)]
    for _ in range(sweeps):
        shares = sweeps_of_em.swept(graph, found[-1], 1, least, lambda: None)
        found.append(sp.csr_array((shares, found[-1].indices, found[-1].indptr), shape=S.shape))
    return found


@pytest.mark.parametrize("over", [1.0, sweeps_of_em.OVERRELAXATION])
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_likelihood_never_falls_in_sweeps_on_the_support(monkeypatch, count, over):
    monkeypatch.setattr(sweeps_of_em, "OVERRELAXATION", over)
    graph = graph_of(cloud_graph())
    S = factorized(Relation(rounds=1, sweeps=0), graph, count).memberships
    found = swept_one_by_one(graph, S, 20, polishing.MIN_SHARE)
    worth = [assess(graph, each).log_likelihood for each in found]
    # shares below the least are dropped, which costs a little
    assert fall(worth, graph) < 1e-3
    assert worth[-1] > worth[0] or count == 1


@pytest.mark.parametrize("kind", ["cloud", "star", "path", "bipartite"])
def test_sweeps_that_go_further_come_to_rest_where_plain_ones_do(monkeypatch, kind):
    W = SHAPES[kind]
    graph, S = graph_of(W), blurred(np.eye(3)[np.random.default_rng(3).integers(3, size=len(W))])
    worth = {}
    for over in (1.0, sweeps_of_em.OVERRELAXATION):
        monkeypatch.setattr(sweeps_of_em, "OVERRELAXATION", over)
        worth[over] = [assess(graph, each).log_likelihood for each in swept_one_by_one(graph, S, 300, 0.0)]
    plain, further = worth.values()
    assert fall(further, graph) < 1e-12
    assert further[20] - further[0] > 0.98 * (plain[-1] - plain[0])
    assert further[-1] > plain[-1] - 1e-6 * abs(plain[-1])


@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_sweeps_together_are_sweeps_one_by_one(count):
    graph = graph_of(cloud_graph())
    S = factorized(Relation(), graph, count).memberships
    ticks = []
    together = sweeps_of_em.swept(graph, S, 5, polishing.MIN_SHARE, lambda: ticks.append(1))
    assert together.tobytes() == swept_one_by_one(graph, S, 5, polishing.MIN_SHARE)[-1].data.tobytes()
    assert len(ticks) == 5


def test_the_trace_has_the_likelihood_before_each_widening():
    graph = graph_of(cloud_graph())
    found = factorized(Relation(rounds=4, sweeps=5), graph, 6)
    again = factorized(Relation(rounds=3, sweeps=5), graph, 6)
    assert found.trace[:3] == again.trace
    assert -found.trace[3] == pytest.approx(assess(graph, again.memberships).log_likelihood, rel=1e-6)


@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_likelihood_never_falls_in_dense_sweeps(count):
    graph = graph_of(cloud_graph())
    trace = factorized(Relation(support="dense", rounds=20), graph, count).trace
    assert len(trace) == 20 * 8
    assert rise(trace, graph) < 1e-12


@given(graphs(min_size=3, weights=small), st.data())
def test_likelihood_never_falls_where_every_edge_is_explained(graph, data):
    graph = graph_of(connected(graph.adjacency.toarray()))
    count = data.draw(st.integers(1, len(graph) - 1))
    S = blurred(data.draw(memberships(len(graph), count)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_SHARE", 0.0)
        patch.setattr(sweeps_of_em, "UNEXPLAINED", 1e-9)
        patch.setattr(sweeps_of_em, "OVERRELAXATION", 1.0)
        dense = factorized(Relation(support="dense", rounds=5), graph, count)
        worth = [assess(graph, each).log_likelihood for each in swept_one_by_one(graph, S, 9, 0.0)]
    assert rise(dense.trace, graph) < 1e-12
    assert fall(worth, graph) < 1e-12


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [2, 4])
def test_the_gap_closes(seed, count):
    graph = graph_of(cloud_graph(36, seed))
    gaps = []
    for rounds in (1, 500):
        found = factorized(Relation(support="dense", rounds=rounds, sweeps=9), graph, count)
        gaps.append(assess(graph, found.memberships).gap)
    assert gaps[-1] < 0.01
    W, S = graph.adjacency.toarray(), found.memberships.toarray()
    held = naive.gains(W, S, floor_of(W))[S > 0.01]
    np.testing.assert_allclose(held, 1, atol=0.01)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 5, 9])
def test_adaptive_support_is_worth_as_much_as_dense(seed, count):
    W = cloud_graph(60, seed)
    graph = graph_of(W)
    adaptive = factorized(Relation(rounds=20, sweeps=10), graph, count)
    dense = factorized(Relation(support="dense", rounds=20, sweeps=10), graph, count)
    worth = [assess(graph, found.memberships).log_likelihood for found in (adaptive, dense)]
    d = W.sum(axis=1)
    chance = sum(W[i, j] * np.log(d[i] * d[j] / d.sum()) for i, j in np.argwhere(W > 0))
    # of what the clusters explain beyond chance, all but some hundredths
    assert worth[0] - chance > 0.97 * (worth[1] - chance)
    assert adaptive.memberships.nnz < 0.7 * dense.memberships.shape[0] * count or count == 2


def test_cliques_are_found():
    for support in ("adaptive", "dense"):
        found = factorized(Relation(support=support), graph_of(ring_of_cliques()), 4)
        labels = found.memberships.toarray().argmax(axis=1).reshape(4, 5)
        assert (labels == labels[:, :1]).all()
        assert len(set(labels[:, 0])) == 4


def test_node_order_does_not_matter():
    W = cloud_graph()
    order = np.random.default_rng(1).permutation(len(W))
    found = factorized(Relation(), graph_of(W), 6).memberships.toarray()
    again = factorized(Relation(), graph_of(W[order][:, order]), 6).memberships.toarray()
    np.testing.assert_allclose(again @ again.T, (found @ found.T)[order][:, order], atol=1e-9)


def test_pieces_do_not_change_bits():
    graph = graph_of(cloud_graph())
    P = grouped_beside_strays(graph_of(ring_of_cliques(2, 3)), 2)

    def run():
        found = [factorized(Relation(), graph, 6), factorized(Relation(support="dense"), graph, 6)]
        polished, trace = polish_level(graph, found[0].memberships, P)
        every = [*(each.memberships for each in found), polished]
        return [each.data.tobytes() for each in every], [each.trace for each in found], trace

    whole = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "LOAD", 7)
        patch.setattr(sweeps_of_em, "LOAD", 7)
        assert run() == whole


def test_strays_join_the_heaviest_cluster():
    W = np.zeros((24, 24))
    W[:20, :20] = ring_of_cliques()
    W[:5, :5] *= 2
    W[20, 21] = W[21, 20] = 0.1
    for found in (grouped_beside_strays(graph_of(W), 4), factorized(Relation(), graph_of(W), 4).memberships):
        labels = found.toarray().argmax(axis=1)
        assert labels[20:].tolist() == [labels[0]] * 4
        assert len(set(labels[:20])) == 4


def test_no_rounds_leave_the_graph_itself_untouched():
    graph = graph_of(ring_of_cliques())
    found = factorized(Relation(rounds=0), graph, 4)
    assert found.trace == ()
    first = coarsen(graph, 4)[0]
    assert len(np.unique(found.memberships.toarray(), axis=0)) <= len(first.graph) < len(graph)


def test_weights_that_float32_cannot_hold_still_count():
    for tiny in (1e-30, 1e-44, 1e-60):
        W = np.kron(np.eye(2), 1 - np.eye(4))
        W[3, 4] = W[4, 3] = 1e-3
        W = np.pad(W, (0, 1))
        W[8, [0, 1, 5]] = W[[0, 1, 5], 8] = tiny, tiny, 3 * tiny
        for turn in (slice(None), slice(None, None, -1)):
            graph = graph_of(W[turn][:, turn])
            h = graphsoft.hierarchy(graph, [2])
            labels = h[0].labels[turn]
            assert labels[8] == labels[5] != labels[0]
            assert h.report.levels[0].kkt_gap == pytest.approx(assess(graph, h[0].memberships).gap)


def test_neighbors_are_put_near_each_other_once():
    W = ring_of_cliques(8, 6)
    shuffled = np.random.default_rng(0).permutation(len(W))
    graph = graph_of(W[shuffled][:, shuffled])
    near = in_clumps(graph)
    assert sorted(near.nodes.tolist()) == near.places[near.nodes].tolist() == list(range(len(W)))
    parts = near.graph.adjacency
    assert parts.dtype == np.float32
    np.testing.assert_allclose(parts.toarray(), graph.adjacency.toarray()[near.nodes][:, near.nodes])
    np.testing.assert_array_equal(near.degrees, graph.degrees[near.nodes])

    def apart(matrix):
        entries = matrix.tocoo()
        return np.abs(entries.row - entries.col).mean()

    assert apart(parts) < apart(graph.adjacency) / 2
    # as it is given, or in that order: the same but for rounding
    there = Relation().cluster(Sample(near.graph, ordered=True), 8, np.random.default_rng(0)).memberships
    here = Relation().cluster(Sample(graph), 8, np.random.default_rng(0)).memberships
    np.testing.assert_array_equal(here.toarray(), there[near.places].toarray())


def test_a_star_of_many_clusters_stays_sparse():
    star = np.zeros((300, 300))
    star[0, 1:] = star[1:, 0] = 1
    found = factorized(Relation(), graph_of(star), 290).memberships
    assert np.diff(found.indptr).max() <= 1 + 3 * sweeps_of_em.MAX_ENTERING * 4


def test_dense_shares_of_very_many_clusters_stay():
    star = np.zeros((1300, 1300))
    star[0, 1:] = star[1:, 0] = 1
    few = factorized(Relation(support="dense", rounds=1, sweeps=0), graph_of(star), 1200).memberships
    np.testing.assert_allclose(few.sum(axis=1), 1.0, rtol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_SHARE_DENSE", 0.5)
        few = factorized(Relation(support="dense", rounds=1, sweeps=0), graph_of(star), 1200).memberships
    np.testing.assert_allclose(few.sum(axis=1), 1.0, rtol=1e-12)


# Polishing


def groups_of(m, count):
    """Hard parents: cluster q in group q modulo `count`."""
    return np.eye(count)[np.arange(m) % count]


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3))
@settings(max_examples=50)
def test_a_polishing_step_equals_the_slow_one(example, count):
    W, S = example
    S, P = blurred(S), groups_of(S.shape[1], count)
    found, trace = polish_level(graph_of(W), sp.csr_array(S), sp.csr_array(P), rounds=1, sweeps=0)
    expected = naive.polish_step(W, S, P, floor_of(W))
    expected[expected <= polishing.MIN_SHARE_POLISHED] = 0
    np.testing.assert_allclose(found.toarray(), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    upper = naive.log_likelihood(W, S @ P, floor_of(W))
    assert trace == (pytest.approx(upper, rel=1e-9, abs=1e-9 * (1 + W.sum())),)


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3))
def test_clusters_that_enter_while_polishing_are_those_of_the_slow_step(example, count):
    W, S = example
    P = groups_of(S.shape[1], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_SHARE", 0.9)  # which has no part in it
        found, _ = polish_level(graph_of(W), sp.csr_array(S), sp.csr_array(P), rounds=1, sweeps=0)
    touched = (S > 0) | ((W > 0) @ (S > 0))
    gain = np.where(touched, naive.gains(W, S, floor_of(W)), np.nan)
    upper = naive.gains(W, S @ P, floor_of(W))
    gain = np.nan_to_num(naive.group_gains(gain, upper, S > 0, P.argmax(axis=1)))
    expected = naive.reweight(S, gain, sweeps_of_em.ENTRY_SHARE, polishing.MIN_SHARE_POLISHED)
    enters = sweeps_of_em.ENTRY_SHARE * np.clip(upper - 1, 0, 1) > polishing.MIN_SHARE_POLISHED
    border = ((S @ P > 0) | ((touched @ P > 0) & enters)).sum(axis=1) > 1
    expected[~border] = S[~border]
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-8)


@given(factored_graphs(weights=small), st.sampled_from([0.0, 1e-2, 0.3]))
def test_narrow_sweeps_equal_the_slow_ones(example, least):
    W, S = example
    shares = sweeps_of_em.swept(graph_of(W), sp.csr_array(S), 1, least, lambda: None)
    found = sp.csr_array(S)
    found.data = shares
    gain = naive.overrelaxed(naive.gains(W, S, floor_of(W)), sweeps_of_em.OVERRELAXATION) * (S > 0)
    expected = naive.reweight(S, gain, 0.0, least)
    several = (S > 0).sum(axis=1) > 1
    expected[~several] = S[~several]
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-8)


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=50)
def test_polishing_sweeps_equal_the_slow_ones(example, count, sweeps):
    W, S = example
    S, P = blurred(S), groups_of(S.shape[1], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "MIN_SHARE_POLISHED", 0.0)
        found, _ = polish_level(graph_of(W), sp.csr_array(S), sp.csr_array(P), 1, sweeps)
    expected = S
    for over in [1.0] + sweeps * [sweeps_of_em.OVERRELAXATION]:
        expected = naive.polish_step(W, expected, P, floor_of(W), over)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_upper_likelihood_never_falls_while_polishing(seed):
    graph = graph_of(cloud_graph(60, seed))
    S = factorized(Relation(), graph, 9).memberships
    P = sp.csr_array(groups_of(9, 3))  # bad groups: much to gain
    worth = []
    for sweeps in range(12):
        polished, _ = polish_level(graph, S, P, rounds=1, sweeps=sweeps)
        worth.append(assess(graph, (polished @ P).tocsr()).log_likelihood)
        np.testing.assert_allclose(polished.sum(axis=1), 1, rtol=1e-12)
    assert fall(worth, graph) < 1e-4
    assert worth[-1] > assess(graph, (S @ P).tocsr()).log_likelihood


def test_polishing_tells_its_progress():
    seen = []
    graph = graph_of(ring_of_cliques())
    S = factorized(Relation(), graph, 4).memberships
    polish_level(graph, S, sp.csr_array(np.ones((4, 1))), 1, 4, progress=lambda *step: seen.append(step))
    assert seen == [("polishing", done, 5) for done in range(1, 6)]


@given(factored_graphs(clusters=4, weights=small), st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_refining_in_groups_equals_the_slow_steps(example, count, sweeps, blur):
    W, S = example
    S, P = blurred(S) if blur else S, groups_of(S.shape[1], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "MIN_SHARE", 0.0)
        found, before = refine_in_groups(graph_of(W), sp.csr_array(S), sp.csr_array(P), sweeps)
    expected = S
    for over, seed in [(1.0, sweeps_of_em.ENTRY_SHARE)] + sweeps * [(sweeps_of_em.OVERRELAXATION, 0.0)]:
        gain = naive.overrelaxed(naive.gains(W, expected, floor_of(W)), over)
        stepped = naive.reweight(expected, gain, seed, 0.0)
        if seed == 0.0:  # narrow sweeps pass over nodes of one cluster
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
    S, _ = polish_level(graph, S, P)
    refined, before = refine_in_groups(graph, S, P)
    np.testing.assert_allclose((refined @ P).toarray(), (S @ P).toarray(), rtol=1e-12)
    assert before == pytest.approx(assess(graph, S).log_likelihood, rel=1e-12)
    assert assess(graph, refined).log_likelihood > before


def test_refining_does_not_give_a_group_to_a_cluster_that_only_came_in():
    W = np.diag([32, 1 / 32, 1], 1)
    graph = graph_of(W + W.T)
    S, P = sp.csr_array(np.eye(4)[:, [0, 1, 3]] + np.eye(4)[:, [1, 0, 2]]), groups_of(3, 2)
    S = sp.csr_array(S.toarray() / S.toarray().sum(axis=1, keepdims=True))
    refined, before = refine_in_groups(graph, S, sp.csr_array(P))
    assert assess(graph, refined).log_likelihood >= before
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


def test_refining_tells_its_progress():
    seen = []
    graph = graph_of(ring_of_cliques())
    S = factorized(Relation(), graph, 4).memberships
    refine_in_groups(graph, S, sp.csr_array(np.ones((4, 1))), 2, progress=lambda *step: seen.append(step))
    assert seen == [("refining", done, 3) for done in range(1, 4)]


# Settings


def test_methods_have_names():
    assert METHODS["relation"] == Relation()
    assert method_named("relation") == Relation()
    settings = Relation(support="dense", rounds=np.int64(2))
    assert method_named(settings) is settings
    with pytest.raises(InputError, match=r"method: got 'louvain'.*relation"):
        method_named("louvain")
    with pytest.raises(InputError, match="method: got"):
        method_named(Relation)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"support": "sparse"}, "support: got 'sparse'"),
        ({"rounds": -1}, "rounds: got -1"),
        ({"rounds": 1.5}, "rounds: got 1.5"),
        ({"sweeps": True}, "sweeps: got True"),
        ({"sweeps": "3"}, "sweeps: got '3'"),
    ],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(InputError, match=words):
        Relation(**options)


def test_crowded_scales_are_passed_over():
    graph, seen = graphsoft.knn_graph(np.random.default_rng(0).normal(size=(200, 3)), 5), []
    Relation().cluster(Sample(graph), 30, None, lambda *step: seen.append(step))
    last = [step for step in seen if step[0] == "factorizing"][-1]
    assert last[1] == last[2] == 12  # three rounds on the points, for no scale has two nodes a cluster
    assert [len(scale.graph) for scale in coarsen(graph, 30)] == [48, 30]


def test_levels_in_between_take_one_round_and_the_finest_its_last_within_groups():
    X, seen = np.random.default_rng(0).normal(size=(200, 3)), []
    h = graphsoft.hierarchy(X, [20, 8, 3], progress=lambda *step: seen.append(step))
    finest, between, top = h.report.levels
    assert [len(each.trace) for each in h.report.levels] == [3, 1, 3]
    assert (between.sweeps, top.sweeps) == (4, 12)
    assert finest.status.endswith("and by 4 more within the level above")
    assert between.status == "grouped and polished by 4 sweeps"
    assert ("refining", 4, 4) in seen
    assert finest.log_likelihood > finest.trace[-1]
