"""How surely clusters are found again, and how two clusterings agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.colors import level_colors, rgb_of_hex
from graphsoft.errors import InputError, shown
from graphsoft.plots.reading import level_of
from graphsoft.plots.surface import axes_of, heading, ink, legend, name_ticks, place_labels, write_cells
from graphsoft.plots.text import counted, left_out, showable
from graphsoft.result.comparison import Comparison
from graphsoft.result.stability import LOST, Stability

__all__ = ["compare", "stability"]

# The ids of so many clusters that are found again least surely are tried.
NAMED = 15
# So many clusters have a bar.
MOST = 40


def stability(found: Stability, ax: Any = None) -> Any:
    """Draw how surely the clusters of all levels are found again, beside their sizes.

    Parameters
    ----------
    found : Stability
        From :func:`graphsoft.stability`.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        A dot for each cluster. Ids are written beside those that are found again least surely.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> ax = graphsoft.plots.stability(graphsoft.stability(h, rounds=3))
    >>> [len(dots.get_offsets()) for dots in ax.collections]
    [4, 12]
    """
    if not isinstance(found, Stability):
        raise InputError("found", f"got {shown(found)}", "pass what graphsoft.stability returns")
    ax = axes_of(ax, (6.0, 4.2))
    most = max(int(sizes.max()) for sizes in found.sizes)
    places, ids = [], []
    for level, color in reversed([*enumerate(level_colors(len(found.clusters)))]):
        spots = np.column_stack([np.maximum(found.sizes[level], 1), found.clusters[level]])
        area = float(np.clip(2000 / len(spots), 4, 40))
        many = counted(len(spots), "cluster")
        ax.scatter(*spots.T, s=area, color=color, alpha=0.85, linewidths=0, label=f"level {level}, {many}")
        places.append(spots)
        ids += [f"{level}-{cluster}" for cluster in range(len(spots))]
    ax.axhline(LOST, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_xlim(0.8, most * 1.6)
    ax.set_ylim(-0.05, 1.08)
    ax.set_xlabel("points in the cluster")
    ax.set_ylabel("overlap with the best match, mean")
    spots = np.vstack(places)
    order = np.argsort(spots[:, 1], kind="stable")[:NAMED]
    place_labels(ax, spots - np.array([0.0, 0.05]), ids, order.tolist())
    note = f"at or below the dotted line a cluster is lost; over {found.rounds} rounds"
    heading(ax, "How surely clusters are found again", note, legend(ax))
    return ax


def compare(found: Comparison, level: int | None = None, ax: Any = None) -> Any:
    """Draw how a hierarchy and another clustering of the same points agree.

    Parameters
    ----------
    found : Comparison
        From :meth:`graphsoft.Hierarchy.compare`.
    level : int, optional
        Draw the clusters of this level, each with its best match, in place of scores of all levels. Negative
        numbers count from the top.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        The adjusted Rand index of each pair of levels: a row for each level of the hierarchy. A frame is
        around the nearest level of the other. For one level: a bar for each cluster, as long as its overlap
        with the cluster that it overlaps most.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> club = nx.karate_club_graph()
    >>> h = graphsoft.hierarchy(club, levels=[4, 2])
    >>> found = h.compare(nx.get_node_attributes(club, "club"))
    >>> [text.get_text() for text in graphsoft.plots.compare(found).texts[:2]]
    ['0.88', '0.46']
    >>> [label.get_text() for label in graphsoft.plots.compare(found, level=-1).get_yticklabels()]
    ['1-0 and Officer', '1-1 and Mr. Hi']
    """
    if not isinstance(found, Comparison):
        raise InputError("found", f"got {shown(found)}", "pass what h.compare(other) returns")
    if level is None:
        return _compare_levels(found, axes_of(ax, (5.2, 4.0)))
    level = level_of(level, len(found.matches))
    return _compare_clusters(found, level, axes_of(ax, (6.0, 4.6)))


def _compare_levels(found: Comparison, ax: Any) -> Any:
    from matplotlib.patches import Rectangle

    scores = found.adjusted_rand[::-1]  # the top level above
    rows, columns = scores.shape
    image = np.empty((rows, columns, 4))
    image[:, :, :3], image[:, :, 3] = rgb_of_hex(level_colors(1)[0]), scores.clip(0, 1)
    ax.imshow(image, aspect="auto", interpolation="nearest")
    for row, best in enumerate(reversed(found.nearest)):
        ax.add_patch(
            Rectangle((best - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=ink(ax), linewidth=1.5)
        )
    sizes = [len(matches) for matches in found.matches][::-1]
    others = found._sizes or range(columns)
    missing = name_ticks(ax, "x", range(columns), [f"{size:,}" for size in others])
    missing += name_ticks(ax, "y", range(rows), [f"{size:,}" for size in sizes])
    ax.set_xlabel("clusters of the other, level by level")
    ax.set_ylabel("clusters of this one")
    full = "" if write_cells(ax, scores, image, "{:.2f}") else "a full color is 1"
    note = "a frame is around the nearest level of the other"
    heading(ax, "Adjusted Rand index of levels", note, full, left_out(missing))
    return ax


def _compare_clusters(found: Comparison, level: int, ax: Any) -> Any:
    matches = sorted(found.matches[level], key=lambda match: -match.expected_size)
    drawn = matches[:MOST]
    overlap = np.array([match.overlap for match in drawn])
    ax.barh(range(len(drawn)), overlap, color=level_colors(1)[0], height=0.75)
    ax.axvline(LOST, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set_xlim(0, 1)
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    names = [
        f"{match.id} and {showable(match.best)}" if match.best else f"{match.id}: none" for match in drawn
    ]
    missing = name_ticks(ax, "y", range(len(drawn)), names)
    ax.set_xlabel("overlap with the best match")
    again, size = sum(match.overlap > LOST for match in matches), len(matches)
    notes = [f"adjusted Rand index {found.adjusted_rand[level, found.nearest[level]]:.2f}"]
    if len(drawn) < size:
        notes.append(f"of {size:,} clusters the {MOST} heaviest are drawn")
    heading(ax, f"{again:,} of {size:,} clusters found again", *notes, left_out(missing))
    return ax
