"""What tests of awkward input share: points and a graph in three clear groups, and what must hold."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import GraphsoftWarning, InputError

LEVELS = [5, 3]
SAME, PARTITION, VALID = "same bits", "same partition", "valid"


def blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(20, 3)) + 8 * np.eye(3)[i] for i in range(3)])


X = blobs()


def whole_weights():
    """The graph of the points with whole weights below 256, which every dtype can hold."""
    graph = graphsoft.knn_graph(X, 6).adjacency.copy()
    graph.data = np.rint(graph.data * 200) + 1
    return graph


A = whole_weights()
DENSE = A.toarray()


def check(h, count, sizes):
    """What must hold for any result."""
    assert [level.memberships.shape for level in h] == [(count, size) for size in sizes]
    for level in h:
        M = level.memberships
        assert np.isfinite(M.data).all()
        assert (M.data > 0).all()
        np.testing.assert_allclose(np.asarray(M.sum(axis=1)).ravel(), 1, atol=1e-9)
        assert level.labels.min() >= 0
        assert level.labels.max() < M.shape[1]
        assert np.isfinite(level.entropy).all()
        assert np.isfinite(level.mass).all()
        np.testing.assert_allclose(level.mass.sum(), h.graph.degrees.sum(), rtol=1e-9)
        np.testing.assert_allclose(level.graph.sum(), h.graph.degrees.sum(), rtol=1e-9)
    for below, above in pairwise(h):
        np.testing.assert_allclose(np.asarray(below.parents.sum(axis=1)).ravel(), 1, atol=1e-9)
        np.testing.assert_allclose(
            (below.memberships @ below.parents).toarray(), above.memberships.toarray(), atol=1e-9
        )
    assert all(np.isfinite(level.log_likelihood) and np.isfinite(level.kkt_gap) for level in h.report.levels)
    assert json.loads(h.to_json())["size"] == count
    assert str(h.report)


def same_partition(one, two):
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))


def refused(words, function, *arguments, **options):
    """The call must fail with an error that names the argument and says what to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=words) as caught:
            function(*arguments, **options)
    assert isinstance(caught.value, ValueError)
    assert caught.value.problem
    assert caught.value.remedy
    assert len(str(caught.value)) < 500


def outcome(data, wanted, baseline, **options):
    if wanted not in (SAME, PARTITION, VALID):
        refused(wanted, graphsoft.hierarchy, data, LEVELS, **options)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphsoftWarning)
        h = graphsoft.hierarchy(data, LEVELS, **options)
    check(h, len(h.graph), LEVELS)
    for level, known in zip(h, baseline, strict=True):
        if wanted == SAME:
            np.testing.assert_array_equal(level.memberships.toarray(), known.memberships.toarray())
    if wanted == PARTITION:
        assert same_partition(h[-1].labels, baseline[-1].labels)


def stored(**parts):
    """The graph as CSR, with some of its arrays replaced by anything."""
    matrix = A.copy()
    for name, value in parts.items():
        setattr(matrix, name, np.array(value))
    return matrix


def weights(values):
    return stored(data=np.asarray(values))


def with_weight(value, both=True):
    matrix = DENSE.copy()
    i, j = sorted(map(int, (0, A.indices[0])))
    matrix[i, j] = value
    if both:
        matrix[j, i] = value
    return sp.csr_array(matrix)
