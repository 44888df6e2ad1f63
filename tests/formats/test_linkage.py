"""Linkages: what SciPy asks of them, heights as they are defined, and levels that come back by cutting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, dendrogram, fcluster, is_monotonic, is_valid_linkage
from scipy.sparse import csr_array

import graphsoft
from graphsoft.formats.linkage import linkage_of
from shared.trees import chain, make_tree, parent_chains, small_tree


@st.composite
def trees_with_steps(draw):
    """A tree, and symmetric weights between its finest clusters; many of them are zero or equal."""
    tree = make_tree(draw(parent_chains()))
    m = tree.level_sizes[0]
    values = draw(st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.5, 1.0, 3.0]), min_size=m * m, max_size=m * m))
    weights = np.triu(np.array(values).reshape(m, m))
    return tree, weights + weights.T


def branches(tree, level):
    """The cluster of a level above each finest cluster."""
    found = []
    for index in range(tree.level_sizes[0]):
        node = tree.nodes[index]
        while node.level < level:
            node = tree.find(node.parent)
        found.append(node.index)
    return found


def same_groups(one, other):
    pairs = set(zip(list(one), list(other), strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def members(matrix, leaves):
    """The finest clusters in each part."""
    found = [{leaf} for leaf in range(leaves)]
    for a, b in matrix[:, :2].astype(int):
        found.append(found[a] | found[b])
    return found


@given(trees_with_steps())
def test_scipy_takes_it_and_cutting_gives_the_levels(case):
    tree, weights = case
    m = tree.level_sizes[0]
    matrix = linkage_of(tree, csr_array(weights)).matrix
    assert matrix.shape == (m - 1, 4)
    if m == 1:
        return
    assert is_valid_linkage(matrix, throw=True)
    assert is_monotonic(matrix)
    dendrogram(matrix, no_plot=True)
    for level in range(1, len(tree.level_sizes)):
        expected = branches(tree, level)
        count = len(set(expected))
        assert same_groups(fcluster(matrix, level, "distance"), expected)
        assert same_groups(fcluster(matrix, count, "maxclust"), expected)
        assert same_groups(cut_tree(matrix, n_clusters=count).ravel(), expected)


@given(trees_with_steps())
def test_heights_are_as_defined(case):
    tree, weights = case
    m = tree.level_sizes[0]
    found = linkage_of(tree, csr_array(weights))
    parts, mass, total = members(found.matrix, m), weights.sum(axis=1), weights.sum()
    for row, (a, b, height, count) in enumerate(found.matrix):
        one, other = sorted(parts[int(a)]), sorted(parts[int(b)])
        assert count == len(one) + len(other)
        level = next(each for each in range(len(tree.level_sizes)) if meet(tree, one + other, each + 1))
        between = weights[np.ix_(one, other)].sum()
        lift = between * total / (mass[one].sum() * mass[other].sum()) if between else 0.0
        np.testing.assert_allclose(height, level + 1 / (1 + lift), rtol=1e-9)
        below = [found.matrix[int(part) - m, 2] for part in (a, b) if part >= m]
        assert all(each <= height for each in below), row


def meet(tree, leaves, level):
    if level == len(tree.level_sizes):
        return True
    return len({branches(tree, level)[leaf] for leaf in leaves}) == 1


@given(trees_with_steps())
def test_heights_of_clusters_are_those_of_their_last_merge(case):
    tree, weights = case
    m = tree.level_sizes[0]
    found = linkage_of(tree, csr_array(weights))
    inside = dict(
        zip(map(frozenset, members(found.matrix, m)), [0.0] * m + found.matrix[:, 2].tolist(), strict=True)
    )
    for node in tree.nodes:
        held = frozenset(leaf for leaf in range(m) if node.id in tree.path(f"0-{leaf}"))
        assert found.heights[node.id] == inside.get(held, 0.0)
        if node.parent is not None:
            assert found.heights[node.parent] >= found.heights[node.id]


def test_the_most_similar_clusters_are_merged_first():
    weights = np.array([[4, 3, 1, 0], [3, 4, 1, 0], [1, 1, 4, 2], [0, 0, 2, 6]], dtype=float)
    tree = make_tree([np.ones((4, 1))])
    matrix = linkage_of(tree, csr_array(weights)).matrix
    lifts = [3 * 32 / 64, 2 * 32 / 64, 2 * 32 / 16**2]
    assert matrix[:, :2].tolist() == [[0, 1], [2, 3], [4, 5]]
    np.testing.assert_allclose(matrix[:, 2], [1 / (1 + lift) for lift in lifts])


def test_clusters_that_no_step_joins_are_merged_last():
    matrix = linkage_of(make_tree([np.ones((3, 1))]), csr_array(np.diag([1.0, 0.0, 2.0]))).matrix
    assert matrix[:, 2].tolist() == [1.0, 1.0]
    assert linkage_of(small_tree(), csr_array((3, 3))).matrix[:, 2].tolist() == [1.0, 2.0]


def test_depth_needs_no_recursion():
    tree = chain(20_000)
    found = linkage_of(tree, csr_array([[1.0]]))
    assert found.matrix.shape == (0, 4)
    assert set(found.heights.values()) == {0.0}


def test_a_thousand_clusters_and_their_points():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    h = graphsoft.hierarchy(X, levels=[400, 40, 8])
    Z = h.to_linkage()
    assert is_valid_linkage(Z, throw=True)
    assert is_monotonic(Z)
    for level in (1, 2):
        flat = fcluster(Z, h.tree.level_sizes[level], "maxclust")
        assert same_groups(flat, branches(h.tree, level))
        of_points = flat[h[0].labels]
        assert graphsoft.metrics.adjusted_rand(of_points, h[level].labels) > 0.9
    np.testing.assert_array_equal(Z, h.to_linkage())
    assert len(np.unique(Z[:, 2])) > 0.9 * len(Z)


@pytest.mark.parametrize("method", ["k-means", "relation"])
def test_hard_clusters_have_heights_too(method):
    X = np.random.default_rng(0).normal(size=(300, 2))
    Z = graphsoft.hierarchy(X, levels=[12, 3], method=method).to_linkage()
    assert (Z[:9, 2] < 1).any()
    assert is_monotonic(Z)
