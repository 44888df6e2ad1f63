"""Rerun the experiments of "Soft Clustering on Graphs": hierarchies by relation factorization.

    python examples/papers/001.py [--data DIR] [--output DIR] [--quick]

Digits 1 to 4 of USPS and four newsgroups are clustered by five methods. The script prints confusion matrices
and normalized mutual information (by the larger of the two entropies). The paper shows the latter as bars
without numbers; the published numbers here are computed from its confusion matrices. "Soft HC" is the paper's
algorithm, where each level clusters the cluster graph below it. "polished" refines every level on the graph
of the points, which is the default of `graphsoft.hierarchy`. The last figure is the hierarchy of 100, 20, 10
and 4 clusters of the digits, of section 4.1.

``DIR`` holds ``usps_1234.npz`` (``X``, ``y``) and ``ng4_paper.npz`` (``data, indices, indptr, shape, y``),
tf-idf of 7455 words, where the paper has 8014. Without ``--data`` the digits 1 to 4 are those bundled with
the project, of 8 x 8 pixels, which the paper does not have. Linkage and k-means look at pixels and words,
linkage by the cosine of two documents. All other methods look at the graph of the 10 nearest neighbors.
"""

import time
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from scipy.optimize import isotonic_regression
from sets import bundled, labeled, page_parser

import graphsoft
from graphsoft import metrics
from graphsoft.methods import METHODS

mpl.use("Agg")
import matplotlib.pyplot as plt

# for the figure of the hierarchy, finest level first: rows and columns of images, their size, their height
SHAPES, SIZES, HEIGHTS = [(2, 1), (2, 2), (2, 3), (3, 5)], [0.95, 1.9, 1.9, 1.9], [0.0, 6.0, 13.0, 21.0]
SOFT, POLISHED = "Soft HC", "Soft HC, polished"
NAMES = {
    "Single link": "single-linkage",
    "Complete link": "complete-linkage",
    "Normalized cut": "normalized-cut",
    SOFT: None,
    POLISHED: None,
    "K-means": "k-means",
}
# classes in rows, clusters in columns; the paper does not print complete link of the newsgroups
PUBLISHED = {
    "USPS 1-4": {
        "Single link": [[1269, 0, 0, 0], [927, 1, 0, 1], [823, 0, 1, 0], [852, 0, 0, 0]],
        "Complete link": [[1266, 0, 3, 0], [584, 344, 1, 0], [440, 381, 3, 0], [440, 5, 300, 107]],
        "Normalized cut": [[635, 630, 1, 3], [2, 4, 744, 179], [2, 1, 817, 4], [10, 6, 1, 835]],
        SOFT: [[1254, 3, 8, 4], [1, 886, 33, 9], [1, 4, 816, 3], [4, 8, 2, 838]],
        "K-means": [[1265, 1, 0, 3], [17, 720, 95, 97], [10, 9, 796, 9], [58, 20, 0, 774]],
    },
    "Four newsgroups": {
        "Single link": [[987, 1, 0, 0], [992, 0, 1, 0], [991, 0, 0, 1], [997, 0, 0, 0]],
        "Normalized cut": [[858, 98, 30, 2], [79, 893, 16, 5], [44, 33, 875, 40], [11, 8, 893, 85]],
        SOFT: [[772, 182, 13, 21], [42, 934, 5, 12], [15, 33, 843, 101], [7, 21, 11, 958]],
        "K-means": [[978, 9, 1, 0], [992, 0, 1, 0], [992, 0, 0, 0], [963, 0, 24, 10]],
    },
}


def read_sets(directory):
    """Yield name, features, classes, metric, and the sizes of the levels."""
    if directory is None:
        print("no --data: the bundled digits take the place of USPS, and the newsgroups are skipped\n")
        digits = bundled("digits.csv.gz")
        few = (digits.labels >= 1) & (digits.labels <= 4)
        yield "Bundled digits 1-4", digits.data[few], digits.labels[few], "euclidean", [100, 20, 10, 4]
        return
    yield "USPS 1-4", *labeled(directory, "usps_1234"), "euclidean", [100, 20, 10, 4]
    yield "Four newsgroups", *labeled(directory, "ng4_paper"), "cosine", [100, 20, 4]


