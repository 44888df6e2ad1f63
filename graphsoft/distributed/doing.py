"""Doing the tasks of a stage, whatever happens to files and workers meanwhile."""

from __future__ import annotations

import errno
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.deadline import NEVER, Deadline
from graphsoft.distributed.executors import Ended, Executor, Key, Workers
from graphsoft.distributed.files import UNMARKED, Unreadable
from graphsoft.distributed.tasks import Task, Where, Work
from graphsoft.errors import RunStopped, Unreachable
from graphsoft.version import installed_version

__all__ = [
    "AGAIN",
    "DESERTED",
    "FULL",
    "MORE_MEMORY",
    "NO_SCHEDULER",
    "PAUSE",
    "TIME_IS_OVER",
    "UNSOUND",
    "Doing",
    "Known",
    "Stage",
    "TaskId",
    "no_worker",
]

TaskId = tuple[str, int]
"""A stage and a part: the task, and the file that it writes."""

FULL = (errno.ENOSPC, errno.EDQUOT)  # what the system says of a disk without room
# Seconds until there is another look at workers and at tasks that take too long.
PAUSE = 0.5
# Seconds that a task may take before it is tried a second time, however quick others of its stage were.
FLOOR = 10.0
# The same where none of its stage has ended yet: if workers have nothing to do, and if all of them have.
SPARE, UNKNOWN = 60.0, 600.0
# Tries of a task at the same time; then the last is given up for another, after longer and longer waits.
TRIES = 3
# Seconds in which a task has to end where there are no workers, or where they die.
DESERTED = 300.0
# A worker's death is first its scheduler's affair, which tries the task again, in Dask on three more workers.
KILLS = 3
MORE_MEMORY = (
    "give each worker more memory, or begin in another directory with a smaller max_memory or more "
    "partitions; logs of the workers may tell more"
)
UNSOUND = "see that the disk is sound, and that all workers and this process see the same directory"
NO_SCHEDULER = "start a cluster, and call again: what is done is kept"
TIME_IS_OVER = ("the time is over", "make the same call again, which goes on from here")
AGAIN = 5  # a file that was written so often, and could not be read, will not be read the next time


def no_worker(seconds: float) -> tuple[str, str]:
    """Say what is wrong, and what helps, where no worker has been there for a while."""
    return (
        f"there has been no worker that takes tasks for {seconds:.0f} s",
        "start workers, or give them more memory if they are paused, and call again",
    )


@dataclass(frozen=True)
class Stage:
    """What is done for each of some parts.

    Attributes
    ----------
    work : callable
    parts : sequence of int
    known : mapping
        Further arguments.
    own : mapping of str to sequence
        Arguments that each part has its own of.
    here : bool
        The process of the run does it itself.
    """

    work: Work
    parts: Sequence[int]
    known: Mapping[str, Any]
    own: Mapping[str, Sequence[Any]]
    here: bool


@dataclass
class Known:
    """What all stages of a run have in common.

    Attributes
    ----------
    directory : str
    executor : Executor
    token : str
        Part of all keys, so that workers do not take the tasks of two runs for the same.
    mark : bytes
        Of all files of the run.
    deadline : Deadline
        When the run stops.
    stages : dict
        Those that have begun.
    tries : Counter
        How many tasks of each stage were begun, the same one counted as often as it was.
    repaired : set of str
        Stages of which tasks were done again, because a later stage could not read their files.
    version : str
        Of graphsoft.
    begun : bool
        Whether some task was done in this process's time.
    whole : set of str
        Stages that are done in one call, however short its time is: the next call would do all of them again.
    """

    directory: str
    executor: Executor
    token: str
    mark: bytes = UNMARKED
    deadline: Deadline = NEVER
    stages: dict[str, Stage] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)
    repaired: set[str] = field(default_factory=set)
    version: str = field(default_factory=installed_version)
    begun: bool = False
    whole: set[str] = field(default_factory=set)

    def task(self, task_id: TaskId) -> Task:
        """Make a task; there may be too many to keep."""
        stage = self.stages[task_id[0]]
        own = {name: values[task_id[1]] for name, values in stage.own.items()}
        where = Where(self.directory, *task_id, self.mark)
        return Task(where, stage.work, {**stage.known, **own}, self.version)

    def writer(self, error: Unreadable) -> TaskId:
        """Find whose file could not be read."""
        path = Path(error.path)
        if path.is_relative_to(self.directory) and path.stem.isdecimal():
            stage, part = path.parent.name, int(path.stem)
            if stage in self.stages and part in self.stages[stage].parts:
                return stage, part
        raise error


