"""Features in any container and dtype: the same graph, or an error that says what is wrong."""

import decimal
import fractions
import pickle
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import GraphsoftWarning
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import knn_graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.dense_input import dense_matrix
from shared.door import FORMATS, check_canonical, digest, raises


def feature_containers(X, folder):
    """The same moderate whole numbers in containers and dtypes of all kinds."""
    for dtype in ("i1", "u1", ">i2", "i4", "i8", "u8", "f2", ">f4", "f4", "f8", ">f8", "g", "O"):
        yield dtype, X.astype(dtype)
    yield "Fortran order", np.asfortranarray(X)
    yield "strided", np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    yield "negative strides", X[::-1, ::-1].copy()[::-1, ::-1]
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    stored = np.memmap(folder / "X", dtype=X.dtype, mode="w+", shape=X.shape)
    stored[:] = X
    stored.flush()
    yield "memmap", np.memmap(folder / "X", dtype=X.dtype, mode="r", shape=X.shape)
    yield "list", X.tolist()
    yield "tuples", tuple(map(tuple, X))
    yield "unmasked", np.ma.masked_array(X, mask=False)
    yield "frame", pd.DataFrame(X)
    yield "nullable frame", pd.DataFrame(X).convert_dtypes()
    yield "decimals", [[decimal.Decimal(int(v)) for v in row] for row in X]
    yield "fractions", [[fractions.Fraction(int(v)) for v in row] for row in X]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_feature_containers_give_the_same_bits(metric, tmp_path):
    X = np.random.default_rng(0).integers(1, 100, size=(40, 9)).astype(float)
    expected = digest(knn_graph(X, metric=metric))
    for name, data in feature_containers(X, tmp_path):
        before = pickle.dumps(data)
        graph = as_graph(data, metric=metric)
        assert digest(graph) == expected, name
        assert pickle.dumps(data) == before
    if metric != "manhattan":
        sparse = {digest(knn_graph(getattr(sp, form + "_array")(X), metric=metric)) for form in FORMATS}
        assert len(sparse) == 1
        np.testing.assert_allclose(
            knn_graph(sp.csr_array(X), metric=metric).adjacency.toarray(),
            knn_graph(X, metric=metric).adjacency.toarray(),
            rtol=1e-12,
        )


def test_bools_are_features():
    X = np.random.default_rng(0).random((50, 20)) < 0.5
    assert digest(knn_graph(X)) == digest(knn_graph(X.astype(float)))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "1 dimension"),
        (np.zeros((0, 3)), "0 samples"),
        (np.zeros((3, 0)), "0 features"),
        (np.zeros(3), "1 dimension, shape \\(3,\\)"),
        (np.zeros((3, 2, 2)), "3 dimensions"),
        ([[1, 2], [3]], "cannot be read as an array"),
        ([["1.5", "2"]], "holds text"),
        (np.array([[b"1"]]), "holds bytes"),
        (np.eye(2) * 1j, "complex numbers"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "holds dates"),
        (np.array([[1]], dtype="m8[D]"), "holds time spans"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), "holds records"),
        (
            np.ma.masked_array(np.eye(2), mask=[[0, 0], [1, 0]]),
            "1 cells are masked, the first at row 1, column 0",
        ),
        (np.array([[1, None]], dtype=object), "holds None, which is not a real number, at row 0, column 1"),
        (np.array([[1, 1j]], dtype=object), "holds 1j"),
        (np.array([[1, "x" * 99]], dtype=object), r"holds 'xxx.*\.\.\., which"),
        (np.array([1, None], dtype=object), "1 dimension"),
        (np.array([1, "a"], dtype=object), "holds text. Remedy: turn texts into a table"),
        (pd.Series(["a text", "another"]), "holds text.*TfidfVectorizer"),
        (["a text", "another"], "holds text.*TfidfVectorizer"),
        (Path("x.csv"), r"type \w*Path\. Remedy: read a file first"),
        (pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]}), r"holds 'x'.*row 0, column 1 \('name'\)"),
        (pd.DataFrame({"a": [1.0, np.nan]}), r"nan at row 1, column 0 \('a'\)"),
        (pd.DataFrame({"a": pd.array([1.0, None], dtype="Float64")}), "nan at row 1"),
        (
            pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"]}),
            "holds .*, which is not a real",
        ),
        (
            pd.DataFrame([[1.0, np.inf]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("c", "d")])),
            "row 0, column 1$|row 0, column 1\\.",
        ),
        (
            [[0.0, np.nan], [-np.inf, 1.0]],
            "2 entries are NaN or infinite, the first is nan at row 0, column 1",
        ),
        (np.array([[np.longdouble("1e4000")]]), r"1 entries are NaN or infinite, the first is 1e\+4000"),
        (np.array([[10**400]], dtype=object), "cannot be read as float64"),
        (object(), "got an object of type object"),
        ("text", "holds text"),
        (None, "got an object of type NoneType"),
        (3.5, "0 dimensions"),
    ],
)
def test_bad_features_are_named(data, words):
    raises(words, data, affinity="features")


