"""What all plots share: where they draw, how they write text, and how they say what was left out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.colors import ink_on, rgb_of_hex
from graphsoft.errors import InputError, shown
from graphsoft.plots.text import LINE, font_size, shortened, styled, text_size

__all__ = [
    "NOTE",
    "axes_of",
    "background",
    "bare",
    "fits",
    "fitted",
    "heading",
    "ink",
    "legend",
    "name_ticks",
    "place_labels",
    "size_in_pixels",
    "write",
    "write_cells",
]

# By this name of a group, as SVG has it, the note on what was left out can be found.
NOTE = "graphsoft-note"
# A legend of more entries keeps the first and the last.
ENTRIES = 8
# Layout makes axes wider than they are at first, by about this factor, less what names along y need beyond
# these pixels.
WIDER, USUAL_NAME = 1.2, 30.0


def axes_of(ax: Any, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Return `ax`, or the axes of a new figure of this size in inches if it is None."""
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError("graphsoft.plots needs matplotlib: pip install 'graphsoft[plot]'") from error
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    if not isinstance(ax, Axes) or ax.figure is None or ax.name != "rectilinear":
        raise InputError(
            "ax", f"got {shown(ax)}", "pass flat Axes of a figure of matplotlib, or leave it out"
        )
    return ax


def ink(ax: Any) -> str:
    """Return the color of text on these axes, as the style has it that they were made with."""
    from matplotlib.colors import to_hex

    return str(to_hex(ax.title.get_color()))


def background(ax: Any) -> str:
    """Return the color behind these axes."""
    from matplotlib.colors import to_hex, to_rgba

    behind = [ax.get_facecolor(), ax.figure.get_facecolor()]
    opaque = [color for color in behind if to_rgba(color)[3] > 0]
    return str(to_hex(opaque[0])) if opaque else "#ffffff"


def size_in_pixels(ax: Any) -> tuple[float, float]:
    """Return the width and the height of axes."""
    box = ax.get_window_extent()
    return max(float(box.width), 1.0), max(float(box.height), 1.0)


def write(ax: Any, x: float, y: float, text: str, **how: Any) -> Any:
    """Write a text at a place, as it is."""
    text, plain = styled(text)
    return ax.text(x, y, text, **{"color": ink(ax), "fontsize": "small", **plain, **how})


def fits(ax: Any, text: str, width: float, height: float, size: Any = "small") -> bool:
    """Tell whether a line of text fits into a box of so many pixels."""
    wide, high = text_size(ax, text, size)
    return wide <= width and high <= height


def fitted(ax: Any, text: str, width: float, height: float) -> str:
    """Cut a line of text to a box of so many pixels; it is empty where it could not be read."""
    one, high = text_size(ax, "x")
    return shortened(text, width / one) if high <= height else ""


def name_ticks(ax: Any, axis: str, places: Sequence[float], names: Sequence[str], **how: Any) -> int:
    """Write names along the whole of an axis, as they are; of too many only every second, third and so on.

    Returns
    -------
    int
        How many were left out.
    """
    length = size_in_pixels(ax)["xy".index(axis)]
    every = max(1, int(np.ceil(text_size(ax, "x")[1] * len(places) / length)))
    texts = [styled(name) for name in names[::every]]
    ticks = ax.xaxis if axis == "x" else ax.yaxis
    ticks.set_ticks(places[::every], labels=[text for text, _ in texts])
    for label, (_, plain) in zip(ticks.get_ticklabels(), texts, strict=True):
        label.set(fontsize="small", **plain, **how)
    return len(places) - len(texts)


