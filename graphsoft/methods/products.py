"""What several methods compute of a graph and a dense factor with a column for each cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.checks import choice
from graphsoft.coarsening import grouped
from graphsoft.graph import Graph
from graphsoft.kernels import baum_eagon, parts_of
from graphsoft.kernels.products import times_dense
from graphsoft.parallel import map_blocks, map_pieces, pieces_with_columns

__all__ = ["STARTS", "gram", "start_shares", "times"]

Array = np.ndarray[Any, np.dtype[Any]]

STARTS = ("contraction", "random")
# What each point gives to all clusters alike at the start, for a share of exactly zero may stay there.
SPREAD = 0.1
ROWS = 1 << 13


def times(matrix: sp.csr_array, dense: Array) -> Array:
    """Multiply a sparse matrix with a dense one, on threads, with the same bits on any number of them.

    Examples
    --------
    >>> times(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[6., 8.],
           [1., 2.]])
    """
    dense = np.ascontiguousarray(dense)
    result = np.empty((matrix.shape[0], dense.shape[1]), dtype=np.result_type(matrix.data, dense))

    def piece(start: int, stop: int) -> None:
        times_dense(*parts_of(matrix), dense, start, stop, result)

    for _ in map_pieces(piece, pieces_with_columns(matrix.indptr, dense.shape[1])):
        pass
    return result


def gram(dense: Array) -> Array:
    """Compute ``S^T S``, in pieces that do not depend on the number of threads, as those of BLAS would.

    Examples
    --------
    >>> gram(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[1., 2.],
           [2., 5.]])
    """
    count = dense.shape[1]

    def piece(start: int, stop: int) -> Array:
        part = np.empty((count, count))
        baum_eagon.gram(dense, start, stop, part)
        return part

    return sum(map_blocks(piece, len(dense), ROWS), np.zeros((count, count)))


def start_shares(graph: Graph, count: int, start: str, random: np.random.Generator) -> Array:
    """Make dense shares to begin with; every row sums to one.

    Parameters
    ----------
    graph : Graph
    count : int
    start : {"contraction", "random"}
        ``contraction`` groups the nodes by contraction of the graph, and gives each node mostly to its group;
        ``random`` draws every row anew.
    random : Generator

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph import as_graph
    >>> start_shares(as_graph(nx.path_graph(4)), 2, "contraction", np.random.default_rng(0)).round(2).tolist()
    [[0.95, 0.05], [0.95, 0.05], [0.05, 0.95], [0.05, 0.95]]
    """
    if choice("start", start, STARTS) == "random":
        return random.dirichlet(np.ones(count), size=len(graph))
    shares = np.full((len(graph), count), SPREAD / count)
    shares[np.arange(len(graph)), grouped(graph, count)] += 1.0 - SPREAD
    return shares
