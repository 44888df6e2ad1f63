"""Every compiled loop of the engine against its dense copy; in pieces of any size it gives the same bits."""

from itertools import pairwise

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numba.core.caching import FunctionCache, IndexDataCacheFile

import graphsoft
from graphsoft.engine import cluster_graph, coarsening, merging, ordering, sweeps
from graphsoft.graph import adjacency
from graphsoft.graph import graph as graph_module
from graphsoft.kernels import Rows, contraction, factorize, groups, kernel, products, rows_of
from graphsoft.kernels.contraction import Groups, Members, Partners
from naive import engine as naive
from shared.strategies import factored_graphs, memberships, weight_matrices

cuts = st.lists(st.integers(0, 12), max_size=4)


def pieces(n, cut):
    edges = sorted({0, n, *(min(at, n) for at in cut)})
    return list(pairwise(edges))


def sparse(dense):
    return rows_of(sp.csr_array(dense))


def rows(parts, columns):
    """Put together what a kernel wrote for some pieces."""
    counts = np.concatenate([np.diff(ptr) for ptr, *_ in parts])
    indices = np.concatenate([indices for _, indices, _ in parts])
    data = np.concatenate([data for *_, data in parts])
    return sp.csr_array((data, indices, np.append(0, np.cumsum(counts))), (len(counts), columns))


def floor_of(W):
    return 1e-3 / W.sum() if W.any() else 1.0


def single_of(S):
    return np.where((S > 0).sum(axis=1) == 1, S.argmax(axis=1), -1).astype(np.int32)


def run_gains(W, S, cut, nodes=None):
    d, nodes = W.sum(axis=1), np.arange(len(W)) if nodes is None else np.array(nodes, int)
    parts, likelihood = [], np.full(len(nodes), np.nan)
    for start, stop in pieces(len(nodes), cut):
        ptr = np.zeros(stop - start + 1, np.int64)
        found = factorize.gains(
            *sparse(W), d, nodes, *sparse(S), single_of(S), naive.inverse(d @ S), floor_of(W), start, stop,
            ptr, likelihood[start:stop],
        )  # fmt: skip
        assert len(found[0]) == len(found[1]) == ptr[-1]
        parts.append((ptr, *found))
    return rows(parts, S.shape[1]), likelihood


def run_reweight(S, gain, seed, least, cut, most=1000):
    ptr, _, shares = sparse(S)
    parts = []
    for start, stop in pieces(len(S), cut):
        room = gain.indptr[stop] - gain.indptr[start]
        out = np.zeros(stop - start + 1, np.int64), np.empty(room, np.int32), np.empty(room)
        filled = factorize.reweight(
            ptr[start : stop + 1], shares, gain.indptr[start : stop + 1], gain.indices, gain.data, seed,
            most, least, *out,
        )  # fmt: skip
        parts.append((out[0], out[1][:filled], out[2][:filled]))
    return rows(parts, S.shape[1])


def touched(W, S):
    """The clusters that a node or one of its neighbors holds."""
    return (S > 0) | ((W > 0).astype(int) @ (S > 0).astype(int) > 0)


@given(factored_graphs(), cuts, st.data())
def test_gains(example, cut, data):
    W, S = example
    found, likelihood = run_gains(W, S, cut)
    whole, once = run_gains(W, S, [])
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
    found, likelihood = run_gains(W, S, [])
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
def test_sweep(example, over, least, cut, data):
    W, S = example
    d, (ptr, clusters, shares) = W.sum(axis=1), sparse(S)
    nodes = np.array(data.draw(st.lists(st.integers(0, len(W) - 1), unique=True)), int)

    def run(cut):
        stepped = shares.copy()
        for start, stop in pieces(len(nodes), cut):
            factorize.sweep(
                *sparse(W), d, nodes, ptr, clusters, shares, single_of(S), naive.inverse(d @ S), floor_of(W),
                over, least, start, stop, stepped,
            )  # fmt: skip
        return stepped

    stepped = run(cut)
    assert stepped.tobytes() == run([]).tobytes()
    expected = S.copy()
    gain = naive.further(naive.gains(W, S, floor_of(W)), over) * (S > 0)
    expected[nodes] = naive.reweight(S, gain, 0.0, least)[nodes]
    found = sp.csr_array((stepped, clusters, ptr), S.shape).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@given(factored_graphs(), st.sampled_from([0.0, 0.05, 0.5]), st.sampled_from([0.0, 1e-4, 0.2, 1.0]), cuts)
def test_reweight(example, seed, least, cut):
    W, S = example
    gain, _ = run_gains(W, S, [])
    found = run_reweight(S, gain, seed, least, cut)
    whole = run_reweight(S, gain, seed, least, [])
    assert found.data.tobytes() == whole.data.tobytes()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    assert (found.data > 0).all()
    np.testing.assert_allclose(found.toarray(), naive.reweight(S, gain.toarray(), seed, least), rtol=1e-13)


