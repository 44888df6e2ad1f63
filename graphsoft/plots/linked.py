"""The graph of the clusters of a level."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import cluster_colors
from graphsoft.plots.reading import checked, level_of, names_in, weights
from graphsoft.plots.surface import axes_of, bare, heading, ink, place_labels
from graphsoft.plots.text import left_out
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["cluster_graph"]

# So many clusters are drawn, and from each so many edges to those that it is joined with most.
MOST, MOST_EDGES = 200, 4


def cluster_graph(h: Hierarchy, level: int = -1, ax: Any = None) -> Any:
    """Draw the clusters of a level as circles, and how strongly they are joined.

    Parameters
    ----------
    h : Hierarchy
    level : int
        Negative numbers count from the top.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        Areas are masses. Edges are those of ``h[level].graph``, as wide as their weight, and for each cluster
        the four heaviest are drawn. Clusters lie where :meth:`graphsoft.Hierarchy.circles` puts them.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> ax = graphsoft.plots.cluster_graph(h, level=0)
    >>> ax.get_title(loc="left")
    'Graph of the 12 clusters of level 0'
    """
    h = checked(h)
    level = level_of(level, len(h))
    ax = axes_of(ax, (5.6, 5.0))
    share = weights(h)[level]
    kept = np.sort(np.argsort(-share, kind="stable")[:MOST])
    joined = sp.csr_array(h[level].graph)[kept][:, kept].tocoo()
    upper = (joined.row < joined.col) & (joined.data > 0)
    ends, weight = np.stack([joined.row[upper], joined.col[upper]], axis=1), joined.data[upper]
    heavy = _heaviest(ends, weight)
    found = h.circles()[level]
    places, radius = found.centers[kept], found.radii[kept]
    _draw(ax, places, ends[heavy], weight[heavy], radius, cluster_colors(h)[level][kept])
    labels = names_in(h, level, kept)
    heaviest = np.argsort(-share[kept], kind="stable").tolist()
    written = place_labels(ax, places, labels, heaviest)
    notes = []
    if len(kept) < len(share):
        notes.append(f"the {len(kept)} heaviest, {share[kept].sum():.0%} of the weight, are drawn")
    notes += [left_out(int((~heavy).sum()), "lighter edge"), left_out(len(kept) - written)]
    many = f"the {len(share):,} clusters" if len(share) > 1 else "one cluster"
    heading(ax, f"Graph of {many} of level {level}", *notes)
    return ax


def _heaviest(ends: Array, weight: Array) -> Array:
    """Tell which edges are among the heaviest of one of their ends."""
    side = ends.T.ravel()
    number = np.tile(np.arange(len(weight)), 2)
    order = np.lexsort((number, -np.tile(weight, 2), side))
    rank = np.arange(len(order)) - np.searchsorted(side[order], side[order])
    chosen = np.zeros(len(weight), dtype=bool)
    chosen[number[order[rank < MOST_EDGES]]] = True
    return chosen


def _draw(ax: Any, places: Array, ends: Array, weight: Array, radius: Array, colors: Array) -> None:
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    if len(weight):
        lines = list(places[ends])
        widths = 0.3 + 6 * weight / weight.max()
        ax.add_collection(LineCollection(lines, linewidths=widths, colors=ink(ax), alpha=0.3, zorder=1))
    circles = [Circle(place, size) for place, size in zip(places.tolist(), radius.tolist(), strict=True)]
    ax.add_collection(PatchCollection(circles, facecolors=colors, linewidths=0, zorder=2))
    low, high = (places - radius[:, None]).min(axis=0), (places + radius[:, None]).max(axis=0)
    ax.update_datalim([low, high])
    ax.margins(0.12)
    bare(ax)
