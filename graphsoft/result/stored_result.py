"""What hierarchies on disk and new points in their clusters have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from graphsoft.distributed.plan import Plan
from graphsoft.distributed.summary import read_summary
from graphsoft.errors import InputError
from graphsoft.input.checks import folder_named
from graphsoft.result import stored_tables
from graphsoft.result.levels_in_order import LevelsInOrder
from graphsoft.result.naming import checked_cluster_names, with_names
from graphsoft.result.stored_files import FilesOfShares

__all__ = ["StoredResult"]

Each = TypeVar("Each")


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(LevelsInOrder[Each]):
    """Levels in a directory, which must stay where it is.

    Attributes
    ----------
    files : FilesOfShares
        What they are read from.
    cluster_names : mapping of str to str
        Names of clusters, by their ids; see :meth:`name_clusters`.
    """

    files: FilesOfShares
    cluster_names: Mapping[str, str] = field(default_factory=dict)

    # The files that it has.
    kind: ClassVar[type[FilesOfShares]]

    @classmethod
    def open(cls, directory: str | PathLike[str]) -> Self:
        """Open the result of a run.

        Raises
        ------
        InputError
            If there is none, if its run was not finished, or if its summary was damaged.
        """
        place, name = folder_named("directory", directory), cls.kind.summary_name
        if not (place / name).is_file():
            problem = (
                f"{str(directory)!r} has no {name}, so it is no directory of such a run, or the run was "
            )
            remedy = "name another, or make the same call again, which takes the run up where it stopped"
            raise InputError("directory", f"{problem}stopped before its end", remedy)
        summary = read_summary(place, name)
        names = checked_cluster_names(summary.cluster_names, summary.plan.levels)
        return cls(cls.kind(place, summary), names)

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self.files.directory

    @property
    def plan(self) -> Plan:
        """What the run was going to do: partitions, chunks, limits."""
        return self.files.plan

    @property
    def nodes(self) -> range:
        """The names of the points, which are the numbers of their rows."""
        return range(self.plan.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self.files, "cluster_names": dict(self.cluster_names)}

    def __repr__(self) -> str:
        sizes = " -> ".join(map(str, self.plan.levels))
        return f"{type(self).__name__}({self.plan.rows} points: {sizes} clusters, in {str(self.directory)!r})"

    def name_clusters(self, names: Mapping[str, str | None]) -> Self:
        """Name clusters; tables show the names, and `save` writes them too.

        Parameters
        ----------
        names : mapping
            ``{id: name}``, such as ``{"1-0": "fruit"}``. Clusters that are not in it keep the names they
            have, and None takes a name away.

        Returns
        -------
        StoredHierarchy or StoredPoints
            The same one with `cluster_names`.
        """
        return replace(self, cluster_names=with_names(self.cluster_names, names, self.plan.levels))

    def save(self, path: str | PathLike[str]) -> None:
        """Copy the result to a new directory, whole or not at all, without what the run needed on its way.

        Parameters
        ----------
        path : path-like
            Nothing may be there yet but an empty directory.
        """
        self.files.save(path, self.cluster_names)

    to_csv = stored_tables.to_csv
    to_parquet = stored_tables.to_parquet
