"""A directory in which one run at a time is at work."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphsoft.errors import InputError

if sys.platform != "win32":
    import fcntl

__all__ = ["LOCK", "held", "is_held", "was_held"]

LOCK, _WHO = "lock", "process "
# `is_held` holds the lock too, for no time: a run that begins just then looks again.
_LOOKS = 5


@contextmanager
def held(directory: Path, argument: str = "directory") -> Iterator[None]:
    """Hold a directory, which is made if it is not there; refuse it if another run is at work in it.

    Errors are about `argument`. The lock ends with the process, however that ends. On Windows, and on network
    file systems without locks, nothing is held.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with held(Path(folder)):
    ...         during = is_held(Path(folder))
    ...     during, is_held(Path(folder))
    (True, False)
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # never deleted: whoever waits for a deleted file does not see who holds the next one of its name
        handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(
            argument,
            f"{str(directory)!r} cannot be written to: {error.strerror}",
            "give another directory",
        ) from None
    try:
        taken = _taken(handle)
        who = os.read(handle, 200).decode(errors="replace").strip()
        if not taken:
            raise InputError(
                argument, f"another run is at work in {str(directory)!r}: {who or 'unknown'}",
                "wait for it or end it, or give another directory",
            )  # fmt: skip
        if not who or who.startswith(_WHO):  # else it is another program's file of this name
            with suppress(OSError):  # of a full disk
                os.ftruncate(handle, 0)
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, f"{_WHO}{os.getpid()} of {_host()}".encode())
        yield
    finally:
        os.close(handle)


def is_held(directory: Path) -> bool | None:
    """Tell whether a run is at work in a directory, or None if that cannot be known."""
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(directory / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(handle)
    return False


def was_held(directory: str | Path) -> bool:
    """Tell whether a run was ever at work in a directory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = was_held(folder)
    ...     with held(Path(folder)):
    ...         pass
    ...     before, was_held(folder)
    (False, True)
    """
    return Path(directory, LOCK).is_file()


def _taken(handle: int) -> bool:
    """Lock the file, or tell that another has."""
    if sys.platform == "win32":
        return True
    for look in range(_LOOKS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01 * look)
        except OSError:  # there are no locks here
            return True
        else:
            return True
    return False


def _host() -> str:
    import socket

    return socket.gethostname()
