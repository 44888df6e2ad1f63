"""How sure a level is: points torn between two clusters, and a description of every cluster.

Everything here is computed from memberships S and the graph W that was clustered, with degrees d. Measures
for which the clustering has to be repeated are in `graphsoft.resampling`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, imported
from graphsoft.graph.graph import Graph
from graphsoft.html import html_table
from graphsoft.input.checks import integer
from graphsoft.linalg.memberships import frozen, largest_shares, likeliest
from graphsoft.result.distinctive import Scores
from graphsoft.result.steps import best_in_rows, one_step
from graphsoft.result.tables import ROWS_SHOWN, aligned, number_or_dash, short_name, shortened

__all__ = [
    "ClusterDescription",
    "Description",
    "TornPoints",
    "certainties",
    "described",
    "margins",
    "torn_between",
]

EXEMPLARS = 3
NEIGHBORS = 3
FEATURES_SHOWN = 4
# A neighbor is printed if at least this part of the steps leads to it.
MIN_CHANCE = 0.005
# The columns of text in a table.
WORDS = ("cluster", "exemplars", "neighbors", "set apart by")
# A cluster with a larger share holds the whole graph: the rest is rounding.
MAX_SHARE = 1.0 - 1e-9


def margins(memberships: sp.csr_array) -> Array:
    """Compute by how much the largest membership of every point exceeds the second, float64 of shape (n,).

    Examples
    --------
    >>> margins(sp.csr_array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    shares, top = memberships.data, largest_shares(memberships)
    rows = np.repeat(np.arange(memberships.shape[0]), np.diff(memberships.indptr))
    best = np.flatnonzero(shares == top[rows])
    rest = shares.copy()
    rest[best[np.diff(rows[best], prepend=-1) > 0]] = 0.0  # only one of several equal ones
    return frozen(top - np.maximum.reduceat(rest, memberships.indptr[:-1]))


def certainties(memberships: sp.csr_array, labels: Array) -> Array:
    """Compute the mean membership of the points whose likeliest cluster it is, for every cluster.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
    labels : ndarray of shape (n,)
        The likeliest cluster of every point.

    Returns
    -------
    ndarray of shape (m,)
        NaN for clusters without such points.

    Examples
    --------
    >>> memberships = sp.csr_array([[0.8, 0.2, 0.0], [0.6, 0.2, 0.2], [0.3, 0.7, 0.0]])
    >>> certainties(memberships, np.array([0, 0, 1])).round(3).tolist()
    [0.7, 0.7, nan]
    """
    count = memberships.shape[1]
    top = largest_shares(memberships)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(labels, top, count) / np.bincount(labels, minlength=count))


@dataclass(frozen=True, eq=False)
class TornPoints:
    """Points that belong in part to each of two clusters, the most torn first; made by ``h.between``.

    Attributes
    ----------
    clusters : tuple of two
        The numbers of the clusters, or their ids.
    points : ndarray of int, shape (count,)
        Their row numbers.
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
        if not len(self):
            return "no point has a share of both {} and {}".format(*self.clusters)
        rows = [["point", *map(str, self.clusters)]]
        rows += [
            [short_name(name), f"{one:.2f}", f"{other:.2f}"]
            for name, (one, other) in zip(self.nodes, self.shares.tolist(), strict=True)
        ]
        return "\n".join(shortened(aligned(rows, left=["point"])))


def torn_between(memberships: sp.csr_array, a: int, b: int, count: int) -> tuple[Array, Array]:
    """Find the points most torn between two clusters: those with the largest min(s_ia, s_ib).

    Returns
    -------
    ndarray of int, ndarray of shape (count, 2)
        At most `count` rows, and their memberships. Points without a share of both clusters are left out. Of
        points that are equally torn, the lower row comes first.

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
    """Figures and examples that describe one cluster. A figure that is not defined is NaN.

    Attributes
    ----------
    id : str
        As in the tree, ``"level-index"``.
    size : int
        The number of points whose likeliest cluster it is.
    mass, share : float
        The weight of the graph in the cluster, and its part of the total weight.
    certainty : float
        Mean membership of the points whose likeliest cluster it is.
    conductance : float
        How often a random walk leaves the cluster in one step, ``1 - (s^T W s) / (s^T d)``. A torn point
        counts in part as leaving, even if its neighbors are torn in the same way.
    hard_conductance : float
        The same for the hard cluster, where each point belongs to its likeliest cluster only.
    cohesion : float
        How often the walk stays, corrected for chance: ``(1 - conductance - share) / (1 - share)``. It is 1
        if the walk never leaves, and 0 if it stays as often as a walk that forgets where it was.
    exemplars : tuple
        Names of the most certain and central points: those with the largest ``s_iq sum_j w_ij s_jq``, which
        weighs a point's edges inside the cluster.
    neighbors : tuple of (str, float)
        The other clusters that one step leads to most often, with the chance of that step.
    features : tuple of (name, float)
        The features that set the cluster apart, see ``h.distinctive``. Empty for a graph.
    name : str
        What ``h.name_clusters`` called it, or nothing.
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
    name: str = ""


@dataclass(frozen=True, repr=False)
class Description(Sequence[ClusterDescription]):
    """The clusters of one level, one :class:`ClusterDescription` each; made by ``h.describe``.

    ``print`` shows a table, the heaviest clusters first. Its columns are the fields of
    :class:`ClusterDescription`: ``hard`` is `hard_conductance`, and ``set apart by`` lists `features`.

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
        return "\n".join(shortened(aligned(self._rows(), left=WORDS)))

    def _repr_html_(self) -> str:
        rows = self._rows()
        more = max(len(rows) - ROWS_SHOWN - 1, 0)
        return html_table(rows[: ROWS_SHOWN + 1], repr(self), left=WORDS, more=more)

    def _rows(self) -> list[list[str]]:
        """Return a header, and the cells of each cluster, the heaviest first."""
        rows = [["cluster", "size", "share", "certainty", "conductance", "hard", "cohesion", *WORDS[1:]]]
        for row in sorted(self.clusters, key=lambda row: -row.mass):
            exemplars = ", ".join(map(short_name, row.exemplars))
            near = " ".join(f"{id} ({chance:.0%})" for id, chance in row.neighbors if chance >= MIN_CHANCE)
            apart = ", ".join(f"{name} {score:+.1f}" for name, score in row.features[:FEATURES_SHOWN])
            numbers = (row.certainty, row.conductance, row.hard_conductance, row.cohesion)
            first = [f"{row.id} {row.name}".rstrip(), str(row.size), number_or_dash(row.share, ".1%")]
            rows.append([*first, *map(number_or_dash, numbers), exemplars, near, apart])
        return rows

    def to_frame(self) -> Any:
        """Make a pandas data frame with a row for each cluster, by id."""
        pandas = imported("pandas", "to_frame", "'graphsoft[frames]'")
        return pandas.DataFrame([asdict(row) for row in self.clusters]).set_index("id")


