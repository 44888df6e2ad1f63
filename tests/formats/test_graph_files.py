"""Graphs as files that `graphsoft.datasets.read` and `graphsoft.load` read back with the same names."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.formats.graph_files import GRAPH_ENDINGS, graph_to_file

weighted = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), st.floats(1e-3, 1e3), min_size=1, max_size=12
)


@given(weighted, st.sampled_from(GRAPH_ENDINGS))
def test_graphs_come_back_from_every_format(tmp_path_factory, edges, ending):
    graph = nx.Graph()
    graph.add_weighted_edges_from((f"n{u}", f"n{v}", weight) for (u, v), weight in edges.items())
    made = graphsoft.as_graph(graph)
    path = tmp_path_factory.mktemp("graphs") / f"a{ending}"
    graph_to_file(made, path)
    if ending == ".graphsoft":
        found = graphsoft.load(path)
        adjacency, names = found.adjacency, found.nodes
    else:
        found = read(path)
        adjacency = graphsoft.as_graph(found.data, affinity="precomputed").adjacency
        names = found.names or made.nodes
    order = [made.nodes.index(name) for name in names]
    np.testing.assert_array_equal(adjacency.toarray(), made.adjacency.toarray()[np.ix_(order, order)])


@pytest.mark.parametrize("ending", [".edges", ".graphml"])
@given(st.text(min_size=1), st.text())
def test_any_names_come_back_or_are_refused(tmp_path_factory, ending, one, other):
    made = graphsoft.edge_graph([(one, "c"), ("c", "d"), ("d", other)])
    path = tmp_path_factory.mktemp("graphs") / f"a{ending}"
    try:
        graph_to_file(made, path)
    except InputError as error:
        assert error.argument == "names"  # noqa: PT017 - most texts are written
        assert not path.exists()
    else:
        assert set(read(path).names) == set(made.nodes)


@pytest.mark.parametrize(
    ("ending", "name"),
    [
        (".edges", "a b"), (".edges", "a#"), (".edges", ""), (".edges", "\ud800"),
        (".graphml", "\x01"), (".graphml", "a\rb"), (".graphml", "\ud800"),
    ],
)  # fmt: skip
def test_names_that_a_format_cannot_hold_are_refused(tmp_path, ending, name):
    made = graphsoft.edge_graph([(name, "c"), ("c", "d")])
    with pytest.raises(InputError, match=r"^names: .* cannot hold\. Remedy: rename it, or write"):
        graph_to_file(made, tmp_path / f"a{ending}")


@pytest.mark.parametrize("ending", [".edges", ".graphml"])
def test_names_of_the_same_text_are_refused(tmp_path, ending):
    with pytest.raises(InputError, match=r"^nodes: 1 and '1' are the same text"):
        graph_to_file(graphsoft.edge_graph([(1, "1")]), tmp_path / f"a{ending}")


def test_a_list_of_edges_cannot_hold_nodes_without_edges(tmp_path):
    graph = nx.Graph([("a", "b")])
    graph.add_node("c")
    with pytest.raises(InputError, match=r"^path: node 'c' has no edges.*write \.graphml"):
        graph_to_file(graphsoft.as_graph(graph), tmp_path / "a.edges")
