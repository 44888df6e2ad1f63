"""Symmetric non-negative matrix factorization of the normalized graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice, integer
from graphsoft.kernels import rows_of
from graphsoft.kernels.symnmf import descend, row_squares
from graphsoft.linalg.csr import gram, inverse_or_zero, times
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import repeat_until_flat
from graphsoft.methods.parts.shares import MIN_PART, STARTS, final_memberships, start_shares
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["SymNMF"]

# It stops when a sweep gains less than this share of the squares of A.
MIN_GAIN = 1e-6


@dataclass(frozen=True)
class SymNMF:
    """Settings of ``A ~ H H^T`` with H >= 0 and ``A = D^-1/2 W D^-1/2``, its diagonal included.

    It minimizes the objective of Kuang, Ding and Park by coordinate descent: every entry of H in turn takes
    its best value, a root of a cubic (Vandaele and others), so no update raises the loss. The memberships are
    the rows of H divided by their sums. The trace is ``||A - H H^T||² / ||A||²`` after the start and after
    each sweep; it never rises.

    Parameters
    ----------
    start : {"contraction", "random"}
        See :func:`graphsoft.methods.parts.shares.start_shares`.
    max_sweeps : int
        It stops earlier when a sweep gains less than 1e-6 of ``||A||²``.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> graphsoft.cluster(nx.barbell_graph(5, 0), 2, method=SymNMF()).labels.tolist()
    [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    """

    start: str = "contraction"
    max_sweeps: int = 300

    def __post_init__(self) -> None:
        choice("start", self.start, STARTS)
        integer("max_sweeps", self.max_sweeps, 1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the graph only."""
        return frozenset({"graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Descend sweep by sweep."""
        graph = sample.graph
        scale = np.sqrt(inverse_or_zero(graph.degrees))
        square = _square(graph, scale)
        factor = _first_factor(graph, scale, start_shares(graph, count, self.start, random))

        def sweep() -> float:
            _sweep(graph, scale, factor)
            return _loss(graph, scale, factor, square)

        first = _loss(graph, scale, factor, square)
        trace, status = repeat_until_flat(
            sweep, first, self.max_sweeps, MIN_GAIN, "symmetric factorization", progress
        )
        return Clustering(final_memberships(factor, MIN_PART / count), trace, status, len(trace) - 1)


def _first_factor(graph: Graph, scale: Array, shares: Array) -> Array:
    """Scale ``D^1/2 S`` to columns of length one, and then so that ``H H^T`` is nearest to A."""
    factor = np.sqrt(graph.degrees)[:, None] * shares
    factor /= np.sqrt(np.square(factor).sum(axis=0))
    factor *= np.sqrt(_agreement(graph, scale, factor) / np.square(gram(factor)).sum())
    return np.ascontiguousarray(factor)


def _square(graph: Graph, scale: Array) -> float:
    """Compute ``||A||²``."""
    edges, squares = rows_of(graph.adjacency), np.empty(len(graph))

    def piece(start: int, stop: int) -> None:
        row_squares(edges, scale, start, stop, squares)

    for _ in map_pieces(piece, pieces_by_load(graph.adjacency.indptr, LOAD)):
        pass
    return float(squares.sum())


def _agreement(graph: Graph, scale: Array, factor: Array) -> float:
    """Compute ``<A, H H^T>``."""
    scaled = scale[:, None] * factor
    return float(np.sum(times(graph.adjacency, scaled) * scaled))


def _loss(graph: Graph, scale: Array, factor: Array, square: float) -> float:
    return (square - 2.0 * _agreement(graph, scale, factor) + float(np.square(gram(factor)).sum())) / square


def _sweep(graph: Graph, scale: Array, factor: Array) -> None:
    """Set every entry once, row after row, for each depends on those before it."""
    edges, inner = rows_of(graph.adjacency), gram(factor)
    for start, stop in pieces_by_load(graph.adjacency.indptr, LOAD):
        descend(edges, scale, inner, start, stop, factor)
