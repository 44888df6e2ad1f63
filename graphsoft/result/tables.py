"""Tables of text, as results print them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

__all__ = ["ROWS_SHOWN", "aligned", "levels_shown", "number_or_dash", "short_name", "shortened"]

# Longer tables are cut, with a line that says how many rows are left out.
ROWS_SHOWN = 30
# Longer names of points are cut: a name may be a whole text.
NAME_WIDTH = 40


def aligned(rows: Sequence[Sequence[str]], left: Collection[str] = ()) -> list[str]:
    """Align cells in columns, to the right unless their header is in `left`; leave out empty columns.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first is the header.
    left : collection of str
        Headers of the columns that are aligned to the left.

    Examples
    --------
    >>> aligned([["id", "size", "no"], ["0-1", "7", ""], ["0-12", "12", ""]], left=["id"])
    ['id    size', '0-1      7', '0-12    12']
    """
    columns = []
    for column in zip(*rows, strict=True):
        if any(column[1:]):
            width = max(map(len, column))
            columns.append([f.ljust(width) if column[0] in left else f.rjust(width) for f in column])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def shortened(lines: list[str], max_lines: int = ROWS_SHOWN) -> list[str]:
    """Keep a header and `max_lines` lines, and say how many are left out.

    Examples
    --------
    >>> shortened(["head", "a", "b", "c"], 1)
    ['head', 'a', '... and 2 more']
    """
    if len(lines) <= max_lines + 1:
        return lines
    return [*lines[: max_lines + 1], f"... and {len(lines) - max_lines - 1} more"]


def short_name(name: Any) -> str:
    """Write the name of a point for a table: on one line, and not too long.

    Examples
    --------
    >>> short_name("Valjean"), len(short_name("a long text " * 100))
    ('Valjean', 40)
    """
    text = " ".join(str(name).split())
    return text if len(text) <= NAME_WIDTH else text[: NAME_WIDTH - 3] + "..."


def levels_shown(sizes: Sequence[int]) -> list[int]:
    """Choose the levels to print, coarsest first: the top, and those below until a table would be too long.

    Examples
    --------
    >>> levels_shown([100, 20, 10]), levels_shown([200, 100])
    ([2, 1], [1])
    """
    shown = [len(sizes) - 1]
    while shown[-1] > 0 and sizes[shown[-1] - 1] <= ROWS_SHOWN:
        shown.append(shown[-1] - 1)
    return shown


def number_or_dash(value: float, form: str = ".2f") -> str:
    """Format a number, or give a dash for NaN.

    Examples
    --------
    >>> number_or_dash(0.5), number_or_dash(float("nan"))
    ('0.50', '-')
    """
    return "-" if value != value else format(value, form)  # noqa: PLR0124
