"""Normalized cuts: the value for any clustering of a graph, and the lowest possible one for few nodes."""

from __future__ import annotations

from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import integer
from graphsoft.input.labels import shares_of
from graphsoft.kernels import rows_of
from graphsoft.kernels.cuts import cut_off, least_cut
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["cut_and_mass", "cut_value", "exact_normalized_cut", "normalized_cut", "read_clustering"]

MAX_NODES = 12
# For each partition; many are skipped, but the others take longer.
SECONDS_EACH = 5e-8


def normalized_cut(graph: Any, labels: Any) -> float:
    """Compute the normalized cut of a clustering: what every cluster cuts off, over its mass.

    ``sum_r (sum of w_ij from A_r to other clusters) / (sum of w_ij from A_r to anywhere)``, between 0 and the
    number of clusters. For soft clusters P it is ``sum_r 1 - (P^T W P)_rr / (P^T d)_r``, where d are the
    degrees. A cluster without mass cuts nothing.

    Parameters
    ----------
    graph : Graph, networkx graph, sparse matrix, or points
        See :func:`graphsoft.as_graph`.
    labels : array_like of shape (n,), or memberships of shape (n, k)
        The cluster of each node as numbers or strings; or an array or sparse matrix whose rows sum to one.

    Returns
    -------
    float

    Examples
    --------
    >>> import networkx as nx
    >>> path = nx.path_graph(4)
    >>> round(normalized_cut(path, [0, 0, 1, 1]), 6), round(normalized_cut(path, [0, 1, 1, 1]), 6)
    (0.666667, 1.2)
    """
    return cut_value(*read_clustering(graph, labels))


def read_clustering(graph: Any, labels: Any) -> tuple[Graph, sp.csr_array]:
    """Read a graph, and labels or memberships of its nodes, as scores take them.

    Examples
    --------
    >>> import networkx as nx
    >>> read_clustering(nx.path_graph(2), ["a", "b"])[1].toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    checked, shares = as_graph(graph), shares_of(labels, "labels")
    if shares.shape[0] != len(checked):
        problem = f"got {shares.shape[0]} for {len(checked)} nodes"
        raise InputError("labels", problem, "give one for each node")
    return checked, shares


def exact_normalized_cut(graph: Any, k: int) -> tuple[Array, float]:
    """Find the partition into exactly k clusters with the lowest normalized cut, by searching all of them.

    Parameters
    ----------
    graph : Graph, networkx graph, sparse matrix, or points
        Of at most 12 nodes.
    k : int

    Returns
    -------
    labels : ndarray of int32, shape (n,)
        Clusters are in the order of their first nodes; of partitions with equal values, the first found.
    value : float

    Examples
    --------
    >>> import networkx as nx
    >>> labels, value = exact_normalized_cut(nx.barbell_graph(3, 0), 2)
    >>> labels.tolist(), round(value, 6)
    ([0, 0, 0, 1, 1, 1], 0.285714)
    """
    checked = as_graph(graph)
    count, k = len(checked), integer("k", k, 1)
    if k > count:
        raise InputError("k", f"got {k} clusters for {count} nodes", f"use at most {count}")
    if count > MAX_NODES:
        partitions = _partitions(count, k) if count <= 1000 else None
        problem = f"has {count} nodes, and trying all partitions would take {_time(partitions)}"
        raise InputError("graph", problem, f"pass at most {MAX_NODES}, or use method='normalized-cut'")
    labels = np.zeros(count, dtype=np.int32)
    value = least_cut(checked.adjacency.toarray(), checked.degrees, k, labels)
    return labels, float(value)


def cut_value(graph: Graph, memberships: sp.csr_array) -> float:
    """Compute the normalized cut without checking the arguments again; see :func:`normalized_cut`."""
    cut, mass = cut_and_mass(graph, memberships)
    return float(np.divide(cut, mass, out=np.zeros(len(cut)), where=mass > 0).sum())


def cut_and_mass(graph: Graph, memberships: sp.csr_array) -> tuple[Array, Array]:
    """Compute for every cluster what it cuts off, and its mass."""
    count, clusters = memberships.shape[1], memberships.indices
    edges, shares = rows_of(graph.adjacency), rows_of(memberships)
    parts = np.empty(memberships.nnz)

    def piece(start: int, stop: int) -> None:
        cut_off(edges, shares, count, start, stop, parts)

    for _ in map_pieces(piece, pieces_by_load(graph.adjacency.indptr, LOAD)):
        pass
    weights = np.repeat(graph.degrees, np.diff(memberships.indptr)) * memberships.data
    return np.bincount(clusters, parts, minlength=count), np.bincount(clusters, weights, minlength=count)


def _partitions(count: int, parts: int) -> int:
    """Count the partitions of `count` things into exactly `parts`: a Stirling number of the second kind."""
    signed: int = sum((-1) ** (parts - j) * comb(parts, j) * j**count for j in range(parts + 1))
    return signed // factorial(parts)


def _time(partitions: int | None) -> str:
    """Say how long it takes to try this many partitions."""
    if partitions is None or partitions * SECONDS_EACH > 3e10:
        return "more than 1000 years"
    seconds = partitions * SECONDS_EACH
    for unit, size in (("years", 31_557_600), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.2g} seconds"
