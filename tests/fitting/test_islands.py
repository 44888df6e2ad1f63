"""Components of a graph of points that are more than the clusters of upper levels."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import cdist

import graphsoft
from graphsoft.fitting.islands import (
    central_rows,
    divided_levels,
    heavy_components,
    means_of_islands,
    merged_by_ward,
    sums_of_islands,
)
from graphsoft.graph.features import Features
from graphsoft.metrics import adjusted_rand


def islands(groups=4, each=5, points=30, features=6, seed=0):
    """Draw points of islands, which are in groups; returns the points, their islands and their groups."""
    random = np.random.default_rng(seed)
    around = 300.0 * random.normal(size=(groups, features))
    places = np.repeat(around, each, axis=0) + 30.0 * random.normal(size=(groups * each, features))
    island = np.repeat(np.arange(groups * each), points)
    return places[island] + random.normal(size=(len(island), features)), island, island // each


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_upper_levels_follow_the_features(metric):
    X, island, group = islands()
    h = graphsoft.hierarchy(X, [20, 4, 2], metric=metric)
    assert h.report.components == 20
    assert adjusted_rand(island, h[0].labels) == 1
    assert adjusted_rand(group, h[1].labels) == 1
    # whole groups are together at the top
    assert len(np.unique(np.stack([group, h[2].labels]), axis=1).T) == 4


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("sparse", [False, True])
def test_directions(metric, sparse):
    if sparse and metric == "correlation":
        pytest.skip("sparse rows have no correlation here")
    random = np.random.default_rng(1)
    topics = random.random((3, 60)) ** 8
    words = np.repeat(topics, 6, axis=0) * (random.random((18, 60)) < 0.6) + 1e-3
    island = np.repeat(np.arange(18), 25)
    X = words[island] * random.uniform(0.999, 1.001, size=(len(island), 60))
    X *= random.uniform(0.1, 100, size=(len(X), 1))
    h = graphsoft.hierarchy(sp.csr_array(X) if sparse else X, [18, 3], metric=metric)
    assert h.report.components == 18
    assert adjusted_rand(island, h[0].labels) == 1
    assert adjusted_rand(island // 6, h[1].labels) == 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "chebyshev"])
@pytest.mark.parametrize("exponent", [1000, -900])
def test_the_unit_is_of_no_influence(metric, exponent):
    X, _, _ = islands()
    for level, other in zip(
        graphsoft.hierarchy(X, [20, 4, 2], metric=metric),
        graphsoft.hierarchy(np.ldexp(X, exponent), [20, 4, 2], metric=metric),
        strict=True,
    ):
        assert np.array_equal(level.labels, other.labels)


def test_a_flat_clustering_follows_the_features_too():
    X, _, group = islands()
    lone = np.concatenate([X, X[:1] + 1e4 + np.random.default_rng(0).normal(size=(11, 6))])
    found = graphsoft.cluster(lone, 4)
    assert adjusted_rand(group, found.labels[: len(X)]) == 1


def test_groups_of_groups():
    X, _, group = islands(groups=8, each=12, points=12)
    X += np.where(group < 4, 0.0, 1e5)[:, None]
    h = graphsoft.hierarchy(X, [96, 8, 2], n_neighbors=5)
    assert adjusted_rand(group, h[1].labels) == 1
    assert adjusted_rand(group < 4, h[2].labels) == 1


def test_copies_count_as_one_point():
    X, _, group = islands(points=12)
    again = np.concatenate([X, X[:40], X[:40]])
    h = graphsoft.hierarchy(again, [20, 4])
    assert adjusted_rand(np.concatenate([group, group[:40], group[:40]]), h[1].labels) == 1


def test_light_components_do_not_keep_a_heavy_one_whole():
    random = np.random.default_rng(0)
    halves = np.repeat([0.0, 4.0], 1000)[:, None] + random.normal(size=(2000, 2))
    lone = np.repeat(np.array([[500.0, 0.0], [0.0, 900.0]]), 6, axis=0) + random.normal(size=(12, 2))
    X = np.concatenate([halves, lone])
    h = graphsoft.hierarchy(X, [8, 2], n_neighbors=5)
    assert h.report.components == 3
    assert adjusted_rand(np.arange(2000) // 1000, h[1].labels[:2000]) > 0.8


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_many_components_are_divided_as_points_are(metric, monkeypatch):
    monkeypatch.setattr("graphsoft.fitting.islands.MOST_BY_WARD", 10)
    X, island, group = islands(each=24, points=12)
    h = graphsoft.hierarchy(X, [96, 4], metric=metric, n_neighbors=5)
    if metric != "cosine":  # under which some islands are one
        assert h.report.components == 96
        assert adjusted_rand(island, h[0].labels) == 1
    assert adjusted_rand(group, h[1].labels) == 1


def test_light_components_go_with_the_nearest_heavy_one(monkeypatch):
    monkeypatch.setattr("graphsoft.fitting.islands.MOST_BY_WARD", 20)  # as many as are heavy
    X, island, group = islands(points=300)
    random = np.random.default_rng(1)
    near = random.integers(20, size=80)
    around = np.array([X[island == each].mean(axis=0) for each in near])
    specks = np.repeat(around + 20.0 * random.normal(size=around.shape), 4, axis=0)
    specks += 0.01 * random.normal(size=specks.shape)
    h = graphsoft.hierarchy(np.concatenate([X, specks]), [20, 4], n_neighbors=3)
    assert h.report.components > 90
    assert adjusted_rand(np.concatenate([group, np.repeat(near // 5, 4)]), h[1].labels) == 1


def test_without_features_nothing_changes():
    X, _, _ = islands()
    graph = graphsoft.knn_graph(X)
    divided = divided_levels(graph, [20, 4])
    assert len(divided.labels) == len(divided.seconds) == 2
    assert [int(each.max()) + 1 for each in divided.labels] == [20, 4]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from(["euclidean", "cosine", "hamming"]))
@settings(max_examples=40, deadline=None)
def test_levels_are_nested_and_complete(seed, top, metric):
    random = np.random.default_rng(seed)
    island = np.sort(random.integers(15, size=300))
    X = 100.0 * random.normal(size=(15, 3))[island] + random.normal(size=(300, 3))
    graph = graphsoft.knn_graph(X, n_neighbors=4, metric=metric)
    sizes = [12, top]
    found = divided_levels(graph, sizes, partial(means_of_islands, graph, Features(X, metric)))
    for labels, size in zip(found.labels, sizes, strict=False):
        assert labels.dtype == np.int32
        assert np.array_equal(np.unique(labels), np.arange(size))
    pairs = np.unique(np.stack(found.labels), axis=1)
    assert len(np.unique(pairs[0])) == pairs.shape[1]
    if heavy_components(graph, top) > top:
        assert (
            len(np.unique(np.stack([graph.components, found.labels[-1]]), axis=1).T)
            == graph.components.max() + 1
        )


@given(st.integers(0, 2**32 - 1), st.sampled_from(["euclidean", "cosine", "correlation", "canberra"]))
@settings(max_examples=30, deadline=None)
def test_central_rows(seed, metric):
    """Against the obvious means, island by island."""
    random = np.random.default_rng(seed)
    island = np.concatenate([np.arange(4), random.integers(4, size=20)])
    X, weight = random.normal(size=(24, 5)), random.random(24)
    rows = X
    if metric == "correlation":
        rows = rows - rows.mean(axis=1, keepdims=True)
    if metric in ("cosine", "correlation"):
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = central_rows(*sums_of_islands(Features(X, metric), island, weight))
    for one, row in enumerate(found):
        inside = np.flatnonzero(island == one)
        expected = X[inside[np.argmax(weight[inside])]] if metric == "canberra" else rows[inside].mean(axis=0)
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_ward_is_that_of_scipy_for_equal_masses(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    sizes = list(range(n, 0, -1))
    found = merged_by_ward(cdist(X, X, "sqeuclidean"), np.ones(n), sizes)
    expected = cut_tree(linkage(X, "ward"), n_clusters=sizes)
    for labels, other in zip(found, expected.T, strict=True):
        assert adjusted_rand(other, labels) == 1


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_mass_stands_for_so_many_points(n, seed):
    """Against the obvious way: all sums of squares anew for each pair."""
    random = np.random.default_rng(seed)
    X, masses = random.normal(size=(n, 2)), random.integers(1, 5, size=n).astype(float)
    groups = [[each] for each in range(n)]

    def spread(group):
        mean = np.average(X[group], axis=0, weights=masses[group])
        return float(masses[group] @ np.square(X[group] - mean).sum(axis=1))

    sizes = list(range(n, 0, -1))
    for labels in merged_by_ward(cdist(X, X, "sqeuclidean"), masses, sizes):
        expected = np.empty(n, dtype=int)
        for number, group in enumerate(groups):
            expected[group] = number
        assert adjusted_rand(expected, labels) == 1
        if len(groups) > 1:
            pairs = [(a, b) for a in range(len(groups)) for b in range(a)]
            growth = [spread(groups[a] + groups[b]) - spread(groups[a]) - spread(groups[b]) for a, b in pairs]
            a, b = pairs[int(np.argmin(growth))]
            groups[b] += groups.pop(a)
