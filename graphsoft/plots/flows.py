"""How the points of clusters flow into the clusters of the level above."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import NEUTRAL, cluster_colors, rgb_of_hex
from graphsoft.plots.reading import aggregated, checked, name_of, parents_in, tree_order, weights
from graphsoft.plots.surface import axes_of, fits, heading, size_in_pixels, write
from graphsoft.plots.text import counted
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["flow"]

# On each level so many clusters have a bar of their own.
MOST = 40
# Bands that are a smaller part of everything are not drawn.
THINNEST = 0.0005
# Widths of bars, as a part of the distance of levels, and gaps between bars as a part of all they leave.
BAR, GAP = 0.16, 0.08
# Steps along a band, and how far it has come across: a cubic that leaves and arrives level.
_STEPS = np.linspace(0, 1, 25)
_SMOOTH = _STEPS**2 * (3 - 2 * _STEPS)


def flow(h: Hierarchy, ax: Any = None) -> Any:
    r"""Draw where the points of each cluster are on the level above, as an alluvial diagram.

    Parameters
    ----------
    h : Hierarchy
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        A bar for each cluster, as high as it is heavy, from the coarsest level on the left to the finest. The
        band between two clusters is as wide as the mass of points that they share, by :meth:`Hierarchy.flow`:
        a cluster whose points are torn on the level above has several bands.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> ax = graphsoft.plots.flow(h)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['level 1\n4 clusters', 'level 0\n12 clusters']
    """
    h = checked(h)
    ax = axes_of(ax, (7.2, 4.4))
    ax.set_xlim(-0.1, len(h) - 0.3)
    ax.set_ylim(1, 0)
    columns = _columns(h)
    bands, painted, missing = [], [], 0.0
    for below, above in pairwise(range(len(h))):
        fine, coarse = columns[below], columns[above]
        shares = sp.diags_array(fine.weight) @ h.flow(below)
        amounts = aggregated(fine.group, coarse.group, shares)
        missing = max(missing, float(amounts[amounts < THINNEST].sum()))
        starts = coarse.bottoms + coarse.scale * _before(amounts.T).T
        ends = fine.bottoms[:, None] + fine.scale * _before(amounts)
        for one, other in zip(*np.nonzero(amounts >= THINNEST), strict=True):
            amount = amounts[one, other]
            start = starts[one, other], coarse.scale * amount
            stop = ends[one, other], fine.scale * amount
            bands.append(_band(len(h) - 1 - above, start, stop))
            painted.append(fine.colors[one])
    _draw_bands(ax, bands, painted)
    unnamed = sum(_draw_bars(ax, len(h) - 1 - level, column) for level, column in enumerate(columns))
    _finish(ax, h, columns, missing, unnamed)
    return ax


@dataclass(frozen=True)
class _Column:
    """The bars of one level, from the top down.

    Attributes
    ----------
    weight : ndarray of shape (m,)
        The share of each cluster in the whole.
    group : ndarray of shape (m,)
        The bar that each cluster is in.
    names, colors : of each bar
    bottoms, heights : ndarray
        Where bars begin, and how high they are.
    scale : float
        By which heights are smaller than shares, to leave gaps.
    """

    weight: Array
    group: Array
    names: list[str]
    colors: Array
    bottoms: Array
    heights: Array
    scale: float


def _columns(h: Hierarchy) -> list[_Column]:
    """Return the bars of each level, finest first.

    Light clusters share bars: those below the same bar of the top level have one of its color.
    """
    orders, shares, colors = tree_order(h.tree), weights(h), cluster_colors(h)
    columns: list[_Column] = []
    family = np.zeros(len(shares[-1]), dtype=np.int64)
    shades = rgb_of_hex(NEUTRAL)[None]  # of what shares a bar, for each family
    for level in reversed(range(len(h))):
        weight = shares[level]
        place = np.argsort(orders[level])
        alone = np.zeros(len(weight), dtype=bool)
        alone[np.argsort(-weight, kind="stable")[:MOST]] = True
        code = family * (len(weight) + 1) + np.where(alone, place, len(weight))
        _, first, group, count = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
        names = [
            name_of(h.cluster_names, f"{level}-{cluster}") if alone[cluster] else f"{many:,} others"
            for cluster, many in zip(first.tolist(), count.tolist(), strict=True)
        ]
        painted = np.where(alone[first][:, None], colors[level][first], shades[family[first]])
        columns.append(_column(weight, group, names, painted))
        if level == len(h) - 1:
            family, shades = group, painted
        if level:
            family = family[parents_in(h.tree, level - 1)]
    return columns[::-1]


def _column(weight: Array, group: Array, names: list[str], colors: Array) -> _Column:
    """Stack bars, with gaps between them."""
    scale = 1 - GAP if len(names) > 1 else 1.0
    heights = scale * np.bincount(group, weight)
    gaps = GAP / max(len(names) - 1, 1) * np.arange(len(names))
    return _Column(weight, group, names, colors, np.cumsum(heights) - heights + gaps, heights, scale)


def _before(amounts: Array) -> Array:
    """Return the sum of what stands before each entry of a row."""
    return np.asarray(np.cumsum(amounts, axis=1) - amounts)


def _band(x: float, start: tuple[float, float], stop: tuple[float, float]) -> Array:
    """Return the outline of a band, given its upper end and its width on both sides."""
    along = x + BAR / 2 + (1 - BAR) * _STEPS
    top = start[0] + (stop[0] - start[0]) * _SMOOTH
    thick = start[1] + (stop[1] - start[1]) * _SMOOTH
    return np.concatenate([np.stack([along, top], axis=1), np.stack([along, top + thick], axis=1)[::-1]])


def _draw_bands(ax: Any, bands: list[Array], colors: list[Array]) -> None:
    from matplotlib.collections import PolyCollection

    if bands:
        # with an edge, a thin band is a line that can be seen
        ax.add_collection(
            PolyCollection(bands, facecolors=colors, edgecolors="face", alpha=0.45, linewidths=0.3)
        )


def _draw_bars(ax: Any, x: float, column: _Column) -> int:
    """Draw the bars of a level, and beside them the names that fit; return how many do not."""
    count = len(column.names)
    ax.bar([x] * count, column.heights, BAR, column.bottoms, color=column.colors, linewidth=0, zorder=2)
    wide, tall = size_in_pixels(ax)
    left, right = ax.get_xlim()
    room = (1 - BAR) / (right - left) * wide
    written = 0
    for name, bottom, height in zip(column.names, column.bottoms, column.heights, strict=True):
        if fits(ax, name, room, (height + GAP / count) * tall):
            write(ax, x + BAR / 2 + 0.02, bottom + height / 2, name, va="center", zorder=3)
            written += 1
    return count - written


def _finish(ax: Any, h: Hierarchy, columns: list[_Column], missing: float, unnamed: int) -> None:
    """Label the axes, and say what is left out."""
    sizes = [level.memberships.shape[1] for level in h]
    texts = [f"level {level}\n{counted(size, 'cluster')}" for level, size in enumerate(sizes)]
    ax.set_xticks(range(len(h)), texts[::-1])
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    notes = []
    if any(len(column.names) < size for column, size in zip(columns, sizes, strict=True)):
        notes.append(f"the {MOST} heaviest clusters of each level have bars, the others share some")
    if missing > 0.0005:
        notes.append(f"thin bands are left out, at most {missing:.1%} of the weight between two levels")
    if unnamed:
        notes.append(f"{counted(unnamed, 'label')} left out")
    heading(ax, "Where the points of clusters are on the level above", "; ".join(notes))
