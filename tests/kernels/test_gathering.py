"""Loops that gather nodes, against their slow copies."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels.gathering import best_centers, filled_groups, move_nodes
from graphsoft.kernels.hashing import mixed
from naive import gathering as naive
from shared.kernels import sparse
from shared.strategies import plain, weight_matrices


def key(i, j):
    return int(mixed((np.uint64(i) << np.uint64(32)) ^ np.uint64(j)))


@given(weight_matrices(), st.data())
def test_best_centers(W, data):
    n = len(W)
    is_center = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    ids, degrees = np.arange(n, dtype=np.int32), np.maximum(W.sum(axis=1), 1e-300)
    best, scores = np.full(n, -7), np.full(n, np.nan)
    with np.errstate(over="ignore"):
        best_centers(sparse(W), ids, ids, is_center, degrees, best, scores)
        expected = [naive.best_center(W, degrees, is_center, i, key) for i in range(n)]
    assert list(zip(best.tolist(), scores.tolist(), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=12), st.integers(1, 9))
def test_filled_groups(asking, most):
    asking = sorted(asking)
    rows = [(100 + k, target, load, 2 * target) for k, (target, load) in enumerate(asking)]
    units, targets, loads, of_targets = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
    leaders = np.empty_like(units)
    filled_groups(units, targets, loads, of_targets, most, leaders)
    assert leaders.tolist() == naive.filled(rows, most)


@given(weight_matrices(weights=plain), st.integers(1, 4), st.data())
def test_move_nodes(W, parts, data):
    n = len(W)
    own = data.draw(st.integers(0, n))  # the first nodes are those of the block
    labels = np.array(data.draw(st.lists(st.integers(0, parts - 1), min_size=n, max_size=n)), dtype=np.int32)
    loads = np.array(data.draw(st.lists(st.integers(1, 3), min_size=own, max_size=own)), dtype=np.int64)
    room = np.array(data.draw(st.lists(st.integers(0, 5), min_size=parts, max_size=parts)), dtype=float)
    expected = naive.moved(W, loads, labels, room)
    before = labels.copy()
    moves = move_nodes(sparse(W), loads, 0, labels, room)
    assert (labels.tolist(), room.tolist()) == expected
    assert (moves > 0) == (labels != before).any()
