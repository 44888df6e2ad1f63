"""Dense, slow, obvious copies of cuts, moves and eigenvalues; imports nothing from the package.

W (n, n) is a symmetric graph, S (n, k) memberships, ``labels`` one cluster for each node.
"""

import itertools

import numpy as np


def indicators(labels, k):
    E = np.zeros((len(labels), k))
    E[np.arange(len(labels)), labels] = 1
    return E


def normalized_cut(W, S):
    """sum_r (S_r^T W (1 - S_r)) / (S_r^T d); a cluster without weight cuts nothing."""
    d, total = W.sum(axis=1), 0.0
    for s in S.T:
        if s @ d > 0:
            total += s @ W @ (1 - s) / (s @ d)
    return total


def trace_form(W, S):
    """k - sum_r (S^T W S)_rr / (S^T d)_r."""
    d = W.sum(axis=1)
    return S.shape[1] - sum((s @ W @ s) / (s @ d) for s in S.T)


def lowest_cut(W, k):
    """The lowest normalized cut over all assignments of k labels to the nodes that use every label."""
    found = itertools.product(range(k), repeat=len(W))
    return min(normalized_cut(W, indicators(labels, k)) for labels in found if len(set(labels)) == k)


def partitions(n, k):
    """The number of partitions of n things into k parts: S(n, k) = k S(n - 1, k) + S(n - 1, k - 1)."""
    if k == 0 or n == 0:
        return int(n == k)
    return k * partitions(n - 1, k) + partitions(n - 1, k - 1)


def best_move(W, labels, k, i):
    """The label of node i for which the cut is lowest, and that cut; a cluster's last node stays.

    Only its own cluster and those that it has an edge to come into question.
    """

    def cut(label):
        moved = np.array(labels)
        moved[i] = label
        return normalized_cut(W, indicators(moved, k))

    if (labels == labels[i]).sum() == 1:
        return labels[i], cut(labels[i])
    near = {labels[j] for j in np.flatnonzero(W[i]) if j != i}
    best = min([labels[i], *sorted(near)], key=cut)
    return best, cut(best)


def normalized(W):
    """D^-1/2 W D^-1/2; a node without edges gets a loop."""
    W = W + np.diag((W.sum(axis=1) == 0).astype(float))
    root = np.sqrt(W.sum(axis=1))
    return W / root / root[:, None]


def leading_values(W, k):
    return np.linalg.eigvalsh(normalized(W))[::-1][:k]
