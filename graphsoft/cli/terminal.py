"""What the terminal shows: text that cannot control it, and one line that says how far a run is."""

from __future__ import annotations

import contextlib
import shutil
import time
from typing import TextIO

__all__ = ["ProgressLine", "printable"]


def printable(text: str) -> str:
    r"""Replace what could control a terminal: control, direction and other invisible characters.

    Examples
    --------
    >>> printable("a\x1b[2Jb\u202e")
    'a?[2Jb?'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


class ProgressLine:
    """Draws what the progress callback of ``graphsoft.hierarchy`` reports.

    On a terminal it redraws one line, at most ten times a second. Elsewhere, such as in a log file, it writes
    a line when a stage begins, and every ten seconds while the stage lasts.

    Parameters
    ----------
    stream : text file
        Usually the standard error.

    Examples
    --------
    >>> import sys
    >>> line = ProgressLine(sys.stdout)
    >>> line.update("neighbors", 0, 1797)
    neighbors: 0 %
    >>> line.update("neighbors", 1797, 1797)  # too early for another line
    >>> line.update("level 0", 3, 12)
    level 0: 25 %
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._redraws = stream.isatty()
        self._pause = 0.1 if self._redraws else 10.0
        self._stage = ""
        self._last = 0.0

    def update(self, stage: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of `stage` are done. Most calls draw nothing."""
        now = time.monotonic()
        if stage == self._stage and now - self._last < self._pause:
            return
        self._stage, self._last = stage, now
        text = f"{stage}: {100 * done // total} %" if total > 0 else stage
        if self._redraws:
            # a line as wide as the terminal would wrap, and could not be redrawn
            text = f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K"
        else:
            text += "\n"
        self._write(text)

    def clear(self) -> None:
        """Erase the line, so that other output can follow."""
        if self._redraws and self._stage:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        """Write text if that is possible: a log file on a full disk is no reason to stop the run."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
