"""The files of a result on disk, and what is read of them: checked, and never more than a part at a time."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.block_files import edges_of
from graphsoft.distributed.cell_search import Cells, width_seen
from graphsoft.distributed.files import ArrayFile, Unreadable
from graphsoft.distributed.finishing import lasting_files
from graphsoft.distributed.plan import Plan, mark_of
from graphsoft.distributed.summary import PREDICTIONS, SUMMARY, Summary, read_summary, write_summary
from graphsoft.distributed.tasks import Where
from graphsoft.errors import InputError
from graphsoft.input.memberships import check_memberships
from graphsoft.input.sparse_input import check_rows
from graphsoft.lazy import lazy
from graphsoft.linalg.memberships import rows_to_one
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.container import UNSOUND, cause_of
from graphsoft.storage.folders import write_new_folder

__all__ = ["LOST", "FilesOfPredictions", "FilesOfShares", "StoredFiles", "opened"]

LOST = "make the same call again, which makes the file again, or take another copy of the result"


@dataclass(frozen=True, eq=False)
class FilesOfShares(ABC):
    """The files of a result on disk, of which memberships and labels are read.

    Attributes
    ----------
    directory : Path
    summary : Summary
    """

    directory: Path
    summary: Summary

    # The file with its summary, and the stage whose files have the labels of a chunk of rows.
    summary_name: ClassVar[str]
    of_labels: ClassVar[str]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the fields only."""
        return type(self), (self.directory, self.summary)

    @property
    def plan(self) -> Plan:
        """What the run was going to do."""
        return self.summary.plan

    def file(self, stage: str, part: int) -> Path:
        """Name a file."""
        return self._where(stage, part).file(stage, part)

    def names(self) -> list[Path]:
        """Name all files that belong to the result, beside its summary."""
        return [self.file(*each) for each in self._lasting()]

    def save(self, path: PathLike, cluster_names: Mapping[str, str]) -> None:
        """Copy them to a new directory, whole or not at all; a file that is damaged is refused."""

        def write(folder: Path) -> None:
            for each in self._lasting():
                source = self.file(*each)
                target = folder / source.relative_to(self.directory)
                target.parent.mkdir(parents=True, exist_ok=True)
                with self.open(*each) as file:
                    file.check()
                    shutil.copyfile(source, target)
            write_summary(folder, replace(self.summary, cluster_names=dict(cluster_names)))

        write_new_folder(path, write)

    def _lasting(self) -> list[tuple[str, int]]:
        return [(stage, part) for stage, parts in lasting_files(self.plan).items() for part in parts]

    @contextmanager
    def open(self, stage: str, part: int) -> Iterator[ArrayFile]:
        """Open a file, and say what is wrong with it if it cannot be read as it should be."""
        path = str(self.file(stage, part))
        try:
            with self._where(stage, part).open(stage, part) as file:
                yield file
        except Unreadable as error:
            raise InputError("directory", str(error), LOST) from error
        except UNSOUND as error:
            raise InputError("directory", f"{path!r} is damaged: {cause_of(error)}", LOST) from error

    def _where(self, stage: str, part: int) -> Where:
        return Where(str(self.directory), stage, part, self._mark)

    @lazy
    def _mark(self) -> bytes:
        return mark_of(self.plan)

    @abstractmethod
    def rows(self, part: int) -> tuple[Array, Array]:
        """Tell which rows are in a part, rising, and which of its nodes each is."""

    @abstractmethod
    def homes(self, chunk: int) -> tuple[Array, Array]:
        """Tell in which part each row of a chunk is, and which node of it."""

    def labels(self, chunk: int, level: int) -> Array:
        """Read the likeliest cluster of each row of a chunk."""
        with self.open(self.of_labels, chunk) as file:
            labels = _whole(file, f"labels-{level}")
            self._check_chunk(chunk, labels, self.plan.levels[level])
        return labels.astype(np.int32, copy=False)

    def probability(self, chunk: int, level: int) -> Array:
        """Read the membership of each row of a chunk in its likeliest cluster."""
        return self._sureness("probability", chunk, level)

    def entropy(self, chunk: int, level: int) -> Array:
        """Read how torn each row of a chunk is between clusters, in nats."""
        return self._sureness("entropy", chunk, level)

    def _sureness(self, name: str, chunk: int, level: int) -> Array:
        start, stop = self.plan.chunk(chunk)
        with self.open(self.of_labels, chunk) as file:
            values = _whole(file, f"{name}-{level}", "f")
            sound = (values > 0) & (values <= 1) if name == "probability" else values >= 0
            if values.shape != (stop - start,) or not (sound & np.isfinite(values)).all():
                raise ValueError(f"{name} that is none")
        return values.astype(np.float32, copy=False)

    def _check_chunk(self, chunk: int, values: Array, limit: int) -> None:
        start, stop = self.plan.chunk(chunk)
        if values.shape != (stop - start,) or values.min() < 0 or values.max() >= limit:
            raise ValueError("numbers of another chunk")

    def memberships(self, part: int, level: int, places: Array | None = None) -> sp.csr_array:
        """Compute the memberships of the nodes of a part on a level.

        Parameters
        ----------
        part, level : int
        places : ndarray, optional
            Of these nodes only, in this order.
        """
        with self.open("memberships", part) as file:
            found = _rows_at(file, "memberships", places)
            check_memberships(found, "path", (found.shape[0], self.plan.levels[0]))
        return self.above(found, level)

    def above(self, finest: sp.csr_array, level: int) -> sp.csr_array:
        """Compute memberships on a level from those on the finest."""
        if level == 0:
            return finest
        found = finest
        for below in self.summary.levels[:level]:
            found = (found @ below.parents).tocsr()
        found = rows_to_one(found)
        found.sort_indices()
        return found


