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

__all__ = ["AGAIN", "FULL", "UNSOUND", "Doing", "Known", "Place", "Stage"]

Place = tuple[str, int]
"""A stage and a part: the task, and the file that it writes."""

FULL = (errno.ENOSPC, errno.EDQUOT)  # what the system says of a disk without room
PAUSE = 0.5  # seconds until there is another look at workers and at tasks that take too long
FLOOR = 10.0  # no task is tried a second time earlier than after so many seconds,
SPARE = 60.0  # or after so many where none of its stage has ended yet, and workers have nothing to do,
UNKNOWN = 600.0  # or after so many where all of them have
TRIES = 3  # at the same time; then the last is given up for another, after longer and longer waits
# A worker's death is first its scheduler's affair, which tries the task again, in Dask on three more workers.
KILLS = 3
MORE_MEMORY = (
    "give each worker more memory, or begin in another directory with a smaller max_memory or more "
    "partitions; logs of the workers may tell more"
)
UNSOUND = "see that the disk is sound, and that all workers and this process see the same directory"
AGAIN = 5  # a file that was written so often, and could not be read, will not be read the next time


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
    patience : float
        Seconds in which a task has to end where there are no workers, or where they die.
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
    """

    directory: str
    executor: Executor
    token: str
    patience: float
    mark: bytes = UNMARKED
    deadline: Deadline = NEVER
    stages: dict[str, Stage] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)
    repaired: set[str] = field(default_factory=set)

    def task(self, place: Place) -> Task:
        """Make a task; there may be too many to keep."""
        stage = self.stages[place[0]]
        own = {name: values[place[1]] for name, values in stage.own.items()}
        return Task(Where(self.directory, *place, self.mark), stage.work, {**stage.known, **own})

    def writer(self, error: Unreadable) -> Place:
        """Find whose file could not be read."""
        path = Path(error.path)
        if path.is_relative_to(self.directory) and path.stem.isdecimal():
            stage, part = path.parent.name, int(path.stem)
            if stage in self.stages and part in self.stages[stage].parts:
                return stage, part
        raise error


@dataclass(frozen=True)
class _Try:
    place: Place
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
        self._suspects: deque[Place] = deque()  # workers died while they had these tasks
        self._tries: dict[Key, _Try] = {}
        self._blocked: dict[Place, list[Place]] = {}  # tasks, by what has to be done again before
        self._ended: dict[Place, float] = {}
        self._ages: dict[str, list[float]] = {stage: [*took]}  # seconds from submission to end
        self._late: Counter[Place] = Counter()  # how often a task was tried again since it took too long
        self._written: Counter[Place] = Counter()
        self._kills: Counter[Place] = Counter()
        self._quiet_since = time.monotonic()
        self._died: int | None = None
        self._raised: BaseException | None = None

    def run(self) -> None:
        """Return when all are done."""
        try:
            while self._missing:
                workers = self._known.executor.workers()
                self._submit(workers.room)
                for ended in self._known.executor.ended(PAUSE) if self._tries else ():
                    self._take(ended)
                self._try_elsewhere(workers)
                self._watch(workers)
                self._stop_in_time()
        except ConnectionError as error:
            if error is self._raised:  # by a task, which may read from a network too
                raise
            raise self._stopped(
                [*self._missing], str(error), "start a cluster, and call again: what is done is kept"
            ) from error
        finally:
            if self._tries:
                self._cancel(list(self._tries))

    def _stop_in_time(self) -> None:
        """Stop when the time is over, but not before something was done: many short calls end too."""
        if self._missing and self._ended and self._known.deadline.over:
            raise self._stopped([], "the time is over", "make the same call again, which goes on from here")

    def _submit(self, room: int) -> None:
        # one at a time: a task that kills workers must not draw suspicion to another again and again
        if self._suspects and not any(each.place in self._kills for each in self._tries.values()):
            self._begin(self._suspects.popleft())
        while self._waiting and len(self._tries) < room:
            place = self._waiting.popleft()
            if not self._known.stages[place[0]].here:
                self._begin(place)
                continue
            key, error = self._key(place), None
            self._tries[key] = _Try(place, time.monotonic())
            try:
                self._known.task(place)()
            except Exception as raised:
                error = raised
            self._take(Ended(key, error))
        if self._missing and not (self._tries or self._waiting or self._suspects):
            raise RuntimeError(f"the tasks {sorted(self._missing)} wait for each other")

    def _begin(self, place: Place) -> None:
        key = self._key(place)
        self._known.executor.submit(self._known.task(place), key)
        self._tries[key] = _Try(place, time.monotonic())

    def _key(self, place: Place) -> Key:
        stage, part = place
        self._known.tries[stage] += 1
        return f"{stage}-{self._known.token}", part, self._known.tries[stage]

    def _take(self, ended: Ended) -> None:
        """Go on from the end of a try."""
        tried = self._tries.pop(ended.key, None)
        if tried is None:  # another try was quicker
            return
        place, error = tried.place, ended.error
        if error is None and not ended.killed:
            self._end(place, time.monotonic() - tried.since)
        elif isinstance(error, Unreadable):
            self._do_again(place, tried.since, error)
        elif ended.killed:
            self._take_kill(place, error)
        elif isinstance(error, MemoryError):
            problem = f"there was not enough memory for it ({error or 'MemoryError'})"
            raise self._stopped([place], problem, MORE_MEMORY) from error
        elif isinstance(error, Unreachable):
            raise self._stopped([place], error.problem, error.remedy) from error
        elif isinstance(error, OSError) and error.errno in FULL:
            raise self._stopped(
                [place], f"the disk is full ({error})", "make room, and call again: what is done is kept"
            ) from error
        elif error is not None:
            self._raised = error
            raise error

    def _end(self, place: Place, age: float) -> None:
        now = time.monotonic()
        self._quiet_since, self._died = now, None
        self._ended[place] = now
        self._ages.setdefault(place[0], []).append(age)
        self._cancel(self._keys(place))
        self._missing.discard(place)
        self._waiting.extendleft(reversed(self._blocked.pop(place, [])))
        if place in self._asked:
            self._done(place[1])
        else:
            self._known.repaired.add(place[0])

    def _do_again(self, place: Place, since: float, error: Unreadable) -> None:
        """Do the task again whose file is not as it was written, and then the one that reads it."""
        writer = self._known.writer(error)
        self._cancel(self._keys(place))
        if self._ended.get(writer, -np.inf) >= since:  # that was before it was written again
            self._waiting.appendleft(place)
            return
        self._blocked.setdefault(writer, []).append(place)
        if writer in self._missing:
            return
        self._written[writer] += 1
        if self._written[writer] > AGAIN:
            raise self._stopped([writer], f"{error}, though written {AGAIN} times", UNSOUND)
        self._missing.add(writer)
        self._waiting.appendleft(writer)

    def _take_kill(self, place: Place, error: BaseException | None) -> None:
        self._kills[place] += 1
        if self._kills[place] >= KILLS:
            why = f" ({error})" if error is not None else ""
            raise self._stopped([place], f"its workers died, {KILLS} times over{why}", MORE_MEMORY)
        if not self._keys(place) and place not in self._suspects:
            self._suspects.append(place)

    def _try_elsewhere(self, workers: Workers) -> None:
        """Try tasks a second time that take much longer than others; whichever ends first is the answer."""
        if workers.there < 2:
            return
        now = time.monotonic()
        late = {each.place for each in self._tries.values() if now - each.since > FLOOR}
        for place in sorted(late):
            tries = self._keys(place)  # the first comes first
            since = max(self._tries[key].since for key in tries)
            if now - since > 3.0 ** self._late[place] * self._deadline(place[0], workers):
                self._cancel(tries[TRIES - 1 :])
                self._late[place] += 1
                self._begin(place)

    def _deadline(self, stage: str, workers: Workers) -> float:
        """Tell how many seconds a task of a stage may take."""
        ages = self._ages.get(stage)
        if ages:
            return max(FLOOR, 3.0 * float(np.quantile(ages, 0.95)))
        return SPARE if len(self._tries) < workers.there else UNKNOWN

    def _watch(self, workers: Workers) -> None:
        """Give up where no task can end."""
        if self._died is None:
            self._died = workers.died
        quiet = time.monotonic() - self._quiet_since
        if quiet < self._known.patience or not self._tries:
            return
        if workers.there == workers.silent:
            raise self._stopped(
                [*self._missing], f"there has been no worker that takes tasks for {quiet:.0f} s",
                "start workers, or give them more memory if they are paused, and call again",
            )  # fmt: skip
        deaths = workers.died - self._died
        if deaths > 2 * workers.there:
            raise self._stopped(
                [*self._missing], f"{deaths} workers died in {quiet:.0f} s, and no task has ended",
                "look into the logs of the workers, and call again: what is done is kept",
            )  # fmt: skip

    def _keys(self, place: Place) -> list[Key]:
        return [key for key, each in self._tries.items() if each.place == place]

    def _cancel(self, keys: Sequence[Key]) -> None:
        for key in keys:
            del self._tries[key]
        if keys:
            self._known.executor.cancel(keys)

    def _stopped(self, places: Sequence[Place], problem: str, remedy: str) -> RunStopped:
        if not places:
            return RunStopped(self._stage, [], problem, remedy)
        stage = (
            self._stage if (own := {part for name, part in places if name == self._stage}) else places[0][0]
        )
        parts = own or {part for name, part in places if name == stage}
        return RunStopped(stage, sorted(parts), problem, remedy)
