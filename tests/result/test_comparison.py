"""Comparisons of two clusterings: scores, overlaps, splits and merges against their definitions."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import metrics
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.result.comparison import NamedClusters, common_points, compared, overlaps
from naive import description as naive
from shared.shapes import cloud, graph_of, ring_of_cliques
from shared.strategies import memberships
from shared.trees import nodes_of


@st.composite
def pairs(draw):
    """Two memberships of the same points."""
    n = draw(st.integers(1, 9))
    return tuple(draw(memberships(n, draw(st.integers(1, 5)))) for _ in range(2))


def one_level(S, nodes=None):
    return NamedClusters.of_levels([sp.csr_array(S)], range(len(S)) if nodes is None else nodes)


def hard(labels):
    return np.eye(max(labels) + 1)[labels]


@given(pairs())
def test_common_points_and_overlaps_equal_their_definitions(case):
    S, T = case
    common = common_points(sp.csr_array(S), sp.csr_array(T))
    expected = [[naive.common(s, t) for t in T.T] for s in S.T]
    np.testing.assert_allclose(common.toarray(), expected, atol=1e-12)
    found = overlaps(common, S.sum(axis=0), T.sum(axis=0)).toarray()
    np.testing.assert_allclose(found, [[naive.overlap(s, t) for t in T.T] for s in S.T], atol=1e-12)


@given(pairs())
def test_matches_equal_their_definition(case):
    S, T = case
    found = compared(one_level(S), one_level(T))
    p = T.shape[1]
    common = np.array([[naive.common(s, t) for t in T.T] for s in S.T])
    into = [q.argmax() if q.max() > 0.5 * s.sum() + 1e-9 else -1 for q, s in zip(common, S.T, strict=True)]
    of = [c.argmax() if c.max() > 0.5 * t.sum() + 1e-9 else -1 for c, t in zip(common.T, T.T, strict=True)]
    halves = [abs(common - S.sum(axis=0)[:, None] / 2), abs(common - T.sum(axis=0) / 2)]
    ties = min(each.min() for each in halves) < 1e-9 or len(set(common.ravel())) < common.size
    for q, match in enumerate(found.matches[0]):
        all_overlaps = [naive.overlap(S[:, q], t) for t in T.T]
        np.testing.assert_allclose(match.overlap, max(all_overlaps), atol=1e-12)
        np.testing.assert_allclose(match.expected_size, S[:, q].sum())
        assert match.size == (S.argmax(axis=1) == q).sum()
        if match.best:
            np.testing.assert_allclose(all_overlaps[int(match.best.split("-")[1])], match.overlap)
        if ties:
            continue
        parts = [f"0-{at}" for at in range(p) if of[at] == q]
        assert sorted(name for name, _ in match.split) == (parts if len(parts) > 1 else [])
        for name, share in match.split:
            np.testing.assert_allclose(share, common[q, int(name[2:])] / S[:, q].sum())
        beside = [f"0-{at}" for at in range(len(into)) if at != q and into[at] == into[q] >= 0]
        assert list(match.merged) == beside


@given(pairs())
def test_scores_are_those_of_the_labels(case):
    S, T = case
    found = compared(one_level(S), one_level(T))
    labels = S.argmax(axis=1), T.argmax(axis=1)
    assert found.adjusted_rand[0, 0] == metrics.adjusted_rand(*labels)
    assert found.nmi[0, 0] == metrics.nmi(*labels)


def test_exactly_half_does_not_count_as_mostly():
    found = compared(one_level(hard([0, 0, 1])), one_level(hard([0, 1, 0])))
    first, second = found.matches[0]
    assert (first.merged, second.merged) == ((), ())
    assert first.split == second.split == ()


def test_splits_and_merges_are_reported():
    one = one_level(hard([0] * 6 + [1] * 4 + [2] * 2))
    other = one_level(hard([0] * 4 + [1] * 2 + [2] * 6))
    matches = compared(one, other).matches[0]
    assert matches[0].split == (("0-0", pytest.approx(2 / 3)), ("0-1", pytest.approx(1 / 3)))
    assert (matches[1].merged, matches[2].merged) == (("0-2",), ("0-1",))
    assert (matches[1].best, matches[1].overlap) == ("0-2", pytest.approx(2 / 3))
    back = compared(other, one).matches[0]
    assert back[0].merged == ("0-1",)
    assert [name for name, _ in back[2].split] == ["0-1", "0-2"]
    text = str(compared(one, other))
    assert "0-0 (67%), 0-1 (33%)" in text
    assert "3 clusters beside 3: 2 overlap another by more than half" in text


def test_a_hierarchy_compared_with_itself_matches_fully():
    h = graphsoft.hierarchy(graph_of(ring_of_cliques(6, 5)), levels=[6, 3, 1])
    found = h.compare(h)
    np.testing.assert_array_equal(np.diag(found.adjusted_rand), 1.0)
    np.testing.assert_allclose(np.diag(found.nmi), 1.0)
    assert found.nearest == (0, 1, 2)
    for level, matches in enumerate(found.matches):
        for number, match in enumerate(matches):
            assert match.best == match.id == f"{level}-{number}"
            assert match.overlap == pytest.approx(1.0)
            assert match.split == match.merged == ()
    assert repr(found).startswith("Comparison(adjusted Rand index of level 0 beside 0: 1.000")


def test_each_level_is_compared_with_the_nearest_of_the_other():
    graph = graphsoft.knn_graph(cloud(200))
    one = graphsoft.hierarchy(graph, levels=[20, 5])
    other = graphsoft.hierarchy(graph, levels=[40, 22, 4])
    found = one.compare(other)
    assert found.adjusted_rand.shape == found.nmi.shape == (2, 3)
    assert found.nearest == tuple(found.adjusted_rand.argmax(axis=1).tolist())
    assert {match.best.split("-")[0] for match in found.matches[0]} == {str(found.nearest[0])}


def test_points_are_matched_by_their_names():
    graph = nx.les_miserables_graph()
    turned = nx.Graph()
    turned.add_nodes_from(reversed(list(graph)))
    turned.add_edges_from(graph.edges(data=True))
    one, other = (graphsoft.hierarchy(each, levels=[12, 4]) for each in (graph, turned))
    assert one.nodes != other.nodes
    place = [other.nodes.index(name) for name in one.nodes]
    found = one.compare(other)
    expected = metrics.adjusted_rand(one[1].labels, other[1].labels[place])
    assert found.adjusted_rand[1, 1] == expected
    rows = graphsoft.hierarchy(nx.to_scipy_sparse_array(graph), levels=[12, 4])
    np.testing.assert_allclose(one.compare(rows).adjusted_rand.diagonal(), 1.0)  # without names, row by row


def test_labels_of_many_kinds_can_be_compared():
    club = nx.karate_club_graph()
    h = graphsoft.hierarchy(club, levels=[4, 2])
    names = nx.get_node_attributes(club, "club")
    labels = [names[node] for node in h.nodes]
    expected = h.compare(labels).adjusted_rand
    turned = dict(reversed(names.items()))
    for other in (names, turned, np.array(labels), [label == "Officer" for label in labels]):
        np.testing.assert_array_equal(h.compare(other).adjusted_rand, expected)
    assert {match.best for match in h.compare(names).matches[1]} == {"Mr. Hi", "Officer"}
    soft = h.compare(h[0].memberships)
    assert soft.nearest[0] == 0
    assert [match.best for match in soft.matches[0]] == ["0", "1", "2", "3"]
    flat = graphsoft.cluster(club, 4)
    assert h.compare(flat).adjusted_rand[0, 0] == metrics.adjusted_rand(h[0].labels, flat.labels)


def test_common_points_counted_in_pieces_are_the_same(monkeypatch):
    one, other = (
        graphsoft.hierarchy(cloud(200), levels=[20], n_neighbors=count)[0].memberships for count in (5, 9)
    )
    whole = common_points(one, other)
    found = []
    monkeypatch.setattr("graphsoft.result.comparison.PAIRS_PER_PIECE", 37)
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(common_points(one, other).toarray())
    np.testing.assert_allclose(found[0], whole.toarray())
    assert found[0].tobytes() == found[1].tobytes()


def test_one_cluster_is_compared_with_one_and_with_many():
    h = graphsoft.hierarchy(graph_of(np.zeros((5, 5))), levels=[5, 1])
    found = h.compare([0] * 5)
    assert found.adjusted_rand[1, 0] == found.nmi[1, 0] == 1.0
    assert found.matches[1][0].overlap == 1.0
    assert all(len(match.merged) == 4 for match in found.matches[0])


def test_communities_of_networkx_and_igraph_are_labels():
    novel = nx.les_miserables_graph()
    h = graphsoft.hierarchy(novel, levels=[15, 6])
    assert (h.compare(graphsoft.communities(h)).adjusted_rand[1] == 1.0).all()
    louvain = nx.community.louvain_communities(novel, seed=0)
    labels = {name: number for number, group in enumerate(louvain) for name in group}
    assert repr(h.compare(louvain)) == repr(h.compare(labels))
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    leiden = igraph.Graph.from_networkx(novel).community_leiden("modularity", n_iterations=-1)
    assert repr(h.compare(leiden)) == repr(h.compare(leiden.membership))
    with pytest.raises(InputError, match="other"):
        h.compare(leiden.as_cover())


def test_clusterings_of_other_points_are_refused():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[4])
    other = graphsoft.hierarchy(nx.relabel_nodes(nx.les_miserables_graph(), {"Javert": "Fauchelevant2"}), [4])
    with pytest.raises(InputError, match=r"other: has no point 'Javert'.*same points"):
        h.compare(other)
    with pytest.raises(InputError, match="other: has 34 points, and the hierarchy 77"):
        h.compare(graphsoft.hierarchy(nx.karate_club_graph(), levels=[2]))
    with pytest.raises(InputError, match="other: has 3 points"):
        h.compare([0, 1, 1])
    with pytest.raises(InputError, match="other: has nothing for 'Napoleon'"):
        h.compare({"Valjean": 1})
    with pytest.raises(InputError, match="other: has 'Napoleon' in two sets"):
        h.compare([set(h.nodes), {"Napoleon"}])
    with pytest.raises(InputError, match="other: has nothing for 'Napoleon'"):
        h.compare([set(h.nodes[1:])])
    for wrong in (None, 3, [[1, 2], [3]], np.full((77, 2), 0.7), [None] * 76 + [1]):
        with pytest.raises(InputError, match="other"):
            h.compare(wrong)


def test_noise_is_compared_as_a_cluster_with_a_warning():
    h = graphsoft.hierarchy(nx.path_graph(6), [3, 2])
    with pytest.warns(GraphsoftWarning, match="other: -1"):
        noisy = h.compare([-1, 0, 0, 1, 1, -1])
    with pytest.warns(GraphsoftWarning, match="other: -1"):
        h.compare(np.array([-1.0, 0, 0, 1, 1, -5]))
    h.compare([0, 0, 0, 1, 1, 1])
    assert (noisy.adjusted_rand == h.compare([2, 0, 0, 1, 1, 2]).adjusted_rand).all()


def test_a_level_can_be_given_in_place_of_its_memberships():
    h, other = (graphsoft.hierarchy(nx.path_graph(12), levels) for levels in ([6, 3], [4, 2]))
    assert str(h.compare(other[0])) == str(h.compare(other[0].memberships))
    assert metrics.nmi(h[0].labels, other[0]) == metrics.nmi(h[0].labels, other[0].memberships)
    with pytest.raises(InputError, match="other: got <object"):
        h.compare(object())


def test_a_series_is_matched_by_names_and_keeps_its_noise():
    h = graphsoft.hierarchy(nx.relabel_nodes(nx.path_graph(6), "abcdef".__getitem__), [3, 2])
    labels = dict(zip("fedcba", [-1, 0, 0, 1, 1, -1], strict=True))
    with pytest.warns(GraphsoftWarning, match="other: -1"):
        expected = h.compare(labels)
    with pytest.warns(GraphsoftWarning, match="other: -1"):
        assert str(h.compare(pd.Series(labels))) == str(expected)


def test_large_labels_stay_different():
    one, other = 2**63, 2**63 + 1  # beside a negative number NumPy makes floats of them
    found = graphsoft.hierarchy(nx.path_graph(6), [3]).compare([one, one, other, other, -3, -3])
    assert "3 clusters" in str(found).partition("\n")[0]
    assert {name for match in found.matches[0] for name, _ in match.split} <= {str(one), str(other), "-3"}


def test_size_means_the_same_everywhere():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    matches = h.compare(h).matches
    tree = {node["id"]: node["size"] for node in nodes_of(json.loads(h.to_json()))}
    for number, level in enumerate(h):
        counts = np.bincount(level.labels, minlength=len(level.mass)).tolist()
        assert [row.size for row in h.describe(number)] == counts
        assert [match.size for match in matches[number]] == counts
        assert [h.tree.find(f"{number}-{cluster}").size for cluster in range(len(counts))] == counts
        assert [tree[f"{number}-{cluster}"] for cluster in range(len(counts))] == counts
    assert tree["root"] == len(h.nodes)
