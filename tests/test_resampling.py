"""Stability: what is found again on graphs with random weights."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import frozen_rows, rows_to_one
from graphsoft.resampling import _company_kept, _overlaps, _reverse, _with_random_weights
from naive import description as naive
from shared.shapes import cloud, graph_of, ring_of_cliques
from shared.strategies import factored_graphs, graphs


@given(graphs(), st.integers(0, 9))
def test_random_weights_stay_symmetric(graph, seed):
    again = _with_random_weights(graph, _reverse(graph), np.random.default_rng(seed)).adjacency
    dense, before = again.toarray(), graph.adjacency.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(dense > 0, before > 0)


def test_the_factors_are_exponential():
    graph = graph_of(np.ones((400, 400)))
    dense = _with_random_weights(graph, _reverse(graph), np.random.default_rng(0)).adjacency.toarray()
    factors = dense[np.triu_indices(400)]
    assert len(np.unique(factors)) == len(factors)
    for power, moment in ((1, 1.0), (2, 2.0), (3, 6.0)):
        np.testing.assert_allclose((factors**power).mean(), moment, rtol=0.05)


@given(factored_graphs(), st.data())
def test_overlaps_and_company_are_their_definitions(case, data):
    W, S = case
    T = S[:, data.draw(st.permutations(range(S.shape[1])))].copy()
    T[data.draw(st.integers(0, len(S) - 1))] = np.eye(S.shape[1])[0]
    one, other = (frozen_rows(rows_to_one(sp.csr_array(each))) for each in (S, T))
    expected = [max(naive.overlap(s, t) for t in T.T) for s in S.T]
    overlap = _overlaps(one, other)
    np.testing.assert_allclose(overlap.max(axis=1).toarray(), expected, atol=1e-12)
    kept = [naive.company(S, T, i) for i in range(len(W))]
    np.testing.assert_allclose(_company_kept(one, other, overlap), kept)


def test_rounds_are_counted_and_averaged(monkeypatch):
    """With rounds that are known, every figure is its definition."""
    h = graphsoft.hierarchy(cloud(90), levels=[9, 4], n_neighbors=5)
    rounds = [graphsoft.hierarchy(cloud(90), levels=[9, 4], n_neighbors=k) for k in (4, 12, 30)]
    to_come = iter([[level.memberships for level in other] for other in rounds])
    monkeypatch.setattr("graphsoft.resampling._found_again", lambda *_: next(to_come))
    found = graphsoft.stability(h, 3)
    for at, level in enumerate(h):
        S, others = level.memberships.toarray(), [each[at].memberships.toarray() for each in rounds]
        best = np.array([[max(naive.overlap(s, t) for t in T.T) for s in S.T] for T in others])
        np.testing.assert_allclose(found.clusters[at], best.mean(axis=0))
        np.testing.assert_array_equal(found.lost[at], (best <= 0.5).sum(axis=0))
        kept = [np.mean([naive.company(S, T, i) for T in others]) for i in range(0, 90, 15)]
        np.testing.assert_allclose(found.points[at][::15], kept)
        company = [found.points[at][level.labels == cluster].mean() for cluster in range(S.shape[1])]
        np.testing.assert_allclose(found.company[at], company)


def test_clear_clusters_are_always_found_again():
    blocks = np.kron(np.eye(4), np.ones((6, 6)) - np.eye(6))
    for W in (blocks, ring_of_cliques(4, 6)):
        h = graphsoft.hierarchy(graph_of(W), levels=[4])
        found = graphsoft.stability(h, 5)
        assert found.clusters[0].min() > 0.9
        assert found.points[0].min() > 0.8
        assert found.lost[0].tolist() == [0, 0, 0, 0]
        np.testing.assert_array_equal(found.sizes[0], 6)
        assert found.company[0].min() > 0.9
    apart = graphsoft.stability(graphsoft.hierarchy(graph_of(blocks), levels=[4]), 5)
    np.testing.assert_allclose(apart.points[0], 1.0)


def test_what_is_not_there_is_not_found_again():
    """Three clear clouds, and one level that must cut them where nothing says how."""
    rng = np.random.default_rng(1)
    X = np.repeat(np.eye(3)[:, :2] * 20, 60, axis=0) + rng.normal(size=(180, 2))
    found = graphsoft.stability(graphsoft.hierarchy(X, levels=[12, 3]), 10)
    assert found.clusters[1].min() > 0.95
    assert found.points[1].min() > 0.95
    assert np.average(found.clusters[0], weights=found.sizes[0]) < 0.85
    assert np.average(found.points[0]) < 0.85


def test_the_same_answer_twice_and_another_by_another_seed():
    h = graphsoft.hierarchy(cloud(120), levels=[20, 4])
    told = []

    def progress(*step):
        told.append(step)

    first = graphsoft.stability(h, 3, progress=progress)
    assert told == [("stability", done, 3) for done in (1, 2, 3)]
    for again in (graphsoft.stability(h, 3), graphsoft.stability(h, 3, rng=0)):
        for one, other in zip(first.clusters + first.points, again.clusters + again.points, strict=True):
            assert one.tobytes() == other.tobytes()
    other = graphsoft.stability(h, 3, rng=1)
    assert any(one.tobytes() != two.tobytes() for one, two in zip(first.points, other.points, strict=True))


@pytest.mark.parametrize(
    "settings",
    [
        {"polish": False},
        {"method": ["kernel-k-means", "relation"]},
        {"method": "symnmf"},
        {"must_link": [(0, 149), (3, 100)], "cannot_link": [(0, 1)], "known": {5: "a", 60: "b", 61: "a"}},
        {"max_children": 2},
        {"min_children": 2},
    ],
)
def test_every_round_does_as_the_hierarchy_did(settings, monkeypatch):
    """With all edges as they were, another round with the same settings finds the same."""
    monkeypatch.setattr("graphsoft.resampling._with_random_weights", lambda graph, reverse, random: graph)
    h = graphsoft.hierarchy(graphsoft.knn_graph(cloud(150)), levels=[10, 5], **settings)
    found = graphsoft.stability(h, 1)
    for level, clusters, points in zip(h, found.clusters, found.points, strict=True):
        np.testing.assert_allclose(clusters, 1.0)
        S = level.memberships.toarray()
        expected = [naive.company(S, S, i) for i in range(0, len(S), 10)]
        np.testing.assert_allclose(points[::10], expected)


def test_copies_stay_together():
    X = np.repeat(cloud(40), 3, axis=0)
    h = graphsoft.hierarchy(X, levels=[8, 3])
    found = graphsoft.stability(h, 3)
    for points in found.points:
        np.testing.assert_array_equal(points.reshape(-1, 3), points[::3, None].repeat(3, axis=1))


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    h = graphsoft.hierarchy(cloud(300), levels=[20, 4])
    monkeypatch.setattr("graphsoft.resampling.ROWS", 40)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        made = graphsoft.stability(h, 2)
        found.append([each.tobytes() for each in made.points + made.clusters])
    assert found[0] == found[1]


@pytest.mark.parametrize("edges", [0, 3])
def test_odd_graphs_have_a_stability(edges):
    graph = nx.empty_graph(7)
    graph.add_edges_from([(0, 1), (1, 2), (3, 4)][:edges])
    for levels in ([7, 3], [2], [1]):
        found = graphsoft.stability(graphsoft.hierarchy(graph, levels=levels), 3)
        for clusters, points in zip(found.clusters, found.points, strict=True):
            assert (clusters >= 0).all()
            assert (clusters <= 1 + 1e-12).all()
            assert (points > 0).all()
            assert (points <= 1 + 1e-12).all()
        if levels == [1]:
            assert found.clusters[0] == pytest.approx(1.0)


def test_it_prints():
    h = graphsoft.hierarchy(cloud(200), levels=[40, 5])
    found = graphsoft.stability(h, 2)
    lines = str(found).splitlines()
    assert lines[0].startswith("found again on 2 graphs")
    assert lines[3].split() == ["cluster", "size", "stability", "lost", "in", "company"]
    assert len(lines) == 9
    assert lines[2].startswith("level 1, ")
    assert str(graphsoft.stability(graphsoft.hierarchy(cloud(200), levels=[40]), 1)).endswith(
        "... and 10 more"
    )
    assert repr(found).startswith("Stability(over 2 rounds, mean by size: 40 clusters 0.")
    with pytest.raises(ValueError, match="read-only"):
        found.clusters[0][0] = 2.0


def test_what_cannot_be_is_refused():
    h = graphsoft.hierarchy(nx.karate_club_graph(), levels=[2])
    with pytest.raises(InputError, match="h: got"):
        graphsoft.stability(nx.karate_club_graph())
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="rounds: got"):
            graphsoft.stability(h, wrong)
    with pytest.raises(InputError, match="rng"):
        graphsoft.stability(h, rng="seed")
    with pytest.raises(InputError, match="progress"):
        graphsoft.stability(h, progress=3)
    for method in ("k-means", ["relation", "ward"], "gnmf"):
        by_features = graphsoft.hierarchy(cloud(60), levels=[6, 3], method=method)
        with pytest.raises(InputError, match=r"h: was found by .*looks at features"):
            graphsoft.stability(by_features)
