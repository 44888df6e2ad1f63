"""Files of one folder that belong together: they are never of two runs."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from graphsoft.storage.locking import locked

__all__ = ["leftovers", "replace_together"]

_SPARE = ".graphsoft-{}.tmp"


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
    process is killed, the next run sweeps it. Of two runs at the same time one waits for the other.

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
        for leftover in leftovers(folder):
            shutil.rmtree(leftover, ignore_errors=True)
        spare = folder / _SPARE.format(secrets.token_hex(4))
        spare.mkdir()
        try:
            for name, write in writers.items():
                write(spare / name)
            old = sorted(outdated(), key=lambda path: path.name != seal)
            new = sorted(writers, key=lambda name: name == seal)
            try:
                _exchange(folder, spare, old, new)
            except KeyboardInterrupt:
                _exchange(folder, spare, old, new)  # this takes no time, and half of it would help nobody
                raise
        finally:
            shutil.rmtree(spare, ignore_errors=True)


def leftovers(folder: Path) -> list[Path]:
    """List the spare folders of runs that were killed."""
    return sorted(folder.glob(_SPARE.format("*")))


def _exchange(folder: Path, spare: Path, old: list[Path], new: list[str]) -> None:
    """Take away old files and move new ones in; what is done already is left alone."""
    waiting = [name for name in new if (spare / name).exists()]
    if len(waiting) == len(new):
        for path in old:
            path.unlink(missing_ok=True)
    for name in waiting:
        os.replace(spare / name, folder / name)