@dataclass(frozen=True)
class _Try:
    task_id: TaskId
    since: float


class Doing:
    """Does some of the tasks of a stage, and those of earlier stages whose files turn out to be unreadable.

    Parameters
    ----------
    known : Known
    stage : str
    parts : iterable of int
    done : callable
        Told the part of each task that is done.
    took : sequence of float
        How many seconds other tasks of the stage took in an earlier run.
    """

    def __init__(
        self,
        known: Known,
        stage: str,
        parts: Iterable[int],
        done: Callable[[int], None],
        took: Sequence[float] = (),
    ) -> None:
        self._known, self._stage, self._done = known, stage, done
        self._asked = {(stage, part) for part in parts}
        self._missing = set(self._asked)
        self._waiting = deque(sorted(self._missing))
        self._suspects: deque[TaskId] = deque()  # workers died while they had these tasks
        self._tries: dict[Key, _Try] = {}
        self._blocked: dict[TaskId, list[TaskId]] = {}  # tasks, by what has to be done again before
        self._ended: dict[TaskId, float] = {}
        self._ages: dict[str, list[float]] = {stage: [*took]}  # seconds from submission to end
        self._late: Counter[TaskId] = Counter()  # how often a task was tried again since it took too long
        self._written: Counter[TaskId] = Counter()
        self._kills: Counter[TaskId] = Counter()
        self._quiet_since = time.monotonic()
        self._died: int | None = None
        self._raised: BaseException | None = None

    def run(self) -> None:
        """Return when all are done."""
        try:
            while self._missing:
                self._stop_in_time()
                workers = self._known.executor.workers()
                self._submit(workers.room)
                for ended in self._known.executor.ended(PAUSE) if self._tries else ():
                    self._take(ended)
                self._try_elsewhere(workers)
                self._watch(workers)
        except Unreachable as error:  # of a worker; those of tasks are taken as their ends
            raise self._stopped([], error.problem, error.remedy) from error
        except ConnectionError as error:
            if error is self._raised:  # by a task, which may read from a network too
                raise
            raise self._stopped([*self._missing], str(error), NO_SCHEDULER) from error
        finally:
            if self._tries:
                self._cancel(list(self._tries))

    def _stop_in_time(self) -> None:
        """Stop when the time is over, but not before something was done: many short calls end too."""
        known = self._known
        if known.begun and self._stage not in known.whole and known.deadline.over:
            raise self._stopped([], *TIME_IS_OVER)

    def _submit(self, room: int) -> None:
        # Retry suspects one at a time, so that the one that kills workers is found.
        if self._suspects and not any(each.task_id in self._kills for each in self._tries.values()):
            self._begin(self._suspects.popleft())
        while self._waiting and len(self._tries) < room:
            task_id = self._waiting.popleft()
            if not self._known.stages[task_id[0]].here:
                self._begin(task_id)
                continue
            self._stop_in_time()
            key, error = self._key(task_id), None
            self._tries[key] = _Try(task_id, time.monotonic())
            try:
                self._known.task(task_id)()
            except Exception as raised:
                error = raised
            self._take(Ended(key, error))
        if self._missing and not (self._tries or self._waiting or self._suspects):
            raise RuntimeError(f"the tasks {sorted(self._missing)} wait for each other")

    def _begin(self, task_id: TaskId) -> None:
        key = self._key(task_id)
        self._known.executor.submit(self._known.task(task_id), key)
        self._tries[key] = _Try(task_id, time.monotonic())

    def _key(self, task_id: TaskId) -> Key:
        stage, part = task_id
        self._known.tries[stage] += 1
        return f"{stage}-{self._known.token}", part, self._known.tries[stage]

    def _take(self, ended: Ended) -> None:
        """Go on from the end of a try."""
        tried = self._tries.pop(ended.key, None)
        if tried is None:  # another try was quicker
            return
        task_id, error = tried.task_id, ended.error
        if error is None and not ended.killed:
            self._end(task_id, time.monotonic() - tried.since)
        elif isinstance(error, Unreadable):
            self._do_again(task_id, tried.since, error)
        elif ended.killed:
            self._take_kill(task_id, error)
        elif isinstance(error, MemoryError):
            problem = f"there was not enough memory for it ({error or 'MemoryError'})"
            raise self._stopped([task_id], problem, MORE_MEMORY) from error
        elif isinstance(error, Unreachable):
            raise self._stopped([task_id], error.problem, error.remedy) from error
        elif isinstance(error, OSError) and error.errno in FULL:
            raise self._stopped(
                [task_id], f"the disk is full ({error})", "make room, and call again: what is done is kept"
            ) from error
        elif error is not None:
            self._raised = error
            raise error

    def _end(self, task_id: TaskId, age: float) -> None:
        now = time.monotonic()
        self._known.begun = True
        self._quiet_since, self._died = now, None
        self._ended[task_id] = now
        self._ages.setdefault(task_id[0], []).append(age)
        self._cancel(self._keys(task_id))
        self._missing.discard(task_id)
        self._waiting.extendleft(reversed(self._blocked.pop(task_id, [])))
        if task_id in self._asked:
            self._done(task_id[1])
        else:
            self._known.repaired.add(task_id[0])

    def _do_again(self, task_id: TaskId, since: float, error: Unreadable) -> None:
        """Do the task again whose file is not as it was written, and then the one that reads it."""
        writer = self._known.writer(error)
        self._cancel(self._keys(task_id))
        if self._ended.get(writer, -np.inf) >= since:  # that was before it was written again
            self._waiting.appendleft(task_id)
            return
        self._blocked.setdefault(writer, []).append(task_id)
        if writer in self._missing:
            return
        self._written[writer] += 1
        if self._written[writer] > AGAIN:
            raise self._stopped([writer], f"{error}, though written {AGAIN} times", UNSOUND)
        self._missing.add(writer)
        self._waiting.appendleft(writer)

    def _take_kill(self, task_id: TaskId, error: BaseException | None) -> None:
        self._kills[task_id] += 1
        if self._kills[task_id] >= KILLS:
            why = f" ({error})" if error is not None else ""
            raise self._stopped([task_id], f"its workers died, {KILLS} times over{why}", MORE_MEMORY)
        if not self._keys(task_id) and task_id not in self._suspects:
            self._suspects.append(task_id)

    def _try_elsewhere(self, workers: Workers) -> None:
        """Try tasks a second time that take much longer than others; whichever ends first is the answer."""
        if workers.there < 2:
            return
        now = time.monotonic()
        late = {each.task_id for each in self._tries.values() if now - each.since > FLOOR}
        for task_id in sorted(late):
            tries = self._keys(task_id)  # the first comes first
            since = max(self._tries[key].since for key in tries)
            if now - since > 3.0 ** self._late[task_id] * self._patience(task_id[0], workers):
                self._cancel(tries[TRIES - 1 :])
                self._late[task_id] += 1
                self._begin(task_id)

    def _patience(self, stage: str, workers: Workers) -> float:
        """Tell how many seconds a task of a stage may take before it is tried a second time."""
        ages = self._ages.get(stage)
        if ages:
            return max(FLOOR, 3.0 * float(np.quantile(ages, 0.95)))
        return SPARE if len(self._tries) < workers.there else UNKNOWN

    def _watch(self, workers: Workers) -> None:
        """Give up where no task can end."""
        if self._died is None:
            self._died = workers.died
        quiet = time.monotonic() - self._quiet_since
        late = self._known.deadline.over and self._stage not in self._known.whole
        if not self._tries or (quiet < DESERTED and not late):
            return
        if workers.there == workers.silent:
            raise self._stopped([*self._missing], *no_worker(quiet))
        deaths = workers.died - self._died
        if quiet >= DESERTED and deaths > 2 * workers.there:
            raise self._stopped(
                [*self._missing], f"{deaths} workers died in {quiet:.0f} s, and no task has ended",
                "look into the logs of the workers, and call again: what is done is kept",
            )  # fmt: skip

    def _keys(self, task_id: TaskId) -> list[Key]:
        return [key for key, each in self._tries.items() if each.task_id == task_id]

    def _cancel(self, keys: Sequence[Key]) -> None:
        for key in keys:
            del self._tries[key]
        if keys:
            self._known.executor.cancel(keys)

    def _stopped(self, tasks: Sequence[TaskId], problem: str, remedy: str) -> RunStopped:
        if not tasks:
            return RunStopped(self._stage, [], problem, remedy)
        stage = self._stage if (own := {part for name, part in tasks if name == self._stage}) else tasks[0][0]
        parts = own or {part for name, part in tasks if name == stage}
        return RunStopped(stage, sorted(parts), problem, remedy)
