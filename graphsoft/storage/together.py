"""Files of one folder that belong together: they are never of two runs."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from graphsoft.storage.atomic import sync_directory, write_atomic
from graphsoft.storage.locking import locked

__all__ = ["leftovers", "replace_together"]

# What is being written, and what is whole and only has to be moved to its place.
_SPARE, _WHOLE = ".graphsoft-{}.tmp", ".graphsoft-{}.whole"
# In a whole folder, the names of all its files, the seal first.
_NAMES = ".names"


def replace_together(
    folder: Path,
    writers: Mapping[str, Callable[[Path], object]],
    outdated: Callable[[], Iterable[Path]],
    seal: str,
) -> None:
    """Write files into a spare folder, take away the old ones, and move the new ones there.

    All files are written before the first old one goes, so an error leaves the old ones as they were. The
    seal goes first and comes last: where it is, everything beside it is whole and of the same run. The spare
    folder is inside `folder`, where it can be written and files can be moved from without copying. If the
    process is killed while it writes, the next run sweeps the spare folder; if it is killed while files
    are moved, the next run moves the others before it does anything else. Of two runs at the same time one
    waits for the other.

    Parameters
    ----------
    folder : Path
    writers : mapping of str to callable
        Each writes the file of that name to the path that it is given.
    outdated : callable
        Lists the old files, when no other run can add to them.
    seal : str
        One of the names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_together(Path(folder), {"a.txt": lambda path: path.write_text("new")}, list, "a.txt")
    ...     os.listdir(folder)
    ['a.txt']
    """
    with locked(folder):
        for whole in sorted(folder.glob(_WHOLE.format("*"))):
            _exchange(folder, whole, outdated)
        for leftover in leftovers(folder):
            shutil.rmtree(leftover, ignore_errors=True)
        spare = folder / _SPARE.format(secrets.token_hex(4))
        spare.mkdir()
        try:
            for name, write in writers.items():
                write(spare / name)
            names = sorted(writers, key=lambda name: name != seal)
            write_atomic(spare / _NAMES, lambda file: file.write(json.dumps(names).encode("ascii")))
            sync_directory(spare)
            whole = folder / _WHOLE.format(secrets.token_hex(4))
            os.replace(spare, whole)
        finally:
            shutil.rmtree(spare, ignore_errors=True)
        try:
            _exchange(folder, whole, outdated)
        except KeyboardInterrupt:
            _exchange(folder, whole, outdated)  # this takes no time, and half of it would help nobody
            raise


def leftovers(folder: Path) -> list[Path]:
    """List the spare folders of runs that were killed."""
    return sorted([*folder.glob(_SPARE.format("*")), *folder.glob(_WHOLE.format("*"))])


def _exchange(folder: Path, whole: Path, outdated: Callable[[], Iterable[Path]]) -> None:
    """Take away old files and move new ones in; what is done already is left alone."""
    try:
        seal, *others = json.loads((whole / _NAMES).read_text("ascii"))
    except FileNotFoundError:  # all is done but for taking away the folder
        shutil.rmtree(whole, ignore_errors=True)
        return
    if all((whole / name).exists() for name in (seal, *others)):  # no file was moved yet
        for path in sorted(outdated(), key=lambda path: path.name != seal):
            path.unlink(missing_ok=True)
    for name in (*others, seal):
        if (whole / name).exists():
            os.replace(whole / name, folder / name)
    sync_directory(folder)
    shutil.rmtree(whole, ignore_errors=True)
