"""A folder that one process at a time writes to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["locked"]

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
