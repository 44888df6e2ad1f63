"""Communities as sets, attributes of nodes and objects of igraph: all say what the memberships say."""

import io

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import GraphsoftWarning, InputError
from shared.strategies import graphs

NOVEL = nx.les_miserables_graph()


@pytest.fixture(scope="module")
def h():
    return graphsoft.hierarchy(NOVEL, [12, 5])


def test_communities_are_a_partition(h):
    found = graphsoft.communities(NOVEL, 5)
    assert nx.community.is_partition(NOVEL, found)
    assert nx.community.modularity(NOVEL, found) > 0.5
    expected = [
        {node for node, label in zip(h.nodes, h[-1].labels, strict=True) if label == q} for q in range(5)
    ]
    assert found == expected
    assert all(type(each) is set for each in found)
    for given_graph in (graphsoft.as_graph(NOVEL), h, graphsoft.cluster(NOVEL, 5)):
        assert graphsoft.communities(given_graph, 5) == expected
    rows = graphsoft.communities(nx.to_scipy_sparse_array(NOVEL), 5)
    assert [{h.nodes[row] for row in each} for each in rows] == expected


def test_a_number_is_found():
    blocks = graphsoft.patterns.block_graph(0, blocks=5, size=20)
    found = graphsoft.communities(blocks)
    assert sorted(map(sorted, found)) == [list(range(at, at + 20)) for at in range(0, 100, 20)]
    assert graphsoft.communities(blocks, 5) == found
    assert graphsoft.communities(NOVEL) == graphsoft.communities(NOVEL, 3)
    assert graphsoft.suggest_levels(NOVEL).clusters == 3
    assert graphsoft.overlapping(blocks, threshold=1) == found
    assert len(graphsoft.partitions(blocks)) == len(graphsoft.suggest_levels(blocks).levels)


def test_an_unsure_number_is_warned_of():
    cloud = np.random.default_rng(0).normal(size=(200, 2))
    assert not graphsoft.suggest_levels(cloud).sure
    with pytest.warns(GraphsoftWarning, match=r"k: took \d+, although no number stands out"):
        graphsoft.communities(cloud)


def test_partitions_are_the_levels(h):
    found = graphsoft.partitions(NOVEL, [12, 5])
    assert [len(each) for each in found] == [12, 5]
    assert graphsoft.partitions(h) == found
    assert [graphsoft.communities(h, k) for k in (12, 5)] == found
    assert graphsoft.communities(h) == found[-1]
    assert graphsoft.partitions(NOVEL, 5) == [graphsoft.communities(NOVEL, 5)]
    assert graphsoft.partitions(graphsoft.cluster(NOVEL, 5)) == [found[-1]]


@given(graphs(), st.floats(0.0, 1.0))
def test_overlapping_communities_are_shares_from_the_threshold_on(graph, threshold):
    count = min(3, len(graph))
    h = graphsoft.hierarchy(graph, [count])
    shares = h[0].memberships.toarray()
    expected = [set() for _ in range(count)]
    for node, row in enumerate(shares):
        for q, share in enumerate(row):
            if (share >= threshold and share > 0) or q == h[0].labels[node]:
                expected[q].add(node)
    assert graphsoft.overlapping(h, threshold=threshold) == expected
    assert graphsoft.communities(h) == graphsoft.overlapping(h, threshold=1)


def test_weights_are_named():
    weighted = NOVEL.copy()
    for _, _, attributes in weighted.edges(data=True):
        attributes["scenes"] = attributes.pop("weight")
    for function in (graphsoft.communities, graphsoft.overlapping, graphsoft.partitions):
        assert function(weighted, 5, weight="scenes") == function(NOVEL, 5)
        assert function(weighted, 5) == function(NOVEL, 5, weight=None)


def test_arguments_are_checked(h):
    for k in (7, 0, "5", 5.0):
        with pytest.raises(InputError, match=r"^k: got"):
            graphsoft.communities(h, k)
    with pytest.raises(InputError, match=r"^k: got 7, but Hierarchy.* has \[12, 5\] clusters"):
        graphsoft.overlapping(h, 7)
    with pytest.raises(InputError, match=r"^k: got 0"):
        graphsoft.communities(NOVEL, 0)
    with pytest.raises(InputError, match=r"^k: got 78 communities for 77 nodes"):
        graphsoft.communities(NOVEL, 78)
    with pytest.raises(InputError, match=r"^levels: got \[5\], but Hierarchy.* has its levels"):
        graphsoft.partitions(h, [5])
    for threshold in (-0.1, 1.1, "x", float("nan")):
        with pytest.raises(InputError, match=r"^threshold: got"):
            graphsoft.overlapping(h, threshold=threshold)
    for result in (h, graphsoft.cluster(NOVEL, 5)):
        with pytest.raises(InputError, match=r"^weight: got 'scenes', but the communities have been found"):
            graphsoft.communities(result, 5, weight="scenes")
    with pytest.raises(InputError, match="directed_graph"):
        graphsoft.communities(nx.DiGraph([("a", "b")]), 1)


