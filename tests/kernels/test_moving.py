"""Loops of moving nodes against their slow copies; in pieces of any size they give the same moves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels import read_only
from graphsoft.kernels.moving import CLOSE, Parts, best_groups, move_nodes
from naive import moving as naive
from shared.kernels import cuts, pieces, sparse
from shared.strategies import plain, weight_matrices

# With whole weights and such pulls there is no rounding.
pulls = st.integers(0, 64).map(lambda part: part / 64)


@st.composite
def groupings(draw, n):
    """Draw the group of each node, some groups perhaps empty, and the home and the key of each group."""
    count = draw(st.integers(1, 5))
    labels = draw(st.lists(st.integers(0, count - 1), min_size=n, max_size=n))
    homes = draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    keys = draw(st.lists(st.sampled_from([0, 7, 2**63, 2**64 - 1]), min_size=count, max_size=count))
    return np.array(labels, dtype=np.int32), np.array(homes, dtype=np.int32), np.array(keys, dtype=np.uint64)


def parts_of(W, labels, homes, keys):
    return Parts(
        labels=labels.copy(),
        homes=read_only(homes),
        keys=read_only(keys),
        masses=np.bincount(labels, W.sum(axis=1), minlength=len(homes)),
        sizes=np.bincount(labels, minlength=len(homes)),
    )


def best_of(W, groups, pull, nodes=None, cut=()):
    nodes = np.arange(len(W)) if nodes is None else np.array(nodes, dtype=int)
    best = np.full(len(nodes), -7, dtype=np.int32)
    parts, degrees = parts_of(W, *groups), read_only(W.sum(axis=1))
    for start, stop in pieces(len(nodes), cut):
        best_groups(sparse(W), degrees, parts, pull, nodes, start, stop, best)
    assert parts.labels.tolist() == groups[0].tolist()
    return best.tolist()


@given(weight_matrices(weights=plain), pulls, cuts, st.data())
def test_best_groups(W, pull, cut, data):
    labels, homes, keys = groups = data.draw(groupings(len(W)))
    nodes = data.draw(st.lists(st.integers(0, len(W) - 1), unique=True))
    for node, group in zip(nodes, best_of(W, groups, pull, nodes, cut), strict=True):
        assert group in naive.best_groups(W, W.sum(axis=1), labels, homes[labels], keys, pull, node)
        assert homes[group] == homes[labels[node]]


@given(weight_matrices(), st.data())
def test_of_any_weights_no_group_is_better_but_for_rounding(W, data):
    labels, homes, _ = groups = data.draw(groupings(len(W)))
    d = W.sum(axis=1)
    pull = data.draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])) / max(W.sum(), 1e-300)
    for node, group in enumerate(best_of(W, groups, pull)):
        won = naive.gains(W, d, labels, homes[labels], pull, node) | {labels[node]: 0.0}
        assert won[group] >= max(won.values()) - 10 * CLOSE * d[node]


def star(*weights, loop=0.0):
    """A node, alone in group 0, with edges to nodes that are each a group."""
    W = np.zeros((len(weights) + 1, len(weights) + 1))
    W[0, 0], W[0, 1:], W[1:, 0] = loop, weights, weights
    return W, np.arange(len(W), dtype=np.int32)


def test_of_equal_groups_it_is_the_one_of_smallest_key():
    W, labels = star(1.0, 3.0, 3.0 + 1e-9, 3.0, 2.0)
    homes = np.zeros(6, np.int32)
    for smallest in (2, 3, 4):
        keys = np.full(6, 2**63, np.uint64)
        keys[[1, 5]], keys[smallest] = 1, 5
        assert best_of(W, (labels, homes, keys), 0.0, [0]) == [smallest]
        elsewhere = (np.arange(6) == smallest).astype(np.int32)
        keys[3 if smallest == 2 else 2] = 6
        assert best_of(W, (labels, elsewhere, keys), 0.0, [0]) == [3 if smallest == 2 else 2]


def test_what_is_left_to_rounding_moves_nobody():
    W, labels = star(0.3, 0.1 + 0.2)
    assert 0.1 + 0.2 > 0.3
    labels[:2], homes, keys = 1, np.zeros(3, np.int32), np.arange(3, dtype=np.uint64)[::-1].copy()
    assert best_of(W, (labels, homes, keys), 0.0, [0]) == [1]
    W[0, 2] = W[2, 0] = 0.3 + 1e-4
    assert best_of(W, (labels, homes, keys), 0.0, [0]) == [2]


def test_loops_pull_nobody():
    W, labels = star(1.0, 2.0, loop=9.0)
    labels[:2] = 1
    assert best_of(W, (labels, np.zeros(3, np.int32), np.zeros(3, np.uint64)), 0.0, [0]) == [2]


@given(weight_matrices(weights=plain), st.integers(0, 2), st.data())
def test_move_nodes(W, least, data):
    labels, homes, _ = groups = data.draw(groupings(len(W)))
    nodes = data.draw(st.permutations(range(len(W))))[: data.draw(st.integers(0, len(W)))]
    best = [data.draw(st.integers(0, len(homes) - 1)) for _ in nodes]
    marks = data.draw(st.lists(st.booleans(), min_size=len(W), max_size=len(W)))
    parts, restless = parts_of(W, *groups), np.array(marks)
    best, nodes = np.array(best, dtype=np.int32), np.array(nodes, dtype=int)
    moves = move_nodes(sparse(W), read_only(W.sum(axis=1)), parts, nodes, best, least, restless)
    expected, marked, count = naive.moved(W, labels.tolist(), nodes, best, least)
    assert (parts.labels.tolist(), moves) == (expected, count)
    assert set(np.flatnonzero(restless).tolist()) == marked | set(np.flatnonzero(marks).tolist())
    after = parts_of(W, parts.labels, *groups[1:])
    np.testing.assert_array_equal(parts.masses, after.masses)  # whole weights: to the last bit
    np.testing.assert_array_equal(parts.sizes, after.sizes)
    before = np.bincount(labels, minlength=len(homes))
    assert (parts.sizes >= np.minimum(before, least)).all()
