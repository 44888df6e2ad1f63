"""New points of a file, read as those of a model were, and put into its clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from graphsoft.cli.given import PARTS, read_file
from graphsoft.distributed.row_files import RowsInFiles, rows_in_files
from graphsoft.errors import InputError, shown
from graphsoft.graph.features import Features
from graphsoft.input.memberships import SoftClusters
from graphsoft.input.names import rows_named
from graphsoft.linalg.memberships import largest_shares
from graphsoft.result.stored import StoredHierarchy

if TYPE_CHECKING:
    from graphsoft.aliases import Progress
    from graphsoft.datasets import Dataset
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["Placed", "placed", "rows_alike"]


@dataclass(frozen=True, eq=False)
class PlacedLevel(SoftClusters):
    """The memberships of new points on one level."""

    memberships: Any


@dataclass(frozen=True)
class Placed:
    """New points in the clusters of a hierarchy.

    Attributes
    ----------
    names : sequence
        Of the points; row numbers if they have none.
    levels : list of PlacedLevel
        Finest first.
    """

    names: Sequence[Any]
    levels: list[PlacedLevel]

    def facts(self) -> list[dict[str, Any]]:
        """List for every point its likeliest clusters and how likely they are."""
        columns = []
        for number, level in enumerate(self.levels):
            chances = largest_shares(level.memberships)
            ids = (f"{number}-{cluster}" for cluster in level.labels.tolist())
            pairs = zip(ids, chances.tolist(), strict=True)
            columns.append([{"cluster": id, "p": chance} for id, chance in pairs])
        return [
            {"name": name, "levels": list(levels)}
            for name, levels in zip(self.names, zip(*columns, strict=True), strict=True)
        ]


def placed(h: Hierarchy | StoredHierarchy, options: Mapping[str, Any], progress: Progress | None) -> Placed:
    """Read new points and find their memberships on all levels."""
    dataset = _read_alike(h, options, progress)
    data = dataset.data if dataset.affinity != "precomputed" else _weights_by_name(dataset, h.nodes)
    beside = h.transform(data, progress=progress)
    ends = np.cumsum([0, *(len(level.mass) for level in h)]).tolist()
    levels = [PlacedLevel(beside[:, start:stop].tocsr()) for start, stop in pairwise(ends)]
    return Placed(range(beside.shape[0]) if dataset.names is None else dataset.names, levels)


def rows_alike(h: StoredHierarchy, options: Mapping[str, Any]) -> RowsInFiles:
    """See files of new points as one table, with the columns of a hierarchy on disk."""
    for name in ("kind", "header", "drop", "obsp"):
        if options[name] is not None:
            problem = "has no meaning with --directory, where the rows of files are read in parts"
            raise InputError({"kind": "format"}.get(name, name), problem, "leave it out")
    if options["input"] == "-":
        remedy = "name files, which can be read again and by several processes"
        raise InputError("input", "the standard input cannot be read in parts", remedy)
    part = None if options["obsm"] is None else f"obsm/{options['obsm']}"
    known, columns = h.summary.columns, options["columns"]
    if known is not None:
        _refuse_columns(options, ("columns",))
        columns = known if _is_parquet(options["input"]) else None
    return rows_in_files(options["input"], columns=columns, part=part)


def _is_parquet(name: str) -> bool:
    """Tell whether the files are tables of which some columns can be taken."""
    path = Path(name)
    return any(each.suffix in (".parquet", ".pq") for each in (path.iterdir() if path.is_dir() else [path]))


def _refuse_columns(options: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if options[name] is not None:
            problem = "is of no use, because the model knows its columns"
            raise InputError(name, problem, "leave it out: other columns are not read")


def _weights_by_name(dataset: Dataset, nodes: Sequence[Any]) -> Any:
    """Put the columns of a graph in the order of the nodes of the model; a file may list them in another."""
    if dataset.names is None or isinstance(nodes, range) or not issparse(dataset.data):
        return dataset.data
    columns, missing = rows_named(nodes, dataset.names)
    if missing:
        remedy = "give a graph that holds all of them"
        raise InputError("input", f"has no node {shown(missing[0])}, which the model has", remedy)
    return csr_array(dataset.data)[:, columns]


def _read_alike(
    h: Hierarchy | StoredHierarchy, options: Mapping[str, Any], progress: Progress | None
) -> Dataset:
    if isinstance(h, StoredHierarchy):
        known = h.summary.columns
    else:
        known = h.features.columns if isinstance(h.features, Features) else None
    if known is not None:
        _refuse_columns(options, ("columns", "drop"))
    part = _part_alike(h, options)
    try:
        return read_file(options, progress, **part, **({} if known is None else {"columns": list(known)}))
    except InputError as error:
        if error.argument in part:
            problem = f"{error.problem}, which the model was made with"
            raise InputError(error.argument, problem, error.remedy) from error
        if known is None or error.argument != "columns":
            raise
        remedy = "give a table with the columns " + ", ".join(known[:8]) + ", ..." * (len(known) > 8)
        raise InputError("input", f"{error.problem}, which the model was made with", remedy) from error


def _part_alike(h: Hierarchy | StoredHierarchy, options: Mapping[str, Any]) -> dict[str, str]:
    """Choose the part of an h5ad file that the model was made with, unless the user chose one."""
    ending = f".{options['kind']}" if options["input"] == "-" else Path(options["input"]).suffix.lower()
    part, _, key = h.report.part.partition("/")
    chosen = any(options[name] is not None for name in PARTS)
    return {part: key} if part in PARTS and ending == ".h5ad" and not chosen else {}
