"""Scores of a clustering against known labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array

from graphsoft.errors import InputError

__all__ = ["accuracy", "adjusted_rand", "confusion", "nmi", "purity"]

Normalizer = Literal["max", "mean", "sqrt", "min", "joint"]


def confusion(truth: ArrayLike, labels: ArrayLike) -> csr_array:
    """Count the points of every class in every cluster.

    Parameters
    ----------
    truth : array-like of shape (n,)
        Known classes: numbers or strings.
    labels : array-like of shape (n,)
        Clusters.

    Returns
    -------
    csr_array of int64, shape (n_classes, n_clusters)
        Classes and clusters in sorted order; empty ones have no row or column.

    Examples
    --------
    >>> confusion(["a", "a", "b"], [7, 9, 9]).toarray()
    array([[1, 1],
           [0, 1]])
    """
    rows, classes = _numbered(truth, "truth")
    columns, clusters = _numbered(labels, "labels")
    if len(rows) != len(columns):
        raise InputError(
            "labels", f"got {len(columns)} for {len(rows)} known classes", "give one for each point"
        )
    ones = np.ones(len(rows), dtype=np.int64)
    return csr_array(coo_array((ones, (rows, columns)), shape=(classes, clusters)))


def _numbered(values: ArrayLike, argument: str) -> tuple[NDArray[np.intp], int]:
    """Return each entry's number among the distinct values, and how many of these there are."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise InputError(argument, f"got shape {array.shape}", "give one entry for each point, at least one")
    try:
        distinct, numbers = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise InputError(
            argument, f"cannot be sorted ({error})", "use only numbers or only strings"
        ) from None
    return numbers, len(distinct)


def accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of points in the right class under the best one-to-one match of clusters to classes.

    Clusters beyond the number of classes stay unmatched, and their points count as wrong.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)

    Returns
    -------
    float

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], [5, 5, 5, 3])
    0.75
    """
    table = confusion(truth, labels).toarray()
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def purity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of points that belong to the commonest class of their cluster.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)

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


def nmi(truth: ArrayLike, labels: ArrayLike, normalizer: Normalizer = "max") -> float:
    """Mutual information of classes and clusters, between 0 and 1.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
    normalizer : {"max", "mean", "sqrt", "min", "joint"}
        What to divide by: the larger of the two entropies, their mean, their geometric mean, the smaller,
        or the joint entropy.

    Returns
    -------
    float
        Two clusterings of everything into one are equal: 1. Only one of them in one cluster: 0.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1], [0, 1, 2, 2]), 3)
    0.667
    """
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
    if normalizer not in divisors:
        raise InputError("normalizer", f"got {normalizer!r}", f"use one of {', '.join(divisors)}")
    if 1 in table.shape:
        return float(table.shape == (1, 1))
    # rounding can carry the difference of entropies a hair below 0, or the ratio above 1
    return float(np.clip((first + second - joint) / divisors[normalizer], 0.0, 1.0))


def _entropy(counts: NDArray[Any]) -> float:
    """Entropy in nats of positive counts."""
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def adjusted_rand(truth: ArrayLike, labels: ArrayLike) -> float:
    """Rand index corrected for chance: 1 for equal clusterings, about 0 for unrelated ones.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)

    Returns
    -------
    float

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    table = confusion(truth, labels)
    both = _pairs(table.data)
    first, second = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    points = int(table.sum())
    everything = points * (points - 1) // 2
    # whole numbers up to here: products of pair counts pass 64 bits at some 10^5 points
    above = both * everything - first * second
    below = (first + second) * everything - 2 * first * second
    return 2 * above / below if below else 1.0


def _pairs(counts: NDArray[np.int64]) -> int:
    return int((counts * (counts - 1) // 2).sum())
