"""How sure is it? Look closely at a clustering of digits, and ask whether stable clusters are good ones.

    python examples/how_sure.py [--data DIR] [--output DIR] [--quick]

The first part looks at the bundled digits. It describes each cluster of the top level, and prints the images
that are torn between the two clusters that touch most. Then it prints how stable the clusters are when the
weights of the edges change at random, and what changes with twice as many neighbors. ``how_sure.png`` shows
examples of every cluster, the pixels that set it apart, and its stability.

The second part asks what stability is worth where the classes are known. Are stable clusters purer? The
answer is the rank correlation over the clusters of a level. Are points that keep their company, or have a
large margin, more often of the class that most of their cluster belongs to? The answer is the chance that one
such point scores higher than a point of another class: 0.5 is no better than guessing, and 1 is without
exception.

``DIR`` holds labeled sets (``X`` or ``data, indices, indptr, shape``, and ``y``; names that begin with
``graph_`` are graphs). For ``ng4_paper.npz``, which has a ``vocab``, the script also prints the words that
set clusters apart. Without ``--data`` the sets are two bundled ones and the patterns.
"""

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.sets import bundled, labeled, labeled_sets, page_parser
from scipy.stats import rankdata, spearmanr

import graphsoft
from graphsoft import patterns

mpl.use("Agg")
import matplotlib.pyplot as plt

WIDTH = 8  # of an image, in pixels
PIXELS = [f"row {row} column {column}" for row in range(WIDTH) for column in range(WIDTH)]
INK = "#3b6ea5"


def look_at_digits(rounds, output):
    digits = bundled("digits.csv.gz")
    h = graphsoft.hierarchy(digits.data, levels=[100, 20, 10])
    table = h.describe(feature_names=PIXELS)
    print(f"{h}\n\n{table}\n")

    one, other = closest(table)
    torn = h.between(one, other, count=10)
    print(f"images between {one} and {other}, the two clusters that touch most:\n{torn}\n")

    found = graphsoft.stability(h, rounds)
    print(f"{found}\n")

    wider = graphsoft.hierarchy(digits.data, levels=[100, 20, 10], n_neighbors=20)
    print(f"beside the clusters from 20 neighbors in place of 10:\n{h.compare(wider)}\n")

    path = output / "how_sure.png"
    draw(h, table, found, torn, digits).savefig(path, dpi=130)
    print(f"{path} written\n")


def closest(table):
    """Find the two clusters between which a step along an edge is most likely."""
    chances = {(row.id, id): chance for row in table for id, chance in row.neighbors}
    return max(chances, key=chances.get)


def draw(h, table, found, torn, digits):
    order = np.argsort(found.clusters[-1])
    apart = h.distinctive(count=WIDTH**2, feature_names=range(WIDTH**2))
    figure = plt.figure(figsize=(10, 11.5))
    grid = figure.add_gridspec(
        len(order), 10, left=0.14, right=0.97, top=0.93, bottom=0.22, hspace=0.12, wspace=0.15
    )
    bars = figure.add_subplot(grid[:, 5:])
    for place, cluster in enumerate(order[::-1]):
        row = table[cluster]
        for column, point in enumerate(row.exemplars):
            show(figure.add_subplot(grid[place, column]), image_of(digits, point))
        pixels = np.zeros(WIDTH**2)
        for pixel, score in apart[cluster]:
            pixels[pixel] = score
        axes = figure.add_subplot(grid[place, 3])
        show(axes, pixels.reshape(WIDTH, WIDTH), cmap="RdBu_r", vmin=-2, vmax=2)
        first = figure.axes[1 + 4 * place]
        first.set_ylabel(
            f"{row.id}\n{row.size} images", rotation=0, ha="right", va="center", labelpad=8, fontsize=9
        )
    draw_bars(bars, found, table, order)
    heads = figure.axes[1].get_position(), figure.axes[4].get_position()
    figure.text(heads[0].x0, heads[0].y1 + 0.012, "most certain and most central", fontsize=9)
    figure.text(heads[1].x0, heads[1].y1 + 0.012, "set apart by*", fontsize=9)
    figure.text(0.14, 0.19, "* red: more ink than in the other clusters, blue: less", fontsize=8)
    draw_torn(figure, torn, digits)
    figure.suptitle("Ten clusters of handwritten digits, the most stable first", x=0.14, ha="left", y=0.985)
    return figure


def draw_bars(axes, found, table, order):
    stable, certain = found.clusters[-1][order], [table[cluster].certainty for cluster in order]
    axes.barh(range(len(order)), stable, height=0.55, color=INK, label="stability")
    axes.plot(certain, range(len(order)), "o", color="black", markersize=5, label="certainty of its points")
    for place, value in enumerate(stable):
        axes.text(0.02, place, f"{value:.2f}", color="white", va="center", fontsize=9)
    axes.set(xlim=(0, 1.02), ylim=(-0.5, len(order) - 0.5), yticks=[], xlabel="1 is always found again")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def draw_torn(figure, torn, digits):
    one, other = torn.clusters
    figure.text(
        0.14, 0.155, f"The images most torn between {one} and {other}, with their memberships", fontsize=10
    )
    width = 0.83 / 10
    for place, (point, (first, second)) in enumerate(zip(torn.points, torn.shares, strict=True)):
        axes = figure.add_axes((0.14 + place * width, 0.06, width * 0.85, 0.08))
        show(axes, image_of(digits, point))
        axes.set_xlabel(f"{first:.2f} | {second:.2f}", fontsize=8)


