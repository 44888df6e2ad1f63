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


@given(weight_matrices(), cuts)
def test_best_partners(W, cut):
    d = W.sum(axis=1)
    found = Partners(np.full(len(W), -7), np.full(len(W), np.nan))
    for start, stop in pieces(len(W), cut):
        contraction.best_partners(sparse(W), d, start, stop, found)
    expected = [naive.best_partner(W, d, i) for i in range(len(W))]
    assert list(zip(found.best.tolist(), found.scores.tolist(), strict=True)) == expected


@given(weight_matrices(), st.integers(0, 8), st.randoms(use_true_random=False))
def test_greedy_matching(W, most, random):
    n, d = len(W), W.sum(axis=1)
    partners = np.array([naive.best_partner(W, d, i)[0] for i in range(n)])
    order = list(range(n))
    random.shuffle(order)
    leaders = np.arange(n)
    pairs = contraction.greedy_matching(partners, np.array(order), most, leaders)
    expected = naive.matching(partners.tolist(), order, most)
    assert pairs == len(expected)
    assert {(leader, i) for i, leader in enumerate(leaders.tolist()) if leader != i} == set(expected)
    assert len({node for pair in expected for node in pair}) == 2 * pairs


@given(weight_matrices(), st.randoms(use_true_random=False))
def test_pairs(W, random):
    n, d = len(W), W.sum(axis=1)
    found = [naive.best_partner(W, d, i) for i in range(n)]
    partners, scores = np.array([i for i, _ in found]), np.array([score for _, score in found])
    low, high, theirs = np.full(n, -7), np.full(n, -7), np.full(n, np.nan)
    pairs = contraction.mutual_pairs(np.arange(n), Partners(partners, scores), low, theirs)
    assert list(zip(low[:pairs], partners[low[:pairs]], strict=True)) == naive.mutual(partners)
    assert theirs[:pairs].tolist() == scores[low[:pairs]].tolist()
    order = list(range(n))
    random.shuffle(order)
    pairs = contraction.pairs_by_partner(np.array(order), partners, low, high)
    expected = naive.pairs_by_partner(partners.tolist(), order)
    assert list(zip(low[:pairs], high[:pairs], strict=True)) == expected


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


def best_of(A, d, groups):
    n = A.shape[0]
    entries, found = np.diff(A.indptr).astype(int), Partners(np.full(n, -7), np.full(n, np.nan))
    each = Groups(np.arange(n), np.full(n, -1), np.arange(n), d, entries)
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


def test_of_equal_neighbors_it_is_the_lowest_in_any_order():
    n = 12
    A = sp.csr_array(1.0 - np.eye(n))
    for k in range(n):
        part = slice(A.indptr[k], A.indptr[k + 1])
        A.indices[part] = A.indices[part][::-1].copy()
    partners, _ = best_of(A, np.full(n, n - 1.0), range(n))
    assert partners.tolist() == [1] + [0] * (n - 1)


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
