"""What tests of kernels share: CSR rows as kernels take and return them, pieces of rows, and gains."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from graphsoft.kernels import Rows, factorize, rows_of
from naive import engine as naive
from shared.likelihood import floor_of

# Where rows are cut into pieces.
cuts = st.lists(st.integers(0, 12), max_size=4)


def pieces(n, cut):
    """Cut n rows at these places, or at the end for those beyond it."""
    edges = sorted({0, n, *(min(at, n) for at in cut)})
    return list(pairwise(edges))


def sparse(dense):
    """All rows of a dense matrix."""
    return rows_of(sp.csr_array(dense))


def empty(rows, room):
    """Rows for a kernel to fill, with room for so many entries."""
    return Rows(np.zeros(rows + 1, np.int64), np.empty(room, np.int32), np.empty(room))


def filled(out, count):
    """Those entries that a kernel has written."""
    assert count == out.ptr[-1]
    return Rows(out.ptr, out.columns[:count], out.values[:count])


def matrix_of(parts, columns):
    """Put together what a kernel wrote for some pieces."""
    counts = np.concatenate([np.diff(part.ptr) for part in parts])
    indices = np.concatenate([part.columns for part in parts])
    data = np.concatenate([part.values for part in parts])
    return sp.csr_array((data, indices, np.append(0, np.cumsum(counts))), (len(counts), columns))


def model_of(W, S):
    d = W.sum(axis=1)
    single = np.where((S > 0).sum(axis=1) == 1, S.argmax(axis=1), -1).astype(np.int32)
    return factorize.EdgeModel(sparse(W), d, sparse(S), single, naive.inverse(d @ S), floor_of(W))


def run_gains(W, S, cut=(), nodes=None):
    """Gains of some nodes or all, computed in pieces, and the log-likelihood of each node."""
    model, nodes = model_of(W, S), np.arange(len(W)) if nodes is None else np.array(nodes, int)
    parts, likelihood = [], np.full(len(nodes), np.nan)
    for start, stop in pieces(len(nodes), cut):
        parts.append(Rows(*factorize.gains(model, nodes, start, stop, likelihood[start:stop])))
        assert len(parts[-1].columns) == len(parts[-1].values) == parts[-1].ptr[-1]
    return matrix_of(parts, S.shape[1]), likelihood
