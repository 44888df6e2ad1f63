"""Merging of groups: each round against one that contracts the graph and looks at every row anew."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine.merging import Merging
from graphsoft.engine.ties import structure_keys
from naive import engine as naive
from shared.shapes import cloud, graph_of
from shared.strategies import graphs, plain


def merging_of(graph):
    return Merging(graph.adjacency, graph.degrees, structure_keys(graph.adjacency))


def contracted(W, leaders):
    """The weights between groups, at the places of their leaders."""
    C = naive.indicator(leaders, len(W))
    return C.T @ W @ C


@given(graphs(weights=plain), st.integers(1, 12))
def test_partners_are_the_best_of_the_contracted_graph(graph, max_size):
    W = graph.adjacency.toarray()
    state = merging_of(graph)
    while True:
        between = contracted(W, state.leaders)
        masses = between.sum(axis=1)
        for group in state.alive:
            partner = state._partners.best[group]
            scores = between[group] * naive.inverse(masses) * naive.inverse(masses)[group]
            scores[group] = 0.0
            if partner < 0:
                assert scores.max() == 0
            else:
                np.testing.assert_allclose(scores[partner], scores.max(), rtol=1e-12)
                np.testing.assert_allclose(state._partners.scores[group], scores.max(), rtol=1e-12)
        before, wants = state.leaders.copy(), state._partners.best.copy()
        merged = state.merge_best(max_size)
        if not merged:
            assert not between[~np.eye(len(W), dtype=bool)].any()
            break
        assert merged <= max_size
        assert len(state.alive) == len(set(before.tolist())) - merged
        for low, high in {(state.leaders[old], old) for old in before if state.leaders[old] != old}:
            # a pair of partners, or two that wanted the same one
            assert low < high
            assert wants[high] == low or wants[low] == high or wants[high] == wants[low]


@given(graphs(), st.integers(1, 9))
def test_groups_are_whole_and_numbered(graph, rounds):
    state = merging_of(graph)
    for _ in range(rounds):
        state.merge_best(len(graph))
    number, groups = state.numbered()
    assert groups == len(state.alive) == len(set(number.tolist()))
    for group in state.alive:
        members = np.flatnonzero(state.leaders == group)
        assert members.min() == group
        assert len(set(number[members].tolist())) == 1
        np.testing.assert_allclose(state._groups.degrees[group], graph.degrees[members].sum(), rtol=1e-12)


def test_the_best_merge_first():
    W = np.zeros((6, 6))
    for i, j, weight in [(0, 1, 9), (2, 3, 5), (4, 5, 1), (1, 2, 1), (3, 4, 1)]:
        W[i, j] = W[j, i] = weight
    state = merging_of(graph_of(W))
    assert state.merge_best(1) == 1
    d = W.sum(axis=1)
    best = max((W[i, j] / d[i] / d[j], i, j) for i in range(6) for j in range(i) if W[i, j])
    assert state.leaders[best[1]] == best[2]


def test_few_rows_are_looked_at_again(monkeypatch):
    graph = graphsoft.knn_graph(cloud(2000, d=2))
    looked = []
    look = Merging._find_partners
    monkeypatch.setattr(
        Merging, "_find_partners", lambda self, groups: (looked.append(len(groups)), look(self, groups))[1]
    )
    state = merging_of(graph)
    alive = []
    while len(state.alive) > 1000:
        alive.append(len(state.alive))
        state.merge_best(2000)
    assert sum(looked[1:]) < 0.35 * sum(alive)


def test_partners_in_a_circle_merge_all_the_same():
    W = np.ones((3, 3)) - np.eye(3)
    state = merging_of(graph_of(W))
    state._partners.best[:] = [1, 2, 0]  # as rounding may leave them where all scores are equal
    assert state.merge_best(3) == 1
    assert len(state.alive) == 2


def test_a_path_on_which_each_wants_the_one_before_merges_at_many_places():
    # the weights rise, the scores fall, and only the first two want each other
    W = np.diag(4.0 ** np.arange(300), 1)
    W = (W + W.T) / 4.0**150
    state = merging_of(graph_of(W))
    assert state.merge_best(300) == 23  # of a matching of 150 pairs
    assert state.leaders[1] == 0  # the best one is among them
