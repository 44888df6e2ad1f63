"""Slow, obvious copies of what the tree and the scores compute. Nothing of the package is imported here."""

import itertools
import math

import numpy as np


def likeliest_parents(parents):
    """Index of the largest entry of each row, the first of equals."""
    return [[max(range(len(row)), key=lambda q: (row[q], -q)) for row in matrix] for matrix in parents]


def ancestors(parents, index):
    """Clusters above finest cluster `index`, as (level, index), itself first."""
    chain = [(0, index)]
    for level, up in enumerate(likeliest_parents(parents)):
        chain.append((level + 1, up[chain[-1][1]]))
    return chain


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
