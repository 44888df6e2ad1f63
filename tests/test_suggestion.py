"""How many clusters: every figure against a slow copy, what is promised, and odd graphs."""

import warnings
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine import counting
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.fitting.suggesting import Suggestion, levels_down_to, suggest, within_limits
from graphsoft.graph.reading import as_graph
from graphsoft.suggestion import suggest_levels
from naive import suggestion as naive
from shared.shapes import bits, cloud, graph_of, ring_of_cliques
from shared.strategies import small, weight_matrices

EDGE = 0.01


def merges_of(W, points=None):
    pairs, similarity = counting._merged_one_by_one(W, EDGE)
    return counting._Merges(np.arange(len(W)) if points is None else points, W, pairs, similarity)


@given(weight_matrices(min_size=2, max_size=9, weights=small))
def test_every_merge_is_of_the_most_similar_pair(W):
    found = merges_of(W)
    rows = naive.replayed(W, found.pairs, EDGE)
    for chosen, _, best in rows:
        np.testing.assert_allclose(chosen, best, rtol=1e-9, atol=1e-13)
    logs = np.minimum.accumulate([log for _, log, _ in rows])
    np.testing.assert_allclose(found.similarity, logs, rtol=1e-7, atol=1e-7)


@given(weight_matrices(min_size=3, max_size=8, weights=small))
def test_falls_are_from_the_merge_into_k_to_the_next(W):
    similarity = merges_of(W).similarity
    falls = counting._falls(similarity, len(W) - 1)
    n = len(W)
    for k in range(2, n):
        into_k, into_fewer = similarity[n - 1 - k], similarity[n - k]
        np.testing.assert_allclose(falls[k - 2], into_k - into_fewer)
    assert (falls >= 0).all()


