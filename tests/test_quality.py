"""Marks: what the default call reaches, without labels, on data that come with labels."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import datasets, metrics

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("GRAPHSOFT_DATA", ROOT.parent / "shared" / "data"))


def shared(name):
    file = SHARED / f"{name}.npz"
    if not file.exists():
        pytest.skip(f"{file.name} is not there; GRAPHSOFT_DATA names the folder that holds it")
    with np.load(file, allow_pickle=False) as data:
        if "X" in data:
            return data["X"], data["y"]
        return sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=data["shape"]), data["y"]


def bundled(name):
    data = datasets.read(ROOT / "data" / name, labels="label")
    return data.data, data.labels


def scores(data, levels, **options):
    X, y = data
    labels = graphsoft.hierarchy(X, levels, **options)[-1].labels
    return metrics.accuracy(y, labels), metrics.nmi(y, labels)


def test_usps_1234():
    accuracy, nmi = scores(shared("usps_1234"), [100, 20, 10, 4])
    assert accuracy >= 0.985
    assert nmi >= 0.94


def test_usps():
    accuracy, _ = scores(shared("usps"), [100, 20, 10])
    assert accuracy >= 0.955


def test_ng4_paper():
    accuracy, _ = scores(shared("ng4_paper"), [100, 20, 4], metric="cosine")
    assert accuracy >= 0.89


def test_digits():
    accuracy, nmi = scores(bundled("digits.csv.gz"), [100, 20, 10])
    assert accuracy >= 0.86
    assert nmi >= 0.86


def test_iris():
    accuracy, nmi = scores(bundled("iris.csv"), [20, 3])
    assert accuracy >= 0.88
    assert nmi >= 0.77


@pytest.mark.parametrize(
    ("pattern", "min_size"),
    [("rings", 1), ("bowl", 1), ("lines", 1), ("four_squares", 0.99), ("two_gaussians", 0.96)],
)
def test_patterns(pattern, min_size):
    X, y = bundled(f"patterns/{pattern}.csv")
    accuracy, _ = scores((X, y), [20, len(set(y))])
    assert accuracy >= min_size
