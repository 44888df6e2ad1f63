"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from graphsoft.errors import InputError
from graphsoft.storage.atomic import PathLike, check_target, delete_spares, spare_of, sync_directory
from graphsoft.storage.locking import claimed

__all__ = ["check_new_folder", "write_new_folder"]


def check_new_folder(path: PathLike) -> Path:
    """Refuse a path at which no folder can be made or something is, as may be done before long work."""
    target = Path(path) if isinstance(path, str | os.PathLike) else check_target(path)
    if target.is_dir() and not any(target.iterdir()):
        return target
    if target.exists():
        raise InputError("path", f"{str(target)!r} is there already", "name a new folder")
    return check_target(target)


def write_new_folder(path: PathLike, writer: Callable[[Path], object]) -> None:
    """Make a folder of which, at any moment, all is there or nothing.

    What processes that were killed have left of earlier attempts is deleted.

    Parameters
    ----------
    path : path-like
        Nothing may be there yet but an empty folder.
    writer : callable
        Gets a spare folder beside it to write files into. If it raises, nothing is left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_new_folder(Path(folder, "new"), lambda spare: Path(spare, "a.txt").write_text("hello"))
    ...     os.listdir(folder), Path(folder, "new", "a.txt").read_text()
    (['new'], 'hello')
    """
    target = check_new_folder(path)
    delete_spares(target)
    with _spare_folder(target) as spare:
        writer(spare)
        for place, _, files in os.walk(spare):
            for name in files:
                _sync_file(Path(place, name))
            sync_directory(Path(place))
        if target.exists():
            target.rmdir()
        os.replace(spare, target)
    sync_directory(target.parent)


@contextmanager
def _spare_folder(target: Path) -> Iterator[Path]:
    """Make a folder beside the target, claimed by this process; after an error it is gone."""
    spare = spare_of(target)
    try:
        while True:
            with _claimed_folder(spare):
                if spare.exists():  # else another process took it for abandoned before it was claimed
                    yield spare
                    return
    except BaseException:
        shutil.rmtree(spare, ignore_errors=True)
        raise


@contextmanager
def _claimed_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and claim it where folders can be opened."""
    folder.mkdir()
    if not hasattr(os, "O_DIRECTORY"):
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with claimed(handle):
            yield
    finally:
        os.close(handle)


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
