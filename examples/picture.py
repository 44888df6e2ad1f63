"""Draw the first picture of the guide: points on three levels, and their tree.

    python examples/picture.py [PICTURE]

Every cluster has a color, and clusters below the same parent have shades of one color. A point shows the mean
of its clusters' colors, weighted by its memberships. Points that are torn between clusters have an
outline.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import graphsoft
from graphsoft import plots

LEVELS = [60, 16, 5]


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


def main():
    """Cluster, draw and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(__file__).parent / "guide" / "hierarchy.png"
    parser.add_argument("picture", type=Path, nargs="?", default=default, help="where to save it")
    options = parser.parse_args()
    h = graphsoft.hierarchy(draw_points(), levels=LEVELS)
    figure = Figure(figsize=(10.4, 5.2), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for level, ax in zip((2, 1, 0), panels, strict=False):
        plots.map(h, level, ax)
    plots.tree(h, panels[3])
    figure.savefig(options.picture, dpi=130, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
