"""The number of communities: every figure against a slow copy, and what is promised."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine import coarsening, communities
from graphsoft.engine.communities import evidence_for_communities
from graphsoft.engine.scales import Layer
from naive import communities as naive
from naive.suggestion import adjusted_rand
from shared.shapes import cloud, graph_of
from shared.strategies import small, weight_matrices

EDGE = 0.01


@given(weight_matrices(2, 8, small), weight_matrices(2, 8, small), st.data())
def test_held_out_is_its_definition(W, left, data):
    n = min(len(W), len(left))
    W, left = W[:n, :n], left[:n, :n]
    labels = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)))
    found = communities._held_out(graph_of(W), graph_of(left), labels, EDGE)
    expected = naive.held_out(W, left, labels, EDGE) if W.sum() else 0.0
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(weight_matrices(3, 9, small), st.data())
def test_the_pairs_worth_most_merge_and_no_group_twice(W, data):
    n = len(W)
    labels = np.unique(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)), return_inverse=True)[1]
    count, wanted = labels.max() + 1, data.draw(st.integers(1, 3))
    layer = Layer.of(graph_of(W))
    if count < 2:
        return
    merged, worst = communities._merged(layer.above(labels), labels, wanted)
    together = [
        (one, two)
        for one, two in combinations(range(count), 2)
        if merged[labels == one][0] == merged[labels == two][0]
    ]
    worths = {pair: naive.worth(W, labels, *pair) for pair in combinations(range(count), 2)}
    assert len(set(merged)) == count - len(together)
    assert all(len(set(merged[labels == group])) == 1 for group in range(count))
    assert len({group for pair in together for group in pair}) == 2 * len(together)
    if max(worths.values()) == 0.0:
        masses = [W[labels == group].sum() for group in range(count)]
        assert len(together) == 1
        assert sorted(masses[group] for group in together[0]) == pytest.approx(sorted(masses)[:2])
        assert worst == 0.0
        return
    assert worst == pytest.approx(min(worths[pair] for pair in together), rel=1e-9)
    assert 1 <= len(together) <= wanted
    held = {group for pair in together for group in pair}
    for pair, value in worths.items():  # what did not merge is worth no more, or one of the two was taken
        if pair not in together and not held & set(pair):
            assert value <= worst * (1 + 1e-9)
            assert len(together) == wanted or value == 0.0


@given(st.lists(st.lists(st.integers(-1, 3), min_size=9, max_size=9), min_size=2, max_size=3), st.data())
def test_agreement_is_the_mean_adjusted_rand_index_of_the_points(groupings, data):
    points = np.array(data.draw(st.lists(st.integers(1, 3), min_size=9, max_size=9)))
    rounds = [[np.array(labels)] for labels in groupings]
    found = communities._agreements(rounds, points)
    expected = []
    for one, two in combinations(groupings, 2):
        spread = [
            (a, b)
            for a, b, times in zip(one, two, points, strict=True)
            for _ in range(times)
            if min(a, b) >= 0
        ]
        expected.append(adjusted_rand(*zip(*spread, strict=True)) if len(spread) > 1 else 1.0)
    assert found.tolist() == pytest.approx([np.mean(expected)])


@pytest.mark.parametrize("most", [0, 2, 3, 40, 333, 1024])
def test_sizes_fall_one_by_one_at_last(most):
    sizes = communities._sizes(most).tolist()
    if most < 3:
        assert sizes == []
        return
    assert (sizes[0], sizes[-1]) == (most, 2)
    steps = -np.diff(sizes)
    assert (steps == np.maximum(1, (np.array(sizes[:-1]) * communities.MERGED).astype(int))).all()


def test_groupings_have_the_sizes_asked_for_and_leave_strays_out():
    graph = graph_of(
        sp.block_diag(
            [nx.to_numpy_array(nx.connected_caveman_graph(12, 6)), [[0, 1e-6], [1e-6, 0]]]
        ).toarray()
    )
    sizes = communities._sizes(24)
    found = [labels for labels, _ in communities._groupings(graph, sizes)]
    assert [len(set(labels) - {-1}) for labels in found] == sizes.tolist()
    assert all((labels[-2:] == -1).all() and labels[:-2].min() == 0 for labels in found)
    cliques = found[sizes.tolist().index(12)][:-2].reshape(12, 6)
    assert (cliques == cliques[:, :1]).all()


def test_no_more_groups_are_counted_than_are_left_without_strays():
    # a path without a fifth of its edges falls into pieces, most of which are strays if so many may be
    made, grouped = [], communities._groupings

    def counted(graph, sizes):
        found = list(grouped(graph, sizes))
        made.append([int(labels.max()) + 1 for labels, _ in found])
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarsening, "ALL_STRAYS", 1.0)
        patch.setattr(communities, "_groupings", counted)
        found = evidence_for_communities(graphsoft.as_graph(nx.path_graph(3000)))
    assert {len(column) for column in (found.falls, found.stability, found.held_out)} == {len(found.sizes)}
    for groups in made:
        assert groups[0] < 1000
        assert groups[-len(found.sizes) :] == found.sizes[::-1].tolist()


@pytest.mark.parametrize(("blocks", "size", "inside"), [(10, 30, 0.3), (4, 50, 0.25), (25, 20, 0.5)])
def test_communities_are_counted_where_merging_alone_fails(blocks, size, inside):
    graph = graphsoft.as_graph(nx.planted_partition_graph(blocks, size, inside, 0.02, seed=0))
    found = evidence_for_communities(graph)
    assert found.sizes[found.held_out.argmax()] == blocks
    assert found.stability[found.held_out.argmax()] > 0.9


def test_a_graph_without_communities_predicts_nothing():
    found = evidence_for_communities(graphsoft.as_graph(nx.gnm_random_graph(300, 1500, seed=0)))
    assert found.held_out.max() < 0.0


def test_networks_are_counted_by_the_edges_left_out_and_points_are_not():
    network = nx.planted_partition_graph(10, 30, 0.25, 0.02, seed=1)
    found = graphsoft.suggest_levels(network)
    assert (found.by_falls, found.clusters) == (False, 10)
    assert found.reason.startswith(
        "10 clusters predict best where the edges left out are, and come out again"
    )
    assert found.best(1)[0].clusters == 10
    scores = [each.score for each in found.best(50)]
    assert scores == sorted(scores, reverse=True)
    assert all(each.score == each.held_out for each in found.candidates)
    assert graphsoft.hierarchy(network, levels="auto").settings.levels == found.levels
    flat = np.random.default_rng(0).normal(size=(300, 5))  # where no number stands out
    graph = graphsoft.knn_graph(flat)
    assert graph.of_neighbors
    assert graphsoft.suggest_levels(flat).by_falls
    assert graphsoft.suggest_levels(graph).by_falls


def test_the_order_of_the_nodes_does_not_matter():
    graph = nx.planted_partition_graph(6, 20, 0.4, 0.03, seed=2)
    W = nx.to_scipy_sparse_array(graph, format="csr")
    order = np.random.default_rng(0).permutation(W.shape[0])
    groupings = []
    for each, back in ((W, np.arange(len(order))), (W[order][:, order], np.argsort(order))):
        given = graphsoft.as_graph(each.astype(float))
        groupings.append(
            [labels[back] for labels, _ in communities._groupings(given, communities._sizes(30))]
        )
    for one, two in zip(*groupings, strict=True):
        assert graphsoft.metrics.adjusted_rand(one, two) == 1.0


def test_the_same_evidence_twice_and_progress_is_told():
    graph, calls = graph_of(nx.to_numpy_array(nx.karate_club_graph())), []
    first = evidence_for_communities(graph)
    again = evidence_for_communities(graph, progress=lambda *call: calls.append(call))
    for name in ("sizes", "falls", "stability", "held_out"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert calls[-1] == ("counting communities", 12, 12)


def test_small_graphs_have_no_evidence():
    for graph in (nx.path_graph(2), nx.complete_graph(8)):
        assert len(evidence_for_communities(graphsoft.as_graph(graph)).sizes) == 0


def test_points_stay_known_as_points():
    graph = graphsoft.knn_graph(cloud(60))
    twice = graphsoft.knn_graph(np.vstack([cloud(60), cloud(60)]))
    assert graph.of_neighbors
    assert twice.of_neighbors
    assert graphsoft.as_graph(graph).of_neighbors
    assert not graphsoft.as_graph(graph.adjacency).of_neighbors
