"""Compiled loops over blocks of rows, on plain threads.

Every kernel releases the GIL and works on the rows ``start:stop`` of one block, so ordinary threads run
blocks side by side. This keeps three promises that numba's own parallel loops cannot keep:

- blocks end after some tens of milliseconds, so Ctrl-C works and progress is reported;
- blocks do not depend on the number of threads, so neither do the bits;
- no threading layer starts that could abort under concurrent calls or hang after a fork.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from graphsoft.aliases import Array
from graphsoft.interrupts import raise_if_dropped

__all__ = [
    "ELEMENTS_PER_BLOCK",
    "LOAD",
    "blocks",
    "map_blocks",
    "map_pieces",
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
    threads = min(thread_count(), len(pieces))
    if threads <= 1:
        for start, stop in pieces:
            raise_if_dropped()
            yield _interruptible(work, start, stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            waiting = deque(pool.submit(work, *piece) for piece in pieces[: 2 * threads])
            for piece in pieces[2 * threads :]:
                raise_if_dropped()
                result = waiting.popleft().result()
                waiting.append(pool.submit(work, *piece))
                yield result
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


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
