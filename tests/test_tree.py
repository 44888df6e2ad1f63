"""The cluster tree: parents, walks, cuts, and what is refused."""

import copy
import dataclasses
import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from graphsoft.errors import InputError
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.tree import Tree
from graphsoft.tree_building import build_tree
from naive import tree as naive
from shared.trees import make_tree, parent_chains


@given(parent_chains())
def test_parents_and_children_equal_the_naive_ones(chain):
    tree = make_tree(chain)
    for level, up in enumerate(naive.likeliest_parents(chain)):
        for index, parent in enumerate(up):
            node = tree.find(f"{level}-{index}")
            assert node.parent == f"{level + 1}-{parent}"
            assert node.id in tree.find(node.parent).children
            chances = dict(node.parents)
            assert chances == {f"{level + 1}-{q}": p for q, p in enumerate(chain[level][index]) if p > 0}
            assert list(chances.values()) == sorted(chances.values(), reverse=True)
    assert sum(len(node.children) for node in tree.nodes) == len(tree) - 1


@given(parent_chains())
def test_walks_visit_every_node_once_and_in_order(chain):
    tree = make_tree(chain)
    for order, first, second in (("down", "parent", "child"), ("up", "child", "parent")):
        seen = [node.id for node in tree.walk(order)]
        assert len(seen) == len(set(seen)) == len(tree)
        place = {name: position for position, name in enumerate(seen)}
        for node in tree.nodes:
            if node.parent is not None:
                at = {"parent": place[node.parent], "child": place[node.id]}
                assert at[first] < at[second]
    assert next(node.id for node in tree.walk()) == tree.root.id


@given(parent_chains(), st.integers(1, 20))
def test_cut_by_count_partitions_the_finest_clusters(chain, count):
    tree = make_tree(chain)
    cut = tree.cut(count=count)
    assert 1 <= len(cut) <= count
    assert len(set(cut)) == len(cut)
    held = []
    for index in range(len(chain[0])):
        up = [f"{level}-{place}" for level, place in naive.ancestors(chain, index)] + ["root"]
        held.append([name for name in cut if name in up])
    assert all(len(names) == 1 for names in held)
    assert {names[0] for names in held} == set(cut)


@given(parent_chains())
def test_cut_by_count_goes_down_to_one_entry_for_each_finest_cluster(chain):
    assert len(make_tree(chain).cut(count=100)) == len(chain[0])


SMALL = [
    np.array([[0.9, 0.1, 0], [0.6, 0.4, 0], [0, 1, 0], [0, 0.7, 0.3]]),
    np.array([[1.0, 0.0], [0.2, 0.8], [0.1, 0.9]]),
]


def test_small_tree_by_hand():
    tree = make_tree(SMALL, mass=[4, 3, 2, 1])
    assert repr(tree) == "Tree(4 -> 3 -> 2 clusters, root 'root')"
    assert len(tree) == 10
    root = tree.root
    assert (root.id, root.level, root.index, root.parent, root.parents) == ("root", 3, 0, None, ())
    assert (root.children, root.mass) == (("2-0", "2-1"), pytest.approx(10.0))
    assert tree.find("2-1").parents == (("root", 1.0),)
    assert tree.find("0-1").parents == (("1-0", 0.6), ("1-1", 0.4))
    assert tree.find("1-1").children == ("0-2", "0-3")
    assert [leaf.id for leaf in tree.leaves] == ["0-0", "0-1", "0-2", "0-3", "1-2"]
    assert tree.path("0-3") == ("root", "2-1", "1-1", "0-3")
    assert tree.path("root") == ("root",)
    down = ["root", "2-0", "1-0", "0-0", "0-1", "2-1", "1-1", "0-2", "0-3", "1-2"]
    assert [node.id for node in tree.walk()] == down
    up = ["0-0", "0-1", "1-0", "2-0", "0-2", "0-3", "1-1", "1-2", "2-1", "root"]
    assert [node.id for node in tree.walk("up")] == up


