"""Colors stay apart for all eyes, have contrast with light and dark, and follow the tree."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.colors import (
    NEUTRAL,
    blend,
    class_colors,
    cluster_colors,
    hex_colors,
    level_colors,
    rgb_of_hex,
)
from graphsoft.errors import InputError
from graphsoft.tree_building import build_tree

# G. M. Machado, M. M. Oliveira and L. A. F. Fernandes (2009), for linear light, at full strength
EYES = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colors):
    """Linear light of colors as screens get them, in 256 steps."""
    rgb = np.array([rgb_of_hex(color) for color in hex_colors(colors)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(light):
    """OKLab of linear light, by the published formula."""
    red, green, blue = light.clip(0, 1).T
    long = np.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = np.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = np.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return np.stack(
        [
            0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
        ],
        axis=1,
    )


def least_distance(colors, eyes="usual"):
    seen = oklab(linear(colors) @ EYES[eyes].T)
    return min(np.linalg.norm(one - other) for one, other in combinations(seen, 2))


def hues(colors):
    _, a, b = oklab(linear(colors)).T
    return np.degrees(np.arctan2(b, a)) % 360


def tree_of(parents, masses=None):
    """A tree of hard parents: one list for each level but the top, whose size is the last number."""
    *lists, top = parents
    sizes = [*map(len, lists), top]
    up = [
        sp.csr_array((np.ones(len(each)), each, np.arange(len(each) + 1)), shape=(len(each), above))
        for each, above in zip(lists, sizes[1:], strict=True)
    ]
    return build_tree(up, masses or [np.ones(size) for size in sizes], [np.ones(size, int) for size in sizes])


@st.composite
def trees(draw):
    sizes = sorted(draw(st.lists(st.integers(1, 40), min_size=1, max_size=5)), reverse=True)
    lists = [
        draw(st.lists(st.integers(0, above - 1), min_size=size, max_size=size))
        for size, above in pairwise(sizes)
    ]
    return tree_of([*lists, sizes[-1]])


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize(("count", "apart"), [(2, 0.3), (4, 0.09), (6, 0.083), (8, 0.08)])
def test_top_colors_are_far_apart_for_all_eyes(count, apart, eyes):
    (colors,) = cluster_colors(tree_of([count]))
    least = least_distance(colors, eyes)
    assert least > (apart if eyes == "usual" or count > 2 else 0.1)


@pytest.mark.parametrize(("count", "apart"), [(12, 0.08), (16, 0.08), (24, 0.02)])
def test_further_top_colors_differ_for_usual_eyes(count, apart):
    assert least_distance(cluster_colors(tree_of([count]))[0]) > apart


@pytest.mark.parametrize("eyes", EYES)
def test_sixteen_top_colors_can_be_told_apart_by_all_eyes(eyes):
    assert least_distance(cluster_colors(tree_of([16]))[0], eyes) > 0.035


@given(trees())
def test_every_color_has_contrast_with_white_and_with_black(tree):
    for colors, size in zip(cluster_colors(tree), tree.level_sizes, strict=True):
        assert colors.shape == (size, 3)
        luminance = linear(colors) @ [0.2126, 0.7152, 0.0722]
        assert (1.05 / (luminance + 0.05)).min() >= 3
        assert ((luminance + 0.05) / 0.05).min() >= 3


@given(trees())
def test_shades_stay_nearer_to_their_own_top_cluster(tree):
    tops = tree.level_sizes[-1]
    if not 1 < tops <= 8:
        return
    colors = cluster_colors(tree)
    top_hues = hues(colors[-1])
    family = np.arange(tops)
    for level in reversed(range(len(colors) - 1)):
        parents = [node.parent for node in tree.nodes if node.level == level and node.id != "root"]
        family = family[[int(parent.partition("-")[2]) for parent in parents]]
        away = np.abs((hues(colors[level])[:, None] - top_hues + 180) % 360 - 180)
        # gray that is mixed in where screens end, and rounding, turn hues a little
        assert (away[np.arange(len(family)), family] <= away.min(axis=1) + 8).all()


@pytest.mark.parametrize(("children", "apart"), [(2, 0.05), (3, 0.03), (5, 0.02), (8, 0.015), (12, 0.01)])
def test_siblings_differ(children, apart):
    below, above = cluster_colors(tree_of([np.repeat(np.arange(8), children).tolist(), 8]))
    assert above.shape == (8, 3)
    assert min(least_distance(below[at : at + children]) for at in range(0, len(below), children)) > apart


@given(trees())
def test_only_children_have_the_color_of_their_parent(tree):
    colors = cluster_colors(tree)
    for node in tree.nodes:
        if node.id == "root" or len(node.children) != 1 or tree.level_sizes[node.level] == 1:
            continue
        child = tree.find(node.children[0])
        np.testing.assert_allclose(colors[child.level][child.index], colors[node.level][node.index])


def test_heavy_clusters_choose_first():
    masses = [np.arange(1.0, 21.0)]
    (colors,) = cluster_colors(tree_of([20], masses))
    (eight,) = cluster_colors(tree_of([8]))
    np.testing.assert_array_equal(colors[::-1][:8], eight)


def test_classes_have_the_colors_of_top_clusters_as_heavy():
    sizes = [3.0, 9.0, 1.0, 5.0]
    tree = tree_of([4], masses=[sizes])
    assert np.array_equal(class_colors(sizes), cluster_colors(tree)[0])


def test_clusters_that_hold_everything_are_gray():
    colors = cluster_colors(tree_of([[0] * 5, [0], 1]))
    assert [hex_colors(each) for each in colors[1:]] == [[NEUTRAL], [NEUTRAL]]
    np.testing.assert_array_equal(colors[0], cluster_colors(tree_of([5]))[0])


def test_colors_are_the_same_every_time_and_for_the_largest_trees():
    parents = [(np.arange(10_000) // 10).tolist(), (np.arange(1000) // 20).tolist(), 50]
    first, second = (cluster_colors(tree_of(parents)) for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    assert least_distance(first[0][:10]) > 0


def test_a_blend_lies_between_its_colors():
    colors = cluster_colors(tree_of([2]))[0]
    shares = sp.csr_array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    mixed = blend(shares, colors)
    np.testing.assert_allclose(mixed[[0, 2]], colors, atol=1e-7)
    first, middle, last = oklab(linear(mixed))
    np.testing.assert_allclose(middle, (first + last) / 2, atol=0.005)
    np.testing.assert_array_equal(mixed, blend(shares.toarray(), colors))


@pytest.mark.parametrize("paper", ["#ffffff", "#000000"])
def test_uncertain_points_fade_into_the_background(paper):
    colors = np.tile(rgb_of_hex("#2995ff"), (4, 1))
    shares = np.array([[1, 0, 0, 0], [0.7, 0.3, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4])
    papers = oklab(linear(rgb_of_hex(paper)[None]))
    away = np.linalg.norm(oklab(linear(blend(shares, colors, paper))) - papers, axis=1)
    assert (np.diff(away) < 0).all()
    np.testing.assert_allclose(away / away[0], shares.max(axis=1), atol=0.02)
    many = np.full((1, 100), 0.01)
    faint = oklab(linear(blend(many, np.tile(colors[0], (100, 1)), paper)))
    assert np.linalg.norm(faint - papers) == pytest.approx(away[3], abs=0.01)


@pytest.mark.parametrize("color", ["white", "#fff", "#12345g", None, 7])
def test_colors_in_words_are_refused(color):
    with pytest.raises(InputError, match="color: got"):
        rgb_of_hex(color)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (lambda: cluster_colors(5), "h"),
        (lambda: class_colors([]), "sizes"),
        (lambda: class_colors("x"), "sizes"),
        (lambda: level_colors(0), "count"),
        (lambda: hex_colors([1, 0, 0]), "colors"),
        (lambda: hex_colors([[2.0, 0.0, 0.0]]), "colors"),
        (lambda: hex_colors([[np.nan] * 3]), "colors"),
        (lambda: blend(np.ones((2, 3)), np.zeros((2, 3))), "memberships"),
        (lambda: blend(None, np.zeros((2, 3))), "memberships"),
        (lambda: blend(np.ones((2, 1)), ["#ff0000"]), "colors"),
    ],
)
def test_what_are_no_colors_is_refused(wrong, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        wrong()
