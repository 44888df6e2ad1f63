"""Every cluster keeps a point."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine.keeping import nodes_to_hold, with_every_cluster
from shared.shapes import cloud, connected, ring_of_cliques
from shared.strategies import weight_matrices


@st.composite
def soft_and_divided(draw):
    """Memberships, and a cluster for every node that may have nothing to do with them."""
    n, m = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    shares = np.array(
        draw(st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=n, max_size=n))
    )
    shares[shares.sum(axis=1) == 0, 0] = 1
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    return shares / shares.sum(axis=1, keepdims=True), np.array(labels)


@given(soft_and_divided())
def test_a_node_is_found_for_each_cluster_that_is_nobodys_likeliest(example):
    shares, labels = example
    nodes = nodes_to_hold(sp.csr_array(shares), labels).tolist()
    won = set(shares.argmax(axis=1).tolist())
    assert sorted(labels[nodes].tolist()) == sorted(set(labels.tolist()) - won)
    for node in nodes:
        assert shares[node, labels[node]] == max(shares[labels == labels[node], labels[node]])


@given(soft_and_divided())
def test_all_clusters_are_somebodys_likeliest_in_the_end(example):
    shares, labels = example
    found = with_every_cluster(sp.csr_array(shares), labels).toarray()
    assert set(labels.tolist()) <= set(found.argmax(axis=1).tolist())
    changed = (found != shares).any(axis=1)
    for node in np.flatnonzero(changed):
        own = np.arange(shares.shape[1]) == labels[node]
        others = shares[node, ~own]
        expected = np.empty(len(own))
        expected[own], expected[~own] = 2 / 3, others / others.sum() / 3
        np.testing.assert_allclose(found[node], expected, atol=1e-12)
    if set(labels.tolist()) <= set(shares.argmax(axis=1).tolist()):
        assert not changed.any()


FINE = {
    "women": (nx.davis_southern_women_graph(), [5]),
    "a novel": (nx.les_miserables_graph(), [12, 4]),
    "no communities": (nx.gnm_random_graph(300, 900, seed=1), [100, 50, 20, 5]),
    "points": (cloud(400), [150, 60, 20, 5]),
    "nearly all points": (cloud(100), [90, 45, 10]),
}


@pytest.mark.parametrize("name", FINE)
def test_every_cluster_of_every_level_is_the_likeliest_of_a_point(name):
    X, sizes = FINE[name]
    h = graphsoft.hierarchy(X, sizes)
    for level, size in zip(h, sizes, strict=True):
        assert level.memberships.shape[1] == size == len(np.unique(level.labels))
    assert len(np.unique(graphsoft.cluster(X, sizes[0]).labels)) == sizes[0]
    for below, above in pairwise(h):  # held points keep the chain rule
        chained = (below.memberships @ below.parents).toarray()
        np.testing.assert_allclose(chained, above.memberships.toarray(), atol=1e-12)


@given(weight_matrices(min_size=4, max_size=12))
def test_no_cluster_is_lost_in_any_connected_graph(W):
    h = graphsoft.hierarchy(sp.csr_array(connected(W)), [4, 2], affinity="precomputed")
    assert [len(np.unique(level.labels)) for level in h] == [4, 2]


@pytest.mark.parametrize(
    ("graph", "sizes"),
    [
        (nx.star_graph(236), [89, 53, 18]),
        (nx.complete_bipartite_graph(3, 150), [60, 20]),
        (nx.random_geometric_graph(190, 0.15, seed=140), [70, 13]),
    ],
)
def test_held_points_leave_their_edges_explained(graph, sizes):
    """With all of their membership in one cluster the likelihood fell below that of the division."""
    finest = graphsoft.hierarchy(graph, sizes).report.levels[0]
    assert "because it is held there" in finest.status
    assert finest.log_likelihood > finest.trace[0]


def test_the_report_tells_how_many_points_are_held():
    h = graphsoft.hierarchy(nx.star_graph(30), [10])
    count = int((h[0].memberships.max(axis=1).toarray().ravel().round(9) == round(2 / 3, 9)).sum())
    assert h.report.levels[0].status.endswith(
        f"; {count} clusters keep one point each because it is held there"
    )
    assert (
        "held"
        not in graphsoft.hierarchy(ring_of_cliques(), [4], affinity="precomputed").report.levels[0].status
    )


def test_a_finest_level_of_nearly_all_points_leaves_the_top_as_it_is():
    X = cloud(300)
    alone = graphsoft.hierarchy(X, [5])[0].labels
    for polish in (True, False):
        few, many = (graphsoft.hierarchy(X, [size, 5], polish=polish)[-1].labels for size in (50, 285))
        worth = graphsoft.metrics.adjusted_rand(alone, few)
        assert graphsoft.metrics.adjusted_rand(alone, many) > max(0.8, worth - 0.05)
