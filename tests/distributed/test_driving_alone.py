"""A single partition gives what one machine gives, for all kinds of graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.neighbors.nearest import METRICS
from graphsoft.neighbors.weights import WEIGHTS
from shared.runs import LEVELS, nested_clouds

X, _ = nested_clouds(500)
WORDS = sp.csr_array(np.where(X > 1, X, 0))


def compared(rows, directory, **options):
    """Compare all that is the same, and return the result on disk and the one in memory."""
    h = graphsoft.hierarchy(rows, LEVELS, directory=directory, partitions=1, **options)
    one = graphsoft.hierarchy(rows, LEVELS, **options)
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
