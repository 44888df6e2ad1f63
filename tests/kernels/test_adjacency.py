"""Loops over the rows of a graph against their slow copies."""

import networkx as nx
import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels import Rows, adjacency, rows_of
from graphsoft.linalg.csr import submatrix
from naive import engine as naive
from shared.strategies import weight_matrices


@given(weight_matrices(), st.data())
def test_row_sums(W, data):
    given_rows, sums = sp.csr_array(W), np.full(len(W), np.nan)
    cut = data.draw(st.integers(0, len(W)))
    for start, stop in ((0, cut), (cut, len(W))):
        adjacency.row_sums(given_rows.indptr, given_rows.data, start, stop, sums)
    np.testing.assert_allclose(sums, W.sum(axis=1), rtol=1e-14)


@given(weight_matrices(), st.data())
def test_submatrix(W, data):
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(W) - 1)))), dtype=np.int64)
    found = submatrix(sp.csr_array(W), rows)
    assert found.toarray().tolist() == W[np.ix_(rows, rows)].tolist()
    assert found.nnz == np.count_nonzero(W[np.ix_(rows, rows)])
    assert found.has_canonical_format
    assert found.indices.dtype == found.indptr.dtype == np.int32


def mirror_sum(W, cut):
    matrix, total = sp.csr_array(W), 0
    for start, stop in ((0, cut), (cut, len(W))):
        with np.errstate(over="ignore"):
            bits = Rows(matrix.indptr, matrix.indices, matrix.data.view(np.uint64))
            total += int(adjacency.mirror_sum(bits, start, stop))
    return total % 2**64


@given(weight_matrices(), st.data())
def test_mirror_sum(W, data):
    cut = data.draw(st.integers(0, len(W)))
    assert mirror_sum(W, cut) == 0
    i, j = data.draw(st.tuples(st.integers(0, len(W) - 1), st.integers(0, len(W) - 1)))
    changed = W.copy()
    changed[i, j] = data.draw(st.sampled_from([0.0, 0.5, W[i, j], W.max(), np.nextafter(W[i, j], 99)]))
    assert (mirror_sum(changed, cut) == 0) == bool((changed == changed.T).all())


def test_swapped_and_turned_entries_are_noticed():
    W = np.zeros((6, 6))
    W[0, 1], W[2, 3] = W[1, 0], W[3, 2] = 1.0, 2.0
    turned = np.zeros((6, 6))
    turned[0, 1] = turned[2, 1] = 1.0  # as many above the diagonal as below, of the same weight
    for i, j, k, m in [(0, 1, 2, 3), (1, 0, 3, 2)]:
        swapped = W.copy()
        swapped[i, j], swapped[k, m] = W[k, m], W[i, j]
        assert mirror_sum(swapped, 3) != 0
    assert mirror_sum(turned, 3) != 0


@given(weight_matrices())
def test_find_components(W):
    matrix, labels = sp.csr_array(W), np.full(len(W), -7, dtype=np.int32)
    count = adjacency.find_components(matrix.indptr, matrix.indices, labels)
    expected = sorted(nx.connected_components(nx.Graph(W > 0)), key=min)
    assert count == len(expected)
    assert [set(np.flatnonzero(labels == number).tolist()) for number in range(count)] == expected


def test_components_of_a_path_in_random_order():
    order = np.random.default_rng(0).permutation(3000)
    path = nx.to_scipy_sparse_array(nx.path_graph(3000), nodelist=order.tolist(), format="csr")
    labels = np.empty(3000, dtype=np.int32)
    assert adjacency.find_components(path.indptr, path.indices, labels) == 1
    assert not labels.any()


@given(weight_matrices(), st.integers(1, 6), st.integers(1, 20))
def test_grow_clumps(W, size, more):
    matrix, n = sp.csr_array(W), len(W)
    order, taken, listed = np.full(n, -7, dtype=np.int32), np.zeros(n, dtype=bool), (0, 0)
    while listed[0] < n:
        before = listed[0]
        listed = adjacency.grow_clumps(matrix.indptr, matrix.indices, size, more, listed, taken, order)
        assert listed[0] >= min(before + more, n)
    assert taken.all()
    assert order.tolist() == naive.clumps(W, size)


@given(weight_matrices(), st.data())
def test_reorder(W, data):
    matrix, n = sp.csr_array(W), len(W)
    nodes = np.array(data.draw(st.permutations(range(n))))
    ptr = np.append(0, np.cumsum(np.diff(matrix.indptr)[nodes]))
    out = Rows(ptr, np.full(matrix.nnz, -7), np.full(matrix.nnz, np.nan))
    cut = data.draw(st.integers(0, n))
    for start, stop in ((0, cut), (cut, n)):
        adjacency.reorder(rows_of(matrix), nodes, np.argsort(nodes), start, stop, out)
    found = sp.csr_array((out.values, out.columns, out.ptr), shape=(n, n))
    assert (found.toarray() == W[nodes][:, nodes]).all()
