"""Clusters are numbered from the heaviest to the lightest within their parents."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import graphsoft
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.fitting.numbering import from_the_heaviest
from graphsoft.graph.graph import Graph
from graphsoft.methods import METHODS


def stochastic(rng, rows, columns):
    shares = rng.random((rows, columns)) ** 4
    return shares / shares.sum(axis=1, keepdims=True)


def level(memberships, parents, weights):
    graph = Graph(csr_array(weights), range(len(weights)))
    up = None if parents is None else csr_array(parents)
    return FittedLevel(csr_array(memberships), graph, up, "", 0, (), 0.0)


@given(st.integers(1, 12), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 999))
def test_levels_stay_what_they_were_but_for_the_numbers(points, sizes, seed):
    rng = np.random.default_rng(seed)
    degrees = rng.random(points)
    parents = [stochastic(rng, low, high) for low, high in pairwise(sizes)]
    chained = [stochastic(rng, points, sizes[0])]
    for up in parents:
        chained.append(chained[-1] @ up)
    weights = [rng.random((size, size)) for size in sizes]
    given_levels = [level(*each) for each in zip(chained, [*parents, None], weights, strict=True)]
    found = from_the_heaviest(given_levels, degrees)

    # the obvious way: from the top down, a list of clusters sorted within each parent
    orders = []
    for number in reversed(range(len(sizes))):
        mass = chained[number].T @ degrees
        homes = [None] if not orders else orders[0]
        order = [
            cluster
            for home in homes
            for cluster in sorted(
                (c for c in range(sizes[number]) if home is None or parents[number][c].argmax() == home),
                key=lambda c: -mass[c],
            )
        ]
        orders.insert(0, order)
    for number, (each, order) in enumerate(zip(found, orders, strict=True)):
        np.testing.assert_array_equal(each.memberships.toarray(), chained[number][:, order])
        np.testing.assert_array_equal(each.graph.adjacency.toarray(), weights[number][np.ix_(order, order)])
        if each.parents is not None:
            expected = parents[number][np.ix_(order, orders[number + 1])]
            np.testing.assert_array_equal(each.parents.toarray(), expected)
    assert found[-1].parents is None


@pytest.mark.parametrize(
    "options",
    [{}, {"polish": False}, {"max_children": 4}, {"must_link": [(0, 10)]}, {"method": "ward"}],
    ids=str,
)
def test_masses_fall_within_every_parent(options):
    X = np.random.default_rng(0).normal(size=(300, 3)) ** 3
    h = graphsoft.hierarchy(X, [40, 12, 4], **options)
    for node in h.tree.nodes:
        children = [h.tree.find(child) for child in node.children]
        masses = np.array([child.mass for child in children])
        assert (np.diff(masses) <= 1e-6 * masses.sum()).all()
        first = children[0].index if children else 0
        assert [child.index for child in children] == list(range(first, first + len(children)))
    for each in h:
        np.testing.assert_allclose(each.graph.sum(axis=1).sum(), each.mass.sum())


def test_equal_clusters_keep_their_order():
    two = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(5))
    assert graphsoft.hierarchy(two, [2])[0].labels.tolist() == [0] * 5 + [1] * 5


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_heaviest_flat_cluster_comes_first(method):
    X = np.abs(np.random.default_rng(0).normal(size=(60, 3))) ** 3
    found = graphsoft.cluster(X, 4, method=method)
    reads_graph = "graph" in METHODS[method].reads(60, True)
    degrees = graphsoft.knn_graph(X).degrees if reads_graph else np.ones(60)
    masses = found.memberships.T @ degrees
    assert (np.diff(masses) <= 1e-8 * masses.sum()).all()
