"""Who does the tasks of a run: this process, or the workers of Dask, or any that has these four methods."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol, runtime_checkable

from graphsoft.distributed.tasks import Task
from graphsoft.errors import InputError, Unreachable, shown
from graphsoft.parallel import threads_limited

__all__ = ["DaskFutures", "Ended", "Executor", "InThisProcess", "Key", "Workers", "executor_of"]

Key = tuple[str, int, int]
"""Of one try of a task: its stage and the run, its part, and the number of the try."""

LOOK = 1.0  # seconds between two looks at which workers there are
AVOIDED = 60.0  # seconds for which a worker that did not answer gets no further task
ASKED = 10.0  # seconds that a new worker has to tell whether it has graphsoft
QUIET = 30.0  # after so many seconds without a sign of life a worker is taken for stopped,
BEATS = 10  # and no earlier than when so many signs of life are missing
CLOSED = ("closed", "closing")  # what Dask says of a client that is let go
RUNNING, SILENT = "running", "silent"  # states of workers; the first is a word of Dask's, which has others


@dataclass(frozen=True)
class Ended:
    """How a try of a task ended.

    Attributes
    ----------
    key : tuple
    error : Exception or None
        What the task raised. Where there is none, the task is done: its answer is in files.
    killed : bool
        The task did not end by itself: its worker died, or the task was lost. It can be submitted again.
    """

    key: Key
    error: BaseException | None = None
    killed: bool = False


@dataclass(frozen=True)
class Workers:
    """Who is there to do tasks.

    Attributes
    ----------
    there : int
        How many workers there are now that take tasks.
    died : int
        How many have died so far, as far as is known.
    room : int
        How many tasks should be submitted and not yet ended: some for each worker, so that it need not wait
        for its next one.
    silent : int
        How many of those that are there have given no sign of life for a while, as far as is known.
    """

    there: int
    died: int
    room: int
    silent: int = 0


@runtime_checkable
class Executor(Protocol):
    """Does tasks, somewhere.

    A task is called without arguments, and returns nothing: its answer is in files, which all workers and
    this process see. So an executor has nothing to keep, and may do a task twice.
    """

    def submit(self, task: Task, key: Key) -> None:
        """See to it that a task is done, soon; no key comes twice."""
        ...

    def ended(self, seconds: float) -> list[Ended]:
        """Wait until some tasks have ended, but at most so long."""
        ...

    def cancel(self, keys: Sequence[Key]) -> None:
        """Let go of tasks, of which nothing is to be heard any more; those that run may go on."""
        ...

    def workers(self) -> Workers:
        """Look who is there.

        Raises
        ------
        ConnectionError
            If nobody ever will be.
        Unreachable
            If somebody cannot do any task.
        """
        ...


class InThisProcess:
    """Does tasks in this process, one after another."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Key, Task]] = []

    def submit(self, task: Task, key: Key) -> None:
        """Do it when `ended` is called."""
        self._waiting.append((key, task))

    def ended(self, seconds: float) -> list[Ended]:
        """Do one task."""
        if not self._waiting:
            return []
        key, task = self._waiting.pop(0)
        try:
            task()
        except Exception as error:
            return [Ended(key, error)]
        return [Ended(key)]

    def cancel(self, keys: Sequence[Key]) -> None:
        """Take back tasks that were not done yet."""
        self._waiting = [each for each in self._waiting if each[0] not in keys]

    def workers(self) -> Workers:
        """Count this process."""
        return Workers(there=1, died=0, room=1)