@dataclass(frozen=True, eq=False)
class StoredFiles(FilesOfShares):
    """The files of a hierarchy on disk."""

    summary_name, of_labels = SUMMARY, "homes"

    def rows(self, part: int) -> tuple[Array, Array]:
        """Read which rows are in a partition, rising, and which of its nodes each is."""
        with self.open("rows", part) as file:
            rows, node = _whole(file, "rows"), _whole(file, "node")
            if rows.shape != node.shape or (len(node) and node.min() < 0):
                raise ValueError("rows that are not those of nodes")
            if len(rows) and (rows[0] < 0 or rows[-1] >= self.plan.rows or (np.diff(rows) <= 0).any()):
                raise ValueError("rows that are not in order")
        return rows, node

    def homes(self, chunk: int) -> tuple[Array, Array]:
        """Read in which partition each row of a chunk is, and which node of it."""
        with self.open("homes", chunk) as file:
            part, place = (_whole(file, name) for name in ("part", "place"))
            self._check_chunk(chunk, part, self.plan.partitions)
            self._check_chunk(chunk, place, np.iinfo(np.int64).max)
        return part, place

    def features(self, part: int) -> Any:
        """Read the features of the nodes of a partition, dense or sparse."""
        with self.open("points", part) as file:
            if not self.plan.sparse:
                values = _whole(file, "features", "f", 2)
                numbers, width = values, values.shape[1]
            else:
                values = _matrix(file, "features")
                numbers, width = values.data, values.shape[1]
            if width != self.plan.features or not np.isfinite(numbers).all():
                raise ValueError("features of other points")
        return values

    def scales(self, part: int) -> Array:
        """Read the local scales of the nodes of a partition."""
        with self.open("points", part) as file:
            scales = _whole(file, "scale", "f")
            if not (np.isfinite(scales).all() and (scales > 0).all()):
                raise ValueError("scales that are not above 0")
        return scales

    def typical_scale(self) -> float:
        """Read the median of the local scales of all nodes that have neighbors."""
        with self.open("graph", 0) as file:
            typical = float(_whole(file, "typical", "f", 0))
            if not 0 < typical < np.inf:
                raise ValueError("a scale that is not above 0")
        return typical

    def first_rows(self, part: int) -> Array:
        """Read the first row of every node of a partition."""
        with self.open("points", part) as file:
            return _whole(file, "first")

    @lazy
    def cells(self) -> Cells:
        """The cells, by which rows find their partition."""
        with self.open("cells", 0) as file:
            centers, partition = _whole(file, "centroids", "f", 2), _whole(file, "partition")
            if centers.shape != (len(partition), width_seen(self.plan.features)) or not len(partition):
                raise ValueError("centers of other cells")
            if partition.min() < 0 or partition.max() >= self.plan.partitions:
                raise ValueError("cells of other partitions")
            if not np.isfinite(centers).all():
                raise ValueError("centers that are not finite")
        return Cells(centers, partition, self.plan.metric)

    def edges(self, part: int) -> tuple[sp.csr_array, Array, Array]:
        """Read the edges of the nodes of a partition; columns are these nodes, and then those of the halo.

        Also returns in which partition each node of the halo is, and which node of it.
        """
        with self.open("graph", part) as file:
            ptr, columns, weights = _whole(file, "ptr"), _whole(file, "columns"), _whole(file, "weights", "f")
            halo_part, halo_place = (_whole(file, name) for name in ("halo_part", "halo_place"))
            matrix = edges_of(ptr, columns, weights, len(halo_part))
            check_rows(matrix, "path")
            if halo_part.shape != halo_place.shape or (len(halo_part) and halo_part.min() < 0):
                raise ValueError("a halo that is none")
        return matrix, halo_part, halo_place


