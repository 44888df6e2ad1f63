"""Slow, obvious copies of soft scores and of scores of a graph; imports nothing from the package."""

import itertools
import math

import numpy as np


def expected(count, *memberships):
    """Expected value of `count` if every point draws its label by its memberships: all draws are tried."""
    total = 0.0
    ranges = [range(S.shape[1]) for S in memberships for _ in S]
    for drawn in itertools.product(*ranges):
        rest, chance, labels = list(drawn), 1.0, []
        for S in memberships:
            labels.append([rest.pop(0) for _ in S])
            chance *= math.prod(S[i, q] for i, q in enumerate(labels[-1]))
        if chance:
            total = total + chance * np.asarray(count(*labels), dtype=float)
    return total


def pair_counts(truth, labels):
    """Numbers of pairs that are together in both, in the first, in the second."""
    pairs = list(itertools.combinations(range(len(truth)), 2))
    first = [truth[i] == truth[j] for i, j in pairs]
    second = [labels[i] == labels[j] for i, j in pairs]
    return sum(a and b for a, b in zip(first, second, strict=True)), sum(first), sum(second)


def rand(truth, labels):
    """Share of pairs on which both agree."""
    pairs = list(itertools.combinations(range(len(truth)), 2))
    agree = [(truth[i] == truth[j]) == (labels[i] == labels[j]) for i, j in pairs]
    return sum(agree) / len(pairs) if pairs else 1.0


def adjusted(both, first, second, pairs):
    """Hubert and Arabie's formula."""
    by_chance = first * second / pairs
    return (both - by_chance) / ((first + second) / 2 - by_chance)


def indicator(labels, clusters):
    return np.array([[float(label == q) for q in range(clusters)] for label in labels])


def modularity(W, S):
    d, total = W.sum(axis=1), W.sum()
    n = len(W)
    return sum((W[i, j] / total - d[i] * d[j] / total**2) * (S[i] @ S[j]) for i in range(n) for j in range(n))


def signed_rank(differences):
    """Two-sided p-value: all signs of the differences are tried, and all are equally likely."""
    sizes = [abs(d) for d in differences]
    ranks = [sum(s < t for s in sizes) + (sum(s == t for s in sizes) + 1) / 2 for t in sizes]
    middle = sum(ranks) / 2
    seen = abs(sum(r for r, d in zip(ranks, differences, strict=True) if d > 0) - middle)
    patterns = list(itertools.product([0, 1], repeat=len(ranks)))
    far = [abs(sum(r for r, up in zip(ranks, ups, strict=True) if up) - middle) >= seen for ups in patterns]
    return sum(far) / len(patterns)
