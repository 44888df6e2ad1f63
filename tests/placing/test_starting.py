"""Where nodes start: spread around the middle of their group, and turned towards their neighbors."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.placing.starting import _turned, _whitened, scattered


@given(st.integers(0, 99), st.floats(-3, 3), st.sampled_from([1.0, -1.0]))
def test_groups_are_turned_and_mirrored_to_where_they_belong(seed, angle, mirror):
    random = np.random.default_rng(seed)
    groups, local = np.repeat([0, 1], 6), random.normal(size=(12, 2))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    outward = local * [1.0, mirror] @ turn
    np.testing.assert_allclose(_turned(local, outward, np.ones(12), groups, 2), outward, atol=1e-9)


@given(st.integers(0, 99))
def test_coordinates_become_independent_in_each_group(seed):
    random = np.random.default_rng(seed)
    groups, masses = np.repeat([0, 1, 2], [7, 5, 1]), random.uniform(0.5, 2, 13)
    local = _whitened(random.normal(size=(13, 2)) @ [[1, 2], [0, 3]] + 5, masses, groups, 3)
    for group in (0, 1):
        mine, weights = local[groups == group], masses[groups == group] / masses[groups == group].sum()
        np.testing.assert_allclose(weights @ mine, 0, atol=1e-9)
        np.testing.assert_allclose(mine.T @ (weights[:, None] * mine), np.eye(2), atol=1e-9)
    assert not local[12].any()  # alone in its group


def test_heavy_groups_start_wide_around_their_middle():
    groups, centers = np.repeat([0, 1], [100, 25]), np.array([[0.0, 0.0], [50.0, 0.0]])
    ring = sp.diags_array([0.5, 0.5], offsets=[-1, 1], shape=(125, 125)).tocsr()
    start = scattered(ring, np.ones(125), groups, centers, centers[groups])
    spreads = [start[groups == group].std(axis=0).mean() for group in (0, 1)]
    for group in (0, 1):
        assert np.abs(start[groups == group].mean(axis=0) - centers[group]).max() < 1.0
    assert 1.5 < spreads[0] / spreads[1] < 2.5
