"""Loops over small dense graphs against their slow copies."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels.drawing import merge_dense, move_dense
from naive import moving as naive
from shared.strategies import extreme, plain, small, weight_matrices


@st.composite
def housed(draw, weights=None, max_size=10):
    """Draw weights, none across homes, the masses of nodes, which count those too, and rising homes."""
    W = draw(weight_matrices(1, max_size, weights))
    homes = np.array(draw(st.lists(st.integers(0, 2), min_size=len(W), max_size=len(W))), dtype=np.int64)
    homes = np.sort(np.unique(homes, return_inverse=True)[1])
    within = np.where(np.equal.outer(homes, homes), W, 0.0)
    np.fill_diagonal(within, 0.0)
    return within, W.sum(axis=1), homes


def begins_of(homes):
    """Where each home begins, and the end."""
    return np.searchsorted(homes, np.arange(homes[-1] + 2))


def merged(within, d, homes, count):
    labels = np.empty(len(d), dtype=np.int64)
    last, following = merge_dense(within.copy(), d.copy(), begins_of(homes), count, labels)
    return labels, last, following


def assert_is_a_merge(fine, coarse, example):
    """Check that one merge makes the coarse groups of the fine ones, and that no other is better."""
    within, d, homes = example
    found = naive.scores(within, d, fine)
    pairs = [(p, q) for p, q in np.ndindex(found.shape) if p < q]
    together = [pair for pair in pairs if len({*coarse[np.isin(fine, pair)]}) == 1]
    assert len(together) == 1
    assert naive.is_nested(fine, coarse)
    if found.max() > 0:
        assert found[together[0]] == pytest.approx(found.max(), rel=1e-9)
    else:
        assert naive.is_lightest_pair(d, fine, homes, together[0])


@given(housed())
def test_each_merge_is_of_the_largest_score_or_of_the_lightest(example):
    within, d, homes = example
    counts = range(len(d), homes.max(), -1)
    steps = [merged(*example, count) for count in counts]
    assert steps[0][0].tolist() == list(range(len(d)))
    assert steps[0][1] == 0
    for (fine, _, following), (coarse, last, _) in pairwise(steps):
        assert_is_a_merge(fine, coarse, example)
        best = naive.scores(within, d, fine).max()
        assert following == pytest.approx(best, rel=1e-9)
        assert last == pytest.approx(best, rel=1e-9) or best == 0
    for count, (labels, _, _) in zip(counts, steps, strict=True):
        assert sorted(set(labels.tolist())) == list(range(count))
        assert naive.is_nested(labels, homes)
    assert steps[-1][2] == pytest.approx(naive.scores(within, d, steps[-1][0]).max(), rel=1e-9)


@given(housed(weights=st.floats(0.5, 2)), st.data())
def test_merging_as_the_naive_loop_does_it(example, data):
    within, d, homes = example
    rng = np.random.default_rng(0)
    within = within * np.triu(rng.uniform(0.9, 1.1, within.shape), 1)  # no two scores are equal
    within, d = within + within.T, d * rng.uniform(1, 1.1, len(d)) + 0.1
    count = data.draw(st.integers(homes.max() + 1, len(d)))
    labels, last, following = merged(within, d, homes, count)
    expected = naive.merged(within, d, homes, count)
    assert naive.same_partition(labels, expected[0])
    assert (last, following) == pytest.approx(expected[1:], rel=1e-9)


def test_without_weights_the_light_ones_of_a_home_merge():
    d, none = np.array([5.0, 1, 4, 2, 9, 0.5]), np.zeros((6, 6))
    one, two = np.zeros(6, dtype=np.int64), np.array([0, 0, 0, 0, 0, 1])
    for masses, homes, expected in [
        (d, one, [0, 1, 2, 3, 4, 1]),
        (d, one, [0, 1, 2, 1, 3, 1]),
        (d, two, [0, 1, 2, 1, 3, 4]),  # the lightest is alone in its home
        (np.zeros(6), two, [0, 0, 0, 0, 0, 1]),
    ]:
        labels, last, following = merged(none, masses, homes, max(expected) + 1)
        assert naive.same_partition(labels, expected)
        assert last == following == 0


@given(housed(weights=plain), st.integers(0, 64), st.integers(0, 3), st.data())
def test_move_dense(example, part, rounds, data):
    """With whole weights and such a pull there is no rounding; weights across homes attract nobody."""
    within, d, homes = example
    within = within + data.draw(st.sampled_from([0.0, 64.0])) * ~np.equal.outer(homes, homes)
    labels, count = data.draw(groups_within(homes))
    found = labels.copy()
    move_dense(within, d, begins_of(homes), part / 64, count, rounds, found)
    assert found.tolist() == naive.move_dense(within, d, homes, part / 64, rounds, labels).tolist()


@given(housed(weights=st.one_of(small, extreme)), st.data())
def test_moves_empty_no_group_leave_no_home_and_raise_modularity(example, data):
    within, d, homes = example
    labels, count = data.draw(groups_within(homes))
    pull, found = 1 / max(d.sum(), 1e-300), labels.copy()
    move_dense(within, d, begins_of(homes), pull, count, 4, found)
    assert sorted(set(found.tolist())) == list(range(count))
    assert naive.is_nested(found, homes)
    # what the masses count beyond the weights is a weight to nobody here
    loops = within + np.diag(d - within.sum(axis=1))
    worth = [naive.modularity(loops, each, pull) for each in (labels, found)]
    assert worth[1] >= worth[0] - 1e-8 * d.sum()


@st.composite
def groups_within(draw, homes):
    """Draw groups within homes, none of them empty: the group of every node, and how many there are."""
    kinds = st.lists(st.integers(0, 2), min_size=len(homes), max_size=len(homes))
    labels = np.unique(3 * homes + np.array(draw(kinds)), return_inverse=True)[1]
    return labels, int(labels.max()) + 1