def test_far_nan_is_found_in_blocks(monkeypatch):
    monkeypatch.setattr("graphsoft.parallel.ELEMENTS_PER_BLOCK", 8)
    X = np.ones((20, 4))
    X[13, 2] = X[17, 0] = np.nan
    raises("2 entries.*row 13, column 2", X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_neighbors": 1.5}, "n_neighbors: got 1.5"),
        ({"n_neighbors": True}, "n_neighbors: got True"),
        ({"n_neighbors": 0}, "n_neighbors: got 0"),
        ({"n_neighbors": "3"}, "n_neighbors: got '3'"),
        ({"metric": "cosin"}, "metric: got 'cosin'.*'cosine'"),
        ({"metric": None}, "metric: got None"),
        ({"weights": "heat"}, "weights: got 'heat'"),
        ({"symmetrize": ["union"]}, "symmetrize: got"),
        ({"affinity": "graph"}, "affinity: got 'graph'"),
    ],
)
def test_bad_parameters_are_named_even_for_graphs(options, words):
    raises(words, np.eye(3), **options)
    raises(words, nx.path_graph(3), **options)


def test_metrics_for_sparse_features():
    raises("^metric: got 'manhattan', but X is sparse", sp.csr_array(np.ones((3, 2))), metric="manhattan")


def test_numpy_integers_are_integers():
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert digest(knn_graph(X, np.int64(5))) == digest(knn_graph(X, 5))


def test_one_and_two_points():
    one = knn_graph([[1.0, 2.0]])
    check_canonical(one)
    assert one.adjacency.nnz == 0
    with pytest.warns(GraphsoftWarning, match="10 is more than the 1 other points") as caught:
        two = knn_graph([[1.0, 2.0], [3.0, 4.0]])
    assert len(caught) == 1
    assert two.adjacency.nnz == 2
    with pytest.warns(GraphsoftWarning):
        assert as_graph([[1.0], [2.0], [4.0]]).adjacency.nnz == 6


def test_empty_documents_are_counted():
    X = np.abs(np.random.default_rng(0).normal(size=(30, 4)))
    X[[3, 7]] = 0
    for data in (X, sp.csr_array(X)):
        with pytest.warns(GraphsoftWarning, match="2 rows have no direction") as caught:
            graph = knn_graph(data, metric="cosine")
        assert len(caught) == 1
        assert graph.duplicates is None
        assert graph.degrees[3] == graph.degrees[7] == 0
        assert "2 nodes without edges" in graph.notes


# copies


@pytest.mark.parametrize("weights", ["local-scaling", "jaccard", "gaussian"])
@pytest.mark.parametrize("symmetrize", ["union", "mutual", "average"])
def test_copies_stay_together_and_sites_connected(weights, symmetrize):
    sites = np.random.default_rng(0).normal(size=(100, 3))
    X = np.repeat(sites, 60, axis=0)
    order = np.random.default_rng(1).permutation(len(X))
    graph = knn_graph(X[order], 15, weights=weights, symmetrize=symmetrize)
    check_canonical(graph)
    assert graph.adjacency.diagonal().sum() == 0
    assert graph.components.max() == 0
    assert graph.adjacency.nnz <= 4 * 15 * len(X)
    number = graph.duplicates
    assert all(len(np.unique(number[order // 60 == site])) == 1 for site in range(100))
    # lumped, the sites stand to each other as they would alone, each of 60 copies counted once
    lump = sp.csr_array((np.ones(len(X)), (np.arange(len(X)), number)), shape=(len(X), 100))
    lumped = (lump.T @ graph.adjacency @ lump).toarray() / 60
    first = np.unique(number, return_index=True)[1]
    alone = knn_graph(X[order][first], 15, weights=weights, symmetrize=symmetrize).adjacency.toarray()
    np.testing.assert_allclose(lumped - np.diag(np.diag(lumped)), alone, rtol=1e-12)
    # inside a site all copies stand alike
    same = (graph.adjacency.toarray() == 1) & (number[:, None] == number)
    assert len(np.unique(same.sum(axis=1))) == 1
    inside = sp.csr_array(same)
    assert sp.csgraph.connected_components(inside)[0] == 100


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 6), st.integers(0, 1000))
def test_any_number_of_copies(counts, k, seed):
    sites = np.arange(len(counts), dtype=float)[:, None] ** 1.5
    X = np.repeat(sites, counts, axis=0)
    order = np.random.default_rng(seed).permutation(len(X))
    k = max(1, min(k, len(X) - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphsoftWarning)
        graph = knn_graph(X[order], k)
        alone = knn_graph(sites, k)
    check_canonical(graph)
    assert graph.adjacency.diagonal().sum() == 0
    assert graph.components.max() == alone.components.max()
    assert graph.adjacency.nnz <= 2 * len(X) * (2 * k + 2)
    if max(counts) == 1:
        assert graph.duplicates is None
    else:
        assert np.array_equal(np.unique(graph.duplicates), np.arange(len(counts)))


def test_all_rows_identical():
    graph = knn_graph(np.ones((50, 3)))
    check_canonical(graph)
    assert graph.components.max() == 0
    assert (graph.adjacency.data == 1).all()
    assert np.ptp(graph.degrees) == 0
    assert "50 rows are 1 distinct points" in graph.notes


def test_a_site_of_many_copies_stays_sparse():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    X[:1000] = 0
    graph = knn_graph(X)
    assert graph.adjacency.nnz <= 2 * 2000 * 22


def test_dense_matrix_does_not_copy_what_is_right():
    X = np.ones((4, 3), dtype=np.float32)
    assert np.shares_memory(dense_matrix(X), X)
    assert dense_matrix(X.astype(np.int32)).dtype == np.float64
    assert isinstance(as_graph(nx.path_graph(2)), Graph)
