"""Put what you know into a hierarchy: labels or pairs of some points, and how many children a cluster has.

    python examples/known_pairs.py [--data DIR] [--output DIR] [--quick]

First, something is known of some points: the labels of a few, or as many pairs that belong together or apart.
The table shows the adjusted Rand index of the top level over the other points, of which nothing is known. It
also shows the share of the known pairs that came out as they should. Both are means over several draws.
Compare them with the first column, where nothing is known. Known pairs are mostly respected, but how much
they help the other points depends on the set. There is nothing to gain where clusters agree with classes
already. A few labels can help where two classes lie in one cluster, or one class lies in two.

Second, the script prints the number of children under each cluster, without limits and within limits, and
what the limits cost.

``DIR`` holds sets such as ``uci_satimage.npz`` (``X, y``, or ``data, indices, indptr, shape, y``). Without
``--data`` the sets are the iris flowers and the digits that come with the project.
"""

from itertools import pairwise
from math import ceil

import matplotlib as mpl
import numpy as np
from papers.sets import bundled, labeled, page_parser

import graphsoft
from graphsoft import metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

SETS = ["uci_iris", "uci_ecoli", "uci_glass", "uci_satimage", "sc_worm_neuron_pca50", "graph_email_eu_core"]
COUNTS = [0, 10, 20, 50, 100, 200]
COLORS = ["#2f6f8f", "#b5533c", "#7a8b3a", "#8a5a9e", "#c9973a", "#5a5f66"]


def read_sets(directory):
    """Yield names, graphs and classes."""
    if directory is None:
        for name in ("iris.csv", "digits.csv.gz"):
            found = bundled(name)
            yield name.partition(".")[0], graphsoft.knn_graph(found.data), found.labels
        return
    for name in SETS:
        X, y = labeled(directory, name)
        yield name, graphsoft.as_graph(X) if name.startswith("graph") else graphsoft.knn_graph(X), y


def sizes_for(points, classes):
    """Choose three levels, the top one with a cluster for each class."""
    middle = max(2 * classes, 20)
    finest = min(100, points // 3)
    return [finest, middle, classes] if finest > middle else [middle, classes]


def known_labels(y, count, rng):
    """Draw points whose labels are known; return arguments for `hierarchy`, and all pairs of these points."""
    points = rng.choice(len(y), count, replace=False)
    one, two = np.triu_indices(count, 1)
    return {"known": {int(point): y[point] for point in points}}, points[one], points[two]


def known_pairs(y, count, rng):
    """Draw pairs of points that are known to belong together or apart; return arguments, and the pairs."""
    one, two = rng.integers(len(y), size=(2, count))
    one, two = one[one != two], two[one != two]
    same = y[one] == y[two]
    pairs = np.column_stack([one, two])
    return {"must_link": pairs[same].tolist(), "cannot_link": pairs[~same].tolist()}, one, two


def measure(graph, y, draw_known, draws):
    """Return the adjusted Rand index over the other points and the share of pairs respected, (counts, 2).

    They are NaN where more than half of the points would be known.
    """
    sizes = sizes_for(len(y), len(np.unique(y)))
    scores = np.full((len(COUNTS), draws, 2), np.nan)
    for row, count in enumerate(count for count in COUNTS if count <= len(y) // 2):
        for draw in range(draws):
            arguments, one, two = draw_known(y, count, np.random.default_rng(draw))
            labels = graphsoft.hierarchy(graph, sizes, **arguments)[-1].labels
            others = np.setdiff1d(np.arange(len(y)), np.concatenate([one, two]))
            respected = (labels[one] == labels[two]) == (y[one] == y[two])
            scores[row, draw] = (
                metrics.adjusted_rand(y[others], labels[others]),
                respected.mean() if len(respected) else np.nan,
            )
    return scores.mean(axis=1)


def children(h):
    """Count the clusters under each cluster of the second level."""
    return sorted((len(node.children) for node in h.tree.nodes if node.level == 1), reverse=True)


def compare_limits(name, graph, y):
    """Print the numbers of children and the scores, without limits and within limits."""
    sizes = sizes_for(len(y), len(np.unique(y)))
    ratios = [below / above for below, above in pairwise(sizes)]
    limits = {"min_children": min(2, int(min(ratios))), "max_children": ceil(1.5 * max(ratios))}
    counts = []
    for wanted in ({}, limits):
        h = graphsoft.hierarchy(graph, sizes, **wanted)
        counts.append(children(h))
        said = ", ".join(f"{key}={value}" for key, value in wanted.items()) or "no limits"
        found = metrics.adjusted_rand(y, h[-1].labels)
        print(f"{name:22} {said:32} ARI {found:.2f}, children {' '.join(map(str, counts[-1]))}")
    return counts


def draw(results, limited, path):
    """Draw scores against what is known; and for one set, `limited`, the numbers of children."""
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
    parser = page_parser(__doc__, data="folder of labeled sets", quick="one draw of what is known")
    options = parser.parse_args()
    sets = list(read_sets(options.data))
    print(f"{'ARI of others / respected':31}" + "".join(f"{count:>12}" for count in COUNTS))
    results = {}
    for name, graph, y in sets:
        results[name] = {}
        for way, draw_known in (("labels", known_labels), ("pairs", known_pairs)):
            scores = results[name][way] = measure(graph, y, draw_known, 1 if options.quick else 5)
            cells = [f"{ari:.2f} / {respected:.2f}".replace("nan", "-   ") for ari, respected in scores]
            print(f"{name:22} {way:8}" + "".join(f"{cell:>12}" for cell in cells))
    print()
    children_of = {name: compare_limits(name, graph, y) for name, graph, y in sets}
    changed = max(children_of, key=lambda name: np.abs(np.subtract(*children_of[name])).sum())
    draw(results, (changed, children_of[changed]), options.output / "known_pairs.png")


if __name__ == "__main__":
    main()
