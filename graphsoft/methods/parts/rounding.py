"""From eigenvectors to clusters: ways to round the relaxed solution of a normalized cut to a partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphsoft.aliases import Array
from graphsoft.cuts import cut_and_mass, cut_value
from graphsoft.graph.graph import Graph
from graphsoft.kernels import rows_of
from graphsoft.kernels.cuts import Clusters, move_nodes
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.parts.rows import fit_quietly, sklearn_seed
from graphsoft.parallel import LOAD, pieces_by_load

__all__ = ["by_kmeans", "by_pivots", "by_rotation", "filled", "improved", "unit_rows"]

KMEANS_STARTS = 10
MAX_ROTATIONS = 100
# A move must lower the cut by this share of it.
MIN_FALL = 1e-9


def unit_rows(vectors: Array) -> Array:
    """Divide every row by its length; rows of zeros stay as they are.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    rows = vectors / np.where(largest > 0, largest, 1.0)  # lengths of tiny rows would be 0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def by_kmeans(vectors: Array, random: np.random.Generator) -> Array:
    """Cluster the rows, scaled to unit length, by k-means (Ng, Jordan and Weiss).

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
        Leading eigenvectors.
    random : Generator
        For the seed of k-means.

    Returns
    -------
    ndarray of int32, shape (n,)
        With fewer than k clusters if fewer rows are distinct.

    Examples
    --------
    >>> vectors = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]])
    >>> labels = by_kmeans(vectors, np.random.default_rng(0))
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    from sklearn.cluster import KMeans

    rows = unit_rows(vectors)
    model = KMeans(vectors.shape[1], n_init=KMEANS_STARTS, random_state=sklearn_seed(random))
    return np.asarray(fit_quietly(model, rows).labels_, dtype=np.int32)


def by_pivots(vectors: Array) -> Array:
    """Rotate the rows so that k nearly orthogonal ones become axes, and take each row's largest entry.

    These k rows are the pivots of a QR factorization of the transpose (Damle, Minden and Ying). The rotation
    is the one that brings them nearest to the axes. Nothing here is random.

    Examples
    --------
    >>> by_pivots(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]])).tolist()
    [0, 0, 1]
    """
    return np.asarray(np.abs(vectors @ _towards_pivots(vectors)).argmax(axis=1), dtype=np.int32)


def by_rotation(vectors: Array) -> Array:
    """Rotate the unit rows towards indicators of clusters, and round them, in turn (Yu and Shi).

    It starts at the pivots of `by_pivots`. Each step finds the indicators nearest to the rotated rows, and
    then the rotation nearest to the indicators. So the distance falls until nothing changes.

    Examples
    --------
    >>> by_rotation(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]])).tolist()
    [0, 0, 1]
    """
    rows = unit_rows(vectors)
    rotation = _towards_pivots(rows)
    labels = np.full(len(rows), -1, dtype=np.int32)
    for _ in range(MAX_ROTATIONS):
        last, labels = labels, (rows @ rotation).argmax(axis=1).astype(np.int32)
        if (labels == last).all():
            break
        sums = one_cluster_each(labels, rows.shape[1]).T @ rows
        left, _, right = np.linalg.svd(sums)
        rotation = (left @ right).T
    return labels


def _towards_pivots(rows: Array) -> Array:
    from scipy.linalg import qr

    count = rows.shape[1]
    pivots = qr(rows.T, mode="r", pivoting=True)[1][:count]
    left, _, right = np.linalg.svd(rows[pivots].T)
    return np.asarray(left @ right)


def filled(labels: Array, vectors: Array) -> Array:
    """Give every empty cluster a node: the one whose row is farthest from its cluster's mean.

    A node that is alone in its cluster stays.

    Parameters
    ----------
    labels : ndarray of int, shape (n,)
    vectors : ndarray of shape (n, k)
        With at least as many rows as columns.

    Examples
    --------
    >>> filled(np.array([0, 0, 0]), np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])).tolist()
    [0, 0, 1]
    """
    count, rows = vectors.shape[1], unit_rows(vectors)
    labels = np.array(labels, dtype=np.int32)
    for empty in np.flatnonzero(np.bincount(labels, minlength=count) == 0):
        members = np.bincount(labels, minlength=count)
        means = (one_cluster_each(labels, count).T @ rows) / np.maximum(members, 1)[:, None]
        apart = ((rows - means[labels]) ** 2).sum(axis=1)
        apart[members[labels] < 2] = -1.0
        labels[apart.argmax()] = empty
    return labels


def improved(graph: Graph, labels: Array, count: int) -> Iterator[tuple[Array, float]]:
    """Move nodes along their edges, one at a time, to where the normalized cut is lowest, sweep by sweep.

    Yields
    ------
    ndarray of int32, shape (n,)
        The labels, first as given, then after every sweep that lowered the cut.
    float
        Their normalized cut.
    """
    edges = rows_of(graph.adjacency)
    labels = np.array(labels, dtype=np.int32)
    value = cut_value(graph, one_cluster_each(labels, count))
    yield labels, value
    while value > 0.0:
        cut, mass = cut_and_mass(graph, one_cluster_each(labels, count))
        after = labels.copy()
        clusters, moves = Clusters(after, mass, cut, np.bincount(labels, minlength=count)), 0
        for start, stop in pieces_by_load(graph.adjacency.indptr, LOAD):
            moves += move_nodes(edges, graph.degrees, clusters, start, stop, MIN_FALL * value)
        # computed again from the labels: the sums that moves update lose digits if weights differ by far
        lower = cut_value(graph, one_cluster_each(after, count)) if moves else value
        if not lower < value:
            return
        labels, value = after, lower
        yield labels, value
