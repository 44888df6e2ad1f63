"""Relation factorization: its settings, and what holds for whole runs on the points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft import parallel
from graphsoft.engine import sweeps
from graphsoft.engine.assessing import assess
from graphsoft.engine.blocks import OneBlock
from graphsoft.engine.dividing import Division
from graphsoft.engine.polishing import polish_level
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods import METHODS, Relation, method_named, relation
from naive import engine as naive
from shared.likelihood import floor_of, rise
from shared.shapes import cloud_graph, factorized, graph_of, ring_of_cliques
from shared.strategies import graphs


def groups_of_nodes(graph, count):
    """Hard groups, as the loop over levels makes them."""
    return one_cluster_each(Division(graph).into(count), count)


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
def test_each_node_is_in_one_group(graph, data):
    count = data.draw(st.integers(1, len(graph)))
    S = groups_of_nodes(graph, count)
    assert S.shape == (len(graph), count)
    assert S.data.tolist() == [1.0] * len(graph)
    assert (np.diff(S.indptr) == 1).all()


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
    P = groups_of_nodes(graph_of(ring_of_cliques(2, 3)), 2)

    def run():
        found = [factorized(Relation(), graph, 6), factorized(Relation(support="dense"), graph, 6)]
        blocks = OneBlock(graph)
        polished, before = polish_level(blocks, blocks.begin(found[0].memberships), P)
        every = [*(each.memberships for each in found), polished.held]
        return [each.data.tobytes() for each in every], [each.trace for each in found], before

    whole = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "LOAD", 7)
        patch.setattr(sweeps, "LOAD", 7)
        assert run() == whole


def test_strays_join_the_heaviest_cluster():
    W = np.zeros((24, 24))
    W[:20, :20] = ring_of_cliques()
    W[:5, :5] *= 2
    W[20, 21] = W[21, 20] = 0.1
    for found in (groups_of_nodes(graph_of(W), 4), factorized(Relation(), graph_of(W), 4).memberships):
        labels = found.toarray().argmax(axis=1)
        assert labels[20:].tolist() == [labels[0]] * 4
        assert len(set(labels[:20])) == 4


def test_without_rounds_the_groups_stay_hard():
    graph = graph_of(ring_of_cliques())
    found = factorized(Relation(rounds=0), graph, 4)
    assert found.trace == ()
    assert found.memberships.data.tolist() == [1.0] * len(graph)


def test_a_star_of_many_clusters_stays_sparse():
    star = np.zeros((300, 300))
    star[0, 1:] = star[1:, 0] = 1
    found = factorized(Relation(), graph_of(star), 290).memberships
    assert np.diff(found.indptr).max() <= 1 + 3 * sweeps.MAX_ENTERING * 4


def test_dense_shares_of_very_many_clusters_stay():
    star = np.zeros((1300, 1300))
    star[0, 1:] = star[1:, 0] = 1
    few = factorized(Relation(support="dense", rounds=1, sweeps=0), graph_of(star), 1200).memberships
    np.testing.assert_allclose(few.sum(axis=1), 1.0, rtol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_SHARE_DENSE", 0.5)
        few = factorized(Relation(support="dense", rounds=1, sweeps=0), graph_of(star), 1200).memberships
    np.testing.assert_allclose(few.sum(axis=1), 1.0, rtol=1e-12)


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
