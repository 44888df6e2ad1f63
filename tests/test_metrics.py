"""Scores of labels, of memberships, and of clusters of a graph, and the test of paired runs."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from graphsoft import metrics
from graphsoft.errors import InputError
from naive import engine as naive
from naive import metrics as naive_metrics
from shared.shapes import graph_of, ring_of_cliques
from shared.strategies import factored_graphs, memberships, plain, small, weight_matrices

SKLEARN_NAMES = {"max": "max", "mean": "arithmetic", "sqrt": "geometric", "min": "min"}
NORMALIZERS = [*SKLEARN_NAMES, "joint"]
# scores of classes and clusters
SCORES = [
    metrics.accuracy,
    metrics.purity,
    metrics.conditional_entropy,
    metrics.rand,
    metrics.adjusted_rand,
    *(lambda truth, labels, name=name: metrics.nmi(truth, labels, name) for name in NORMALIZERS),
]

pairs_of_labels = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 3)), min_size=1, max_size=25)


@st.composite
def soft_pairs(draw, max_size=4, clusters=2):
    """Memberships of the same points in classes and in clusters."""
    n = draw(st.integers(1, max_size))
    return tuple(draw(memberships(n, draw(st.integers(1, clusters)))) for _ in range(2))


# Scores of labels


@given(pairs_of_labels)
def test_scores_equal_the_naive_ones(pairs):
    truth, labels = map(list, zip(*pairs, strict=True))
    assert metrics.confusion(truth, labels).toarray().tolist() == naive_metrics.contingency(truth, labels)
    assert metrics.accuracy(truth, labels) == pytest.approx(naive_metrics.accuracy(truth, labels))
    assert metrics.purity(truth, labels) == pytest.approx(naive_metrics.purity(truth, labels))
    assert metrics.adjusted_rand(truth, labels) == pytest.approx(naive_metrics.adjusted_rand(truth, labels))
    assert metrics.rand(truth, labels) == pytest.approx(naive_metrics.rand(truth, labels))
    sizes = [naive_metrics.entropy(np.unique(each, return_counts=True)[1]) for each in (truth, labels)]
    shared = naive_metrics.mutual_information(truth, labels)
    assert metrics.entropy(labels) == pytest.approx(sizes[1], abs=1e-12)
    assert metrics.conditional_entropy(truth, labels) == pytest.approx(sizes[0] - shared, abs=1e-12)
    if len(set(truth)) > 1 and len(set(labels)) > 1:
        assert metrics.nmi(truth, labels) == pytest.approx(shared / max(sizes), abs=1e-12)


@given(pairs_of_labels)
def test_scores_equal_those_of_scikit_learn(pairs):
    truth, labels = map(list, zip(*pairs, strict=True))
    expected = sklearn_metrics.adjusted_rand_score(truth, labels)
    assert metrics.adjusted_rand(truth, labels) == pytest.approx(expected, abs=1e-12)
    assert metrics.rand(truth, labels) == pytest.approx(sklearn_metrics.rand_score(truth, labels))
    for ours, theirs in SKLEARN_NAMES.items():
        expected = sklearn_metrics.normalized_mutual_info_score(truth, labels, average_method=theirs)
        assert metrics.nmi(truth, labels, ours) == pytest.approx(expected, abs=1e-9)


@given(pairs_of_labels, st.sampled_from(NORMALIZERS))
def test_nmi_is_symmetric_and_between_0_and_1(pairs, normalizer):
    truth, labels = map(list, zip(*pairs, strict=True))
    score = metrics.nmi(truth, labels, normalizer)
    assert 0 <= score <= 1
    assert score == pytest.approx(metrics.nmi(labels, truth, normalizer))
    assert metrics.nmi(truth, truth, normalizer) == pytest.approx(1.0)


def test_the_names_of_labels_do_not_matter():
    truth, labels = ["b", "b", "a", "c"], [7, 7, 9, 1]
    for score in (metrics.accuracy, metrics.purity, metrics.nmi, metrics.rand, metrics.adjusted_rand):
        assert score(truth, labels) == pytest.approx(1.0)


def test_many_points_do_not_overflow():
    truth = np.repeat([0, 1], 300_000)
    assert metrics.adjusted_rand(truth, truth) == metrics.rand(truth, truth) == 1.0
    mixed = np.tile([0, 1], 300_000)
    table = metrics.confusion(truth, mixed)
    assert table.dtype == np.int64
    assert table.toarray().tolist() == [[150_000, 150_000]] * 2
    everything = 600_000 * 599_999 // 2
    once = 4 * (150_000 * 149_999 // 2)
    twice = 2 * (300_000 * 299_999 // 2)
    assert metrics.rand(truth, mixed) == (everything + 2 * once - 2 * twice) / everything
    by_chance = Fraction(twice**2, everything)
    assert metrics.adjusted_rand(truth, mixed) == float((once - by_chance) / (twice - by_chance))


@given(pairs_of_labels)
def test_a_matched_table_has_the_match_on_its_diagonal(pairs):
    truth, labels = map(list, zip(*pairs, strict=True))
    table, plain_table = metrics.matched(truth, labels), metrics.confusion(truth, labels)
    dense = table.toarray()
    assert table.dtype == plain_table.dtype
    assert np.trace(dense[:, : len(dense)]) / len(truth) == pytest.approx(metrics.accuracy(truth, labels))
    columns = [column for column in dense.T.tolist() if any(column)]
    assert sorted(columns) == sorted(plain_table.toarray().T.tolist())
    assert not dense[:, len(dense) :].any() or dense[:, : len(dense)].any(axis=0).all()


# Scores of memberships


@given(pairs_of_labels, st.sampled_from([np.asarray, sp.csr_array, sp.coo_matrix]))
def test_hard_memberships_have_exactly_the_scores_of_labels(pairs, kind):
    truth, labels = map(list, zip(*pairs, strict=True))
    columns = [*np.unique(labels).tolist(), 99]  # the last one is empty
    S = kind(np.array([[float(label == column) for column in columns] for label in labels]))
    for score in SCORES:
        assert score(truth, S) == score(truth, labels)
        assert score(S, truth) == score(labels, truth)
    assert metrics.entropy(S) == metrics.entropy(labels)
    assert metrics.confusion(truth, S).dtype == np.int64


@given(soft_pairs())
@settings(max_examples=50)
def test_soft_counts_are_expected_values(drawn):
    T, S = drawn
    table = naive_metrics.expected(
        lambda t, s: naive_metrics.indicator(t, T.shape[1]).T @ naive_metrics.indicator(s, S.shape[1]),
        T,
        S,
    )
    np.testing.assert_allclose(metrics.confusion(T, S).toarray(), table, atol=1e-12)
    pairs = len(T) * (len(T) - 1) // 2
    assert metrics.rand(T, S) == pytest.approx(naive_metrics.expected(naive_metrics.rand, T, S))
    if pairs:
        both, first, second = naive_metrics.expected(naive_metrics.pair_counts, T, S)
        assume((first + second) / 2 - first * second / pairs > 1e-6)
        expected = naive_metrics.adjusted(both, first, second, pairs)
        assert metrics.adjusted_rand(T, S) == pytest.approx(expected, abs=1e-9)


@given(soft_pairs(max_size=12, clusters=4))
def test_soft_scores_follow_from_the_table(drawn):
    T, S = drawn
    table = T.T @ S
    share = table / table.sum()
    joint, first, second = (
        -sum(p * np.log(p) for p in each.ravel() if p > 0)
        for each in (share, share.sum(axis=1), share.sum(axis=0))
    )
    assert metrics.purity(T, S) == pytest.approx(share.max(axis=0).sum())
    assert metrics.accuracy(T, S) == pytest.approx(np.trace(metrics.matched(T, S).toarray()) / len(T))
    assert metrics.entropy(S) == pytest.approx(second, abs=1e-9)
    assert metrics.conditional_entropy(T, S) == pytest.approx(joint - second, abs=1e-9)
    if min(first, second) > 1e-3:
        expected = (first + second - joint) / max(first, second)
        assert metrics.nmi(T, S) == pytest.approx(expected, abs=1e-6)
    for score in SCORES:
        assert np.isfinite(score(T, S))


def test_soft_clusters_lie_between_hard_ones():
    truth = [0, 0, 1, 1]
    scores = []
    for torn in (0.0, 0.2, 0.5):
        S = np.array([[1 - torn, torn]] * 2 + [[torn, 1 - torn]] * 2)
        scores.append([score(truth, S) for score in (metrics.accuracy, metrics.rand, metrics.nmi)])
    np.testing.assert_allclose(scores[0], 1)
    np.testing.assert_allclose(scores[2], [0.5, 0.5, 0], atol=1e-12)
    assert (np.array(scores[1]) < scores[0]).all()
    assert (np.array(scores[1]) > scores[2]).all()


def test_single_precision_memberships_are_read():
    S = np.random.default_rng(0).dirichlet(np.ones(7), size=50).astype(np.float32)
    truth = np.arange(50) % 3
    assert metrics.nmi(truth, S) == pytest.approx(metrics.nmi(truth, S.astype(np.float64)), abs=1e-5)


# Scores of a graph


@given(weight_matrices(1, 10, plain), st.data())
def test_modularity_equals_that_of_networkx(W, data):
    assume(W.any())
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(W), max_size=len(W)))
    # networkx counts a loop twice in the degree of its node
    theirs = nx.from_numpy_array(W - np.diag(np.diag(W)) / 2)
    groups = [{i for i, label in enumerate(labels) if label == q} for q in set(labels)]
    expected = nx.community.modularity(theirs, groups)
    assert metrics.modularity(graph_of(W), labels) == pytest.approx(expected, abs=1e-12)


@given(factored_graphs())
def test_modularity_of_memberships(drawn):
    W, S = drawn
    assume(W.any())
    expected = naive_metrics.modularity(W / W.max(), S)
    assert metrics.modularity(graph_of(W), S) == pytest.approx(expected, abs=1e-9)


def test_modularity_of_graphs_without_edges_or_with_extreme_weights():
    assert metrics.modularity(graph_of(np.zeros((3, 3))), [0, 0, 1]) == 0
    W = ring_of_cliques()
    labels = np.repeat(range(4), 5)
    expected = metrics.modularity(graph_of(W), labels)
    assert expected > 0.7
    for unit in (1e-300, 1e-90, 1e90, 1e300):
        assert metrics.modularity(graph_of(W * unit), labels) == pytest.approx(expected)


@given(factored_graphs(weights=small))
def test_the_likelihood_of_labels_and_memberships(drawn):
    W, S = drawn
    total = W.sum()
    expected = naive.log_likelihood(W, S, floor=1e-3 / total) if total else 0.0
    assert metrics.log_likelihood(graph_of(W), S) == pytest.approx(expected, abs=1e-6)
    labels = S.argmax(axis=1)
    hard = naive_metrics.indicator(labels, S.shape[1])
    expected = naive.log_likelihood(W, hard, floor=1e-3 / total) if total else 0.0
    assert metrics.log_likelihood(graph_of(W), labels) == pytest.approx(expected, abs=1e-6)


def test_graphs_come_in_any_format():
    matrix, labels = sp.csr_array(ring_of_cliques()), np.repeat(range(4), 5)
    for score in (metrics.modularity, metrics.log_likelihood, metrics.normalized_cut):
        assert score(matrix, labels) == score(nx.from_scipy_sparse_array(matrix), labels)
        assert score(matrix, labels) == score(matrix, naive_metrics.indicator(labels, 4))
        with pytest.raises(InputError, match=r"labels: got .*3.* for 20 nodes"):
            score(matrix, [0, 1, 1])


# Paired runs


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
@settings(max_examples=50)
def test_wilcoxon_tries_all_signs(differences):
    nonzero = [d for d in differences if d]
    expected = naive_metrics.signed_rank(nonzero) if nonzero else 1.0
    found = metrics.wilcoxon(differences, np.zeros(len(differences)))
    assert found == pytest.approx(expected)
    assert metrics.wilcoxon(np.zeros(len(differences)), differences) == pytest.approx(found)


def test_wilcoxon_of_equal_runs():
    assert metrics.wilcoxon([0.9, 0.8], [0.9, 0.8]) == 1
    assert metrics.wilcoxon([True, False], [0, 1]) == 1


def test_wilcoxon_of_many_runs():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 200))
    assert metrics.wilcoxon(first, second) > 0.05
    assert metrics.wilcoxon(first + 1, second) < 1e-6


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([], [], "first: got shape"),
        ([0.1], [0.1, 0.2], "second: got 2 runs where first has 1"),
        ([0.1, np.nan], [0.1, 0.2], "first: holds a number that is not finite"),
        ([0.1], ["b"], "second: got shape"),
        ([[0.1]], [0.1], "first: got shape"),
    ],
)
def test_wrong_runs_are_refused(first, second, message):
    with pytest.raises(InputError, match=message):
        metrics.wilcoxon(first, second)


# Wrong input


@pytest.mark.parametrize(
    ("truth", "labels", "message"),
    [
        ([], [], "truth: got shape"),
        (0, [0], "truth: got 0. Remedy: give labels"),
        ([[[0, 1]]], [0, 1], "truth: got shape"),
        ([0, 1], [0, 1, 1], "labels: got 3 for 2"),
        (np.array(["a", 1], dtype=object), [0, 1], "truth: cannot be sorted"),
        ([1, "1"], [0, 1], "truth: holds \\[1, '1'\\]"),  # of which NumPy makes the same text
        ([0, 1], np.ma.array([0, 1], mask=[True, False]), "labels: has masked entries"),
        ([[0], [3]], [0, 1], "truth: has row 0, which sums to 0"),
        ([0, 1], [[0.5, 0.4], [1, 0]], "labels: has row 0, which sums to 0.9"),
        ([0, 1], [[1.5, -0.5], [1, 0]], "labels: holds -0.5"),
        ([0, 1], [[np.nan, 1], [1, 0]], "labels: .*nan"),
        ([0, 1], sp.csr_array([[0.5, 0.4], [1, 0]]), "labels: has row 0"),
        ([0, 1], sp.csr_array((0, 2)), "labels: got 0 samples"),
    ],
)
def test_wrong_labels_are_refused(truth, labels, message):
    with pytest.raises(InputError, match=f"(?i)^{message}"):
        metrics.accuracy(truth, labels)


def test_large_labels_stay_different():
    large = [2**63, 2**63 + 1, -1, -1]
    assert metrics.adjusted_rand([0, 1, 2, 2], large) == 1.0
    assert metrics.adjusted_rand([0, 0, 1, 1], large) < 1.0
    assert metrics.purity([0.5, 2**60 + 1, 2**60], [0, 1, 2]) == 1.0


def test_unknown_normalizer():
    with pytest.raises(InputError, match="'max', 'mean', 'sqrt', 'min', 'joint'"):
        metrics.nmi([0, 1], [0, 1], "median")
    with pytest.raises(InputError, match=r"normalizer: got \['max'\]"):
        metrics.nmi([0, 1], [0, 1], ["max"])


def test_all_scores_are_listed():
    assert all(callable(getattr(metrics, name)) for name in metrics.__all__)
