"""A task: a pure function that reads files, writes a file, and returns a few numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.files import ArrayFile, open_arrays, write_arrays

__all__ = ["Record", "Task", "Where", "Work"]

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
    """

    directory: str
    stage: str
    part: int

    def write(self, arrays: Mapping[str, Array], cuts: Mapping[str, Array] | None = None) -> None:
        """Write the task's own file."""
        write_arrays(self.file(self.stage, self.part), arrays, cuts)

    def open(self, stage: str, part: int) -> AbstractContextManager[ArrayFile]:
        """Open the file of another task, which is complete."""
        return open_arrays(self.file(stage, part))

    def file(self, stage: str, part: int) -> Path:
        """Name the file of a task."""
        return Path(self.directory, "parts", stage, f"{part}.arrays")

    def record(self) -> Path:
        """Name the file that says that this task is done."""
        return Path(self.directory, "done", self.stage, f"{self.part}.arrays")


@dataclass(frozen=True)
class Task:
    """One call of a function on one part; it is picklable, and calling it again gives the same.

    Attributes
    ----------
    where : Where
    work : callable
    known : mapping
        Further arguments, all of them small: larger ones are in files.
    """

    where: Where
    work: Work
    known: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> Record:
        """Do it, write down that it is done, and return what was written down."""
        began = time.process_time()
        found = self.work(self.where, **self.known) or {}
        arrays = {name: np.asarray(value) for name, value in found.items()}
        arrays["cpu_seconds"] = np.asarray(time.process_time() - began)
        write_arrays(self.where.record(), arrays)
        return self.recorded()

    def recorded(self) -> Record:
        """Read what an earlier call wrote down."""
        with open_arrays(self.where.record()) as file:
            return {name: file.array(name) for name in file}
