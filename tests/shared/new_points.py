"""What tests of new points share: old and new points, and comparisons."""

import numpy as np

import graphsoft
from shared.shapes import cloud

LEVELS = [8, 3]


def fitted(X, levels=LEVELS, **options):
    return graphsoft.hierarchy(X, levels, affinity="features", **options)


def halves(n=70, d=3, seed=0):
    X = np.random.default_rng(seed).permutation(cloud(n, seed, d=d))
    return X[: 3 * n // 4], X[3 * n // 4 :]


def same(one, other):
    return one.shape == other.shape and (one != other).nnz == 0


def close(found, expected):
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)
