"""Dense, slow, obvious copies of how clusters are counted; imports nothing from the package."""

import math
from itertools import combinations

import numpy as np


def similarity(W, parts, one, two, edge):
    """w_pq / (d_p d_q) of two sets of nodes, and the same with an edge more."""
    w = sum(W[i, j] for i in parts[one] for j in parts[two])
    d_one, d_two = (sum(W[i].sum() for i in parts[each]) for each in (one, two))
    chance = d_one * d_two
    return (w / chance if chance > 0 else 0.0), math.log(
        (w / chance if chance > 0 else 0.0) + edge / max(chance, edge**2)
    )


def replayed(W, pairs, edge):
    """Merge by given pairs: of every merge the similarity, the largest there was, and its logarithm."""
    parts = {i: [i] for i in range(len(W))}
    rows = []
    for one, two in pairs:
        best = max(similarity(W, parts, p, q, edge)[0] for p, q in combinations(parts, 2))
        rows.append((*similarity(W, parts, one, two, edge), best))
        parts[one] += parts.pop(two)
    assert len(parts) == 1
    return rows


def partition(count, pairs, k):
    """The cluster of each of `count` nodes, merged by pairs until k are left."""
    labels = list(range(count))
    for one, two in pairs[: count - k]:
        labels = [one if label == two else label for label in labels]
    return np.array(labels)


def adjusted_rand(first, second):
    """By the definition, over all pairs of points."""
    n = len(first)
    same_one = [first[i] == first[j] for i, j in combinations(range(n), 2)]
    same_two = [second[i] == second[j] for i, j in combinations(range(n), 2)]
    together = sum(a and b for a, b in zip(same_one, same_two, strict=True))
    one, two, pairs = sum(same_one), sum(same_two), len(same_one)
    chance = one * two / max(pairs, 1)
    return (together - chance) / ((one + two) / 2 - chance) if (one + two) / 2 > chance else 1.0


def held_out(W, left, labels, edge):
    """Nats for each unit of weight left out, over what its ends' degrees foretell."""
    clusters = sorted(set(labels.tolist()))
    k, W = len(clusters), W / W.sum()
    total = 0.0
    for p in clusters:
        for q in clusters:
            known = W[np.ix_(labels == p, labels == q)].sum()
            chance = W[labels == p].sum() * W[labels == q].sum()
            weight = left[np.ix_(labels == p, labels == q)].sum()
            if weight > 0 and chance > 0:
                total += weight * math.log((known / chance + k * k * edge) / (1 + k * k * edge))
    return total / left.sum() if left.sum() > 0 else 0.0
