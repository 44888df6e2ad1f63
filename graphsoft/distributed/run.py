"""A run: stages of tasks in one directory, which can be stopped and taken up again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from graphsoft.aliases import Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.distributed.arguments import keep, stage_of
from graphsoft.distributed.doing import AGAIN, UNSOUND, Doing, Known, Stage
from graphsoft.distributed.executors import Executor, InThisProcess
from graphsoft.distributed.files import Unreadable
from graphsoft.distributed.locking import held
from graphsoft.distributed.tasks import InFile, Record, Where, Work
from graphsoft.errors import RunStopped
from graphsoft.storage.atomic import write_atomic
from graphsoft.storage.records import is_whole

__all__ = ["STAGES", "Run", "planned_stages", "recorded_parts"]

STAGES = "stages.json"
_SUMMED = ("seconds", "cpu_seconds", "bytes_read", "bytes_written")
_NAME = re.compile(r"[a-z][a-z0-9-]{,99}")


class Run:
    """Stages of tasks in one directory.

    A task whose record is there is not done again. A task that finds a file unreadable is done again after
    the task that wrote this file. As a context, the run holds its directory, and refuses one in which another
    run is at work; what killed processes have left half written is swept.

    Parameters
    ----------
    directory : Path
        All workers must see it too.
    executor : Executor, optional
        Who does the tasks; this process if not given.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    deadline : Deadline
        When it is over no further task begins but the first, and `RunStopped` is raised.
    """

    def __init__(
        self, directory: Path, executor: Executor | None = None, progress: Progress | None = None,
        deadline: Deadline = NEVER,
    ) -> None:  # fmt: skip
        self.directory = Path(directory).absolute()
        # the second half tells what an earlier run in the same directory may have left in a cluster
        token = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:4] + secrets.token_hex(2)
        self._known = Known(str(self.directory), executor or InThisProcess(), token, deadline=deadline)
        self._progress = progress
        self._forgotten: set[str] = set()
        self._new: dict[str, int] = {}  # tasks that had no record yet
        self._planned = planned_stages(self.directory)
        self._written = b""
        self._sums: dict[str, dict[str, float]] = {}
        self._open = ExitStack()

    def __enter__(self) -> Run:
        self._open.enter_context(held(self.directory))
        self._sweep()
        return self

    def __exit__(self, *raised: object) -> None:
        with self._open:
            self._sweep()

    def bind(self, mark: bytes) -> None:
        """Say what all files of this run are marked with; those of other runs are then not believed."""
        self._known.mark = mark

    def expect(self, stages: Mapping[str, int]) -> None:
        """Say which stages will come, in their order, and how many tasks each has, as far as is known.

        It only serves the bar and `graphsoft info`: others may come, and some may not.
        """
        self._planned = dict(stages)
        expect = getattr(self._progress, "expect", None)
        if expect is not None:
            expect([_title(name) for name in stages if name not in self._known.stages])
        self._write_stages()

    def stage(
        self, name: str, work: Work, parts: Sequence[int], /, *, here: bool = False,
        own: Mapping[str, Sequence[Any]] | None = None, **known: Any,
    ) -> list[Record]:  # fmt: skip
        """Do a task for each part, and return their records in the order of `parts`.

        Parameters
        ----------
        name : str
            Of small letters, digits and hyphens; every stage of a run has another one.
        work : callable
            A function of a module, called as ``work(where, **known)``.
        parts : sequence of int
        here : bool
            This process does it, whoever does other stages.
        own : mapping of str to sequence, optional
            Further arguments of which each part is told its own only, by its number.
        **known
            The same for all parts. Large arrays and matrices are written to files once, those in tuples,
            lists and dicts too, and tasks read them there.
        """
        if not _NAME.fullmatch(name) or name in self._known.stages:
            raise ValueError(f"{name!r} is no name of a stage, or that of another")
        if not isinstance(parts, range):
            parts = [int(part) for part in parts]
        if not here:
            known = self.kept(known)
        self._known.stages[name] = Stage(work, parts, known, own or {}, here)
        self._write_stages()
        records = self._records(name)
        self._sums[name] = _summed(records)
        for repaired in self._forgotten & self._known.repaired:
            self._delete(repaired)
        self._known.repaired.clear()
        return records

    def kept(self, value: Any) -> Any:
        """Write an argument of tasks to a file if it is large; `tasks.received` brings it back."""
        if isinstance(value, tuple | list):
            return type(value)(self.kept(each) for each in value)
        if isinstance(value, dict):
            return {name: self.kept(each) for name, each in value.items()}
        stage = stage_of(value)
        if stage is None:
            return value
        if stage not in self._known.stages:
            self.stage(stage, keep, [0], here=True, value=value)
        return InFile(stage)

    def forget(self, name: str) -> None:
        """Delete the files of a stage that no later stage reads; their records stay.

        If a later task needs them after all, because it has to be done again, they are made again.
        """
        self._forgotten.add(name)
        self._delete(name)

    def undo(self, name: str) -> None:
        """Delete the records of a stage that has not begun, so that this call does all its tasks again."""
        self._known.whole.add(name)
        shutil.rmtree(self.directory / "done" / name, ignore_errors=True)

    def forget_but(self, kept: Sequence[str]) -> None:
        """Delete the files of all stages but these."""
        for name in self._known.stages:
            if name not in kept:
                self.forget(name)

    def where(self, stage: str, part: int) -> Where:
        """Name a place in this run, to read files from."""
        return Where(str(self.directory), stage, part, self._known.mark)

    def report(self) -> dict[str, dict[str, float]]:
        """Tell what each stage took.

        Returns
        -------
        dict of dict
            For each stage: ``tasks``; ``again``, how many tasks were done again or tried a second time in
            this process's time; ``seconds`` and ``cpu_seconds`` of all tasks; ``bytes_read`` and
            ``bytes_written``; ``peak_memory``, the most that a process that did one of the tasks had taken
            until then, 0 if unknown.
        """
        stages, tries = self._known.stages, self._known.tries
        return {
            name: {"tasks": len(stages[name].parts), "again": tries[name] - self._new[name], **sums}
            for name, sums in self._sums.items()
        }

    def _records(self, name: str) -> list[Record]:
        """Read the records of a stage, and do the tasks that have none."""
        parts = self._known.stages[name].parts
        found: dict[int, Record] = {}
        missing = set(parts) - recorded_parts(self.directory, name)
        self._new[name] = len(missing)
        self._tell(name, 0)
        for _ in range(AGAIN):
            for part in set(parts) - missing - found.keys():
                try:
                    found[part] = self._known.task((name, part)).recorded()
                except Unreadable as error:
                    missing.add(part)
                    problem = str(error)
            if not missing:
                self._tell(name, len(parts))
                return [found[part] for part in parts]
            self._do(name, missing, [record["seconds"].item() for record in found.values()])
            missing = set()
        raise RunStopped(
            name,
            sorted(set(parts) - found.keys()),
            f"{problem}, though it was written {AGAIN} times",
            UNSOUND,
        )

    def _do(self, name: str, missing: set[int], took: Sequence[float]) -> None:
        done = len(self._known.stages[name].parts) - len(missing)
        if done:
            self._tell(name, done)

        def count(part: int) -> None:
            nonlocal done
            done += 1
            self._tell(name, done)

        Doing(self._known, name, missing, count, took).run()

    def _tell(self, name: str, done: int) -> None:
        if self._progress is not None:
            self._progress(_title(name), done, len(self._known.stages[name].parts))

    def _sweep(self) -> None:
        """Delete what killed processes have left half written."""
        for kept in ("done/*", "parts/*", "given"):  # whatever else is in the directory may be of others
            for spare in self.directory.glob(f"{kept}/.*.tmp"):
                spare.unlink(missing_ok=True)

    def _delete(self, name: str) -> None:
        shutil.rmtree(self.directory / "parts" / name, ignore_errors=True)

    def _write_stages(self) -> None:
        """Write down how many tasks each stage has, for those who ask how far the run is."""
        begun = {name: len(stage.parts) for name, stage in self._known.stages.items()}
        stages = begun | {name: tasks for name, tasks in self._planned.items() if name not in begun}
        self._planned = stages
        text = json.dumps({"stages": stages}).encode()  # the order counts too
        if text == self._written:
            return
        # the run does not depend on it, and a task will say what is wrong with the disk
        with suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True)
            write_atomic(self.directory / STAGES, lambda file: file.write(text))
            self._written = text


def planned_stages(directory: Path) -> dict[str, int]:
    """Read which stages a run has, and how many tasks each."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        stages = dict(json.loads((directory / STAGES).read_bytes())["stages"])
        if all(_NAME.fullmatch(name) and is_whole(tasks) and tasks >= 0 for name, tasks in stages.items()):
            return stages
    return {}


def recorded_parts(directory: Path, stage: str) -> set[int]:
    """List the parts of a stage whose records are there.

    The directory is listed: a network file system may remember for a while that a file was not there.
    """
    try:
        names = os.listdir(directory / "done" / stage)
    except FileNotFoundError:
        return set()
    parts = {name.removesuffix(".arrays") for name in names if name.endswith(".arrays")}
    return {int(part) for part in parts if part.isdecimal() and part.isascii()}


def _title(name: str) -> str:
    """Write the name of a stage for the bar, without its numbers.

    Examples
    --------
    >>> _title("sweep-12-wide")
    'sweep wide'
    """
    return " ".join(word for word in name.split("-") if word.isalpha())


def _summed(records: Sequence[Record]) -> dict[str, float]:
    sums = {name: sum(record[name].item() for record in records) for name in _SUMMED}
    return sums | {"peak_memory": max((record["peak_memory"].item() for record in records), default=0)}
