"""Memberships of new points: one step of a random walk to old points, and from there to their clusters.

A new point is joined to its nearest points in the same way as they are joined to each other, with the same
weights. The walk goes from it to one of them, and from there to the clusters:
``sum_j w_j / sum(w) p(cluster | j)``. A new point that equals an old one has the memberships of that point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Progress
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import joined_to_nearest
from graphsoft.linalg.memberships import frozen_rows
from graphsoft.neighbors.points import Points, RowLookup
from graphsoft.result.reference_graph import ReferenceGraph
from graphsoft.result.reference_points import ReferencePoints

__all__ = ["Reference", "fallback_memberships", "new_memberships", "reference_of"]


class Reference(Protocol):
    """The old points of a hierarchy, as new ones are mapped onto them."""

    def rows(self, X: Any, growing: bool = False) -> Any:
        """Check the rows of new points; `growing` says whether they will be added to the graph."""
        ...

    def step(self, values: Any, progress: Progress | None = None) -> sp.csr_array:
        """Take the step from checked rows to old points.

        The result is a csr_array of shape (q, n), ``p(old point | new point)``. Its rows sum to one, except
        those of points without neighbors, which are empty. A row that equals several old ones goes to the
        first of them.
        """
        ...


def reference_of(
    graph: Graph, features: Features | None, n_neighbors: int, weights: str, memberships: sp.csr_array
) -> Reference:
    """Prepare the old points for questions of new ones.

    Parameters
    ----------
    graph : Graph
    features : Features or None
        None where only a graph was given. Those that came beside a graph make a graph of their own here, in
        which new points find their neighbors.
    n_neighbors, weights
        How a graph is made of the features.
    memberships : csr_array of shape (n, m)
        Where there are too many points to look at them all, the search begins at sure members of clusters.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> path = as_graph(nx.path_graph(3))
    >>> reference = reference_of(path, None, 1, "connectivity", sp.eye_array(3, format="csr"))
    >>> reference.step(reference.rows([[1.0, 0.0, 3.0]])).toarray()
    array([[0.25, 0.  , 0.75]])
    """
    if features is None:
        return ReferenceGraph(RowLookup.of(Points.of(graph.adjacency, "cosine")), graph.from_distances)
    if features.beside:
        graph = joined_to_nearest(features, n_neighbors, weights, "union", None, None)
    return ReferencePoints.of(graph, features, n_neighbors, weights, memberships)


def fallback_memberships(
    graph: Graph, memberships: Sequence[sp.csr_array], parents: Sequence[sp.csr_array]
) -> list[sp.csr_array]:
    """Choose the memberships of new points without neighbors.

    They are those of the first old node without edges or, if all have edges, the heaviest cluster.

    Parameters
    ----------
    graph : Graph
    memberships : sequence of csr_array of shape (n, m)
        Of the old points on each level, finest first.
    parents : sequence of csr_array of shape (m, m above)
        Of the clusters of each level except the top one.

    Returns
    -------
    list of csr_array of shape (1, m)

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> fine = sp.csr_array([[0.0, 1.0], [0.5, 0.5]])
    >>> fallback_memberships(as_graph(nx.path_graph(2)), [fine], [])[0].toarray()
    array([[0., 1.]])
    """
    isolated = np.flatnonzero(np.diff(graph.adjacency.indptr) == 0)[:1]
    if len(isolated):
        return [shares[isolated] for shares in memberships]
    heaviest = int(np.argmax(memberships[0].T @ graph.degrees))
    rows = [sp.csr_array(([1.0], [heaviest], [0, 1]), shape=(1, memberships[0].shape[1]))]
    for upper in parents:
        rows.append((rows[-1] @ upper).tocsr())
    return rows


def new_memberships(
    step: sp.csr_array, memberships: sp.csr_array, fallback: sp.csr_array | None = None
) -> sp.csr_array:
    """Continue the walk from old points to their clusters.

    Parameters
    ----------
    step : csr_array of shape (q, n)
    memberships : csr_array of shape (n, m)
        Of the old points.
    fallback : csr_array of shape (1, m), optional
        Takes the place of empty rows, where there are any.

    Returns
    -------
    csr_array of shape (q, m)
        Read-only; rows sum to one.

    Examples
    --------
    >>> step = sp.csr_array([[0.25, 0.75], [0.0, 0.0]])
    >>> new_memberships(step, sp.csr_array([[1.0, 0.0], [0.0, 1.0]]), sp.csr_array([[1.0, 0.0]])).toarray()
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    result = (step @ memberships).tocsr()
    if fallback is not None:
        empty = sp.csr_array((np.diff(step.indptr) == 0)[:, None].astype(np.float64))
        result = (result + empty @ fallback).tocsr()
    return frozen_rows(result)
