"""What the terminal shows: text that cannot control it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

__all__ = ["printable", "say", "show"]


def printable(text: str) -> str:
    r"""Replace what could control a terminal: control, direction and other invisible characters.

    Examples
    --------
    >>> printable("a\x1b[2Jb\u202e")
    'a?[2Jb?'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def show(lines: Iterable[str]) -> None:
    """Print lines to the standard output."""
    # not click.echo, which replaces letters that the terminal does not know by question marks
    print("\n".join(map(printable, lines)))


def say(message: str) -> None:
    """Print a line to the standard error."""
    print(printable(message), file=sys.stderr, flush=True)
