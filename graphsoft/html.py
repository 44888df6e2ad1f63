"""Tables in HTML, as notebooks show results."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from html import escape

__all__ = ["html_table"]

MAX_CELL = 80
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def html_table(
    rows: Sequence[Sequence[str]],
    caption: str,
    *,
    left: Collection[str] = (),
    indents: Sequence[int] = (),
    more: int = 0,
) -> str:
    """Write a table that shows any text as text: nothing in it can become a tag or a script.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first is the header.
    caption : str
        What stands above it.
    left : collection of str
        Headers of the columns that are aligned to the left.
    indents : sequence of int
        By how many steps the first cell of each row below the header is moved to the right.
    more : int
        How many rows were left out; the last line says so.

    Examples
    --------
    >>> print(html_table([["id", "size"], ["<b>", "7"]], "two", left=["id"], more=3))
    <table><caption>two</caption>
    <tr><th style="text-align:left">id</th><th style="text-align:right">size</th></tr>
    <tr><td style="text-align:left">&lt;b&gt;</td><td style="text-align:right">7</td></tr>
    <tr><td colspan="2" style="text-align:left">... and 3 more</td></tr>
    </table>
    """
    sides = ["left" if name in left else "right" for name in rows[0]]
    steps = [0, *(indents or [0] * (len(rows) - 1))]
    lines = [f"<table><caption>{_shown(caption)}</caption>"]
    for number, (row, step) in enumerate(zip(rows, steps, strict=True)):
        tag = "td" if number else "th"
        styles = [f"text-align:{side}" for side in sides]
        if step:
            styles[0] += f";padding-left:{step + 0.5:g}em"
        cells = [
            f'<{tag} style="{style}">{_shown(cell)}</{tag}>' for style, cell in zip(styles, row, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    if more:
        lines.append(
            f'<tr><td colspan="{len(rows[0])}" style="text-align:left">... and {more} more</td></tr>'
        )
    return "\n".join([*lines, "</table>"])


def _shown(text: str) -> str:
    short = text if len(text) <= MAX_CELL else text[: MAX_CELL - 3] + "..."
    return escape(_UNFIT.sub("\ufffd", short))
