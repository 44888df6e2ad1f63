"""Nearest neighbors beside naive ones: every exact search, the approximate ones, and the weights of edges."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.graph.joining import knn_graph
from graphsoft.kernels.distances import round_rows
from graphsoft.kernels.lists import empty_lists, keep_lower, keep_once
from graphsoft.neighbors import exact, nearest
from graphsoft.neighbors.nearest import METRICS, nearest_neighbors
from graphsoft.neighbors.points import Points, first_copies
from graphsoft.neighbors.weights import SYMMETRIZE, WEIGHTS
from graphsoft.parallel import thread_count
from naive import neighbors as naive
from shared.shapes import recall, texts


def cloud(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 0.5


def run(name, points, k):
    """Neighbors and scores found by the search of that name."""
    by_descent = name == "by_descent"
    each = nearest._by_descent(points, k) if by_descent else getattr(exact, name)(points, points, k)
    rows, near, scores = zip(*each, strict=True)
    rows = np.concatenate([np.arange(len(points))[some] for some in rows])
    order = np.argsort(rows)  # every row once, in any order
    assert np.array_equal(rows[order], np.arange(len(points)))
    return np.concatenate(near)[order], np.concatenate(scores)[order]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_equal_the_naive_ones(metric, d, dtype):
    X = cloud(60, d).astype(dtype)
    indices, distances = nearest_neighbors(Points.of(X, metric), 5)
    for row, pairs in enumerate(naive.neighbors(X, 5, metric)):
        kept = [pair for pair in pairs if metric not in ("cosine", "correlation") or pair[0] < 1]
        assert [j for _, j in kept] == [j for j in indices[row] if j >= 0]
        np.testing.assert_allclose(distances[row, : len(kept)], [apart for apart, _ in kept], atol=1e-12)
        assert (distances[row, len(kept) :] == np.inf).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("way", ["by_tree", "by_products", "by_words"])
def test_every_exact_way_finds_the_same(way, metric):
    X = cloud(700, 6)
    points = Points.of(sp.csr_array(X) if way == "by_words" else X, metric)
    expected, _ = run("by_tree", Points.of(X, metric), 7)
    found, _ = run(way, points, 7)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("way", "metric"),
    [
        ("by_products", "euclidean"),
        ("by_tree", "euclidean"),
        ("by_tree", "manhattan"),
        ("by_tree", "chebyshev"),
        ("by_pairs", "manhattan"),
        ("by_pairs", "chebyshev"),
    ],
)
def test_ties_go_to_the_lower_index(way, metric):
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    found, _ = run(way, Points.of(grid, metric), 7)
    expected = [[j for _, j in pairs] for pairs in naive.neighbors(grid, 7, metric)]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("way", ["by_tree", "by_products"])
def test_blobs_far_apart_keep_their_neighbors(way):
    X = cloud(300, 5)
    X[::3] += 1e9
    X[1::3, 2] -= 1e7
    found, _ = run(way, Points.of(X), 4)
    assert np.array_equal(found, [[j for _, j in pairs] for pairs in naive.neighbors(X, 4)])


@pytest.mark.parametrize("d", [3, 20])
def test_extreme_scales_and_offsets(d):
    X = cloud(80, d)
    expected, distances = nearest_neighbors(Points.of(X), 4)
    for exponent in (-1010, -200, 200, 1010):
        found, scaled = nearest_neighbors(Points.of(np.ldexp(X, exponent)), 4)
        assert np.array_equal(found, expected)
        np.testing.assert_array_equal(np.ldexp(scaled, -exponent), distances)
    X = np.round(X * 1024) / 1024  # exact after the move
    expected, distances = nearest_neighbors(Points.of(X), 4)
    found, moved = nearest_neighbors(Points.of(X + 2.0**30), 4)
    assert np.array_equal(found, expected)
    np.testing.assert_array_equal(moved, distances)
    huge = np.column_stack([X / 2.0**900, np.full(len(X), 3e100)])
    assert np.array_equal(nearest_neighbors(Points.of(huge), 4)[0], expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_cosine_takes_rows_of_any_length(kind):
    X = np.abs(cloud(50, 12))
    expected, distances = nearest_neighbors(Points.of(kind(X), "cosine"), 5)
    stretched = X * np.ldexp(1.0, np.random.default_rng(1).integers(-900, 900, size=(50, 1)))
    found, again = nearest_neighbors(Points.of(kind(stretched), "cosine"), 5)
    assert np.array_equal(found, expected)
    np.testing.assert_array_equal(distances, again)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_empty_and_unrelated_documents_have_no_neighbors(kind):
    X = np.array([[1.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [3, 1, 0, 0]])
    indices, distances = nearest_neighbors(Points.of(kind(X), "cosine"), 3)
    assert indices.tolist() == [[1, 4, -1], [0, 4, -1], [-1] * 3, [-1] * 3, [0, 1, -1]]
    assert np.isinf(distances[indices < 0]).all()
    alone, _ = nearest_neighbors(Points.of(kind(X[2:4]), "cosine"), 1)
    assert (alone == -1).all()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_copies_are_found(kind):
    X = np.array([[1.0, 2, 0], [2, 4, 0], [1, 2, 0], [0, 0, 0], [-0.0, 0, 0], [3, 6, 0], [1, 2, 1e-9]])
    assert first_copies(Points.of(kind(X))).tolist() == [0, 1, 0, 3, 3, 5, 6]
    assert first_copies(Points.of(kind(X), "cosine")).tolist() == [0, 0, 0, 3, 4, 0, 6]


def test_rows_with_the_same_hash_are_compared(monkeypatch):
    monkeypatch.setattr(
        "graphsoft.neighbors.points._hashes", lambda values, divisors: np.zeros(len(values), np.uint64)
    )
    X = np.array([[1.0], [2.0], [1.0]])
    assert first_copies(Points.of(X)).tolist() == [0, 1, 0]


@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 6), st.integers(0, 10_000))
def test_any_small_cloud(n, d, k, seed):
    X = np.random.default_rng(seed).integers(-3, 4, size=(n, d)).astype(float)
    k = min(k, n - 1)
    indices, distances = nearest_neighbors(Points.of(X), k)
    for row, pairs in enumerate(naive.neighbors(X, k)):
        assert indices[row].tolist() == [j for _, j in pairs]
        np.testing.assert_allclose(distances[row], [apart for apart, _ in pairs], atol=1e-12)


def assert_list(scores, columns, expected):
    filled = columns >= 0
    assert list(zip(scores[filled], columns[filled], strict=True)) == expected
    assert np.isinf(scores[~filled]).all()


@pytest.mark.parametrize("width", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_of_lowest_scores(width, dtype):
    scores = np.random.default_rng(width).integers(9, size=(4, width)).astype(dtype)
    rows = np.array([0, 7, 5 + width - 1, -1])
    lists = empty_lists(4, 6, dtype)
    keep_lower(scores, 5, rows, lists)
    for place, row in enumerate(rows):
        expected = naive.kept_lower(scores[place].tolist(), 5, row, 6)
        assert_list(lists.scores[place], lists.columns[place], expected)


def test_kernel_of_candidates_kept_once():
    random = np.random.default_rng(0)
    candidates = random.integers(-1, 12, size=(40, 15))
    scores = random.permutation(np.repeat(np.arange(7.0), 2))[:12][candidates]  # different ones with ties
    scores[candidates < 0] = np.inf
    for count in (1, 4, 13):
        lists = empty_lists(40, count)
        keep_once(scores, candidates, lists)
        for row in range(40):
            expected = naive.kept_once(scores[row].tolist(), candidates[row].tolist(), count)
            assert_list(lists.scores[row], lists.columns[row], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_of_rounded_rows(dtype):
    X, factors, middle = cloud(9, 21).astype(dtype), np.arange(9.0), cloud(1, 21)[0]
    out = np.empty((4, 21), dtype=np.float32)
    round_rows(X, factors, middle, 3, out)
    for place, row in enumerate(out):
        expected = naive.rounded(X[3 + place].astype(float), factors[3 + place], middle)
        np.testing.assert_allclose(row, expected, rtol=2e-7, atol=1e-6)


@pytest.mark.parametrize("symmetrize", SYMMETRIZE)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_equal_the_naive_ones(weights, symmetrize):
    X = cloud(50, 3)
    found = knn_graph(X, 6, weights=weights, symmetrize=symmetrize).adjacency
    expected = naive.graph(naive.neighbors(X, 6), weights, symmetrize)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)
    assert (found != found.T).nnz == 0
    assert found.data.max() <= 1


@pytest.mark.parametrize("weights", WEIGHTS)
def test_outliers_keep_their_edges(weights):
    X = np.concatenate([cloud(40, 2), [[1e12, 0.0]]])
    graph = knn_graph(X, 5, weights=weights)
    assert graph.adjacency.data.min() >= 2.0**-52
    assert np.diff(graph.adjacency.indptr).min() >= 5


def test_progress_reaches_the_end():
    seen = []
    knn_graph(cloud(3000, 3), progress=lambda *step: seen.append(step))
    assert seen[-1] == ("neighbors", 3000, 3000)
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
    assert len(seen) > 1


def test_borders(monkeypatch):
    def way(X, metric="euclidean"):
        points = Points.of(X, metric)
        words = nearest.word_work(points) if points.sparse else None
        return nearest.search_within(*X.shape, metric, 10, words)

    X = cloud(200, 20)
    assert way(X[:, :3]) == "tree"
    assert way(X[:20, :3]) == "products"
    assert way(X) == "products"
    assert way(X, "canberra") == "pairs"
    assert way(sp.csr_array(X)) == "words"
    for border in ("PRODUCT_WORK", "PAIR_WORK", "WORD_WORK"):
        monkeypatch.setattr(nearest, border, 0)
    assert way(X) == "random trees"
    assert way(X, "canberra") == way(sp.csr_array(X)) == "pynndescent"
    assert way(X[:, :3]) == "tree"
    monkeypatch.setattr(nearest, "TREE_WORK", 200 * 8**4)
    assert way(X[:, :4]) == way(X[:, :5], "manhattan") == "tree"
    assert way(X[:, :5]) == "random trees"


def bits():
    dense, sparse = Points.of(cloud(1500, 12).astype(np.float32)), Points.of(texts(600), "cosine")
    digest = hashlib.sha256()
    for name, points in (("by_products", dense), ("by_descent", dense), ("by_words", sparse)):
        for part in run(name, points, 10):
            digest.update(part.tobytes())
    return digest.hexdigest()


def test_threads_do_not_change_bits():
    environment = os.environ | {
        "NUMBA_NUM_THREADS": "3" if thread_count() != 3 else "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }
    code = "import sys; from neighbors import test_nearest; sys.stdout.write(test_nearest.bits())"
    other = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    here = bits()
    assert other.communicate()[0] == here


def test_trees_find_nearly_all(monkeypatch):
    X = cloud(3000, 12)
    X[:100, 0] += 1e9  # float32 sees these as a few points
    expected, _ = nearest_neighbors(Points.of(X), 10)
    monkeypatch.setattr(nearest, "PRODUCT_WORK", 0)
    found, distances = nearest_neighbors(Points.of(X), 10)
    assert recall(found, expected) > 0.99
    assert recall(found[:100], expected[:100]) == 1
    assert (found >= 0).all()
    assert (found != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 10 for row in found.tolist())
    assert (np.diff(distances, axis=1) >= 0).all()


@pytest.mark.slow
def test_pynndescent_finds_nearly_all_and_threads_do_not_change_its_bits(monkeypatch):
    # one test for everything that needs pynndescent, which compiles for half a minute in each process
    import numba

    data, before = texts(600).astype(np.float32), numba.get_num_threads()
    found = nearest._descend(data, "cosine", 6, 0)  # so few that some are missed, by chance
    assert numba.get_num_threads() == before
    try:
        numba.set_num_threads(1 if before > 1 else numba.config.NUMBA_NUM_THREADS)
        assert np.array_equal(nearest._descend(data, "cosine", 6, 0), found)
    finally:
        numba.set_num_threads(before)
    assert not np.array_equal(nearest._descend(data, "cosine", 6, 1), found)
    for points in (Points.of(texts(600), "cosine"), Points.of(cloud(400, 12), "manhattan")):
        expected, _ = nearest_neighbors(points, 5)
        with monkeypatch.context() as patch:
            patch.setattr(nearest, "PAIR_WORK", 0)
            patch.setattr(nearest, "WORD_WORK", 0)
            assert recall(nearest_neighbors(points, 5)[0], expected) > 0.95


def test_gaps_in_the_candidates_are_filled(monkeypatch):
    X = cloud(60, 12)
    expected, _ = nearest_neighbors(Points.of(X), 4)
    candidates = np.full((60, 9), -1)
    candidates[:30, :6] = expected[:30, [0, 1, 2, 3, 3, 0]]  # repeated, and with gaps
    candidates[30:, :2] = np.arange(30, 60)[:, None]  # nothing but the row itself
    monkeypatch.setattr(nearest, "PRODUCT_WORK", 0)
    monkeypatch.setattr(nearest, "RETURN_WORK", 0)
    monkeypatch.setattr(nearest, "_descend", lambda data, metric, listed, seed: candidates)
    assert np.array_equal(nearest_neighbors(Points.of(X), 4)[0], expected)
