"""Completely positive factorization: every update is the paper's, and lowers the energy."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.kernels.completely_positive import Sums, sweep, sweep_stored, symmetric_sums
from graphsoft.methods import METHODS, CompletelyPositive, Sample, cluster_tuples
from graphsoft.methods.completely_positive import NORMALIZATIONS, Target, factorized
from graphsoft.methods.tuples import _listed, _rows
from graphsoft.normalization import PlusRankTwo, additive
from naive import completely_positive as naive
from shared.shapes import graph_of, ring_of_cliques
from shared.strategies import extreme, small, weight_matrices

few = settings(max_examples=40)


def by_rows(target, G, known_only):
    """The factor after each row that the compiled loops update, and by how much the energy fell."""
    G, order = G.copy(), target.order
    polynomials = np.zeros((order, G.shape[1], G.shape[1]))
    polynomials[0] = 1
    symmetric_sums(G, 0, len(G), polynomials)
    mu = target.mu if len(target.mu) else np.zeros(len(G))
    totals = np.array([G.sum(axis=0), mu @ G])
    sums = Sums(polynomials, polynomials.diagonal(axis1=1, axis2=2).copy(), totals)
    for s in range(len(G)):
        falls = np.zeros(len(G))
        if known_only:
            sweep_stored(target.tuples, G, s, s + 1, falls)
        else:
            sweep(target.tuples, target.mu, G, sums, s, s + 1, falls)
        yield G.copy(), 0.5 * math.factorial(order) * falls.sum()


def compare(steps, rows, energy, scale):
    """Hold what was updated row by row against the slow updates, one by one."""
    steps, rows = list(steps), list(rows)
    k = rows[0][0].shape[1]
    energies = np.array([energy, *(value for _, value in steps)])
    assert (np.diff(energies) <= 1e-12 * (scale + energies[:-1])).all()  # at every single update
    for s, (G, fall) in enumerate(rows):
        slow, after = steps[(s + 1) * k - 1]
        np.testing.assert_allclose(G, slow, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(fall, energies[s * k] - after, atol=1e-9 * (scale + energy))
        assert fall >= 0


@st.composite
def problems(draw, signs=True):
    """Affinities of pairs, and a factor."""
    K = draw(weight_matrices(2, 7, small)) / 100
    if signs:
        flip = np.triu(np.reshape(draw(st.lists(st.booleans(), min_size=K.size, max_size=K.size)), K.shape))
        K[(flip | flip.T) & (K < 0.5)] *= -1
    k, seed = draw(st.integers(1, 3)), draw(st.integers(0, 99))
    G = np.random.default_rng(seed).random((len(K), k))
    G[draw(st.integers(0, len(K) - 1)), 0] = draw(st.sampled_from([0.0, 1e-9, 1.0, 1e5]))
    return K, G


@given(problems())
@few
def test_updates_are_equation_6_and_each_lowers_the_energy(problem):
    K, G = problem
    F, W = K - np.diag(np.diag(K)), naive.all_pairs(len(K))
    target = Target.of_pairs(sp.csr_array(K))
    np.testing.assert_allclose(target.squared, np.sum(F**2))
    energy = naive.energy(F, G, W)
    compare(naive.updates(F, G, W), by_rows(target, G, False), energy, target.squared)


@given(problems())
@few
def test_updates_are_equation_7_where_pairs_are_unknown(problem):
    K, G = problem
    F, W = K - np.diag(np.diag(K)), (K != 0) * naive.all_pairs(len(K))
    target = Target.of_pairs(sp.csr_array(K))
    energy = naive.energy(F, G, W)
    compare(naive.updates(F, G, W), by_rows(target, G, True), energy, target.squared)


@given(problems())
@few
def test_updates_of_the_additive_form_are_those_of_the_dense_matrix(problem):
    K, G = problem
    found = additive(sp.csr_array(K))
    found = PlusRankTwo(
        found.sparse, found.mu + 0.01
    )  # where F is zero, the one is rounded to 0, the other not
    F, W = found.toarray(), naive.all_pairs(len(K))
    target = Target.of_sum(found)
    np.testing.assert_allclose(target.squared, np.sum((W * F) ** 2), rtol=1e-9, atol=1e-9)
    energy = naive.energy(F, G, W)
    compare(naive.updates(F, G, W), by_rows(target, G, False), energy, target.squared)


@st.composite
def tensors(draw):
    n, order = draw(st.integers(4, 6)), draw(st.integers(2, 4))
    tuples = draw(
        st.lists(
            st.lists(st.integers(0, n - 1), min_size=order, max_size=order, unique=True),
            min_size=1,
            max_size=9,
        )
    )
    tensor = {tuple(sorted(each)): draw(st.sampled_from([0.2, 0.5, 1.0])) for each in tuples}
    G = np.random.default_rng(draw(st.integers(0, 99))).random((n, draw(st.integers(1, 3))))
    G[0, 0] *= draw(st.sampled_from([0.0, 1.0, 1e5]))
    return tensor, G, order


@pytest.mark.parametrize("known_only", [False, True])
@given(problem=tensors())
@few
def test_updates_of_tuples_lower_the_energy(problem, known_only):
    tensor, G, order = problem
    target = _listed(_rows(list(tensor)), np.array([tensor[t] for t in sorted_as_rows(tensor)]), len(G))
    energy = naive.tuple_energy(tensor, G, order, known_only)
    slow = naive.tuple_updates(tensor, G, order, known_only)
    compare(slow, by_rows(target, G, known_only), energy, target.squared)


def sorted_as_rows(tensor):
    return [tuple(row) for row in _rows(list(tensor)).tolist()]


@given(problems(), st.booleans())
@few
def test_the_trace_is_the_energy(problem, known_only):
    K, G = problem
    G = G + 0.01
    target = Target.of_pairs(sp.csr_array(K))
    found = factorized(target, G, known_only, 1, 1e-9)
    if not found.trace:
        assert "no affinities" in found.status
        assert not (K > 0)[~np.eye(len(K), dtype=bool)].any()
        return
    F = K - np.diag(np.diag(K))
    W = (F != 0) * 1.0 if known_only else naive.all_pairs(len(K))
    M = W * (G @ G.T)
    scale = np.sum(np.maximum(F, 0) * M) / np.sum(M**2)
    first = naive.energy(F, G * np.sqrt(scale), W)
    np.testing.assert_allclose(found.trace[0], first, rtol=1e-9, atol=1e-9)
    last = list(naive.updates(F, G * np.sqrt(scale), W))[-1][1]
    np.testing.assert_allclose(found.trace[1], last, rtol=1e-6, atol=1e-9)


def test_sums_are_computed_again_if_one_point_holds_almost_all():
    G = np.array([[1e9, 1e9], [1e-3, 2e-3], [3e-3, 1e-3]])
    F = np.ones((3, 3)) - np.eye(3)
    rows = by_rows(Target.of_pairs(sp.csr_array(F)), G, False)
    slow = list(naive.updates(F, G, naive.all_pairs(3)))
    for s, (found, _) in enumerate(rows):
        np.testing.assert_allclose(found, slow[2 * s + 1][0], rtol=1e-9)


@pytest.mark.parametrize("order", [3, 4])
def test_sums_of_every_degree_are_computed_again_if_one_point_holds_almost_all(order):
    tensor = {(0, 1, 2, 3)[:order]: 0.2}
    G = np.array([[6e4, 1e3], [0.3, 0.2], [0.04, 5.0], [0.02, 0.1], [0.5, 0.01]])
    target = _listed(_rows(list(tensor)), np.array([0.2]), len(G))
    slow = list(naive.tuple_updates(tensor, G, order, known_only=False))
    for s, (found, _) in enumerate(by_rows(target, G, known_only=False)):
        np.testing.assert_allclose(found, slow[2 * s + 1][0], rtol=1e-9)


ALL_SETTINGS = [
    (normalization, unstored) for normalization in NORMALIZATIONS for unstored in ("zero", "unknown")
]


@pytest.mark.parametrize(("normalization", "unstored"), ALL_SETTINGS)
@given(W=weight_matrices(3, 9, extreme))
@settings(max_examples=15)
def test_extreme_weights_end_in_memberships(W, normalization, unstored):
    method = CompletelyPositive(normalization, unstored, max_sweeps=40)
    found = graphsoft.cluster(graph_of(W), 2, method=method)
    assert np.isfinite(found.memberships.data).all()
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
    assert np.isfinite(found.trace).all()
    assert (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize(("normalization", "unstored"), ALL_SETTINGS)
def test_cliques_are_found_by_all_settings(normalization, unstored):
    W = ring_of_cliques() + (0.0 if unstored == "zero" else 0.01 * (1 - np.eye(20)))
    found = graphsoft.cluster(graph_of(W), 4, method=CompletelyPositive(normalization, unstored))
    cliques = found.labels.reshape(4, 5)
    assert (cliques == cliques[:, :1]).all()
    assert len(set(cliques[:, 0])) == 4


def test_all_pairs_known_or_unknown_are_the_same_where_all_are_stored():
    X = np.random.default_rng(0).normal(size=(30, 2))
    graph = graphsoft.pairwise_graph(X)
    one, other = (
        graphsoft.cluster(graph, 3, method=CompletelyPositive("none", unstored)).memberships.toarray()
        for unstored in ("zero", "unknown")
    )
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_scale_of_the_weights_does_not_matter():
    W = ring_of_cliques()
    one, other = (graphsoft.cluster(graph_of(c * W), 3, method="cp") for c in (1, 2.0**200))
    assert one.trace == other.trace


def test_the_status_advises():
    graph = graph_of(ring_of_cliques())
    short = graphsoft.cluster(graph, 4, method=CompletelyPositive(max_sweeps=1, start="random"))
    assert short.status.startswith("stopped at 1 sweeps, still explaining")
    assert short.status.endswith("raise max_sweeps")
    assert len(short.trace) == 2
    long = graphsoft.cluster(graph, 4, method="cp")
    assert long.status == f"converged after {long.sweeps} sweeps"


def test_progress_moves():
    calls = []
    graphsoft.cluster(graph_of(ring_of_cliques()), 4, method="cp", progress=lambda *call: calls.append(call))
    told = [call for call in calls if call[0] == "factorizing"]
    assert told
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))


# What is known of pairs


def two_ways():
    """Four groups of points at the corners of a square, which halves as well one way as the other."""
    rng = np.random.default_rng(0)
    corners = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 12, axis=0)
    return corners * 3 + rng.normal(0, 0.3, size=(48, 2)), corners


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_few_pairs_choose_between_two_ways_to_halve(normalization, axis):
    X, corners = two_ways()
    graph = graphsoft.pairwise_graph(X, weights="gaussian", sigma=1.0)
    firsts = [0, 12, 24, 36]
    pairs = [(a + s, b + t) for s in range(4) for t in range(4) for a in firsts for b in firsts if a < b]
    together = [(i, j) for i, j in pairs if corners[i, axis] == corners[j, axis]]
    apart = [(i, j) for i, j in pairs if corners[i, axis] != corners[j, axis]]
    method = CompletelyPositive(normalization)
    found = graphsoft.cluster(graph, 2, method=method, must_link=together, cannot_link=apart)
    assert graphsoft.metrics.accuracy(corners[:, axis], found.labels) == 1
    known = {i: int(corners[i, axis]) for first in firsts for i in range(first, first + 4)}
    again = graphsoft.cluster(graph, 2, method=method, known=known)
    assert (found.memberships != again.memberships).nnz == 0 or graphsoft.metrics.accuracy(
        found.labels, again.labels
    ) == 1


def test_the_strength_of_what_is_known():
    # two pairs, and an edge between them that is known to be wrong
    W = np.array([[0, 1, 0, 0], [1, 0, 0.9, 0], [0, 0.9, 0, 1], [0, 0, 1, 0.0]])
    weak, strong = (
        graphsoft.cluster(graph_of(W), 2, method=CompletelyPositive(strength=a), cannot_link=[(1, 2)])
        for a in (0.01, 1.0)
    )
    overlap = [(each.memberships @ each.memberships.T).toarray()[1, 2] for each in (weak, strong)]
    assert overlap[1] < overlap[0]
    assert overlap[1] < 1e-6


def test_a_graph_of_which_nothing_is_left():
    graph = graph_of(np.ones((3, 3)) - np.eye(3))
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = METHODS["cp"].cluster(
        Sample(graph, None, graphsoft.input.constraints.side_information(range(3), cannot_link=pairs)),
        2,
        np.random.default_rng(0),
    )
    assert "no affinities" in found.status
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)


# Tuples


def lines(n=12, seed=0):
    """Points on two lines that cross, and all triples with how well each lies on a line."""
    from itertools import combinations

    t = np.linspace(-1, 1, n)
    X = np.concatenate([np.column_stack([t, t]), np.column_stack([t, -t])])
    X += np.random.default_rng(seed).normal(0, 0.005, X.shape)
    triples = np.array(list(combinations(range(2 * n), 3)))
    flat = [np.linalg.svd(X[each] - X[each].mean(axis=0))[1][1] for each in triples]
    return triples, np.exp(-((np.array(flat) / 0.02) ** 2)), np.repeat([0, 1], n)


@pytest.mark.parametrize("unstored", ["zero", "unknown"])
def test_lines_are_found_by_triples_where_pairs_say_nothing(unstored):
    triples, affinity, truth = lines()
    found = cluster_tuples(triples, 2, affinity, unstored=unstored)
    assert graphsoft.metrics.accuracy(truth, found.labels) == 1
    assert (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize("unstored", ["zero", "unknown"])
@given(W=weight_matrices(4, 10, small))
@few
def test_tuples_of_two_are_pairs(W, unstored):
    np.fill_diagonal(W, 0)
    W[np.arange(len(W)), (np.arange(len(W)) + 1) % len(W)] += 1  # a ring, so that no node is alone
    W[(np.arange(len(W)) + 1) % len(W), np.arange(len(W))] += 1
    W /= W.max()  # as both do; rounding decides between contractions that are equally good
    i, j = np.nonzero(np.triu(W))
    found = cluster_tuples(np.column_stack([j, i]), 3, W[i, j], unstored=unstored)
    pairs = CompletelyPositive("none", unstored).cluster(Sample(graph_of(W)), 3, np.random.default_rng(0))
    np.testing.assert_allclose(found.memberships.toarray(), pairs.memberships.toarray(), atol=1e-9)
    np.testing.assert_allclose(found.trace, pairs.trace, rtol=1e-9, atol=1e-12)


@given(tensors(), st.integers(0, 9))
@few
def test_the_order_of_tuples_and_points_does_not_matter(problem, seed):
    tensor, _, _ = problem
    random = np.random.default_rng(seed)
    rows = [random.permutation(t) for t in tensor]
    order = random.permutation(len(rows))
    one = cluster_tuples(list(tensor), 2, list(tensor.values()), points=6)
    other = cluster_tuples([rows[at] for at in order], 2, np.array(list(tensor.values()))[order], points=6)
    np.testing.assert_allclose(one.memberships.toarray(), other.memberships.toarray(), atol=1e-9)


def test_points_in_no_tuple_belong_to_all_clusters_alike():
    found = cluster_tuples([(0, 1, 2), (3, 4, 6)], 2, points=8)
    S = found.memberships.toarray()
    assert S.shape == (8, 2)
    assert (S[[5, 7]] == 0.5).all()
    assert found.status.endswith("2 points are in no tuple")
    assert len(set(found.labels[[0, 1, 2]])) == len(set(found.labels[[3, 4, 6]])) == 1
    assert found.labels[0] != found.labels[3]


def test_extreme_affinities_of_tuples():
    found = cluster_tuples([(0, 1, 2), (2, 3, 4), (4, 5, 0)], 2, [1e-90, 1.0, 1e90])
    assert np.isfinite(found.memberships.data).all()
    assert (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize(
    ("tuples", "keywords", "words"),
    [
        ([], {}, r"tuples: got \[\]"),
        (5, {}, "tuples: got 5"),
        ([(0, 1, 2), (0, 1)], {}, r"tuples: got \[\(0, 1, 2\), \(0, 1\)\]"),
        ([(0,)], {}, r"tuples: got \[\(0,\)\]"),
        ([(0.5, 1.0)], {}, "tuples: got"),
        ([("a", "b")], {}, "tuples: got"),
        ([(0, 1, 0)], {}, r"tuples: name a point twice in \(0, 0, 1\)"),
        ([(0, -1, 2)], {}, "tuples: hold the point -1"),
        ([(0, 1), (1, 0)], {}, r"tuples: hold \(0, 1\) more than once"),
        ([(0, 1, 7)], {"points": 5}, "tuples: name point 7 of 5 points"),
        ([(0, 1)], {"k": 3}, "k: got 3 clusters for 2 points"),
        ([(0, 1)], {"k": 0}, "k: got 0"),
        ([(0, 1)], {"affinity": [1, 2]}, r"affinity: got \[1, 2\] for 1 tuples"),
        ([(0, 1)], {"affinity": [-1.0]}, "affinity: got"),
        ([(0, 1)], {"affinity": [0.0]}, "affinity: got"),
        ([(0, 1)], {"affinity": [np.nan]}, "affinity: got"),
        ([(0, 1)], {"affinity": ["high"]}, "affinity: got"),
        ([(0, 1)], {"affinity": [10**400]}, "affinity: got"),
        ([(0, 1)], {"points": 10**400}, "points: asks for"),
        ([(0, 2**40)], {}, "tuples: asks for 1099511627777 points"),
        ([(0, 1)], {"unstored": "maybe"}, "unstored: got 'maybe'"),
        ([(0, 1)], {"start": "none"}, "start: got 'none'"),
        ([(0, 1)], {"tolerance": 0}, "tolerance: got 0"),
        ([(0, 1)], {"max_sweeps": 0}, "max_sweeps: got 0"),
        ([(0, 1)], {"points": 0}, "points: got 0"),
        ([(0, 1)], {"progress": 1}, "progress: got 1"),
        ([(0, 1)], {"rng": "seed"}, "rng: got 'seed'"),
    ],
)
def test_bad_tuples_are_refused(tuples, keywords, words):
    keywords = {"k": 1, **keywords}
    with pytest.raises(InputError, match=words):
        cluster_tuples(tuples, **keywords)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"normalization": "cosine"}, "normalization: got 'cosine'"),
        ({"unstored": "one"}, "unstored: got 'one'"),
        ({"strength": 0}, "strength: got 0"),
        ({"strength": 1.5}, "strength: got 1.5"),
        ({"strength": True}, "strength: got True"),
        ({"strength": float("nan")}, "strength: got nan"),
        ({"start": "middle"}, "start: got 'middle'"),
        ({"max_sweeps": 0}, "max_sweeps: got 0"),
        ({"tolerance": "low"}, "tolerance: got 'low'"),
    ],
)
def test_bad_settings_are_refused(keywords, words):
    with pytest.raises(InputError, match=words):
        CompletelyPositive(**keywords)


def test_a_sum_of_parts_is_never_written_out():
    n = 30_000
    ring = sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr()
    target = Target.of_sum(PlusRankTwo(ring, np.full(n, 1e-3)))
    random = np.random.default_rng(0)
    found = factorized(target, random.random((n, 2)), False, 3, 1e-9)
    assert (np.diff(found.trace) <= 0).all()
