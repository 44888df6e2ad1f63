"""Memberships of new points: against brute force, and the properties they document."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import GraphsoftWarning, InputError
from graphsoft.neighbors import exact, nearest
from graphsoft.neighbors.nearest import METRICS
from graphsoft.neighbors.points import Points
from graphsoft.neighbors.weights import WEIGHTS, ScaledLists
from naive import prediction as naive
from shared.new_points import LEVELS, close, fitted, halves, same
from shared.shapes import cloud, graph_of, recall, texts
from shared.strategies import factored_graphs, small

# one step to old points, then to their clusters


@pytest.mark.parametrize("metric", METRICS)
def test_new_points_take_one_step_to_their_neighbors(metric):
    X, Y = halves()
    h = fitted(X, metric=metric, n_neighbors=6)
    steps = np.array([naive.step(X, y, 6, metric) for y in Y])
    for level in range(len(h)):
        close(h.predict_proba(Y, level), steps @ h[level].memberships.toarray())


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("d", [2, 12])
def test_edges_of_new_points_are_weighted_like_others(weights, d):
    X, Y = halves(d=d)
    h = fitted(X, weights=weights, n_neighbors=7)
    steps = np.array([naive.step(X, y, 7, weights=weights) for y in Y])
    close(h.predict_proba(Y), steps @ h[-1].memberships.toarray())


@given(
    st.integers(3, 25), st.integers(1, 10), st.integers(1, 8), st.sampled_from(WEIGHTS), st.integers(0, 99)
)
@settings(max_examples=40)
def test_small_tables_of_any_shape(n, d, k, weights, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(4, d))
    k = min(k, n - 1)
    h = fitted(X, [min(4, n), 1], n_neighbors=k, weights=weights)
    steps = np.array([naive.step(X, y, k, weights=weights) for y in Y])
    for level in range(2):
        close(h.predict_proba(Y, level), steps @ h[level].memberships.toarray())


def test_levels_follow_from_each_other_by_the_chain_rule():
    X, Y = halves()
    h = fitted(X)
    close(h.predict_proba(Y, 0) @ h[0].parents, h.predict_proba(Y, 1).toarray())
    found = [h.predict_proba(Y, level) for level in range(2)]
    assert same(h.transform(Y), sp.hstack(found, format="csr"))
    for each in found:
        np.testing.assert_allclose(each.sum(axis=1), 1, atol=1e-12)
        assert not each.data.flags.writeable
        assert each.indices.dtype == np.int32
    assert h.predict(Y).dtype == np.int32
    np.testing.assert_array_equal(h.predict(Y, 0), found[0].toarray().argmax(axis=1))


# new points that equal old ones


@pytest.mark.parametrize("metric", METRICS)
def test_old_points_get_back_their_memberships(metric):
    X = np.round(cloud(90, d=4), 1)
    X[5] = X[6] = X[7]
    h = fitted(X, metric=metric)
    for level in range(len(h)):
        assert same(h.predict_proba(X, level), h[level].memberships)
    np.testing.assert_array_equal(h.predict(X), h[-1].labels)


def test_texts_are_recognized_by_their_direction():
    X = texts(120)
    h = fitted(X[:100], metric="cosine")
    assert same(h.predict_proba(X[:100]), h[-1].memberships)
    assert same(h.predict_proba(X[:100] * 4.0), h[-1].memberships)
    dense = X.toarray()
    expected = np.array([naive.step(dense[:100], row, 10, "cosine") for row in dense[100:]])
    close(h.predict_proba(X[100:]), expected @ h[-1].memberships.toarray())
    assert same(h.predict_proba(dense[100:]), h.predict_proba(X[100:]))
    other = fitted(dense[:100], metric="cosine")
    assert same(other.predict_proba(X[100:]), other.predict_proba(dense[100:]))


def test_single_and_double_precision_give_the_same_points():
    X, Y = (part.astype(np.float32) for part in halves(d=12))
    for old, new in ((X, Y), (X, Y.astype(np.float64)), (X.astype(np.float64), Y)):
        h = fitted(old)
        assert same(h.predict_proba(old.astype(new.dtype)), h[-1].memberships)
        assert same(h.predict_proba(new), fitted(X).predict_proba(Y))


def test_nodes_get_back_their_memberships():
    graph = nx.les_miserables_graph()
    A = nx.to_scipy_sparse_array(graph)
    h = graphsoft.hierarchy(graph, LEVELS)
    twin = np.array([min(j for j in range(77) if (A[[i]] != A[[j]]).nnz == 0) for i in range(77)])
    for level in range(2):
        assert same(h.predict_proba(A, level), h[level].memberships[twin])
        assert same(h.predict_proba(A * 2.0**600, level), h[level].memberships[twin])
        assert same(h.predict_proba(A.toarray(), level), h[level].memberships[twin])


@given(factored_graphs(weights=small), st.data())
@settings(max_examples=40)
def test_new_nodes_take_one_step_along_their_edges(case, data):
    W, _ = case
    h = graphsoft.hierarchy(graph_of(W), min(3, len(W)))
    row = np.array([data.draw(st.integers(0, 5)) for _ in W]) * 1.5
    row[0] += 0.5
    equal = [i for i in range(len(W)) if np.allclose(row / row.max(), W[i] / max(W[i].max(), 1e-9))]
    chances = np.eye(len(W))[equal[0]] if equal else row / row.sum()
    close(h.predict_proba(row[None]), chances[None] @ h[0].memberships.toarray())


# results do not depend on other rows, on their order or on threads


@pytest.mark.parametrize("kind", ["few dimensions", "many", "sparse", "manhattan", "graph"])
def test_rows_do_not_depend_on_each_other(kind):
    X, Y = halves(160, d=3 if kind == "few dimensions" else 12)
    Y = np.concatenate([Y, X[:3], Y[:2] * 1e9])
    options = {"metric": "manhattan"} if kind == "manhattan" else {}
    X, Y = (sp.csr_array(X), sp.csr_array(Y)) if kind == "sparse" else (X, Y)
    h = fitted(X, **options)
    if kind == "graph":
        h, Y = graphsoft.hierarchy(h.graph, LEVELS), sp.random_array((30, len(X)), density=0.1, rng=0).tocsr()
    found = h.transform(Y)
    order = np.random.default_rng(1).permutation(Y.shape[0])
    assert same(h.transform(Y[order]), found[order])
    rows = [h.transform(Y[[i]]) for i in range(Y.shape[0])]
    assert same(sp.vstack(rows, format="csr"), found)
    again = graphsoft.hierarchy(h.graph, LEVELS) if kind == "graph" else fitted(X, **options)
    assert same(again.transform(Y), found)


def test_a_table_without_rows_gives_a_result_without_rows():
    X, _ = halves()
    h = fitted(X)
    assert h.predict_proba(np.zeros((0, 3))).shape == (0, 3)
    assert h.predict(X[:0]).shape == (0,)
    assert h.transform(X[:0]).shape == (0, 11)
    assert h.partial_update(X[:0]) is h
    g = graphsoft.hierarchy(nx.path_graph(5), [2])
    assert g.predict_proba(sp.csr_array((0, 5))).shape == (0, 2)
    assert g.partial_update(sp.csr_array((0, 5))) is g


def test_progress_reaches_the_end():
    X, Y = halves(800, d=12)
    seen = []
    h = fitted(X)
    h.predict_proba(Y, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("neighbors", len(Y), len(Y))
    h.partial_update(Y, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("re-fitting", 4, 4)


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    X, Y = halves(2000, d=12)
    h, found = fitted(X), []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        grown = h.partial_update(Y)
        found.append([h.transform(Y).data.tobytes(), grown[0].memberships.data.tobytes()])
    assert found[0] == found[1]


# unusual rows and data


def test_rows_without_neighbors_join_the_heaviest_cluster():
    X = np.zeros((20, 4))
    X[:12, :2] = np.abs(cloud(12, d=2, centers=1)) + 1
    X[12:, 2] = np.arange(1, 9)
    h = fitted(X, [2], metric="cosine")
    lost = np.array([[0.0, 0, 0, 0], [0, 0, 0, 1]])
    with pytest.warns(GraphsoftWarning, match="2 rows of X have no neighbors"):
        found = h.predict_proba(lost)
    np.testing.assert_array_equal(found.toarray(), np.eye(2)[[h[0].mass.argmax()] * 2])
    deep = fitted(X, [6, 2], metric="cosine")
    with pytest.warns(GraphsoftWarning, match="2 rows of X have no neighbors"):
        found = deep.predict_proba(lost)
    above = deep[0].parents.toarray()[deep[0].mass.argmax()]
    np.testing.assert_allclose(found.toarray(), [above, above])
    X[3] = 0
    with pytest.warns(GraphsoftWarning, match="1 rows have no direction"):
        h = fitted(X, [2], metric="cosine")
    with pytest.warns(GraphsoftWarning, match="2 rows of X have no neighbors"):
        assert same(h.predict_proba(lost), h[0].memberships[[3, 3]])
    with pytest.warns(GraphsoftWarning, match="1 rows of X have no neighbors"):
        assert same(h.predict_proba(X), h[0].memberships)


def test_distant_points_and_extreme_scales():
    X, Y = halves(d=5)
    h = fitted(X)
    far = np.concatenate([Y, [[1e200] * 5, [-1e300] * 5]])
    found = h.predict_proba(far)
    assert same(found[: len(Y)], h.predict_proba(Y))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for exponent in (-900, -150, 150, 900):
        scaled = fitted(np.ldexp(X, exponent))
        assert same(scaled.predict_proba(np.ldexp(Y, exponent)), h.predict_proba(Y))
        assert same(scaled.partial_update(np.ldexp(Y, exponent))[-1].memberships,
                    h.partial_update(Y)[-1].memberships)  # fmt: skip


@pytest.mark.parametrize("levels", [[1], [6]])
def test_the_smallest_hierarchies(levels):
    X = cloud(6, d=2, centers=2)
    h = fitted(X, levels, n_neighbors=2)
    assert same(h.predict_proba(X), h[0].memberships)
    assert h.predict_proba(X + 0.01).shape == (6, levels[0])
    grown = h.partial_update(X + 0.01)
    assert grown[0].memberships.shape == (12, levels[0])
    one = graphsoft.hierarchy([[1.0]], [1], n_neighbors=1)
    assert one.predict_proba([[1.0], [2.0]]).toarray().tolist() == [[1.0], [1.0]]
    assert len(one.partial_update([[1.0], [2.0]]).graph) == 3


def test_a_graph_without_edges():
    h = graphsoft.hierarchy(sp.csr_array((4, 4)), [2])
    with pytest.warns(GraphsoftWarning, match="no neighbors"):
        assert h.predict_proba(sp.csr_array((1, 4))).sum() == 1
    assert same(h.predict_proba([[0.0, 0, 1, 1]]), (h[0].memberships[[2]] + h[0].memberships[[3]]) / 2)


def test_invalid_arguments_are_refused():
    X, Y = halves()
    h = fitted(X)
    for wrong, problem in [
        (Y[:, :2], "X: has 2 columns, where the hierarchy has 3 features"),
        (np.zeros((0, 5)), "X: has 5 columns"),
        (Y[0], "X: has 1 dimension"),
        (np.full((2, 3), np.nan), "X: 6 entries are NaN"),
        ([["a", "b", "c"]], "X: holds text"),
        (nx.path_graph(3), "X: is a graph"),
        (h.graph, "X: is a graph"),
        (None, "X: got an object"),
    ]:
        for method in (h.predict_proba, h.predict, h.transform, h.partial_update):
            with pytest.raises(InputError, match=problem):
                method(wrong)
    for level in (2, -3, 0.5, None):
        with pytest.raises(InputError, match="level: got"):
            h.predict(Y, level)
    with pytest.raises(InputError, match="progress"):
        h.predict(Y, progress=1)
    with pytest.raises(InputError, match="nodes: the points have no names"):
        h.partial_update(Y, names=range(len(Y)))
    g = graphsoft.hierarchy(nx.path_graph(4), [2])
    with pytest.raises(InputError, match="X: 1 weights are negative, the first is -1 at row 0, column 1"):
        g.predict([[0.0, -1, 0, 0]])
    with pytest.raises(InputError, match=r"where the hierarchy has 4 nodes.*make the hierarchy of features"):
        g.predict([[0.0, 1, 0]])
    with pytest.raises(InputError, match="one row of weights to the nodes"):
        g.predict(nx.path_graph(4))
    with pytest.raises(InputError, match=r"X.reshape\(1, -1\) for one"):
        h.predict(Y[0])
    with pytest.raises(InputError, match="where the hierarchy has 4 or 6 nodes"):
        g.partial_update(np.ones((2, 5)))
    with pytest.raises(InputError, match="holds a weight of 1e\\+300"):
        g.partial_update([[1e300, 0, 0, 0]])
    with pytest.raises(InputError, match="not symmetric"):
        g.partial_update([[1.0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]])


# many points


@pytest.mark.parametrize("kind", ["dense", "sparse", "cosine"])
def test_graph_search_finds_nearly_all_neighbors(kind, monkeypatch):
    X = texts(2200) if kind != "dense" else cloud(2200, centers=20, d=12)
    metric = "euclidean" if kind == "dense" else "cosine"
    old, new = X[:2000], X[2000:]
    h = fitted(old, [40], metric=metric)
    reference = h._reference
    others = reference.points.alongside(new)
    expected, _ = nearest.nearest_among(reference.points, others, 10, reference.paths)
    monkeypatch.setattr(nearest, "PRODUCT_REACH", 0)
    monkeypatch.setattr(nearest, "WORD_REACH", 0)
    assert nearest._search_between(reference.points, others, reference.paths).__name__ == "_by_walk"
    found, distances = nearest.nearest_among(reference.points, others, 10, reference.paths)
    assert recall(found, expected) > 0.97
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 10 for row in found.tolist())
    assert same(h.predict_proba(new)[:5], h.predict_proba(new[:5]))


def test_all_exact_searches_find_the_same():
    X, Y = halves(800, d=6)
    points = Points.of(X)
    others = points.alongside(np.round(np.concatenate([Y, Y + 1e6]), 1))
    found = []
    for way in ("by_tree", "by_products", "_one_by_one", "by_pairs"):
        parts = list(getattr(nearest if way == "_one_by_one" else exact, way)(points, others, 9))
        found.append(np.concatenate([near for _, near, _ in parts]))
    sparse = Points.of(sp.csr_array(X))
    parts = list(exact.by_words(sparse, sparse.alongside(sp.csr_array(others.values)), 9))
    found.append(np.concatenate([near for _, near, _ in parts]))
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.parametrize("way", ["by_tree", "by_products", "_one_by_one", "by_pairs"])
def test_exact_searches_break_ties_by_index_and_cope_with_distant_blobs(way):
    grid = np.stack(np.meshgrid(*[np.arange(3.0)] * 4), axis=-1).reshape(-1, 4)
    blobs = cloud(300, d=5)
    blobs[::3] += 1e9  # in float32 these would be a few points only
    blobs[1::3, 2] -= 1e7
    for X, Y, k in [(grid, np.repeat(grid[:40] + 0.5, 2, axis=0), 3), (blobs, blobs[::4] + 0.01, 4)]:
        points = Points.of(X)
        parts = getattr(nearest if way == "_one_by_one" else exact, way)(points, points.alongside(Y), k)
        found = np.concatenate([near for _, near, _ in parts])
        expected = [[j for _, j in naive.nearest(X, y, k, "euclidean")] for y in Y]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_graph_search_on_few_points_finds_all_neighbors(kind):
    X, Y = halves(40)
    points = Points.of(kind(X))
    others = points.alongside(kind(Y))
    circle = nx.to_scipy_sparse_array(nx.circulant_graph(len(X), [1, 2]), format="csr")
    paths = nearest.SearchGraph(circle.indptr, circle.indices, np.arange(0, len(X), 5))
    found = nearest._by_walk(points, others, 6, paths)
    near = np.concatenate([part for _, part, _ in found])
    np.testing.assert_array_equal(near, nearest.nearest_among(points, others, 6)[0])


def test_the_median_of_huge_distances_is_finite():
    far = np.array([[1.7e308], [1.7e308]])
    assert ScaledLists.of(np.array([[1], [0]]), far).typical == 1.7e308


def test_a_data_frame_must_have_the_same_columns_in_order():
    X = pd.DataFrame(cloud(60, d=3), columns=["a", "b", "c"])
    h = graphsoft.hierarchy(X, levels=[4])
    np.testing.assert_array_equal(h.predict(X), h.predict(X.to_numpy()))
    with pytest.raises(InputError, match=r"X: has the columns of the hierarchy in another order"):
        h.predict(X[["c", "b", "a"]])
    with pytest.raises(InputError, match=r"X: has other columns than the hierarchy, such as 'd'"):
        h.predict_proba(X.rename(columns={"c": "d"}))
    assert {name for scores in h.distinctive() for name, _ in scores} <= {"a", "b", "c"}
    grown = h.partial_update(X[:2])
    assert grown.features.columns == ("a", "b", "c")


def test_rows_are_taken_as_weights_even_if_the_graph_was_made_of_distances():
    from sklearn.neighbors import KNeighborsTransformer

    X = cloud(60)
    finder = KNeighborsTransformer(mode="distance", n_neighbors=6).fit(X[:50])
    h = graphsoft.hierarchy(finder.transform(X[:50]), LEVELS)
    assert h.graph.from_distances
    with pytest.warns(GraphsoftWarning, match="X: taken as weights"):
        h.predict(finder.transform(X[50:]))
    plain = graphsoft.hierarchy(graphsoft.as_graph(h.graph.adjacency), LEVELS)
    assert not plain.graph.from_distances
    plain.predict(finder.transform(X[50:]))
