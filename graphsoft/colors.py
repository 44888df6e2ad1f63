"""Colors of clusters: the one place that plots and the explorer take them from.

Clusters of the top level get hues that are far apart, also for color-blind eyes. The children of a cluster
get shades of its color. All colors have about the same luminance, so each has a contrast of at least 3:1 both
against white and against black, which is what graphics need.

Colors are made in OKLab (B. Ottosson, 2020), where equal distances look about equally different.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.checks import integer
from graphsoft.tree import Tree

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = [
    "NEUTRAL",
    "blend",
    "class_colors",
    "cluster_colors",
    "hex_colors",
    "ink_on",
    "level_colors",
    "rgb_of_hex",
]

# From linear light to the responses of the three kinds of cones, and from their cube roots to OKLab.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_FROM_CONES, _FROM_LAB = np.linalg.inv(_CONES), np.linalg.inv(_LAB)
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # of the three primaries

# Lightness is the cube root of luminance. Within these bounds contrast is at least 3:1 with white and black.
DARKEST, LIGHTEST = 0.137 ** (1 / 3), 0.293 ** (1 / 3)
# Hue in degrees, saturation, and lightness of the first top clusters. A search found that the first 8 are
# furthest apart for usual eyes and for the three kinds of color blindness, the first few further than all 8.
# Each of the others is as far as possible from all before it.
_TOP = np.array(
    [
        [252.0, 0.28, LIGHTEST],  # blue
        [42.0, 0.28, LIGHTEST],  # orange
        [6.0, 0.24, DARKEST],  # ruby
        [294.0, 0.28, 0.5527],  # violet
        [330.0, 0.20, LIGHTEST],  # orchid
        [90.0, 0.28, DARKEST],  # brown
        [138.0, 0.16, LIGHTEST],  # green
        [216.0, 0.16, 0.5527],  # teal
        [48.0, 0.20, 0.5898],
        [264.0, 0.24, DARKEST],
        [12.0, 0.16, LIGHTEST],
        [6.0, 0.28, 0.5898],
        [192.0, 0.16, LIGHTEST],
        [306.0, 0.28, LIGHTEST],
        [84.0, 0.16, LIGHTEST],
        [270.0, 0.16, LIGHTEST],
    ]
)
# How far shades go from the hue, saturation and lightness of a top cluster. If the hue of another is near,
# they go only this part of the way to it, but at least so many degrees.
_REACH = np.array([30.0, 0.08, 0.072])
_REACH_TO_NEXT, _LEAST_REACH = 0.4, 6.0
_PALEST, _STRONGEST = 0.10, 0.34  # saturations of shades
# Steps in saturation and lightness from one sibling to the next, as parts of the range: of many, these keep
# siblings furthest apart.
_STRIDES = np.array([0.4, 0.62])
_GOLDEN = 0.6180339887498949  # steps of this part of a circle fill it evenly
# A point far from any cluster keeps this much of its color against the background.
FAINTEST = 0.25
NEUTRAL = "#7b7b7b"
"""The color of a cluster that holds everything."""
_HEX = re.compile(r"#[0-9a-fA-F]{6}")


def cluster_colors(h: Hierarchy | Tree) -> tuple[Array, ...]:
    """Give each cluster of each level a color.

    Parameters
    ----------
    h : Hierarchy or Tree

    Returns
    -------
    tuple of ndarray, each of shape (m, 3)
        For every level, finest first, red, green and blue in sRGB, from 0 to 1; see :func:`hex_colors`.

    Notes
    -----
    The top level is the highest that has several clusters; a cluster that holds everything is gray. Heavy
    clusters choose first. In OKLab, where 0.02 is just noticed, the first 8 colors of a top level are at
    least 0.08 apart for usual eyes, and for protanopia, deuteranopia and tritanopia as Machado et al. (2009)
    simulate them. The first 16 are 0.08 apart for usual eyes and 0.035 for the others. More top clusters
    differ in hue, but many look alike for color-blind eyes, and beyond some dozens for all.

    Below up to 8 top clusters, hues stay nearer to their own top cluster than to any other. Siblings spread
    over the shades that their parent has, and an only child has its parent's color. Up to 8 children of a top
    cluster are 0.015 apart; shades get finer with more siblings and on lower levels.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> [colors.shape for colors in cluster_colors(h)]
    [(12, 3), (4, 3)]
    >>> hex_colors(cluster_colors(h)[-1])
    ['#2995ff', '#f66622', '#a74861', '#7e5fca']
    """
    tree = h if isinstance(h, Tree) else getattr(h, "tree", None)
    if not isinstance(tree, Tree):
        raise InputError("h", f"got {shown(h)}", "pass what graphsoft.hierarchy returns, or its tree")
    starts = np.concatenate(([0], np.cumsum(tree.level_sizes)))
    levels = [tree.nodes[start:stop] for start, stop in pairwise(starts.tolist())]
    colors: list[Array] = []
    middle = reach = None
    for level in reversed(levels):
        if middle is None or reach is None:
            if len(level) == 1:
                colors.append(rgb_of_hex(NEUTRAL)[None])
                continue
            middle, reach = _top_shades(np.array([node.mass for node in level]))
        else:
            parents = np.array([int(str(node.parent).partition("-")[2]) for node in level])
            middle, reach = _children_shades(middle, reach, parents)
        colors.append(_rgb(*middle.T))
    return tuple(reversed(colors))


def class_colors(sizes: Sequence[float] | Array) -> Array:
    """Give each of several classes a color, as :func:`cluster_colors` does with top clusters.

    Parameters
    ----------
    sizes : array-like of shape (m,)
        The largest class chooses first.

    Returns
    -------
    ndarray of shape (m, 3)

    Examples
    --------
    >>> hex_colors(class_colors([5, 100, 20]))
    ['#a74861', '#2995ff', '#f66622']
    """
    numbers = _numbers("sizes", sizes, "give a number for each class")
    if numbers.ndim != 1 or not len(numbers):
        raise InputError("sizes", f"got shape {numbers.shape}", "give a number for each class, at least one")
    return _rgb(*_top_shades(numbers)[0].T)


def _top_shades(masses: Array) -> tuple[Array, Array]:
    """Return the hue, saturation and lightness of top clusters, and how far their children may differ."""
    count = len(masses)
    number = np.arange(max(count - len(_TOP), 0))
    more = np.stack(
        [
            360 * (number * _GOLDEN % 1),
            0.16 + 0.1 * (number * _STRIDES[0] % 1),
            DARKEST + (LIGHTEST - DARKEST) * (number * _GOLDEN**2 % 1),
        ],
        axis=1,
    )
    shades = np.empty((count, 3))
    shades[np.argsort(-masses, kind="stable")] = np.concatenate([_TOP, more])[:count]
    reach = np.tile(_REACH, (count, 1))
    order = np.argsort(shades[:, 0])
    ahead = np.diff(shades[order, 0], append=shades[order[0], 0] + 360)
    nearest = np.minimum(ahead, np.roll(ahead, 1))
    reach[order, 0] = np.clip(_REACH_TO_NEXT * nearest, _LEAST_REACH, _REACH[0])
    return shades, reach


def _children_shades(middle: Array, reach: Array, parents: Array) -> tuple[Array, Array]:
    """Spread children over the shades that their parents have, and give each a part of them.

    Siblings lie on a lattice: hue rises from the first to the last, saturation and lightness jump.
    """
    counts = np.bincount(parents, minlength=len(middle))[parents]
    order = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[order], parents, side="left")
    rank = np.empty(len(parents), dtype=np.int64)
    rank[order] = np.arange(len(parents))
    from_middle = rank - starts - (counts - 1) / 2
    place = np.empty((len(parents), 3))  # from -1 to 1
    place[:, 0] = 2 * from_middle / np.maximum(counts - 1, 1)
    place[:, 1:] = 2 * ((0.5 + from_middle[:, None] * _STRIDES) % 1) - 1
    part = 1 / (1 + np.cbrt(counts - 1))[:, None]
    reach = reach[parents]
    low = np.array([-np.inf, _PALEST, DARKEST]) + reach
    high = np.array([np.inf, _STRONGEST, LIGHTEST]) - reach
    # an only child stays where its parent is; several need room on both sides
    inside = np.where(counts[:, None] > 1, np.clip(middle[parents], low, high), middle[parents])
    return inside + place * (1 - part) * reach, part * reach


def _rgb(hue: Array, saturation: Array, lightness: Array) -> Array:
    """Turn hue in degrees, saturation and the cube root of luminance into sRGB.

    What no screen can show is mixed with gray of the same luminance, so that contrasts hold.
    """
    angle, one = np.radians(hue), np.ones_like(hue)
    lab = np.stack([one, saturation * np.cos(angle), saturation * np.sin(angle)], axis=-1)
    linear = _from_lab(lab)
    luminance = (lightness**3)[:, None]
    linear = linear * (luminance / (linear @ _LUMINANCE)[:, None])
    above = (1 - luminance) / np.maximum(linear.max(axis=1, keepdims=True) - luminance, 1 - luminance)
    below = luminance / np.maximum(luminance - linear.min(axis=1, keepdims=True), luminance)
    return _companded(luminance + np.minimum(above, below) * (linear - luminance))


def blend(memberships: sp.csr_array | Array, colors: Array, background: str | None = None) -> Array:
    """Mix the colors of clusters, for points that lie between them.

    Parameters
    ----------
    memberships : csr_array or ndarray of shape (n, m)
        Rows sum to one.
    colors : ndarray of shape (m, 3)
        Of one level, as :func:`cluster_colors` gives them.
    background : str, optional
        A color such as ``"#ffffff"``, into which uncertain points fade: a point keeps its color in proportion
        to its largest membership, but never less than a quarter of it.

    Returns
    -------
    ndarray of shape (n, 3)
        sRGB from 0 to 1. Means are taken in OKLab, where half of each of two colors looks halfway.

    Examples
    --------
    >>> import numpy as np
    >>> colors = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> hex_colors(blend(np.array([[1.0, 0.0], [0.5, 0.5]]), colors))
    ['#ff0000', '#8c53a2']
    >>> hex_colors(blend(np.array([[1.0, 0.0], [0.5, 0.5]]), colors, "#ffffff"))
    ['#ff0000', '#c5a8d1']
    """
    table = memberships if sp.issparse(memberships) else _numbers("memberships", memberships, "give a table")
    palette = _table_of_colors(colors)
    if table.ndim != 2 or table.shape[1] != len(palette):
        problem = f"got shape {table.shape} for {len(palette)} colors"
        raise InputError("memberships", problem, "give a column for each color")
    shares = sp.csr_array(table)
    mixed = np.asarray(shares @ _to_lab(_linear(palette)))
    if background is not None:
        certainty = shares.max(axis=1).toarray().reshape(-1, 1).clip(FAINTEST, 1)
        paper = _to_lab(_linear(rgb_of_hex(background)[None]))
        mixed = certainty * mixed + (1 - certainty) * paper
    return _companded(_from_lab(mixed).clip(0, 1))


def level_colors(count: int) -> list[str]:
    """Give each of `count` levels a color, from green for the finest over blue to red for the top.

    Examples
    --------
    >>> len(level_colors(3)), level_colors(1)
    (3, ['#3380ce'])
    """
    count = integer("count", count, 1)
    hue = np.linspace(150, 380, count) if count > 1 else np.array([252.0])
    lightness = np.where(np.arange(count) % 2, LIGHTEST, (DARKEST + LIGHTEST) / 2)
    return hex_colors(_rgb(hue, np.full(count, 0.24), lightness))


def ink_on(colors: Array) -> list[str]:
    """Choose black or white for text on each of these colors: contrast is then at least 4.5.

    Examples
    --------
    >>> ink_on(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.5]]))
    ['#000000', '#ffffff']
    """
    return ["#000000" if light else "#ffffff" for light in _linear(colors) @ _LUMINANCE > 0.179]


def hex_colors(colors: Array) -> list[str]:
    """Write colors as ``"#rrggbb"``.

    Examples
    --------
    >>> hex_colors(np.array([[1.0, 0.5, 0.0]]))
    ['#ff8000']
    """
    bytes_ = np.rint(_table_of_colors(colors) * 255).astype(np.uint8)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in bytes_.tolist()]


def rgb_of_hex(color: str) -> Array:
    """Read a color such as ``"#ff8000"``, float64 of shape (3,), from 0 to 1.

    Examples
    --------
    >>> rgb_of_hex("#ff8000").round(2)
    array([1. , 0.5, 0. ])
    """
    if not isinstance(color, str) or not _HEX.fullmatch(color):
        raise InputError("color", f"got {shown(color)}", "write it as #rrggbb, such as #ffffff")
    return np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255


def _table_of_colors(colors: object) -> Array:
    """Check red, green and blue of each color."""
    remedy = "give red, green and blue of each, from 0 to 1"
    table = _numbers("colors", colors, remedy)
    if table.ndim != 2 or table.shape[1] != 3:
        raise InputError("colors", f"got shape {table.shape}", remedy)
    if not ((table >= 0) & (table <= 1)).all():  # NaN too
        raise InputError("colors", f"got {shown(colors)}", remedy)
    return table


def _numbers(argument: str, values: object, remedy: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, f"got {shown(values)}", remedy) from None


def _linear(rgb: Sequence[float] | Array) -> Array:
    """Turn sRGB into linear light."""
    rgb = np.asarray(rgb, dtype=np.float64)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _companded(linear: Array) -> Array:
    """Turn linear light into sRGB."""
    linear = linear.clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def _to_lab(linear: Array) -> Array:
    return np.asarray(np.cbrt(linear @ _CONES.T) @ _LAB.T)


def _from_lab(lab: Array) -> Array:
    return np.asarray((lab @ _FROM_LAB.T) ** 3 @ _FROM_CONES.T)
