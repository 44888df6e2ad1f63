"""A run: stages of tasks in one directory, which can be stopped and taken up again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphsoft.distributed.files import Unreadable
from graphsoft.distributed.tasks import Record, Task, Where, Work

__all__ = ["Run"]


class Run:
    """Stages of tasks in one directory.

    A task whose record is there is not done again. A task that finds a file unreadable is done again after
    the task that wrote this file.

    Parameters
    ----------
    directory : Path
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stages: dict[str, dict[int, Task]] = {}

    def stage(self, name: str, work: Work, parts: Sequence[int], **known: Any) -> list[Record]:
        """Do a task for each part, and return their records in the order of `parts`.

        Parameters
        ----------
        name : str
            Of letters, digits and hyphens; every stage of a run has another one.
        work : callable
            A function of a module, called as ``work(where, **known)``.
        parts : sequence of int
        **known
            The same for all parts; small.
        """
        tasks = {part: Task(Where(str(self.directory), name, part), work, known) for part in parts}
        self._stages[name] = tasks
        return [self._done(tasks[part]) for part in parts]

    def forget(self, name: str) -> None:
        """Delete the files of a stage that no later stage reads; their records stay."""
        for part in self._stages[name]:
            Where(str(self.directory), name, part).file(name, part).unlink(missing_ok=True)

    def where(self, stage: str, part: int) -> Where:
        """Name a place in this run, to read files from."""
        return Where(str(self.directory), stage, part)

    def _done(self, task: Task) -> Record:
        try:
            return task.recorded()
        except Unreadable:
            pass
        for _ in range(100):
            try:
                return task()
            except Unreadable as error:
                stage, part = Path(error.path).parts[-2:]
                again = self._stages[stage][int(part.removesuffix(".arrays"))]
                again.where.record().unlink(missing_ok=True)
                self._done(again)
        raise RuntimeError(f"task {task.where} cannot be done")