# attributes


def test_attributes_say_what_memberships_say(h):
    graph = NOVEL.copy()
    before = {node: dict(attributes) for node, attributes in graph.nodes(data=True)}
    graphsoft.write_attributes(graph, h, 12)
    graphsoft.write_attributes(graph, h)  # nothing of the twelve is left
    for row, node in enumerate(h.nodes):
        attributes = graph.nodes[node]
        assert attributes.pop("community") == h[-1].labels[row]
        shares = {
            f"community_{q}": share for q, share in enumerate(h[-1].memberships[[row]].toarray()[0]) if share
        }
        assert attributes == before[node] | shares
    graphsoft.write_attributes(graph, h, 12, name="scene")
    assert graph.nodes["Valjean"]["scene"] == h[0].labels[h.nodes.index("Valjean")]
    for write in (nx.write_graphml, nx.write_gexf):
        write(graph, io.BytesIO())


def test_attributes_go_by_names(h):
    turned = nx.Graph()
    turned.add_nodes_from(list(NOVEL)[::-1])
    graphsoft.write_attributes(turned, h)
    other = NOVEL.copy()
    graphsoft.write_attributes(other, h)
    assert dict(turned.nodes(data=True)) == dict(other.nodes(data=True))
    nameless = graphsoft.hierarchy(nx.to_scipy_sparse_array(NOVEL), [12, 5])
    again = NOVEL.copy()
    graphsoft.write_attributes(again, nameless)
    assert dict(again.nodes(data=True)) == dict(other.nodes(data=True))
    other.add_node("Hugo")
    with pytest.raises(InputError, match=r"^found: does not know 'Hugo' and 0 other nodes"):
        graphsoft.write_attributes(other, h)
    with pytest.raises(InputError, match=r"^found: does not know 'Napoleon' and 77 other nodes"):
        graphsoft.write_attributes(other, nameless)
    for bad, argument in (((sp.eye_array(3), h), "G"), ((NOVEL, [1, 2]), "found"), ((NOVEL, NOVEL), "found")):
        with pytest.raises(InputError, match=rf"^{argument}: got"):
            graphsoft.write_attributes(*bad)
    with pytest.raises(InputError, match=r"^name: got 3"):
        graphsoft.write_attributes(NOVEL, h, name=3)


# igraph


@pytest.fixture(scope="module")
def g():
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    made = igraph.Graph.from_networkx(NOVEL)
    made.vs["name"] = made.vs["_nx_name"]
    return made


def test_igraph_finds_the_same_communities(g):
    assert graphsoft.communities(g, 5) == graphsoft.communities(NOVEL, 5)


def test_nodes_of_networkx_keep_their_names_in_igraph():
    """Their numbers are other numbers than those of the vertices."""
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    club = nx.Graph()
    club.add_nodes_from(reversed(range(34)))
    club.add_edges_from(nx.karate_club_graph().edges)
    h = graphsoft.hierarchy(club, [4, 2])
    g = igraph.Graph.from_networkx(club)
    assert graphsoft.hierarchy(g, [2]).nodes == h.nodes
    assert graphsoft.vertex_clustering(g, h).membership == h[-1].labels.tolist()
    assert graphsoft.communities(g, 2) == graphsoft.communities(club, 2)


def test_vertex_clustering(g, h):
    found = graphsoft.vertex_clustering(g, h)
    assert type(found).__name__ == "VertexClustering"
    assert found.membership == h[-1].labels.tolist()
    assert found.graph is g
    assert np.isclose(found.modularity, nx.community.modularity(NOVEL, graphsoft.communities(h)))
    assert len(graphsoft.vertex_clustering(g, h, 12)) == 12
    assert graphsoft.vertex_clustering(g, graphsoft.cluster(g, 5)).membership == found.membership


def test_vertex_cover(g, h):
    cover = graphsoft.vertex_cover(g, h, threshold=0.1)
    assert type(cover).__name__ == "VertexCover"
    assert [{g.vs[each]["name"] for each in part} for part in cover] == graphsoft.overlapping(
        h, threshold=0.1
    )
    assert sum(cover.sizes()) > 77
    for function in (graphsoft.vertex_clustering, graphsoft.vertex_cover):
        with pytest.raises(InputError, match=r"^g: got .*pass a graph of igraph"):
            function(NOVEL, h)


def test_attributes_of_vertices(g, h):
    graphsoft.write_attributes(g, h, 12)
    graphsoft.write_attributes(g, h)
    assert g.vs["community"] == h[-1].labels.tolist()
    written = sorted(name for name in g.vs.attributes() if name.startswith("community_"))
    assert written == [f"community_{q}" for q in range(5)]
    shares = np.array([g.vs[name] for name in written]).T
    np.testing.assert_array_equal(shares, h[-1].memberships.toarray())
