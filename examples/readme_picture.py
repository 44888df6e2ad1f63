"""Draw the picture of the README.

    python examples/readme_picture.py [PICTURE]

Every cluster has a color, and clusters below the same parent have shades of one color. A point shows the mean
of its clusters' colors, weighted by its memberships. Points that are torn between
clusters have an outline.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

import graphsoft

LEVELS = [60, 16, 5]
HUES = np.array([28.0, 85.0, 150.0, 240.0, 310.0])  # of the clusters on the top level, in degrees
TORN = 0.9  # a point gets an outline if its likeliest cluster is less likely than this
INK, PAPER = "#2b2d33", "#ffffff"


def draw_points():
    """Draw a ring around two clouds that touch, and two crescents that lead to a third cloud, (n, 2)."""
    rng = np.random.default_rng(7)

    def cloud(x, y, width, height, count):
        return rng.normal((x, y), (width, height), (count, 2))

    def arc(x, y, radius, start, stop, count, width):
        angle, distance = rng.uniform(start, stop, count) * 2 * np.pi, radius + rng.normal(0, width, count)
        return np.column_stack([x + distance * np.cos(angle), y + distance * np.sin(angle)])

    return np.concatenate(
        [
            arc(0, 0, 2.25, 0, 1, 420, 0.11),
            cloud(-0.7, 0.1, 0.41, 0.5, 330),
            cloud(0.74, -0.1, 0.41, 0.5, 330),
            arc(4.6, 0.2, 1.75, 0.0, 0.5, 360, 0.16),
            arc(6.35, 0.1, 1.75, 0.5, 1.0, 360, 0.16),
            cloud(9.0, 0.9, 0.5, 0.5, 330),
        ]
    )


def to_rgb(lab):
    """Turn OKLab colors, (n, 3), into sRGB. In OKLab the mean of two colors looks halfway between them."""
    lightness, a, b = np.asarray(lab).T
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = np.column_stack(
        [
            4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
        ]
    ).clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def left_to_right(h, points):
    """Rank the clusters of every level along x, so that neighbors in the picture get similar colors."""
    middles = [level.memberships.T @ (h.graph.degrees * points[:, 0]) / level.mass for level in h]
    return [np.argsort(np.argsort(middle)) for middle in middles]


def shade(h, ranks):
    """Give every cluster a color in OKLab, near that of its likeliest parent.

    Returns one array of shape (m_l, 3) for each level, finest first.
    """
    hues, lightness = np.radians(HUES)[ranks[-1]], np.full(len(h[-1].mass), 0.68)
    colors = [polar(lightness, hues)]
    for below in reversed(range(len(h) - 1)):
        parent = h[below].parents.argmax(axis=1).ravel()
        place, lift = np.zeros(len(parent)), np.zeros(len(parent))
        for up in range(len(hues)):
            family = np.flatnonzero(parent == up)
            family = family[np.argsort(ranks[below][family])]
            place[family] = np.linspace(-1, 1, len(family)) if len(family) > 1 else 0.0
            lift[family] = np.where(np.arange(len(family)) % 2, 0.07, -0.05)
        turn = 0.42 if below == len(h) - 2 else 0.1
        hues, lightness = hues[parent] + turn * place, lightness[parent] + lift
        colors.append(polar(lightness, hues))
    return colors[::-1]


def polar(lightness, hues, chroma=0.15):
    """Turn lightness and hue into OKLab."""
    return np.column_stack([lightness, chroma * np.cos(hues), chroma * np.sin(hues)])


def draw_level(axes, h, index, points, colors):
    """Draw the graph in gray, and on it the points in the mean color of their clusters."""
    level = h[index]
    first, second = h.graph.adjacency.nonzero()
    edges = np.stack([points[first], points[second]], axis=1)[first < second]
    axes.add_collection(LineCollection(edges, colors="#d5d8df", linewidths=0.4, zorder=1))
    torn = level.memberships.max(axis=1).toarray().ravel() < TORN
    mixed = to_rgb(level.memberships @ colors)
    axes.scatter(*points.T, c=mixed, s=9, linewidths=0, zorder=2)
    axes.scatter(*points[torn].T, c=mixed[torn], s=9, edgecolors=INK, linewidths=0.7, zorder=3)
    axes.set_aspect("equal", anchor="N")
    name(axes, f"h[{index}]", f"{len(level.mass)} clusters, {torn.mean():.0%} of the points between them")


def draw_icicle(axes, h, ranks, colors):
    """Draw the tree from the top down, as wide as clusters are heavy."""
    spans = {h.tree.root.id: (0.0, 1.0)}
    for node in reversed(h.tree.nodes):  # every node comes after its parent
        start, width = spans[node.id]
        children = sorted(map(h.tree.find, node.children), key=lambda child: ranks[child.level][child.index])
        total = sum(child.mass for child in children)
        for child in children:
            spans[child.id] = (start, width * child.mass / total)
            start += width * child.mass / total
        if node.id == h.tree.root.id:
            continue
        start, width = spans[node.id]
        color = to_rgb(colors[node.level][[node.index]])[0]
        box = {"edgecolor": PAPER, "linewidth": 0.8}
        axes.add_patch(Rectangle((start, node.level), width, 0.94, facecolor=color, **box))
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.1, len(h) + 0.05)
    name(axes, "h.tree", "every cluster below its likeliest parent")


def name(axes, code, words):
    """Write the title of a panel."""
    axes.set_axis_off()
    axes.set_title(f"{code}: {words}", loc="left", fontsize="medium", color=INK)


def main():
    """Cluster, draw and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(__file__).parent / "guide" / "hierarchy.png"
    parser.add_argument("picture", type=Path, nargs="?", default=default, help="where to save it")
    options = parser.parse_args()
    points = draw_points()
    h = graphsoft.hierarchy(points, levels=LEVELS)
    ranks = left_to_right(h, points)
    colors = shade(h, ranks)
    plt.rcParams["font.size"] = 12
    figure, panels = plt.subplots(2, 2, figsize=(10.4, 4.7), facecolor=PAPER, layout="constrained")
    for index, axes in zip(reversed(range(len(h))), panels.flat, strict=False):
        draw_level(axes, h, index, points, colors[index])
    draw_icicle(panels[1, 1], h, ranks, colors)
    figure.savefig(options.picture, dpi=130, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