def test_cut_by_hand():
    tree = make_tree(SMALL, mass=[4, 3, 2, 1])
    assert tree.cut(0) == ["0-0", "0-1", "0-2", "0-3"]
    assert tree.cut(level=1) == ["1-0", "1-1", "1-2"]
    assert tree.cut(-1) == ["2-0", "2-1"]
    assert tree.cut(count=1) == ["root"]
    assert tree.cut(count=2) == ["2-0", "2-1"]
    assert tree.cut(count=3) == ["0-0", "0-1", "2-1"]  # the heavier one is split, and 1-2 holds no points
    assert tree.cut(count=4) == tree.cut(count=99) == ["0-0", "0-1", "0-2", "0-3"]


def test_a_split_that_does_not_fit_is_passed_over():
    wide = np.repeat(np.eye(2), [5, 2], axis=0)
    tree = make_tree([wide], mass=[9, 9, 9, 9, 9, 1, 1])
    assert tree.cut(count=3) == ["1-0", "0-5", "0-6"]
    assert tree.cut(count=6) == ["0-0", "0-1", "0-2", "0-3", "0-4", "1-1"]


def test_one_cluster_on_top_is_the_root():
    tree = make_tree([np.ones((3, 1))])
    assert tree.root.id == "1-0"
    assert tree.root.parent is None
    assert len(tree) == 4
    assert len(make_tree_of_one()) == 1
    assert make_tree_of_one().cut(count=5) == ["0-0"]


def make_tree_of_one():
    return build_tree([], [[1.0]], [[1]])


def test_one_level_of_several_clusters():
    tree = build_tree([], [[1.0, 2.0]], [[1, 2]])
    assert tree.root.children == ("0-0", "0-1")
    assert tree.root.size == 3


@pytest.mark.parametrize(
    ("name", "near"),
    [("0-9", "0-3"), ("7-1", "2-1"), ("00-1", "0-1"), ("cluster", "root"), ("", "root"), (17, "root")],
)
def test_find_names_the_nearest(name, near):
    with pytest.raises(
        InputError, match=rf"^id: there is no node {name!r}\. Remedy: the nearest is '{near}'"
    ):
        make_tree(SMALL).find(name)


def test_find_survives_long_numbers():
    with pytest.raises(InputError):
        make_tree(SMALL).find("0-" + "9" * 10_000)


def test_wrong_arguments_are_named():
    tree = make_tree(SMALL)
    with pytest.raises(InputError, match=r"^order"):
        list(tree.walk("sideways"))
    for wrong in ({}, {"level": 1, "count": 2}, {"level": 3}, {"level": -4}, {"level": True}, {"level": 1.0}):
        with pytest.raises(InputError, match=r"^level"):
            tree.cut(**wrong)
    for wrong in (0, -1, 2.0, True, "3"):
        with pytest.raises(InputError, match=r"^count"):
            tree.cut(count=wrong)
    assert tree.cut(np.int64(1)) == tree.cut(1)
    assert tree.cut(count=np.int32(2)) == tree.cut(count=2)


def test_matrices_that_do_not_fit_are_refused():
    up = csr_array(np.ones((2, 1)))
    with pytest.raises(InputError, match=r"^masses"):
        build_tree([], [], [])
    with pytest.raises(InputError, match=r"^sizes"):
        build_tree([up], [[1, 1], [2]], [[1], [2]])
    with pytest.raises(InputError, match=r"^parents: got shapes \[\(2, 1\)\]"):
        build_tree([up], [[1, 1, 1], [3]], [[1, 1, 1], [3]])
    with pytest.raises(InputError, match=r"^parents: cluster 0-1 has no parent"):
        build_tree([csr_array(np.array([[1.0], [0.0]]))], [[1, 1], [2]], [[1, 1], [2]])


def test_everything_is_frozen_and_the_input_untouched():
    matrix = csr_array(np.array([[0.2, 0.8], [0.5, 0.5]]))
    before = matrix.copy()
    tree = build_tree([matrix], [[1, 1], [0.7, 1.3]], [[1, 1], [1, 1]])
    assert tree.find("0-1").parent == "1-0"  # the first of equals
    assert (matrix != before).nnz == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        tree.root.mass = 3.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        tree.nodes = ()
    assert tree == build_tree([matrix], [[1, 1], [0.7, 1.3]], [[1, 1], [1, 1]])


