"""Points where they lie: their clusters, and how similar they are to one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import FAINTEST, blend, cluster_colors, rgb_of_hex
from graphsoft.errors import InputError
from graphsoft.graph.features import Features
from graphsoft.input.checks import integer, number
from graphsoft.input.coordinates import checked_coordinates
from graphsoft.plots.reading import checked, level_of, names_in
from graphsoft.plots.surface import axes_of, background, bare, heading, ink, place_labels, size_in_pixels
from graphsoft.plots.text import counted, left_out, showable
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.walks import MAX_STEPS, multistep

__all__ = ["map", "walk"]

# More edges hide what is below them.
MOST_EDGES = 20_000
# More points are drawn as pixels also where the picture is made of lines.
MOST_SHAPES = 5_000
# Points of a smaller area, in square points, would be hidden by outlines.
SMALLEST_OUTLINED = 3.0
# So many names of clusters are tried.
MOST_NAMES = 200


def map(h: Hierarchy, level: int = -1, ax: Any = None, *, coordinates: Any = None, torn: float = 0.9) -> Any:
    """Draw the points where they lie, in the colors of their clusters.

    Parameters
    ----------
    h : Hierarchy
    level : int
        Negative numbers count from the top.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.
    coordinates : array-like of shape (n, 2), or mapping from ``h.nodes``, optional
        Such as a UMAP. By default the features if there are two, else ``h.layout()``.
    torn : float
        Points have an outline if their likeliest cluster is less likely than this. Of very many points, which
        are too small for outlines, torn ones fade into the background.

    Returns
    -------
    Axes
        A point that lies between clusters has a mixture of their colors. The edges of the graph are drawn if
        there are at most 20,000. Clusters show their names, or their ids if they have none.

    Examples
    --------
    >>> import graphsoft
    >>> X = graphsoft.patterns.make_pattern("bridge", rng=0)[0]
    >>> h = graphsoft.hierarchy(X, levels=[8, 2])
    >>> ax = graphsoft.plots.map(h)
    >>> ax.get_title(loc="left")
    '2 clusters of level 1, 1% of the points torn'
    """
    h = checked(h)
    level = level_of(level, len(h))
    torn = number("torn", torn, minimum=0, maximum=1)
    places = _places(h, coordinates)
    ax = axes_of(ax, (5.6, 5.0))
    undrawn = _draw_edges(ax, h, places, 0.1)
    shares = h[level].memberships
    colors = cluster_colors(h)[level]
    area = _area(ax, len(places))
    outlined = area >= SMALLEST_OUTLINED
    mixed = blend(shares, colors, None if outlined else background(ax))
    between = shares.max(axis=1).toarray().ravel() < torn
    few = len(places) <= MOST_SHAPES
    for chosen, width in ((~between, 0.0), (between, np.sqrt(area) / 5 if outlined else 0.0)):
        if chosen.any():
            spots = ax.scatter(*places[chosen].T, s=area, c=mixed[chosen], zorder=2, rasterized=not few)
            spots.set(linewidths=min(width, 1.0), edgecolors=ink(ax))
    bare(ax)
    unnamed = _name_clusters(ax, h, level, places)
    count = len(colors)
    parts = f"{count:,} clusters" if count > 1 else "one cluster"
    how = "have an outline" if outlined else "are faint"
    notes = [f"torn points {how}"] if between.any() else []
    notes += [left_out(undrawn, "edge"), left_out(unnamed)]
    among = f", {between.mean():.0%} of the points torn" if count > 1 else ""
    heading(ax, f"{parts} of level {level}{among}", *notes)
    return ax


def _places(h: Hierarchy, coordinates: Any) -> Array:
    """Return two coordinates for every point."""
    if coordinates is not None:
        return checked_coordinates(coordinates, h.nodes)
    features = h.features
    if isinstance(features, Features) and not sp.issparse(features.values) and features.values.shape[1] == 2:
        return np.asarray(features.values, dtype=np.float64)
    return h.layout().astype(np.float64)


def _draw_edges(ax: Any, h: Hierarchy, places: Array, opacity: float) -> int:
    """Draw the edges of the graph behind everything, and return how many there are if they are too many."""
    from matplotlib.collections import LineCollection

    edges = sp.triu(h.graph.adjacency, k=1).tocoo()
    if edges.nnz > MOST_EDGES:
        return int(edges.nnz)
    lines = np.stack([places[edges.row], places[edges.col]], axis=1)
    width = float(np.clip(2e3 / max(edges.nnz, 1), 0.3, 0.9))
    ax.add_collection(LineCollection(list(lines), colors=ink(ax), alpha=opacity, linewidths=width, zorder=1))
    return 0


def _area(ax: Any, points: int) -> float:
    """Return the area of points, so that they cover about a third of the axes."""
    wide, tall = np.array(size_in_pixels(ax)) * 72 / ax.figure.dpi
    return float(np.clip(0.35 * wide * tall / points, 0.5, 40))


def _name_clusters(ax: Any, h: Hierarchy, level: int, places: Array) -> int:
    """Write names of clusters, or ids, in the middle of their points; return how many do not fit."""
    shares = h[level].memberships
    weight = np.asarray(shares.sum(axis=0)).ravel()
    middles = np.asarray(shares.T @ places) / np.maximum(weight, 1e-300)[:, None]
    labels = names_in(h, level, range(len(weight)))
    order = np.argsort(-weight, kind="stable")[: min(MOST_NAMES, np.count_nonzero(weight))]
    return len(labels) - place_labels(ax, middles, labels, order.tolist())


def walk(
    h: Hierarchy,
    point: Any,
    ax: Any = None,
    *,
    steps: int | None = None,
    level: int | None = None,
    coordinates: Any = None,
) -> Any:
    """Draw how similar all points are to one of them, under a random walk or under a level.

    Parameters
    ----------
    h : Hierarchy
    point : object
        The name of the point in ``h.nodes``: its row number if points have no names.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.
    steps : int, optional
        Walk so many steps along the edges of the graph.
    level : int, optional
        Walk from point to point by way of the clusters of this level. Give one of the two.
    coordinates : array-like of shape (n, 2), or mapping from ``h.nodes``, optional
        Such as a UMAP. By default the features if there are two, else ``h.layout()``.

    Returns
    -------
    Axes
        A star at the point. The stronger the color of another, the more often walks from the star end there,
        relative to walks of endlessly many steps. The strongest is full, and the scale is of square roots.

    Examples
    --------
    >>> import graphsoft
    >>> X = graphsoft.patterns.make_pattern("bridge", rng=0)[0]
    >>> h = graphsoft.hierarchy(X, levels=[8, 2])
    >>> graphsoft.plots.walk(h, 7, steps=16).get_title(loc="left")
    'Similarity to 7 after 16 steps'
    >>> graphsoft.plots.walk(h, 7, level=-1).get_title(loc="left")
    'Similarity to 7 by the 2 clusters of level 1'
    """
    h = checked(h)
    try:
        row = h.point(point).row
    except InputError as error:
        raise InputError("point", error.problem, error.remedy) from None
    places = _places(h, coordinates)
    if (steps is None) == (level is None):
        raise InputError("steps", "got both or neither of steps and level", "give one of the two")
    if steps is not None:
        similar = multistep(h.graph, integer("steps", steps, 1, MAX_STEPS)).row(row)
        what = f"after {counted(steps, 'step')}"
    else:
        level = level_of(level, len(h))
        similar = h[level].equivalent_adjacency.row(row)
        clusters = len(h[level].mass)
        what = f"by the {clusters:,} clusters of level {level}" if clusters > 1 else "by one cluster"
    ax = axes_of(ax, (5.6, 5.0))
    degrees = h.graph.degrees
    similar = np.divide(similar, degrees, out=np.zeros(len(degrees)), where=degrees > 0)
    strength = np.sqrt(similar / similar.max()) if similar.max() > 0 else similar
    full = cluster_colors(h)[-1][[h[-1].labels[row]]]
    colors = _shades(background(ax), full, strength)
    order = np.argsort(strength, kind="stable")
    undrawn = _draw_edges(ax, h, places, 0.06)
    few = len(places) <= MOST_SHAPES
    area = _area(ax, len(places))
    ax.scatter(*places[order].T, s=area, c=colors[order], linewidths=0, zorder=2, rasterized=not few)
    ax.scatter(
        *places[row], s=max(6 * area, 60), marker="*", color=ink(ax), edgecolors=background(ax), zorder=4
    )
    bare(ax)
    heading(ax, f"Similarity to {showable(point)} {what}", left_out(undrawn, "edge"))
    return ax


def _shades(paper: str, color: Array, strength: Array) -> Array:
    """Return shades of a color, from nearly that of the paper for 0 to the full one for 1."""
    part = (FAINTEST + (1 - FAINTEST) * strength)[:, None]
    return blend(np.hstack([part, 1 - part]), np.vstack([color, rgb_of_hex(paper)]))
