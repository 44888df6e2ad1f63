"""Scores of a clustering, against known labels or against its graph.

All functions that take labels also take memberships: an array or sparse matrix whose rows sum to one, or an
object that has memberships, such as a level. Every point then draws its cluster by its memberships, and the
scores are computed from the expected counts. Hard memberships score like the labels that they stand for.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphsoft.aliases import Array
from graphsoft.cuts import normalized_cut, read_clustering
from graphsoft.engine.assessing import assess
from graphsoft.errors import InputError
from graphsoft.input.checks import choice
from graphsoft.input.containers import array_of
from graphsoft.input.labels import (
    adjusted_rand_of_pairs,
    best_match,
    both_shares,
    confusion,
    is_hard,
    matched,
    shares_of,
)

__all__ = [
    "accuracy",
    "adjusted_rand",
    "conditional_entropy",
    "confusion",
    "entropy",
    "log_likelihood",
    "matched",
    "modularity",
    "nmi",
    "normalized_cut",
    "purity",
    "rand",
    "wilcoxon",
]

# The p-value of so many runs is exact.
MOST_EXACT = 50

Normalizer = Literal["max", "mean", "sqrt", "min", "joint"]


def accuracy(truth: Any, labels: Any) -> float:
    """Share of points in the right class under the best one-to-one match of clusters to classes.

    If there are more clusters than classes, some clusters stay unmatched, and their points count as wrong.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`.

    Returns
    -------
    float

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], [5, 5, 5, 3])
    0.75
    """
    table, rows, columns = best_match(truth, labels)
    return float(table[rows, columns].sum() / table.sum())


def purity(truth: Any, labels: Any) -> float:
    """Share of points that belong to the most frequent class of their cluster.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`.

    Returns
    -------
    float

    Examples
    --------
    >>> purity([0, 0, 1, 1], [5, 6, 7, 7])
    1.0
    """
    table = confusion(truth, labels)
    return float(table.max(axis=0).sum() / table.sum())


def nmi(truth: Any, labels: Any, normalizer: Normalizer = "max") -> float:
    """Mutual information of classes and clusters, between 0 and 1.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`.
    normalizer : {"max", "mean", "sqrt", "min", "joint"}
        What to divide by: the larger of the two entropies, their mean, their geometric mean, the smaller,
        or the joint entropy.

    Returns
    -------
    float
        1 if both put all points into one cluster, 0 if only one of them does. Soft clusters score below 1
        even against themselves.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1], [0, 1, 2, 2]), 3)
    0.667
    """
    choice("normalizer", normalizer, get_args(Normalizer))
    table = confusion(truth, labels)
    joint = _entropy(table.data)
    first, second = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    divisors = {
        "max": max(first, second),
        "mean": (first + second) / 2,
        "sqrt": float(np.sqrt(first * second)),
        "min": min(first, second),
        "joint": joint,
    }
    if not first or not second:
        return float(first == second)
    # rounding can bring the difference of entropies slightly below 0, or the ratio above 1
    return float(np.clip((first + second - joint) / divisors[normalizer], 0.0, 1.0))


def entropy(labels: Any) -> float:
    """Entropy of the sizes of clusters, in nats: 0 for one cluster, log m for m clusters of equal size.

    How torn single points are between clusters is another question, which ``Clustering.entropy`` answers.

    Parameters
    ----------
    labels : array-like of shape (n,), or memberships of shape (n, m)

    Returns
    -------
    float

    Examples
    --------
    >>> round(entropy([0, 0, 1, 1]), 3)
    0.693
    """
    return _entropy(shares_of(labels, "labels").sum(axis=0))


def conditional_entropy(truth: Any, labels: Any) -> float:
    """Entropy of the classes within clusters, in nats: 0 if no cluster has points of two classes.

    The clusters are weighted by their sizes.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`. With the two exchanged, it says how much the clusters split the classes.

    Returns
    -------
    float
        ``H(class | cluster)``.

    Examples
    --------
    >>> round(conditional_entropy([0, 1, 1, 1], [5, 5, 7, 7]), 3)
    0.347
    """
    table = confusion(truth, labels)
    return max(0.0, _entropy(table.data) - _entropy(table.sum(axis=0)))


def _entropy(counts: NDArray[Any]) -> float:
    """Compute the entropy of counts, in nats."""
    share = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(share * np.log(share)).sum()))


def rand(truth: Any, labels: Any) -> float:
    """Rand index: the share of pairs of points that both put together or both keep apart.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`. With memberships, points i and j are together with probability ``s_i . s_j``,
        as if each drew its cluster independently, and the expected share is returned. So soft clusters do not
        agree fully with themselves: two draws may differ.

    Returns
    -------
    float
        1 for a single point, which has no pairs.

    Examples
    --------
    >>> round(rand([0, 0, 1, 1], [0, 0, 0, 1]), 3)
    0.5
    >>> rand([0, 0], [[1.0, 0.0], [0.5, 0.5]])
    0.5
    """
    both, first, second, everything = _pairs(truth, labels)
    return float((everything - first - second + 2 * both) / everything) if everything else 1.0


def adjusted_rand(truth: Any, labels: Any) -> float:
    """Rand index corrected for chance: 1 for equal clusterings, about 0 for unrelated ones.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`. With memberships, the numbers of pairs are expected ones, as in :func:`rand`.

    Returns
    -------
    float

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return adjusted_rand_of_pairs(*_pairs(truth, labels))


