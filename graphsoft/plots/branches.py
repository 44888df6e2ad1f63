"""The tree of clusters, as an icicle or as a dendrogram."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from graphsoft.aliases import Array
from graphsoft.colors import cluster_colors, ink_on
from graphsoft.errors import InputError, shown
from graphsoft.input.checks import choice
from graphsoft.plots.reading import name_of
from graphsoft.plots.surface import (
    axes_of,
    background,
    fits,
    heading,
    name_ticks,
    place_labels,
    size_in_pixels,
    write,
)
from graphsoft.plots.text import left_out, listed, text_size
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.tree import Node, Tree

__all__ = ["tree"]

KINDS = ("icicle", "dendrogram")
# So many names above the lowest level are tried in a dendrogram.
MOST_NAMES = 200


def tree(h: Hierarchy | Tree, ax: Any = None, *, kind: Literal["icicle", "dendrogram"] = "icicle") -> Any:
    """Draw the tree of clusters, each below its likeliest parent.

    Parameters
    ----------
    h : Hierarchy or Tree
    ax : Axes, optional
        Where to draw. Without it there is a new figure.
    kind : {"icicle", "dendrogram"}
        In an icicle each cluster is a box below its parent, as wide as it is heavy. In a dendrogram lines
        join clusters to their parents; they are as thick as the likeliest parent is likely, so thin lines
        lead to clusters that are torn between parents.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> ax = graphsoft.plots.tree(h)
    >>> ax.get_title(loc="left")
    '77 points in 12 and 4 clusters'
    """
    found = h if isinstance(h, Tree) else getattr(h, "tree", None)
    if not isinstance(found, Tree):
        raise InputError("h", f"got {shown(h)}", "pass what graphsoft.hierarchy returns, or its tree")
    choice("kind", kind, KINDS)
    ax = axes_of(ax, (7.2, 4.0))
    draw = _icicle if kind == "icicle" else _dendrogram
    points = sum(node.size for node in found.nodes[: found.level_sizes[0]])
    note = draw(ax, found)
    many = "cluster" if found.level_sizes == (1,) else "clusters"
    heading(ax, f"{points:,} points in {listed(found.level_sizes)} {many}", note)
    return ax


def _clusters(tree: Tree) -> tuple[Node, ...]:
    """Return all nodes but a root that was added above several."""
    return tree.nodes[: sum(tree.level_sizes)]


def _colors(tree: Tree) -> Array:
    """Return the color of each cluster, in the order of the nodes."""
    return np.concatenate(cluster_colors(tree))


def _spans(tree: Tree) -> tuple[Array, Array]:
    """Return where the box of each cluster begins and ends, from 0 to 1, in the order of the nodes."""
    weigh = (lambda node: node.mass) if tree.root.mass > 0 else (lambda node: float(node.size))
    spans = {tree.root.id: (0.0, 1.0)}
    for node in tree.walk():
        start, stop = spans[node.id]
        children = [tree.find(child) for child in node.children]
        if not children:
            continue
        heavy = np.array([weigh(child) for child in children])
        if not heavy.any():
            heavy = np.ones(len(children))
        ends = start + (stop - start) * np.concatenate(([0.0], np.cumsum(heavy) / heavy.sum()))
        for child, left, right in zip(children, ends[:-1], ends[1:], strict=True):
            spans[child.id] = float(left), float(right)
    found = np.array([spans[node.id] for node in _clusters(tree)])
    return found[:, 0], found[:, 1]


def _icicle(ax: Any, tree: Tree) -> str:
    """Draw boxes, and return the note on what is left out."""
    from matplotlib.collections import PolyCollection

    left, right = _spans(tree)
    levels = np.repeat(np.arange(len(tree.level_sizes)), tree.level_sizes)
    colors = _colors(tree)
    low, high = levels - 0.5, levels + 0.5
    corners = [(left, low), (right, low), (right, high), (left, high)]
    boxes = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    wide, tall = size_in_pixels(ax)
    thin = np.clip(0.1 * (right - left) * wide, 0, 0.8)  # gaps must not hide narrow boxes
    ax.add_collection(
        PolyCollection(list(boxes), facecolors=colors, edgecolors=background(ax), linewidths=thin)
    )
    ax.set_xlim(0, 1)
    _level_axis(ax, tree, -0.5, len(tree.level_sizes) - 0.5)
    room = tall / len(tree.level_sizes)
    written, inks = 0, ink_on(colors)
    for at, node in enumerate(_clusters(tree)):
        width = (right[at] - left[at]) * wide
        if width < 10:  # no text is as narrow
            continue
        label = name_of(tree.names, node.id)
        x, y = (left[at] + right[at]) / 2, node.level
        middle = {"color": inks[at], "ha": "center", "va": "center", "clip_on": True}
        if fits(ax, label, width, room):
            write(ax, x, y, label, **middle)
        elif fits(ax, label, room * 0.95, width):
            write(ax, x, y, label, rotation=90, **middle)
        else:
            continue
        written += 1
    ax.set_xticks([])
    ax.set_xlabel("share of the graph's weight" if tree.root.mass > 0 else "share of the points")
    return left_out(len(_clusters(tree)) - written)


def _dendrogram(ax: Any, tree: Tree) -> str:
    """Draw lines from clusters to their parents, and return the note on what is left out."""
    from matplotlib.collections import LineCollection

    middle, leaves = _middles(tree)
    colors, clusters = _colors(tree), _clusters(tree)
    wide, _ = size_in_pixels(ax)
    room = wide / len(leaves)
    thick = float(np.clip(room / 3, 0.4, 2.2))
    lines, widths, shades = [], [], []
    for at, node in enumerate(clusters):
        if node.parent is None:
            continue
        above = tree.find(node.parent)
        x, up = middle[node.id], middle[above.id]
        lines.append([(x, node.level), (x, above.level), (up, above.level)])
        widths.append(thick * (0.15 + 0.85 * (node.parents[0][1] if node.parents else 1.0)))
        shades.append(colors[at])
    ax.add_collection(LineCollection(lines, linewidths=widths, colors=shades or None, capstyle="round"))
    spots = np.array([(middle[node.id], node.level) for node in clusters])
    area = float(np.clip(room * 2, 2, 36))
    ax.scatter(*spots.T, s=area, c=colors, linewidths=0, zorder=3)
    ax.set_xlim(-0.5, len(leaves) - 0.5)
    _level_axis(ax, tree, -0.15, tree.root.level + 0.2)
    inner = [at for at, node in enumerate(clusters) if node.children]
    heaviest = sorted(inner, key=lambda at: -clusters[at].mass)[:MOST_NAMES]
    names = [name_of(tree.names, node.id) for node in clusters]
    unit = len(leaves) / wide  # of a pixel
    aside = np.array([(text_size(ax, name)[0] * 0.55 + thick + 2) * unit for name in names])
    aside[spots[:, 0] > len(leaves) / 2] *= -1  # towards the middle
    places = spots + np.stack([aside, np.full(len(names), 0.15)], axis=1)
    missing = len(inner) - place_labels(ax, places, names, heaviest)
    ends = [middle[leaf.id] for leaf in leaves]
    missing += name_ticks(ax, "x", ends, [name_of(tree.names, leaf.id) for leaf in leaves], rotation=90)
    return left_out(missing)


def _middles(tree: Tree) -> tuple[dict[str, float], list[Node]]:
    """Return where each node stands, in the middle of its children, and the nodes without any, in order."""
    leaves = [node for node in tree.walk() if not node.children]
    middle = {leaf.id: float(place) for place, leaf in enumerate(leaves)}
    for node in tree.walk("up"):
        if node.children:
            places = [middle[child] for child in node.children]
            middle[node.id] = (min(places) + max(places)) / 2
    return middle, leaves


def _level_axis(ax: Any, tree: Tree, lowest: float, highest: float) -> None:
    """Write the numbers of the levels along y."""
    ax.set_ylim(lowest, highest)
    ax.set_yticks(range(len(tree.level_sizes)))
    ax.set_ylabel("level")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
