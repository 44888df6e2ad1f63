"""Hierarchies with new points added: against dense copies, and the properties they document."""

import dataclasses
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import GraphsoftWarning, InputError
from graphsoft.engine.assessing import assess
from graphsoft.engine.polishing import refit_rows
from graphsoft.neighbors.weights import WEIGHTS
from naive import prediction as naive
from shared.new_points import LEVELS, close, fitted, halves, same
from shared.shapes import cloud, graph_of, ring_of_cliques, texts
from shared.strategies import memberships, small, weight_matrices


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("d", [2, 12])
def test_new_edges_lead_to_the_nearest_of_old_and_new_points(weights, d):
    X, Y = halves(80, d=d)
    h = fitted(X, n_neighbors=5, weights=weights)
    grown = h.partial_update(Y)
    expected = naive.joined(X, Y, 5, weights)
    expected[: len(X), : len(X)] = h.graph.adjacency.toarray()
    np.testing.assert_allclose(grown.graph.adjacency.toarray(), expected, rtol=1e-9)


def check_grown(h, grown, q):
    n = len(h.graph)
    A = grown.graph.adjacency
    assert len(grown.graph) == n + q
    assert (A != A.T).nnz == 0
    assert A.data.min() > 0
    assert same(A[:n][:, :n].tocsr(), h.graph.adjacency)
    assert [level.memberships.shape for level in grown] == [(n + q, len(level.mass)) for level in h]
    rows = int(grown.report.notes[-1].split(", ")[-1].split()[0].replace(",", ""))
    assert f"{q} points added" in grown.report.notes[-1]
    assert grown.report.nodes == n + q
    assert grown.report.edges == sp.triu(A).nnz
    assert grown.report.components == sp.csgraph.connected_components(A)[0]
    for before, after in zip(h, grown, strict=True):
        M = after.memberships
        np.testing.assert_allclose(M.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(after.mass.sum(), A.sum(), rtol=1e-9)
        np.testing.assert_allclose(after.graph.sum(axis=1), after.mass, rtol=1e-9)
        changed = np.unique((M[:n] != before.memberships).nonzero()[0])
        assert len(changed) + q <= rows
        assert (before.parents is None) == (after.parents is None)
        assert after.parents is before.parents
    for below, above in pairwise(grown):
        close(below.memberships @ below.parents, above.memberships.toarray())
    return rows


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("kind", ["points", "texts", "copies"])
def test_a_grown_hierarchy_has_all_properties_of_one(kind, polish):
    X = texts(260) if kind == "texts" else cloud(260, centers=10)
    if kind == "copies":
        X = np.concatenate([X[:130], X[:40], X[130:], X[90:130], X[230:240], X[235:255]])
    n = X.shape[0] - 60
    before = (X.copy(), X[:n])
    h = fitted(before[1], [20, 8, 3], polish=polish, metric="cosine" if kind == "texts" else "euclidean")
    digest = h[0].memberships.data.tobytes(), len(h.graph)
    grown = h.partial_update(X[n:])
    assert check_grown(h, grown, 60) < n + 60
    assert grown.features.values.shape == X.shape
    assert (grown.features.values != X).sum() == 0
    assert digest == (h[0].memberships.data.tobytes(), len(h.graph))
    assert (h[-1].labels == grown[-1].labels[:n]).mean() > 0.95
    assert same(grown.predict_proba(X), grown[-1].memberships)
    again = grown.partial_update(X[:5])
    assert len(again.graph) == n + 65


@pytest.mark.parametrize(
    "options",
    [{}, {"polish": False}, {"method": "k-means"}, {"method": ["relation", "spectral", "relation"]}],
)
def test_cluster_graphs_of_a_grown_hierarchy_equal_their_definition(options):
    X, Y = halves(160)
    grown = fitted(X, [20, 8, 3], **options).partial_update(Y)
    W = grown.graph.adjacency.toarray()
    methods = [type(method).__name__ for method in grown.settings.methods]
    polished = grown.settings.polish and set(methods) == {"Relation"}
    below, step = W, grown[0].memberships.toarray()
    for level, method in zip(grown, methods, strict=True):
        if polished:
            below, step = W, level.memberships.toarray()
        weights = np.diag(below.sum(axis=1)) if method == "Relation" else below
        np.testing.assert_allclose(level.graph.toarray(), step.T @ weights @ step, rtol=1e-9, atol=1e-12)
        if level.parents is not None:
            below, step = level.graph.toarray(), level.parents.toarray()


def test_polished_levels_are_refined_for_the_top():
    X, Y = halves(600)
    top = []
    for polish in (True, False):
        h = fitted(X, [30, 10, 5])
        settings = dataclasses.replace(h.settings, polish=polish)
        grown = dataclasses.replace(h, settings=settings).partial_update(Y)
        top.append(grown.report.levels[-1].log_likelihood)
    assert top[0] > top[1]


def test_copies_of_old_points_are_added_as_copies():
    X = cloud(60, d=2)
    X = np.concatenate([X, X[:5]])
    h = fitted(X, n_neighbors=4)
    Y = np.concatenate([X[:6], [[0.5, 0.5]] * 3, X[:1]])
    grown = h.partial_update(Y)
    check_grown(h, grown, len(Y))
    everybody = np.concatenate([X, Y])
    _, number = np.unique(everybody, axis=0, return_inverse=True)
    for level in grown:
        for one in np.unique(number):
            copies = np.flatnonzero(number == one)
            for other in copies[1:]:
                assert same(level.memberships[[copies[0]]], level.memberships[[other]])
    sites = grown.graph.duplicates
    np.testing.assert_array_equal(sites[:, None] == sites, number[:, None] == number)
    for copies in (np.flatnonzero(number == one) for one in np.unique(number)):
        tied = grown.graph.adjacency[copies][:, copies]
        assert sp.csgraph.connected_components(tied)[0] == 1
        assert (tied.data == 1).all()
    np.testing.assert_array_equal(np.diff(grown.graph.adjacency.indptr) > 0, True)


@pytest.mark.parametrize("order", [[0, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 1]])
def test_every_copy_of_a_new_point_is_joined_to_its_neighbors(order):
    h = fitted(cloud(60, d=2), n_neighbors=1)
    grown = h.partial_update(np.array([[100.0, 100], [101, 100]])[order])
    among = grown.graph.adjacency[60:].toarray()[:, 60:]
    alone = order.index(0)
    assert (np.delete(among[alone], alone) > 0).all()


def test_the_order_of_new_points_does_not_matter():
    X, Y = halves(200)
    h = fitted(X)
    order = np.random.default_rng(0).permutation(len(Y))
    one, other = h.partial_update(Y), h.partial_update(Y[order])
    whole = np.concatenate([np.arange(len(X)), len(X) + order])
    np.testing.assert_allclose(
        one.graph.adjacency[whole][:, whole].toarray(), other.graph.adjacency.toarray(), rtol=1e-12
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a.memberships[whole].toarray(), b.memberships.toarray(), atol=1e-9)


def test_refining_raises_the_likelihood():
    X, Y = halves(600)
    h = fitted(X, [30, 10, 5])
    grown = h.partial_update(Y)
    guess = sp.vstack([h[-1].memberships, h.predict_proba(Y)], format="csr")
    first = assess(grown.graph, guess).log_likelihood
    assert grown.report.levels[-1].log_likelihood > first


@given(weight_matrices(weights=small, max_size=8), st.data())
@settings(max_examples=60)
def test_local_sweeps_equal_their_definition_and_raise_the_local_likelihood(W, data):
    n, m = len(W), 3
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True)))
    S = 0.5 * data.draw(memberships(n, m)) + 0.5 / m  # ends of edges share clusters, no share is dropped
    P = 0.5 * data.draw(memberships(m, 2)) + 0.25
    mass = S.T @ W.sum(axis=1)
    for parents in (np.eye(m), P):
        at, before = S, -np.inf
        for sweeps in range(4):
            found = refit_rows(graph_of(W), sp.csr_array(S), rows, sp.csr_array(parents), sweeps)
            # with parents, shares below 0.003 are dropped
            np.testing.assert_allclose(found.toarray(), at[rows], atol=0.01)
            likelihood = naive.local_likelihood(W, at @ parents, rows, mass @ parents)
            assert likelihood >= before - 1e-9 * abs(likelihood)
            at, before = naive.local_step(W, at, rows, mass, parents), likelihood
    plain = refit_rows(graph_of(W), sp.csr_array(S), rows, None, 2)
    once = naive.local_step(W, S, rows, mass, np.eye(m))
    np.testing.assert_allclose(
        plain.toarray(), naive.local_step(W, once, rows, mass, np.eye(m))[rows], atol=5e-4
    )


