"""What `graphsoft.hierarchy` gives its user."""

import dataclasses
import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine.blocks import UNEXPLAINED
from graphsoft.fitting.descending import MIN_PARENT, STAY, _parents_by_walk
from graphsoft.methods import Relation
from graphsoft.tree import Tree
from naive import engine as naive
from shared.shapes import bits, cloud, cloud_graph, graph_of, ring_of_cliques
from shared.strategies import graphs, memberships, weight_matrices

both = pytest.mark.parametrize("polish", [True, False])


def check(h, sizes, polish):
    """All that holds for every hierarchy."""
    W, n = h.graph.adjacency.toarray(), len(h.graph)
    d, total = W.sum(axis=1), W.sum()
    assert len(h) == len(sizes)
    for level, m in zip(h, sizes, strict=True):
        S, graph = level.memberships.toarray(), level.graph.toarray()
        assert S.shape == (n, m)
        assert graph.shape == (m, m)
        assert level.labels.dtype == np.int32
        assert isinstance(level.memberships, sp.csr_array)
        assert (level.memberships.data > 0).all()
        assert np.isfinite(level.memberships.data).all()
        np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(level.mass, d @ S, rtol=1e-12)
        np.testing.assert_allclose(level.mass.sum(), total, rtol=1e-12)
        assert (graph == graph.T).all()
        np.testing.assert_allclose(graph.sum(axis=1), level.mass, rtol=1e-9)
        assert level.labels.tolist() == [naive.label(row) for row in S]
        np.testing.assert_allclose(level.entropy, [naive.entropy(row) for row in S], atol=1e-12)
        assert (level.entropy >= 0).all()
    steps = [level.parents.toarray() for level in h[:-1]]
    assert h[-1].parents is None
    for number, (level, P) in enumerate(zip(h[:-1], steps, strict=True)):
        assert P.shape == (sizes[number], sizes[number + 1])
        assert (level.parents.data > 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
        chained = naive.chain([h[0].memberships.toarray(), *steps[: number + 1]])
        np.testing.assert_allclose(h[number + 1].memberships.toarray(), chained, atol=1e-12)
        if not polish:  # each level factorizes the cluster graph below it
            expected = naive.cluster_graph(level.mass[:, None] * P, level.mass)
            np.testing.assert_allclose(h[number + 1].graph.toarray(), expected, rtol=1e-9, atol=1e-12 * total)
    for level in h if polish else h[:1]:
        expected = naive.cluster_graph(d[:, None] * level.memberships.toarray(), d)
        np.testing.assert_allclose(level.graph.toarray(), expected, rtol=1e-9, atol=1e-12 * total)


@given(graphs(), st.data(), st.booleans(), st.sampled_from(["adaptive", "dense"]))
def test_any_graph_and_any_levels(graph, data, polish, support):
    sizes = sorted(data.draw(st.sets(st.integers(1, len(graph)), min_size=1, max_size=4)), reverse=True)
    check(graphsoft.hierarchy(graph, sizes, polish=polish, method=Relation(support=support)), sizes, polish)


@both
@pytest.mark.parametrize("sizes", [[80], [80, 79, 2, 1], [20, 8, 3], [40, 1], [1]])
def test_points(polish, sizes):
    h = graphsoft.hierarchy(cloud(), sizes, polish=polish)
    check(h, sizes, polish)
    assert h.nodes == range(80)


@both
def test_one_and_two_points(polish):
    for n in (1, 2):
        graph = nx.complete_graph(n)
        for size in range(1, n + 1):
            check(graphsoft.hierarchy(graph, size, polish=polish), [size], polish)
    h = graphsoft.hierarchy(nx.path_graph(2), [2, 1], polish=polish)
    check(h, [2, 1], polish)
    assert h[1].labels.tolist() == [0, 0]
    with pytest.warns(graphsoft.GraphsoftWarning, match="n_neighbors"):
        check(graphsoft.hierarchy([[0.0], [1.0]], [2, 1], polish=polish), [2, 1], polish)


@both
def test_separate_groups_are_found(polish):
    W = np.kron(np.eye(6), np.ones((5, 5))) - np.eye(30)
    h = graphsoft.hierarchy(graph_of(W), [6, 2], polish=polish)
    check(h, [6, 2], polish)
    assert (h[0].labels.reshape(6, 5) == h[0].labels[::5, None]).all()
    assert len(set(h[0].labels)) == 6
    assert h[0].entropy.max() < 1e-9
    # more components than clusters: whole components share one
    assert (h[1].labels.reshape(6, 5) == h[1].labels[::5, None]).all()
    assert any("6 components are more than the 2 clusters" in note for note in h.report.notes)
    assert h.report.components == 6


@both
def test_nodes_without_edges_are_ordinary(polish):
    W = np.zeros((30, 30))
    W[5:25, 5:25] = ring_of_cliques()
    for sizes in ([4], [10, 4, 2], [30, 1]):
        h = graphsoft.hierarchy(graph_of(W), sizes, polish=polish)
        check(h, sizes, polish)
    labels = graphsoft.hierarchy(graph_of(W), 4, polish=polish)[0].labels[5:25].reshape(4, 5)
    assert (labels == labels[:, :1]).all()
    assert len(set(labels[:, 0])) == 4
    empty = graphsoft.hierarchy(sp.csr_array((7, 7)), [5, 2], polish=polish)
    check(empty, [5, 2], polish)
    assert empty[0].mass.tolist() == [0.0] * 5


@both
def test_strays_get_no_cluster_of_their_own(polish):
    W = np.zeros((24, 24))
    W[:20, :20] = ring_of_cliques()
    W[20, 21] = W[21, 20] = W[22, 23] = W[23, 22] = 0.1
    h = graphsoft.hierarchy(graph_of(W), [4, 2], polish=polish)
    check(h, [4, 2], polish)
    assert len(set(h[0].labels[:20])) == 4
    assert (h[0].memberships[20:].toarray() == h[0].memberships[[20]].toarray()).all()


@both
@pytest.mark.parametrize("sizes", [[20, 5], [70, 30]])
def test_copies_share_every_bit(polish, sizes):
    X = cloud()
    which = np.random.default_rng(1).integers(0, 80, size=200)
    assert len(set(which)) >= 70
    h = graphsoft.hierarchy(X[which], sizes, polish=polish)
    check(h, sizes, polish)
    for level in h:
        S = level.memberships.toarray()
        for one in set(which):
            rows = S[which == one]
            assert (rows == rows[0]).all()
            assert len({value.tobytes() for value in level.entropy[which == one]}) == 1


@both
def test_more_clusters_than_distinct_points(polish):
    h = graphsoft.hierarchy(np.repeat(cloud(20), 3, axis=0), [40, 20, 3], polish=polish)
    check(h, [40, 20, 3], polish)
    assert any("20 distinct points are fewer than the 40 clusters" in note for note in h.report.notes)


@both
def test_the_top_level_tells_groups_apart(polish):
    X = np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + np.random.default_rng(0).normal(size=(90, 2))
    h = graphsoft.hierarchy(X, [12, 3], polish=polish)
    labels = h[-1].labels.reshape(3, 30)
    assert (labels == labels[:, :1]).all()
    assert len(set(labels[:, 0])) == 3


@both
def test_node_order_does_not_matter(polish):
    W = cloud_graph(60, 3)
    order = np.random.default_rng(1).permutation(60)
    whole = graphsoft.hierarchy(graph_of(W), [12, 4], polish=polish)
    again = graphsoft.hierarchy(graph_of(W[order][:, order]), [12, 4], polish=polish)
    for one, other in zip(whole, again, strict=True):
        S, T = one.memberships.toarray(), other.memberships.toarray()
        np.testing.assert_allclose(T @ T.T, (S @ S.T)[order][:, order], atol=1e-8)


# The same bits


@both
@given(weight_matrices(min_size=4), st.sampled_from([-400, -31, -1, 7, 400]))
@settings(max_examples=30)
def test_powers_of_two_change_no_bits_but_those_of_the_weights(polish, W, exponent):
    h, scaled = (
        graphsoft.hierarchy(sp.csr_array(weights), [4, 2], affinity="precomputed", polish=polish)
        for weights in (W, np.ldexp(W, exponent))
    )
    for one, other in zip(h, scaled, strict=True):
        assert one.memberships.data.tobytes() == other.memberships.data.tobytes()
        assert one.memberships.indices.tolist() == other.memberships.indices.tolist()
        if one.parents is not None:
            assert one.parents.data.tobytes() == other.parents.data.tobytes()


@both
def test_weights_whose_inverse_would_overflow(polish):
    W = np.diag(2.0 ** np.array([-60, -60, -1060, -1060, -60]), 1)
    h = graphsoft.hierarchy(sp.csr_array(W + W.T), [4, 2], polish=polish)
    check(h, [4, 2], polish)


@both
def test_the_same_weights_in_any_type_give_the_same_bits(polish):
    W = np.round(cloud_graph() * 64)
    expected = bits(graphsoft.hierarchy(sp.csr_array(W), [10, 3], polish=polish))
    for dtype in (np.float32, np.int64, np.uint8, np.longdouble):
        assert bits(graphsoft.hierarchy(sp.coo_matrix(W.astype(dtype)), [10, 3], polish=polish)) == expected
    assert bits(graphsoft.hierarchy(nx.from_numpy_array(W), [10, 3], polish=polish)) == expected


@both
def test_two_runs_give_the_same_bits_and_touch_nothing(polish):
    X = cloud()
    X.flags.writeable = False
    matrix = sp.csr_array(cloud_graph())
    before = [part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr)]
    for data in (X, matrix, cloud_graph()[:, 1:]):
        runs = [graphsoft.hierarchy(data, [10, 3], polish=polish) for _ in range(2)]
        assert bits(runs[0]) == bits(runs[1])
    assert [part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr)] == before


