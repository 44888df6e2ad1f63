"""Groups of a small graph that come back when its edges are drawn again.

A graph is one sample of edges, and the best grouping of it may be due to a few of them. So the small graph is
grouped many times, each time with other weights: a Bayesian bootstrap, in which a weight that stands for s
edges is multiplied by a gamma variable of mean 1 and variance 1/s. The grouping that agrees best with all
others is kept, their median.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels.drawing import merge_dense, move_dense
from graphsoft.parallel import map_pieces

__all__ = ["median_grouping"]

# How often the graph is drawn, once as it is. With fewer draws the median is often another one where two
# groupings are about as good.
DRAWS = 64
# Rounds of moves after each draw is merged.
ROUNDS = 5
# A group lighter than this part of an average one is a fragment. Only draws with the fewest are kept.
FRAGMENT = 0.1
# The least number of edges that a weight can stand for.
FEWEST_EDGES = 0.01
SEED = 0
TINY = np.finfo(np.float64).tiny


def median_grouping(weights: Array, homes: Array, edges: float, count: int) -> Array:
    """Group the nodes of a dense graph into `count` groups, none across homes: the number of each node's.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        Symmetric; the diagonal counts in the degrees. It is changed.
    homes : ndarray of int, shape (m,)
    edges : float
        How many edges of the graph all these weights stand for.
    count : int
        At least the number of homes, at most m.

    Examples
    --------
    >>> pairs = np.array([[0.0, 9, 1, 0], [9, 0, 1, 1], [1, 1, 0, 9], [0, 1, 9, 0]])
    >>> median_grouping(pairs, np.zeros(4, dtype=int), edges=11, count=2).tolist()
    [0, 0, 1, 1]
    """
    homes = homes.astype(np.int64)
    degrees, within = weights.sum(axis=1, dtype=np.float64), weights
    within[homes[:, None] != homes[None, :]] = 0.0
    np.fill_diagonal(within, 0.0)
    loops = degrees - within.sum(axis=1, dtype=np.float64)
    pairs = np.flatnonzero(np.triu(within))
    shapes = np.maximum(2.0 * edges / max(degrees.sum(), TINY) * within.ravel()[pairs], FEWEST_EDGES)

    def draw(start: int, stop: int) -> Array:
        drawn = np.triu(within)
        if start:
            drawn.ravel()[pairs] *= np.random.default_rng((SEED, start)).gamma(shapes) / shapes
        drawn += drawn.T
        labels, masses = np.arange(len(homes)), loops + drawn.sum(axis=1, dtype=np.float64)
        last, following = merge_dense(drawn, masses, homes, count, labels)
        move_dense(within, degrees, homes, np.sqrt(last * following), count, ROUNDS, labels)
        return labels

    if not len(pairs):
        return draw(0, 1)  # there is nothing to draw
    draws = list(map_pieces(draw, [(number, number + 1) for number in range(DRAWS)]))
    return _median(_least_fragmented(np.array(draws), degrees, count), degrees, count)


def _least_fragmented(draws: Array, masses: Array, count: int) -> Array:
    bar = FRAGMENT * masses.sum() / count
    fragments = [np.count_nonzero(np.bincount(labels, masses, minlength=count) < bar) for labels in draws]
    return np.asarray(draws[np.array(fragments) == min(fragments)])


def _median(draws: Array, masses: Array, count: int) -> Array:
    """Find the draw of the largest mean Rand index with the others, corrected for chance and by mass."""
    alike = np.eye(len(draws))
    for one in range(len(draws)):
        for other in range(one):
            both = np.bincount(draws[one] * count + draws[other], masses, minlength=count * count)
            alike[one, other] = alike[other, one] = _agreement(both.reshape(count, count))
    return np.asarray(draws[np.argmax(alike.sum(axis=0))])


def _agreement(common: Array) -> float:
    """Compute the adjusted Rand index of two groupings with these common masses."""
    whole = common.sum() ** 2
    both = (common**2).sum() / whole
    one, other = ((common.sum(axis=axis) ** 2).sum() / whole for axis in (0, 1))
    most, chance = (one + other) / 2, one * other
    return float((both - chance) / (most - chance)) if most > chance else 1.0
