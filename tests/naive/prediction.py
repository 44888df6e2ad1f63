"""Dense, slow, obvious copies of how new points are joined to old ones; imports nothing from the package."""

import math

import numpy as np

from naive.neighbors import distance


def lists_among(X, k, metric):
    """The k nearest other rows of every row, as (distance, index) pairs; none at a right angle."""
    return [nearest(X, X[i], k, metric, leave_out=i) for i in range(len(X))]


def nearest(X, x, k, metric, leave_out=-1):
    pairs = sorted((distance(x, X[j], metric), j) for j in range(len(X)) if j != leave_out)
    return [(d, j) for d, j in pairs[:k] if metric not in ("cosine", "correlation") or d < 1 - 1e-12]


def weight(kind, d, own, other, typical, mine, theirs):
    """The weight of an edge of length d, from scales (own, other) and lists (mine, theirs) of its ends."""
    return {
        "local-scaling": lambda: math.exp(-(d**2) / (own * other)),
        "relative": lambda: math.exp(-d / math.sqrt(own * other)),
        "gaussian": lambda: math.exp(-(d**2) / (2 * typical**2)),
        "connectivity": lambda: 1.0,
        "jaccard": lambda: len(mine & theirs) / len(mine | theirs),
    }[kind]()


def step(X, x, k, metric="euclidean", weights="local-scaling"):
    """p(old point | new point) for distinct old points and a new one that equals none of them."""
    lists = lists_among(X, k, metric)
    scale = [pairs[-1][0] for pairs in lists]
    pairs = nearest(X, x, k, metric)
    mine = {"x"} | {j for _, j in pairs}
    chances = np.zeros(len(X))
    for d, j in pairs:
        # the new point counts in its own list, and is in no other
        theirs = {j} | {i for _, i in lists[j]}
        chances[j] = weight(weights, d, pairs[-1][0], scale[j], np.median(scale), mine, theirs)
    return chances / chances.sum()


def step_among(X, candidates, x, k, scale, metric="euclidean", weights="local-scaling"):
    """p(old point | new point) where only some of the distinct old points are looked at, of given scales."""
    pairs = sorted((distance(x, X[j], metric), j) for j in candidates)[:k]
    pairs = [(d, j) for d, j in pairs if metric not in ("cosine", "correlation") or d < 1 - 1e-12]
    chances = np.zeros(len(X))
    for d, j in pairs:
        chances[j] = weight(weights, d, pairs[-1][0], scale[j], np.median(scale), None, None)
    return chances / chances.sum()


def joined(X, Y, k, weights="local-scaling"):
    """The weights of edges from rows of Y to rows of X and Y, which are distinct; old edges are left out."""
    both = np.concatenate([X, Y])
    old = lists_among(X, k, "euclidean")
    lists = old + [nearest(both, y, k, "euclidean", leave_out=len(X) + i) for i, y in enumerate(Y)]
    scale = [pairs[-1][0] for pairs in lists]
    typical = np.median([pairs[-1][0] for pairs in old])
    W = np.zeros((len(both), len(both)))
    for i in range(len(X), len(both)):
        mine = {i} | {j for _, j in lists[i]}
        for d, j in lists[i]:
            theirs = {j} | {m for _, m in lists[j]}
            size = weight(weights, d, scale[i], scale[j], typical, mine, theirs)
            W[i, j] = W[j, i] = max(size, W[i, j])
    return W


def held_model(W, S, mass):
    """B L^-1 B^T for given masses of the clusters."""
    B = W.sum(axis=1)[:, None] * S
    return B @ np.diag([1 / m if m > 0 else 0.0 for m in mass]) @ B.T


def local_likelihood(W, S, rows, mass):
    """The log-likelihood of the edges at some nodes, for given masses of the clusters."""
    touched = np.isin(np.arange(len(W)), rows)
    edges = (W > 0) & (touched[:, None] | touched[None, :])
    model = held_model(W, S, mass)
    return sum(W[i, j] * math.log(model[i, j]) for i, j in np.argwhere(edges))


def local_step(W, S, rows, mass, P):
    """One step of expectation maximization for some rows of S, which raises the likelihood of S P."""
    d, upper = W.sum(axis=1), S @ P
    model = held_model(W, upper, mass @ P)
    result = S.copy()
    for i in rows:
        if d[i] == 0:
            continue
        gain = np.zeros(P.shape[1])
        for j in np.flatnonzero(W[i]):
            gain += W[i, j] / model[i, j] * d[j] * upper[j] / (mass @ P)
        grown = S[i] * (P @ gain)
        result[i] = grown / grown.sum()
    return result