@dataclass(frozen=True, eq=False)
class FilesOfPredictions(FilesOfShares):
    """The files of new points in the clusters of a hierarchy, where every chunk of rows is a part."""

    summary_name, of_labels = PREDICTIONS, "memberships"

    def rows(self, part: int) -> tuple[Array, Array]:
        """Tell which rows are in a part."""
        rows = np.arange(*self.plan.chunk(part))
        return rows, rows - rows[0]

    def homes(self, chunk: int) -> tuple[Array, Array]:
        """Tell where each row of a chunk is."""
        rows, place = self.rows(chunk)
        return np.full(len(rows), chunk, dtype=np.int32), place


def opened(directory: str) -> FilesOfShares:
    """Open the files of a result, as a worker does; its summary is read once for all that it does."""
    for kind in (StoredFiles, FilesOfPredictions):
        with suppress(FileNotFoundError):
            return _opened(kind, directory, Path(directory, kind.summary_name).stat().st_mtime_ns)
    remedy = "leave the result where it is, where all workers reach it under this path"
    raise InputError("directory", f"there is no result in {directory!r}", remedy)


@lru_cache(maxsize=4)
def _opened(kind: type[FilesOfShares], directory: str, _: int) -> FilesOfShares:
    return kind(Path(directory), read_summary(Path(directory), kind.summary_name))


def _whole(file: ArrayFile, name: str, kinds: str = "i", dimensions: int = 1) -> Array:
    """Read an array of the kind that is expected."""
    if len(file.shape(name)) != dimensions:
        raise ValueError(f"{name} is not what it should be")
    values = file.array(name)
    if values.dtype.kind not in kinds:
        raise ValueError(f"{name} is not what it should be")
    return values


def _rows_at(file: ArrayFile, name: str, places: Array | None) -> sp.csr_array:
    """Read all rows of a sparse matrix, or those at some places; where it is cut, only what is needed."""
    if places is None:
        return _matrix(file, name)
    count = file.shape(f"{name}/counts")[0]
    if len(places) and (places.min() < 0 or places.max() >= count):
        raise ValueError(f"{name} has no such rows")
    if not file.has_sections(f"{name}/counts"):
        return _matrix(file, name)[places]
    cut = file.cut(f"{name}/counts")
    sections, which = np.unique(np.searchsorted(cut, places, side="right") - 1, return_inverse=True)
    if not len(sections):
        return _matrix(file, name)[places]
    starts = np.concatenate([[0], np.cumsum(cut[sections + 1] - cut[sections])[:-1]])
    read = sp.vstack([_matrix(file, name, int(section)) for section in sections], format="csr")
    return read[places - cut[sections][which] + starts[which]]


def _matrix(file: ArrayFile, name: str, section: int | None = None) -> sp.csr_array:
    """Read a sparse matrix, or a section of it, and check it before rows are taken out of it."""
    found = file.rows(name, section)
    check_rows(found, "path")
    return found
