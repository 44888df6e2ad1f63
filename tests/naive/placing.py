"""Forces between points of a plane, pair by pair, and overlaps of circles."""

import numpy as np


def nearness(points):
    """``1 / (1 + |y_i - y_j|^2)`` for all pairs."""
    offsets = points[:, None] - points[None]
    return 1 / (1 + (offsets**2).sum(axis=2)), offsets


def repulsion(points, masses):
    """For every point ``sum_j m_j k^2 (y_i - y_j)`` and ``sum_j m_j k`` over all others."""
    near, offsets = nearness(points)
    np.fill_diagonal(near, 0)
    push = (masses * near**2)[:, :, None] * offsets
    return np.column_stack([push.sum(axis=1), near @ masses])


def attraction(W, points):
    """For every point ``sum_j w_ij k (y_j - y_i)`` and ``sum_j w_ij k``."""
    near, offsets = nearness(points)
    pull = (W * near)[:, :, None] * -offsets
    return np.column_stack([pull.sum(axis=1), (W * near).sum(axis=1)])


def leaning(aims, points):
    """The mean over levels of ``(c - y_i) / (1 + v + |c - y_i|^2)``."""
    offsets = aims[:, :, :2] - points
    return (offsets / (1 + aims[:, :, 2:] + (offsets**2).sum(axis=2, keepdims=True))).mean(axis=0)


def overlaps(centers, radii):
    """Pairs of circles that overlap."""
    return [
        (i, j)
        for i in range(len(radii))
        for j in range(i)
        if np.hypot(*(centers[i] - centers[j])) < radii[i] + radii[j]
    ]
