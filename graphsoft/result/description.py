"""How sure a level is: points between two clusters, and what can be said of every cluster.

Everything here is read off memberships S and the graph W that they cluster, with degrees d; what needs the
clustering to be done again is in `graphsoft.resampling`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import integer
from graphsoft.linalg.memberships import frozen, likeliest
from graphsoft.parallel import map_blocks
from graphsoft.result.distinctive import Scores
from graphsoft.result.tables import aligned, figure, shortened

__all__ = [
    "ClusterDescription",
    "Description",
    "TornPoints",
    "best_in_rows",
    "described",
    "margins",
    "torn_between",
]

EXEMPLARS = 3
NEIGHBORS = 3
FEATURES_SHOWN = 4
# A neighbor that a step leads to more rarely is not printed.
MIN_SHOWN = 0.005
# A cluster that holds more is all there is: what is left is rounding.
ALL = 1.0 - 1e-9
# Rows in one piece of work.
ROWS = 1 << 15


def margins(memberships: sp.csr_array) -> Array:
    """Compute how far the likeliest cluster of every point is ahead of the next, float64 of shape (n,).

    Examples
    --------
    >>> margins(sp.csr_array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    shares, starts = memberships.data, memberships.indptr[:-1]
    rows = np.repeat(np.arange(memberships.shape[0]), np.diff(memberships.indptr))
    top = np.maximum.reduceat(shares, starts)
    best = np.flatnonzero(shares == top[rows])
    rest = shares.copy()
    rest[best[np.diff(rows[best], prepend=-1) > 0]] = 0.0  # one of equals only
    return frozen(top - np.maximum.reduceat(rest, starts))


@dataclass(frozen=True, eq=False)
class TornPoints:
    """Points that are torn between two clusters, the most torn first; made by ``h.between``.

    Attributes
    ----------
    clusters : tuple of two
        The numbers of the clusters, or their ids.
    points : ndarray of int, shape (count,)
        Rows of the points.
    nodes : tuple
        Their names.
    shares : ndarray of shape (count, 2)
        Their memberships in the two clusters.
    """

    clusters: tuple[Any, Any]
    points: Array
    nodes: tuple[Any, ...]
    shares: Array

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        rows = [["point", *map(str, self.clusters)]]
        rows += [
            [str(name), f"{one:.2f}", f"{other:.2f}"]
            for name, (one, other) in zip(self.nodes, self.shares.tolist(), strict=True)
        ]
        return "\n".join(shortened(aligned(rows, left=["point"])))


def torn_between(memberships: sp.csr_array, a: int, b: int, count: int) -> tuple[Array, Array]:
    """Find the points most torn between two clusters: those with the largest min(s_ia, s_ib).

    Returns
    -------
    ndarray of int, ndarray of shape (count, 2)
        Rows, at most `count`, and none that has nothing of one of the two; of equals the lower row comes
        first. And their memberships.

    Examples
    --------
    >>> rows, shares = torn_between(sp.csr_array([[0.9, 0.1], [0.0, 1.0], [0.5, 0.5]]), 0, 1, count=5)
    >>> rows.tolist(), shares.tolist()
    ([2, 0], [[0.5, 0.5], [0.9, 0.1]])
    """
    clusters = memberships.shape[1]
    integer("a", a, 0, clusters - 1)
    integer("b", b, 0, clusters - 1)
    integer("count", count, 1)
    if a == b:
        raise InputError("b", f"is cluster {b} again", "name two clusters")
    both = memberships[:, [a, b]].toarray()
    torn = both.min(axis=1)
    best = np.argsort(-torn, kind="stable")[:count]
    best = best[torn[best] > 0]
    return frozen(best), frozen(both[best])


@dataclass(frozen=True)
class ClusterDescription:
    """What can be said of one cluster. A number that has no meaning is NaN.

    Attributes
    ----------
    id : str
        As in the tree, ``"level-index"``.
    size : int
        Points likeliest in it.
    mass, share : float
        The weight of the graph that it holds, and which part that is of all.
    certainty : float
        Mean membership of the points that are likeliest in it.
    conductance : float
        How often a walk that is in the cluster is elsewhere after one step along an edge,
        ``1 - (s^T W s) / (s^T d)``. A point that is torn counts as leaving in part even where its neighbors
        are torn alike.
    hard_conductance : float
        The same of the points that are likeliest in it, whole.
    cohesion : float
        How often it stays, beyond chance: ``(1 - conductance - share) / (1 - share)``. 1 is for ever, and 0
        as often as a walk that forgets where it was.
    exemplars : tuple
        Names of the points that are the most certain and the most central: with the largest
        ``s_iq sum_j w_ij s_jq``, the weight of their edges inside the cluster.
    neighbors : tuple of (str, float)
        Where one step along an edge leads to most often outside, with its chance.
    features : tuple of (name, float)
        What sets it apart, see ``h.distinctive``; empty for a graph.
    """

    id: str
    size: int
    mass: float
    share: float
    certainty: float
    conductance: float
    hard_conductance: float
    cohesion: float
    exemplars: tuple[Any, ...]
    neighbors: tuple[tuple[str, float], ...]
    features: tuple[tuple[Any, float], ...]


@dataclass(frozen=True, repr=False)
class Description(Sequence[ClusterDescription]):
    """The clusters of one level, one :class:`ClusterDescription` each; made by ``h.describe``.

    ``print`` shows a table, the heaviest clusters first; its columns are the fields of
    :class:`ClusterDescription`, ``hard`` is `hard_conductance` and ``set apart by`` are `features`.

    Attributes
    ----------
    level : int
    clusters : tuple of ClusterDescription
    """

    level: int
    clusters: tuple[ClusterDescription, ...]

    @overload
    def __getitem__(self, index: int) -> ClusterDescription: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ClusterDescription, ...]: ...
    def __getitem__(self, index: int | slice) -> ClusterDescription | tuple[ClusterDescription, ...]:
        return self.clusters[index]

    def __len__(self) -> int:
        return len(self.clusters)

    def __iter__(self) -> Iterator[ClusterDescription]:
        return iter(self.clusters)

    def __repr__(self) -> str:
        return f"Description(level {self.level}: {len(self)} clusters)"

    def __str__(self) -> str:
        words = ["exemplars", "neighbors", "set apart by"]
        rows = [["cluster", "size", "share", "certainty", "conductance", "hard", "cohesion", *words]]
        for row in sorted(self.clusters, key=lambda row: -row.mass):
            exemplars = ", ".join(map(str, row.exemplars))
            near = " ".join(f"{id} ({chance:.0%})" for id, chance in row.neighbors if chance >= MIN_SHOWN)
            apart = ", ".join(f"{name} {score:+.1f}" for name, score in row.features[:FEATURES_SHOWN])
            numbers = (row.certainty, row.conductance, row.hard_conductance, row.cohesion)
            first = [row.id, str(row.size), figure(row.share, ".1%")]
            rows.append([*first, *map(figure, numbers), exemplars, near, apart])
        lines = aligned(rows, left=["cluster", *words])
        return "\n".join(shortened(lines))

    def to_pandas(self) -> Any:
        """Make a pandas data frame with a row for each cluster, by id."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas") from error
        return pd.DataFrame([asdict(row) for row in self.clusters]).set_index("id")


def described(graph: Graph, memberships: sp.csr_array, level: int, features: Sequence[Scores]) -> Description:
    """Describe the clusters of a level, with what is known of their features.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.graph import as_graph
    >>> hard = sp.csr_array(np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0))
    >>> one = described(as_graph(nx.barbell_graph(3, 0)), hard, 0, [(), ()])[0]
    >>> one.size, one.mass, round(one.conductance, 3), one.exemplars, one.neighbors[0][0]
    (3, 7.0, 0.143, (0, 1, 2), '0-1')
    """
    count, labels = memberships.shape[1], likeliest(memberships)
    between, inside, kept = _steps(graph, memberships, labels)
    mass = np.asarray(memberships.T @ graph.degrees)
    sizes = np.bincount(labels, minlength=count)
    numbers = _numbers(graph, memberships, labels, mass, between.diagonal(), kept)
    central = best_in_rows(inside.T.tocsr(), EXEMPLARS)
    near = best_in_rows(_elsewhere(between, mass), NEIGHBORS)
    return Description(
        level,
        tuple(
            ClusterDescription(
                f"{level}-{cluster}",
                int(sizes[cluster]),
                **values,
                exemplars=tuple(graph.nodes[point] for point, _ in central[cluster]),
                neighbors=tuple((f"{level}-{other}", chance) for other, chance in near[cluster]),
                features=features[cluster],
            )
            for cluster, values in enumerate(numbers)
        ),
    )


def best_in_rows(matrix: sp.csr_array, count: int) -> list[list[tuple[int, float]]]:
    """List for every row the columns of its largest positive entries; the lower column where two are equal.

    Examples
    --------
    >>> best_in_rows(sp.csr_array([[1.0, 3.0, 3.0], [0.0, 0.0, 0.0]]), 2)
    [[(1, 3.0), (2, 3.0)], []]
    """
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    best: list[list[tuple[int, float]]] = []
    for start, stop in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        some = order[start : min(stop, start + count)]
        pairs = zip(matrix.indices[some].tolist(), matrix.data[some].tolist(), strict=True)
        best.append([(column, value) for column, value in pairs if value > 0])
    return best


def _numbers(
    graph: Graph, memberships: sp.csr_array, labels: Array, mass: Array, stay: Array, kept: Array
) -> list[dict[str, float]]:
    """Compute what one number says of a cluster, given the weight that stays in it, softly and whole."""
    count = len(mass)
    top = np.maximum.reduceat(memberships.data, memberships.indptr[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        share, stays = mass / mass.sum(), stay / mass
        columns = {
            "mass": mass,
            "share": share,
            "certainty": np.bincount(labels, top, count) / np.bincount(labels, minlength=count),
            "conductance": _upto_one(1.0 - stays),
            "hard_conductance": _upto_one(1.0 - kept / np.bincount(labels, graph.degrees, count)),
            "cohesion": np.where(share < ALL, (stays - share) / (1.0 - share), np.nan),
        }
    rows = np.stack([*columns.values()], axis=1).tolist()
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _steps(
    graph: Graph, memberships: sp.csr_array, labels: Array
) -> tuple[sp.csr_array, sp.csr_array, Array]:
    """Follow one step along the edges: ``S^T W S``, ``S * (W S)``, and the weight inside hard clusters."""
    count = memberships.shape[1]

    def piece(start: int, stop: int) -> tuple[sp.csr_array, sp.csr_array, Array]:
        edges, shares = graph.adjacency[start:stop], memberships[start:stop]
        reached = edges @ memberships
        mine = np.repeat(labels[start:stop], np.diff(edges.indptr))
        same = mine == labels[edges.indices]
        kept = np.bincount(mine[same], edges.data[same], count)
        return sp.csr_array(shares.T @ reached), sp.csr_array(shares.multiply(reached)), kept

    between, kept, inside = sp.csr_array((count, count)), np.zeros(count), []
    for part, held, within in map_blocks(piece, len(graph), ROWS):
        between, kept = between + part, kept + within
        inside.append(held)
    return between, sp.vstack(inside, format="csr"), kept


def _elsewhere(between: sp.csr_array, mass: Array) -> sp.csr_array:
    """Turn steps between clusters into chances of going elsewhere."""
    rows = np.repeat(np.arange(len(mass)), np.diff(between.indptr))
    chances = between.data / mass[rows]
    chances[rows == between.indices] = 0.0
    return sp.csr_array((chances, between.indices, between.indptr), shape=between.shape)


def _upto_one(values: Array) -> Array:
    return np.clip(values, 0.0, 1.0)  # rounding may have carried them over