def cluster(X, metric, levels, quick):
    """Return the labels that every method finds for four clusters, and the polished hierarchy."""
    labels, hierarchies = {}, {}
    for name, key in NAMES.items():
        began = time.perf_counter()
        if key is None:
            polish = name == POLISHED
            hierarchies[name] = graphsoft.hierarchy(X, levels, metric=metric, polish=polish)
            labels[name] = hierarchies[name][-1].labels
        else:
            method = METHODS[key]
            if quick and key == "k-means":
                method = replace(method, starts=2)
            labels[name] = graphsoft.cluster(X, levels[-1], method, metric=metric).labels
        print(f"{name}: {time.perf_counter() - began:.1f} s")
    return labels, hierarchies[POLISHED]


def points_of(table):
    """List a class and a cluster for every point that a confusion matrix counts."""
    table = np.asarray(table)
    rows, columns = np.indices(table.shape)
    return np.repeat(rows.ravel(), table.ravel()), np.repeat(columns.ravel(), table.ravel())


def table_of(truth, labels):
    """Write the confusion matrix as lines of text, clusters in the order of the classes they match best."""
    table = metrics.matched(truth, labels).toarray()
    return ["".join(f"{count:6d}" for count in row) for row in table]


def scores(truth, labels):
    return metrics.nmi(truth, labels, normalizer="max"), metrics.accuracy(truth, labels)


def print_tables(name, truth, labels):
    """Print published confusion matrices and ours side by side; return the NMI of both."""
    bars = {}
    print(f"\n## {name}: classes in rows, matched clusters in columns\n")
    for method, found in labels.items():
        published = PUBLISHED.get(name, {}).get(method)
        theirs = None if published is None else points_of(published)
        left = ["-"] * 4 if theirs is None else table_of(*theirs)
        ours = scores(truth, found)
        bars[method] = (np.nan if theirs is None else scores(*theirs)[0], ours[0])
        heads = [
            "published"
            if theirs is None
            else "published: NMI {:.3f}, accuracy {:.3f}".format(*scores(*theirs))
        ]
        heads.append("ours: NMI {:.3f}, accuracy {:.3f}".format(*ours))
        print(f"{method}\n  {heads[0]:40s}{heads[1]}")
        for theirs_row, our_row in zip(left, table_of(truth, found), strict=False):
            print(f"  {theirs_row:40s}{our_row}")
        print()
    return bars


