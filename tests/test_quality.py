"""Minimum scores of the default call on labeled data, whose labels it does not see."""

import os
from pathlib import Path

import numpy as np
import pytest

import graphsoft
from graphsoft import datasets, metrics

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("GRAPHSOFT_DATA", ROOT.parent / "shared" / "data"))


def shared_set(name):
    file = SHARED / f"{name}.npz"
    if not file.exists():
        pytest.skip(f"{file.name} is missing; set GRAPHSOFT_DATA to the folder that has it")
    return read(file, "y")


def bundled_set(name):
    return read(ROOT / "data" / name, "label")


def read(file, labels):
    found = datasets.read(file, labels=labels)
    return found.data, found.labels


def scores(data, levels, **options):
    X, y = data
    labels = graphsoft.hierarchy(X, levels, **options)[-1].labels
    return metrics.accuracy(y, labels), metrics.nmi(y, labels)


def test_usps_1234():
    accuracy, nmi = scores(shared_set("usps_1234"), [100, 20, 10, 4])
    assert accuracy >= 0.985
    assert nmi >= 0.94


def test_usps():
    accuracy, _ = scores(shared_set("usps"), [100, 20, 10])
    assert accuracy >= 0.955


def test_ng4_paper():
    accuracy, _ = scores(shared_set("ng4_paper"), [100, 20, 4], metric="cosine")
    assert accuracy >= 0.89


def test_digits():
    accuracy, nmi = scores(bundled_set("digits.csv.gz"), [100, 20, 10])
    assert accuracy >= 0.86
    assert nmi >= 0.86


def test_iris():
    accuracy, nmi = scores(bundled_set("iris.csv"), [20, 3])
    assert accuracy >= 0.88
    assert nmi >= 0.77


@pytest.mark.parametrize(
    ("pattern", "min_accuracy"),
    [("rings", 1), ("bowl", 1), ("lines", 1), ("four_squares", 0.99), ("two_gaussians", 0.96)],
)
def test_patterns(pattern, min_accuracy):
    X, y = bundled_set(f"patterns/{pattern}.csv")
    accuracy, _ = scores((X, y), [20, len(set(y))])
    assert accuracy >= min_accuracy


@pytest.mark.parametrize("levels", [[6], [18, 6], [60, 18, 6]], ids=str)
def test_nodes_of_two_communities_belong_to_both_on_every_ladder(levels):
    rng = np.random.default_rng(0)
    members = np.eye(6)[np.arange(300) % 6]
    twofold = np.arange(300) % 5 == 0
    members[twofold, (np.arange(300)[twofold] + 1) % 6] = 1.0
    shares = members / members.sum(axis=1, keepdims=True)  # of a node's edges in each of its communities
    chances = 0.02 + 0.28 * (shares @ members.T + members @ shares.T) / 2
    upper = np.triu(rng.random((300, 300)) < chances, 1)
    top = graphsoft.hierarchy((upper + upper.T).astype(float), levels, affinity="precomputed")[-1]
    several = (top.memberships.toarray() >= 0.25).sum(axis=1) > 1
    assert several[twofold].mean() >= 0.8
    assert several[~twofold].mean() <= 0.1