class DaskFutures:
    """Does tasks on the workers of a Dask client, as futures with keys that name stage, run and part.

    A worker does one of these tasks at a time, with as many threads as it has: so what a task needs of
    memory does not depend on the worker's threads.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: dict[Key, Any] = {}
        self._done: SimpleQueue[Key] = SimpleQueue()
        self._there: dict[str, str] = {}  # the workers and their states
        self._died, self._looked = 0, -LOOK
        self._avoided: dict[str, float] = {}

    def submit(self, task: Task, key: Key) -> None:
        """Submit a future; a second try of a task that still runs goes to another worker."""
        self._avoid_holders(key)
        chosen: list[str] | None = None
        if self._avoided or self._that_are(SILENT):
            chosen = sorted(self._that_are(RUNNING) - self._avoided.keys()) or None
        try:
            future = self._client.submit(
                _one_at_a_time, task, key=key, pure=False, workers=chosen,
                allow_other_workers=chosen is not None,
            )  # fmt: skip
        except Exception as error:
            if self._client.status == "running":  # then it is not the scheduler's fault
                raise
            raise self._lost(error) from error
        self._futures[key] = future
        future.add_done_callback(lambda _: self._done.put(key))

    def ended(self, seconds: float) -> list[Ended]:
        """Wait for futures."""
        keys: list[Key] = []
        with suppress(Empty):
            keys.append(self._done.get(timeout=seconds))
            while True:
                keys.append(self._done.get_nowait())
        return [end for key in keys if (end := self._end(key)) is not None]

    def cancel(self, keys: Sequence[Key]) -> None:
        """Cancel futures."""
        futures = [future for key in keys if (future := self._futures.pop(key, None)) is not None]
        if futures and self._client.status == "running":
            self._client.cancel(futures)

    def workers(self) -> Workers:
        """Ask the scheduler, but not more often than each second."""
        now = time.monotonic()
        if now - self._looked >= LOOK:
            try:
                there = self._client.run_on_scheduler(_workers_there)
            except Exception as error:
                if self._client.status in CLOSED:
                    raise self._lost(error) from error
                there = self._there = {}  # the client tries to reach the scheduler again
            self._refuse_without_graphsoft(sorted(there.keys() - self._there.keys()))
            self._died += len(self._there.keys() - there.keys())
            self._there, self._looked = there, time.monotonic()
            self._avoided = {
                worker: until for worker, until in self._avoided.items() if until > now and worker in there
            }
        silent = len(self._that_are(SILENT))
        count = len(self._that_are(RUNNING)) + silent
        return Workers(count, self._died, 2 * max(1, count), silent)

    def _refuse_without_graphsoft(self, workers: Sequence[str]) -> None:
        """Ask new workers for graphsoft: where it is missing a task cannot be read, and nobody is told."""

        def find_graphsoft() -> None:  # sent as a whole, since it is within another function
            from importlib.util import find_spec

            if find_spec("graphsoft") is None:
                raise ModuleNotFoundError("graphsoft")

        asked = {
            worker: self._client.submit(find_graphsoft, workers=[worker], pure=False) for worker in workers
        }
        until = time.monotonic() + ASKED
        while time.monotonic() < until and not all(future.done() for future in asked.values()):
            time.sleep(LOOK / 50)
        for worker, future in asked.items():
            if future.status == "error" and isinstance(future.exception(), ModuleNotFoundError):
                problem = f"the worker at {worker} cannot import graphsoft"
                remedy = "install graphsoft where this worker runs, start it anew, and call again"
                raise Unreachable("client", problem, remedy)

    def _that_are(self, state: str) -> set[str]:
        return {worker for worker, its in self._there.items() if its == state}

    def _end(self, key: Key) -> Ended | None:
        future = self._futures.pop(key, None)
        if future is None:
            return None
        status, error = future.status, None
        if status == "error":
            error = future.exception()
            error = error.with_traceback(future.traceback())
        future.release()
        # in the module that the client is of: another copy need not be importable
        killed = isinstance(error, sys.modules["distributed"].KilledWorker) or status == "cancelled"
        return Ended(key, error, killed)

    def _avoid_holders(self, key: Key) -> None:
        """Avoid the workers that hold earlier tries of a task; they may have stopped for good."""
        earlier = {each for each in self._futures if each[:2] == key[:2]}
        if not earlier:
            return
        holding = self._client.processing()
        until = time.monotonic() + AVOIDED
        self._avoided |= {worker: until for worker, keys in holding.items() if earlier & set(keys)}

    def _lost(self, error: Exception) -> ConnectionError:
        return ConnectionError(f"the scheduler of Dask cannot be reached ({type(error).__name__}: {error})")


def _workers_there(dask_scheduler: Any) -> dict[str, str]:
    """List the workers of a scheduler, and their states.

    One that has too little memory left takes no tasks. One that has stopped stays among the workers of the
    scheduler for some minutes, and would get tasks.
    """
    from distributed.scheduler import heartbeat_interval

    workers = dask_scheduler.workers
    since = time.time() - max(QUIET, BEATS * heartbeat_interval(len(workers)))
    return {
        worker: SILENT if state.status.name == RUNNING and state.last_seen < since else state.status.name
        for worker, state in workers.items()
    }


_TASK = threading.Lock()


def _one_at_a_time(task: Task) -> None:
    """Do a task on a worker of Dask with all of its threads, while no other task of ours uses them."""
    from distributed import get_worker

    with _TASK, threads_limited(get_worker().state.nthreads):
        task()


def executor_of(client: object) -> Executor:
    """Choose who does the tasks.

    Parameters
    ----------
    client : None, distributed.Client, or an object with the methods of `Executor`

    Examples
    --------
    >>> type(executor_of(None)).__name__
    'InThisProcess'
    """
    if client is None:
        return InThisProcess()
    dask = sys.modules.get("distributed")  # whoever has a client has imported it
    if dask is not None and isinstance(client, dask.Client):
        if client.asynchronous:
            raise InputError("client", "is asynchronous", "make it without asynchronous=True")
        if client.status in CLOSED:
            raise InputError("client", "is closed", "make a new one")
        return DaskFutures(client)
    if isinstance(client, Executor) and not isinstance(client, type):
        return client
    raise InputError(
        "client", f"got {shown(client)}",
        "give a distributed.Client, None, or an object with submit, ended, cancel and workers",
    )  # fmt: skip
