"""Completely positive factorization of affinities of triples, quadruples, ... of points."""

from __future__ import annotations

from dataclasses import replace
from math import factorial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import callback, choice, generator, integer, number
from graphsoft.kernels.completely_positive import Tuples
from graphsoft.linalg.memberships import rows_to_one
from graphsoft.methods.completely_positive import UNSTORED, Target, factorized
from graphsoft.methods.interface import Clustering
from graphsoft.methods.parts.shares import STARTS, start_shares
from graphsoft.progress import watches_progress

__all__ = ["cluster_tuples"]

# Numbers may leave out so many points for each that they name: one odd number would fill the memory.
MAX_GAPS = 10**5


@watches_progress("factorizing")
def cluster_tuples(
    tuples: Any,
    k: int,
    affinity: Any = None,
    *,
    points: int | None = None,
    unstored: str = "zero",
    start: str = "contraction",
    max_sweeps: int = 500,
    tolerance: float = 1e-5,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Clustering:
    """Find soft clusters from affinities of tuples of points, for example whether four lie on one line.

    The affinity of a tuple is modeled by ``sum_r g_ir g_jr ...``, a product over its points, whose order does
    not matter. The rows of G, divided by their sums, are the memberships. The trace is half the sum of the
    squared errors over ordered tuples of distinct points; it never rises.

    Parameters
    ----------
    tuples : array_like of int, shape (t, order)
        Distinct points in any order. All tuples have the same number of points, at least two, and no tuple
        comes twice.
    k : int
        The number of clusters.
    affinity : array_like of shape (t,), optional
        How strongly the points of a tuple belong together, at least 0 and on any scale; 1 for all by default.
    points : int, optional
        The number of points; by default, up to the largest number in a tuple. Points in no tuple belong to
        all clusters equally.
    unstored : {"zero", "unknown"}
        Whether the points of a tuple that is not listed do not belong together, or may.
    start, max_sweeps, tolerance
        See `CompletelyPositive`; the start uses the pairs in the tuples.
    rng : None, int, or numpy Generator
        For a random start.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> triples = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (4, 5, 6), (3, 5, 6)]
    >>> cluster_tuples(triples, 2, [1, 1, 1, 1, 1, 0.1]).labels.tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """
    rows = _rows(tuples)
    integer("k", k, 1)
    named = int(rows.max()) + 1
    count = named if points is None else integer("points", points, 1)
    if count < named:
        raise InputError("tuples", f"name point {named - 1} of {count} points", "number the points from 0")
    if count > np.iinfo(np.int32).max:
        argument = "tuples" if points is None else "points"
        raise InputError(argument, f"asks for {shown(count)} points", "number them from 0, without gaps")
    if points is None and named > MAX_GAPS * rows.size:
        problem = f"name point {named - 1}, but only {rows.size} points in all"
        raise InputError("tuples", problem, f"number them from 0, without gaps, or say points={named}")
    if k > count:
        raise InputError("k", f"got {k} clusters for {count} points", f"use at most {count}")
    weights = _weights(affinity, len(rows))
    choice("unstored", unstored, UNSTORED)
    choice("start", start, STARTS)
    integer("max_sweeps", max_sweeps, 1)
    tolerance = number("tolerance", tolerance, above=0, maximum=1)
    progress = callback("progress", progress)
    random = generator("rng", rng) or np.random.default_rng(0)
    held, inverse = np.unique(rows, return_inverse=True)
    rows = inverse.reshape(rows.shape)
    shares = start_shares(_pairs(rows, weights, len(held)), k, start, random)
    target = _listed(rows, weights, len(held))
    found = factorized(target, shares, unstored == "unknown", max_sweeps, tolerance, progress)
    return _among_all(found, held, count)


def _rows(tuples: Any) -> Array:
    """Check tuples of points, and sort the points of each."""
    remedy = "give the same number of distinct points in each, such as [(0, 5, 2), (1, 3, 4)]"
    try:
        rows = np.array(list(tuples) if not isinstance(tuples, np.ndarray) else tuples)
    except (TypeError, ValueError):
        raise InputError("tuples", f"got {shown(tuples)}", remedy) from None
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 2 or rows.dtype.kind not in "iu":
        raise InputError("tuples", f"got {shown(tuples)}", remedy)
    if (rows < 0).any():
        raise InputError("tuples", f"hold the point {rows.min()}", "number the points from 0")
    rows = np.sort(rows.astype(np.int64), axis=1)
    twice = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1))
    if len(twice):
        raise InputError("tuples", f"name a point twice in {tuple(rows[twice[0]].tolist())}", remedy)
    order = np.lexsort(rows.T)
    same = np.flatnonzero((rows[order[1:]] == rows[order[:-1]]).all(axis=1))
    if len(same):
        problem = f"hold {tuple(rows[order[same[0]]].tolist())} more than once"
        raise InputError("tuples", problem, "give each set of points once, in any order")
    return rows


def _weights(affinity: Any, count: int) -> Array:
    """Check affinities, and divide them by the largest."""
    remedy = "give a finite number of at least 0 for each tuple, at least one above 0"
    if affinity is None:
        return np.ones(count)
    try:
        weights = np.array(affinity, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("affinity", f"got {shown(affinity)}", remedy) from None
    good = weights.shape == (count,) and np.isfinite(weights).all() and (weights >= 0).all()
    if not good or not weights.max() > 0:
        raise InputError("affinity", f"got {shown(affinity)} for {count} tuples", remedy)
    return np.asarray(weights / weights.max())


def _pairs(rows: Array, weights: Array, count: int) -> Graph:
    """Make the graph in which a pair weighs the sum of the affinities of its tuples."""
    first, second = np.nonzero(~np.eye(rows.shape[1], dtype=bool))
    values = np.repeat(weights, len(first))
    places = rows[:, first].ravel(), rows[:, second].ravel()
    matrix = sp.coo_array((values, places), shape=(count, count)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Graph(matrix, range(count))


def _listed(rows: Array, weights: Array, count: int) -> Target:
    """List every tuple at each of its points, sorted by the point and then by the others."""
    order = rows.shape[1]
    points = rows.T.ravel()
    others = np.concatenate([np.delete(rows, at, axis=1) for at in range(order)])
    by = np.lexsort((*others.T[::-1], points))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(points, minlength=count))))
    squared = factorial(order) * float((weights**2).sum())
    listed = Tuples(indptr, others[by], np.tile(weights, order)[by])
    return Target(listed, np.zeros(0), squared)


def _among_all(found: Clustering, held: Array, count: int) -> Clustering:
    """Extend memberships to all points; those in no tuple belong to all clusters equally."""
    if len(held) == count:
        return replace(found, nodes=range(count))
    clusters = found.memberships.shape[1]
    alike = rows_to_one(sp.csr_array(np.ones((1, clusters))))
    place = np.full(count, len(held))
    place[held] = np.arange(len(held))
    memberships = sp.vstack([found.memberships, alike], format="csr")[place]
    status = f"{found.status}; {count - len(held)} points are in no tuple"
    return Clustering(memberships, found.trace, status, found.sweeps, range(count))
