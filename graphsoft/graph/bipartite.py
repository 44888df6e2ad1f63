"""Bipartite graphs, such as documents and words, or customers and goods, clustered on both sides at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown
from graphsoft.graph.adjacency import weight_matrix
from graphsoft.graph.graph import Graph
from graphsoft.graph.networks import is_network
from graphsoft.graph.reading import as_graph
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.sparse_input import sparse_matrix

__all__ = ["bipartite_graph"]


def bipartite_graph(A: Any, rows: Iterable[Any] | None = None, columns: Iterable[Any] | None = None) -> Graph:
    """Join the rows of a table to its columns: a graph whose clusters hold both.

    Parameters
    ----------
    A : array_like, data frame or sparse matrix of shape (r, c)
        Entries of at least 0, which become the weights of edges, such as counts or tf-idf of words (columns)
        in documents (rows).
    rows, columns : iterable, optional
        Names of the rows and of the columns, all different. If only one of the two is given, the other has
        numbers. If neither is, nodes are ``range(r + c)``.

    Returns
    -------
    Graph
        Of r + c nodes, rows first, with the adjacency ``[[0, A], [A^T, 0]]``. In a hierarchy of this graph,
        ``memberships[:r]`` are those of the rows, and ``memberships[r:]`` those of the columns.

    Notes
    -----
    Relation factorization of such a graph is the aspect model, also known as probabilistic latent semantic
    analysis (T. Hofmann, 1999): ``A ~ N sum_q p(q) p(row | q) p(column | q)`` with N the sum of A. A sweep
    assigns parts of edges to clusters, and an edge adds as much mass to one of its ends as to the other. So
    every cluster has the same mass on both sides, ``p(q) = lambda_q / 2N``, and ``p(row | q)`` is twice the
    row's part of the cluster's mass. The log-likelihood of the graph is twice that of the table, up to a
    constant. Memberships are ``p(q | row)`` and ``p(q | column)``.

    The aspect model starts at random. Here the start is a contraction, which also gives a hierarchy. Tables
    take more sweeps than graphs of neighbors: use ``method=Relation(rounds=30)`` for a flat clustering.

    Pass a networkx graph that is bipartite to `hierarchy` as it is.

    Examples
    --------
    >>> import graphsoft
    >>> counts = [[3, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 2]]
    >>> graph = bipartite_graph(counts, ["a", "b", "c"], ["cat", "dog", "tea", "cup"])
    >>> found = graphsoft.cluster(graph, 2)
    >>> dict(zip(found.nodes, found.labels.tolist()))
    {'a': 0, 'b': 0, 'c': 1, 'cat': 0, 'dog': 0, 'tea': 1, 'cup': 1}
    """
    if isinstance(A, Graph) or is_network(A):
        raise InputError("A", "is a graph, not a table of rows and columns", "pass it to hierarchy as it is")
    if sp.issparse(A):
        matrix = sparse_matrix(A, "A", rounded=True)
    else:
        matrix = sp.csr_array(dense_matrix(A, "A", rounded=True).astype(np.float64))
    row_count, column_count = matrix.shape
    nodes = _names(rows, columns, row_count, column_count)
    weights, notes = weight_matrix(matrix, "A")
    both = sp.block_array([[None, weights], [weights.T, None]], format="csr")
    made = as_graph(both, affinity="precomputed")
    notes = [f"{row_count} rows and {column_count} columns", *notes, *made.notes]
    return replace(made, nodes=nodes or made.nodes, notes=tuple(notes))


def _names(
    rows: Iterable[Any] | None, columns: Iterable[Any] | None, row_count: int, column_count: int
) -> Sequence[Any] | None:
    """Check names, and list those of the rows before those of the columns."""
    if rows is None and columns is None:
        return None
    of_rows = _listed("rows", rows, row_count)
    of_columns = _listed("columns", columns, column_count)
    seen: set[Any] = set()
    for argument, names in (("rows", of_rows), ("columns", of_columns)):
        for name in names:
            try:
                new = name not in seen
            except TypeError:  # not hashable
                raise InputError(argument, f"holds {shown(name)}", "use names that can be keys") from None
            if not new:
                problem = f"holds {shown(name)}, which is the name of another node"
                raise InputError(argument, problem, "use names that differ, such as ('word', name)")
            seen.add(name)
    return (*of_rows, *of_columns)


def _listed(argument: str, names: Iterable[Any] | None, count: int) -> list[Any]:
    if names is None:
        return list(range(count))
    if not isinstance(names, Iterable) or isinstance(names, str | bytes) or getattr(names, "ndim", 1) == 0:
        raise InputError(argument, f"got {shown(names)}", "use a list of names")
    listed = [name.item() if isinstance(name, np.generic) else name for name in names]
    if len(listed) != count:
        problem = f"holds {len(listed)} names for {count} {argument} of A"
        raise InputError(argument, problem, "give one name for each")
    return listed
