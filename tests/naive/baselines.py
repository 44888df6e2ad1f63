"""Dense, slow, obvious copies of what other methods minimize; imports nothing from the package."""

import itertools

import numpy as np

# Features: rows X (n, d), labels of their clusters


def share_of_spread(X, labels):
    """Squared distances to the clusters' means, as a share of those to the mean of all."""
    within = sum(np.square(X[labels == q] - X[labels == q].mean(axis=0)).sum() for q in set(labels))
    return within / np.square(X - X.mean(axis=0)).sum()


def dissimilarity(X, labels):
    """The mean of one minus the cosine between a row and the sum of its cluster's unit rows."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    total = 0.0
    for q in set(labels):
        center = unit[labels == q].sum(axis=0)
        total += (1 - unit[labels == q] @ center / np.linalg.norm(center)).sum()
    return total / len(X)


def merge(X, kind, count, distance):
    """Agglomeration by its definition: the two nearest clusters merge until `count` are left.

    For complete linkage, a distance of minus infinity stands for a pair that no edge joins.
    """
    clusters = [[i] for i in range(len(X))]

    def apart(one, other):
        if kind == "ward":
            gap = X[one].mean(axis=0) - X[other].mean(axis=0)
            return len(one) * len(other) / (len(one) + len(other)) * gap @ gap
        each = [distance(X[i], X[j]) for i in one for j in other]
        if kind == "single":
            return min(each)
        return max(each) if max(each) > -np.inf else np.inf  # no edge joins them

    while len(clusters) > count:
        pairs = itertools.combinations(range(len(clusters)), 2)
        one, other = min(pairs, key=lambda pair: apart(clusters[pair[0]], clusters[pair[1]]))
        clusters[one] += clusters.pop(other)
    return {frozenset(cluster) for cluster in clusters}


def mean_log_likelihood(X, weights, means, covariances):
    """The mean log-likelihood of a point under a mixture of Gaussians."""
    density = np.zeros(len(X))
    for weight, mean, covariance in zip(weights, means, covariances, strict=True):
        away = X - mean
        power = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)
        density += weight * np.exp(-power / 2) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    return np.log(density).mean()


# Features along a graph: X (n, d) ~ V (n, m) U^T


def smooth_loss(X, W, V, U, smoothness):
    """``||X - V U^T||² / ||X||²``, plus how rough V is on the graph if columns of U have length one."""
    lengths = np.linalg.norm(U, axis=0)
    rough = 0.0
    for i, j in np.ndindex(W.shape):
        rough += W[i, j] * np.square((V[i] - V[j]) * lengths).sum()
    in_units = np.square(X).sum() / len(X)
    return np.square(X - V @ U.T).sum() / np.square(X).sum() + smoothness * rough / 2 / W.sum() / in_units


# A graph: W (n, n), degrees d


def normalized(W):
    d = W.sum(axis=1)
    return W / np.sqrt(np.outer(d, d))


def square_loss(A, H):
    return np.square(A - H @ H.T).sum()


def best_entry(A, H, i, q):
    """The value of ``H[i, q]`` with the smallest loss: 0, or a real root of the derivative."""
    tried = np.array(H)
    tried[i, q] = 0.0
    values = np.arange(-2.0, 3.0)
    losses = []
    for value in values:
        tried[i, q] = value
        losses.append(square_loss(A, tried))
    quartic = np.polyfit(values, losses, 4)  # five points determine a polynomial of degree four
    roots = np.roots(np.polyder(quartic))
    candidates = [0.0, *(root.real for root in roots if abs(root.imag) < 1e-6 and root.real > 0)]
    return min(candidates, key=lambda value: np.polyval(quartic, value))


def descended(A, H):
    """The factor after every entry was set to its best value, row after row."""
    H = np.array(H)
    for i, q in np.ndindex(H.shape):
        H[i, q] = best_entry(A, H, i, q)
    return H


def normalized_cut(W, labels):
    total = 0.0
    for q in set(labels):
        inside = labels == q
        total += W[inside][:, ~inside].sum() / W[inside].sum()
    return total


def kernel_loss(K, weights, labels):
    """Weighted squared distances to the clusters' means, for inner products K."""
    values, vectors = np.linalg.eigh(K)
    assert values.min() > -1e-9 * values.max()
    X = vectors * np.sqrt(np.maximum(values, 0))
    total = 0.0
    for q in set(labels):
        inside = labels == q
        mean = np.average(X[inside], axis=0, weights=weights[inside])
        total += weights[inside] @ np.square(X[inside] - mean).sum(axis=1)
    return total
