"""Where nodes start: around the places of their groups, along directions that are smooth on the graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.linalg.csr import times

__all__ = ["scattered"]

SMOOTHING, WHITENING = 30, 5  # rounds, and after how many of them directions are made independent
REACH = 2.5  # in standard deviations: no node starts further from the middle of its group


def scattered(walk: sp.csr_array, masses: Array, groups: Array, centers: Array, middles: Array) -> Array:
    """Scatter nodes around the middles of their groups, as wide as the groups are heavy.

    In each group, two random functions on its nodes become smooth by averages over neighbors, which brings
    them near the first eigenvectors of the walk. They are the coordinates within the group, turned so that
    nodes lie towards their neighbors in other groups.

    Parameters
    ----------
    walk : csr_array of shape (n, n)
        Rows of probabilities; a row may be empty.
    masses : ndarray of shape (n,)
    groups : ndarray of int, shape (n,)
    centers : ndarray of shape (k, 2)
        The places of the groups.
    middles : ndarray of shape (n, 2)
        What each node starts at, but for the scatter: the mean place of its groups by membership.

    Examples
    --------
    >>> walk = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> start = scattered(walk, np.ones(2), np.zeros(2, dtype=int), np.zeros((1, 2)), np.zeros((2, 2)))
    >>> bool(np.abs(start[0] - start[1]).max() > 0.1)
    True
    """
    random = np.random.default_rng(0)
    local = _whitened(np.asarray(random.normal(size=middles.shape)), masses, groups, len(centers))
    empty = np.diff(walk.indptr) == 0
    for turn in range(1, SMOOTHING + 1):
        local = _averaged(walk, empty, local)
        if turn % WHITENING == 0:
            local = _whitened(local, masses, groups, len(centers))
    outward = middles
    for _ in range(3):
        outward = _averaged(walk, empty, outward)
    local = _turned(local, outward - centers[groups], masses, groups, len(centers))
    # in a disk of uniform density, the standard deviation of a coordinate is half the radius
    deviation = 0.5 * np.sqrt(np.bincount(groups, masses, len(centers)) / np.pi)
    return np.asarray(middles + np.clip(local, -REACH, REACH) * deviation[groups, None])


def _averaged(walk: sp.csr_array, empty: Array, values: Array) -> Array:
    """Move the values of nodes towards the means of their neighbors, by less than half of the way.

    With half of it, two nodes that only have each other would get the same value.
    """
    return np.asarray(np.where(empty[:, None], values, (2 * values + times(walk, values)) / 3))


def _whitened(local: Array, masses: Array, groups: Array, count: int) -> Array:
    """Make both coordinates independent within each group, with mean 0 and variance 1 where they vary."""
    weight = np.maximum(np.bincount(groups, masses, count), 1e-300)

    def mean(values: Array) -> Array:
        means = np.asarray(np.bincount(groups, masses * values, count) / weight)
        return np.asarray(means[groups])

    def scaled(values: Array) -> Array:
        values = values - mean(values)
        variance = mean(values**2)
        varying = variance > 1e-24
        return np.where(varying, values / np.sqrt(np.where(varying, variance, 1.0)), 0.0)

    first = scaled(local[:, 0])
    return np.column_stack([first, scaled(local[:, 1] - mean(first * local[:, 1]) * first)])


def _turned(local: Array, outward: Array, masses: Array, groups: Array, count: int) -> Array:
    """Turn, and perhaps mirror, the coordinates in each group to agree best with `outward`."""
    dots = [
        [np.bincount(groups, masses * local[:, a] * outward[:, b], count) for b in range(2)] for a in range(2)
    ]
    along, across = dots[0][0] + dots[1][1], dots[0][1] - dots[1][0]
    mirrored_along, mirrored_across = dots[0][0] - dots[1][1], dots[0][1] + dots[1][0]
    mirror = np.hypot(mirrored_along, mirrored_across) > np.hypot(along, across)
    angle = np.arctan2(np.where(mirror, mirrored_across, across), np.where(mirror, mirrored_along, along))
    cosine, sine, second = np.cos(angle), np.sin(angle), np.where(mirror, -1.0, 1.0)
    x, y = local[:, 0], local[:, 1] * second[groups]
    return np.column_stack([x * cosine[groups] - y * sine[groups], x * sine[groups] + y * cosine[groups]])
