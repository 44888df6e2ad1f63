"""Loops of the relation factorization against their slow copies; any pieces of rows give the same bits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels import Rows, factorize, rows_of
from naive import engine as naive
from shared.kernels import cuts, empty, filled, matrix_of, model_of, pieces, run_gains, sparse
from shared.likelihood import floor_of
from shared.strategies import factored_graphs, memberships


def run_reweight(S, gain, entry_share, min_share, cut, max_entering=1000):
    parts = []
    for start, stop in pieces(len(S), cut):
        held = rows_of(sp.csr_array(S), start, stop)
        found = Rows(gain.indptr[start : stop + 1], gain.indices, gain.data)
        out = empty(stop - start, found.entries)
        parts.append(filled(out, factorize.reweight(held, found, entry_share, max_entering, min_share, out)))
    return matrix_of(parts, S.shape[1])


def touched(W, S):
    """The clusters that a node or one of its neighbors holds."""
    return (S > 0) | ((W > 0).astype(int) @ (S > 0).astype(int) > 0)


@given(factored_graphs(), cuts, st.data())
def test_gains(example, cut, data):
    W, S = example
    found, likelihood = run_gains(W, S, cut)
    whole, once = run_gains(W, S)
    assert found.data.tobytes() == whole.data.tobytes()
    assert found.indices.tolist() == whole.indices.tolist()
    assert likelihood.tobytes() == once.tobytes()

    stored = np.zeros(S.shape, int)
    np.add.at(stored, found.tocoo().coords, 1)
    assert (stored == touched(W, S)).all()
    expected = np.where(stored, naive.gains(W, S, floor_of(W)), 0)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=0)
    # the clusters that a node holds come first, in their order
    for i, held in enumerate(S):
        own = np.flatnonzero(held)
        assert found.indices[found.indptr[i] :][: len(own)].tolist() == own.tolist()
    # of some nodes, the same bits
    some = data.draw(st.lists(st.integers(0, len(W) - 1), min_size=1, unique=True))
    part, theirs = run_gains(W, S, cut, some)
    assert part.data.tobytes() == found[some].data.tobytes()
    assert theirs.tobytes() == likelihood[some].tobytes()

    d = W.sum(axis=1)
    of_degrees = 2 * sum(value * np.log(value) for value in d if value > 0)
    expected = naive.log_likelihood(W, S, floor_of(W))
    scale = sum(abs(W[i, j] * np.log(W[i, j] / W.sum())) + W[i, j] for i, j in np.argwhere(W > 0))
    assert likelihood.sum() + of_degrees == pytest.approx(expected, abs=1e-9 * (scale + abs(of_degrees)))


def test_the_floor_holds_for_edges_to_nodes_of_one_cluster():
    W = np.ones((3, 3)) - np.eye(3)
    S = np.array([[1 - 2e-4, 2e-4], [0.0, 1.0], [0.0, 1.0]])
    found, likelihood = run_gains(W, S)
    assert S[0, 1] / (W.sum(axis=1) @ S)[1] < floor_of(W)
    np.testing.assert_allclose(found.toarray()[0], naive.gains(W, S, floor_of(W))[0], rtol=1e-10)
    expected = naive.log_likelihood(W, S, floor_of(W))
    assert likelihood.sum() + 6 * np.log(2) * 2 == pytest.approx(expected)


@given(
    factored_graphs(),
    st.sampled_from([1.0, 1.5, 1.9]),
    st.sampled_from([0.0, 1e-4, 0.2, 0.9]),
    cuts,
    st.data(),
)
def test_sweep(example, overrelaxation, min_share, cut, data):
    W, S = example
    ptr, clusters, shares = sparse(S)
    nodes = np.array(data.draw(st.lists(st.integers(0, len(W) - 1), unique=True)), int)

    def run(cut):
        stepped = shares.copy()
        for start, stop in pieces(len(nodes), cut):
            factorize.sweep(model_of(W, S), nodes, overrelaxation, min_share, start, stop, stepped)
        return stepped

    stepped = run(cut)
    assert stepped.tobytes() == run([]).tobytes()
    expected = S.copy()
    gain = naive.overrelaxed(naive.gains(W, S, floor_of(W)), overrelaxation) * (S > 0)
    expected[nodes] = naive.reweight(S, gain, 0.0, min_share)[nodes]
    found = sp.csr_array((stepped, clusters, ptr), S.shape).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@given(factored_graphs(), st.sampled_from([0.0, 0.05, 0.5]), st.sampled_from([0.0, 1e-4, 0.2, 1.0]), cuts)
def test_reweight(example, entry_share, min_share, cut):
    W, S = example
    gain, _ = run_gains(W, S)
    found = run_reweight(S, gain, entry_share, min_share, cut)
    whole = run_reweight(S, gain, entry_share, min_share, [])
    assert found.data.tobytes() == whole.data.tobytes()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    assert (found.data > 0).all()
    expected = naive.reweight(S, gain.toarray(), entry_share, min_share)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-13)


@given(factored_graphs(), cuts)
def test_dense_sweep(example, cut):
    W, S = example
    d = W.sum(axis=1)
    model = factorize.DenseModel(sparse(W), naive.inverse(d), S, naive.inverse(d @ S), floor_of(W))

    def run(cut):
        stepped, likelihood = np.full_like(S, np.nan), np.full(len(W), np.nan)
        for start, stop in pieces(len(W), cut):
            factorize.dense_sweep(model, start, stop, stepped, likelihood[start:stop])
        return stepped, likelihood

    stepped, likelihood = run(cut)
    whole, once = run([])
    assert stepped.tobytes() == whole.tobytes()
    assert likelihood.tobytes() == once.tobytes()
    np.testing.assert_allclose(stepped, naive.dense_sweep(W, S, floor_of(W)), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(likelihood, run_gains(W, S)[1], rtol=1e-10)


@given(st.data(), st.integers(1, 3))
def test_at_most_so_many_clusters_enter(data, max_entering):
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 8))
    S = data.draw(memberships(n, m))
    each = st.sampled_from([0.5, 1.0, 1.1, 1.2, 1.5, 2.0, 4.0])
    gain = np.array(data.draw(st.lists(st.lists(each, min_size=m, max_size=m), min_size=n, max_size=n)))
    # own clusters come first, the others in order
    order = [sorted(range(m), key=lambda q: (held[q] == 0, q)) for held in S]
    ptr = np.arange(0, n * m + 1, m)
    given_gain = sp.csr_array(
        (np.take_along_axis(gain, np.array(order), 1).ravel(), np.ravel(order), ptr), (n, m)
    )
    found = run_reweight(S, given_gain, 0.5, 1e-3, [], max_entering).toarray()
    np.testing.assert_allclose(found, naive.reweight(S, gain, 0.5, 1e-3, max_entering), rtol=1e-13)
    assert (((found > 0) & (S == 0)).sum(axis=1) <= max_entering).all()


@given(factored_graphs(clusters=8), st.data())
def test_borders_and_the_largest_gain_outside(example, data):
    W, S = example
    gain, _ = run_gains(W, S)
    bar = data.draw(st.sampled_from([1.0, 1.5, *gain.data]))
    outside = gain.toarray()[(S == 0) & touched(W, S)]
    ptr = np.append(0, np.cumsum((S > 0).sum(axis=1)))
    assert factorize.largest_outside(ptr, Rows(gain.indptr, gain.indices, gain.data)) == max([1.0, *outside])
    rows_kept, kept_ptr = np.full(len(W), -7), np.zeros(len(W) + 1, dtype=np.int64)
    clusters, values = gain.indices.copy(), gain.data.copy()
    kept = factorize.at_borders(ptr, Rows(gain.indptr, clusters, values), bar, rows_kept, kept_ptr)
    wanted = (S > 0) | (gain.toarray() > bar)
    assert rows_kept[:kept].tolist() == np.flatnonzero(wanted.sum(axis=1) > 1).tolist()
    for place, i in enumerate(rows_kept[:kept]):
        part = slice(kept_ptr[place], kept_ptr[place + 1])
        assert sorted(clusters[part].tolist()) == np.flatnonzero(wanted[i]).tolist()
        assert clusters[part][: (S[i] > 0).sum()].tolist() == np.flatnonzero(S[i]).tolist()
        assert values[part].tolist() == gain[[i]].toarray()[0, clusters[part]].tolist()
