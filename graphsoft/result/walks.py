"""Random walks between points, as symmetric operators whose n x n entries are never stored.

An entry is the frequency of walks from one point to another, and rows sum to the degrees. There are two kinds
of walks: through the clusters of a level, ``B~ L^-1 B~^T``, and of t steps along the edges of the graph,
``W (D^-1 W)^(t-1)``.

Suppose that every level factorizes the one below exactly: ``W = B L^-1 B^T`` and, in the same way, the graph
of its clusters, ``B^T D^-1 B``. Then the walk through the clusters of the second level is
``B L^-1 (B^T D^-1 B) L^-1 B^T = W D^-1 W``, which takes two steps. By induction, level l takes l steps, where
l = 1 is the finest, and not 2^l as has been published. Real graphs are not factorized exactly;
``examples/walks.py`` measures which number of steps comes closest to each level.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from graphsoft.aliases import Array
from graphsoft.engine.cluster_graph import cluster_graph
from graphsoft.errors import InputError, shown
from graphsoft.graph.adjacency import is_clean
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import integer, number
from graphsoft.input.memberships import check_memberships
from graphsoft.input.sparse_input import check_rows
from graphsoft.lazy import lazy
from graphsoft.linalg.csr import inverse_or_zero, times

__all__ = ["EquivalentAdjacency", "MultistepAdjacency", "multistep"]

# The largest array that `toarray` makes has so many rows and columns: 200 MB.
MAX_WRITTEN = 5000
# Several steps through clusters need a dense matrix with a row for each: 200 MB at most, too.
MAX_CLUSTERS = 5000
# Longer walks would take days, and do not depend on where they began.
MAX_STEPS = 10**9
# `sparse_rows` takes its steps one by one.
MAX_PRUNED_STEPS = 10**4
# Terms of a series are left out if all of them together are below this.
ROUNDING = 2.0**-54


def _as_numbers(x: Array) -> Array:
    """Convert the vectors to be multiplied to float64 or complex128."""
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise InputError("x", f"is an array of dtype {x.dtype}", "multiply with numbers")
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


class WalkAdjacency(LinearOperator):  # type: ignore[misc]
    """A symmetric operator of shape (n, n) whose entries are the frequencies of walks between points.

    ``operator @ x`` takes vectors and matrices. The rows of the operator sum to `degrees`.

    Attributes
    ----------
    degrees : ndarray of shape (n,)
    """

    degrees: Array

    def __init__(self, degrees: Array) -> None:
        super().__init__(np.dtype(np.float64), (len(degrees), len(degrees)))
        self.degrees = degrees

    def row(self, node: int) -> Array:
        """Compute one row by the number of its node, float64 of shape (n,)."""
        return self._row(self._number("node", node))

    def entry(self, one: int, two: int) -> float:
        """Compute one entry."""
        one, two = self._number("one", one), self._number("two", two)
        return self._entry(one, two)

    def nearest(self, node: int, count: int = 10) -> tuple[Array, Array]:
        """Find the nodes, other than itself, that walks from `node` lead to most often.

        Returns
        -------
        ndarray of int, ndarray of float
            At most `count` nodes and their entries of the row, the largest first. Nodes with an entry of 0
            are left out, and of equal entries the lower number comes first.
        """
        count = integer("count", count, 1)
        row = self.row(node)
        row[node] = 0.0
        best = np.argsort(-row, kind="stable")[:count]
        best = best[row[best] > 0]
        return best, row[best]

    def toarray(self) -> Array:
        """Compute the whole array, for at most 5000 points."""
        points = len(self.degrees)
        if points > MAX_WRITTEN:
            problem = f"would write {points} x {points} numbers"
            raise InputError("toarray", problem, "take products, row(node), entry(i, j) or nearest(node)")
        return np.asarray(self @ np.eye(points))

    def _row(self, node: int) -> Array:
        unit = np.zeros(len(self.degrees))
        unit[node] = 1.0
        return np.asarray(self @ unit)

    def _entry(self, one: int, two: int) -> float:
        return float(self._row(one)[two])

    def _number(self, argument: str, node: Any) -> int:
        return integer(argument, node, 0, len(self.degrees) - 1)

    def _matvec(self, x: Array) -> Array:
        return np.asarray(self._matmat(x.reshape(-1, 1))).ravel()

    def _adjoint(self) -> WalkAdjacency:
        return self

    _transpose = _adjoint


class EquivalentAdjacency(WalkAdjacency):
    """The walk from point to point through the clusters of a level, ``B~ L^-1 B~^T`` with ``B~ = D S``.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
        S, with rows that sum to one.
    degrees : ndarray of shape (n,)
    cluster_walk : ndarray of shape (m, m), optional
        Takes the place of ``L^-1`` for walks with further steps from cluster to cluster.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> level = graphsoft.hierarchy(nx.barbell_graph(3, 0), levels=[2])[0]
    >>> walk = level.equivalent_adjacency
    >>> walk.row(0).round(2).tolist()
    [0.57, 0.57, 0.68, 0.18, 0.0, 0.0]
    >>> walk.nearest(0, 1)[0].tolist(), walk.entry(0, 5)
    ([2], 0.0)
    """

    def __init__(self, memberships: sp.csr_array, degrees: Array, cluster_walk: Array | None = None) -> None:
        check_memberships(memberships, "memberships", (len(degrees), memberships.shape[1]))
        super().__init__(degrees)
        self._bipartite = (sp.diags_array(degrees) @ memberships).tocsr()
        self._members = self._bipartite.T.tocsr()
        self._memberships, self._cluster_walk = memberships, cluster_walk
        self._inverse_mass = inverse_or_zero(np.asarray(self._members.sum(axis=1)).ravel())

    def __reduce__(self) -> tuple[Any, ...]:
        return EquivalentAdjacency, (self._memberships, self.degrees, self._cluster_walk)

    @lazy
    def clusters(self) -> Graph:
        """The graph of the clusters that walks go through, ``B~^T D^-1 B~``."""
        shape = len(self.degrees), self._bipartite.shape[1]
        check_memberships(self._memberships, "memberships", shape)  # those of a level, which can be changed
        return cluster_graph(self._memberships, self.degrees)

    def steps(self, count: int) -> EquivalentAdjacency:
        """Take `count` such steps in a row, computed as a power of the walk between the clusters.

        Examples
        --------
        >>> memberships = sp.csr_array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
        >>> EquivalentAdjacency(memberships, np.ones(3)).steps(2).row(0).round(3).tolist()
        [0.556, 0.333, 0.111]
        """
        count = integer("count", count, 1, MAX_STEPS)
        clusters = self._bipartite.shape[1]
        if clusters > MAX_CLUSTERS:
            problem = f"would write the walk between {clusters} clusters"
            raise InputError("steps", problem, f"take a level of at most {MAX_CLUSTERS} clusters")
        once = self._cluster_walk if self._cluster_walk is not None else np.diag(self._inverse_mass)
        step = self.clusters.adjacency.toarray() @ once
        walk = once @ np.linalg.matrix_power(step, count - 1)
        return EquivalentAdjacency(self._memberships, self.degrees, walk)

    def _matmat(self, x: Array) -> Array:
        x = _as_numbers(x)
        return times(self._bipartite, self._through(times(self._members, x)))

    def _row(self, node: int) -> Array:
        clusters = self._bipartite[[node]].toarray().T
        return np.asarray(self._bipartite @ self._through(clusters), dtype=np.float64).ravel()

    def _entry(self, one: int, two: int) -> float:
        ends = self._bipartite[[one, two]].toarray()
        return float(ends[0] @ self._through(ends[1][:, None])[:, 0])

    def _through(self, clusters: Array) -> Array:
        """Multiply by ``L^-1``, or by what takes its place."""
        if self._cluster_walk is None:
            return np.asarray(self._inverse_mass[:, None] * clusters)
        return np.asarray(self._cluster_walk @ clusters)


class MultistepAdjacency(WalkAdjacency):
    """The walk of t steps along the edges of a graph, ``W (D^-1 W)^(t-1)``; made by :func:`multistep`.

    A product costs t passes over the edges, or about ``9 sqrt(t)`` if that is less: so many terms of the
    Chebyshev series of ``S^t`` matter, with ``S = D^-1/2 W D^-1/2``.
    """

    def __init__(self, adjacency: sp.csr_array, degrees: Array, steps: int) -> None:
        super().__init__(degrees)
        self.adjacency, self.steps = adjacency, steps
        self._inverse = inverse_or_zero(degrees)
        self._root = np.sqrt(degrees)
        self._weights = chebyshev_weights(steps)

    def __reduce__(self) -> tuple[Any, ...]:
        return MultistepAdjacency, (self.adjacency, self.degrees, self.steps)

    def sparse_rows(self, nodes: Iterable[int], min_share: float = 1e-4) -> sp.csr_array:
        """Compute rows approximately, by a diffusion that drops small entries after each step.

        Parameters
        ----------
        nodes : iterable of int
        min_share : float
            After each step, entries below this part of the node's degree are dropped. So a row has at most
            ``1 / min_share`` entries.

        Returns
        -------
        csr_array of shape (number of nodes, n)
            No entry is larger than that of the full row. A row sums to the degree of its node minus the
            entries that were dropped.

        Examples
        --------
        >>> import networkx as nx
        >>> multistep(nx.path_graph(5), 3).sparse_rows([0], min_share=0.3).toarray()
        array([[0.  , 0.75, 0.  , 0.  , 0.  ]])
        """
        if not isinstance(nodes, Iterable) or getattr(nodes, "ndim", 1) == 0:
            raise InputError("nodes", f"got {shown(nodes)}", "give a list of row numbers")
        if self.steps > MAX_PRUNED_STEPS:
            problem = f"would take {self.steps} steps one by one"
            raise InputError("sparse_rows", problem, f"take at most {MAX_PRUNED_STEPS} steps, or row(node)")
        rows = np.array([self._number("nodes", node) for node in nodes], dtype=np.int64)
        min_share = number("min_share", min_share, minimum=0, below=1)
        self._refuse_changed()
        floor = min_share * self.degrees[rows]
        walks = _without_small(self.adjacency[rows].tocsr(), floor)
        inverse = sp.diags_array(self._inverse)
        for _ in range(self.steps - 1):
            walks = _without_small(((walks @ inverse) @ self.adjacency).tocsr(), floor)
        walks.sort_indices()
        return walks

    def product(self, x: Array) -> Array:
        """Multiply without checking again that `adjacency` is as it was, as ``@`` does."""
        if self.steps <= len(self._weights):
            return self._by_steps(x)
        return self._by_series(x)

    def _matmat(self, x: Array) -> Array:
        self._refuse_changed()
        return self.product(_as_numbers(x))

    def _refuse_changed(self) -> None:
        """Refuse weights that have changed since the degrees were computed: walks would be no walks."""
        check_rows(self.adjacency, "adjacency")
        count, degrees = self.adjacency.shape[0], self.degrees
        if is_clean(self.adjacency) and np.shape(degrees) == (count,):
            sums = self.adjacency.sum(axis=1, dtype=np.float64)
            if np.allclose(sums, degrees, rtol=1e-9, atol=0.0):
                return
        raise InputError("adjacency", "has changed since the walk was made", "make the walk again")

    def _by_steps(self, x: Array) -> Array:
        walked = times(self.adjacency, x)
        for _ in range(self.steps - 1):
            walked = times(self.adjacency, self._inverse[:, None] * walked)
        return walked

    def _by_series(self, x: Array) -> Array:
        """Sum the Chebyshev series of ``S^t``, whose terms all have the parity of t."""
        root, inverse_root = self._root[:, None], inverse_or_zero(self._root)[:, None]

        def normalized(vectors: Array) -> Array:
            return np.asarray(inverse_root * times(self.adjacency, inverse_root * vectors))

        before = root * x
        now = normalized(before)
        total = self._weights[0] * before + self._weights[1] * now
        for weight in self._weights[2:]:
            before, now = now, 2.0 * normalized(now) - before
            if weight:
                total += weight * now
        return np.asarray(root * total)


def multistep(X: Any, t: int) -> MultistepAdjacency:
    """Make an operator for the walk of t steps along the edges of a graph, ``W (D^-1 W)^(t-1)``.

    Parameters
    ----------
    X : Graph, networkx graph, sparse matrix, or points
        As in :func:`graphsoft.as_graph`.
    t : int
        Number of steps. With 1 the result is the graph itself.

    Returns
    -------
    MultistepAdjacency
        A symmetric `scipy.sparse.linalg.LinearOperator`, with ``row``, ``entry``, ``nearest``,
        ``sparse_rows``, ``degrees``, and ``toarray`` for few points. Its rows sum to the degrees of the
        graph for every t.

    Examples
    --------
    >>> import networkx as nx
    >>> walk = multistep(nx.path_graph(3), 2)
    >>> walk.row(0).tolist(), walk.degrees.tolist()
    ([0.5, 0.0, 0.5], [1.0, 2.0, 1.0])
    >>> (walk @ [1.0, 1.0, 1.0]).tolist()
    [1.0, 2.0, 1.0]
    """
    t = integer("t", t, 1, MAX_STEPS)
    graph = as_graph(X)
    return MultistepAdjacency(graph.adjacency, graph.degrees, t)


def chebyshev_weights(t: int) -> Array:
    """Compute the weights of Chebyshev polynomials of degrees 0, 1, 2, ... whose sum is ``x^t`` on [-1, 1].

    Let s be the distance from the start after t steps to the left or right on a line, each with chance 1/2.
    Then ``x^t`` is the mean of ``T_s(x)``. So the weights are probabilities, and those of high degrees are
    negligible.

    Examples
    --------
    >>> chebyshev_weights(3).tolist()
    [0.0, 0.75, 0.0, 0.25]
    """
    # by Hoeffding's bound, larger distances together have a probability below rounding
    reach = min(t, int(np.ceil(np.sqrt(2.0 * t * np.log(4.0 / ROUNDING)))) + 1)
    ends = np.arange(t % 2, reach + 1, 2, dtype=np.float64)
    ratios = (t - ends[:-1]) / (t + ends[:-1] + 2.0)
    chances = np.concatenate(([1.0], np.cumprod(ratios)))
    chances[1:] *= 2.0 if t % 2 == 0 else 1.0  # two ends, left and right, for every distance but 0
    weights = np.zeros(int(ends[-1]) + 1)
    weights[ends.astype(np.int64)] = chances / chances.sum()
    return weights


def _without_small(walks: sp.csr_array, floor: Array) -> sp.csr_array:
    walks.data[walks.data < np.repeat(floor, np.diff(walks.indptr))] = 0.0
    walks.eliminate_zeros()
    return walks
