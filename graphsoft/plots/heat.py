"""Heat maps: memberships of points, and clusters beside known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import NEUTRAL, blend, cluster_colors, rgb_of_hex
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import rows_to_one
from graphsoft.plots.reading import aggregated, checked, folded, level_of, name_of, names_in, tree_order
from graphsoft.plots.surface import axes_of, heading, name_ticks, size_in_pixels, write_cells
from graphsoft.plots.text import counted, left_out
from graphsoft.result.comparison import as_named_clusters
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["confusion", "memberships"]

# A table of classes has at most so many rows and columns, of which the lightest share the last. A heat map of
# memberships has at least so many columns, however small the axes are.
MOST = 40


def memberships(h: Hierarchy, level: int = -1, ax: Any = None) -> Any:
    """Draw the memberships of all points, in the order of the tree: a row for each point.

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
        Each column has the color of its cluster, full for a probability of 1. The points of a cluster stand
        together, the surest first, so that torn ones are seen at the lower end of each block.

    Notes
    -----
    Of more points than the axes have pixels, each row is the mean of several. Many clusters share columns in
    the same way, with their neighbors in the tree.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> ax = graphsoft.plots.memberships(h)
    >>> ax.get_ylabel(), ax.images[0].get_array().shape
    ('77 points', (77, 4, 4))
    """
    h = checked(h)
    level = level_of(level, len(h))
    ax = axes_of(ax, (5.0, 5.0))
    shares, order = h[level].memberships, tree_order(h.tree)[level]
    points, clusters = shares.shape
    wide, tall = map(int, size_in_pixels(ax))
    rows, per_row = _rows(max(tall, 50), h[level].labels, order, shares)
    per_column = -(-clusters // max(wide // 2, MOST))
    columns = np.argsort(order) // per_column
    means = aggregated(rows, columns, shares) / np.bincount(rows)[:, None]
    joined = sp.csr_array((np.ones(clusters), (columns, np.arange(clusters))))
    image = np.empty((*means.shape, 4))
    image[:, :, :3] = blend(rows_to_one(joined), cluster_colors(h)[level])
    image[:, :, 3] = means.clip(0, 1)
    edges = (-0.5, means.shape[1] - 0.5, points, 0)
    ax.imshow(image, aspect="auto", interpolation="nearest", extent=edges)
    names = names_in(h, level, order[::per_column])
    missing = name_ticks(ax, "x", range(len(names)), names, rotation=90)
    ax.set_yticks([])
    ax.set_ylabel(counted(points, "point"))
    notes = []
    if per_row > 1:
        notes.append(f"each row is the mean of {per_row:,} points")
    if per_column > 1:
        notes.append(f"each column holds {per_column:,} clusters, the first of which is named")
    heading(ax, f"Probability of each cluster of level {level}", *notes, left_out(missing))
    return ax


def _rows(most: int, labels: Array, order: Array, shares: sp.csr_array) -> tuple[Array, int]:
    """Return which of at most so many rows each point stands in, and how many points share a row."""
    place = np.argsort(order)
    surest = shares.max(axis=1).toarray().ravel()
    rank = np.empty(len(labels), dtype=np.int64)
    rank[np.lexsort((-surest, place[labels]))] = np.arange(len(labels))
    per_row = -(-len(labels) // most)
    return rank // per_row, per_row


def confusion(h: Hierarchy, labels: Any, level: int = -1, ax: Any = None) -> Any:
    """Draw how many points of each known class are in each cluster.

    Parameters
    ----------
    h : Hierarchy
    labels : array-like of shape (n,), mapping or memberships
        Known classes; a mapping has the class of each point by its name.
    level : int
        Negative numbers count from the top.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        A row for each class and a column for each cluster, in the order of the tree. Points count where their
        likeliest cluster is. The stronger the color, the larger the part of the cluster that the class has.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> club = nx.karate_club_graph()
    >>> h = graphsoft.hierarchy(club, levels=[4, 2])
    >>> ax = graphsoft.plots.confusion(h, nx.get_node_attributes(club, "club"))
    >>> [text.get_text() for text in ax.texts]
    ['17', '0', '1', '16']
    """
    h = checked(h)
    level = level_of(level, len(h))
    try:
        known = as_named_clusters(labels, h.nodes)
    except InputError as error:
        raise InputError("labels", error.problem, error.remedy) from None
    ax = axes_of(ax, (5.4, 4.4))
    table, classes = sp.csr_array(known.levels[0]), known.ids[0]
    found = h[level].labels
    hard = sp.csr_array(
        (np.ones(len(found)), found, np.arange(len(found) + 1)), shape=h[level].memberships.shape
    )
    counts = sp.csr_array(table.T @ hard)
    sizes, class_sizes = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (0, 1))
    kept, columns = folded(tree_order(h.tree)[level], sizes, MOST)
    # each class stands where most of its points are, so that agreement is seen along the diagonal
    middles = (table.T @ np.argsort(tree_order(h.tree)[level])[found]) / np.maximum(class_sizes, 1)
    kept_classes, rows = folded(np.argsort(middles, kind="stable"), class_sizes, MOST)
    numbers = aggregated(rows, columns, counts)
    colors = np.vstack([cluster_colors(h)[level][kept], rgb_of_hex(NEUTRAL)])[: numbers.shape[1]]
    image = np.empty((*numbers.shape, 4))
    image[:, :, :3], image[:, :, 3] = colors, numbers / np.maximum(numbers.sum(axis=0), 1)
    ax.imshow(image, aspect="auto", interpolation="nearest")
    ids = names_in(h, level, kept)
    ids += ["others"] * (len(kept) < len(sizes))
    missing = name_ticks(ax, "x", range(len(ids)), ids, rotation=90)
    names = [name_of({}, classes[each]) for each in kept_classes]
    names += ["others"] * (len(kept_classes) < len(classes))
    missing += name_ticks(ax, "y", range(len(names)), names)
    ax.set_xlabel(f"cluster of level {level}")
    ax.set_ylabel("class")
    notes = []
    if len(kept) < len(sizes):
        notes.append(f"the {len(sizes) - len(kept):,} smallest clusters share the last column")
    if len(kept_classes) < len(classes):
        notes.append(f"the {len(classes) - len(kept_classes):,} smallest classes share the last row")
    if not write_cells(ax, numbers, image, "{:,.4g}"):
        notes.append("a full color is a cluster of one class")
    heading(ax, f"Points of each class in each cluster of level {level}", *notes, left_out(missing))
    return ax
