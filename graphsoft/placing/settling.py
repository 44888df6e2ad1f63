"""Rounds of moves that bring nodes near those that walks lead to.

As in t-SNE, two ways to draw a pair of nodes are to become alike. One is a step of a walk, which goes along
an edge, or with a small chance jumps to a node of the same cluster, on any level above. The other draws a
pair with a chance in proportion to ``m_i m_j / (1 + |y_i - y_j|^2)``. A cluster has the mass of its points,
so that a graph of clusters is laid out much as its points will be. The jumps hold together what no edge
joins: parts of a graph come to lie side by side, those of one cluster near each other.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.placing.forces import Plane

__all__ = ["settled"]

JUMPS = 0.1  # the chance of a jump; less of it leaves wider gaps between parts that no edge joins
# In the first third of the rounds edges are so much stronger, so that groups can pass through each other.
EXAGGERATION = 2.5
MOMENTUM = 0.8
ROUNDS_OF_FEW, ROUNDS_OF_MANY = 200, 50
MOVES = 4_000_000  # of nodes, at which rounds are saved
SURVEY = 4  # rounds after which it is noted anew where clusters are, and which nodes are near each other
# Nodes are shaken after each survey, since nodes with the same neighbors would all come to one place.
NOISE = 0.1
# In the first rounds the whole layout is scaled too, to where it would neither grow nor shrink: by at most
# this factor in one round, and to at most this part of the square root of the number of nodes.
SCALED_ROUNDS, MAX_SCALING, MAX_SPREAD = 20, 1.25, 0.5


def rounds_for(count: int) -> int:
    """Say how many rounds so many nodes are given.

    Examples
    --------
    >>> rounds_for(1000), rounds_for(40_000), rounds_for(10**6)
    (200, 100, 50)
    """
    return int(np.clip(MOVES // count, ROUNDS_OF_MANY, ROUNDS_OF_FEW))


def settled(plane: Plane, start: Array) -> Array:
    """Move nodes from where they start to where forces balance, or nearly so.

    Parameters
    ----------
    plane : Plane
        Its masses have the mean 1, and its edges at most the sum n.
    start : ndarray of shape (n, 2)

    Returns
    -------
    ndarray of shape (n, 2)
        With the center of mass near 0.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> path = sp.csr_array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.0]])
    >>> plane = Plane(path, np.ones(3), [sp.csr_array(np.ones((3, 1)))])
    >>> places = settled(plane, np.array([[0.0, 0.1], [1.0, 0.0], [0.5, 0.0]]))
    >>> lengths = np.hypot(*(places[[0, 1, 0]] - places[[1, 2, 2]]).T)
    >>> bool(lengths[2] > lengths[:2].max())  # the ends of the path are the furthest from each other
    True
    """
    count, masses = len(start), plane.masses[:, None]
    points, velocity = start - (masses * start).sum(axis=0) / count, np.zeros_like(start)
    random = np.random.default_rng(0)
    for turn in range(rounds := rounds_for(count)):
        if turn % SURVEY == 0:
            points = points + NOISE * random.normal(size=points.shape)
            plane.survey(points)
        strength = EXAGGERATION if turn < rounds // 3 else 1.0
        forces = plane.forces(points)
        pull = strength * ((1 - JUMPS) * forces.edges + JUMPS * forces.jumps)
        push = count * forces.push
        # a hub is held by many edges, and would be thrown over them by a move of full length
        slowness = np.maximum(strength * forces.stiffness, plane.masses)[:, None]
        velocity = MOMENTUM * velocity + (pull + push) / slowness
        points = points + velocity
        if turn < SCALED_ROUNDS:
            points = points * _scaling(points, pull, push)
        points -= (masses * points).sum(axis=0) / count
    return np.asarray(points + NOISE * random.normal(size=points.shape))


def _scaling(points: Array, pull: Array, push: Array) -> float:
    """Find the factor at which the layout would neither grow nor shrink as a whole."""
    inward, outward = -float((points * pull).sum()), float((points * push).sum())
    factor = MAX_SCALING
    if inward > 0:
        factor = float(np.clip(np.sqrt(max(outward, 0.0) / inward), 1 / MAX_SCALING, MAX_SCALING))
    spread = np.sqrt((points**2).sum()) / len(points)  # by the root of the number of nodes
    return min(factor, MAX_SPREAD / max(float(spread), 1e-300))
