"""Slow copies of what the approximate neighbor search computes; nothing from the package."""

import numpy as np


def gaps(X):
    """All squared distances, in float64."""
    return np.square(X[:, None].astype(float) - X[None]).sum(axis=2)


def nearest(X, point, met, listed):
    """The nearest of the points that one has met, itself left out."""
    apart = np.square(X - X[point].astype(float)).sum(axis=1)
    return sorted({int(other) for other in met if other >= 0} - {point}, key=lambda other: apart[other])[
        :listed
    ]


def after_leaves(X, lists, leaves):
    """The lists after every point of a leaf has met all others of it but those that list it, met before."""
    result = [list(row) for row in lists]
    for leaf in leaves:
        for point in leaf:
            met = [*lists[point], *(other for other in leaf if point not in lists[other])]
            result[point] = nearest(X, point, met, len(lists[point]))
    return result


def met_before(lists, leaf):
    """For each point of a leaf the places there of later ones that it lists, or that list it."""
    return [
        {
            later
            for later in range(place + 1, len(leaf))
            if leaf[later] in lists[point] or point in lists[leaf[later]]
        }
        for place, point in enumerate(leaf)
    ]


def reverse(lists, fresh, room):
    """For each point those that have it in their lists, by (rank, number), and whether it was fresh there."""
    found = [[] for _ in lists]
    for rank in range(len(lists[0])):
        for row, others in enumerate(lists):
            if others[rank] >= 0:
                found[others[rank]].append((row, bool(fresh[row][rank])))
    return [pairs[:room] for pairs in found]


def after_round(X, lists, fresh, room):
    """The lists after every point has met its neighbors' neighbors, if either step to one is fresh."""
    listed, back = len(lists[0]), reverse(lists, fresh, room)
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
    """64 random bits of a counter."""
    mask = 2**64 - 1
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def lower_half(X, order, seed):
    """The points of the lower half of a part that begins at 0, and the numbers that it is cut by."""
    size = len(order)
    bits = mixed((mixed(seed) + size) % 2**64)
    line = X[order[bits % size]] - X[order[mixed(bits) % size]]
    keys = X[order] @ line
    return {int(point) for point in order[np.argsort(keys)[: size // 2]]}
