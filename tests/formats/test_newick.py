"""Newick: other readers find the same tree, the same names and the same lengths."""

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphsoft.errors import InputError
from graphsoft.formats.newick import tree_to_newick
from shared.trees import caterpillar, chain, make_tree, parent_chains, small_tree

STRANGE = [
    "it's",
    "a b",
    " lead",
    "trail ",
    "a_b",
    "(x)",
    "[c]",
    "a,b;c:d",
    '"q"',
    "名前",
    "1.5",
    "1e5",
    "nan",
]
STRANGE += [
    "''",
    "'",
    "--",
    "\\",
    "a  b",
    "[&R]",
    "{}",
    "#",
    "a/b",
    "=1+1",
    "&lt;",
    "\xa0",
    "\u200b",
    "\ufeff",
]
VISIBLE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1)
VISIBLE = VISIBLE.filter(lambda name: name not in "(),:;")


def by_dendropy(text):
    dendropy = pytest.importorskip("dendropy")
    tree = dendropy.Tree.get(data=text, schema="newick", preserve_underscores=True)

    def name(node):
        return node.taxon.label if node.taxon else node.label

    return [
        (name(node), node.parent_node and name(node.parent_node), node.edge.length)
        for node in tree.preorder_node_iter()
    ]


def by_ete(text):
    tree = pytest.importorskip("ete4").Tree(text, parser=1)
    return [(node.name, node.up and node.up.name, node.dist) for node in tree.traverse("preorder")]


def by_biopython(text):
    phylo = pytest.importorskip("Bio.Phylo")
    tree = phylo.read(io.StringIO(text), "newick")
    above = {id(child): clade.name for clade in tree.find_clades() for child in clade.clades}
    return [
        (each.name, above.get(id(each)), each.branch_length) for each in tree.find_clades(order="preorder")
    ]


readers = pytest.mark.parametrize("read", [by_dendropy, by_ete, by_biopython])


@readers
@given(parent_chains())
def test_other_readers_find_the_tree(read, chain):
    tree = make_tree(chain)
    heights = {node.id: node.level / 3 for node in tree.nodes}
    found = read(tree_to_newick(tree, heights=heights))
    assert [(name, above) for name, above, _ in found] == [(node.id, node.parent) for node in tree.walk()]
    lengths = [heights[node.parent] - heights[node.id] for node in tree.walk() if node.parent]
    assert [length for _, _, length in found[1:]] == lengths
    assert [above for _, above, _ in read(tree_to_newick(tree))] == [above for _, above, _ in found]


@pytest.mark.parametrize("read", [by_dendropy, by_ete])
@pytest.mark.parametrize("place", ["0-1", "1-0", "root"])
@given(VISIBLE)
@example("a_b")
def test_any_visible_name_comes_back(read, place, name):
    names = [each for each, _, _ in read(tree_to_newick(small_tree(), names={place: name}))]
    assert names == [name if node.id == place else node.id for node in small_tree().walk()]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("place", ["0-1", "1-0"])
def test_strange_names_by_hand(name, place, tmp_path):
    tree_to_newick(small_tree(), tmp_path / "tree.nwk", {place: name})
    text = (tmp_path / "tree.nwk").read_text(encoding="utf-8")
    assert name in [each for each, _, _ in by_dendropy(text)]


@pytest.mark.parametrize(
    "name", ["", ":", ")", "a\nb", "\t", "\0", "\x7f", "\x85", "\u2028", "\ud800", "a\r"]
)
def test_names_that_readers_would_change_are_refused(name, tmp_path):
    path = tmp_path / "tree.nwk"
    path.write_text("old")
    with pytest.raises(InputError, match="which Newick cannot hold"):
        tree_to_newick(small_tree(), path, {"0-1": name})
    assert path.read_text() == "old"


@pytest.mark.parametrize("names", [{"9-9": "x"}, {"0-1": 7}, ["x"]])
def test_names_must_be_texts_of_clusters(names):
    with pytest.raises(InputError, match=r"^names: "):
        tree_to_newick(small_tree(), names=names)


def test_depth_needs_no_recursion():
    tree = chain(20_000)
    text = tree_to_newick(tree, heights={node.id: 0.0 for node in tree.nodes})
    assert text.count("(") == text.count(")") == 19_999
    assert text.endswith(")19999-0;\n")
    found = by_dendropy(tree_to_newick(caterpillar(100)))  # which recurses
    assert len({name for name, _, _ in found}) == len(found) == 201
