"""Loops of polishing against their slow copies; any pieces of rows give the same bits."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels import Rows, groups, rows_of
from naive import engine as naive
from shared.kernels import cuts, empty, filled, matrix_of, pieces, run_gains, sparse
from shared.strategies import factored_graphs, memberships


@given(factored_graphs(clusters=4), st.data(), cuts)
def test_gains_of_parents(example, data, cut):
    W, S = example
    P = data.draw(memberships(S.shape[1], data.draw(st.integers(1, 3))))
    candidates, upper = run_gains(W, S)[0], run_gains(W, S @ P)[0]

    def run(cut):
        gain = np.full(candidates.nnz, np.nan)
        for start, stop in pieces(len(W), cut):
            some, above = rows_of(candidates, start, stop), rows_of(upper, start, stop)
            groups.gains_of_parents(some, above, sparse(P), P.shape[1], gain)
        return gain

    gain = run(cut)
    assert gain.tobytes() == run([]).tobytes()
    expected = naive.parent_gains(upper.toarray(), P)
    np.testing.assert_allclose(gain, expected[candidates.tocoo().coords], rtol=1e-12)


@given(factored_graphs(clusters=6), st.integers(1, 4), cuts)
def test_lift_to_groups(example, count, cut):
    W, S = example
    group = np.arange(S.shape[1]) % count
    candidates = run_gains(W, S)[0]
    upper = run_gains(W, S @ np.eye(count)[group])[0]
    parts = []
    for start, stop in pieces(len(W), cut):
        held = rows_of(sp.csr_array(S), start, stop).ptr
        found = Rows(candidates.indptr[start : stop + 1], candidates.indices, candidates.data)
        out = empty(stop - start, found.entries)
        above = rows_of(upper, start, stop)
        parts.append(filled(out, groups.lift_to_groups(held, found, above, group, count, out)))
    lifted = matrix_of(parts, S.shape[1])
    found = np.full(S.shape, np.nan)
    found[lifted.tocoo().coords] = lifted.data
    assert lifted.nnz == np.count_nonzero(~np.isnan(found))
    gain = np.full(S.shape, np.nan)
    gain[candidates.tocoo().coords] = candidates.data
    np.testing.assert_array_equal(found, naive.group_gains(gain, upper.toarray(), S > 0, group))


@st.composite
def groupings(draw, clusters):
    """Draw the group of each cluster, and how many groups there are."""
    count = draw(st.integers(1, 4))
    each = st.lists(st.integers(0, count - 1), min_size=clusters, max_size=clusters)
    return np.array(draw(each)), count


@given(factored_graphs(clusters=6), st.data(), cuts)
def test_merge_clusters(example, data, cut):
    _, S = example
    group, count = data.draw(groupings(S.shape[1]))
    parts = []
    for start, stop in pieces(len(S), cut):
        some = rows_of(sp.csr_array(S), start, stop)
        out = empty(stop - start, some.entries)
        parts.append(filled(out, groups.merge_clusters(some, group, count, out)))
    found = matrix_of(parts, count)
    np.testing.assert_allclose(found.toarray(), S @ naive.indicator(group, count), rtol=1e-14)
    assert found.nnz == (S @ naive.indicator(group, count) > 0).sum()


@given(factored_graphs(clusters=6), st.data(), cuts)
def test_restore_groups(example, data, cut):
    _, S = example
    group, count = data.draw(groupings(S.shape[1]))
    stepped = sp.csr_array(data.draw(memberships(len(S), S.shape[1])))
    lost = data.draw(st.lists(st.integers(0, stepped.nnz - 1)))
    stepped.data[lost] = 0.0  # still stored
    parts = []
    for start, stop in pieces(len(S), cut):
        some, before = rows_of(stepped, start, stop), rows_of(sp.csr_array(S), start, stop)
        out = empty(stop - start, some.entries + before.entries)
        parts.append(filled(out, groups.restore_groups(some, before, group, count, out)))
    found = matrix_of(parts, S.shape[1])
    expected = naive.restored(stepped.toarray(), S, naive.indicator(group, count))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    assert found.nnz == (expected > 0).sum()