@given(weight_matrices(3, 8, small), weight_matrices(3, 8, small), st.data())
def test_stability_is_the_adjusted_rand_index_of_the_points(one, two, data):
    count = data.draw(st.integers(1, 9))
    points = np.array(data.draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
    groups = [
        np.array(data.draw(st.lists(st.integers(-1, len(W) - 1), min_size=count, max_size=count)))
        for W in (one, two)
    ]
    first, second = (merges_of(W, group) for W, group in zip((one, two), groups, strict=True))
    max_clusters = data.draw(st.integers(2, min(len(one), len(two))))
    found = counting._agreement(first, second, points, max_clusters)
    known = (groups[0] >= 0) & (groups[1] >= 0)
    for k in range(2, max_clusters + 1):
        labels = [
            np.repeat(naive.partition(len(W), each.pairs, k)[group[known]], points[known])
            for W, each, group in zip((one, two), (first, second), groups, strict=True)
        ]
        np.testing.assert_allclose(found[k - 2], naive.adjusted_rand(*labels), atol=1e-9)


@given(weight_matrices(3, 8, small), weight_matrices(8, 8, small), st.data())
def test_held_out_is_its_definition(W, left, data):
    n, left = len(W), left[: len(W), : len(W)]
    if not W.any():
        W = W + np.eye(n)
    found, max_clusters = merges_of(W), data.draw(st.integers(2, n))
    scores = counting._held_out(found, left, EDGE, max_clusters)
    for k in range(2, max_clusters + 1):
        labels = naive.partition(n, found.pairs, k)
        np.testing.assert_allclose(scores[k - 2], naive.held_out(W, left, labels, EDGE), atol=1e-9)


def test_edges_are_left_out_and_nothing_is_lost():
    graph = graph_of(ring_of_cliques(8, 6))
    watched = counting.watched_part(graph, counting.MAX_NODES)
    kept, left = counting.thinned(watched, np.random.default_rng(0))
    whole = graph.adjacency / graph.adjacency.sum()
    np.testing.assert_allclose((kept.adjacency + left.adjacency).toarray(), whole.toarray(), atol=1e-15)
    assert abs(kept.adjacency - kept.adjacency.T).max() == 0
    assert not kept.adjacency.multiply(left.adjacency).nnz  # an edge is kept or not
    assert 0.1 < left.adjacency.sum() < 0.3


def test_contracted_graphs_lose_rows_of_their_weights(monkeypatch):
    monkeypatch.setattr(counting, "MAX_NODES", 60)
    graph = graphsoft.knn_graph(cloud(400, centers=8))
    watched = counting.watched_part(graph, counting.MAX_NODES)
    assert watched.points.sum() == 400
    assert watched.upper.shape == (60, 60)
    assert watched.distinct == 400
    inner = watched.upper.diagonal().sum()
    np.testing.assert_allclose(2 * watched.upper.sum() - inner, 1.0)
    kept, left = counting.thinned(watched, np.random.default_rng(0))
    np.testing.assert_allclose(kept.adjacency.sum() + left.adjacency.sum(), 1.0)
    assert 0.15 < left.adjacency.sum() < 0.25


@given(
    st.integers(2, 100),
    st.integers(2, 10**6),
    st.dictionaries(st.integers(2, 100), st.floats(0, 9), max_size=60),
)
def test_levels_fall_to_their_top(top, points, scores):
    levels = levels_down_to(top, points, scores)
    assert levels[-1] == top
    assert all(below >= 1.5 * above for below, above in pairwise(levels))
    assert len(levels) == 1 or levels[0] <= points // 5


CLEAR = {
    "cliques": (lambda: graph_of(ring_of_cliques(9, 8)), 9),
    "components": (lambda: graphsoft.as_graph(nx.disjoint_union_all([nx.complete_graph(12)] * 6)), 6),
    "clouds": (lambda: graphsoft.knn_graph(cloud(600, centers=4, seed=3, d=8)), 4),
    "blocks": (lambda: graphsoft.as_graph(graphsoft.patterns.block_graph(1, blocks=7, size=30)), 7),
    "rings": (lambda: graphsoft.knn_graph(graphsoft.patterns.make_pattern("rings", 0)[0]), 3),
}


@pytest.mark.parametrize("name", CLEAR)
def test_clear_clusters_are_counted(name):
    make, clusters = CLEAR[name]
    found = suggest_levels(make())
    assert found.clusters == found.levels[-1] == clusters
    assert found.best(1)[0].clusters == clusters
    assert {each.clusters for each in found.candidates} == set(range(2, len(found.candidates) + 2))
    assert found.best(1)[0].stability > (0.5 if name == "blocks" else 0.9)


def test_no_more_clusters_than_predict_the_edges_left_out():
    # so sparse that the merges of a hundred small parts fall further than those of the three blocks
    graph = graphsoft.patterns.block_graph(3, blocks=3, size=100, inside=0.12, between=0.02)
    found = suggest_levels(graph)
    most = max(found.candidates, key=lambda each: each.held_out).clusters
    assert found.clusters <= most < max(each.clusters for each in found.candidates)
    assert found.clusters == 3


def test_the_same_bits_twice_and_for_any_scale_and_threads(monkeypatch):
    graph = graphsoft.knn_graph(cloud(300))
    first = suggest_levels(graph)
    for exponent in (-40, 30):
        assert suggest_levels(sp.csr_array(graph.adjacency * 2.0**exponent)) == first
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert suggest_levels(graph) == first
    assert suggest_levels(graph, rng=0) == first
    other = suggest_levels(graph, rng=7)
    assert other != first
    assert other == suggest_levels(graph, rng=np.random.default_rng(7))


def test_the_order_of_the_points_does_not_matter_much():
    X = cloud(600, centers=6, seed=3, d=6)
    order = np.random.default_rng(0).permutation(len(X))
    assert suggest_levels(X).clusters == suggest_levels(X[order]).clusters == 6


ODD = {
    "empty": lambda: nx.empty_graph(7),
    "one": lambda: nx.empty_graph(1),
    "two": lambda: nx.path_graph(2),
    "three": lambda: nx.complete_graph(3),
    "star": lambda: nx.star_graph(40),
    "complete": lambda: nx.complete_graph(25),
    "pairs": lambda: nx.disjoint_union_all([nx.path_graph(2)] * 30),
    "isolated nodes": lambda: nx.disjoint_union(nx.empty_graph(30), nx.barbell_graph(10, 0)),
    "loops": lambda: sp.eye_array(12, format="csr"),
    "copies": lambda: np.zeros((30, 2)),
    "two places": lambda: np.repeat([[0.0, 1.5], [2.0, 3.0]], 9, axis=0),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_graphs_get_levels_that_work(name):
    X = ODD[name]()
    found = suggest_levels(X)
    assert found.reason in str(found)
    if found.sure:
        h = graphsoft.hierarchy(X, levels="auto")
    else:
        with pytest.warns(GraphsoftWarning, match="no number stands out"):
            h = graphsoft.hierarchy(X, levels="auto")
    assert h.settings.levels == found.levels == tuple(level.memberships.shape[1] for level in h)
    if name in ("empty", "one", "two", "three", "copies", "two places"):
        assert found.levels == (1,)
        assert not found.candidates


@given(weight_matrices(min_size=1, max_size=24))
@settings(max_examples=40)
def test_any_graph_gets_levels_that_work(W):
    graph = graph_of(W)
    found = suggest(graph)
    assert list(found.levels) == sorted(set(found.levels), reverse=True)
    assert 1 <= found.levels[-1] <= found.levels[0] <= len(W)
    assert all(np.isfinite([each.score, each.stability, each.held_out]).all() for each in found.candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphsoftWarning)  # where no number stands out
        h = graphsoft.hierarchy(graph, levels="auto")
    assert tuple(level.memberships.shape[1] for level in h) == found.levels


def test_a_hierarchy_chooses_its_levels_and_says_why():
    X = cloud(400, centers=4, seed=3, d=6)
    found = suggest_levels(X)
    h = graphsoft.hierarchy(X, levels="auto")
    assert h.settings.levels == found.levels
    assert any(found.reason in note and "levels chosen: 80, " in note for note in h.report.notes)
    assert bits(h) == bits(graphsoft.hierarchy(X, levels=found.levels))
    assert h.features is not None
    mixed = graphsoft.hierarchy(X, levels="auto", method="k-means")
    assert mixed.settings.levels == found.levels
    assert len(mixed.settings.methods) == len(found.levels)


@pytest.mark.parametrize(("parts", "size"), [(3, 3), (10, 3), (40, 6), (120, 6)])
def test_parts_that_share_no_edge_are_the_clusters(parts, size):
    found = suggest_levels(nx.disjoint_union_all([nx.complete_graph(size)] * parts))
    assert (found.clusters, found.parts, found.sure) == (parts, parts, True)
    assert found.reason == f"the graph has {parts} parts that share no edge"
    if parts in [each.clusters for each in found.candidates]:
        assert found.best(1)[0].clusters == parts


def test_strays_among_the_suggested_number_are_not_counted():
    # two clusters in one part, and two parts that are too light for clusters of their own among four
    graph = graphsoft.as_graph(nx.disjoint_union_all([nx.barbell_graph(50, 0), *[nx.complete_graph(8)] * 2]))
    found = suggest_levels(graph)
    h = graphsoft.hierarchy(graph, [found.clusters])
    assert found.clusters == 2
    assert min(np.bincount(h[-1].labels)) >= 50


def test_a_suggestion_reads_well():
    found = suggest_levels(graph_of(ring_of_cliques(9, 8)))
    lines = str(found).splitlines()
    assert lines[0].startswith("levels=[9]: 9 clusters are joined ")
    assert lines[1].split() == ["clusters", "score", "fall", "stability", "held", "out"]
    assert [int(line.split()[0]) for line in lines[2:]] == [each.clusters for each in found.best()]
    assert len(found.best(3)) == 3
    assert len(repr(found)) < 100
    with pytest.raises(AttributeError):
        found.levels = (2,)


def test_the_suggested_number_is_the_best():
    graph = replace(as_graph(nx.les_miserables_graph()), of_neighbors=True)
    found = suggest_levels(graph)
    assert max(found.candidates, key=lambda each: each.score).clusters > found.clusters
    assert found.best(1)[0].clusters == found.clusters
    assert len(found.best(200)) == len(found.candidates)


def test_what_cannot_be_is_refused():
    X = cloud(40)
    with pytest.raises(InputError, match=r"method: got 2 methods, but levels='auto'"):
        graphsoft.hierarchy(X, levels="auto", method=["relation", "relation"])
    with pytest.raises(InputError, match=r"levels: got 'automatic'.*or pass 'auto'"):
        graphsoft.hierarchy(X, levels="automatic")
    with pytest.raises(InputError, match="features"):
        graphsoft.hierarchy(nx.karate_club_graph(), levels="auto", method="k-means")
    with pytest.raises(InputError, match="count"):
        suggest_levels(X).best(0)
    with pytest.raises(InputError, match="rng"):
        suggest_levels(X, rng="dice")


def test_progress_is_told():
    calls = []
    suggest_levels(graph_of(ring_of_cliques()), progress=lambda *call: calls.append(call))
    assert calls[-1] == ("counting clusters", counting.ROUNDS, counting.ROUNDS)
    assert all(0 < done <= total for _, done, total in calls)


def test_nothing_to_do():
    assert suggest(graph_of(np.zeros((3, 3)))) == Suggestion((1,), (), "no two points are joined")


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=5, unique=True),
    st.integers(1, 3000),
    st.one_of(st.none(), st.integers(1, 6)),
    st.one_of(st.none(), st.integers(1, 9)),
)
def test_levels_are_moved_within_limits(sizes, points, least, max_clusters):
    if least is not None and max_clusters is not None and least > max_clusters:
        least, max_clusters = max_clusters, least
    levels = tuple(sorted(sizes, reverse=True))
    found = within_limits(levels, points, least, max_clusters)
    assert found[-1] == levels[-1]
    for below, above in pairwise(found):
        assert below > above
        assert (least or 1) * above <= below <= (max_clusters or below) * above
    assert found[0] <= max(levels[0], points // 5)
    if least is None and max_clusters is None:
        assert found == levels


def test_suggested_levels_keep_to_limits():
    graph = graphsoft.patterns.block_graph(0, blocks=5, size=20)
    h = graphsoft.hierarchy(graph, levels="auto", max_children=2)
    assert h.settings.levels == (20, 10, 5)
    assert max(len(node.children) for node in h.tree.nodes if node.level in (1, 2)) == 2