def _pairs(truth: Any, labels: Any) -> tuple[Any, Any, Any, int]:
    """Count pairs of points that are together in both, in the first, in the second; and all pairs.

    With labels these are whole numbers of any size, with memberships expected numbers.
    """
    first, second = both_shares(truth, labels)
    points = first.shape[0]
    everything = points * (points - 1) // 2
    tables = (first.T @ second).data, first.sum(axis=0), second.sum(axis=0)
    if is_hard(first) and is_hard(second):
        whole = [table.astype(np.int64) for table in tables]
        counts: list[Any] = [int((table * (table - 1) // 2).sum()) for table in whole]
    else:  # sum_i<j s_i . s_j, from the sum over all i and j
        squares = [np.asarray((shares * shares).sum(axis=1)).ravel() for shares in (first, second)]
        itself = squares[0] @ squares[1], squares[0].sum(), squares[1].sum()
        counts = [max(0.0, float(table @ table - own) / 2) for table, own in zip(tables, itself, strict=True)]
    return counts[0], counts[1], counts[2], everything


def modularity(graph: Any, labels: Any) -> float:
    """Newman's modularity: the share of weight inside clusters, less what the degrees alone would give.

    Parameters
    ----------
    graph : Graph, sparse matrix or networkx graph
        As in :func:`graphsoft.as_graph`. A weight on the diagonal counts once in its node's degree.
    labels : array-like of shape (n,), or memberships of shape (n, m)
        With memberships, i and j are together with probability ``s_i . s_j``.

    Returns
    -------
    float
        ``sum_ij (w_ij / w - d_i d_j / w^2) s_i . s_j``, where w is the sum of all w_ij; 0 without edges.

    Examples
    --------
    >>> import networkx as nx
    >>> round(modularity(nx.barbell_graph(3, 0), [0, 0, 0, 1, 1, 1]), 3)
    0.357
    """
    checked, shares = read_clustering(graph, labels)
    if not checked.adjacency.nnz:
        return 0.0
    weights = checked.adjacency / checked.adjacency.data.max()  # so that no sum is too large
    total = weights.sum()
    mass = shares.T @ np.asarray(weights.sum(axis=1)) / total
    return float((shares * (weights @ shares)).sum() / total - mass @ mass)


def log_likelihood(graph: Any, labels: Any) -> float:
    """Log-likelihood of a graph under its clusters, which relation factorization maximizes.

    Parameters
    ----------
    graph : Graph, sparse matrix or networkx graph
        As in :func:`graphsoft.as_graph`.
    labels : array-like of shape (n,), or memberships of shape (n, m)

    Returns
    -------
    float
        ``sum_ij w_ij log (B L^-1 B^T)_ij`` with ``B = D S``, the memberships S, the degrees D, and
        ``L = diag(B^T 1)``. For an edge whose ends share no cluster, the model counts as one thousandth of
        what the degrees alone would give.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.barbell_graph(3, 0)
    >>> log_likelihood(graph, [0, 0, 0, 1, 1, 1]) > log_likelihood(graph, [0, 0, 1, 1, 1, 1])
    True
    """
    return assess(*read_clustering(graph, labels)).log_likelihood


def wilcoxon(first: ArrayLike, second: ArrayLike) -> float:
    """Wilcoxon's signed-rank test of paired runs.

    Parameters
    ----------
    first, second : array-like of shape (runs,)
        Scores of two methods, run by run.

    Returns
    -------
    float
        The two-sided p-value: how likely differences at least this clear are if neither method is better.
        Runs with equal scores are left out; if all are equal it is 1.

    Examples
    --------
    >>> wilcoxon([0.9, 0.8, 0.95, 0.85], [0.7, 0.6, 0.65, 0.5])
    0.125
    """
    runs = []
    for argument, scores in (("first", first), ("second", second)):
        values = array_of(scores, argument, "give a number for each run")
        if values.ndim != 1 or not len(values) or values.dtype.kind not in "biuf":
            raise InputError(
                argument, f"got shape {values.shape} of {values.dtype}", "give a number for each run"
            )
        if not np.isfinite(values).all():
            raise InputError(argument, "holds a number that is not finite", "leave such runs out of both")
        runs.append(values.astype(np.float64))
    if len(runs[0]) != len(runs[1]):
        problem = f"got {len(runs[1])} runs where first has {len(runs[0])}"
        raise InputError("second", problem, "give the scores of the same runs")
    differences = runs[0] - runs[1]
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    return _signed_rank(differences)


def _signed_rank(differences: Array) -> float:
    """Compute the p-value of differences that are not 0, which may be equally large.

    For few of them it is exact. Not every version of SciPy has this for differences that are equally large.
    """
    from scipy.stats import norm, rankdata

    doubled = np.rint(2 * rankdata(np.abs(differences))).astype(np.int64)  # equal ones share half ranks
    total, positive = int(doubled.sum()), int(doubled[differences > 0].sum())
    least = min(positive, total - positive)
    if len(doubled) > MOST_EXACT:
        deviation = float(np.sqrt((doubled**2).sum())) / 2
        return float(2 * norm.cdf((least - total / 2) / deviation))
    chances = np.zeros(total + 1)  # of each sum of positive ranks, if signs are those of a fair coin
    chances[0] = 1.0
    for rank in doubled:
        chances[rank:] += chances[:-rank]
        chances /= 2
    return min(1.0, 2 * float(chances[: least + 1].sum()))
