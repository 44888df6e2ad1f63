"""Slow, obvious copies of the neighbor search and of edge weights; imports nothing from the package."""

import math

import numpy as np


def distance(x, y, metric):
    if metric == "euclidean":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    if metric == "manhattan":
        return sum(abs(a - b) for a, b in zip(x, y, strict=True))
    if metric == "chebyshev":
        return max(abs(a - b) for a, b in zip(x, y, strict=True))
    if metric == "hamming":
        return sum(a != b for a, b in zip(x, y, strict=True)) / len(x)
    if metric == "canberra":
        return sum(abs(a - b) / (abs(a) + abs(b)) for a, b in zip(x, y, strict=True) if a or b)
    if metric == "braycurtis":
        return sum(abs(x - y)) / sum(abs(x + y))
    if metric == "correlation":
        x, y = x - x.mean(), y - y.mean()
    return 1 - float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))


def neighbors(X, k, metric="euclidean"):
    """Lists of (distance, index) pairs, rising."""
    X = np.asarray(X, dtype=np.float64)
    return [
        sorted((distance(X[i], X[j], metric), j) for j in range(len(X)) if j != i)[:k] for i in range(len(X))
    ]


def graph(lists, weights, symmetrize):
    """Dense symmetric weights of neighbor lists of (distance, index) pairs."""
    n = len(lists)
    scale = [pairs[-1][0] for pairs in lists]
    sigma = np.median(scale)
    W = np.zeros((n, n))
    for i, pairs in enumerate(lists):
        own = {i} | {j for _, j in pairs}
        for d, j in pairs:
            other = {j} | {m for _, m in lists[j]}
            W[i, j] = {
                "local-scaling": lambda d=d, i=i, j=j: math.exp(-(d**2) / (scale[i] * scale[j])),
                "relative": lambda d=d, i=i, j=j: math.exp(-d / math.sqrt(scale[i] * scale[j])),
                "gaussian": lambda d=d: math.exp(-(d**2) / (2 * sigma**2)),
                "connectivity": lambda: 1.0,
                "jaccard": lambda own=own, other=other: len(own & other) / len(own | other),
            }[weights]()
    if symmetrize == "average":
        return (W + W.T) / 2
    return np.maximum(W, W.T) if symmetrize == "union" else np.minimum(W, W.T)


def kept_lower(scores, first, row, count):
    """The `count` lowest (score, column) of consecutive columns, without the row itself."""
    pairs = [(score, first + place) for place, score in enumerate(scores) if first + place != row]
    return sorted(pairs)[:count]


def kept_once(scores, candidates, count):
    """The `count` lowest pairs of a finite score and a candidate, each once."""
    pairs = {(score, other) for score, other in zip(scores, candidates, strict=True)}
    return sorted(pair for pair in pairs if pair[0] < math.inf)[:count]


def rounded(x, factor, middle):
    """A row times its factor, moved."""
    return [a * factor - b for a, b in zip(x, middle, strict=True)]
