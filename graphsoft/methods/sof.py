"""Soft-cluster factorization: probabilities that two points share a cluster, as ``P ~ W W^T``.

The squares ``||P - W W^T||^2`` are minimized. The constraints, ``W >= 0`` and rows that sum to one, start as
mild penalties and become stricter stage by stage. No array of all pairs is needed: ``||P - alpha W W^T||^2``
is ``||P||^2 - 2 alpha <W, P W> + alpha^2 ||W^T W||^2``. There P is sparse, and W^T W has a row and a column
for each cluster.

In a sparse P most pairs have a probability of 0, and those of the others are far from 1. Memberships cannot
reach such products: a row that sums to one has a product of at least 1/k with itself, and the best rows are
nearly the same for all points. So P is relative by default: ``P_ij / sqrt(d_i d_j)``, where d are the row
sums, and ``alpha W W^T`` is fitted to it with the best alpha. ``examples/papers/002.py`` compares both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.graph.graph import Graph
from graphsoft.graph.pairwise import all_pairs
from graphsoft.input.checks import choice, integer
from graphsoft.kernels.products import LeastSquares
from graphsoft.kernels.sof import Stage, penalized_rows
from graphsoft.linalg.csr import gram, inverse_or_zero, times
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.lbfgs import descend
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.methods.parts.shares import STARTS, final_memberships, start_shares
from graphsoft.parallel import LOAD, map_blocks, map_pieces, pieces_by_load

__all__ = ["SoF"]

PAIRS = ("auto", "all", "graph")
CHANCES = ("relative", "absolute")
# All pairs of this many points take a few seconds.
MAX_POINTS_IN_PAIRS = 2000
# The penalty of the first stage, the factor from each stage to the next, and the number of stages. A penalty
# of 1 is about as strong as the pull of its neighbors on a point. The last penalty is a hundred times that,
# so the constraints hold almost exactly.
PENALTY, PENALTY_GROWTH, STAGES = 0.01, 10.0, 5
# A stage ends when a step lowers its function by this share of the explained squares; later ones are finer.
TOLERANCES = (1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
ROWS = 1 << 13
# Loops count as at least this much, so that no quotient overflows.
TINY = 1e-300


@dataclass(frozen=True)
class SoF:
    """Settings of soft-cluster matrix factorization.

    It minimizes ``||P - alpha W W^T||^2`` over memberships W, with penalties for negative entries and for
    rows that do not sum to one. The trace is that objective over ``||P||^2``, after the start and after each
    stage, for the best memberships so far. For these, negative entries are set to zero, and each row is
    divided by its sum. The trace never rises.

    Parameters
    ----------
    neighbors : int
        For all pairs, P is exp(-d / sqrt(s_i s_j)). There d is the distance of i and j, and s_i that of i and
        its neighbor of this number.
    pairs : {"auto", "all", "graph"}
        ``all`` uses all pairs of points that have features. ``graph`` uses the weights of the graph, divided
        by the largest, in time linear in the edges. ``auto`` uses all pairs of at most 2000 points, as
        published, and the graph for more points, or for clusters. On small benchmark sets graphs did better.
    chances : {"relative", "absolute"}
        ``relative`` divides P_ij by sqrt(d_i d_j), where d are the row sums of P, and fits alpha.
        ``absolute`` uses P as it is, as the method was published: alpha is 1, and so is P_ii. A graph with a
        loop at every node, such as a graph of clusters, is first divided by the roots of both loops.
    start : {"contraction", "random"}
        ``contraction`` starts with groups of neighboring nodes; ``random`` draws all memberships.
    max_steps : int
        The most steps in each of the five stages.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> found = graphsoft.cluster(nx.barbell_graph(5, 0), 2, method=SoF())
    >>> found.labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    neighbors: int = 10
    pairs: str = "auto"
    chances: str = "relative"
    start: str = "contraction"
    max_steps: int = 1000
    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer("neighbors", self.neighbors, 1)
        choice("pairs", self.pairs, PAIRS)
        choice("chances", self.chances, CHANCES)
        choice("start", self.start, STARTS)
        integer("max_steps", self.max_steps, 1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the features for all pairs; at the graph otherwise, and to group nodes at the start."""
        few = featured and points <= MAX_POINTS_IN_PAIRS
        if self.pairs == "graph" or (self.pairs == "auto" and not few):
            return frozenset({"graph"})
        return frozenset({"features", "graph"} if self.start == "contraction" else {"features"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Factorize the probabilities of pairs, with stricter penalties stage by stage."""
        whole = "features" in self.reads(len(sample), sample.given_features is not None)
        if self.pairs == "auto" and sample.given_graph is not None and _has_all_loops(sample.given_graph):
            whole = False  # the weights between clusters say more than the distances of their means
        pairs = all_pairs(sample.features, "relative", self.neighbors) if whole else sample.graph
        graph = pairs if self.start == "random" else sample.with_pairs_as_weights().graph
        largest = 1.0 if whole else float(pairs.adjacency.data.max())
        if sample.pairs is not None:
            pairs, largest = _with_known_pairs(pairs, largest, sample.pairs), 1.0
        shares = start_shares(graph, count, self.start, random)
        relative = self.chances == "relative"
        problem = _Problem.of(pairs, largest, relative, 1.0 if whole or not relative else 0.0)
        if problem.squares == 0.0:  # all neighbors are known to be apart
            return Clustering(final_memberships(shares), (), "no pair has a chance: not fitted")
        best, trace, steps = shares, [problem.error(shares)], 0
        unit = problem.pull(shares)
        for stage in range(STAGES):
            penalized = problem.penalized(PENALTY * PENALTY_GROWTH**stage, unit)
            min_fall = TOLERANCES[stage] * problem.explained(shares) / unit
            after_step = _counting(progress, stage * self.max_steps, STAGES * self.max_steps)
            found = descend(penalized, shares, self.max_steps, min_fall, after_step)
            shares, steps = found.point, steps + found.steps
            proper = _proper(shares)
            error = problem.error(proper)
            if error < trace[-1]:
                best = proper
            trace.append(min(error, trace[-1]))
        still = f"still falling by {found.fall * unit / problem.squares:.1e} a step"
        status = stop_status(steps, found.converged, still, "steps")
        return Clustering(final_memberships(best), tuple(trace), status, steps)


@dataclass(frozen=True)
class _Problem:
    """The probabilities P of pairs, those of points with themselves, and whether alpha is fitted."""

    chances: sp.csr_array
    own: Array
    squares: float
    fitted: bool

    @classmethod
    def of(cls, graph: Graph, largest: float, relative: bool, own: float) -> _Problem:
        """Read weights, divided by the largest, as probabilities; `own` is added to the stored diagonal."""
        chances = _chances(graph, largest, relative)
        if relative:
            part = np.sqrt(inverse_or_zero(np.asarray(chances.sum(axis=1)) + own))
            _scale(chances, part)
            diagonal = own * part * part
        else:
            diagonal = np.full(len(graph), own)
        squares = float((chances.data * chances.data).sum() + (diagonal * diagonal).sum())
        return cls(chances, diagonal, squares, relative)

    def _fit(self, shares: Array) -> tuple[LeastSquares, float]:
        """Compute how memberships fit, and the squares that are left."""
        product, overlap = times(self.chances, shares), gram(shares)
        product += self.own[:, None] * shares
        both, size = float((shares * product).sum()), float((overlap * overlap).sum())
        alpha = both / size if self.fitted and size > 0 else 1.0
        return LeastSquares(product, overlap, alpha), self.squares - 2.0 * alpha * both + alpha * alpha * size

    def error(self, shares: Array) -> float:
        """Compute the share of the squares that memberships leave unexplained."""
        return max(0.0, self._fit(shares)[1] / self.squares)

    def explained(self, shares: Array) -> float:
        """Compute ``alpha <P, W W^T>``: with the best alpha, the squares that are explained."""
        fit, _ = self._fit(shares)
        return fit.scale * float((shares * fit.product).sum())

    def pull(self, shares: Array) -> float:
        """Compute how strongly a point is pulled by its pairs, on average."""
        mean = (float(self.chances.data.sum()) + float(self.own.sum())) / len(shares)
        return mean * self._fit(shares)[0].scale

    def penalized(self, penalty: float, unit: float) -> Callable[[Array], tuple[float, Array]]:
        """Make the function of one stage, and its gradient."""
        stage = Stage(penalty, unit)

        def function(shares: Array) -> tuple[float, Array]:
            fit, squares = self._fit(shares)
            gradient, penalties = np.empty_like(shares), np.empty(len(shares))

            def piece(start: int, stop: int) -> None:
                # the gradient is that for a fixed alpha: at the best one the derivative by alpha is zero
                penalized_rows(shares, fit, stage, start, stop, gradient, penalties)

            for _ in map_blocks(piece, len(shares), ROWS):
                pass
            return squares / unit + float(penalties.sum()), gradient

        return function


def _has_all_loops(graph: Graph) -> bool:
    return bool((graph.adjacency.diagonal() > 0).all())


def _with_known_pairs(graph: Graph, largest: float, known: sp.csr_array) -> Graph:
    """Set the probabilities of known pairs to 1 and 0."""
    chances = (graph.adjacency / largest + known).tocsr()
    np.clip(chances.data, 0.0, 1.0, out=chances.data)
    chances.eliminate_zeros()
    chances.sort_indices()
    return Graph(chances, graph.nodes, graph.notes)


def _chances(graph: Graph, largest: float, relative: bool) -> sp.csr_array:
    """Make a new matrix of weights as probabilities of pairs; absolute ones have no diagonal."""
    given = graph.adjacency
    chances = sp.csr_array((given.data / largest, given.indices, given.indptr), shape=given.shape)
    loops = chances.diagonal()
    if relative or not loops.any():
        return chances
    if loops.all():
        _scale(chances, 1.0 / np.sqrt(np.maximum(loops, TINY)))
        np.minimum(chances.data, 1.0, out=chances.data)
    return (chances - sp.diags_array(chances.diagonal())).tocsr()


def _scale(matrix: sp.csr_array, factor: Array) -> None:
    """Multiply every entry by the factors of its row and of its column, in place."""
    ptr = matrix.indptr

    def piece(start: int, stop: int) -> None:
        here = slice(ptr[start], ptr[stop])
        matrix.data[here] *= np.repeat(factor[start:stop], np.diff(ptr[start : stop + 1]))
        matrix.data[here] *= taken(factor, matrix.indices[here])

    for _ in map_pieces(piece, pieces_by_load(ptr, LOAD)):
        pass


def _proper(shares: Array) -> Array:
    """Set negative entries to zero, and divide rows by their sums; an empty row gets equal shares."""
    clipped = np.maximum(shares, 0.0)
    sums = clipped.sum(axis=1, keepdims=True)
    clipped[sums[:, 0] <= 0] = 1.0
    clipped /= clipped.sum(axis=1, keepdims=True)
    return clipped


def _counting(progress: Progress | None, before: int, planned: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda step: progress("fitting memberships", before + step, planned)
