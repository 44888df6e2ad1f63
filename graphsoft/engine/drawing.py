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

# How often the graph is drawn, once as it is; fewer times if so many nodes are drawn in all. With fewer draws
# the median is often another one where two groupings are about as good.
DRAWS, NODES_DRAWN = 64, 1 << 14
# At most so many rounds of moves follow after a draw is merged.
ROUNDS = 5
# A group lighter than this part of an average one is a fragment. Only draws with the fewest are kept.
FRAGMENT = 0.1
# A weight stands for at least so many edges: the fewer, the more of its draws are all but 0.
FEWEST_EDGES = 0.01
# Draws have the same seeds in every call, so that the same graph is always grouped alike.
SEED = 0


def median_grouping(weights: Array, homes: Array, edges: float, count: int) -> tuple[Array, float]:
    """Group the nodes of a dense graph into `count` groups, none across homes.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        Symmetric; the diagonal counts in the degrees. It is changed.
    homes : ndarray of int, shape (m,)
        They must rise, from 0 on.
    edges : float
        How many edges of the graph all these weights stand for.
    count : int
        At least the number of homes, at most m.

    Returns
    -------
    ndarray of shape (m,)
        The number of each node's group.
    float
        The square root of what the last merge was worth over what the next one would be, at least 1. A pull
        so many times that of the next merge is the geometric mean of the two.

    Examples
    --------
    >>> pairs = np.array([[0.0, 9, 1, 0], [9, 0, 1, 1], [1, 1, 0, 9], [0, 1, 9, 0]])
    >>> median_grouping(pairs, np.zeros(4, dtype=int), edges=11, count=2)[0].tolist()
    [0, 0, 1, 1]
    """
    begins = np.searchsorted(homes, np.arange(homes[-1] + 2))
    # the largest is about 1, so that it does not depend on the scale of the weights which draws underflow
    np.ldexp(weights, -np.frexp(weights.max())[1], out=weights)
    degrees, within = weights.sum(axis=1, dtype=np.float64), weights
    within[homes[:, None] != homes[None, :]] = 0.0
    np.fill_diagonal(within, 0.0)
    loops = degrees - within.sum(axis=1, dtype=np.float64)
    pairs = np.flatnonzero(np.triu(within))
    labels, wanted = np.empty(len(homes), dtype=np.int64), min(DRAWS, max(2, NODES_DRAWN // len(homes)))
    if not len(pairs):  # there is nothing to draw
        merge_dense(within, degrees, begins, count, labels)
        return labels, 1.0
    shapes = np.maximum(2.0 * edges / degrees.sum() * within.ravel()[pairs], FEWEST_EDGES)

    def draw(start: int, stop: int) -> tuple[Array, float]:
        drawn, labels = np.triu(within), np.empty(len(homes), dtype=np.int64)
        if start:
            with np.errstate(under="ignore"):
                drawn.ravel()[pairs] *= np.random.default_rng((SEED, start)).gamma(shapes) / shapes
        drawn += drawn.T.copy()  # without this copy NumPy makes one, and crashes if there is no memory for it
        masses = loops + drawn.sum(axis=1, dtype=np.float64)
        with np.errstate(over="ignore"):  # of a very light pair, which then is the first to merge
            last, following = merge_dense(drawn, masses, begins, count, labels)
        above_next = np.sqrt(last / following) if following and np.isfinite(last) else 1.0
        move_dense(within, degrees, begins, above_next * following, count, ROUNDS, labels)
        return labels, max(1.0, above_next)

    draws = list(map_pieces(draw, [(number, number + 1) for number in range(wanted)]))
    found = _least_fragmented(np.array([labels for labels, _ in draws]), degrees, count)
    return _median(found, degrees, count), draws[0][1]


def _least_fragmented(draws: Array, masses: Array, count: int) -> Array:
    """Keep the draws with the fewest fragments."""
    bar = FRAGMENT * masses.sum() / count
    fragments = [np.count_nonzero(np.bincount(labels, masses, minlength=count) < bar) for labels in draws]
    return np.asarray(draws[np.array(fragments) == min(fragments)])


def _median(draws: Array, masses: Array, count: int) -> Array:
    """Find the draw of the largest mean Rand index with the others, corrected for chance and by mass."""
    whole, alike = masses.sum() ** 2, np.eye(len(draws))
    alone = [(np.bincount(labels, masses) ** 2).sum() / whole for labels in draws]
    for one, first in enumerate(draws * count):
        for other in range(one):
            common = np.bincount(first + draws[other], masses)
            most, chance = (alone[one] + alone[other]) / 2, alone[one] * alone[other]
            index = ((common**2).sum() / whole - chance) / (most - chance) if most > chance else 1.0
            alike[one, other] = alike[other, one] = index
    return np.asarray(draws[np.argmax(alike.sum(axis=0))])