def image_of(digits, point):
    return np.asarray(digits.data[point]).reshape(WIDTH, WIDTH)


def show(axes, image, cmap="gray_r", **limits):
    axes.imshow(image, cmap=cmap, **limits)
    axes.set(xticks=[], yticks=[])


def look_at_words(directory, name):
    texts, _ = labeled(directory, name)
    with np.load(directory / f"{name}.npz", allow_pickle=False) as file:
        words = file["vocab"]
    h = graphsoft.hierarchy(texts, levels=[100, 20, 4], metric="cosine")
    print(f"words that set four clusters of {name} apart:\n{h.distinctive(feature_names=words)}\n")


def read_sets(directory):
    """Yield name, what to cluster, classes."""
    if directory is None:
        for name in ("digits.csv.gz", "iris.csv"):
            found = bundled(name)
            yield name.split(".")[0], found.data, found.labels
        for name in patterns.PATTERNS:
            yield name, *patterns.make_pattern(name, rng=0)
        return
    for name, data, classes in labeled_sets(directory):
        if name.startswith("graph_"):
            yield name, graphsoft.as_graph(data, affinity="precomputed"), classes
        else:
            metric = "cosine" if sp.issparse(data) else "euclidean"
            yield name, graphsoft.knn_graph(data, metric=metric), classes


def ladder(points, classes):
    """Choose sizes of levels: 100, 20 or twice the classes, and the classes, if there are more points."""
    sizes = [classes]
    for size in (max(2 * classes, 20), 100):
        if sizes[0] < size < points:
            sizes.insert(0, size)
    return sizes


def worth(h, found, level, classes):
    """Correlate stability with purity, and measure how well company and margin tell right points from wrong.

    A point is right if it is of the class that most of its cluster belongs to.
    """
    counts = graphsoft.metrics.confusion(classes, hard_memberships(h[level])).toarray()
    sizes = counts.sum(axis=0)
    several = sizes > 1
    pure = counts.max(axis=0)[several] / sizes[several]
    stable = found.clusters[level][several]
    no_correlation = len(pure) < 3 or np.ptp(pure) == 0 or np.ptp(stable) == 0
    right = counts.argmax(axis=0)[h[level].labels] == np.unique(classes, return_inverse=True)[1]
    by_company, by_margin = (chance_above(each, right) for each in (found.points[level], h[level].margin))
    return [np.nan if no_correlation else spearmanr(stable, pure)[0], by_company, by_margin]


def hard_memberships(level):
    """Give every point to the likeliest of its clusters."""
    labels = level.labels
    return sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), level.memberships.shape)


def chance_above(score, right):
    """Compute the chance that a right point scores higher than a wrong one; a tie counts one half."""
    good, bad = right.sum(), (~right).sum()
    if not good or not bad:
        return np.nan
    return (rankdata(score)[right].sum() - good * (good + 1) / 2) / (good * bad)


def ask_what_it_is_worth(directory, rounds):
    columns = ["stable ~ pure", "by company", "by margin"]
    print(f"{'set':22} {'clusters':>8}  " + "  ".join(columns))
    rows_of, top_levels = {"finest": [], "middle": [], "top": []}, []
    for name, X, classes in read_sets(directory):
        h = graphsoft.hierarchy(X, ladder(len(classes), len(set(classes.tolist()))))
        found = graphsoft.stability(h, rounds)
        for level in range(len(h)):
            values = worth(h, found, level, classes)
            kind = "top" if level == len(h) - 1 else "finest" if level == 0 else "middle"
            rows_of[kind].append(values)
            print_row(name if level == 0 else "", len(h[level].mass), values, columns)
        agreement = graphsoft.metrics.adjusted_rand(classes, h[-1].labels)
        top_levels.append([np.average(found.clusters[-1], weights=found.sizes[-1]), agreement])
    print("\nmeans over the sets that have a value, and how many of those are better than guessing")
    for kind, rows in rows_of.items():
        values = np.array(rows)
        print_row(f"{kind} level", "", np.nanmean(values, axis=0), columns)
        known = np.isfinite(values).sum(axis=0)
        above = (values > [0, 0.5, 0.5]).sum(axis=0)
        pairs = zip(above, known, columns, strict=True)
        print(" " * 33 + "  ".join(f"{f'{a} of {k}':>{len(c)}}" for a, k, c in pairs))
    print(
        "\nmean stability of the top level and its adjusted Rand index, over the sets: "
        f"rank correlation {spearmanr(*np.transpose(top_levels))[0]:.2f}"
    )


def print_row(name, clusters, values, columns):
    cells = ("-" if np.isnan(value) else f"{value:.2f}" for value in values)
    padded = (cell.rjust(len(column)) for cell, column in zip(cells, columns, strict=True))
    print(f"{name:22} {clusters:>8}  " + "  ".join(padded))


def main():
    parser = page_parser(__doc__, data="folder of labeled sets", quick="3 rounds instead of 10")
    options = parser.parse_args()
    rounds = 3 if options.quick else 10
    look_at_digits(rounds, options.output)
    if options.data and (options.data / "ng4_paper.npz").exists():
        look_at_words(options.data, "ng4_paper")
    ask_what_it_is_worth(options.data, rounds)


if __name__ == "__main__":
    main()
