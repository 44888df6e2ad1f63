"""The approximate search beside all distances, its loops beside slow copies, and the same bits every time."""

from itertools import pairwise

import numpy as np
import pytest

from graphsoft import parallel
from graphsoft.kernels import descent as kernels
from graphsoft.neighbors import descent, nearest
from graphsoft.neighbors.points import Points
from naive import descent as naive


def exact(X, k):
    """Rank all points by their distances, in float64."""
    gaps = np.array([np.square(X - row.astype(float)).sum(axis=1) for row in X])
    np.fill_diagonal(gaps, np.inf)
    return np.argsort(gaps, axis=1, kind="stable")[:, :k]


def clouds(n, d, seed=0):
    random = np.random.default_rng(seed)
    inner = random.normal(size=(n, 4)) @ random.normal(size=(4, d))
    return (3 * random.normal(size=(5, d))[random.integers(5, size=n)] + inner).astype(np.float32)


def found_share(found, expected):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, expected, strict=True)])


def with_lists(n, d, listed, seed=0):
    """Draw points, and lists of some of the others, not full at first, by rising distance."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)).astype(np.float32)
    apart = naive.gaps(X)
    ids = np.full((n, listed), -1, dtype=np.int32)
    gaps = np.full((n, listed), np.inf, dtype=np.float32)
    for point in range(n):
        met = random.choice(np.delete(np.arange(n), point), random.integers(listed + 1), replace=False)
        met = sorted(met, key=lambda other: apart[point, other])
        ids[point, : len(met)], gaps[point, : len(met)] = met, apart[point, met]
    return X, ids, gaps


def listed_ones(ids):
    return [row[row >= 0].tolist() for row in ids]


@pytest.mark.parametrize(("d", "listed"), [(1, 2), (5, 4), (33, 7)])
def test_kernel_of_leaves(d, listed):
    X, ids, gaps = with_lists(45, d, listed)
    lists, order = ids.copy(), np.random.default_rng(1).permutation(45).astype(np.int32)
    leaves, places = np.array([0, 3, 22, 23, 45]), np.argsort(order).astype(np.int32)
    tree, parts = kernels.Tree(order, places, leaves), ((0, 1), (1, 4))
    found = sum(kernels.join_leaves(X, tree, *part, ids, gaps) for part in parts)
    expected = naive.after_leaves(X, lists, np.split(order, leaves[1:-1]))
    assert listed_ones(ids) == expected
    assert found >= sum(len(set(new) - set(old.tolist())) for new, old in zip(expected, lists, strict=True))
    apart = naive.gaps(X)  # products round to some 2**-24 of the squared size of a leaf
    for point, others in enumerate(expected):
        assert np.allclose(gaps[point, : len(others)], apart[point, others], rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize(("d", "listed"), [(1, 2), (5, 4), (9, 7)])
def test_kernel_of_points_that_have_met(d, listed):
    _, ids, _ = with_lists(45, d, listed)
    order = np.random.default_rng(1).permutation(45).astype(np.int32)
    members, places = order[20:41], np.argsort(order).astype(np.int32)
    met, counts = np.full((21, 3), -1, dtype=np.int32), np.full(21, 9)
    kernels.list_met(members, 20, places, ids, met, counts)
    expected = naive.met_before(ids.tolist(), members.tolist())
    for low, others in enumerate(expected):
        some = met[low, : counts[low]].tolist()
        assert set(some) <= others
        assert set(some) == others or counts[low] == 3
        assert (met[low, counts[low] :] == -1).all()


@pytest.mark.parametrize(("d", "listed"), [(1, 2), (5, 4), (9, 7)])
def test_kernel_of_rounds(d, listed):
    X, ids, gaps = with_lists(40, d, listed)
    fresh = np.random.default_rng(2).random(ids.shape) < 0.5
    lists, marks, length = ids.copy(), fresh.copy(), 3
    back, back_fresh = np.full((40, length), -1, dtype=np.int32), np.zeros((40, length), dtype=np.bool_)
    for start, stop in ((0, 25), (25, 40)):
        by_rank = np.ascontiguousarray(ids.T), np.ascontiguousarray(fresh.T)
        kernels.fill_reverse(*by_rank, start, stop, back, back_fresh)
    pairs = naive.reverse(lists, marks, length)
    assert listed_ones(back) == [[row for row, _ in some] for some in pairs]
    assert all(
        back_fresh[point, place] == some[1] for point in range(40) for place, some in enumerate(pairs[point])
    )
    old, parts = kernels.Round(lists, marks, back, back_fresh), ((0, 7), (7, 40))
    with np.errstate(over="ignore"):
        found = sum(kernels.meet_neighbors_of_neighbors(X, *part, old, ids, gaps, fresh) for part in parts)
    expected = naive.after_round(X, lists.tolist(), marks, length)
    assert listed_ones(ids) == expected
    new = np.array([[other not in lists[point] for other in ids[point]] for point in range(40)])
    assert np.array_equal(fresh, new)
    assert found >= new.sum() > 0


def test_kernel_of_trees():
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    order = np.arange(60, dtype=np.int32)
    with np.errstate(over="ignore"):
        kernels.halve_parts(X, order, 0, 60, 30, np.uint64(7))
        assert set(order[:30].tolist()) == naive.lower_half(X, np.arange(60), 7)
        kernels.halve_parts(X, order, 0, 30, 5, np.uint64(7))
        kernels.halve_parts(X, order, 30, 60, 5, np.uint64(7))
        whole = np.arange(60, dtype=np.int32)
        kernels.halve_parts(X, whole, 0, 60, 5, np.uint64(7))
    assert np.array_equal(whole, order)
    assert np.array_equal(np.sort(order), np.arange(60))


def test_kernel_of_sketches():
    X = np.random.default_rng(0).normal(size=(9, 7)).astype(np.float32)
    places, signs = np.array([0, 2, 1, 0, 1, 2, 2]), np.array([1, -1, 1, 1, -1, -1, 1], dtype=np.float32)
    out = np.zeros((9, 3), dtype=np.float32)
    for part in ((0, 4), (4, 9)):
        kernels.sketch(X, places, signs, *part, out)
    assert np.allclose(out, X @ (np.eye(3)[places] * signs[:, None]), atol=1e-6)


def test_a_crowded_table_of_met_points_lists_none_twice():
    X, ids, gaps = with_lists(1200, 2, 40)  # more are met than a table of SLOTS points remembers
    fresh = np.ones(ids.shape, dtype=np.bool_)
    back, back_fresh = np.full((1200, 8), -1, dtype=np.int32), np.zeros((1200, 8), dtype=np.bool_)
    lists = ids.copy()
    old = kernels.Round(lists, fresh.copy(), back, back_fresh)
    kernels.meet_neighbors_of_neighbors(X, 0, 50, old, ids, gaps, fresh)
    for point in range(50):
        met = {other for middle in lists[point] if middle >= 0 for other in [middle, *lists[middle]]}
        assert listed_ones(ids)[point] == naive.nearest(X, point, met, 40)


@pytest.mark.parametrize("part", [20, 60, 1000])
def test_trees_do_not_depend_on_the_calls_that_grow_them(monkeypatch, part):
    monkeypatch.setattr(descent, "MAX_LEAF", 8)
    X, seeds = clouds(301, 5), np.array([3, 9], dtype=np.uint64)
    monkeypatch.setattr(descent, "PART", 10**6)
    expected = descent._grow(X, seeds)
    monkeypatch.setattr(descent, "PART", part)
    assert all(
        np.array_equal(one, other) for one, other in zip(descent._grow(X, seeds), expected, strict=True)
    )
    assert not np.array_equal(*expected)


@pytest.mark.parametrize("d", [1, 3, 7, 40])
def test_finds_nearly_all_neighbors(d):
    X = clouds(1500, d)
    found = descent.descend(X, 16, 0)
    assert found_share(found, exact(X, 10)) > 0.99
    assert (found != np.arange(1500)[:, None]).all()
    assert all(len(set(row)) == 16 for row in found.tolist())


@pytest.mark.parametrize("n", [2, 3, 5, 17, descent.MAX_LEAF])
def test_one_leaf_is_exact(n):
    X = np.random.default_rng(n).normal(size=(n, 6)).astype(np.float32)
    k = min(n - 1, 8)
    assert np.array_equal(descent.descend(X, k, 0), exact(X, k))


def test_lists_that_cannot_be_filled_end_in_minus_one():
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
    monkeypatch.setattr(descent, "MAX_LEAF", 8)
    X = clouds(101, 5)
    order = descent._grow(X, np.array([3], dtype=np.uint64))[0]
    assert np.array_equal(np.sort(order), np.arange(101))
    leaves = descent._leaves(101)
    assert leaves[[0, -1]].tolist() == [0, 101]
    assert set(np.diff(leaves)) <= {4, 5, 6, 7, 8}
    line = np.arange(101, dtype=np.float32)[np.random.default_rng(0).permutation(101)][:, None]
    order = descent._grow(line, np.array([3], dtype=np.uint64))[0]
    for start, stop in pairwise(leaves):
        assert np.ptp(line[order[start:stop], 0]) == stop - start - 1  # of numbers on a line, neighbors


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
    monkeypatch.setattr(descent, "MAX_TREES", 2)
    X = np.random.default_rng(0).normal(size=(4000, 8)).astype(np.float32)
    expected = exact(X, 10)
    with_rounds = found_share(descent.descend(X, 16, 0), expected)
    monkeypatch.setattr(descent, "MAX_ROUNDS", 0)
    without = found_share(descent.descend(X, 16, 0), expected)
    assert without < 0.7 < 0.9 < with_rounds


def test_products_take_over_where_too_little_is_found(monkeypatch):
    points = Points.of(np.random.default_rng(0).normal(size=(3000, 100)))
    expected, _ = nearest.nearest_neighbors(points, 10)
    monkeypatch.setattr(nearest, "PRODUCT_WORK", 0)
    monkeypatch.setattr(descent, "MAX_TREES", 2)
    monkeypatch.setattr(descent, "MAX_ROUNDS", 1)
    assert np.array_equal(nearest.nearest_neighbors(points, 10)[0], expected)
    monkeypatch.setattr(nearest, "RETURN_WORK", 0)
    assert 0.2 < found_share(nearest.nearest_neighbors(points, 10)[0], expected) < nearest.ENOUGH
