"""Files that appear whole or not at all: written beside their place, and then moved there."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from graphsoft.errors import InputError

__all__ = ["PathLike", "write_atomic"]

PathLike = str | os.PathLike[str]


def write_atomic(path: PathLike, writer: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that at any moment `path` is either what it was or what it will be.

    Parameters
    ----------
    path : path-like
        Where the file goes. An existing file is replaced, and its permissions are kept.
    writer : callable
        Gets a binary file to write to. If it raises, `path` is left alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "greeting.txt")
    ...     write_atomic(path, lambda file: file.write(b"hello"))
    ...     path.read_text()
    'hello'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError("path", f"there is no directory {str(target.parent)!r}", "make it first")
    mode = 0o666  # the system removes the bits of the umask
    if target.exists():
        if not target.is_file():
            raise InputError("path", f"{str(target)!r} is not an ordinary file", "give the name of a file")
        mode = stat.S_IMODE(target.stat().st_mode)
    spare = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    handle = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with open(handle, "wb") as file:
            writer(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(spare, target)
    except BaseException:
        spare.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    """Let the renaming survive a power cut, if the system offers that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some network and user file systems cannot
            os.fsync(handle)
    finally:
        os.close(handle)
