"""Groups of clusters from level to level: the nesting of labels, or groups within limits where it is not."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.engine.grouping import Limits, grouped_levels
from naive import engine
from naive import moving as naive
from shared.shapes import cloud_graph, graph_of, ring_of_cliques
from shared.strategies import graphs


def through(labels, levels):
    """The cluster of every node on each level, as the groups of the levels below have it."""
    found = [labels]
    for groups in levels:
        found.append(groups.indices[found[-1]])
    return found


def assert_groups(levels, sizes):
    """Check that each cluster has one group, and that no group is empty."""
    assert [groups.shape for groups in levels] == list(pairwise(sizes))
    for groups, size in zip(levels, sizes[1:], strict=True):
        assert np.diff(groups.indptr).tolist() == [1] * groups.shape[0]
        assert (groups.data == 1).all()
        assert sorted(set(groups.indices.tolist())) == list(range(size))


@st.composite
def nested_labels(draw, n, levels=3):
    """Draw labels that are nested, finest first, and how many there are on each level."""
    size, step, found, sizes = n, np.arange(n), [], []
    for _ in range(draw(st.integers(1, levels))):
        drawn = draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
        above = np.unique(drawn, return_inverse=True)[1]
        step, size = above[step], int(above.max()) + 1
        found.append(step.astype(np.int32))
        sizes.append(size)
    return found, sizes


@given(graphs(), st.data())
def test_within_limits_the_nesting_is_returned_as_it_is(graph, data):
    labels, sizes = data.draw(nested_labels(len(graph)))
    levels = grouped_levels(graph, labels, sizes, Limits(1, len(graph)))
    assert_groups(levels, sizes)
    assert [each.tolist() for each in through(labels[0], levels)] == [each.tolist() for each in labels]


def possible_limits(sizes, data):
    """Draw limits that some groups keep to on every level."""
    least = min((below // above for below, above in pairwise(sizes)), default=1)
    most = max((-(-below // above) for below, above in pairwise(sizes)), default=1)
    return data.draw(st.integers(0, least)), data.draw(st.integers(most, max(sizes)))


@given(graphs(max_size=16), st.data())
def test_limits_are_kept_on_all_levels(graph, data):
    labels, sizes = data.draw(nested_labels(len(graph)))
    smallest, largest = possible_limits(sizes, data)
    levels = grouped_levels(graph, labels, sizes, Limits(smallest, largest))
    assert_groups(levels, sizes)
    for groups in levels:
        children = np.bincount(groups.indices, minlength=groups.shape[1])
        assert children.min() >= max(smallest, 1)
        assert children.max() <= largest


def test_levels_above_follow_what_changed_below():
    # 8 cliques in a ring; the labels say 7 of them and 1, but no more than 4 may be together
    cliques = np.arange(40) // 5
    labels = [cliques, np.where(cliques < 7, cliques // 6, 2), np.zeros(40, dtype=int)]
    graph = graph_of(ring_of_cliques(cliques=8))
    levels = grouped_levels(graph, labels, [8, 3, 1], Limits(1, 4))
    assert_groups(levels, [8, 3, 1])
    children = np.bincount(levels[0].indices)
    assert children.max() <= 4
    # neighbors in the ring are together
    for group in range(3):
        inside = np.flatnonzero(levels[0].indices == group)
        gaps = np.diff(np.append(inside, inside[0] + 8))
        assert (gaps > 1).sum() <= 1
    assert levels[1].indices.tolist() == [0, 0, 0]


def test_levels_within_limits_stay_above_one_that_is_not():
    graph = graph_of(cloud_graph(120))
    fine = np.arange(120) // 5  # 24 clusters
    middle = np.where(fine < 12, 0, 1 + (fine - 12) // 4)  # 12, 4, 4, 4 of them
    coarse = (middle > 1).astype(int)
    sizes = [24, 4, 2]
    levels = grouped_levels(graph, [fine, middle, coarse], sizes, Limits(1, 8))
    assert_groups(levels, sizes)
    assert max(np.bincount(groups.indices).max() for groups in levels) <= 8
    # those of the top are the likeliest ones of what has changed below
    found = through(fine, levels)
    common = engine.indicator(found[1], 4).T @ engine.indicator(coarse, 2)
    assert levels[1].indices.tolist() == common.argmax(axis=1).tolist()
    given = grouped_levels(graph, [fine, middle, coarse], sizes, Limits(1, 12))
    found = through(fine, given)
    assert [each.tolist() for each in found] == [each.tolist() for each in (fine, middle, coarse)]


@given(graphs(min_size=4), st.data())
def test_known_pairs_are_kept_apart_where_anything_else_can_merge(graph, data):
    labels, sizes = data.draw(nested_labels(len(graph), 2))
    n = len(graph)
    one, other = data.draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
    known = np.zeros((n, n))
    known[one, other] = known[other, one] = -1.0
    limits = Limits(1, n, sp.csr_array(known))
    levels = grouped_levels(graph, labels, sizes, limits)
    assert_groups(levels, sizes)
    found = through(labels[0], levels)
    for mine, theirs, size in zip(found, labels, sizes, strict=True):
        if theirs[one] != theirs[other]:  # nothing to do
            assert mine.tolist() == theirs.tolist()
        elif labels[0][one] != labels[0][other] and size > 1:
            assert mine[one] != mine[other]


def test_progress_is_told_of_what_is_grouped_anew():
    graph, seen = graph_of(cloud_graph(120)), []
    fine = np.arange(120) // 5
    labels = [fine, np.where(fine < 20, 0, 1)]
    grouped_levels(graph, labels, [24, 2], Limits(1, 24), lambda *step: seen.append(step))
    assert seen == []
    (groups,) = grouped_levels(graph, labels, [24, 2], Limits(10, 14), lambda *step: seen.append(step))
    assert seen[-1][1] == seen[-1][2]
    assert sorted(np.bincount(groups.indices)) in ([10, 14], [11, 13], [12, 12])


@pytest.mark.parametrize("levels", [1, 2])
def test_one_level_has_no_groups_and_the_weights_do_not_matter_within_limits(levels):
    labels = [np.arange(6) // 2, np.array([0, 0, 0, 0, 1, 1])][:levels]
    sizes = [3, 2][:levels]
    for W in (np.zeros((6, 6)), np.ones((6, 6))):
        found = grouped_levels(graph_of(W), labels, sizes, Limits(1, 6))
        assert [groups.toarray().tolist() for groups in found] == [
            engine.indicator([0, 0, 1], 2).tolist() for _ in range(levels - 1)
        ]
    assert naive.is_nested(labels[0], labels[-1])