@given(factored_graphs(), cuts)
def test_dense_sweep(example, cut):
    W, S = example
    d = W.sum(axis=1)

    def run(cut):
        stepped, likelihood = np.full_like(S, np.nan), np.full(len(W), np.nan)
        for start, stop in pieces(len(W), cut):
            factorize.dense_sweep(
                *sparse(W), naive.inverse(d), S, naive.inverse(d @ S), floor_of(W), start, stop, stepped,
                likelihood[start:stop],
            )  # fmt: skip
        return stepped, likelihood

    stepped, likelihood = run(cut)
    whole, once = run([])
    assert stepped.tobytes() == whole.tobytes()
    assert likelihood.tobytes() == once.tobytes()
    np.testing.assert_allclose(stepped, naive.dense_sweep(W, S, floor_of(W)), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(likelihood, run_gains(W, S, [])[1], rtol=1e-10)


@given(factored_graphs(clusters=4), st.data(), cuts)
def test_lift_gains(example, data, cut):
    W, S = example
    P = data.draw(memberships(S.shape[1], data.draw(st.integers(1, 3))))
    candidates, upper = run_gains(W, S, [])[0], run_gains(W, S @ P, [])[0]
    parent = sparse(P)

    def run(cut):
        lifted = np.full(candidates.nnz, np.nan)
        for start, stop in pieces(len(W), cut):
            groups.lift_gains(
                candidates.indptr, candidates.indices, upper.indptr, upper.indices, upper.data, *parent,
                P.shape[1], start, stop, lifted,
            )  # fmt: skip
        return lifted

    lifted = run(cut)
    assert lifted.tobytes() == run([]).tobytes()
    expected = naive.lifted_gains(upper.toarray(), P)
    np.testing.assert_allclose(lifted, expected[candidates.tocoo().coords], rtol=1e-12)


@given(factored_graphs(clusters=6), st.integers(1, 4))
def test_lift_to_groups(example, count):
    W, S = example
    group = np.arange(S.shape[1]) % count
    candidates = run_gains(W, S, [])[0]
    upper = run_gains(W, S @ np.eye(count)[group], [])[0]
    out = np.zeros(len(W) + 1, np.int64), np.empty(candidates.nnz, np.int32), np.empty(candidates.nnz)
    filled = groups.lift_to_groups(
        sparse(S)[0], candidates.indptr, candidates.indices, candidates.data, group, upper.indptr,
        upper.indices, upper.data, count, *out,
    )  # fmt: skip
    found = np.full(S.shape, np.nan)
    for i in range(len(W)):
        part = slice(out[0][i], out[0][i + 1])
        found[i, out[1][part]] = out[2][part]
    assert filled == out[0][-1] == np.count_nonzero(~np.isnan(found))
    gain = np.full(S.shape, np.nan)
    gain[candidates.tocoo().coords] = candidates.data
    np.testing.assert_array_equal(found, naive.regrouped(gain, upper.toarray(), S > 0, group))


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
            parts.append((ptr, out.columns[:filled], out.values[:filled]))
        return rows(parts, groups)

    found, whole = run(cut), run([])
    assert found.data.tobytes() == whole.data.tobytes()
    assert found.indices.tolist() == whole.indices.tolist()
    assert all(len(set(row)) == len(row) for row in np.split(found.indices, found.indptr[1:-1]))
    np.testing.assert_allclose(found.toarray(), naive.contract(W, group, groups), rtol=1e-13)


@given(st.data(), st.integers(1, 3))
def test_at_most_so_many_clusters_enter(data, most):
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
    found = run_reweight(S, given_gain, 0.5, 1e-3, [], most).toarray()
    np.testing.assert_allclose(found, naive.reweight(S, gain, 0.5, 1e-3, most), rtol=1e-13)
    assert (((found > 0) & (S == 0)).sum(axis=1) <= most).all()


@given(factored_graphs(clusters=8), st.data())
def test_borders_and_the_largest_gain_outside(example, data):
    W, S = example
    gain, _ = run_gains(W, S, [])
    bar = data.draw(st.sampled_from([1.0, 1.5, *gain.data]))
    outside = gain.toarray()[(S == 0) & touched(W, S)]
    ptr = np.append(0, np.cumsum((S > 0).sum(axis=1)))
    assert factorize.largest_outside(ptr, gain.indptr, gain.data) == max([1.0, *outside])
    rows_kept, kept_ptr = np.full(len(W), -7), np.zeros(len(W) + 1, dtype=np.int64)
    clusters, values = gain.indices.copy(), gain.data.copy()
    kept = factorize.at_borders(ptr, gain.indptr, clusters, values, bar, rows_kept, kept_ptr)
    wanted = (S > 0) | (gain.toarray() > bar)
    assert rows_kept[:kept].tolist() == np.flatnonzero(wanted.sum(axis=1) > 1).tolist()
    for place, i in enumerate(rows_kept[:kept]):
        part = slice(kept_ptr[place], kept_ptr[place + 1])
        assert sorted(clusters[part].tolist()) == np.flatnonzero(wanted[i]).tolist()
        assert clusters[part][: (S[i] > 0).sum()].tolist() == np.flatnonzero(S[i]).tolist()
        assert values[part].tolist() == gain[[i]].toarray()[0, clusters[part]].tolist()


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
        out = np.zeros(stop - start + 1, np.int64), np.empty(S.size, np.int32), np.empty(S.size)
        filled = groups.merge_clusters(*sparse(S), group, count, start, stop, *out)
        parts.append((out[0], out[1][:filled], out[2][:filled]))
    found = rows(parts, count)
    np.testing.assert_allclose(found.toarray(), S @ naive.indicator(group, count), rtol=1e-14)
    assert found.nnz == (S @ naive.indicator(group, count) > 0).sum()


@given(factored_graphs(clusters=6), st.data(), cuts)
def test_hold_groups(example, data, cut):
    _, S = example
    group, count = data.draw(groupings(S.shape[1]))
    stepped = sparse(data.draw(memberships(len(S), S.shape[1])))
    stepped[2][data.draw(st.lists(st.integers(0, len(stepped[2]) - 1)))] = (
        0.0  # lost in the step, still stored
    )
    parts = []
    for start, stop in pieces(len(S), cut):
        out = np.zeros(stop - start + 1, np.int64), np.empty(2 * S.size, np.int32), np.empty(2 * S.size)
        filled = groups.hold_groups(*stepped, *sparse(S), group, count, start, stop, *out)
        parts.append((out[0], out[1][:filled], out[2][:filled]))
    found = rows(parts, S.shape[1])
    stepped = sp.csr_array((stepped[2], stepped[1], stepped[0]), shape=S.shape).toarray()
    expected = naive.held(stepped, S, naive.indicator(group, count))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    assert found.nnz == (expected > 0).sum()


@given(factored_graphs(clusters=6), cuts)
def test_links(example, cut):
    W, S = example
    d, turned, parts = W.sum(axis=1), rows_of(sp.csc_array(S)), []
    for start, stop in pieces(S.shape[1], cut):
        parts.append(products.links(turned, sparse(S), d, start, stop))
    found = rows(parts, S.shape[1]).toarray()
    expected = naive.cluster_graph(d[:, None] * S, d)
    np.testing.assert_allclose(found, np.triu(expected), rtol=1e-13, atol=0)


def double(x):
    return 2 * x


@pytest.mark.parametrize("problem", [OSError("read-only"), EOFError("cut"), ValueError("garbage")])
def test_a_cache_that_fails_is_passed_over(monkeypatch, tmp_path, problem):
    def fail(*arguments):
        raise problem

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    cache = kernel(double)._cache
    assert kernel(double)(4) == 8
    monkeypatch.setattr(IndexDataCacheFile, "_load_index", fail)
    context = numba.core.registry.cpu_target.target_context
    assert cache.load_overload((numba.int64,), context) is None
    cache.save_overload((numba.int64,), None)
    monkeypatch.setattr(IndexDataCacheFile, "_save_index", fail)
    if isinstance(problem, OSError):
        assert cache.load_overload((numba.int64,), context) is None


def test_no_place_for_a_cache_leaves_the_kernel(monkeypatch):
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator"):
        FunctionCache(double)
    assert kernel(double)(4) == 8


def test_loops_take_the_wide_indices_of_graphs_with_more_edges(monkeypatch):
    graph = graphsoft.as_graph(graphsoft.patterns.block_graph(0, blocks=5, size=20))
    narrow = graphsoft.hierarchy(graph, [12, 4])

    def wide(matrix):
        return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)

    for module in (adjacency, coarsening, graph_module, merging, ordering, sweeps, cluster_graph):
        monkeypatch.setattr(module, "rows_of", wide)
    monkeypatch.setattr(coarsening, "unsigned", lambda indices: indices.astype(np.int64))
    again = graphsoft.hierarchy(sp.csr_array(graph.adjacency), [12, 4])
    for one, other in zip(narrow, again, strict=True):
        assert one.memberships.indices.tolist() == other.memberships.indices.tolist()
        np.testing.assert_allclose(one.memberships.data, other.memberships.data, rtol=1e-9)
