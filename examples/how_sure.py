"""How sure is it? Look closely at a clustering of digits, and ask whether stable clusters are good ones.

    python examples/how_sure.py [--data DIR] [--output DIR] [--quick]

Prints, for the bundled digits: what each cluster of the top level is like, the images that are torn between
the two clusters which touch most, how stable clusters are when the edges of the graph are weighed anew, and
what changes with twice the neighbors. ``how_sure.png`` shows examples of every cluster, the pixels that set
it apart, and its stability.

Then it asks what stability is worth where the classes are known: whether stable clusters are purer (the rank
correlation over the clusters of a level), and whether points that keep their company, or have a large margin,
are more often of the class that most of their cluster are of: 0.5 would be chance, and 1 without exception.
``DIR`` holds labeled sets (``X`` or ``data, indices, indptr, shape``, and ``y``; names that begin with
``graph_`` are graphs). Without it they are bundled ones and patterns. Of ``ng4_paper.npz``, which has a
``vocab``, it also prints the words that set clusters apart.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.folder import folder
from scipy.stats import rankdata, spearmanr

import graphsoft
from graphsoft import patterns
from graphsoft.datasets import read

mpl.use("Agg")
import matplotlib.pyplot as plt

BUNDLED = Path(__file__).parents[1] / "data"
SIDE = 8  # pixels
PIXELS = [f"row {row} column {column}" for row in range(SIDE) for column in range(SIDE)]
INK = "#3b6ea5"


def look_at_digits(rounds, output):
    digits = read(BUNDLED / "digits.csv.gz", labels="label")
    h = graphsoft.hierarchy(digits.data, levels=[100, 20, 10])
    table = h.describe(names=PIXELS)
    print(f"{h}\n\n{table}\n")

    one, other = closest(table)
    torn = h.between(one, other, count=10)
    print(f"images between {one} and {other}, which touch most, and their memberships:\n{torn}\n")

    found = graphsoft.stability(h, rounds)
    print(f"{found}\n")

    wider = graphsoft.hierarchy(digits.data, levels=[100, 20, 10], n_neighbors=20)
    print(f"beside the clusters of 20 neighbors instead of 10:\n{h.compare(wider)}\n")

    output.mkdir(parents=True, exist_ok=True)
    path = output / "how_sure.png"
    draw(h, table, found, torn, digits).savefig(path, dpi=130)
    print(f"{path} written\n")


def closest(table):
    """Find the two clusters between which a step along an edge is the likeliest."""
    chances = {(row.id, id): chance for row in table for id, chance in row.neighbors}
    return max(chances, key=chances.get)


def draw(h, table, found, torn, digits):
    order = np.argsort(found.clusters[-1])
    apart = h.distinctive(count=SIDE**2, names=range(SIDE**2))
    figure = plt.figure(figsize=(10, 11.5))
    grid = figure.add_gridspec(
        len(order), 10, left=0.14, right=0.97, top=0.93, bottom=0.22, hspace=0.12, wspace=0.15
    )
    bars = figure.add_subplot(grid[:, 5:])
    for place, cluster in enumerate(order[::-1]):
        row = table[cluster]
        for column, point in enumerate(row.exemplars):
            show(figure.add_subplot(grid[place, column]), image_of(digits, point))
        pixels = np.zeros(SIDE**2)
        for pixel, score in apart[cluster]:
            pixels[pixel] = score
        axes = figure.add_subplot(grid[place, 3])
        show(axes, pixels.reshape(SIDE, SIDE), cmap="RdBu_r", vmin=-2, vmax=2)
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
    return np.asarray(digits.data[point]).reshape(SIDE, SIDE)


def show(axes, image, cmap="gray_r", **limits):
    axes.imshow(image, cmap=cmap, **limits)
    axes.set(xticks=[], yticks=[])


def look_at_words(path):
    with np.load(path, allow_pickle=False) as file:
        texts = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        h = graphsoft.hierarchy(texts, levels=[100, 20, 4], metric="cosine")
        print(f"words that set four clusters of {path.stem} apart:\n{h.distinctive(names=file['vocab'])}\n")


def labeled_sets(directory):
    """Yield name, what to cluster, classes."""
    if directory is None:
        for name in ("digits.csv.gz", "iris.csv"):
            found = read(BUNDLED / name, labels="label")
            yield name.split(".")[0], found.data, found.labels
        for name in patterns.PATTERNS:
            yield name, *patterns.make_pattern(name, rng=0)
        return
    for path in sorted(directory.glob("*.npz")):
        found = read(path, labels="y")
        if path.stem.startswith("graph_"):
            yield path.stem, graphsoft.as_graph(found.data, affinity="precomputed"), found.labels
        else:
            metric = "cosine" if sp.issparse(found.data) else "euclidean"
            yield path.stem, graphsoft.knn_graph(found.data, metric=metric), found.labels


def ladder(points, classes):
    """Sizes of the levels: 100, twice the classes or 20, and the classes, as far as there are points."""
    sizes = [classes]
    for size in (max(2 * classes, 20), 100):
        if sizes[0] < size < points:
            sizes.insert(0, size)
    return sizes


def worth(h, found, level, classes):
    """Correlate stability with purity; tell how well company and margin know who is in the right place."""
    counts = graphsoft.metrics.confusion(classes, one_column_each(h[level])).toarray()
    sizes = counts.sum(axis=0)
    several = sizes > 1
    pure = counts.max(axis=0)[several] / sizes[several]
    stable = found.clusters[level][several]
    alike = len(pure) < 3 or np.ptp(pure) == 0 or np.ptp(stable) == 0
    right = counts.argmax(axis=0)[h[level].labels] == np.unique(classes, return_inverse=True)[1]
    by_company, by_margin = (told_apart(each, right) for each in (found.points[level], h[level].margin))
    return [np.nan if alike else spearmanr(stable, pure)[0], by_company, by_margin]


def one_column_each(level):
    labels = level.labels
    return sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), level.memberships.shape)


def told_apart(score, right):
    """Compute how often one of the right has a larger score than one of the wrong; half of ties count."""
    good, bad = right.sum(), (~right).sum()
    if not good or not bad:
        return np.nan
    return (rankdata(score)[right].sum() - good * (good + 1) / 2) / (good * bad)


def ask_what_it_is_worth(directory, rounds):
    columns = ["stable ~ pure", "by company", "by margin"]
    print(f"{'set':22} {'clusters':>8}  " + "  ".join(columns))
    gathered, whole = {"finest": [], "middle": [], "top": []}, []
    for name, X, classes in labeled_sets(directory):
        h = graphsoft.hierarchy(X, ladder(len(classes), len(set(classes.tolist()))))
        found = graphsoft.stability(h, rounds)
        for level in range(len(h)):
            values = worth(h, found, level, classes)
            kind = "top" if level == len(h) - 1 else "finest" if level == 0 else "middle"
            gathered[kind].append(values)
            line(name if level == 0 else "", len(h[level].mass), values, columns)
        agreement = graphsoft.metrics.adjusted_rand(classes, h[-1].labels)
        whole.append([np.average(found.clusters[-1], weights=found.sizes[-1]), agreement])
    print("\nmeans over the sets where it can be told, and on how many of them it is above chance")
    for kind, rows in gathered.items():
        values = np.array(rows)
        line(f"{kind} level", "", np.nanmean(values, axis=0), columns)
        known = np.isfinite(values).sum(axis=0)
        above = (values > [0, 0.5, 0.5]).sum(axis=0)
        pairs = zip(above, known, columns, strict=True)
        print(" " * 33 + "  ".join(f"{f'{a} of {k}':>{len(c)}}" for a, k, c in pairs))
    print(
        "\nmean stability of the top level beside its adjusted Rand index, over the sets: "
        f"rank correlation {spearmanr(*np.transpose(whole))[0]:.2f}"
    )


def line(name, clusters, values, columns):
    cells = ("-" if np.isnan(value) else f"{value:.2f}" for value in values)
    padded = (cell.rjust(len(column)) for cell, column in zip(cells, columns, strict=True))
    print(f"{name:22} {clusters:>8}  " + "  ".join(padded))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=folder, help="a folder of labeled sets")
    parser.add_argument("--output", type=Path, default=Path("out"))
    parser.add_argument("--quick", action="store_true", help="3 rounds instead of 10")
    asked = parser.parse_args()
    rounds = 3 if asked.quick else 10
    look_at_digits(rounds, asked.output)
    if asked.data and (asked.data / "ng4_paper.npz").exists():
        look_at_words(asked.data / "ng4_paper.npz")
    ask_what_it_is_worth(asked.data, rounds)


if __name__ == "__main__":
    main()
