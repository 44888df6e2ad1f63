"""Dense, slow, obvious copies of beta-divergences and their sweeps; imports nothing from the package.

W (n, n) are the weights divided by the largest, G (n, m) a factor with ``W ~ G G^T``, and `pool` the pool of
each node. `floor` times its weight is added to the model of an edge.
"""

import math

import numpy as np


def divergence(w, m, beta):
    """The beta-divergence as it is usually defined."""
    if beta == 1:
        return (w * math.log(w / m) if w > 0 else 0.0) - w + m
    if w == 0:
        return m**beta / beta
    return (w**beta + (beta - 1) * m**beta - beta * w * m ** (beta - 1)) / (beta * (beta - 1))


def model(W, G, floor):
    return G @ G.T + floor * W


def all_pairs(W, G, beta, floor=0.0):
    """The objective over all pairs, stored or not."""
    M = model(W, G, floor)
    return sum(divergence(W[i, j], M[i, j], beta) for i, j in np.ndindex(W.shape))


def pull_and_push(W, G, beta, floor=0.0):
    """What raises and what lowers each entry of G, over all pairs."""
    M = model(W, G, floor)
    pull, push = np.zeros_like(G), np.zeros_like(G)
    for i, j in np.ndindex(W.shape):
        if M[i, j] > 0:
            pull[i] += W[i, j] * M[i, j] ** (beta - 2) * G[j]
            push[i] += M[i, j] ** (beta - 1) * G[j]
    return pull, push


def power_mean(rows, beta):
    return np.mean(rows**beta, axis=0) ** (1 / beta)


def pooled(W, G, beta, pool, floor=0.0):
    """The objective, where the model of a pair without an edge is that of the mean rows of its pools."""
    M = model(W, G, floor)
    mean = {a: power_mean(G[pool == a], beta) for a in set(pool.tolist())}
    total = 0.0
    for i, j in np.ndindex(W.shape):
        stored = W[i, j] > 0
        total += divergence(W[i, j], M[i, j] if stored else mean[pool[i]] @ mean[pool[j]], beta)
    return total


def step(W, G, beta, floor=0.0):
    """The sweep that provably does not raise the objective."""
    pull, push = pull_and_push(W, G, beta, floor)
    return G * np.where(push > 0, pull / np.where(push > 0, push, 1), 1) ** (0.5 / max(beta, 2 - beta))


def in_two_factors(W, H, scale, beta):
    """The objective of the paper's form, ``l(W, H L H^T)`` with columns of H that sum to one."""
    M = H @ np.diag(scale) @ H.T
    return sum(divergence(W[i, j], M[i, j], beta) for i, j in np.ndindex(W.shape))
