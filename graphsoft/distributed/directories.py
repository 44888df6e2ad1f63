"""The directory of a run: which may be one, and what is said where its files cannot be used."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from graphsoft.distributed.doing import FULL
from graphsoft.distributed.edge_files import PartitionedGraph
from graphsoft.distributed.locking import LOCK
from graphsoft.distributed.plan import PLAN
from graphsoft.distributed.row_files import RowsInFiles
from graphsoft.distributed.run import STAGES
from graphsoft.distributed.sources import GIVEN, lists_paths
from graphsoft.distributed.summary import PREDICTIONS, SUMMARY
from graphsoft.errors import InputError, RunStopped

__all__ = ["faults_of", "refuse_folder_of", "refuse_folder_of_others"]

# What the system says of a file of the directory that is not for this process, or is none.
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST)


def refuse_folder_of(X: Any, folder: Path, directory: Any) -> None:
    """Refuse a directory that holds the files of the data: to begin anew, one deletes it."""
    if isinstance(X, RowsInFiles | PartitionedGraph):
        given: Any = [file.path for file in X.files]
    else:
        given = [X] if isinstance(X, str | PathLike) else X if lists_paths(X) else ()
    for path in given:
        place = Path(path).absolute()
        if folder.resolve() in (place.resolve(), place.parent.resolve(), place.resolve().parent):
            problem = f"{str(directory)!r} holds the data too, such as {place.name!r}"
            raise InputError("directory", problem, "give another directory, in which is nothing else")


def refuse_folder_of_others(folder: Path) -> None:
    """Refuse a directory that holds other things and no run, whose files would be strewn among them."""
    names = {name for name in os.listdir(folder) if name[0] != "."} if os.path.isdir(folder) else set()
    if names - {LOCK, GIVEN} and not names & {PLAN, STAGES, SUMMARY, PREDICTIONS}:
        problem = f"{str(folder)!r} holds other things and no run, such as {min(names - {LOCK, GIVEN})!r}"
        raise InputError("directory", problem, "name a new one")


@contextmanager
def faults_of(folder: Path) -> Iterator[None]:
    """Say what is wrong where a file of the directory cannot be written or read."""
    try:
        yield
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else ""
        if error.errno in FULL:
            remedy = "make room, and call again: what is done is kept"
            raise RunStopped(Path(name).name or "run", [], f"the disk is full ({error})", remedy) from error
        if error.errno not in REFUSED or not Path(name).is_relative_to(folder):
            raise
        problem = f"{name!r} cannot be used: {error.strerror}"
        remedy = "see to it that it can be read and written, and call again, or give another directory"
        raise InputError("directory", problem, remedy) from error
