"""Weighted kernel k-means on a graph, whose objective is the normalized cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.engine.scales import coarsened
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import integer
from graphsoft.kernels import rows_of
from graphsoft.kernels.kernel_kmeans import Clusters, cluster_sums, regroup
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["KernelKMeans"]


@dataclass(frozen=True)
class KernelKMeans:
    """Settings of weighted kernel k-means (Dhillon, Guan and Kulis); hard clusters.

    With the kernel ``K = s D^-1 + D^-1 W D^-1`` and weights D, kernel k-means minimizes the normalized cut
    ``sum_q cut(q) / mass(q)`` up to a constant, for any s that makes K positive definite. Here points move
    one at a time, each where the objective falls most. That needs no s; a large s would keep every point in
    its cluster, because the point is part of the cluster's mean. It starts at the coarsest scale of a
    contraction of the graph, and refines the clusters scale by scale up to the graph itself. No cluster
    becomes empty.

    The trace is the normalized cut at the start and after each sweep, on all scales; it never rises.

    Parameters
    ----------
    max_sweeps : int
        The most sweeps on each scale; it stops earlier when nothing moves.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> found = graphsoft.cluster(nx.barbell_graph(5, 0), 2, method=KernelKMeans())
    >>> found.labels.tolist(), round(found.trace[-1], 4)
    ([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], 0.0952)
    """

    max_sweeps: int = 100

    def __post_init__(self) -> None:
        integer("max_sweeps", self.max_sweeps, 1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the graph only."""
        return frozenset({"graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Refine clusters from the coarsest scale of a contraction to the graph."""
        scales = coarsened(sample.graph, count, progress)
        graphs, steps = [layer.graph for layer in scales.layers], scales.steps
        labels = np.arange(count)
        trace: list[float] = []
        moved = 0
        for level in reversed(range(len(steps))):
            labels = taken(labels, steps[level])
            if not trace:
                trace.append(_objective(graphs[level], labels, count))
            for _ in range(self.max_sweeps):
                moved = _sweep(graphs[level], labels, count)
                trace.append(_objective(graphs[level], labels, count))
                if progress is not None:
                    progress("kernel k-means", len(steps) - level, len(steps))
                if not moved:
                    break
        status = f"converged after {len(trace) - 1} sweeps on {len(steps)} scales"
        if moved:
            status = stop_status(self.max_sweeps, False, f"{moved} points moved in the last")
        return Clustering(one_cluster_each(labels, count), tuple(trace), status, len(trace) - 1)


def _sums(graph: Graph, labels: Array, count: int) -> tuple[Array, Array]:
    """Compute the mass of each cluster, and the weight inside it."""
    edges, within = rows_of(graph.adjacency), np.empty(len(graph))

    def piece(start: int, stop: int) -> None:
        cluster_sums(edges, labels, start, stop, within)

    for _ in map_pieces(piece, pieces_by_load(graph.adjacency.indptr, LOAD)):
        pass
    return np.bincount(labels, graph.degrees, minlength=count), np.bincount(labels, within, minlength=count)


def _objective(graph: Graph, labels: Array, count: int) -> float:
    mass, inside = _sums(graph, labels, count)
    return float(np.sum((mass - inside) * inverse_or_zero(mass)))  # isolated nodes have no mass


def _sweep(graph: Graph, labels: Array, count: int) -> int:
    """Let every point move once, one after the other, for each depends on the moves before it."""
    mass, inside = _sums(graph, labels, count)
    clusters = Clusters(labels, mass, inside, np.bincount(labels, minlength=count))
    edges, pieces = rows_of(graph.adjacency), pieces_by_load(graph.adjacency.indptr, LOAD)
    return sum(regroup(edges, graph.degrees, clusters, start, stop) for start, stop in pieces)