@both
def test_a_graph_may_be_made_before(polish):
    X = cloud()
    graph = graphsoft.knn_graph(X, 7, weights="relative")
    h = graphsoft.hierarchy(graph, [9, 3], polish=polish)
    assert h.graph is graph
    assert bits(h) == bits(graphsoft.hierarchy(X, [9, 3], n_neighbors=7, weights="relative", polish=polish))


# Results


def test_names_come_back():
    graph = nx.karate_club_graph()
    names = [("node", i) if i % 2 else f"node {i}" for i in graph]
    h = graphsoft.hierarchy(nx.relabel_nodes(graph, dict(enumerate(names))), [8, 2])
    assert list(h.nodes) == names
    assert bits(h) == bits(graphsoft.hierarchy(graph, [8, 2]))


def test_a_hierarchy_is_a_frozen_sequence():
    h = graphsoft.hierarchy(cloud(), [20, 8, 3])
    assert repr(h) == "Hierarchy(80 points: 20 -> 8 -> 3 clusters)"
    assert repr(h[1]) == "Level(80 points in 8 clusters)"
    assert len(h) == 3
    assert list(h) == [h[0], h[1], h[2]] == list(reversed(h))[::-1]
    assert h[-1] is h[2]
    assert h[:2] == (h[0], h[1])
    assert h[1] in h
    assert h.index(h[1]) == 1
    with pytest.raises(IndexError, match="there is no level 3: the finest is 0, the coarsest 2"):
        h[3]
    for holder in (h, h[0], h.graph, h.report, h.report.levels[0]):
        for field in [field.name for field in dataclasses.fields(holder)]:
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(holder, field, None)
    for level in h:
        for matrix in (level.memberships, level.graph, level.parents):
            if matrix is not None:
                for buffer in (matrix.data, matrix.indices, matrix.indptr):
                    with pytest.raises(ValueError, match="read-only"):
                        buffer[0] = 0
                assert matrix.has_canonical_format
        for array in (level.mass, level.labels, level.entropy):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        assert level.labels is level.labels