def bare(ax: Any) -> None:
    """Show no axes, and the same scale along both."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.autoscale_view()


def heading(ax: Any, title: str, *notes: str) -> None:
    """Write a title, and below it the notes that are not empty: how to read the picture, what it lacks."""
    text, plain = styled(_wrapped(ax, title, "medium"))
    note = _wrapped(ax, "; ".join(filter(None, notes)), "small")
    lines = note.count("\n") + 1 if note else 0
    pad = 6 + lines * LINE * font_size("small")
    ax.set_title(text, loc="left", fontsize="medium", pad=pad, **plain)
    if note:
        below = {"xycoords": "axes fraction", "xytext": (0, 5), "textcoords": "offset points"}
        ax.annotate(
            note, (0, 1), **below, va="bottom", fontsize="small", color=ink(ax), alpha=0.8, gid=NOTE,
            annotation_clip=False, linespacing=LINE - 0.1, parse_math=False, usetex=False,
        )  # fmt: skip


def legend(ax: Any) -> str:
    """Show what the curves are, and return a note if they are too many to be listed."""
    handles, labels = ax.get_legend_handles_labels()
    shown_ones = slice(None) if len(labels) <= ENTRIES else [*range(ENTRIES - 1), -1]
    if labels:
        handles, labels = (np.array(each, dtype=object)[shown_ones].tolist() for each in (handles, labels))
        ax.legend(handles, labels, fontsize="small", framealpha=0.7)
    return "" if shown_ones == slice(None) else "the legend leaves out some levels in the middle"


def write_cells(ax: Any, numbers: Array, image: Array, pattern: str) -> bool:
    """Write numbers into the cells of an image of red, green, blue and opacity, if all of them fit."""
    (wide, tall), (rows, columns) = size_in_pixels(ax), numbers.shape
    texts = [[pattern.format(number) for number in row] for row in numbers.tolist()]
    longest = max((text for row in texts for text in row), key=len)
    if not fits(ax, longest, 0.95 * wide / columns, tall / rows):
        return False
    opacity = image[:, :, 3:]
    seen = image[:, :, :3] * opacity + rgb_of_hex(background(ax)) * (1 - opacity)
    for row in range(rows):
        for column, color in enumerate(ink_on(seen[row])):
            write(ax, column, row, texts[row][column], color=color, ha="center", va="center")
    return True


def _wrapped(ax: Any, text: str, size: Any) -> str:
    """Break a text into lines that are about as long as the axes will be wide after they are laid out."""
    names = [text_size(ax, label.get_text())[0] for label in ax.get_yticklabels()]
    room = WIDER * size_in_pixels(ax)[0] - max([*names, USUAL_NAME]) + USUAL_NAME
    one, _ = text_size(ax, "x", size)
    return "\n".join(textwrap.wrap(text, max(int(room / one), 16)))


def place_labels(ax: Any, places: Array, labels: Sequence[str], order: Sequence[int]) -> int:
    """Write labels in the middle of these places, leaving out those that would overlap others.

    Parameters
    ----------
    ax : Axes
        With limits that are final.
    places : ndarray of shape (k, 2)
    labels : sequence of k str
    order : sequence of int
        Which to write, the most important first.

    Returns
    -------
    int
        How many were written.
    """
    from matplotlib.patheffects import withStroke

    outline = withStroke(linewidth=2.5, foreground=background(ax))
    ax.apply_aspect()
    around = ax.get_window_extent()
    boxes = np.empty((0, 4))  # left, bottom, right, top
    for place in order:
        x, y = ax.transData.transform(places[place])
        wide, high = text_size(ax, labels[place])
        half = np.array([wide, high]) * 0.55
        box = np.array([x - half[0], y - half[1], x + half[0], y + half[1]])
        apart = (boxes[:, :2] >= box[2:]) | (boxes[:, 2:] <= box[:2])
        if not apart.any(axis=1).all() or box[0] < around.x0 or box[2] > around.x1:
            continue
        how = {"ha": "center", "va": "center", "zorder": 6, "path_effects": [outline]}
        write(ax, float(places[place][0]), float(places[place][1]), labels[place], **how)
        boxes = np.vstack([boxes, box])
    return len(boxes)
