"""Memberships whose products come nearest to the weights: ``W ~ alpha S S^T``, in least squares.

The similarity of two points is modeled by ``alpha s_i . s_j``, and weights measure it with Gaussian noise. So
``2 <W, S S^T> - alpha ||S S^T||^2`` is to be maximized. Adding the constant ``alpha n^2``, in the form
``alpha sum_ij (sum_q s_iq)^2 (sum_q s_jq)^2``, makes it a polynomial without negative coefficients. The
growth transformation of Baum and Eagon raises such a polynomial, with a step of all points at once. The
derivatives are four times ``W S - alpha S S^T S + alpha n``, and S^T S has only a row and a column for each
cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice, integer, number
from graphsoft.kernels.baum_eagon import grow
from graphsoft.kernels.products import LeastSquares
from graphsoft.linalg.csr import gram, times
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.methods.parts.shares import STARTS, final_memberships, start_shares
from graphsoft.parallel import map_blocks

__all__ = ["BaumEagon"]

CONSTANTS = ("adaptive", "whole")
# The share of the constant shrinks after a step that lowers the objective, and grows after one that does not.
# Over the benchmark sets, one such sweep is worth five to forty with the whole constant.
SHRINK, GROW = 0.7, 2.0
# The smallest factor of a share in one step, relative to the largest in its row, is about this: a share that
# falls to zero could not come back.
MARGIN = 0.1
ROWS = 1 << 13


@dataclass(frozen=True)
class BaumEagon:
    """Settings of probabilistic clustering by the Baum-Eagon inequality.

    It minimizes ``||W - alpha S S^T||^2`` over memberships S, whose rows sum to one, and over ``alpha >= 0``.
    The trace is that objective over ``||W||^2``, the share of the squares that is not explained. It never
    rises.

    Parameters
    ----------
    start : {"contraction", "random"}
        ``contraction`` starts with groups of nodes; ``random`` draws all memberships.
    constant : {"adaptive", "whole"}
        What is added to the pull ``W S - alpha S S^T S`` of the clusters on a node. ``whole`` is ``alpha n``:
        every step lowers the objective, but slowly. ``adaptive`` takes a part of it, which shrinks as long as
        the objective falls. A step that would raise the objective is not taken, and the part grows again.
    max_sweeps : int
        The most steps.
    tolerance : float
        It stops when a sweep lowers the objective by no more than this share of the explained squares.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> found = graphsoft.cluster(nx.barbell_graph(5, 0), 2, method=BaumEagon())
    >>> found.labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    start: str = "contraction"
    constant: str = "adaptive"
    max_sweeps: int = 200
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        choice("start", self.start, STARTS)
        choice("constant", self.constant, CONSTANTS)
        integer("max_sweeps", self.max_sweeps, 1)
        number("tolerance", self.tolerance, minimum=0, below=1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the graph only."""
        return frozenset({"graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Raise the likelihood of the weights step by step."""
        problem = _Problem.of(sample.graph)
        state = problem.state(start_shares(sample.graph, count, self.start, random))
        trace, part, fall = [state.error], 1.0, 0.0
        adaptive = self.constant == "adaptive"
        for sweep in range(1, self.max_sweeps + 1):
            new = problem.state(problem.step(state, part, MARGIN if adaptive else 0.0))
            better = new.error <= state.error
            if better:
                fall, state = state.error - new.error, new
            trace.append(state.error)
            if progress is not None:
                progress("fitting memberships", sweep, self.max_sweeps)
            # with the whole constant, a step can fail by rounding only
            if fall <= self.tolerance * (1.0 - state.error) if better else part == 1.0:
                status = stop_status(sweep, True)
                break
            if adaptive:
                part = part * SHRINK if better else min(1.0, part * GROW)
        else:
            status = stop_status(sweep, False, f"still falling by {fall:.1g} a sweep")
        return Clustering(final_memberships(state.shares), tuple(trace), status, sweep)


@dataclass(frozen=True)
class _State:
    """Memberships, how they fit with the best alpha, and the share of the squares of W that is left."""

    shares: Array
    fit: LeastSquares
    error: float


@dataclass(frozen=True)
class _Problem:
    """The weights, scaled to at most 1, and the sum of their squares."""

    weights: sp.csr_array
    squares: float

    @classmethod
    def of(cls, graph: Graph) -> _Problem:
        given = graph.adjacency
        data = given.data / given.data.max()  # so that no square is too large
        weights = sp.csr_array((data, given.indices, given.indptr), shape=given.shape)
        return cls(weights, float((data * data).sum()))

    def state(self, shares: Array) -> _State:
        """Compute alpha and all else that follows from the memberships."""
        product, overlap = times(self.weights, shares), gram(shares)
        agreement = float(np.einsum("iq,iq->i", shares, product).sum())
        scale = agreement / float((overlap * overlap).sum())
        error = max(0.0, 1.0 - scale * agreement / self.squares)
        return _State(shares, LeastSquares(product, overlap, scale), error)

    def step(self, state: _State, part: float, margin: float) -> Array:
        """Take one step of all points, with this part of the whole constant."""
        constant = part * state.fit.scale * len(state.shares)
        result = np.empty_like(state.shares)

        def piece(start: int, stop: int) -> None:
            grow(state.shares, state.fit, constant, margin, start, stop, result)

        for _ in map_blocks(piece, len(result), ROWS):
            pass
        return result
