"""Soft-cluster factorization: the chances of pairs to be in one cluster, ``P ~ W W^T`` in squares.

The constraints, ``W >= 0`` and rows that sum to one, begin as mild penalties and become stricter stage by
stage. The squares need no array of all pairs: ``||P - alpha W W^T||^2 = ||P||^2 - 2 alpha <W, P W> +
alpha^2 ||W^T W||^2``, where P is sparse and W^T W has a row and a column for each cluster.

In a sparse P, most pairs have a chance of 0, and the others' are far from 1. Memberships cannot follow: rows
that sum to one have products of 1/k or more with themselves, and the best are nearly the same for all points.
So chances are relative by default: divided by what both points have in all, ``P_ij / sqrt(d_i d_j)``, and
``alpha W W^T`` is fitted to them with the best alpha. What was tried is in ``examples/papers/002.py``.
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
from graphsoft.kernels.products import Fit
from graphsoft.kernels.sof import Stage, penalized_rows
from graphsoft.linalg.csr import gram, inverse_or_zero, times
from graphsoft.linalg.lbfgs import descend
from graphsoft.methods.interface import Clustering, Sample, ended
from graphsoft.methods.parts.shares import STARTS, final_memberships, start_shares
from graphsoft.parallel import LOAD, map_blocks, map_pieces, pieces_by_load

__all__ = ["SoF"]

PAIRS = ("auto", "all", "graph")
CHANCES = ("relative", "absolute")
# All pairs of so many points take some seconds.
FEW = 2000
# Penalties of the first stage, in units in which the pull of its neighbors on a point is about one, what
# they are multiplied by, and the stages. The last penalty is a hundred times the pull: nothing leans on it.
PENALTY, FACTOR, STAGES = 0.01, 10.0, 5
# A stage ends when a step lowers its function by this part of what is explained; later ones are finer.
TOLERANCES = (1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
ROWS = 1 << 13
# No loop counts as less, so that no quotient overflows.
TINY = 1e-300


@dataclass(frozen=True)
class SoF:
    """Settings of soft-cluster matrix factorization.

    It minimizes ``||P - alpha W W^T||^2`` over memberships W, by penalties for negative entries and for rows
    that do not sum to one. The trace holds that, over ``||P||^2``, for the best proper memberships so far:
    clipped at zero and divided by the sums of rows, after the start and after each stage. It never rises.

    Parameters
    ----------
    neighbors : int
        Where all pairs are looked at, P is exp(-d / sqrt(s_i s_j)) with d the distance of i and j, and s the
        distance of a point to its neighbor of this number.
    pairs : {"auto", "all", "graph"}
        ``all`` pairs of points that have features; ``graph`` for the weights of the graph, over the largest
        one, in time linear in the edges. ``auto`` takes all pairs of at most 2000 points, as published, and
        the graph of more, or of clusters. On eleven small sets, rings among them, graphs did better.
    chances : {"relative", "absolute"}
        ``relative`` divides P_ij by sqrt(d_i d_j), with d the sums of its rows, and fits alpha. ``absolute``
        takes P at its word, as the method was published: alpha is 1, and so is P_ii. A graph with a loop at
        every node, as one of clusters, is first divided by the roots of both loops.
    start : {"contraction", "random"}
        ``contraction`` begins with groups of nodes, those of the graph; ``random`` draws all memberships.
    max_steps : int
        Steps at most, in each of the five stages.

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
        """Look at the features where all pairs are to be looked at; at the graph else, and to group nodes."""
        if self.pairs == "graph" or (self.pairs == "auto" and not (featured and points <= FEW)):
            return frozenset({"graph"})
        return frozenset({"features", "graph"} if self.start == "contraction" else {"features"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Factorize the chances of pairs, with stricter penalties stage by stage."""
        whole = "features" in self.reads(len(sample), sample.given_features is not None)
        if self.pairs == "auto" and sample.given_graph is not None and _has_all_loops(sample.given_graph):
            whole = False  # what clusters have in common tells more than how far their mean points are apart
        pairs = all_pairs(sample.features, "relative", self.neighbors) if whole else sample.graph
        graph = pairs if self.start == "random" else sample.with_pairs_as_weights().graph
        largest = 1.0 if whole else float(pairs.adjacency.data.max())
        if sample.pairs is not None:
            pairs, largest = _informed(pairs, largest, sample.pairs), 1.0
        shares = start_shares(graph, count, self.start, random)
        relative = self.chances == "relative"
        problem = _Problem.of(pairs, largest, relative, 1.0 if whole or not relative else 0.0)
        if problem.squares == 0.0:  # for all who were joined are known to be apart
            return Clustering(final_memberships(shares), (), "no pair has a chance: not fitted")
        best, trace, steps = shares, [problem.error(shares)], 0
        unit = problem.pull(shares)
        for stage in range(STAGES):
            penalized = problem.penalized(PENALTY * FACTOR**stage, unit)
            least = TOLERANCES[stage] * problem.explained(shares) / unit
            seen = _counting(progress, stage * self.max_steps, STAGES * self.max_steps)
            found = descend(penalized, shares, self.max_steps, least, seen)
            shares, steps = found.point, steps + found.steps
            proper = _proper(shares)
            error = problem.error(proper)
            if error < trace[-1]:
                best = proper
            trace.append(min(error, trace[-1]))
        still = f"still falling by {found.fall * unit / problem.squares:.1e} a step"
        status = ended(steps, found.converged, still, "steps")
        return Clustering(final_memberships(best), tuple(trace), status, steps)


@dataclass(frozen=True)
class _Problem:
    """Chances of pairs, those of points with themselves, and whether alpha is fitted."""

    chances: sp.csr_array
    own: Array
    squares: float
    fitted: bool

    @classmethod
    def of(cls, graph: Graph, largest: float, relative: bool, own: float) -> _Problem:
        """Read weights over the largest as chances; `own` is added to the diagonal that is stored."""
        chances = _chances(graph, largest, relative)
        if relative:
            part = np.sqrt(inverse_or_zero(np.asarray(chances.sum(axis=1)) + own))
            _scale(chances, part)
            diagonal = own * part * part
        else:
            diagonal = np.full(len(graph), own)
        squares = float((chances.data * chances.data).sum() + (diagonal * diagonal).sum())
        return cls(chances, diagonal, squares, relative)

    def _fit(self, shares: Array) -> tuple[Fit, float]:
        """Compute how memberships fit, and the squares that are left."""
        product, overlap = times(self.chances, shares), gram(shares)
        product += self.own[:, None] * shares
        both, size = float((shares * product).sum()), float((overlap * overlap).sum())
        alpha = both / size if self.fitted and size > 0 else 1.0
        return Fit(product, overlap, alpha), self.squares - 2.0 * alpha * both + alpha * alpha * size

    def error(self, shares: Array) -> float:
        """Compute the part of the squares that memberships leave."""
        return max(0.0, self._fit(shares)[1] / self.squares)

    def explained(self, shares: Array) -> float:
        """Compute ``alpha <P, W W^T>``: with the best alpha, the squares that are not left."""
        fit, _ = self._fit(shares)
        return fit.scale * float((shares * fit.product).sum())

    def pull(self, shares: Array) -> float:
        """Compute by how much the chances of its pairs move a point, on average."""
        mean = (float(self.chances.data.sum()) + float(self.own.sum())) / len(shares)
        return mean * self._fit(shares)[0].scale

    def penalized(self, penalty: float, unit: float) -> Callable[[Array], tuple[float, Array]]:
        """Make the function of one stage, and its gradient."""
        stage = Stage(penalty, unit)

        def function(shares: Array) -> tuple[float, Array]:
            fit, squares = self._fit(shares)
            gradient, penalties = np.empty_like(shares), np.empty(len(shares))

            def piece(start: int, stop: int) -> None:
                # the gradient is that of a fixed alpha, for near the best one a change of it changes nothing
                penalized_rows(shares, fit, stage, start, stop, gradient, penalties)

            for _ in map_blocks(piece, len(shares), ROWS):
                pass
            return squares / unit + float(penalties.sum()), gradient

        return function


def _has_all_loops(graph: Graph) -> bool:
    return bool((graph.adjacency.diagonal() > 0).all())


def _informed(graph: Graph, largest: float, side: sp.csr_array) -> Graph:
    """Make the chances of known pairs 1 and 0."""
    chances = (graph.adjacency / largest + side).tocsr()
    np.clip(chances.data, 0.0, 1.0, out=chances.data)
    chances.eliminate_zeros()
    chances.sort_indices()
    return Graph(chances, graph.nodes, graph.notes)


def _chances(graph: Graph, largest: float, relative: bool) -> sp.csr_array:
    """Read weights as chances of pairs, in a matrix of its own; absolute ones have no diagonal."""
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
    """Multiply every entry with the factors of its row and of its column, in place."""
    ptr = matrix.indptr

    def piece(start: int, stop: int) -> None:
        here = slice(ptr[start], ptr[stop])
        matrix.data[here] *= np.repeat(factor[start:stop], np.diff(ptr[start : stop + 1]))
        matrix.data[here] *= factor[matrix.indices[here]]

    for _ in map_pieces(piece, pieces_by_load(ptr, LOAD)):
        pass


def _proper(shares: Array) -> Array:
    """Clip, and divide by the sums of the rows; a row without anything belongs to all alike."""
    clipped = np.maximum(shares, 0.0)
    sums = clipped.sum(axis=1, keepdims=True)
    clipped[sums[:, 0] <= 0] = 1.0
    clipped /= clipped.sum(axis=1, keepdims=True)
    return clipped


def _counting(progress: Progress | None, before: int, planned: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda step: progress("fitting memberships", before + step, planned)
