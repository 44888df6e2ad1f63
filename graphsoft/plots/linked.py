"""The graph of the clusters of a level."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import cluster_colors
from graphsoft.plots.reading import checked, level_of, name_of, tree_order, weights
from graphsoft.plots.surface import axes_of, heading, ink, place_labels
from graphsoft.plots.text import counted
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["cluster_graph"]

# So many clusters are drawn, and from each so many edges to those that it is joined with most.
MOST, MOST_EDGES = 200, 4
# How strongly neighbors in the tree's order are joined beside their edges, the heaviest of which has 1.
THREAD = 0.15
# Which part of a square from -1 to 1 all circles would fill if they were as heavy as the heaviest, about.
FILLED = 0.35
# How often circles that overlap are pushed apart, at most.
PUSHES = 300


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
    radius = np.sqrt(share[kept] / share.max() * FILLED / len(kept))
    places = _placed(ends[heavy], weight[heavy], rank, radius)
    _draw(ax, places, ends[heavy], weight[heavy], radius, cluster_colors(h)[level][kept])
    labels = [name_of(h.cluster_names, f"{level}-{cluster}") for cluster in kept]
    heaviest = np.argsort(-share[kept], kind="stable").tolist()
    written = place_labels(ax, places, labels, heaviest)
    notes = []
    if len(kept) < len(share):
        notes.append(f"the {len(kept)} heaviest, {share[kept].sum():.0%} of the weight, are drawn")
    if not heavy.all():
        notes.append(f"{counted(int(np.count_nonzero(~heavy)), 'lighter edge')} left out")
    if written < len(kept):
        notes.append(f"{counted(len(kept) - written, 'label')} left out")
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


def _placed(ends: Array, weight: Array, rank: Array, radius: Array) -> Array:
    """Place clusters near those that they are joined with: by springs, from a circle in the tree's order."""
    import networkx as nx

    count = len(rank)
    angle = 2 * np.pi * rank / count
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    graph = nx.empty_graph(count)
    # a weak thread along the circle, so that parts that share no edge do not drift apart
    around = np.argsort(rank).tolist()
    nx.add_path(graph, around, weight=THREAD)
    if len(weight):
        pull = THREAD + np.sqrt(weight / weight.max())
        graph.add_weighted_edges_from(
            (*pair, each) for pair, each in zip(ends.tolist(), pull.tolist(), strict=True)
        )
    found = nx.spring_layout(graph, pos=dict(enumerate(circle)), seed=0, iterations=100, k=2 / np.sqrt(count))
    return _apart(np.array([found[at] for at in range(count)]), radius)


def _apart(places: Array, radius: Array) -> Array:
    """Push circles away from each other until they do not overlap."""
    places = places.copy()
    need = 1.15 * (radius[:, None] + radius)
    np.fill_diagonal(need, 0.0)
    for _ in range(PUSHES):
        between = places[:, None] - places
        distance = np.maximum(np.linalg.norm(between, axis=2), 1e-9)
        lacking = np.maximum(need - distance, 0)
        if not lacking.any():
            break
        places += 0.5 * (between / distance[:, :, None] * lacking[:, :, None]).sum(axis=1)
    return places


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
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.autoscale_view()
