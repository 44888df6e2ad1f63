"""BLAS and OpenMP on one thread, for as long as anybody needs it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["one_thread"]

# Seconds after which a lock is taken for lost: Ctrl-C at a bad moment can leave it locked for good.
PATIENCE = 1.0


class _Holder:
    """Someone who needs BLAS on one thread. Any error may end it at any place, so only its death counts."""


_holders: list[weakref.ref[_Holder]] = []
_before: dict[str, int] = {}  # the threads that each library had, by its file, while there are holders
_lock = threading.Lock()


def _forget_other_threads() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when the process was forked
    _lock = threading.Lock()
    _holders.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenMP and BLAS to one thread, because the order of their sums depends on the number of threads.

    On a busy machine the threads of BLAS also wait for each other longer than they work. BLAS has one number
    of threads for the whole process, which comes back when the last of the calls that run side by side ends.
    That of OpenMP is each thread's own.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    from threadpoolctl import ThreadpoolController

    libraries, holder = ThreadpoolController(), _Holder()
    blas = libraries.select(user_api="blas").lib_controllers
    with libraries.select(user_api="openmp").limit(limits=1):
        try:
            _holders.append(weakref.ref(holder))
            with _alone():
                for library in blas:
                    _before.setdefault(library.filepath, library.num_threads)
                    _set_threads(library, 1)
            yield
        finally:
            del holder
            with _alone():
                _holders[:] = [each for each in _holders if each() is not None]
                if not _holders:
                    for library in blas:
                        _set_threads(library, _before.get(library.filepath, library.num_threads))
                    _before.clear()


@contextmanager
def _alone() -> Iterator[None]:
    """Let one thread at a time look at the holders."""
    _lock.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        with suppress(RuntimeError):  # it is free
            _lock.release()


def _set_threads(library: Any, count: int) -> None:
    """Set the threads of a BLAS, even if another thread has set them before, which threadpoolctl minds."""
    let_go = getattr(library, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)
    library.set_num_threads(count)
    if let_go is not None:
        let_go(force=True)
