"""Slow copies of the loops of the approximate neighbor search; imports nothing from the package."""

import numpy as np


def gaps(X):
    """All squared distances, in float64."""
    return np.square(X[:, None].astype(float) - X[None]).sum(axis=2)


def nearest(X, point, met, listed):
    """The nearest of the points that a point has met, without itself."""
    apart = np.square(X - X[point].astype(float)).sum(axis=1)
    return sorted({int(other) for other in met if other >= 0} - {point}, key=lambda other: apart[other])[
        :listed
    ]


def after_leaves(X, lists, leaves):
    """The lists after the points of each leaf have met; those that list a point have met it before."""
    result = [list(row) for row in lists]
    for leaf in leaves:
        for point in leaf:
            met = [*lists[point], *(other for other in leaf if point not in lists[other])]
            result[point] = nearest(X, point, met, len(lists[point]))
    return result


def met_before(lists, leaf):
    """For each point of a leaf the places in the leaf of later points that it lists, or that list it."""
    return [
        {
            later
            for later in range(place + 1, len(leaf))
            if leaf[later] in lists[point] or point in lists[leaf[later]]
        }
        for place, point in enumerate(leaf)
    ]


def reverse(lists, fresh, length):
    """For each point the first of those that list it, by (rank, number), and whether it is fresh there."""
    found = [[] for _ in lists]
    for rank in range(len(lists[0])):
        for row, others in enumerate(lists):
            if others[rank] >= 0:
                found[others[rank]].append((row, bool(fresh[row][rank])))
    return [pairs[:length] for pairs in found]


def after_round(X, lists, fresh, length):
    """The lists after every point has met its neighbors' neighbors, where one of the two steps is fresh."""
    listed, back = len(lists[0]), reverse(lists, fresh, length)
    result = []
    for point, others in enumerate(lists):
        met = set(others)
        for middle, new_step in [*zip(others, fresh[point], strict=True), *back[point]]:
            if middle >= 0:
                steps = zip(lists[middle], fresh[middle], strict=True)
                met |= {other for other, new in steps if new or new_step}
        result.append(nearest(X, point, met, listed))
    return result


def mixed(state):
    """64 bits that look random, made of a counter."""
    mask = 2**64 - 1
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def lower_half(X, order, seed):
    """The points of the lower half of a part that begins at 0."""
    size = len(order)
    bits = mixed((mixed(seed) + size) % 2**64)
    line = X[order[bits % size]] - X[order[mixed(bits) % size]]
    keys = X[order] @ line
    return {int(point) for point in order[np.argsort(keys)[: size // 2]]}
