"""How far the run in a directory is: told from its files, while it goes on and after it was killed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphsoft.distributed.locking import is_held
from graphsoft.distributed.plan import PLAN
from graphsoft.distributed.run import planned_stages, recorded_parts
from graphsoft.distributed.summary import PREDICTIONS, SUMMARY
from graphsoft.errors import InputError
from graphsoft.storage.atomic import PathLike

__all__ = ["Status", "status"]


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Attributes
    ----------
    directory : str
    stages : dict
        For each stage that has begun or is expected, in their order: how many of its tasks are done, and how
        many it has.
    finished : bool
        Whether the result is there.
    worked_on : bool or None
        Whether a run is at work in the directory; None where that cannot be known.
    """

    directory: str
    stages: dict[str, tuple[int, int]]
    finished: bool
    worked_on: bool | None

    @property
    def done(self) -> int:
        """How many tasks are done."""
        return sum(done for done, _ in self.stages.values())

    @property
    def tasks(self) -> int:
        """How many tasks there are, as far as is known: a stage may come that was not expected."""
        return sum(tasks for _, tasks in self.stages.values())

    @property
    def stage(self) -> str | None:
        """Where the run stands: the first stage that is not complete."""
        return next((name for name, (done, tasks) in self.stages.items() if done < tasks), None)

    def __str__(self) -> str:
        if self.finished:
            return f"{self.directory}: finished"
        complete = sum(done >= tasks for done, tasks in self.stages.values())
        counts = f"{complete} of {len(self.stages)} stages, {self.done:,} of {self.tasks:,} tasks"
        lines = [f"{self.directory}: {counts}"]
        if self.stage is not None:
            done, tasks = self.stages[self.stage]
            lines.append(f"stands at {self.stage}, {done:,} of {tasks:,} parts")
        if self.worked_on is not None:
            idle = "nobody is at work: the same call takes it up again"
            lines.append("a run is at work" if self.worked_on else idle)
        return "\n".join(lines)


def status(directory: PathLike) -> Status:
    """Tell how far the run in a directory is.

    Examples
    --------
    >>> import tempfile
    >>> from graphsoft.distributed.run import Run
    >>> with tempfile.TemporaryDirectory() as folder, Run(Path(folder)) as run:
    ...     run.expect({"route-rows": 3, "find-neighbors": 2})
    ...     _ = run.stage("route-rows", print, [])
    ...     found = status(folder)
    >>> found.stage, found.tasks, found.worked_on
    ('find-neighbors', 2, True)
    """
    path = Path(directory)
    planned = planned_stages(path)
    finished = any((path / name).exists() for name in (SUMMARY, PREDICTIONS))
    if not (planned or finished or (path / PLAN).exists()):
        raise InputError("directory", f"there is no run in {str(path)!r}", "give the directory of a run")
    stages = {name: (min(tasks, len(recorded_parts(path, name))), tasks) for name, tasks in planned.items()}
    return Status(str(path), stages, finished, is_held(path))