def test_a_node_gets_the_clusters_of_its_neighbors():
    hard = sp.csr_array(np.eye(2)[[0] * 5 + [1] * 5])
    wrong = sp.csr_array(np.eye(2)[[0, 0, 1, 0, 0] + [1] * 5])
    rows = np.array([2])
    found = refit_rows(graph_of(ring_of_cliques(2, 5)), wrong, rows)
    np.testing.assert_allclose(found.toarray(), hard[rows].toarray(), atol=0.01)


def test_nodes_are_added_to_a_graph():
    W = ring_of_cliques(6, 6)
    h = graphsoft.hierarchy(graph_of(W), [6, 2])
    rows = np.zeros((4, 36 + 4))
    rows[0, :3] = rows[1, 6:9] = 2
    rows[0, 36 + 2] = rows[2, 36] = 1.5  # the third reaches old nodes only through the first
    rows[3, 36 + 3] = 1
    with pytest.warns(GraphsoftWarning, match="2 rows of X have no neighbors"):
        grown = h.partial_update(rows)
    check_grown(h, grown, 4)
    np.testing.assert_array_equal(grown.graph.adjacency[36:].toarray(), rows)
    assert grown[0].labels[36:38].tolist() == h[0].labels[[0, 6]].tolist()
    assert len(h.partial_update(rows[:2, :36]).graph) == 38


