"""Graphs of networkx and igraph: which attribute holds the weights, and what the nodes are called."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import GraphsoftWarning, InputError, as_graph
from shared.door import check_canonical, digest, raises

igraph = pytest.importorskip("igraph", reason="igraph is not installed")


def both(edges, nodes, directed=False, **attributes):
    """The same graph in networkx and in igraph."""
    one = nx.MultiDiGraph() if directed else nx.MultiGraph()
    one.add_nodes_from(range(nodes))
    for place, edge in enumerate(edges):
        one.add_edge(*edge, **{name: values[place] for name, values in attributes.items()})
    return one, igraph.Graph(nodes, edges, directed=directed, edge_attrs=attributes)


edge_lists = st.integers(1, 9).flatmap(
    lambda count: st.lists(
        st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), st.floats(0.1, 9.0)), max_size=20
    ).map(lambda edges: (count, edges))
)


@given(edge_lists)
def test_networkx_and_igraph_give_the_same_bits(drawn):
    count, edges = drawn
    ends, weights = [edge[:2] for edge in edges], [edge[2] for edge in edges]
    expected = np.zeros((count, count))
    for (one, two), weight in zip(ends, weights, strict=True):
        expected[one, two] += weight
        expected[two, one] = expected[one, two]
    for name in ("weight", "strength"):
        digests = set()
        for graph in both(ends, count, **{name: weights}):
            found = as_graph(graph, weight=name) if edges else as_graph(graph)
            check_canonical(found)
            np.testing.assert_allclose(found.adjacency.toarray(), expected, rtol=1e-12)
            digests.add(digest(found))
        assert len(digests) == 1
    for graph in both(ends, count, weight=weights):
        alike = as_graph(graph, weight=None).adjacency
        assert alike.sum() == sum(1 + (one != two) for one, two in ends)


def test_the_attribute_must_be_there():
    for graph in both([(0, 1), (1, 2)], 3, strength=[2.0, 3.0]):
        assert as_graph(graph).adjacency.data.tolist() == [1, 1, 1, 1]
        assert "edges without weight count as 1" in as_graph(graph).notes
        assert as_graph(graph, weight="strength").adjacency.data.tolist() == [2, 2, 3, 3]
        assert not as_graph(graph, weight="strength").notes
        with pytest.raises(InputError, match=r"^weight: no edge of X has an attribute 'cost'"):
            as_graph(graph, weight="cost")
        with pytest.raises(InputError, match=r"^weight: got 3"):
            as_graph(graph, weight=3)
    for graph in both([(0, 1), (1, 2)], 3, weight=[2.0, None]):
        raises(r"1 of 2 edges have no weight, the first is \(1, 2\)", graph)
        assert as_graph(graph, weight=None).adjacency.nnz == 4
    for graph in both([(0, 1), (1, 2)], 3, weight=[2.0, "3"]):
        raises(r"the edge \(1, 2\) has the weight '3'", graph)
    for X in (np.random.default_rng(0).normal(size=(9, 2)), sp.eye_array(3), as_graph(nx.path_graph(3))):
        with pytest.raises(InputError, match=r"^weight: got 'strength', but X has no attributes of edges"):
            as_graph(X, weight="strength")


def test_vertices_have_names_if_these_differ():
    g = igraph.Graph.Ring(4)
    assert as_graph(g).nodes == range(4)
    g.vs["name"] = list("abcd")
    assert as_graph(g).nodes == ("a", "b", "c", "d")
    for names in (list("abca"), [["a"], ["b"], ["c"], ["d"]]):
        g.vs["name"] = names
        assert as_graph(g).nodes == range(4)


def test_directed_graphs():
    ends = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 2)]
    flows = []
    for graph in both(ends, 4, directed=True, strength=[1.0, 2.0, 1.0, 3.0, 3.0]):
        raises("is not symmetric.*directed_graph", graph)
        with pytest.raises(InputError, match=r"^weight: no edge"):
            graphsoft.directed_graph(graph, weight="cost")
        flows.append(digest(graphsoft.directed_graph(graph, weight="strength")))
        assert flows[-1] != digest(graphsoft.directed_graph(graph))
    assert len(set(flows)) == 1
    for graph in both([(0, 1), (1, 0)], 2, directed=True):
        assert as_graph(graph).adjacency.toarray().tolist() == [[0, 1], [1, 0]]


def test_igraph_goes_into_every_function():
    g = igraph.Graph.Famous("Zachary")
    h = graphsoft.hierarchy(g, [8, 2])
    assert [level.memberships.shape for level in h] == [(34, 8), (34, 2)]
    adjacency = sp.csr_array(g.get_adjacency_sparse())
    expected = graphsoft.hierarchy(adjacency, [8, 2])
    assert (h[0].memberships != expected[0].memberships).nnz == 0
    assert graphsoft.cluster(g, 2).labels.tolist() == graphsoft.cluster(adjacency, 2).labels.tolist()
    assert graphsoft.suggest_levels(g).levels == graphsoft.suggest_levels(adjacency).levels
    assert graphsoft.propagate(g, {0: "a", 33: "b"}).labels[0] == "a"
    for levels in ([40], [10**9, 2]):
        with pytest.raises(InputError, match=r"^levels: .* there are 34 points"):
            graphsoft.hierarchy(g, levels)
    with pytest.raises(InputError, match="is a graph without nodes"):
        as_graph(igraph.Graph())
    for function in (graphsoft.knn_graph, graphsoft.bipartite_graph):
        with pytest.raises(InputError, match="is a graph"):
            function(g)


# options that a graph does not need


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_neighbors": 15}, "n_neighbors=15 changed nothing"),
        ({"metric": "cosine"}, "metric='cosine' changed nothing"),
        ({"weights": "jaccard", "n_neighbors": 5}, "n_neighbors=5 and weights='jaccard' changed nothing"),
    ],
)
def test_options_for_points_are_warned_of(options, words):
    club = nx.karate_club_graph()
    for graph in (club, as_graph(club), nx.to_scipy_sparse_array(club), igraph.Graph.from_networkx(club)):
        for call in (
            lambda X, **given: graphsoft.hierarchy(X, [2], **given),
            lambda X, **given: graphsoft.cluster(X, 2, **given),
            graphsoft.suggest_levels,
            graphsoft.as_graph,
        ):
            with pytest.warns(GraphsoftWarning, match=words):
                call(graph, **options)


def test_distances_to_neighbors_need_some_options():
    from sklearn.neighbors import kneighbors_graph

    lists = kneighbors_graph(np.random.default_rng(0).normal(size=(30, 2)), 5, mode="distance")
    as_graph(lists, weights="jaccard", symmetrize="mutual")
    with pytest.warns(GraphsoftWarning, match="n_neighbors=7 changed nothing"):
        as_graph(lists, n_neighbors=7, weights="jaccard")
