"""The graph of the clusters of a level."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import cluster_colors
from graphsoft.plots.reading import checked, level_of, name_of, tree_order, weights
from graphsoft.plots.surface import axes_of, heading, ink, place_labels, size_in_pixels

__all__ = ["cluster_graph"]

# So many clusters are drawn, and from each so many edges to those that it is joined with most.
MOST, MOST_EDGES = 200, 4


def cluster_graph(h: Any, level: int = -1, ax: Any = None) -> Any:
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
        the four heaviest are drawn. Clusters that are joined strongly are near each other.

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
    order = tree_order(h.tree)[level]
    kept = np.sort(np.argsort(-share, kind="stable")[:MOST])
    joined = sp.csr_array(h[level].graph)[kept][:, kept].tocoo()
    upper = (joined.row < joined.col) & (joined.data > 0)
    ends, weight = np.stack([joined.row[upper], joined.col[upper]], axis=1), joined.data[upper]
    heavy = _heaviest(ends, weight)
    rank = np.argsort(np.argsort(order)[kept])
    places = _placed(ends[heavy], weight[heavy], rank)
    _draw(ax, places, ends[heavy], weight[heavy], share[kept], cluster_colors(h)[level][kept])
    labels = [name_of(h.cluster_names, f"{level}-{cluster}") for cluster in kept]
    heaviest = np.argsort(-share[kept], kind="stable").tolist()
    written = place_labels(ax, places, labels, heaviest)
    notes = []
    if len(kept) < len(share):
        notes.append(f"the {len(kept)} heaviest, {share[kept].sum():.0%} of the weight, are drawn")
    if not heavy.all():
        notes.append(f"{np.count_nonzero(~heavy):,} lighter edges are left out")
    if written < len(kept):
        notes.append(f"{len(kept) - written:,} labels do not fit")
    many = f"the {len(share):,} clusters" if len(share) > 1 else "one cluster"
    heading(ax, f"Graph of {many} of level {level}", "; ".join(notes))
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


def _placed(ends: Array, weight: Array, rank: Array) -> Array:
    """Place clusters near those that they are joined with: by springs, from a circle in the tree's order."""
    import networkx as nx

    count = len(rank)
    angle = 2 * np.pi * rank / count
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if count < 3:
        return np.asarray(circle * np.array([1, 0]))
    graph = nx.empty_graph(count)
    if len(weight):
        pull = np.sqrt(weight / weight.max()).tolist()
        graph.add_weighted_edges_from((*pair, each) for pair, each in zip(ends.tolist(), pull, strict=True))
    found = nx.spring_layout(
        graph, pos=dict(enumerate(circle)), seed=0, iterations=80, k=1.8 / np.sqrt(count)
    )
    return np.array([found[at] for at in range(count)])


def _draw(ax: Any, places: Array, ends: Array, weight: Array, share: Array, colors: Array) -> None:
    from matplotlib.collections import LineCollection

    wide, tall = np.array(size_in_pixels(ax)) * 72 / ax.figure.dpi
    if len(weight):
        strength = weight / weight.max()
        lines = LineCollection(
            list(places[ends]), linewidths=0.3 + 6 * strength, colors=ink(ax), alpha=0.25, zorder=1
        )
        ax.add_collection(lines)
    areas = share / share.max() * np.clip(0.5 * wide * tall / len(share), 20, 2500)
    ax.scatter(*places.T, s=areas, c=colors, linewidths=0, zorder=2)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.15)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.autoscale_view()