def test_new_nodes_can_be_named():
    graph = nx.les_miserables_graph()
    h = graphsoft.hierarchy(graph, LEVELS)
    row = np.zeros((1, 77))
    row[0, :4] = 1
    assert h.partial_update(row).nodes[-1] == 77
    grown = h.partial_update(row, names=["Hugo"])
    assert grown.nodes == (*h.nodes, "Hugo")
    for wrong, problem in [
        (["Hugo", "Sue"], "2 names for 1"),
        (["Javert"], "same name"),
        ([([],)], "looked up"),
    ]:
        with pytest.raises(InputError, match=problem):
            h.partial_update(row, names=wrong)
    for wrong in (3, "H", {"Hugo"}, np.array(3)):
        with pytest.raises(InputError, match="names: got"):
            h.partial_update(row, names=wrong)
    with pytest.raises(InputError, match=r"X: holds a weight of 4.94066e-324.*scale of"):
        h.partial_update(row * 5e-324)
    with pytest.raises(InputError, match="X: has 0 dimensions"):
        h.partial_update(np.array(1))
    numbered = graphsoft.hierarchy(nx.relabel_nodes(nx.path_graph(4), {0: 4}), [2])
    with pytest.raises(InputError, match="names: two points"):
        numbered.partial_update([[1.0, 0, 0, 0]])


@pytest.mark.parametrize("method", ["k-means", "spectral", ["relation", "spectral"]])
def test_points_are_added_to_hierarchies_of_other_methods(method):
    X, Y = halves(160)
    h = fitted(X, method=method)
    assert same(h.predict_proba(X), h[-1].memberships)
    grown = h.partial_update(Y)
    rows = check_grown(h, grown, len(Y))
    if isinstance(method, str):
        assert rows == len(Y)
        assert same(grown[-1].memberships[len(X) :], h.predict_proba(Y))


def test_known_pairs_keep_old_points_as_they_are():
    X, Y = halves()
    h = fitted(X, must_link=[(0, 1)])
    grown = h.partial_update(Y)
    assert check_grown(h, grown, len(Y)) == len(Y)
    assert same(grown[0].memberships[: len(X)], h[0].memberships)


def test_rows_without_direction_are_added_without_edges():
    X = np.abs(cloud(40, d=3))
    X[5] = 0
    for weights in WEIGHTS:
        with pytest.warns(GraphsoftWarning, match="1 rows have no direction"):
            h = fitted(X, metric="cosine", weights=weights)
        with pytest.warns(GraphsoftWarning, match="2 rows of X have no neighbors"):
            grown = h.partial_update([[0.0, 0, 0], [1, 2, 3], [0, 0, 0], [2, 4, 6]])
        assert np.diff(grown.graph.adjacency.indptr)[[5, 40, 42]].tolist() == [0, 0, 0]
        check_grown(h, grown, 4)


@pytest.mark.parametrize("scale", [1e40, 1e100])
def test_distant_new_points_become_neighbors_of_each_other(scale):
    X, Y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[1.0, 1], [1, 1.0001], [3, 3]]) * scale
    grown = graphsoft.hierarchy(X, [2], n_neighbors=1).partial_update(Y)
    assert grown.graph.adjacency[4, 5] == pytest.approx(np.exp(-1))  # each is the only neighbor of the other