@both
def test_the_report_tells_what_was_done(polish):
    X = np.concatenate([cloud(), cloud()[:30]])
    h = graphsoft.hierarchy(X, [20, 8, 3], polish=polish)
    report = h.report
    W = h.graph.adjacency.toarray().astype(np.float32).astype(float)  # as the engine keeps weights
    assert (report.nodes, report.edges) == (110, np.count_nonzero(np.triu(W)))
    assert report.components == h.graph.components.max() + 1
    assert any("10 nearest neighbors" in note for note in report.notes)
    assert set(report.seconds) == {"graph", "levels"}
    assert all(seconds >= 0 for seconds in report.seconds.values())
    assert len(report.levels) == 3
    text = str(report)
    assert text.startswith("110 nodes, ")
    for level, found in zip(report.levels, h, strict=True):
        S = found.memberships.toarray()
        assert level.clusters == S.shape[1]
        assert len(level.trace) <= level.sweeps
        assert level.sweeps > 0
        assert level.seconds >= 0
        assert level.kkt_gap == pytest.approx(naive.kkt_gap(W, S, UNEXPLAINED / W.sum()), abs=1e-9)
        expected = naive.log_likelihood(W, S, UNEXPLAINED / W.sum())
        assert level.log_likelihood == pytest.approx(expected, rel=1e-9)
        assert f"{level.clusters} clusters: {level.status}" in text
    assert json.dumps(dataclasses.asdict(report))


