"""Graphs for networkx, and GraphML and GEXF that others read back with the same names and numbers."""

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.formats.networkx_graphs import tree_to_networkx, write_gexf, write_graphml
from shared.trees import chain, small_tree

STRANGE = [
    "it's",
    '"q"',
    "<b>&amp;",
    "]]>",
    "a\nb",
    "a\tb",
    " lead ",
    "名前",
    "\x85",
    "\u2028",
    "",
    "=1+1",
    "\ufeff",
    "1",
]
FIT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
        lambda c: c in "\t\n" or c >= " "
    )
)
READ = {write_graphml: nx.read_graphml, write_gexf: nx.read_gexf}
writers = pytest.mark.parametrize("write", READ)


@pytest.fixture(scope="module")
def novel():
    return graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])


def written(write, graph, folder):
    write(graph, folder / "graph.xml")
    return READ[write](folder / "graph.xml")


def test_the_tree_is_a_tree(novel):
    graph = novel.to_networkx(names={"1-0": "Paris"})
    assert nx.is_arborescence(graph)
    assert list(nx.dfs_preorder_nodes(graph, "root")) == [node.id for node in novel.tree.walk()]
    for node in novel.tree.nodes:
        data = graph.nodes[node.id]
        assert (data["level"], data["mass"], data["size"]) == (node.level, node.mass, node.size)
        assert data["label"] == ("Paris" if node.id == "1-0" else node.id)
        if node.parent:
            assert graph.edges[node.parent, node.id]["p"] == node.parents[0][1]
            assert graph.nodes[node.parent]["height"] >= data["height"]


def test_the_graph_of_the_points_has_their_memberships(novel):
    graph, before = novel.to_networkx("points"), nx.les_miserables_graph()
    assert list(graph) == list(before)
    assert {frozenset(edge): w for *edge, w in graph.edges(data="weight")} == {
        frozenset(edge): w for *edge, w in before.edges(data="weight")
    }
    for row, (_, data) in enumerate(graph.nodes(data=True)):
        for number, level in enumerate(novel):
            shares = level.memberships[[row]].toarray().ravel()
            assert data[f"level_{number}"] == f"{number}-{level.labels[row]}"
            assert data[f"probability_{number}"] == shares.max()
            assert data[f"entropy_{number}"] == level.entropy[row]
            known = {f"{number}-{at}": share for at, share in enumerate(shares) if share}
            assert {id: p for id, p in data["memberships"].items() if id.startswith(f"{number}-")} == known


def test_loops_stay():
    matrix = np.array([[2.0, 1.0, 0], [1.0, 0, 1], [0, 1, 0]])
    graph = graphsoft.hierarchy(matrix, [2, 1], affinity="precomputed").to_networkx("points")
    np.testing.assert_array_equal(nx.to_numpy_array(graph), matrix)


@writers
@pytest.mark.parametrize("of", ["tree", "points"])
def test_files_read_back_as_they_were(write, of, novel, tmp_path):
    graph = novel.to_networkx(of, names={"1-0": "</node> & 'Paris'"})
    method = novel.to_graphml if write is write_graphml else novel.to_gexf
    method(tmp_path / "graph.xml", of, names={"1-0": "</node> & 'Paris'"})
    found = READ[write](tmp_path / "graph.xml")
    assert found.is_directed() == (of == "tree")
    assert set(found) == set(graph)
    for node, data in graph.nodes(data=True):
        for key, value in data.items():
            assert found.nodes[node][key] == (json.dumps(value) if key == "memberships" else value)
    for one, other, data in graph.edges(data=True):
        for key, value in data.items():
            assert found.edges[one, other][key] == value


@writers
@given(st.lists(FIT, min_size=1, max_size=4, unique=True), FIT)
def test_any_name_that_xml_can_hold_comes_back(write, tmp_path_factory, names, label):
    graph = nx.path_graph(names)
    nx.set_node_attributes(graph, label, "label")
    found = written(write, graph, tmp_path_factory.mktemp("any"))
    assert set(found) == set(names)
    assert {data["label"] for _, data in found.nodes(data=True)} == {label}


@writers
@pytest.mark.parametrize("name", STRANGE)
def test_strange_names_by_hand(write, name, tmp_path):
    graph = tree_to_networkx(
        small_tree(), {"0-1": name}, dict.fromkeys([n.id for n in small_tree().nodes], 0.0)
    )
    assert written(write, graph, tmp_path).nodes["0-1"]["label"] == name
    assert set(written(write, nx.path_graph([name, "other"]), tmp_path)) == {name, "other"}


@writers
@pytest.mark.parametrize("name", ["\0", "\x0b", "\r", "a\r\nb", "\x1b", "\ud800", "\uffff"])
def test_names_that_xml_cannot_hold_are_refused(write, name, tmp_path):
    path = tmp_path / "graph.xml"
    path.write_text("old")
    labeled = nx.path_graph(1)
    labeled.nodes[0]["label"] = name
    for graph in (nx.path_graph([name]), labeled):
        with pytest.raises(InputError, match="which XML cannot hold"):
            write(graph, path)
    assert path.read_text() == "old"


@writers
def test_names_that_are_the_same_text_are_refused(write, tmp_path):
    with pytest.raises(InputError, match=r"^nodes: 1 and '1' are the same text"):
        write(nx.path_graph([1, "1"]), tmp_path / "graph.xml")


@writers
def test_the_same_graph_makes_the_same_file(write, novel, tmp_path):
    write(novel.to_networkx("points"), tmp_path / "a")
    write(novel.to_networkx("points"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert b"lastmodified" not in (tmp_path / "a").read_bytes()


@writers
def test_depth_needs_no_recursion(write, tmp_path):
    tree = chain(5_000)
    graph = tree_to_networkx(tree, {}, dict.fromkeys([node.id for node in tree.nodes], 0.0))
    assert nx.is_arborescence(graph)
    write(graph, tmp_path / "deep.xml")
    assert (tmp_path / "deep.xml").read_bytes().count(b"<edge ") == 4_999


@pytest.mark.parametrize("of", ["tree", "points"])
def test_igraph_reads_it(of, novel, tmp_path):
    igraph = pytest.importorskip("igraph")
    novel.to_graphml(tmp_path / "graph.graphml", of)
    found, graph = igraph.Graph.Read_GraphML(str(tmp_path / "graph.graphml")), novel.to_networkx(of)
    assert found.vs["id"] == list(graph)
    assert found.vs["label"] == [data.get("label", node) for node, data in graph.nodes(data=True)]
    assert found.ecount() == graph.number_of_edges()


@pytest.mark.parametrize("of", ["clusters", None, "Tree"])
def test_of_is_checked(of, novel):
    with pytest.raises(InputError, match=r"^of: got .* use one of 'tree', 'points'"):
        novel.to_networkx(of)
