"""Completely positive factorization of pairs: updates as in the paper, whole runs, known pairs, settings."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import METHODS, CompletelyPositive, Sample
from graphsoft.methods.completely_positive import NORMALIZATIONS, Target, factorized
from graphsoft.normalization import PlusRankTwo, additive
from naive import completely_positive as naive
from shared.row_updates import by_rows, compare
from shared.shapes import graph_of, ring_of_cliques
from shared.strategies import extreme, small, weight_matrices

few = settings(max_examples=40)


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
def test_updates_follow_equation_6_and_each_lowers_the_energy(problem):
    K, G = problem
    F, W = K - np.diag(np.diag(K)), naive.all_pairs(len(K))
    target = Target.of_pairs(sp.csr_array(K))
    np.testing.assert_allclose(target.squared, np.sum(F**2))
    energy = naive.energy(F, G, W)
    compare(naive.updates(F, G, W), by_rows(target, G, False), energy, target.squared)


@given(problems())
@few
def test_updates_follow_equation_7_if_pairs_are_unknown(problem):
    K, G = problem
    F, W = K - np.diag(np.diag(K)), (K != 0) * naive.all_pairs(len(K))
    target = Target.of_pairs(sp.csr_array(K))
    energy = naive.energy(F, G, W)
    compare(naive.updates(F, G, W), by_rows(target, G, True), energy, target.squared)


@given(problems())
@few
def test_updates_of_the_additive_form_equal_those_of_the_dense_matrix(problem):
    K, G = problem
    found = additive(sp.csr_array(K))
    # without it, entries of F that should be zero would be zero in one form and rounding errors in the other
    found = PlusRankTwo(found.sparse, found.mu + 0.01)
    F, W = found.toarray(), naive.all_pairs(len(K))
    target = Target.of_sum(found)
    np.testing.assert_allclose(target.squared, np.sum((W * F) ** 2), rtol=1e-9, atol=1e-9)
    energy = naive.energy(F, G, W)
    compare(naive.updates(F, G, W), by_rows(target, G, False), energy, target.squared)


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


ALL_SETTINGS = [
    (normalization, unstored) for normalization in NORMALIZATIONS for unstored in ("zero", "unknown")
]


@pytest.mark.parametrize(("normalization", "unstored"), ALL_SETTINGS)
@given(W=weight_matrices(3, 9, extreme))
@settings(max_examples=15)
def test_extreme_weights_give_memberships(W, normalization, unstored):
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


def test_unstored_pairs_do_not_matter_if_all_pairs_are_stored():
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


def test_progress():
    calls = []
    graphsoft.cluster(graph_of(ring_of_cliques()), 4, method="cp", progress=lambda *call: calls.append(call))
    steps = [done for stage, done, _ in calls if stage == "factorizing"]
    assert steps
    assert steps == list(range(1, len(steps) + 1))


# Known pairs


def two_ways():
    """Four groups of points at the corners of a square, which can be halved in two ways equally well."""
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


def test_the_strength_of_known_pairs():
    # two pairs, and an edge between them that is known to be wrong
    W = np.array([[0, 1, 0, 0], [1, 0, 0.9, 0], [0, 0.9, 0, 1], [0, 0, 1, 0.0]])
    weak, strong = (
        graphsoft.cluster(graph_of(W), 2, method=CompletelyPositive(strength=a), cannot_link=[(1, 2)])
        for a in (0.01, 1.0)
    )
    overlap = [(each.memberships @ each.memberships.T).toarray()[1, 2] for each in (weak, strong)]
    assert overlap[1] < overlap[0]
    assert overlap[1] < 1e-6


def test_known_pairs_may_leave_no_affinities():
    graph = graph_of(np.ones((3, 3)) - np.eye(3))
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = METHODS["cp"].cluster(
        Sample(graph, None, graphsoft.input.constraints.matrix_of_pairs(range(3), cannot_link=pairs)),
        2,
        np.random.default_rng(0),
    )
    assert "no affinities" in found.status
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)


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


def test_a_matrix_in_parts_never_becomes_dense():
    n = 30_000
    ring = sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr()
    target = Target.of_sum(PlusRankTwo(ring, np.full(n, 1e-3)))
    random = np.random.default_rng(0)
    found = factorized(target, random.random((n, 2)), False, 3, 1e-9)
    assert (np.diff(found.trace) <= 0).all()