def test_the_tree_and_its_json(tmp_path):
    h = graphsoft.hierarchy(cloud(), [20, 8, 3])
    assert isinstance(h.tree, Tree)
    assert h.tree is h.tree
    text = h.to_json()
    assert h.to_json(tmp_path / "tree.json") is None
    assert (tmp_path / "tree.json").read_text(encoding="utf-8") == text
    root = json.loads(text)
    assert root["size"] == 80
    assert root["mass"] == pytest.approx(h.graph.degrees.sum())
    waiting, found = [root], {}
    while waiting:
        node = waiting.pop()
        found[node["id"]] = node
        waiting += node.get("children", [])
    assert len(found) == 1 + 20 + 8 + 3
    for number, level in enumerate(h):
        sizes = np.bincount(level.labels, minlength=len(level.mass))
        for cluster, (mass, size) in enumerate(zip(level.mass, sizes, strict=True)):
            node = found[f"{number}-{cluster}"]
            assert (node["mass"], node["size"], node["level"]) == (mass, size, number)
            if level.parents is not None:
                chances = {int(each["id"].split("-")[1]): each["p"] for each in node["parents"]}
                row = level.parents[[cluster]].toarray()[0]
                assert chances == {parent: row[parent] for parent in np.flatnonzero(row)}


# The walk


@given(st.data(), weight_matrices(min_size=1, max_size=8))
def test_parents_are_where_a_lazy_walk_leads(data, W):
    m = data.draw(st.integers(1, 4))
    group = data.draw(st.lists(st.integers(0, m - 1), min_size=len(W), max_size=len(W)))
    group = naive.indicator(np.array(group), m)
    graph = graph_of(W)
    found = _parents_by_walk(graph, sp.csr_array(group)).toarray()
    expected = naive.lazy_parents(graph.adjacency.toarray(), group, STAY, MIN_PARENT)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 1000))
def test_level_l_is_l_steps_where_every_level_factorizes_exactly(m, n, seed):
    B = np.random.default_rng(seed).random((n, m)) + 0.01
    W = naive.equivalent(B)
    below, degrees, chained = W, B.sum(axis=1), None
    for t, step in enumerate([B, B.T, B], start=1):
        np.testing.assert_allclose(naive.equivalent(step), below, rtol=1e-9)  # exact
        shares = step / degrees[:, None]
        chained = shares if chained is None else naive.chain([chained, shares])
        equivalent = naive.equivalent(naive.factor(W, chained))
        np.testing.assert_allclose(equivalent, naive.walk(W, t), rtol=1e-9)
        below, degrees = naive.cluster_graph(step, degrees), step.sum(axis=0)


@both
def test_every_level_stands_for_a_graph_of_the_same_degrees(polish):
    h = graphsoft.hierarchy(graph_of(cloud_graph()), [20, 8, 3], polish=polish)
    for level in h:
        B = h.graph.degrees[:, None] * level.memberships.toarray()
        np.testing.assert_allclose(B.sum(axis=0), level.mass, rtol=1e-12)
        equivalent = B @ np.diag(1 / level.mass) @ B.T
        np.testing.assert_allclose(equivalent.sum(axis=1), h.graph.degrees, rtol=1e-12)


@given(st.data(), weight_matrices(min_size=2, max_size=8))
def test_a_cluster_graph_keeps_the_weight(data, W):
    S = data.draw(memberships(len(W), data.draw(st.integers(1, 4))))
    clusters = naive.cluster_graph(naive.factor(W, S), W.sum(axis=1))
    np.testing.assert_allclose(clusters.sum(axis=1), W.sum(axis=1) @ S, rtol=1e-12)
