"""Slow, obvious copies of scores of labels, memberships and graphs; imports nothing from the package."""

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


def contingency(truth, labels):
    rows, columns = sorted(set(truth)), sorted(set(labels))
    return [
        [sum(t == row and c == column for t, c in zip(truth, labels, strict=True)) for column in columns]
        for row in rows
    ]


def accuracy(truth, labels):
    """Best share over all one-to-one matches, tried one by one."""
    table = np.array(contingency(truth, labels))
    if table.shape[0] > table.shape[1]:
        table = table.T
    few, many = table.shape
    best = max(sum(table[i, p[i]] for i in range(few)) for p in itertools.permutations(range(many), few))
    return best / len(truth)


def purity(truth, labels):
    return sum(max(column) for column in zip(*contingency(truth, labels), strict=True)) / len(truth)


def entropy(counts):
    n = sum(counts)
    return -sum(c / n * math.log(c / n) for c in counts if c)


def mutual_information(truth, labels):
    table = contingency(truth, labels)
    n = len(truth)
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    return sum(
        table[i][j] / n * math.log(n * table[i][j] / (rows[i] * columns[j]))
        for i in range(len(rows))
        for j in range(len(columns))
        if table[i][j]
    )


def adjusted_rand(truth, labels):
    """Hubert and Arabie's formula over all pairs of points, one by one."""
    pairs = list(itertools.combinations(range(len(truth)), 2))
    same_truth = sum(truth[i] == truth[j] for i, j in pairs)
    same_labels = sum(labels[i] == labels[j] for i, j in pairs)
    both = sum(truth[i] == truth[j] and labels[i] == labels[j] for i, j in pairs)
    if not pairs:
        return 1.0
    expected = same_truth * same_labels / len(pairs)
    highest = (same_truth + same_labels) / 2
    return 1.0 if highest == expected else (both - expected) / (highest - expected)
