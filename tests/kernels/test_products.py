"""Products of sparse matrices against dense ones; any pieces of rows give the same bits."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given

from graphsoft.kernels import Rows, products, rows_of
from naive import engine as naive
from shared.kernels import cuts, matrix_of, pieces, sparse
from shared.strategies import factored_graphs


@given(factored_graphs(clusters=6), cuts)
def test_links(example, cut):
    W, S = example
    d, by_cluster, parts = W.sum(axis=1), rows_of(sp.csc_array(S)), []
    for start, stop in pieces(S.shape[1], cut):
        parts.append(Rows(*products.links(by_cluster, sparse(S), d, start, stop)))
    found = matrix_of(parts, S.shape[1]).toarray()
    expected = naive.cluster_graph(d[:, None] * S, d)
    np.testing.assert_allclose(found, np.triu(expected), rtol=1e-13, atol=0)


@given(factored_graphs(), cuts)
def test_times_dense(example, cut):
    W, S = example
    found, whole = np.full(S.shape, np.nan), np.full(S.shape, np.nan)
    products.times_dense(sparse(W), S, 0, len(W), whole)
    for start, stop in pieces(len(W), cut):
        products.times_dense(sparse(W), S, start, stop, found)
    assert found.tobytes() == whole.tobytes()
    np.testing.assert_allclose(found, W @ S, rtol=1e-13)
