"""Files that appear whole or not at all: written beside their place, and then moved there."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from graphsoft.errors import InputError, shown
from graphsoft.interrupts import ctrl_c_comes_out
from graphsoft.storage.locking import claimed, delete_abandoned

__all__ = [
    "PathLike",
    "check_target",
    "delete_spares",
    "spare_of",
    "sync_directory",
    "write_atomic",
    "write_whole",
]

PathLike = str | os.PathLike[str]

# The spare file's name begins with that of the target, cut so that it stays below the usual 255 bytes.
NAME_LENGTH = 50
SPARE_END = re.compile(r"[0-9a-f]{8}\.tmp")


def write_atomic(path: PathLike, writer: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that at any moment `path` is either what it was or what it will be.

    What processes that were killed have left of earlier attempts is deleted.

    Parameters
    ----------
    path : path-like
        Where the file goes. An existing file is replaced, and its permissions are kept.
    writer : callable
        Gets a binary file to write to, which it can also read again. If it raises, `path` is left alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "greeting.txt")
    ...     write_atomic(path, lambda file: file.write(b"hello"))
    ...     path.read_text()
    'hello'
    """
    delete_spares(check_target(path))
    write_whole(path, writer)


def write_whole(path: PathLike, writer: Callable[[IO[bytes]], object]) -> None:
    """Write a file as `write_atomic` does, and look at no other: what killed processes have left stays.

    For folders with many files, or in which other machines write at the same time: their locks may be
    unknown here.
    """
    target = check_target(path)
    replaced = target.exists()
    mode = stat.S_IMODE(target.stat().st_mode) if replaced else 0o666
    with ctrl_c_comes_out(), _spare_file(target, mode) as (spare, file):
        with file:
            writer(file)
            file.flush()
            os.fsync(file.fileno())
        if replaced:
            os.chmod(spare, mode)  # because the system has removed the bits of the umask
        os.replace(spare, target)
    sync_directory(target.parent)


@contextmanager
def _spare_file(target: Path, mode: int) -> Iterator[tuple[Path, IO[bytes]]]:
    """Make a file beside the target, claimed by this process; after an error it is gone."""
    spare = spare_of(target)
    try:
        while True:
            # with the old file's mode from the start, so that nobody else can read what is written
            handle = os.open(spare, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
            with open(handle, "w+b") as file, claimed(handle):
                if os.path.exists(spare):  # else another process took it for abandoned before it was claimed
                    yield spare, file
                    return
    except BaseException as error:
        with contextlib.suppress(OSError):  # of a directory that cannot be read
            spare.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(spare), spare):
            error.filename, error.filename2 = str(target), None
        raise


def spare_of(target: Path) -> Path:
    """Name a file or folder beside the target, in which it can be prepared."""
    return target.with_name(f".{target.name[:NAME_LENGTH]}.{secrets.token_hex(4)}.tmp")


def delete_spares(target: Path) -> None:
    """Delete what processes that were killed have left beside the target."""
    begin = f".{target.name[:NAME_LENGTH]}."
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        found = [entry for entry in entries if entry.name.startswith(begin)]
        for entry in found:
            if SPARE_END.fullmatch(entry.name[len(begin) :]):
                is_folder = entry.is_dir(follow_symlinks=False)
                delete_abandoned(Path(entry.path), shutil.rmtree if is_folder else os.unlink)


def check_target(path: PathLike) -> Path:
    """Refuse a path that no file can be written to, as may be done before long work.

    Examples
    --------
    >>> check_target("result.html").name
    'result.html'
    """
    try:
        target = Path(path)
        named = "\0" not in os.fsdecode(os.fsencode(target))
    except (TypeError, UnicodeError):  # a number, bytes, or a lone surrogate
        named = False
    if not named:
        raise InputError("path", f"got {shown(path)}", "give the name of a file")
    if not target.parent.is_dir():
        raise InputError("path", f"there is no directory {str(target.parent)!r}", "make it first")
    if target.exists() and not target.is_file():
        raise InputError("path", f"{str(target)!r} is not an ordinary file", "give the name of a file")
    return target


def sync_directory(directory: Path) -> None:
    """Let the renaming survive a power cut, if the system offers that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):  # it may be unreadable, and some network file systems cannot
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