@given(parent_chains())
def test_a_printed_tree_has_each_cluster_under_its_parent(chain):
    tree = make_tree(chain)
    tree = replace(tree, names={node.id: f"name of {node.id}" for node in tree.nodes[::2]})
    above = {}
    for line in str(tree).splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        id, size, *name = line.split()
        node = tree.find(id)
        assert size == f"({node.size})"
        assert " ".join(name) == tree.names.get(id, "")
        assert node.parent == above.get(depth - 1)
        above = {place: name for place, name in above.items() if place < depth} | {depth: id}
    assert len(str(tree).splitlines()) == len(tree)


def test_a_large_tree_is_printed_without_its_lower_levels():
    up = csr_array((np.ones(300), np.arange(300) % 5, np.arange(301)), shape=(300, 5))
    tree = build_tree([up], [np.ones(300), np.full(5, 60.0)], [[1] * 300, [60] * 5])
    assert str(tree).splitlines() == ["root (300)", *(f"  1-{q} (60)" for q in range(5)), "... and 300 more"]
    flat = build_tree([], [np.ones(300)], [[1] * 300])
    assert len(str(flat).splitlines()) == 202
    assert str(flat).endswith("... and 100 more")
    assert len(str(caterpillar(5_000)).splitlines()) == 200


def caterpillar(levels):
    """Two clusters on every level but the top: one carries on, the other ends under it."""
    step = csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    top = csr_array(np.ones((2, 1)))
    counts = [2] * (levels - 1) + [1]
    return build_tree(
        [step] * (levels - 2) + [top],
        [[1.0] * count for count in counts],
        [[1] * count for count in counts],
    )


def test_five_thousand_levels():
    tree = caterpillar(5_000)
    assert isinstance(tree, Tree)
    assert repr(tree) == "Tree(2 -> 2 -> 2 -> ... -> 2 -> 2 -> 1 clusters, root '4999-0')"
    assert len(tree.path("0-1")) == 5_000
    assert sum(1 for _ in tree.walk("up")) == len(tree) == 9_999
    assert tree.cut(count=1) == ["4999-0"]
    assert tree.cut(count=2) == ["0-0", "0-1"]  # all else is the same points under other names


def test_a_hundred_thousand_nodes():
    rng = np.random.default_rng(0)
    sizes = [100_000, 3_000, 50]
    parents = [
        csr_array((np.ones(low), rng.integers(0, high, low), np.arange(low + 1)), shape=(low, high))
        for low, high in itertools.pairwise(sizes)
    ]
    tree = build_tree(
        parents, [np.ones(size) for size in sizes], [np.ones(size, dtype=int) for size in sizes]
    )
    assert sum(1 for _ in tree.walk()) == len(tree) == sum(sizes) + 1
    assert 900 < len(tree.cut(count=1_000)) <= 1_000


def test_trees_made_by_hand_are_checked():
    up = csr_array([[0.9, 0.1], [0.8, 0.2], [0.0, 1.0]])
    tree = build_tree([up], [[2.0, 3.0, 5.0], [4.2, 5.8]], [[2, 3, 5], [5, 5]])
    nodes = tree.nodes
    circle = replace(nodes[-1], children=("1-0", "root"))
    own_parent = tuple(replace(node, parent=node.id, children=(node.id,)) for node in nodes)
    twice = replace(nodes[3], children=("0-0", "0-1", "0-0"))
    for odd in (
        replace(tree, nodes=own_parent),
        replace(tree, nodes=(*nodes[:-1], circle)),
        replace(tree, nodes=(*nodes[:3], twice, *nodes[4:])),
        replace(tree, nodes=nodes[::-1]),
        replace(tree, nodes=nodes[:-1]),
        replace(tree, nodes=(*nodes[:-1], None)),
        replace(tree, level_sizes=(9, 2)),
        replace(tree, level_sizes=()),
        Tree((), ()),
        pickle.loads(pickle.dumps(replace(tree, nodes=own_parent))),  # noqa: S301
    ):
        for action in (
            lambda odd: odd.root,
            lambda odd: odd.find("0-0"),
            lambda odd: odd.path("0-0"),
            lambda odd: list(odd.walk()),
            lambda odd: odd.cut(count=2),
            lambda odd: odd.cut(level=0),
            tree_to_json,
        ):
            assert repr(odd) == "Tree(damaged)"
            with pytest.raises(InputError, match=r"^tree: has nodes that do not hang together"):
                action(odd)
    tree.cut(count=2)
    assert set(vars(copy.copy(tree))) == {"nodes", "level_sizes", "names"}
