"""Slow, dense copies of what known pairs and limits of children mean; nothing from the package."""

import numpy as np


def informed(W, R):
    """Weights with what is known put in: R holds 1 for pairs that are together, -1 for those apart."""
    n, largest = len(W), W.max() if W.any() else 1.0
    return np.array([[max(W[i, j] + largest * R[i, j], 0.0) for j in range(n)] for i in range(n)])


def kept(R, labels):
    """Known pairs that came out as known, and all of them."""
    pairs = [(i, j) for i in range(len(R)) for j in range(i) if R[i, j] != 0]
    return sum((labels[i] == labels[j]) == (R[i, j] > 0) for i, j in pairs), len(pairs)


def between(R, group, groups):
    """What is known between groups: the sum over the pairs of their members."""
    result = np.zeros((groups, groups))
    for i, j in np.ndindex(R.shape):
        if group[i] != group[j]:
            result[group[i], group[j]] += R[i, j]
    return result


def children(parents):
    """Clusters under each parent, by the likeliest, the lower number where two are equal."""
    counts = [0] * parents.shape[1]
    for row in parents:
        counts[int(np.argmax(row))] += 1
    return counts
