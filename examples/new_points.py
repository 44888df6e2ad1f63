"""Where new points belong: scores of held-out points, seconds for many of them, and a map of the plane.

    python examples/new_points.py [--data DIR] [--output DIR] [--quick]

A fifth of each set is held out, and a hierarchy is fitted on the rest. ``h.predict`` puts the held-out points
into its clusters one by one. ``h.partial_update`` takes them in and refines the clusters near them. The table
shows how their clusters on the top level agree with their classes (adjusted Rand index), beside a hierarchy
fitted on everything. Numbers are means over several draws. The columns of the old points show whether a
difference comes from the new points or from the fit on fewer points.

Then 10,000 new points of 784 dimensions are put into a hierarchy of 70,000, which takes a minute or two to
fit. ``--quick`` takes a tenth of both.

The picture, ``new_points.png``, has two sides. On the left every place in the plane has the mean color of the
clusters that a point there would belong to; pale places are torn. On the right the held-out points of the
largest set are grouped by the probability that `predict_proba` gives to their likeliest cluster. Bars show
how many of them a fit on everything has in the same cluster, which is the one that holds most of that
cluster's old points.

``DIR`` holds labeled sets as ``.npz`` files: ``X, y``, or ``data, indices, indptr, shape, y`` of sparse
features, or of a graph if the name starts with ``graph_``. Without ``--data`` the sets are those of the
project.
"""

import time
import warnings

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.sets import bundled, labeled_sets, page_parser

import graphsoft
from graphsoft import metrics, patterns

mpl.use("Agg")
import matplotlib.pyplot as plt

COLORS = np.array(
    [[0.12, 0.47, 0.71], [0.89, 0.36, 0.10], [0.17, 0.60, 0.24], [0.58, 0.34, 0.70], [0.80, 0.60, 0.05]]
)


def bundled_sets():
    """Yield name, points, classes and metric of the sets that come with the project."""
    for name in ("digits.csv.gz", "iris.csv"):
        table = bundled(name)
        yield name.split(".")[0], table.data, table.labels, "euclidean"
    for name in ("rim", "bridge", "rings"):
        yield name, *patterns.make_pattern(name, 0), "euclidean"


def read_sets(directory):
    """Yield name, points, classes and metric; the metric of a graph is None."""
    for name, data, classes in labeled_sets(directory):
        metric = "cosine" if sp.issparse(data) else "euclidean"
        yield name, data, classes, None if name.startswith("graph_") else metric