def described(
    graph: Graph,
    memberships: sp.csr_array,
    level: int,
    features: Sequence[Scores],
    names: Mapping[str, str],
) -> Description:
    """Describe the clusters of a level.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m)
    level : int
        For the ids of the clusters.
    features : sequence of m
        The features that set each cluster apart.
    names : mapping of str to str
        Names of clusters, by their ids.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> hard = sp.csr_array(np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0))
    >>> one = described(as_graph(nx.barbell_graph(3, 0)), hard, 0, [(), ()], {})[0]
    >>> one.size, one.mass, round(one.conductance, 3), one.exemplars, one.neighbors[0][0]
    (3, 7.0, 0.143, (0, 1, 2), '0-1')
    """
    count, labels = memberships.shape[1], likeliest(memberships)
    weights, inside, kept = one_step(graph, memberships, labels)
    mass = np.asarray(memberships.T @ graph.degrees)
    sizes = np.bincount(labels, minlength=count)
    certainty = certainties(memberships, labels)
    hard_mass = np.bincount(labels, graph.degrees, count)
    figures = _figures(mass, weights.diagonal(), hard_mass, kept)
    central = best_in_rows(inside.T.tocsr(), EXEMPLARS)
    near = best_in_rows(_chances_elsewhere(weights, mass), NEIGHBORS)
    return Description(
        level,
        tuple(
            ClusterDescription(
                f"{level}-{cluster}",
                int(sizes[cluster]),
                certainty=float(certainty[cluster]),
                **values,
                exemplars=tuple(graph.nodes[point] for point, _ in central[cluster]),
                neighbors=tuple((f"{level}-{other}", chance) for other, chance in near[cluster]),
                features=features[cluster],
                name=names.get(f"{level}-{cluster}", ""),
            )
            for cluster, values in enumerate(figures)
        ),
    )


def _figures(mass: Array, stays: Array, hard_mass: Array, hard_stays: Array) -> list[dict[str, float]]:
    """Compute the figures of every cluster from its mass and the weight that stays in it, soft and hard."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share, staying = mass / mass.sum(), stays / mass
        columns = {
            "mass": mass,
            "share": share,
            "conductance": _within_0_and_1(1.0 - staying),
            "hard_conductance": _within_0_and_1(1.0 - hard_stays / hard_mass),
            "cohesion": np.where(share < MAX_SHARE, (staying - share) / (1.0 - share), np.nan),
        }
    rows = np.stack([*columns.values()], axis=1).tolist()
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _chances_elsewhere(weights: sp.csr_array, mass: Array) -> sp.csr_array:
    """Turn the weights between clusters into the chances that a step leads from one to another."""
    rows = np.repeat(np.arange(len(mass)), np.diff(weights.indptr))
    chances = weights.data / mass[rows]
    chances[rows == weights.indices] = 0.0
    return sp.csr_array((chances, weights.indices, weights.indptr), shape=weights.shape)


def _within_0_and_1(values: Array) -> Array:
    """Undo what rounding may have carried beyond the ends of the range."""
    return np.clip(values, 0.0, 1.0)
