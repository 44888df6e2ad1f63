"""The forces of a layout, and circles that are moved apart, against slow copies."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphsoft.kernels import rows_of
from graphsoft.kernels.placing import (
    Cells,
    attract,
    grow_cells,
    lean,
    measure_cells,
    morton_codes,
    push_apart,
    repel,
)
from naive import placing

# few places, so that many points share one
places = st.integers(1, 40).flatmap(lambda n: arrays(float, (n, 2), elements=st.integers(-3, 3).map(float)))
clouds = st.one_of(
    places, st.integers(1, 40).flatmap(lambda n: arrays(float, (n, 2), elements=st.floats(-50, 50)))
)


def divided(points, bucket):
    """The order of the points and the bounds of their cells."""
    low = points.min(axis=0)
    side = max((points.max(axis=0) - low).max(), 1e-200)
    codes, bounds = np.empty(len(points), dtype=np.uint64), np.empty((2 * len(points), 3), dtype=np.int64)
    morton_codes(points, low, 2.0**30 / side, codes)
    order = np.argsort(codes, kind="stable")
    return order, bounds[: grow_cells(codes[order], bucket, bounds)]


def repulsion(points, masses, bucket, opening):
    order, bounds = divided(points, bucket)
    cells, found, result = Cells(bounds, np.empty((len(bounds), 4))), *np.empty((2, len(points), 3))
    measure_cells(points[order], masses[order], bounds, 0, len(bounds), cells.middles)
    repel(points[order], masses[order], cells, opening, 0, len(bounds), found)
    result[order] = found
    return result


@given(clouds, st.integers(1, 5))
def test_the_lowest_cells_hold_every_point_once(points, bucket):
    _, bounds = divided(points, bucket)
    assert bounds[0].tolist() == [0, len(points), len(bounds)]
    lowest = bounds[bounds[:, 2] == np.arange(len(bounds)) + 1]
    assert (lowest[:, 1] - lowest[:, 0] <= bucket).all()
    assert lowest[0, 0] == 0
    assert (lowest[1:, 0] == lowest[:-1, 1]).all()
    for cell, (start, stop, after) in enumerate(bounds):
        inside = bounds[cell + 1 : after]
        assert ((inside[:, 0] >= start) & (inside[:, 1] <= stop)).all()
        assert after == len(bounds) or bounds[after, 0] >= stop


@given(clouds, st.integers(1, 5), st.data())
def test_all_points_push_each_other(points, bucket, data):
    masses = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(points), max_size=len(points)))) / 2
    found = repulsion(points, masses, bucket, opening=0.0)
    np.testing.assert_allclose(found, placing.repulsion(points, masses), rtol=1e-9, atol=1e-9)


def test_far_cells_push_nearly_as_their_points_do():
    random = np.random.default_rng(0)
    points, masses = 10 * random.normal(size=(1500, 2)), random.uniform(0.5, 2, 1500)
    exact = placing.repulsion(points, masses)
    errors = [
        np.linalg.norm(repulsion(points, masses, 16, opening) - exact) / np.linalg.norm(exact)
        for opening in (0.1, 1.0)
    ]
    assert errors[0] < 0.01
    assert errors[1] < 0.1


@given(clouds, st.data())
def test_edges_pull(points, data):
    n = len(points)
    W = data.draw(arrays(float, (n, n), elements=st.sampled_from([0.0, 0.0, 1.0, 2.5])))
    found = np.empty((n, 3))
    attract(rows_of(sp.csr_array(W)), points, 0, n, found)
    np.testing.assert_allclose(found, placing.attraction(W, points), rtol=1e-9, atol=1e-9)


@given(clouds, st.integers(1, 3), st.data())
def test_points_lean_towards_their_clusters(points, levels, data):
    aims = data.draw(arrays(float, (levels, len(points), 3), elements=st.floats(0, 20)))
    found = np.empty((len(points), 2))
    lean(aims, points, 0, len(points), found)
    np.testing.assert_allclose(found, placing.leaning(aims, points), rtol=1e-9, atol=1e-12)


@given(clouds, st.data())
def test_overlapping_circles_move_and_no_others(centers, data):
    radii = data.draw(arrays(float, len(centers), elements=st.sampled_from([0.25, 0.5, 1.0, 4.0])))
    moves = np.zeros_like(centers)
    least = push_apart(centers, radii, np.argsort(centers[:, 0] - radii), moves)
    pairs = placing.overlaps(centers, radii)
    ratios = [np.hypot(*(centers[i] - centers[j])) / (radii[i] + radii[j]) for i, j in pairs]
    assert least == pytest.approx(min(ratios, default=1.0))
    still = np.setdiff1d(np.arange(len(centers)), np.ravel(pairs).astype(int))
    assert not moves[still].any()
    if len(pairs) == 1:
        i, j = pairs[0]
        after = centers + moves
        assert np.hypot(*(after[i] - after[j])) > np.hypot(*(centers[i] - centers[j]))
