"""One point on all levels; `point` is a method of hierarchies, in memory and on disk, which `h` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphsoft.errors import InputError, shown
from graphsoft.linalg.memberships import entropies
from graphsoft.result.description import margins
from graphsoft.result.steps import best_in_rows
from graphsoft.result.tables import aligned

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["Place", "PointDescription", "point"]

# Clusters with a smaller probability are not printed.
MIN_SHOWN = 0.005


@dataclass(frozen=True)
class Place:
    """Where a point is on one level.

    Attributes
    ----------
    level : int
    clusters : tuple of (str, float)
        Ids and probabilities of its clusters, the likeliest first.
    margin : float
        How far the likeliest is ahead of the next.
    entropy : float
        How torn the point is, in nats.
    """

    level: int
    clusters: tuple[tuple[str, float], ...]
    margin: float
    entropy: float


@dataclass(frozen=True, repr=False)
class PointDescription(Sequence[Place]):
    """Where a point is on each level, finest first; ``print`` shows a table.

    Attributes
    ----------
    name : object
    row : int
    places : tuple of Place
    cluster_names : mapping of str to str
        Names of clusters, by their ids.
    """

    name: Any
    row: int
    places: tuple[Place, ...]
    cluster_names: Mapping[str, str]

    def __getitem__(self, index: Any) -> Any:
        return self.places[index]

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        likeliest = ", ".join(f"{each.clusters[0][0]} {each.clusters[0][1]:.2f}" for each in self.places)
        return f"PointDescription({self.name!r}: {likeliest})"

    def __str__(self) -> str:
        rows = [["level", "entropy", "clusters"]]
        for each in self.places:
            parts = [
                f"{id}{' ' + self.cluster_names[id] if id in self.cluster_names else ''} {chance:.2f}"
                for id, chance in each.clusters
                if chance >= MIN_SHOWN
            ]
            rows.append([f"{each.level}", f"{each.entropy:.2f}", "; ".join(parts)])
        return "\n".join([f"{self.name} (row {self.row})", *aligned(rows, left=["clusters"])])


def _row_of(name: Any, rows: Mapping[Any, int] | range) -> int:
    """Find the row of a point by its name; `rows` has the row of every name.

    Examples
    --------
    >>> _row_of("b", {"a": 0, "b": 1}), _row_of(1, range(2))
    (1, 1)
    """
    count = len(rows)
    try:
        return rows.index(name) if isinstance(rows, range) else rows[name]
    except (ValueError, KeyError, TypeError):
        problem = f"there is no point {shown(name)} among {count}"
        row = name if isinstance(name, int) and 0 <= name < count else 0
        known = (
            f"0 to {count - 1}"
            if isinstance(rows, range)
            else f"the names in h.nodes, such as h.nodes[{row}]"
        )
        raise InputError("name", problem, f"use one of {known}") from None


def point(h: Hierarchy | StoredHierarchy, name: Any) -> PointDescription:
    """Show one point on every level.

    Parameters
    ----------
    name : object
        Its name in `nodes`.

    Returns
    -------
    PointDescription
        For each level the clusters with their probabilities, and how torn the point is.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> print(h.point("Javert"))
    Javert (row 27)
    level  entropy  clusters
        0     1.33  0-3 0.60; 0-0 0.12; 0-6 0.08; 0-10 0.07; 0-1 0.07; 0-5 0.03; 0-9 0.01
        1     0.65  1-0 0.79; 1-1 0.11; 1-2 0.09
    """
    row = _row_of(name, h._rows)
    places = []
    for number in range(len(h)):
        memberships = h._of_row(number, row)
        listed = best_in_rows(memberships, memberships.shape[1])[0]
        clusters = tuple((f"{number}-{cluster}", chance) for cluster, chance in listed)
        margin, entropy = (float(values[0]) for values in (margins(memberships), entropies(memberships)))
        places.append(Place(number, clusters, margin, entropy))
    return PointDescription(name, row, tuple(places), h.cluster_names)
