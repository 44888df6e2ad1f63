"""What was done: to the input, and to find each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphsoft.engine.assessing import Fit
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.graph.graph import Graph
from graphsoft.input.constraints import kept_pairs
from graphsoft.linalg.memberships import likeliest

__all__ = ["LevelReport", "Report", "edge_count", "notes_on_sizes", "with_empty_clusters", "with_kept_pairs"]


@dataclass(frozen=True)
class LevelReport:
    """How one level was found.

    Attributes
    ----------
    clusters : int
    sweeps : int
        Passes over a graph, on all scales.
    trace : tuple of float
        Log-likelihood each time that the support was widened, on the graph that the level was fitted to. For
        a polished level this is the points' graph, where every cluster still belongs to one group. The last
        value of the finest level is from its last round, which follows the polishing of the levels above. For
        other methods than relation factorization it is what they minimize; see `Clustering.trace`. Known
        pairs have changed the weights of that graph; the two figures below are of the graph as it was given.
    log_likelihood : float
        Of the points' graph under this level's memberships: ``sum_ij w_ij log (B L^-1 B^T)_ij``. Where the
        ends of an edge share no cluster, the model counts as a thousandth of the weight that is expected by
        chance, ``d_i d_j / sum d``, because its logarithm would be minus infinity.
    kkt_gap : float or None
        The largest gain above one among the clusters that a point does not hold; 0 at an optimum of this
        level alone. The worst point decides: the gap is large if the ends of some edge share no cluster, and
        not small on a level that was refined for others. None for methods other than relation factorization.
    status : str
        What happened, in words.
    seconds : float
    pairs_kept, pairs_known : int or None
        How many of the known pairs came out as they are known, and how many there are.
    stopped : bool
        Whether `time_limit` ended it before it was refined as usual.
    """

    clusters: int
    sweeps: int
    trace: tuple[float, ...]
    log_likelihood: float
    kkt_gap: float | None
    status: str
    seconds: float
    pairs_kept: int | None = None
    pairs_known: int | None = None
    stopped: bool = False

    @classmethod
    def of(cls, level: FittedLevel, pairs: sp.csr_array | None) -> LevelReport:
        """Report a level; `pairs` are those that are known."""
        told = with_empty_clusters(level.status, level.memberships)
        status, kept, known = with_kept_pairs(told, pairs, level.memberships)
        return cls(
            clusters=level.memberships.shape[1], sweeps=level.sweeps, trace=level.trace,
            log_likelihood=level.fit.log_likelihood, kkt_gap=level.fit.gap if level.likely else None,
            status=status, seconds=level.seconds, pairs_kept=kept, pairs_known=known,
            stopped=level.stopped,
        )  # fmt: skip

    def after(self, fit: Fit) -> LevelReport:
        """Report the level after points were added."""
        return replace(
            self, sweeps=0, trace=(), log_likelihood=fit.log_likelihood, seconds=0.0,
            kkt_gap=None if self.kkt_gap is None else fit.gap, status="kept but for the re-fitted rows",
        )  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What `hierarchy` did; ``print(h.report)`` shows it as text.

    Attributes
    ----------
    nodes, edges, components : int
        Of the graph that was clustered.
    notes : tuple of str
        What was done to the input, and what to know about the graph.
    levels : tuple of LevelReport
        Finest first.
    seconds : dict
        Wall-clock seconds of each stage.
    scaling : tuple of (float, float)
        What the command line subtracted from each column before clustering, and divided it by. The same is
        done to new points, which come as they are. Empty if it left the columns as they were.
    part : str
        What the command line read of an h5ad file, and reads of one with new points, such as
        ``"obsm/X_pca"``. Empty if that was X, and for other files.
    """

    nodes: int
    edges: int
    components: int
    notes: tuple[str, ...]
    levels: tuple[LevelReport, ...]
    seconds: dict[str, float]
    scaling: tuple[tuple[float, float], ...] = ()
    part: str = ""

    @classmethod
    def of(
        cls, graph: Graph, levels: Sequence[LevelReport], reasons: Sequence[str], seconds: dict[str, float]
    ) -> Report:
        """Report a hierarchy; `reasons` say why it has these levels."""
        components = int(graph.components.max()) + 1
        distinct = len(graph) if graph.duplicates is None else int(graph.duplicates.max()) + 1
        of_sizes = notes_on_sizes(distinct, components, [level.clusters for level in levels])
        notes = (*graph.notes, *reasons, *of_sizes)
        return cls(len(graph), edge_count(graph), components, notes, tuple(levels), seconds)

    def __str__(self) -> str:
        lines = [f"{self.nodes} nodes, {self.edges} edges, {self.components} components"]
        lines += [f"note: {note}" for note in self.notes]
        lines += [
            f"{level.clusters} clusters: {level.status}; {level.seconds:.2f} s, log-likelihood "
            f"{level.log_likelihood:.6g}"
            for level in self.levels
        ]
        lines.append(", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self.seconds.items()))
        return "\n".join(lines)

    def after(
        self, graph: Graph, levels: Sequence[LevelReport], rows: int, seconds: dict[str, float]
    ) -> Report:
        """Report the hierarchy after points were added and `rows` rows were fitted again."""
        note = f"{len(graph) - self.nodes:,} points added, {rows:,} rows re-fitted"
        components = int(graph.components.max()) + 1
        return Report(
            len(graph), edge_count(graph), components, (*self.notes, note), tuple(levels), seconds,
            self.scaling,
        )  # fmt: skip


def with_empty_clusters(status: str, memberships: sp.csr_array) -> str:
    """Add to a status how many clusters are the likeliest of no point, if there are any.

    Examples
    --------
    >>> with_empty_clusters("converged", sp.csr_array([[0.8, 0.2], [0.6, 0.4]]))
    'converged; 1 of 2 clusters are the likeliest of no point'
    """
    count = memberships.shape[1]
    empty = count - len(np.unique(likeliest(memberships)))
    return f"{status}; {empty} of {count} clusters are the likeliest of no point" if empty else status


def with_kept_pairs(
    status: str, pairs: sp.csr_array | None, memberships: sp.csr_array
) -> tuple[str, int | None, int | None]:
    """Add to a status how many of the known pairs came out as known; returns these numbers too."""
    if pairs is None:
        return status, None, None
    kept, known = kept_pairs(pairs, likeliest(memberships))
    return f"{status}; {kept} of {known} known pairs kept", kept, known


def edge_count(graph: Graph) -> int:
    """Count the edges, loops among them.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> edge_count(as_graph(nx.path_graph(3)))
    2
    """
    loops = int(np.count_nonzero(graph.adjacency.diagonal()))
    return int(graph.adjacency.nnz + loops) // 2


def notes_on_sizes(distinct: int, components: int, sizes: Sequence[int]) -> list[str]:
    """Say where the levels that were asked for do not fit a graph of so many distinct points."""
    notes = []
    if distinct < sizes[0]:
        notes.append(
            f"{distinct} distinct points are fewer than the {sizes[0]} clusters of the finest level: "
            "identical rows may get different memberships"
        )
    if components > sizes[-1]:
        notes.append(
            f"{components} components are more than the {sizes[-1]} clusters of the top level: "
            "some clusters hold several"
        )
    return notes