def draw_bars(bars, path):
    """Draw the NMI of all methods, published and ours, one panel for each set."""
    figure, panels = plt.subplots(1, len(bars), figsize=(6.2 * len(bars), 4), squeeze=False, sharey=True)
    for panel, (name, both) in zip(panels[0], bars.items(), strict=True):
        theirs, ours = np.array(list(both.values())).T
        at, apart = np.arange(len(both)), 0.0 if np.isnan(theirs).all() else 0.2
        if apart:
            draw_column(panel, at - apart, theirs, "#b8bcc4", "published")
        draw_column(panel, at + apart, ours, "#2f6f9f", "graphsoft")
        names = [each.replace(", ", ",\n") if "," in each else each.replace(" ", "\n") for each in both]
        panel.set_xticks(at, names, fontsize=9)
        panel.set_title(name)
        panel.set_ylim(0, 1.05)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("normalized mutual information")
    panels[0, -1].legend(frameon=False, loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_column(panel, at, values, color, label):
    """Draw bars with their values; where the paper has no value it says n/a."""
    heights = np.nan_to_num(values)
    panel.bar(at, heights, 0.38, color=color, label=label)
    for x, height, value in zip(at, heights, values, strict=True):
        text = "n/a" if np.isnan(value) else f"{value:.2f}"
        panel.text(x, height + 0.01, text, ha="center", va="bottom", fontsize=8)


def places(h):
    """List the clusters of every level from left to right, and place them so that none overlap."""
    names = [[] for _ in h]
    waiting = list(reversed(h.tree.root.children))
    while waiting:  # depth first, so that siblings stay side by side
        node = h.tree.find(waiting.pop())
        names[node.level].append(node)
        waiting += reversed(node.children)
    place = {node.id: float(x) for x, node in enumerate(names[0])}
    for level, (_, columns), size in zip(names[1:], SHAPES[1:], SIZES[1:], strict=True):
        # near the middle of the children, but far enough apart for the pictures
        shifts = np.arange(len(level)) * (columns * size + 0.3)
        middles = [np.mean([place[child] for child in node.children] or [0.0]) for node in level]
        room = isotonic_regression(np.array(middles) - shifts).x + shifts
        place |= {node.id: float(x) for node, x in zip(level, room, strict=True)}
    return names, place


def most_certain(level, index, count):
    """Return up to `count` points that most certainly belong to a cluster."""
    share = level.memberships[:, [index]].toarray().ravel() - 1e-6 * level.entropy
    best = np.argsort(-share, kind="stable")[:count]
    return best[share[best] > 0]


def draw_cluster(axes, node, depth, x, points, X):
    """Draw the frame of a cluster and its images; `x` is its middle."""
    width, size, (rows, columns) = int(np.sqrt(X.shape[1])), SIZES[depth], SHAPES[depth]
    left, bottom, top = x - columns * size / 2, HEIGHTS[depth], HEIGHTS[depth] + rows * size
    for number, point in enumerate(points):
        across, down = left + number % columns * size, top - number // columns * size
        extent = (across, across + size, down - size, down)
        axes.imshow(X[point].reshape(width, width), cmap="Greys", extent=extent, zorder=2)
    frame = plt.Rectangle(
        (left, bottom), columns * size, rows * size, fill=False, color="#2f6f9f", lw=0.6, zorder=3
    )
    axes.add_patch(frame)


def draw_tree(h, X, path):
    """Draw the levels one below the other, each cluster as the images that most certainly belong to it."""
    names, place = places(h)
    figure, axes = plt.subplots(figsize=(20, 5.4))
    for depth, level in enumerate(names):
        for node in level:
            points = most_certain(h[depth], node.index, int(np.prod(SHAPES[depth])))
            draw_cluster(axes, node, depth, place[node.id], points, X)
            for child in node.children:
                top = HEIGHTS[depth - 1] + SHAPES[depth - 1][0] * SIZES[depth - 1]
                axes.plot(
                    [place[node.id], place[child]], [HEIGHTS[depth], top], color="#9aa0aa", lw=0.7, zorder=1
                )
        middle = HEIGHTS[depth] + SHAPES[depth][0] * SIZES[depth] / 2
        axes.text(-3, middle, f"{len(level)} clusters", ha="right", va="center", fontsize=12)
    axes.set_xlim(-13, max(place.values()) + 6)
    axes.set_ylim(-0.5, HEIGHTS[-1] + SHAPES[-1][0] * SIZES[-1] + 0.5)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_title(
        "The images that most certainly belong to each cluster; lines lead to the likeliest parent"
    )
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main():
    parser = page_parser(
        __doc__, data="folder of the two sets", quick="fewer starts of k-means", output="out/papers"
    )
    options = parser.parse_args()
    bars = {}
    for name, X, truth, metric, levels in read_sets(options.data):
        labels, h = cluster(X, metric, levels, options.quick)
        bars[name] = print_tables(name, truth, labels)
        if not sp.issparse(X):
            draw_tree(h, X, options.output / "001_hierarchy.png")
    draw_bars(bars, options.output / "001_nmi.png")
    print(f"pictures: {options.output}/001_hierarchy.png, {options.output}/001_nmi.png")


if __name__ == "__main__":
    main()
