"""A map of the points from the hierarchy alone, and the circles of clusters in it."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.placing import forces
from naive import placing
from shared.strategies import weight_matrices


def spans(places, groups):
    """The middle of each group, and the distance of its furthest point."""
    middles = np.array([places[groups == group].mean(axis=0) for group in np.unique(groups)])
    reaches = [
        np.hypot(*(places[groups == g] - middles[at]).T).max() for at, g in enumerate(np.unique(groups))
    ]
    return middles, np.array(reaches)


@pytest.fixture(scope="module")
def digits():
    data = read("data/digits.csv.gz", labels="label")
    return data, graphsoft.hierarchy(data.data, levels=[60, 10])


@pytest.mark.filterwarnings("ignore::graphsoft.errors.GraphsoftWarning")  # of graphs with few edges
@settings(max_examples=30)
@given(weight_matrices(), st.data())
def test_any_graph_gets_a_map(W, data):
    n = len(W)
    top = data.draw(st.integers(1, n))
    finest = data.draw(st.integers(top, n))
    h = graphsoft.hierarchy(sp.csr_array(W), levels=sorted({finest, top}, reverse=True))
    places = h.layout()
    assert places.shape == (n, 2)
    assert places.dtype == np.float32
    assert np.isfinite(places).all()
    assert np.abs(places.mean(axis=0)).max() < 1e-5
    assert len(np.unique(places, axis=0)) == n
    for level, circles in zip(h, h.circles(), strict=True):
        assert not placing.overlaps(circles.centers.astype(float), circles.radii.astype(float))
        areas = circles.radii**2 / max((circles.radii**2).sum(), 1e-30)
        weights = level.mass if level.mass.any() else level.memberships.sum(axis=0)  # without an edge, points
        np.testing.assert_allclose(areas, weights / weights.sum(), atol=1e-5)


def test_neighbors_stay_near_and_clusters_lie_apart(digits):
    from sklearn.manifold import trustworthiness
    from sklearn.neighbors import KNeighborsClassifier

    data, h = digits
    places = h.layout()
    assert trustworthiness(data.data, places, n_neighbors=10) > 0.985
    for labels, least in ((h[0].labels, 0.9), (h[1].labels, 0.99), (data.labels, 0.97)):
        assert KNeighborsClassifier(10).fit(places, labels).score(places, labels) > least


def test_the_bits_do_not_depend_on_threads_or_pieces(digits, monkeypatch):
    _, h = digits
    found = []
    for threads, cells, load in (("1", 2048, 1 << 18), ("1", 7, 500), ("3", 7, 500)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr(forces, "CELLS_PER_PIECE", cells)
        monkeypatch.setattr(forces, "LOAD", load)
        found.append(h.layout())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_components_lie_side_by_side():
    parts = [nx.gnp_random_graph(size, 8 / size, seed=size) for size in (120, 60, 30, 15)]
    graph = nx.disjoint_union_all(
        [part.subgraph(max(nx.connected_components(part), key=len)) for part in parts]
    )
    h = graphsoft.hierarchy(graph, levels=[20, 4])
    middles, reaches = spans(h.layout(), h.graph.components)
    apart = np.hypot(*(middles[:, None] - middles).transpose(2, 0, 1))
    assert (apart + np.eye(4) * 9 > 0.7 * (reaches[:, None] + reaches)).all()
    assert apart.max() < 5


def test_clusters_of_a_parent_are_near_each_other():
    random = np.random.default_rng(0)
    tops = 40 * random.normal(size=(4, 8))
    middles = np.repeat(tops, 5, axis=0) + 8 * random.normal(size=(20, 8))
    points = np.repeat(middles, 40, axis=0) + random.normal(size=(800, 8))
    h = graphsoft.hierarchy(points, levels=[20, 4], n_neighbors=8)
    assert h.graph.components.max() + 1 >= 4  # no edge leads from one parent to another
    centers = h.circles()[0].centers
    apart = np.hypot(*(centers[:, None] - centers).transpose(2, 0, 1)) + 9 * np.eye(20)
    parents = h[0].parents.toarray().argmax(axis=1)
    assert (parents[apart.argmin(axis=1)] == parents).mean() > 0.8  # of disconnected parts, in a plane


def test_leaves_of_a_hub_do_not_hide_each_other():
    places = graphsoft.hierarchy(nx.star_graph(200), levels=[1]).layout()
    apart = np.hypot(*(places[:, None] - places).transpose(2, 0, 1)) + 9 * np.eye(201)
    assert apart.min() > 0.002
    assert np.hypot(*places[0]) < 0.3  # the hub is in the middle
    assert np.hypot(*places.T).max() < 3


def test_a_long_map_lies_along_the_first_axis():
    graph = nx.disjoint_union(nx.complete_graph(20), nx.complete_graph(20))
    places = graphsoft.hierarchy(graph, levels=[2]).layout()
    assert np.std(places[:, 0]) > 1.5 * np.std(places[:, 1])
    assert abs(np.cov(places.T)[0, 1]) < 1e-5
    assert (places.astype(float) ** 2).sum(axis=1).mean() == pytest.approx(1)


def test_a_level_without_polish_and_other_methods_have_maps():
    graph = nx.karate_club_graph()
    for options in ({"polish": False}, {"method": "spectral"}):
        h = graphsoft.hierarchy(graph, levels=[6, 2], **options)
        assert np.isfinite(h.layout()).all()


def test_results_stay_as_they_are(digits):
    _, h = digits
    places, circles = h.layout(), h.circles()
    for array in (places, circles[0].centers, circles[0].radii):
        assert not array.flags.writeable


def test_circles_stand_where_their_points_are():
    points = np.array([[0.0, 0.0], [0.0, 2.0], [900.0, 0.0], [900.0, 2.0]])
    h = graphsoft.hierarchy(points, levels=[2], n_neighbors=1)
    (found,) = h.circles(points + 1e6)
    np.testing.assert_allclose(found.centers, np.array([[0, 1], [900, 1]]) + 1e6)
    moved = h.circles(points * 0)[0]  # all points at one place
    assert not placing.overlaps(moved.centers.astype(float), moved.radii.astype(float))


def test_circles_of_large_and_small_coordinates_are_as_exact():
    points = np.array([[0.0, 0.0], [0.0, 2.0], [900.0, 0.0], [900.0, 2.0]])
    h = graphsoft.hierarchy(points, levels=[2], n_neighbors=1)
    for unit in (1e290, 1e-290):
        (found,) = h.circles(points * unit)
        np.testing.assert_allclose(found.centers / unit, [[0, 1], [900, 1]], atol=1e-9)
        assert (found.radii > 0).all()


def test_rows_of_a_frame_of_coordinates_are_known_by_their_names():
    points = np.array([[0.0, 0.0], [0.0, 2.0], [900.0, 0.0], [900.0, 2.0]])
    frame = pd.DataFrame(points, index=[*"abcd"], columns=["x", "y"])
    h = graphsoft.hierarchy(frame, levels=[2], n_neighbors=1)
    assert h.circles(frame.iloc[::-1])[0].centers.tolist() == h.circles(points)[0].centers.tolist()
    with pytest.raises(InputError, match="coordinates: has rows of other points"):
        h.circles(frame.rename(index={"d": "e"}))


def test_parents_are_at_the_mean_of_their_children():
    features = np.array([[0.0], [1.0], [10.0], [11.0], [1000.0], [1001.0], [1010.0], [1011.0]])
    h = graphsoft.hierarchy(features, levels=[4, 2], n_neighbors=3)
    corners = np.repeat([[0.0, 0.0], [0.0, 4000.0], [5000.0, 0.0], [5000.0, 4000.0]], 2, axis=0)
    fine, coarse = h.circles(corners)  # so far from each other that no circle moves
    sizes = np.asarray(h[0].memberships.sum(axis=0))
    given_to = h[0].parents.toarray() * sizes[:, None]
    means = given_to.T @ fine.centers / given_to.sum(axis=0)[:, None]
    np.testing.assert_allclose(coarse.centers, means, atol=0.01)


@pytest.mark.parametrize(
    "wrong",
    [[[0.0, 1.0]], np.zeros((77, 3)), np.zeros(77), np.full((77, 2), np.nan), np.full((77, 2), 1e308)],
)
def test_wrong_coordinates_are_refused(wrong):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    with pytest.raises(InputError, match="coordinates"):
        h.circles(wrong)


@pytest.mark.parametrize("weight", [np.nan, -1.0])
def test_a_damaged_graph_of_clusters_is_refused(weight):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    graph = h[1].graph.copy()
    graph.data = np.full(graph.nnz, weight)
    damaged = replace(h, levels=(h[0], replace(h[1], graph=graph)))
    with pytest.raises(InputError, match="graph"):
        damaged.layout()
