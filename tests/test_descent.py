"""The approximate search: what it finds beside all distances, and the same bits every time."""

from itertools import pairwise

import numpy as np
import pytest

from graphsoft import descent, neighbors, parallel
from graphsoft.points import Points


def exact(X, k):
    """Rank all points by their distances, in float64."""
    gaps = np.square(X[:, None].astype(float) - X[None]).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return np.argsort(gaps, axis=1, kind="stable")[:, :k]


def clouds(n, d, seed=0):
    random = np.random.default_rng(seed)
    inner = random.normal(size=(n, 4)) @ random.normal(size=(4, d))
    return (3 * random.normal(size=(5, d))[random.integers(5, size=n)] + inner).astype(np.float32)


def found_share(found, expected):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, expected, strict=True)])


@pytest.mark.parametrize("d", [1, 3, 7, 40])
def test_finds_nearly_all_neighbours(d):
    X = clouds(1500, d)
    found = descent.descend(X, 16, 0)
    assert found_share(found, exact(X, 10)) > 0.99
    assert (found != np.arange(1500)[:, None]).all()
    assert all(len(set(row)) == 16 for row in found.tolist())


@pytest.mark.parametrize("n", [2, 3, 5, 17, descent.LEAF])
def test_one_leaf_is_exact(n):
    X = np.random.default_rng(n).normal(size=(n, 6)).astype(np.float32)
    k = min(n - 1, 8)
    assert np.array_equal(descent.descend(X, k, 0), exact(X, k))


def test_short_lists_end_in_nobody():
    X = np.arange(3.0, dtype=np.float32)[:, None]
    assert descent.descend(X, 4, 0).tolist() == [[1, 2, -1, -1], [0, 2, -1, -1], [1, 0, -1, -1]]


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    X = clouds(3000, 12)
    expected = descent.descend(X, 12, 5)
    for threads in (1, 3):
        monkeypatch.setattr(parallel, "thread_count", lambda threads=threads: threads)
        assert np.array_equal(descent.descend(X, 12, 5), expected)
    assert not np.array_equal(
        descent.descend(np.random.default_rng(0).normal(size=(3000, 30)).astype("f4"), 12, 5),
        descent.descend(np.random.default_rng(0).normal(size=(3000, 30)).astype("f4"), 12, 6),
    )


def test_trees_hold_every_point_and_cut_at_medians(monkeypatch):
    monkeypatch.setattr(descent, "LEAF", 8)
    X = clouds(101, 5)
    order = descent._grow(X, np.array([3], dtype=np.uint64))[0]
    assert np.array_equal(np.sort(order), np.arange(101))
    leaves = descent._leaves(101)
    assert leaves[[0, -1]].tolist() == [0, 101]
    assert set(np.diff(leaves)) <= {4, 5, 6, 7, 8}
    line = np.arange(101, dtype=np.float32)[np.random.default_rng(0).permutation(101)][:, None]
    order = descent._grow(line, np.array([3], dtype=np.uint64))[0]
    for start, stop in pairwise(leaves):
        assert np.ptp(line[order[start:stop], 0]) == stop - start - 1  # of numbers on a line, neighbours


def test_points_of_many_features_are_sketched_for_trees():
    X = clouds(700, 3 * descent.SKETCH)
    assert found_share(descent.descend(X, 16, 0), exact(X, 10)) > 0.99
    seen = descent._sketch(X, np.random.default_rng(0))
    gaps = [np.square(rows[:350] - rows[350:]).sum() for rows in (X, seen)]
    assert seen.shape == (700, descent.SKETCH)
    assert 0.7 < gaps[1] / gaps[0] < 1.4


def test_equal_points_and_far_ones_do_no_harm():
    X = np.zeros((1000, 3), dtype=np.float32)
    X[500:] = 1e6 + np.arange(500, dtype=np.float32)[:, None] * 4
    found = descent.descend(X, 8, 0)
    assert (found[:500] < 500).all()
    assert (found[500:] >= 500).all()
    assert found_share(found[500:, :4], exact(X, 4)[500:]) > 0.9


def test_rounds_find_what_trees_left(monkeypatch):
    monkeypatch.setattr(descent, "TREES", 2)
    X = np.random.default_rng(0).normal(size=(4000, 8)).astype(np.float32)
    expected = exact(X, 10)
    with_rounds = found_share(descent.descend(X, 16, 0), expected)
    monkeypatch.setattr(descent, "ROUNDS", 0)
    without = found_share(descent.descend(X, 16, 0), expected)
    assert without < 0.7 < 0.9 < with_rounds


def test_products_take_over_where_too_little_is_found(monkeypatch):
    points = Points.of(np.random.default_rng(0).normal(size=(3000, 100)))
    expected, _ = neighbors.nearest_neighbors(points, 10)
    monkeypatch.setattr(neighbors, "PRODUCT_WORK", 0)
    monkeypatch.setattr(descent, "TREES", 2)
    monkeypatch.setattr(descent, "ROUNDS", 1)
    assert np.array_equal(neighbors.nearest_neighbors(points, 10)[0], expected)
    monkeypatch.setattr(neighbors, "RETURN_WORK", 0)
    assert 0.2 < found_share(neighbors.nearest_neighbors(points, 10)[0], expected) < neighbors.ENOUGH
