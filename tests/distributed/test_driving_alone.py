"""A single partition gives what one machine gives, for all kinds of graphs."""

from contextlib import nullcontext
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.neighbors.nearest import METRICS
from graphsoft.neighbors.points import Points, first_copies
from graphsoft.neighbors.weights import WEIGHTS
from shared.runs import LEVELS, nested_clouds

X, _ = nested_clouds(500)
WORDS = sp.csr_array(np.where(X > 1, X, 0))


def compared(rows, directory, levels=LEVELS, **options):
    """Compare all that is the same, and return the result on disk and the one in memory."""
    h = graphsoft.hierarchy(rows, levels, directory=directory, partitions=1, **options)
    one = graphsoft.hierarchy(rows, levels, **options)
    for level, other in zip(h, one, strict=True):
        found = level.memberships[np.arange(rows.shape[0])].toarray()
        assert np.allclose(found, other.memberships.toarray(), rtol=0, atol=1e-12)
        assert (np.asarray(level.labels) == other.labels).all()
        assert np.allclose(level.mass, other.mass, rtol=1e-12)
        assert np.allclose(level.graph.toarray(), other.graph.toarray(), atol=1e-9)
        assert level.report.sweeps == other.report.sweeps
        if level.parents is not None:
            assert np.allclose(level.parents.toarray(), other.parents.toarray(), atol=1e-12)
    return h, one


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights(tmp_path, weights):
    h, one = compared(X, tmp_path, weights=weights)
    for level, other in zip(h, one, strict=True):
        assert np.isclose(level.report.log_likelihood, other.report.log_likelihood, rtol=1e-7)
    assert (h.report.edges, h.report.components) == (one.report.edges, one.report.components)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics(tmp_path, metric):
    compared(X, tmp_path, metric=metric)


def test_sparse_rows(tmp_path):
    compared(WORDS[np.diff(WORDS.indptr) > 0], tmp_path, metric="cosine")


@pytest.mark.parametrize("method", [graphsoft.Relation(rounds=2, sweeps=1), graphsoft.Relation(sweeps=0)])
def test_rounds_and_sweeps(tmp_path, method):
    compared(X, tmp_path, method=method)


def test_limits_of_children(tmp_path):
    compared(X, tmp_path, min_children=2, max_children=4)


def test_copies_of_points(tmp_path):
    compared(X[np.random.default_rng(5).integers(0, 300, 700)], tmp_path)


@st.composite
def rows_with_copies(draw):
    """Distinct rows, some of them many times and in any order, and some rows of zeros."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    distinct, copies, features = draw(st.integers(14, 60)), draw(st.integers(0, 120)), draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["clouds", "anywhere", "whole numbers"]))
    if kind == "whole numbers":
        rows = random.integers(0, 4, (distinct, features)).astype(np.float64)
    else:
        rows = random.normal(size=(distinct, features))
        rows += 4 * random.normal(size=(5, features))[np.arange(distinct) % 5] * (kind == "clouds")
    rows = np.concatenate([rows, rows[random.integers(0, distinct, copies)]])
    rows[: draw(st.integers(0, 6))] = 0.0
    return rows[random.permutation(len(rows))]


@settings(max_examples=30)
@given(
    rows_with_copies(),
    st.sampled_from(list(METRICS)),
    st.sampled_from(WEIGHTS),
    st.integers(1, 12),
    st.data(),
)
def test_copies_and_rows_of_zeros(rows, metric, weights, n_neighbors, data):
    points = Points.of(rows, metric)
    finest = data.draw(st.integers(1, min(len(np.unique(first_copies(points))), 9)))
    levels = (finest, 1) if finest > 1 else (1,)
    warned = pytest.warns(graphsoft.GraphsoftWarning) if (points.factors == 0).any() else nullcontext()
    with TemporaryDirectory() as folder, warned:
        compared(rows, folder, levels, metric=metric, weights=weights, n_neighbors=n_neighbors)


def test_nodes_that_look_alike(tmp_path):
    random = np.random.default_rng(9)
    compared(random.permutation(90)[:, None].astype(float), tmp_path / "line", (9, 3), n_neighbors=4)
    # of two rows without a number in common all are at the same distance
    rows = random.normal(size=(86, 5))[random.integers(0, 28, 86)]
    compared(rows, tmp_path / "copies", (7, 4), metric="hamming")
