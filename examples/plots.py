"""Draw every plot of `graphsoft.plots`: the pictures of its page in the guide.

    python examples/plots.py [--output DIR] [--quick]

Each function takes a result and Axes, and returns the Axes. What is drawn here are the penguins, who come in
three species, and a pattern in two dimensions. Without ``--output`` the pictures of the guide are written
again; ``--quick`` takes fewer rounds of stability.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import graphsoft
from graphsoft import plots
from graphsoft.datasets import read

ROOT = Path(__file__).parents[1]


def draw(path, plot, size=(4.8, 3.4)):
    """Save the picture that a function draws on new axes."""
    figure = Figure(figsize=size, layout="constrained")
    plot(figure.add_subplot())
    save(figure, path)


def save(figure, path):
    """Save a figure in few colors, which makes the file small."""
    figure.savefig(path, dpi=100)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(128)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def draw_penguins(folder, rounds):
    """Draw 342 penguins in 20, 6 and 3 clusters."""
    penguins = read(ROOT / "data" / "penguins.csv", labels="species")
    h = graphsoft.hierarchy(penguins.data, levels=[20, 6, 3])
    h = h.name_clusters({"2-0": "Adelie", "2-1": "Gentoo", "2-2": "Chinstrap"})
    draw(folder / "icicle.png", lambda ax: plots.tree(h, ax))
    draw(folder / "dendrogram.png", lambda ax: plots.tree(h, ax, kind="dendrogram"))
    draw(folder / "flow.png", lambda ax: plots.flow(h, ax))
    draw(folder / "memberships.png", lambda ax: plots.memberships(h, 1, ax), (3.8, 3.8))
    draw(folder / "confusion.png", lambda ax: plots.confusion(h, penguins.labels, 1, ax))
    draw(folder / "cluster_graph.png", lambda ax: plots.cluster_graph(h, 0, ax), (4.2, 3.8))
    draw(folder / "entropy.png", lambda ax: plots.entropy(h, ax))
    found = graphsoft.stability(h, rounds)
    draw(folder / "stability.png", lambda ax: plots.stability(found, ax))
    other = graphsoft.hierarchy(penguins.data, levels=[12, 5, 3], n_neighbors=15)
    draw(folder / "compare.png", lambda ax: plots.compare(h.compare(other), ax=ax), (4.2, 3.4))
    draw(folder / "matches.png", lambda ax: plots.compare(h.compare(other), 0, ax), (4.8, 4.0))


def draw_pattern(folder):
    """Draw points in two dimensions, where they lie."""
    X, _ = graphsoft.patterns.make_pattern("bridge", rng=2)
    h = graphsoft.hierarchy(X, levels=[30, 8, 2])
    draw(folder / "map.png", lambda ax: plots.map(h, 1, ax), (4.8, 3.8))
    star = int(np.argmin(np.abs(X - [-1.7, 0.3]).sum(axis=1)))
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    panels = figure.subplots(2, 2)
    for steps, ax in zip((2, 64), panels[0], strict=True):
        plots.walk(h, star, ax, steps=steps)
    for level, ax in zip((0, 1), panels[1], strict=True):
        plots.walk(h, star, ax, level=level)
    save(figure, folder / "walk.png")
    method = graphsoft.Relation(rounds=10)
    slow = graphsoft.hierarchy(X, levels=[30, 8, 2], method=method, polish=False)
    draw(folder / "trace.png", lambda ax: plots.trace(slow, ax))


def draw_suggestion(folder):
    """Draw how many clusters there seem to be in a graph with five."""
    found = graphsoft.suggest_levels(graphsoft.patterns.block_graph(0, blocks=5, size=40))
    draw(folder / "suggestion.png", lambda ax: plots.suggestion(found, ax))


def main():
    """Draw everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = ROOT / "examples" / "guide" / "plots"
    parser.add_argument("--output", type=Path, default=default, help="folder of the pictures")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of stability")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    draw_penguins(options.output, 3 if options.quick else 10)
    draw_pattern(options.output)
    draw_suggestion(options.output)


if __name__ == "__main__":
    main()
