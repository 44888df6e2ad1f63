"""Put what you know into a hierarchy: labels or pairs of some points, and how many children a cluster has.

    python examples/known_pairs.py [--data DIR] [--output DIR] [--quick]

First, some points are told: the labels of a few, or as many pairs, together or apart. It prints the adjusted
Rand index of the top level over the other points, of which nothing was told, and the share of all told pairs
that came out as told; means over several draws. Read it beside the first column, where nothing is known:
what is known is kept for the most part, and how much it helps the other points depends on the set. Where
clusters lie as the classes do there is nothing to gain; where two classes lie in one cluster, or one in two,
a few labels can tell them apart.

Second, the number of children under each cluster, without limits and within them, and what the limits cost.

``DIR`` holds sets as ``uci_satimage.npz`` (``X, y``, or ``data, indices, indptr, shape, y``). Without it the
sets are the iris flowers and the digits that come with the project.
"""

import argparse
from itertools import pairwise
from math import ceil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.folder import folder

import graphsoft
from graphsoft import metrics
from graphsoft.datasets import read

mpl.use("Agg")
import matplotlib.pyplot as plt

BUNDLED = Path(__file__).parents[1] / "data"
SETS = ["uci_iris", "uci_ecoli", "uci_glass", "uci_satimage", "sc_worm_neuron_pca50", "graph_email_eu_core"]
COUNTS = [0, 10, 20, 50, 100, 200]
COLORS = ["#2f6f8f", "#b5533c", "#7a8b3a", "#8a5a9e", "#c9973a", "#5a5f66"]


def read_sets(directory):
    """Yield names, graphs and classes as numbers."""
    if directory is None:
        for name in ("iris.csv", "digits.csv.gz"):
            found = read(BUNDLED / name, labels="label")
            yield name.partition(".")[0], graphsoft.knn_graph(found.data), np.asarray(found.labels)
        return
    for name in SETS:
        with np.load(directory / f"{name}.npz", allow_pickle=False) as file:
            if "X" in file:
                X = file["X"]
            else:
                X = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
            y = file["y"]
        yield name, graphsoft.as_graph(X) if name.startswith("graph") else graphsoft.knn_graph(X), y


def sizes_for(points, classes):
    """Choose three levels, the top one with a cluster for each class."""
    middle = max(2 * classes, 20)
    finest = min(100, points // 3)
    return [finest, middle, classes] if finest > middle else [middle, classes]


def told_labels(y, count, rng):
    """Tell the labels of some points: the arguments, and all pairs of these points."""
    told = rng.choice(len(y), count, replace=False)
    one, two = np.triu_indices(count, 1)
    return {"known": {int(point): y[point] for point in told}}, told[one], told[two]


def told_pairs(y, count, rng):
    """Tell of pairs of points whether they belong together: the arguments, and the pairs."""
    one, two = rng.integers(len(y), size=(2, count))
    one, two = one[one != two], two[one != two]
    same = y[one] == y[two]
    pairs = np.column_stack([one, two])
    return {"must_link": pairs[same].tolist(), "cannot_link": pairs[~same].tolist()}, one, two


def measure(graph, y, tell, draws):
    """Return the adjusted Rand index over the other points and the share of pairs kept, (counts, 2).

    NaN where more than half of the points would be told.
    """
    sizes = sizes_for(len(y), len(np.unique(y)))
    scores = np.full((len(COUNTS), draws, 2), np.nan)
    for row, count in enumerate(count for count in COUNTS if count <= len(y) // 2):
        for draw in range(draws):
            arguments, one, two = tell(y, count, np.random.default_rng(draw))
            labels = graphsoft.hierarchy(graph, sizes, **arguments)[-1].labels
            others = np.setdiff1d(np.arange(len(y)), np.concatenate([one, two]))
            kept = (labels[one] == labels[two]) == (y[one] == y[two])
            scores[row, draw] = (
                metrics.adjusted_rand(y[others], labels[others]),
                kept.mean() if len(kept) else np.nan,
            )
    return scores.mean(axis=1)


def children(h):
    """Count the clusters under each cluster of the second level."""
    return sorted((len(node.children) for node in h.tree.nodes if node.level == 1), reverse=True)


def limit(name, graph, y):
    """Print the numbers of children without limits and within, and the scores of both."""
    sizes = sizes_for(len(y), len(np.unique(y)))
    ratios = [below / above for below, above in pairwise(sizes)]
    limits = {"min_children": min(2, int(min(ratios))), "max_children": ceil(1.5 * max(ratios))}
    counts = []
    for wanted in ({}, limits):
        h = graphsoft.hierarchy(graph, sizes, **wanted)
        counts.append(children(h))
        words = ", ".join(f"{key}={value}" for key, value in wanted.items()) or "no limits"
        found = metrics.adjusted_rand(y, h[-1].labels)
        print(f"{name:22} {words:32} ARI {found:.2f}, children {' '.join(map(str, counts[-1]))}")
    return counts


def draw(results, limited, path):
    """Draw scores against what is known, and the numbers of children."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    for axis, way in zip(axes, ("labels", "pairs"), strict=False):
        for (name, scores), color in zip(results.items(), COLORS, strict=False):
            axis.plot(range(len(COUNTS)), scores[way][:, 0], "o-", color=color, label=name)
        axis.set_xticks(range(len(COUNTS)), COUNTS)
        axis.set(xlabel=f"known {way}", ylabel="adjusted Rand index of the other points", ylim=(0, 1))
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=6, frameon=False)
    name, counts = limited
    for each, color, label in zip(
        counts, ("#b9bec5", "#2f6f8f"), ("without limits", "within limits"), strict=True
    ):
        axes[2].step(np.arange(len(each)) + 0.5, each, where="mid", color=color, lw=2, label=label)
    axes[2].set(
        title=name, xlabel="clusters of the second level, by children", ylabel="children", ylim=(0, None)
    )
    axes[2].legend(frameon=False)
    figure.savefig(path, dpi=120)
    print(f"drawn to {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=folder, help="a folder of labeled sets")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--quick", action="store_true", help="one draw of what is known")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    sets = list(read_sets(given.data))
    print(f"{'ARI of the others / kept':31}" + "".join(f"{count:>12}" for count in COUNTS))
    results = {}
    for name, graph, y in sets:
        results[name] = {}
        for way, tell in (("labels", told_labels), ("pairs", told_pairs)):
            scores = results[name][way] = measure(graph, y, tell, 1 if given.quick else 5)
            cells = [f"{ari:.2f} / {kept:.2f}".replace("nan", "-   ") for ari, kept in scores]
            print(f"{name:22} {way:8}" + "".join(f"{cell:>12}" for cell in cells))
    print()
    limited = {name: limit(name, graph, y) for name, graph, y in sets}
    most = max(
        limited, key=lambda name: np.abs(np.subtract(*limited[name])).sum()
    )  # where limits change most
    draw(results, (most, limited[most]), given.output / "known_pairs.png")


if __name__ == "__main__":
    main()
