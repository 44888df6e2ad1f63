"""What can be seen as a graph: containers, weights, distances to neighbors, and what looks like them."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import GraphsoftWarning
from graphsoft.graph.joining import knn_graph
from graphsoft.graph.reading import as_graph
from graphsoft.neighbors import weights
from shared.door import FORMATS, check_canonical, digest, raises, weighted


def containers(A):
    """One weighted graph in many clothes."""
    whole = A.astype(np.int64)
    for form in FORMATS:
        yield form + "_array", getattr(sp, form + "_array")(A)
        yield form + "_matrix", getattr(sp, form + "_matrix")(A)
    csr = sp.csr_array(A)
    for dtype in ("u1", "i2", ">i4", "u8", "f2", "f4", ">f8", "g", "O"):
        dressed = csr.copy()
        dressed.data = csr.data.astype(dtype)  # SciPy refuses some of these in its constructor
        yield dtype, dressed
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "int64 indices", wide
    turned = csr.copy()
    for row in range(len(A)):
        part = slice(turned.indptr[row], turned.indptr[row + 1])
        turned.indices[part], turned.data[part] = (
            turned.indices[part][::-1].copy(),
            turned.data[part][::-1].copy(),
        )
    turned.has_sorted_indices = False
    yield "unsorted", turned
    rows, columns = np.nonzero(A)
    values = A[rows, columns]
    twice = sp.coo_array(
        (np.r_[values - 1, np.ones(len(values))], (np.r_[rows, rows], np.r_[columns, columns])), A.shape
    )
    yield "duplicates", twice
    yield (
        "duplicates in csr",
        sp.csr_array((np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), csr.indptr * 2), shape=A.shape),
    )
    zeros = sp.coo_array((np.r_[values, 0.0, 0.0], (np.r_[rows, 0, 1], np.r_[columns, 0, 1])), A.shape)
    yield "explicit zeros", zeros
    frozen = csr.copy()
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    yield "read-only", frozen
    graph = nx.Graph()
    graph.add_nodes_from(range(len(A)))
    graph.add_weighted_edges_from(
        (int(i), int(j), whole[i, j]) for i, j in zip(rows, columns, strict=True) if i < j
    )
    yield "networkx", graph
    yield "networkx directed", graph.to_directed()
    multi = nx.MultiGraph(graph)
    first = next(iter(graph.edges(data="weight")))
    multi.edges[first[0], first[1], 0]["weight"] = first[2] - 1
    multi.add_edge(first[0], first[1], weight=1)
    yield "networkx multigraph", multi


def test_containers_give_the_same_bits():
    A = weighted()
    expected = digest(as_graph(sp.csr_array(A)))
    count = 0
    for name, data in containers(A):
        for affinity in ("auto", "precomputed"):
            graph = as_graph(data, affinity=affinity)
            check_canonical(graph)
            assert digest(graph) == expected, name
            np.testing.assert_array_equal(graph.adjacency.toarray(), A)
        count += 1
    assert count >= 30
    for dense in (A, A.tolist(), pd.DataFrame(A), np.asfortranarray(A), A.astype(np.uint8)):
        assert digest(as_graph(dense, affinity="precomputed")) == expected


def test_what_auto_assumes_is_said():
    A = weighted()
    assert any("taken as a graph" in note for note in as_graph(sp.csr_array(A)).notes)
    assert not any("taken" in note for note in as_graph(sp.csr_array(A), affinity="precomputed").notes)
    with pytest.warns(GraphsoftWarning, match="X is symmetric, but its rows are taken as points"):
        as_graph(A)
    as_graph(A, affinity="features")
    assert len(as_graph(sp.csr_array(A[:, :5] + 1), metric="cosine")) == 12
    features = as_graph(sp.csr_array(A), affinity="features")
    assert digest(features) == digest(knn_graph(sp.csr_array(A)))


def test_caller_keeps_its_buffers():
    A = weighted()
    for name, data in containers(A):
        before = copy.deepcopy(data) if isinstance(data, nx.Graph) else pickle.dumps(data)
        graph = as_graph(data)
        if isinstance(data, nx.Graph):
            assert nx.utils.graphs_equal(data, before)
        else:
            assert pickle.dumps(data) == before, name
        for part in ("data", "indices", "indptr"):
            if isinstance(getattr(data, part, None), np.ndarray):
                assert getattr(data, part).flags.writeable == (name != "read-only")
                assert not getattr(graph.adjacency, part).flags.writeable


def test_only_a_matrix_that_needs_no_change_is_not_copied():
    for name, data in containers(weighted()):
        if getattr(data, "format", "") == "csr":
            shared = np.shares_memory(as_graph(data).adjacency.data, data.data)
            assert shared == (name in ("csr_array", "csr_matrix", "int64 indices", "read-only")), name


def test_graph_is_small_and_frozen():
    graph = as_graph(nx.Graph([("a", "b"), ("b", "c"), ("d", "d")]))
    assert repr(graph) == "Graph(nodes=4, edges=3)"
    assert graph.nodes == ("a", "b", "c", "d")
    assert graph.degrees.tolist() == [1, 2, 1, 1]
    assert graph.components.tolist() == [0, 0, 0, 1]
    assert graph.components.dtype == np.int32
    assert "1 self-loops kept" in graph.notes
    assert as_graph(graph) is graph
    for action in (
        lambda: setattr(graph, "nodes", ()),
        lambda: graph.degrees.fill(0),
        lambda: graph.components.fill(0),
        lambda: graph.adjacency.data.fill(0),
    ):
        with pytest.raises((AttributeError, ValueError)):
            action()
    for twin in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):  # noqa: S301
        assert digest(twin) == digest(graph)


def test_names_of_any_kind_come_back_in_order():
    names = ["ünï", 3, (1, 2), frozenset({4}), 2.5, "3", b"bytes"]
    graph = nx.path_graph(7)
    assert as_graph(nx.relabel_nodes(graph, dict(enumerate(names)))).nodes == tuple(names)
    assert as_graph(sp.csr_array(weighted())).nodes == range(12)


def test_networkx_weights():
    graph = nx.Graph([(0, 1), (1, 2)])
    assert as_graph(graph).adjacency.data.tolist() == [1, 1, 1, 1]
    assert any("without weight" in note for note in as_graph(graph).notes)
    graph.edges[0, 1]["weight"] = 2
    raises(r"1 of 2 edges have no weight, the first is \(1, 2\)", graph)
    for bad in ("3", float("nan"), float("inf"), 10**400, 1j):
        graph.edges[1, 2]["weight"] = bad
        raises(r"the edge \(1, 2\) has the weight", graph)
    graph.edges[1, 2]["weight"] = -1
    raises(r"2 weights are negative, the first is -1 at \(1, 2\)", graph)
    raises("without nodes", nx.Graph())
    assert len(as_graph(nx.empty_graph(3))) == 3
    raises(
        r"the weight of \('a', 'b'\) is 1, that of \('b', 'a'\) is 0.*to_undirected", nx.DiGraph([("a", "b")])
    )


def test_bad_weights_are_named():
    for bad, words in (
        (np.nan, "2 entries are NaN or infinite, the first is nan at"),
        (np.inf, "2 entries are NaN or infinite, the first is inf at"),
        (-1.0, "2 weights are negative, the first is -1 at"),
    ):
        A = weighted()
        A[3, 5] = A[5, 3] = bad
        for form in FORMATS:
            raises(words + r" \(3, 5\)", getattr(sp, form + "_array")(A))
    A = weighted()
    A[3, 5], A[5, 3], A[0, 1], A[1, 0] = 4.0, 1.0, 1.0, 1.0 + 1e-6
    raises(r"the weight of \(3, 5\) is 4, that of \(5, 3\) is 1", sp.csr_array(A))
    raises(r"the weight of \(3, 5\) is 4", A, affinity="precomputed")
    raises("not symmetric", sp.triu(weighted()))
    raises("which is not square", sp.csr_array(np.ones((2, 3))), affinity="precomputed")
    raises("which is not square", np.ones((2, 3)), affinity="precomputed")
    raises("dtype complex128", sp.csr_array(np.eye(3) * 1j))
    odd = sp.coo_array(([1.0], ([0], [0])), shape=(2, 2))
    odd.data = np.array(["a"], dtype=object)
    raises("not a real number", odd)
    odd.data = np.array([10**400], dtype=object)
    raises("cannot be read as float64", odd)
    raises("0 samples", sp.csr_array((0, 0)))
    raises("0 features", sp.csr_array((3, 0)))
    raises("two dimensions", sp.coo_array(np.ones(3)))
    raises("add up to more", sp.coo_array(([1e308, 1e308], ([0, 0], [1, 1])), shape=(2, 3)))


def test_tiny_differences_are_averaged():
    A = weighted()
    rows, columns = np.nonzero(np.triu(A))
    B = A.copy()
    B[rows, columns] *= 1 + 1e-12
    graph = as_graph(sp.csr_array(B))
    check_canonical(graph)
    np.testing.assert_allclose(graph.adjacency.toarray(), A, rtol=1e-11)
    assert digest(as_graph(sp.csr_array(B.T.copy()))) == digest(graph)


def test_extreme_weights_are_scaled_by_a_power_of_two():
    A = weighted()
    for exponent in (-1070, -900, -100, 100, 900, 1015):
        scaled = np.ldexp(A, exponent)
        graph = as_graph(sp.csr_array(scaled))
        check_canonical(graph)
        assert 1 <= graph.adjacency.data.max() < 2
        assert any("2**" in note for note in graph.notes)
        if exponent > -1070:  # below that float64 itself has lost digits
            np.testing.assert_array_equal(graph.adjacency.toarray() * 128, A)
    A[0, 1] = A[1, 0] = 1e-307
    A[0, 2] = A[2, 0] = 1e307
    raises("too far apart for float64", sp.csr_array(A))
    doubled = sp.coo_array(([1.5 * 2.0**1023] * 4, ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert as_graph(doubled).adjacency.data.tolist() == [3, 3]


def test_graphs_without_edges():
    graph = as_graph(sp.csr_array((4, 4)))
    check_canonical(graph)
    assert graph.components.tolist() == [0, 1, 2, 3]
    assert "4 nodes without edges" in graph.notes
    stored_zeros = sp.coo_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert as_graph(stored_zeros).adjacency.nnz == 0
    assert len(as_graph(sp.csr_array([[2.0]]))) == 1


# neighbor lists


@pytest.mark.parametrize("weights", ["local-scaling", "jaccard", "connectivity"])
def test_k_neighbors_transformer(weights):
    from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

    X = np.random.default_rng(0).normal(size=(60, 3))
    expected = knn_graph(X, 6, weights=weights).adjacency.toarray()
    transformed = KNeighborsTransformer(n_neighbors=6, mode="distance").fit_transform(X)
    ordered = transformed.copy()
    ordered.sort_indices()
    bare = kneighbors_graph(X, 6, mode="distance")
    for lists in (transformed, ordered, bare, transformed.astype(np.float64).tocoo()):
        for affinity in ("auto", "precomputed"):
            graph = as_graph(lists, weights=weights, affinity=affinity)
            check_canonical(graph)
            np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-9)
            assert any("distances to the 6 nearest" in note for note in graph.notes)


def test_copies_in_neighbor_lists():
    from sklearn.neighbors import KNeighborsTransformer

    X = np.repeat(np.arange(12.0)[:, None], 9, axis=0)
    X[-1] += 0.5
    for k in (4, 12):
        graph = as_graph(KNeighborsTransformer(n_neighbors=k).fit_transform(X))
        check_canonical(graph)


def test_similarities_are_not_mistaken_for_distances():
    lists = sp.csr_array(([0.9, 0.5, 0.8, 0.4, 0.7, 0.6], [1, 2, 0, 2, 0, 1], [0, 2, 4, 6]), shape=(3, 3))
    raises("not symmetric.*by rising distance", lists)
    for bad in (
        sp.csr_array(([1.0, 2.0, 3.0], [1, 2, 0], [0, 2, 3, 3]), shape=(3, 3)),
        sp.csr_array(([1.0, 2.0, 3.0], [1, 1, 2], [0, 1, 2, 3]), shape=(3, 3)),
        sp.csr_array(([1.0, 2.0] * 3, [1, 1, 2, 2, 0, 0], [0, 2, 4, 6]), shape=(3, 3)),
    ):
        raises("not symmetric", bad)


# what looks like something else


@given(st.integers(20, 40), st.integers(2, 9), st.sampled_from([1.0, 2.0]), st.integers(0, 999))
def test_distances_between_all_points_are_warned_of(n, d, power, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 9 * np.eye(d)[rng.permutation(np.arange(n) % 2)]
    distances = np.square(X[:, None] - X).sum(axis=2) ** (power / 2)
    with pytest.warns(GraphsoftWarning, match="X looks like distances"):
        as_graph(distances, affinity="precomputed")
    with pytest.warns(GraphsoftWarning, match="X looks like distances"):
        as_graph(sp.csr_array(distances))


def test_correlation_distances_are_warned_of_if_there_are_clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30))
    clustered = X + 2.0 * rng.normal(size=(4, 30))[np.arange(40) % 4]
    for distances in (1.0 - np.corrcoef(clustered), np.sqrt(2.0 - 2.0 * np.corrcoef(clustered).clip(-1, 1))):
        with pytest.warns(GraphsoftWarning, match="X looks like distances"):
            as_graph(distances, affinity="precomputed")
    as_graph(1.0 - np.corrcoef(X), affinity="precomputed")  # all alike: nothing tells these from weights


def similarities(X):
    apart = np.square(X[:, None] - X).sum(axis=2)
    directions = np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True)
    yield from (np.exp(-apart / scale) for scale in (0.5, 1.0, 4.0))
    yield np.exp(-apart / apart.mean() ** 2)
    yield 1.0 / (1.0 + np.sqrt(apart))
    yield directions @ directions.T
    yield np.abs(np.corrcoef(X))
    yield (apart < 3.0).astype(float)
    noise = np.random.default_rng(0).random(apart.shape)
    yield noise + noise.T
    yield np.ones_like(apart)


@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize("d", [3, 20])
def test_similarities_are_weights(n, d):
    for similar in similarities(np.random.default_rng(0).normal(size=(n, d))):
        alike = (similar + similar.T) / 2
        as_graph(alike, affinity="precomputed")
        np.fill_diagonal(alike, 0.0)
        as_graph(alike, affinity="precomputed")


def test_columns_that_count_the_rows_are_warned_of():
    values = np.random.default_rng(0).normal(size=(30, 2))
    frame = pd.DataFrame(values, columns=["a", "b"])
    as_graph(frame)
    with pytest.warns(GraphsoftWarning, match="column 'index' counts the rows"):
        as_graph(frame.reset_index())
    as_graph(frame.assign(steps=2.0 * np.arange(30)))
    with pytest.warns(GraphsoftWarning, match=r"column 'index', 'no' counts"):
        as_graph(frame.reset_index().assign(no=range(1, 31)))
    with pytest.warns(GraphsoftWarning, match="column 'Label' is used as a feature"):
        as_graph(frame.assign(Label=1.5))


@pytest.mark.parametrize("kind", ["local-scaling", "gaussian", "relative"])
def test_weights_do_not_depend_on_blocks(kind, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    whole = knn_graph(X, 5, weights=kind).adjacency
    monkeypatch.setattr(weights, "AT_ONCE", 1)
    assert (whole != knn_graph(X, 5, weights=kind).adjacency).nnz == 0
