"""New points in the clusters of a hierarchy on disk, where they are too many for memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from graphsoft.aliases import Array
from graphsoft.distributed.directories import checked_directory
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.summary import PREDICTIONS, read_summary
from graphsoft.errors import InputError
from graphsoft.result import stored_tables
from graphsoft.result.levels_in_order import LevelsInOrder
from graphsoft.result.naming import checked_cluster_names, with_names
from graphsoft.result.stored_files import FilesOfPredictions
from graphsoft.result.stored_labels import StoredLabels
from graphsoft.result.stored_memberships import StoredMemberships

__all__ = ["StoredPoints", "StoredPointsLevel"]


@dataclass(frozen=True, eq=False, repr=False)
class StoredPointsLevel:
    """New points on one level: q points in m clusters.

    Attributes
    ----------
    memberships : StoredMemberships of shape (q, m)
        ``p(cluster | new point)``, on disk.
    labels : StoredLabels of shape (q,)
        The likeliest cluster of every new point, on disk.
    sizes : ndarray of shape (m,)
        The number of new points whose likeliest cluster each is.
    """

    memberships: StoredMemberships
    labels: StoredLabels
    sizes: Array

    def __repr__(self) -> str:
        points, clusters = self.memberships.shape
        return f"StoredPointsLevel({points} points in {clusters} clusters)"


@dataclass(frozen=True, eq=False, repr=False)
class StoredPoints(LevelsInOrder[StoredPointsLevel]):
    """New points in the clusters of a hierarchy, in a directory, with their levels, finest first.

    `StoredHierarchy.transform` makes it, and ``graphsoft.load(directory)`` opens it. The hierarchy is not
    needed for it. The directory must stay where it is.

    Attributes
    ----------
    files : FilesOfPredictions
        What it is read from.
    cluster_names : mapping of str to str
        Names of clusters, by their ids.
    """

    files: FilesOfPredictions
    cluster_names: Mapping[str, str]

    @classmethod
    def open(cls, directory: str | PathLike[str]) -> StoredPoints:
        """Open what a finished run has left.

        Raises
        ------
        InputError
            If there is nothing, if the run was not finished, or if its summary was damaged.
        """
        place = checked_directory(directory)
        if not (place / PREDICTIONS).is_file():
            problem = f"{str(directory)!r} has no {PREDICTIONS}, so it holds no new points, or the run was "
            remedy = "name another, or make the same call again, which takes the run up where it stopped"
            raise InputError("directory", f"{problem}stopped before its end", remedy)
        summary = read_summary(place, PREDICTIONS)
        names = checked_cluster_names(summary.cluster_names, summary.plan.levels)
        return cls(FilesOfPredictions(place, summary), names)

    @property
    def directory(self) -> Path:
        """Where they are."""
        return self.files.directory

    @property
    def plan(self) -> Plan:
        """What the run was going to do: chunks, limits."""
        return self.files.plan

    @property
    def nodes(self) -> range:
        """The names of the new points, which are the numbers of their rows."""
        return range(self.plan.rows)

    @cached_property
    def levels(self) -> tuple[StoredPointsLevel, ...]:
        """The levels, finest first."""
        return tuple(
            StoredPointsLevel(StoredMemberships(self.files, at), StoredLabels(self.files, at), each.sizes)
            for at, each in enumerate(self.files.summary.levels)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self.files, "cluster_names": dict(self.cluster_names)}

    def __repr__(self) -> str:
        sizes = " -> ".join(map(str, self.plan.levels))
        return f"StoredPoints({self.plan.rows} points in {sizes} clusters, in {str(self.directory)!r})"

    def name_clusters(self, names: Mapping[str, str | None]) -> StoredPoints:
        """Name clusters for tables; see :meth:`StoredHierarchy.name_clusters`."""
        return replace(self, cluster_names=with_names(self.cluster_names, names, self.plan.levels))

    def save(self, path: str | PathLike[str]) -> None:
        """Copy them to a new directory, whole or not at all, without what the run needed on its way.

        Parameters
        ----------
        path : path-like
            Nothing may be there yet but an empty directory.
        """
        self.files.save(path, self.cluster_names)

    # The likeliest clusters of all new points.
    to_csv = stored_tables.to_csv
    to_parquet = stored_tables.to_parquet
