"""Compiled loops over blocks of rows, on plain threads.

Every kernel releases the GIL and works on the rows ``start:stop`` of one block, so ordinary threads run
blocks side by side. This keeps three promises that numba's own parallel loops cannot keep:

- blocks end after some tens of milliseconds, so Ctrl-C works and progress is reported;
- blocks do not depend on the number of threads, so neither do the bits;
- no threading layer starts that could abort under concurrent calls or hang after a fork.

Where the system starts no threads, or fewer than wanted, those that there are do the work.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from graphsoft.aliases import Array
from graphsoft.interrupts import raise_if_dropped

__all__ = [
    "ELEMENTS_PER_BLOCK",
    "LOAD",
    "blocks",
    "map_blocks",
    "map_pieces",
    "one_thread",
    "pieces_by_load",
    "pieces_with_columns",
    "row_blocks",
    "thread_count",
    "threads_limited",
]

Result = TypeVar("Result")
ELEMENTS_PER_BLOCK = 1 << 20  # numbers in a temporary array that a pass over the rows of a table makes
_LIMIT: ContextVar[int | None] = ContextVar("threads", default=None)
LOAD = 1 << 18  # edges in one piece of work, which takes some milliseconds


def thread_count() -> int:
    """Count the threads to use.

    That is what `threads_limited` says, else ``NUMBA_NUM_THREADS``, else the processors of this process.
    """
    limit = _LIMIT.get()
    if limit is not None:
        return limit
    wanted = os.environ.get("NUMBA_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


@contextmanager
def threads_limited(count: int) -> Iterator[None]:
    """Let loops that are started here use so many threads; other threads of the process do as they did.

    Examples
    --------
    >>> with threads_limited(3):
    ...     thread_count()
    3
    """
    token = _LIMIT.set(count)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def blocks(count: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(count)`` into consecutive pieces of ``size``.

    Examples
    --------
    >>> blocks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def pieces_by_load(ptr: Array, load: int) -> list[tuple[int, int]]:
    """Cut the rows of CSR pointers into consecutive pieces of about `load` entries each.

    A longer row is a piece of its own. The pieces depend only on the rows.

    Examples
    --------
    >>> pieces_by_load(np.array([0, 2, 4, 9, 10, 11]), 4)
    [(0, 2), (2, 3), (3, 5)]
    """
    rows = len(ptr) - 1
    if 0 < int(ptr[-1] - ptr[0]) + rows <= load:
        return [(0, rows)]
    # every row counts as one entry more, so that a long run of empty rows is cut too
    total = ptr - ptr[0] + np.arange(rows + 1)
    cuts = np.searchsorted(total, np.arange(0, total[-1], load + 1), side="left")
    edges = np.unique(np.append(cuts, rows))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def pieces_with_columns(ptr: Array, columns: int) -> list[tuple[int, int]]:
    """Cut the rows of CSR pointers into pieces for a loop over so many columns at each entry.

    A piece has 16 times `LOAD` pairs of entry and column, because such loops are vectorized.

    Examples
    --------
    >>> pieces_with_columns(np.array([0, 2, 4]), 10)
    [(0, 2)]
    """
    return pieces_by_load(ptr, max(1, 16 * LOAD // max(1, columns)))


def row_blocks(values: Any) -> list[tuple[int, int]]:
    """Cut the rows into blocks for a pass over all values.

    Examples
    --------
    >>> row_blocks(np.zeros((3, 2)))
    [(0, 3)]
    """
    return blocks(values.shape[0], max(1, ELEMENTS_PER_BLOCK // values.shape[1]))


def map_blocks(work: Callable[[int, int], Result], count: int, size: int) -> Iterator[Result]:
    """Yield ``work(start, stop)`` for every block of `size` rows of ``range(count)``; see `map_pieces`."""
    return map_pieces(work, blocks(count, size))


def map_pieces(work: Callable[[int, int], Result], pieces: list[tuple[int, int]]) -> Iterator[Result]:
    """Yield ``work(start, stop)`` for every piece, in order, computed on threads.

    At most twice as many pieces as threads are in progress at once. When the loop is left early, by an error
    or Ctrl-C, no further piece starts.
    """
    threads = max(1, min(thread_count(), len(pieces)))
    crew, begun = _Crew(work, pieces), 0
    try:
        helpers = crew.call(threads - 1)
        for number in range(len(pieces)):
            ahead = min(len(pieces), number + (2 * threads if helpers else 1))
            for wanted in range(begun, ahead):
                crew.wanted.put(wanted)
            begun = ahead
            yield crew.result(number)
    finally:
        _in_spite_of_ctrl_c(crew.dismiss)


class _Done(NamedTuple, Generic[Result]):
    """How a piece ended: with a result, or with an error."""

    number: int
    result: Result | None
    error: BaseException | None


class _Crew(Generic[Result]):
    """The thread that wants the results, and helpers, who take pieces from one queue.

    The queues are code in C, so Ctrl-C leaves them whole wherever it comes.
    """

    def __init__(self, work: Callable[[int, int], Result], pieces: list[tuple[int, int]]) -> None:
        self.wanted: SimpleQueue[int | None] = SimpleQueue()
        self._work, self._pieces = work, pieces
        self._done: SimpleQueue[_Done[Result]] = SimpleQueue()
        self._early: dict[int, _Done[Result]] = {}
        self._working: list[threading.Lock] = []  # each held by a helper for as long as it lives
        self._called = 0
        self._over = False

    def call(self, wanted: int) -> int:
        """Start at most so many helpers, and count those that the system has started.

        They are plain threads, since Ctrl-C that comes where `threading` makes or joins one can get lost.
        """
        self._called = wanted
        for _ in range(wanted):
            working = threading.Lock()
            working.acquire()  # by the helper, which lets go at its end
            try:
                _thread.start_new_thread(self._help, (working,))
            except RuntimeError:  # no more threads to be had
                break
            self._working.append(working)
        return len(self._working)

    def result(self, number: int) -> Result:
        """Give the result of a piece; until it is there, do others that nobody has begun."""
        raise_if_dropped()
        while number not in self._early:
            done = self._next()
            self._early[done.number] = done
        done = self._early.pop(number)
        if done.error is not None:
            raise done.error
        return done.result  # type: ignore[return-value]

    def dismiss(self) -> None:
        """Let no further piece start, and wait for those that have."""
        self._over = True
        for _ in range(self._called):
            self.wanted.put(None)
        for working in self._working:
            with working:
                pass

    def _next(self) -> _Done[Result]:
        """Take a piece that a helper has done, or do one, or wait."""
        try:
            return self._done.get_nowait()
        except Empty:
            pass
        try:
            number = self.wanted.get_nowait()
        except Empty:
            return self._done.get()
        assert number is not None  # noqa: S101 - the crew is dismissed only afterwards
        return _Done(number, _interruptible(self._work, *self._pieces[number]), None)

    def _help(self, working: threading.Lock) -> None:
        """Do pieces until there are no more."""
        try:
            while (number := self.wanted.get()) is not None and not self._over:
                self._done.put(self._ended(number))
        finally:
            working.release()

    def _ended(self, number: int) -> _Done[Result]:
        """Do a piece; an error is for the thread that waits for the result."""
        try:
            return _Done(number, self._work(*self._pieces[number]), None)
        except BaseException as error:
            return _Done(number, None, error)


def _interruptible(work: Callable[[int, int], Result], start: int, stop: int) -> Result:
    """Let Ctrl-C through, which numba turns into a SystemError when a kernel is just returning arrays."""
    try:
        return work(start, stop)
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__
        if cause is None:
            raise
        raise KeyboardInterrupt from error


def _in_spite_of_ctrl_c(clean: Callable[[], object]) -> None:
    """Clean up, which can be done twice and takes little time, and only then be interrupted."""
    try:
        clean()
    except KeyboardInterrupt:
        clean()
        raise


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenMP and BLAS to one thread, because the order of their sums depends on the number of threads.

    On a busy machine the threads of BLAS also wait for each other longer than they work. When the last of
    the threads that need this is done, everything is as it was before the first.

    Examples
    --------
    >>> with one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    holder = _Holder()
    try:
        _HELD.hold(holder)
        yield
    finally:
        _in_spite_of_ctrl_c(lambda: _HELD.release(holder))


class _Holder:
    """Who needs one thread: the limits of OpenMP are those of the calling thread only."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.before: dict[str, tuple[Any, int]] = {}


