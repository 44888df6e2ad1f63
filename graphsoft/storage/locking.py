"""What one process at a time writes to, and how others see that it still does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["claimed", "delete_abandoned", "locked"]

_NAME = ".graphsoft.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process holds the folder, and hold it.

    A process that is killed holds nothing any more. On Windows, and on network file systems without locks,
    nothing is held.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
    ...     os.listdir(folder)
    ['.graphsoft.lock']
    """
    path = folder / _NAME
    handle = _held(path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            path.unlink()
        os.close(handle)


def _held(path: Path) -> int:
    """Open the file and lock it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if sys.platform != "win32":
                with suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_EX)
            # whoever held it before has removed the file, and others may be waiting for a new one
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


@contextmanager
def claimed(handle: int) -> Iterator[None]:
    """Let others see that somebody is at work on an open file or folder, even after `handle` is closed.

    The claim ends with the process, however that ends; see `delete_abandoned`.
    """
    if sys.platform == "win32":
        yield
        return
    own = os.dup(handle)  # the lock lasts until the last handle is closed
    try:
        with suppress(OSError):  # there are no locks here
            fcntl.flock(own, fcntl.LOCK_EX)
        yield
    finally:
        os.close(own)


def delete_abandoned(path: Path, delete: Callable[[Path], object]) -> None:
    """Delete a file or folder that nobody claims any more; where that cannot be known it stays.

    It is held meanwhile: whoever has just made it and claims it now finds it gone, and makes another.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(delete=False) as file:
    ...     with claimed(file.fileno()):
    ...         delete_abandoned(Path(file.name), os.unlink)
    ...         during = os.path.exists(file.name)
    >>> delete_abandoned(Path(file.name), os.unlink)
    >>> during, os.path.exists(file.name)
    (True, False)
    """
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            delete(path)
        finally:
            os.close(handle)
