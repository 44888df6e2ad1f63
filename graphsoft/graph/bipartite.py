"""Bipartite graphs: documents and words, customers and goods, clustered on both sides at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown
from graphsoft.graph.adjacency import is_networkx, weight_matrix
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.sparse_input import sparse_matrix

__all__ = ["bipartite_graph"]


def bipartite_graph(A: Any, rows: Iterable[Any] | None = None, columns: Iterable[Any] | None = None) -> Graph:
    """Join the rows of a table to its columns: a graph whose clusters hold both.

    Parameters
    ----------
    A : array_like, data frame or sparse matrix of shape (r, c)
        Entries of at least 0, which become the weights of edges: as counts or tf-idf of words (columns) in
        documents (rows).
    rows, columns : iterable, optional
        Names of the rows and of the columns, all different; numbers of either where they are not given. If
        neither is, nodes are ``range(r + c)``.

    Returns
    -------
    Graph
        Of r + c nodes, rows first, with the adjacency ``[[0, A], [A^T, 0]]``. So in what `hierarchy` makes of
        it, ``memberships[:r]`` are those of the rows, and ``memberships[r:]`` those of the columns.

    Notes
    -----
    Relation factorization of such a graph is the aspect model, also known as probabilistic latent semantic
    analysis (T. Hofmann, 1999): ``A ~ N sum_q p(q) p(row | q) p(column | q)`` with N the sum of A. For what
    a sweep gives to a cluster comes from edges, each of which gives alike to its two ends; so every cluster
    holds the same mass on both sides, ``p(q) = lambda_q / 2N``, and ``p(row | q)`` is twice the row's part of
    the cluster's mass. The log-likelihood of the graph is twice that of the table, but for a constant.
    Memberships are ``p(q | row)`` and ``p(q | column)``. The aspect model draws its start; here it is a
    contraction, and a hierarchy comes with it. Tables take more sweeps than graphs of neighbors: give a flat
    clustering ``method=Relation(rounds=30)``.

    A networkx graph that is bipartite goes into `hierarchy` as it is.

    Examples
    --------
    >>> import graphsoft
    >>> counts = [[3, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 2]]
    >>> graph = bipartite_graph(counts, ["a", "b", "c"], ["cat", "dog", "tea", "cup"])
    >>> found = graphsoft.cluster(graph, 2)
    >>> dict(zip(found.nodes, found.labels.tolist()))
    {'a': 0, 'b': 0, 'c': 1, 'cat': 0, 'dog': 0, 'tea': 1, 'cup': 1}
    """
    if isinstance(A, Graph) or is_networkx(A):
        raise InputError("A", "is a graph, not a table of rows and columns", "pass it to hierarchy as it is")
    if sp.issparse(A):
        matrix = sparse_matrix(A, "A", rounded=True)
    else:
        matrix = sp.csr_array(dense_matrix(A, "A", rounded=True).astype(np.float64))
    above, beside = matrix.shape
    nodes = _names(rows, columns, above, beside)
    weights, notes = weight_matrix(matrix, "A")
    both = sp.block_array([[None, weights], [weights.T, None]], format="csr")
    made = as_graph(both, affinity="precomputed")
    notes = [f"{above} rows beside {beside} columns", *notes, *made.notes]
    return replace(made, nodes=nodes or made.nodes, notes=tuple(notes))


def _names(
    rows: Iterable[Any] | None, columns: Iterable[Any] | None, above: int, beside: int
) -> Sequence[Any] | None:
    """Check names, and put those of the columns behind those of the rows."""
    if rows is None and columns is None:
        return None
    one = _listed("rows", rows, above)
    two = _listed("columns", columns, beside)
    seen: set[Any] = set()
    for argument, names in (("rows", one), ("columns", two)):
        for name in names:
            try:
                new = name not in seen
            except TypeError:  # not hashable
                raise InputError(argument, f"holds {shown(name)}", "use names that can be keys") from None
            if not new:
                problem = f"holds {shown(name)}, which is the name of another node"
                raise InputError(argument, problem, "use names that differ, as ('word', name)")
            seen.add(name)
    return (*one, *two)


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
