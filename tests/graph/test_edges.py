"""Lists of edges: every way of writing them gives one graph, and what is no list of edges is refused."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import GraphsoftWarning, InputError, edge_graph
from shared.door import check_canonical, digest

EDGES = [(0, 1, 2.0), (1, 2, 0.5), (2, 3, 1.0), (3, 3, 4.0)]
FRAME = pd.DataFrame(EDGES, columns=["source", "target", "weight"])


def containers():
    array = np.array(EDGES)
    yield "tuples", EDGES
    yield "lists", [list(edge) for edge in EDGES]
    yield "rows", list(array)
    yield "iterator", iter(EDGES)
    yield "floats", array
    yield "objects", np.array(EDGES, dtype=object)
    yield "Fortran order", np.asfortranarray(array)
    yield "frame", FRAME
    yield "frame of small numbers", FRAME.astype({"source": np.int8, "target": np.uint16})
    yield "nullable frame", FRAME.convert_dtypes()
    yield "frame with more columns", FRAME.assign(colour="red")[["colour", "weight", "target", "source"]]


def test_every_way_of_writing_edges_gives_the_same_graph():
    expected = np.zeros((4, 4))
    for one, two, weight in EDGES:
        expected[one, two] = expected[two, one] = weight
    digests = set()
    for name, edges in containers():
        graph = edge_graph(edges)
        check_canonical(graph)
        digests.add(digest(graph))
        assert graph.nodes == (0, 1, 2, 3), name
        assert all(type(node) is int for node in graph.nodes)
        np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert len(digests) == 1


def test_polars_and_arrow_tables():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for table in (polars.from_pandas(FRAME), arrow.Table.from_pandas(FRAME)):
        assert digest(edge_graph(table)) == digest(edge_graph(FRAME))
        with pytest.raises(InputError, match=r"^source: edges has no column 'from', but \['source'"):
            edge_graph(table, source="from")


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 12), st.floats(0.5, 4.0)),
        min_size=1,
        max_size=40,
        unique_by=lambda edge: frozenset(edge[:2]),
    )
)
def test_edges_are_those_of_networkx(edges):
    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    found = edge_graph(edges)
    assert found.nodes == tuple(sorted(graph.nodes))
    expected = nx.to_numpy_array(graph, nodelist=found.nodes)
    np.testing.assert_array_equal(found.adjacency.toarray(), expected)
    named = edge_graph([(str(one), str(two), weight) for one, two, weight in edges])
    assert named.nodes == tuple(map(str, graph.nodes))
    turned = edge_graph([(two, one, weight) for one, two, weight in edges[::-1]])
    assert digest(turned) == digest(found)


def test_names_of_any_kind():
    names = ["a", 3, (1, 2), frozenset({4}), b"bytes"]
    graph = edge_graph([(names[place], names[place + 1]) for place in range(4)])
    assert graph.nodes == tuple(names)
    big = edge_graph([(2**70, 1), (1, 2**63)])
    assert big.nodes == (2**70, 1, 2**63)
    words = edge_graph(np.array([["b", "a"], ["a", "c"]]))
    assert words.nodes == ("b", "a", "c")
    assert all(type(node) is str for node in words.nodes)
    assert edge_graph(pd.DataFrame({"source": ["b"], "target": ["a"]})).nodes == ("b", "a")


def test_weights_and_columns_are_named():
    frame = FRAME.rename(columns={"source": "from", "target": "to", "weight": "calls"})
    named = {"source": "from", "target": "to"}
    assert digest(edge_graph(frame, weight="calls", **named)) == digest(edge_graph(FRAME))
    for graph in (
        edge_graph(frame, **named),
        edge_graph(FRAME, weight=None),
        edge_graph(EDGES, weight=None),
        edge_graph(np.array(EDGES)[:, :2].astype(int)),
        edge_graph([edge[:2] for edge in EDGES]),
    ):
        assert set(graph.adjacency.data) == {1.0}
        assert "edges without weight count as 1" in graph.notes
    assert not any("without weight" in note for note in edge_graph(FRAME).notes)
    for options, argument in (({}, "source"), ({"source": "from"}, "target")):
        with pytest.raises(InputError, match=rf"^{argument}: edges has no column '{argument}', but \['from'"):
            edge_graph(frame, **options)
    with pytest.raises(InputError, match=r"^weight: edges has no column 'cost'"):
        edge_graph(FRAME, weight="cost")


def test_repeated_edges_are_summed():
    graph = edge_graph([("a", "b", 1.0), ("b", "a", 2.0), ("a", "b", 4.0), ("c", "c", 1.0), ("c", "c", 1.0)])
    assert graph.adjacency.toarray().tolist() == [[0, 7, 0], [7, 0, 0], [0, 0, 2]]
    assert "3 repeated edges added to others" in graph.notes
    with pytest.raises(InputError, match="add up to more than float64"):
        edge_graph([(0, 1, 1e308), (1, 0, 1e308)])


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([], "got no edges"),
        (np.empty((0, 2), dtype=int), "got no edges"),
        ("ab", r"got 'ab'.*\(u, v\)"),
        (5, "got 5"),
        ({"a": "b"}, "got {'a': 'b'}"),
        (["ab", "bc"], "row 0 is 'ab'"),
        ([(0, 1), (1, 2, 3.0)], r"row 1 is \(1, 2, 3.0\).*same on every row"),
        ([(0, 1), 7], "row 1 is 7"),
        ([(0,)], r"row 0 is \(0,\)"),
        ([(0, 1, 2, 3)], "row 0 is"),
        (np.arange(12).reshape(2, 6), r"has the shape \(2, 6\).*edges.T"),
        (np.arange(3), r"has the shape \(3,\)"),
        (np.array([[0.5, 1.0], [1.0, 2.0]]), "row 0 has 0.5 as a node"),
        ([(0.5, 1.0)], "row 0 has 0.5 as a node"),
        (np.array([[0.0, 1.0], [np.nan, 2.0]]), "row 1 has nan as a node"),
        (np.array([[2.0**60, 1.0]]), "as a node"),
        ([("a", None)], "row 0 has no node"),
        ([("a", float("nan"))], "row 0 has nan as a node"),
        ([("a", "b"), ("b", float("nan"))], "row 1 has no node"),
        (pd.DataFrame({"source": ["a", None], "target": ["b", "c"]}), "row 1 has no node"),
        (pd.DataFrame({"source": [1, None], "target": [2, 3]}, dtype="Int64"), "row 1 has"),
        ([("a", ["b"])], r"row 0 has \['b'\] as a node"),
        ([(0, 1, -1.0)], r"2 weights are negative, the first is -1 at \(0, 1\)"),
        ([("a", "b", "2")], r"the edge \('a', 'b'\) has the weight '2'"),
        (np.array([["a", "b", "2"]]), r"the edge \('a', 'b'\) has the weight '2'"),
        ([("a", "b", 1.0), ("b", "c", None)], r"1 of 2 edges have no weight, the first is \('b', 'c'\)"),
        ([("a", "b", {"weight": 2})], "has the weight {'weight': 2}"),
        (np.array([[0, 1, np.longdouble("1e4000")]]), r"the edge \(0, 1\) has the weight"),
        (pd.concat([FRAME, FRAME], axis=1), "some are alike"),
        (np.array([[0, 1, np.inf]]), r"the edge \(0, 1\) has the weight inf"),
        (nx.path_graph(3), "is a graph.*as_graph"),
        (sp.eye_array(3), "is a graph.*as_graph"),
        (graphsoft.as_graph(nx.path_graph(3)), "is a graph"),
    ],
)
def test_what_is_no_list_of_edges_is_refused(edges, words):
    with pytest.raises(InputError, match=rf"^edges: .*{words}"):
        edge_graph(edges)


# edges that are passed as points


PAIRS = [("a", "b"), ("b", "c"), ("c", "a")]


@pytest.mark.parametrize(
    "edges",
    [
        PAIRS,
        np.array(PAIRS),
        [(*pair, 1.0) for pair in PAIRS],
        pd.DataFrame(PAIRS, columns=["source", "target"]),
        pd.DataFrame(PAIRS, columns=["source", "target"]).assign(weight=1.0),
    ],
)
def test_pairs_of_texts_are_refused_with_a_remedy(edges):
    calls = [
        lambda: graphsoft.hierarchy(edges, levels=[2]),
        lambda: graphsoft.cluster(edges, 2),
        lambda: graphsoft.as_graph(edges),
        lambda: graphsoft.suggest_levels(edges),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"^X: .*Remedy: if the rows are edges, .*edge_graph\(X\)"):
            call()


@given(st.integers(3, 40), st.sampled_from([int, float, np.int8, np.uint32]), st.integers(0, 99))
def test_pairs_of_node_numbers_are_warned_of(count, dtype, seed):
    rng = np.random.default_rng(seed)
    edges = np.array([rng.choice(30, size=2, replace=False) for _ in range(count)]).astype(dtype)
    for given_edges in (edges, edges.tolist(), pd.DataFrame(edges, columns=["u", "v"])):
        with pytest.warns(GraphsoftWarning, match=r"edge_graph\(X\) if they are edges.*affinity='features'"):
            graphsoft.as_graph(given_edges, n_neighbors=1)
    graphsoft.as_graph(edges, n_neighbors=1, affinity="features")
    graphsoft.knn_graph(edges, n_neighbors=1)
    graphsoft.as_graph(np.c_[edges, edges], n_neighbors=1)
    graphsoft.as_graph(edges + 0.5, n_neighbors=1)
    graphsoft.as_graph(-1.0 * edges - 1.0, n_neighbors=1)


def test_a_matrix_of_weights_is_warned_of():
    dense = nx.to_numpy_array(nx.karate_club_graph())
    with pytest.warns(GraphsoftWarning, match="X is symmetric, but its rows are taken as points"):
        graphsoft.hierarchy(dense, [2])
    graphsoft.hierarchy(dense, [2], affinity="features")
    graphsoft.hierarchy(dense, [2], affinity="precomputed")