def ladder(count, classes):
    """Choose sizes of levels for k classes: 100, max(2k, 20) and k, those below half the points."""
    sizes = {size for size in (100, max(2 * classes, 20), classes) if classes <= size < count // 2}
    return sorted(sizes, reverse=True) or [classes]


def fit(X, metric, levels):
    """Fit points, or a graph."""
    if metric is None:
        return graphsoft.hierarchy(X, levels)
    return graphsoft.hierarchy(X, levels, metric=metric, affinity="features")


def split(X, metric, seed):
    """Hold out a fifth; return the input of the fit, of `predict` and of `partial_update`, and the rows."""
    rng = np.random.default_rng(seed)
    held = np.sort(rng.choice(X.shape[0], X.shape[0] // 5, replace=False))
    rest = np.setdiff1d(np.arange(X.shape[0]), held)
    if metric is not None:
        return X[rest], X[held], X[held], rest, held
    order = np.concatenate([rest, held])
    return X[rest][:, rest], X[held][:, rest], X[held][:, order], rest, held


def held_out(X, classes, metric, seed):
    """Score one draw: a row of the table."""
    levels = ladder(X.shape[0], len(np.unique(classes)))
    old, new, taken, rest, held = split(X, metric, seed)
    whole, h = fit(X, metric, levels), fit(old, metric, levels)
    began = time.perf_counter()
    predicted = h.predict(new)
    between = time.perf_counter()
    grown = h.partial_update(taken)
    ended = time.perf_counter()
    count = len(rest)
    return [
        metrics.adjusted_rand(classes[held], whole[-1].labels[held]),
        metrics.adjusted_rand(classes[held], predicted),
        metrics.adjusted_rand(classes[held], grown[-1].labels[count:]),
        metrics.adjusted_rand(classes[rest], h[-1].labels),
        metrics.adjusted_rand(classes[rest], grown[-1].labels[:count]),
        float(np.mean(predicted == grown[-1].labels[count:])),
        metrics.adjusted_rand(whole[-1].labels[held], predicted),
        between - began,
        ended - between,
    ]


def print_scores(sets, draws):
    """Print a row for each set."""
    print(
        "adjusted Rand index of the top level with the classes; agree: points that predict and update\n"
        "put into the same cluster; like all: adjusted Rand index of predict with the fit on everything;\n"
        "s: seconds of predict, and of update"
    )
    print(f"{'':22}{'held-out points':>27}{'old points':>18}")
    columns = ("on all", "predict", "update", "fitted", "updated", "agree", "like all", "s", "s")
    print(f"{'set':22}" + "".join(f"{column:>9}" for column in columns))
    rows = []
    for name, X, classes, metric in sets:
        rows.append(np.mean([held_out(X, classes, metric, seed) for seed in range(draws)], axis=0))
        print(f"{name:22}" + "".join(f"{value:9.3f}" for value in rows[-1]))
    print(f"{'mean':22}" + "".join(f"{value:9.3f}" for value in np.mean(rows, axis=0)))


def clouds(count, rng, middles, axes):
    """Draw points of flat clouds, with these centers and directions."""
    members = np.sort(rng.integers(0, len(middles), count))
    points = np.empty((count, middles.shape[1]), dtype=np.float32)
    for cluster in range(len(middles)):
        rows = np.flatnonzero(members == cluster)
        inner = rng.standard_normal((len(rows), axes.shape[1]), dtype=np.float32)
        points[rows] = middles[cluster] + inner @ axes[cluster]
    return points


def print_seconds(old, new):
    """Time the fit of many points of 50 flat clouds, and what is done with new ones."""
    rng = np.random.default_rng(0)
    axes = rng.standard_normal((50, 12, 784), dtype=np.float32) / np.float32(np.sqrt(12))
    middles = rng.standard_normal((50, 784), dtype=np.float32) * np.float32(0.6)
    X, Y = clouds(old, rng, middles, axes), clouds(new, rng, middles, axes)
    steps = [time.perf_counter()]
    h = graphsoft.hierarchy(X, levels=[200, 50])
    for call in (lambda: h.predict(Y[:1]), lambda: h.predict(Y), lambda: h.predict(Y[:1])):
        steps.append(time.perf_counter())
        call()
    steps.append(time.perf_counter())
    h.partial_update(Y)
    steps.append(time.perf_counter())
    names = ("fit", "predict the first new point", f"predict {new:,}", "predict one", f"take in {new:,}")
    print(f"\n{old:,} points of 784 dimensions, seconds on {graphsoft.parallel.thread_count()} threads")
    for name, seconds in zip(names, np.diff(steps), strict=True):
        print(f"{name:30}{seconds:8.2f}")


def draw_map(axes):
    """Color the plane by the clusters that new points would belong to."""
    points, _ = patterns.make_pattern("rim", 0)
    h = graphsoft.hierarchy(points, levels=[40, 5])
    low, high = points.min(axis=0) - 0.15, points.max(axis=0) + 0.15
    x, y = (np.linspace(low[axis], high[axis], 300) for axis in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    shares = h.predict_proba(grid)
    sure = shares.max(axis=1).toarray().ravel()[:, None]
    colors = 1 - (1 - shares @ COLORS) * (0.15 + 0.5 * np.clip(2 * sure - 1, 0, 1))
    axes.imshow(colors.reshape(300, 300, 3), origin="lower", extent=(low[0], high[0], low[1], high[1]))
    axes.scatter(*points.T, s=7, c=COLORS[h[-1].labels], edgecolors="white", linewidths=0.3)
    axes.set(title="p(cluster | a new point here), top level", xticks=[], yticks=[], aspect="equal")


def draw_certainty(axes, name, X, classes, metric):
    """Show how often held-out points are in the cluster that a fit on everything has them in."""
    chances, right = [], []
    for seed in range(5):
        old, new, _, rest, held = split(X, metric, seed)
        levels = ladder(X.shape[0], len(np.unique(classes)))
        h, whole = fit(old, metric, levels), fit(X, metric, levels)
        shares = h.predict_proba(new)
        chances.append(shares.max(axis=1).toarray().ravel())
        # the two fits number their clusters differently: match each of h with where most of its points went
        counts = np.zeros((levels[-1], levels[-1]))
        np.add.at(counts, (h[-1].labels, whole[-1].labels[rest]), 1)
        right.append(counts.argmax(axis=1)[h.predict(new)] == whole[-1].labels[held])
    chances, right = np.concatenate(chances), np.concatenate(right)
    borders = np.array([0.0, 0.6, 0.8, 0.95, 0.999])
    place = np.searchsorted(borders, chances, side="right") - 1
    sizes = np.bincount(place, minlength=len(borders))
    met, sure = (np.bincount(place, each, len(borders)) / np.maximum(sizes, 1) for each in (right, chances))
    rows = np.flatnonzero(sizes)
    axes.bar(
        rows,
        met[rows],
        color=[0.55, 0.72, 0.85],
        width=0.7,
        label="same cluster by the fit on everything",
    )
    axes.hlines(sure[rows], rows - 0.25, rows + 0.25, color="black", linewidth=2, label="mean probability")
    for row in rows:
        axes.text(row, 0.02, f"{sizes[row]} points", ha="center", fontsize=8)
    axes.set_xticks(range(len(borders)), ["below 0.6", "0.6 to 0.8", "0.8 to 0.95", "0.95 to 0.999", "above"])
    axes.set(
        xlabel="probability of a held-out point's likeliest cluster",
        ylabel="share",
        ylim=(0, 1.18),
        title=f"{name}, a fifth held out five times",
    )
    axes.legend(loc="upper left", frameon=False, ncols=2, fontsize=9)


def main():
    """Print the tables and draw the picture."""
    parser = page_parser(
        __doc__, data="folder of labeled sets", quick="one draw, and a tenth of the large set"
    )
    options = parser.parse_args()

    # in bare graphs some held-out nodes have no edge to the others, which the library warns of each time
    warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)
    sets = list(bundled_sets() if options.data is None else read_sets(options.data))
    print_scores(sets, draws=1 if options.quick else 3)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    draw_map(left)
    draw_certainty(right, *max(sets, key=lambda each: each[1].shape[0]))
    figure.savefig(options.output / "new_points.png", dpi=120)
    print(f"\ndrawn to {options.output / 'new_points.png'}")
    print_seconds(*((7_000, 1_000) if options.quick else (70_000, 10_000)))


if __name__ == "__main__":
    main()
