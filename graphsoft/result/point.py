"""One point of a hierarchy, on all levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.result.tables import aligned

__all__ = ["Place", "PointDescription", "row_of"]

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


def row_of(name: Any, rows: Mapping[Any, int] | range) -> int:
    """Find the row of a point by its name; `rows` has the row of every name.

    Examples
    --------
    >>> row_of("b", {"a": 0, "b": 1}), row_of(1, range(2))
    (1, 1)
    """
    count = len(rows)
    try:
        return rows.index(name) if isinstance(rows, range) else rows[name]
    except (ValueError, KeyError, TypeError):
        problem = f"there is no point {shown(name)} among {count}"
        known = f"0 to {count - 1}" if isinstance(rows, range) else "the names in h.nodes"
        raise InputError("name", problem, f"use one of {known}") from None
