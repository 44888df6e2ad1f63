"""Loops of the contraction against their slow copies; in pieces of any size they give the same bits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.kernels import Rows, contraction, rows_of
from graphsoft.kernels.contraction import Groups, Members, Partners
from naive import engine as naive
from shared.kernels import cuts, matrix_of, pieces, sparse
from shared.strategies import weight_matrices


def partners_of(W, data):
    """The best partner of each node, and its score, with keys of which some are equal."""
    keys = data.draw(st.lists(st.sampled_from([7, 2**63, 2**64 - 1]), min_size=len(W), max_size=len(W)))
    expected = [naive.best_partner(W, W.sum(axis=1), i, keys) for i in range(len(W))]
    return expected, np.array(keys, np.uint64)


@given(weight_matrices(), cuts, st.data())
def test_best_partners(W, cut, data):
    expected, keys = partners_of(W, data)
    found = Partners(np.full(len(W), -7), np.full(len(W), np.nan))
    for start, stop in pieces(len(W), cut):
        with np.errstate(over="ignore"):
            contraction.best_partners(sparse(W), W.sum(axis=1), keys, start, stop, found)
    assert list(zip(found.best.tolist(), found.scores.tolist(), strict=True)) == expected


@given(weight_matrices(), st.randoms(use_true_random=False), st.data())
def test_pairs(W, random, data):
    n = len(W)
    best = np.array([partner for partner, _ in partners_of(W, data)[0]])
    low, high = np.full(n, -7), np.full(n, -7)
    pairs = contraction.mutual_pairs(np.arange(n), best, low)
    assert list(zip(low[:pairs], best[low[:pairs]], strict=True)) == naive.mutual(best)
    order = list(range(n))
    random.shuffle(order)
    pairs = contraction.pairs_by_partner(np.array(order), best, low, high)
    expected = naive.pairs_by_partner(best.tolist(), order)
    assert list(zip(low[:pairs], high[:pairs], strict=True)) == expected
    pairs = contraction.greedy_matching(np.array(order), best, low, high)
    expected = naive.matching(best.tolist(), order)
    assert list(zip(low[:pairs], high[:pairs], strict=True)) == expected
    assert len({node for pair in expected for node in pair}) == 2 * pairs


@given(st.data())
def test_remaining_groups(data):
    n = data.draw(st.integers(1, 9))
    some = st.lists(st.integers(0, n - 1), unique=True).map(sorted)
    alive, gone, changed = (data.draw(some) for _ in range(3))
    partners = np.array(data.draw(st.lists(st.integers(-1, n - 1), min_size=n, max_size=n)))
    leaders = np.array([n if i in gone else i for i in range(n)])
    marks, left, looked = np.isin(np.arange(n), changed), np.full(n, -7), np.full(n, -7)
    kept, found = contraction.remaining_groups(np.array(alive, int), leaders, partners, marks, left, looked)
    still = [i for i in alive if i not in gone]
    assert left[:kept].tolist() == still
    assert looked[:found].tolist() == [i for i in still if i in changed or partners[i] in changed]


def test_the_partner_of_the_first_group_is_looked_for_again():
    alive, partners, changed = np.array([0, 1]), np.array([1, 0]), np.array([True, False])
    left, looked = np.full(2, -7), np.full(2, -7)
    assert contraction.remaining_groups(alive, np.arange(2), partners, changed, left, looked) == (2, 2)


def best_of(A, d, groups, keys=None):
    n = A.shape[0]
    keys = np.zeros(n, np.uint64) if keys is None else keys
    entries, found = np.diff(A.indptr).astype(int), Partners(np.full(n, -7), np.full(n, np.nan))
    each = Groups(np.arange(n), np.full(n, -1), np.arange(n), d, keys, entries)
    with np.errstate(over="ignore"):
        contraction.best_of_groups(
            rows_of(A), each, np.array(groups), int(entries.max()), 0, len(groups), found
        )
    return found


def test_neighbors_that_meet_in_the_table_are_all_looked_at():
    rng, n = np.random.default_rng(0), 100_000
    for _ in range(20):
        who, weights = np.sort(rng.choice(np.arange(1, n), 400, replace=False)), rng.random(400) + 0.1
        ptr, d = np.full(n + 1, 400), rng.random(n) + 0.5
        ptr[0] = 0
        star = sp.csr_array((weights, who, ptr), shape=(n, n))
        partners, scores = best_of(star, d, [0])
        assert partners[0] == who[np.argmax(weights / d[who])]
        assert scores[0] == pytest.approx((weights / d[who]).max() / d[0], rel=1e-14)


@given(weight_matrices(), st.data())
def test_of_equal_neighbors_it_is_the_same_in_any_order(W, data):
    expected, keys = partners_of(W, data)
    A = sp.csr_array(W)
    for k in range(len(W)):
        part = slice(A.indptr[k], A.indptr[k + 1])
        A.indices[part], A.data[part] = A.indices[part][::-1].copy(), A.data[part][::-1].copy()
    if A.nnz:
        partners, _ = best_of(A, W.sum(axis=1), range(len(W)), keys)
        assert partners.tolist() == [partner for partner, _ in expected]


@given(weight_matrices(), st.data(), cuts)
def test_contract(W, data, cut):
    n = len(W)
    groups = data.draw(st.integers(1, n))
    others = data.draw(st.lists(st.integers(0, groups - 1), min_size=n - groups, max_size=n - groups))
    group = np.array(data.draw(st.permutations([*range(groups), *others])))
    member_ptr = np.append(0, np.cumsum(np.bincount(group, minlength=groups)))
    members = Members(member_ptr, np.argsort(group, kind="stable"), group)

    def run(cut):
        parts = []
        for start, stop in pieces(groups, cut):
            out = Rows(np.full(groups, -7), np.full(n * n, -7), np.full(n * n, np.nan))
            filled = contraction.contract(sparse(W), members, n * n, start, stop, out)
            ptr = np.append(0, np.cumsum(out.ptr[start:stop]))
            assert filled == ptr[-1]
            parts.append(Rows(ptr, out.columns[:filled], out.values[:filled]))
        return matrix_of(parts, groups)

    found, whole = run(cut), run([])
    assert found.data.tobytes() == whole.data.tobytes()
    assert found.indices.tolist() == whole.indices.tolist()
    assert all(len(set(row)) == len(row) for row in np.split(found.indices, found.indptr[1:-1]))
    np.testing.assert_allclose(found.toarray(), naive.contract(W, group, groups), rtol=1e-13)
