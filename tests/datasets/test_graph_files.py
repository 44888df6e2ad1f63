"""Lists of edges and GraphML."""

import gzip
from pathlib import Path

import networkx as nx
import pytest

from graphsoft.datasets import read
from graphsoft.errors import InputError

DATA = Path(__file__).parents[2] / "data"


def same_graph(first, second):
    """Compare nodes, edges and their attributes, not those of the graph: GraphML adds some."""
    return first.adj == second.adj and first.nodes == second.nodes


@pytest.mark.parametrize("name", ["a.edges", "a.edgelist", "a.txt", "a.txt.gz"])
def test_edge_lists(file, name):
    dataset = read(file(name, "# who whom\nann bob 2\n\nbob  名 0.5 # twice\nbob ann 2\nbob bob 3\n"))
    assert dataset.names == ("ann", "bob", "名")
    assert dataset.data.toarray().tolist() == [[0, 2, 0], [2, 3, 0.5], [0, 0.5, 0]]
    assert dataset.affinity == "precomputed"
    assert repr(dataset) == "Dataset(3 nodes, 5 stored weights)"


def test_edge_lists_without_weights(file):
    dataset = read(file("a.edges", "0 1\n1 2\n2 1\n1\t2"))
    assert dataset.data.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert dataset.names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"holds no edges"),
        ("a b\nc\n", r"^path: line 2 has 1 fields"),
        ("a b c d\n", r"^path: line 1 has 4 fields"),
        ("a b 1\nc d\n", r"^path: line 2 has 2 fields"),
        ("a b x\n", r"^path: the weight on line 1 is 'x'"),
        ("a b nan\n", r"^path: the weight on line 1 is 'nan'"),
        ("a b 1\na c -1\n", r"^path: the weight on line 2 is '-1'"),
        ("a b 1\nb a 2\n", r"^path: edge b a weighs 1.0 on line 1 and 2.0 on line 2"),
    ],
)
def test_wrong_edge_lists_are_explained(file, text, message):
    with pytest.raises(InputError, match=message):
        read(file("a.edges", text))


def test_graphml(tmp_path):
    graph = nx.Graph()
    graph.add_node("é", kind=3)
    graph.add_node("</node>", kind=10)
    graph.add_edge("é", "</node>", weight=2.5)
    nx.write_graphml_xml(graph, tmp_path / "a.graphml")
    dataset = read(tmp_path / "a.graphml", labels="kind")
    assert dataset.names == ("é", "</node>")
    assert dataset.labels.tolist() == [3, 10]
    assert dataset.data["é"]["</node>"]["weight"] == 2.5
    (tmp_path / "b.graphml.gz").write_bytes(gzip.compress((tmp_path / "a.graphml").read_bytes()))
    assert same_graph(read(tmp_path / "b.graphml.gz").data, graph)
    with pytest.raises(
        InputError, match=r"^labels: node 'é' and 1 others have no attribute 'club'.*\['kind'\]"
    ):
        read(tmp_path / "a.graphml", labels="club")


LAUGHS = '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'


@pytest.mark.parametrize(
    "content",
    [
        LAUGHS.encode(),
        LAUGHS.encode("utf-16"),
        b'<?xml version="1.0" encoding="cp037"?>' + LAUGHS.encode("cp037"),
        b'<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml/>',
    ],
)
def test_document_types_are_refused(file, content):
    with pytest.raises(InputError, match=r"document type declaration|cannot be read as graphml"):
        read(file("a.graphml", content))


def test_other_xml_is_an_input_error(file):
    for content in ("<graphml>", "<html/>"):
        with pytest.raises(InputError, match=r"^path: 'a.graphml' cannot be read as graphml"):
            read(file("a.graphml", content))
