"""A task: a pure function that reads files, writes a file, and returns a few numbers."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from graphsoft.aliases import Array
from graphsoft.available import peak_memory
from graphsoft.distributed.files import UNMARKED, ArrayFile, Traffic, open_arrays, write_arrays
from graphsoft.errors import RunStopped
from graphsoft.version import installed_version

__all__ = ["InFile", "Record", "Task", "Where", "Work", "received", "receivers", "sections_for", "senders"]

Record = dict[str, Array]
"""What a task returns: arrays, and numbers as arrays without dimensions."""

Work = Callable[..., "Mapping[str, Any] | None"]
"""A function of a module, called as ``work(where, **known)``."""


@dataclass(frozen=True)
class Where:
    """The place of a task in a run: what it may read, and the one file that it may write.

    Attributes
    ----------
    directory : str
    stage : str
    part : int
    mark : bytes
        Of all files of the run. Files that have another are not believed: a task of an earlier run in the
        same directory may have written them.
    traffic : Traffic
        Counts what is read and written from here.
    """

    directory: str
    stage: str
    part: int
    mark: bytes = UNMARKED
    traffic: Traffic = field(default_factory=Traffic, compare=False, repr=False)

    def write(self, arrays: Mapping[str, Array], cuts: Mapping[str, Array] | None = None) -> None:
        """Write the task's own file."""
        self.traffic.written += write_arrays(self.file(self.stage, self.part), arrays, cuts, self.mark)

    def open(self, stage: str, part: int) -> AbstractContextManager[ArrayFile]:
        """Open the file of another task, which is complete."""
        return open_arrays(self.file(stage, part), self.traffic, self.mark)

    def file(self, stage: str, part: int) -> Path:
        """Name the file of a task."""
        return Path(self.directory, "parts", stage, f"{part}.arrays")

    def record(self) -> Path:
        """Name the file that says that this task is done."""
        return Path(self.directory, "done", self.stage, f"{self.part}.arrays")


@dataclass(frozen=True)
class InFile:
    """An argument that is in a file.

    Attributes
    ----------
    stage : str
        Its only task wrote it.
    """

    stage: str


def received(where: Where, value: Any) -> Any:
    """Read an argument if it is in a file, or those in a tuple, list or dict that are."""
    if isinstance(value, tuple | list):
        return type(value)(received(where, each) for each in value)
    if isinstance(value, dict):
        return {name: received(where, each) for name, each in value.items()}
    if not isinstance(value, InFile):
        return value
    with where.open(value.stage, 0) as file:
        return file.value("value")


@dataclass(frozen=True)
class Task:
    """One call of a function on one part; it is picklable, and calling it again gives the same.

    Attributes
    ----------
    where : Where
    work : callable
    known : mapping
        Further arguments; of large ones it has an `InFile`.
    version : str
        Of graphsoft, where the run is; no other one does the task.
    """

    where: Where
    work: Work
    known: Mapping[str, Any] = field(default_factory=dict)
    version: str = field(default_factory=installed_version)

    def __call__(self) -> None:
        """Do it, and write down what it returned, the seconds and bytes that it took, and the process's peak.

        The peak is the most that the process ever had in memory, be it for an earlier task.
        """
        self._check_machine()
        where = replace(self.where, traffic=Traffic())
        began, began_cpu = time.perf_counter(), time.process_time()
        found = self.work(where, **received(where, dict(self.known))) or {}
        arrays = {name: np.asarray(value) for name, value in found.items()} | {
            "seconds": np.asarray(time.perf_counter() - began),
            "cpu_seconds": np.asarray(time.process_time() - began_cpu),
            "bytes_read": np.asarray(where.traffic.read),
            "bytes_written": np.asarray(where.traffic.written),
            "peak_memory": np.asarray(peak_memory()),
        }
        write_arrays(self.where.record(), arrays, mark=where.mark)

    def _check_machine(self) -> None:
        """Refuse to work where the code is another, or where nobody would find what is written."""
        where = self.where
        if self.version != (own := installed_version()):
            problem = f"the machine {socket.gethostname()!r} has graphsoft {own}, and the run {self.version}"
            remedy = "install the same version for all workers and this process, and call again"
            raise RunStopped(where.stage, [where.part], problem, remedy)
        if not os.path.isdir(where.directory):
            problem = f"there is no directory {where.directory!r} on the machine {socket.gethostname()!r}"
            remedy = "name one that all workers and this process see under the same path, and call again"
            raise RunStopped(where.stage, [where.part], problem, remedy)

    def recorded(self) -> Record:
        """Read what was written down."""
        with open_arrays(self.where.record(), mark=self.where.mark) as file:
            return {name: file.array(name) for name in file}


def senders(records: Sequence[Record]) -> list[Array]:
    """Tell each partition which others have written something for it.

    A partition has to do with those around it, however many there are.

    Examples
    --------
    >>> [each.tolist() for each in senders([{"to": np.array([1, 2])}, {"to": np.array([2])}, {"to": []}])]
    [[], [0], [0, 1]]
    """
    ones = np.repeat(np.arange(len(records), dtype=np.int32), [len(record["to"]) for record in records])
    others = np.concatenate([np.asarray(record["to"], dtype=np.int32) for record in records])
    counts = np.bincount(others, minlength=len(records))
    return np.split(ones[np.argsort(others, kind="stable")], np.cumsum(counts)[:-1])


def receivers(cut: Array) -> Array:
    """Tell for which others a task has written something, from where their sections begin and end.

    Examples
    --------
    >>> receivers(np.array([0, 0, 2, 3, 3]))
    array([1, 2], dtype=int32)
    """
    return np.flatnonzero(np.diff(cut)).astype(np.int32)


def sections_for(
    where: Where, stage: str, others: Sequence[int] | Array, **kinds: DTypeLike
) -> dict[str, list[Array]]:
    """Read what others have written for this task: arrays by name, after an empty one of this kind."""
    found = {name: [np.empty(0, dtype=kind)] for name, kind in kinds.items()}
    for other in others:
        with where.open(stage, int(other)) as file:
            for name, arrays in found.items():
                arrays.append(file.section(name, where.part))
    return found
