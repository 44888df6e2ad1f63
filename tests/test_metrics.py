import naive_tree as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from graphsoft import metrics
from graphsoft.errors import InputError

SKLEARN_NAMES = {"max": "max", "mean": "arithmetic", "sqrt": "geometric", "min": "min"}

pairs_of_labels = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 3)), min_size=1, max_size=25)


@given(pairs_of_labels)
def test_scores_equal_the_naive_ones(pairs):
    truth, labels = map(list, zip(*pairs, strict=True))
    assert metrics.confusion(truth, labels).toarray().tolist() == naive.contingency(truth, labels)
    assert metrics.accuracy(truth, labels) == pytest.approx(naive.accuracy(truth, labels))
    assert metrics.purity(truth, labels) == pytest.approx(naive.purity(truth, labels))
    assert metrics.adjusted_rand(truth, labels) == pytest.approx(naive.adjusted_rand(truth, labels))
    if len(set(truth)) > 1 and len(set(labels)) > 1:
        larger = max(
            naive.entropy(np.bincount(truth)), naive.entropy(np.unique(labels, return_counts=True)[1])
        )
        expected = naive.mutual_information(truth, labels) / larger
        assert metrics.nmi(truth, labels) == pytest.approx(expected, abs=1e-12)


@given(pairs_of_labels)
def test_scores_equal_those_of_scikit_learn(pairs):
    truth, labels = map(list, zip(*pairs, strict=True))
    expected = sklearn_metrics.adjusted_rand_score(truth, labels)
    assert metrics.adjusted_rand(truth, labels) == pytest.approx(expected, abs=1e-12)
    for ours, theirs in SKLEARN_NAMES.items():
        expected = sklearn_metrics.normalized_mutual_info_score(truth, labels, average_method=theirs)
        assert metrics.nmi(truth, labels, ours) == pytest.approx(expected, abs=1e-9)


@given(pairs_of_labels, st.sampled_from([*SKLEARN_NAMES, "joint"]))
def test_nmi_is_symmetric_and_between_0_and_1(pairs, normalizer):
    truth, labels = map(list, zip(*pairs, strict=True))
    score = metrics.nmi(truth, labels, normalizer)
    assert 0 <= score <= 1
    assert score == pytest.approx(metrics.nmi(labels, truth, normalizer))
    assert metrics.nmi(truth, truth, normalizer) == pytest.approx(1.0)


def test_names_do_not_matter():
    truth, labels = ["b", "b", "a", "c"], [7, 7, 9, 1]
    for score in (metrics.accuracy, metrics.purity, metrics.nmi, metrics.adjusted_rand):
        assert score(truth, labels) == pytest.approx(1.0)


def test_many_points_do_not_overflow():
    truth = np.repeat([0, 1], 3_000_000)
    assert metrics.adjusted_rand(truth, truth) == 1.0
    mixed = np.tile([0, 1], 3_000_000)
    assert metrics.adjusted_rand(truth, mixed) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("truth", "labels", "argument"),
    [
        ([], [], "truth"),
        ([[0, 1]], [0, 1], "truth"),
        ([0, 1], [0, 1, 1], "labels"),
        (np.array(["a", 1], dtype=object), [0, 1], "truth"),
    ],
)
def test_wrong_labels_are_named(truth, labels, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        metrics.accuracy(truth, labels)


def test_unknown_normalizer():
    with pytest.raises(InputError, match="max, mean, sqrt, min, joint"):
        metrics.nmi([0, 1], [0, 1], "median")