class _Held:
    """The libraries of the process that are held to one thread, and who needs that.

    BLAS has one limit for the whole process. So the first holder sets it and the last one takes it back, and
    what is loaded between is limited by the next.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._holders: set[_Holder] = set()
        self._before: dict[str, tuple[Any, int]] = {}

    def hold(self, holder: _Holder) -> None:
        """Limit all libraries that are loaded by now."""
        from threadpoolctl import ThreadpoolController

        with self.lock:
            self._holders.add(holder)
            for library in ThreadpoolController().lib_controllers:
                before = holder.before if _of_each_thread(library) else self._before
                if library.filepath not in before:
                    before[library.filepath] = library, library.get_num_threads()
                    _limit(library, 1)

    def release(self, holder: _Holder) -> None:
        """Take the limits back that nobody needs any longer."""
        with self.lock:
            _restore(holder.before)
            self._holders.discard(holder)
            if not self._holders:
                _restore(self._before)

    def keep_own(self) -> None:
        """Forget the threads that a fork has not taken along; the lock was taken before it."""
        self._holders = {each for each in self._holders if each.thread == threading.get_ident()}
        if not self._holders:
            _restore(self._before)
        self.lock.release()


def _of_each_thread(library: Any) -> bool:
    """Tell whether a library has a limit for each thread that calls it, as OpenMP has."""
    return "openmp" in (library.user_api, getattr(library, "threading_layer", None))


def _restore(before: dict[str, tuple[Any, int]]) -> None:
    for library, threads in before.values():
        _limit(library, threads)
    before.clear()


def _limit(library: Any, threads: int) -> None:
    """Set the limit of a library, from whichever thread this is."""
    # newer versions of threadpoolctl let one thread set the limit of OpenBLAS, and ignore all others
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(threads)
    release(force=True)


_HELD = _Held()
if hasattr(os, "register_at_fork"):
    # While libraries are listed, the loader is locked, and in a child of that moment it would stay so.
    os.register_at_fork(
        before=_HELD.lock.acquire, after_in_parent=_HELD.lock.release, after_in_child=_HELD.keep_own
    )
