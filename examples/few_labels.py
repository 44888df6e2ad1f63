"""Learn classes from few labels, along the edges of a graph and by way of the clusters of a hierarchy.

    python examples/few_labels.py [--data DIR] [--output DIR] [--quick]

Section 4.3 of "Soft Clustering on Graphs" makes two claims: walks of several steps always classify better
than the graph itself, and learning on clusters is much faster than on points. This script measures both. A
learner is given the labels of 4 to 160 points: one point of each class, and the others chosen at random. Its
accuracy is measured on all other points, for walks of 1, 4, 16 and 64 steps and for each level of the
hierarchy. The table shows the mean accuracy over several draws, the standard deviation, and the shortest time
of one solution.

All of it is done twice, because the benefit of longer steps depends on how far a walk goes anyway. With the
default chance of 0.02 to stop after each step a walk takes 50 steps on average. With a chance of 0.5 it takes
two.

``DIR`` holds ``usps_1234.npz`` (``X``, ``y``) and ``ng4_paper.npz`` (``data, indices, indptr, shape, y``).
Without ``--data`` the set is the digits that come with the project.
"""

import time

import matplotlib as mpl
import numpy as np
from papers.sets import bundled, labeled, page_parser

import graphsoft

mpl.use("Agg")
import matplotlib.pyplot as plt

STOPS = {0.02: "a walk stops with chance 0.02", 0.5: "a walk stops with chance 0.5"}
STEPS = [1, 4, 16, 64]
COUNTS = [4, 8, 16, 40, 80, 160]


def read_sets(directory):
    """Yield name, features, classes, metric, and the sizes of the levels."""
    if directory is None:
        print("no --data: the bundled digits take the place of USPS, and the newsgroups are skipped\n")
        digits = bundled("digits.csv.gz")
        yield "Bundled digits", digits.data, digits.labels, "euclidean", [100, 20, 10]
        return
    yield "USPS 1-4", *labeled(directory, "usps_1234"), "euclidean", [100, 20, 10, 4]
    yield "Four newsgroups", *labeled(directory, "ng4_paper"), "cosine", [100, 20, 4]


def draw_labels(truth, count, rng):
    """Choose points to label: one of each class, and the others at random."""
    first = [rng.choice(np.flatnonzero(truth == each)) for each in np.unique(truth)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(truth)), first))[: max(count - len(first), 0)]
    return np.concatenate([first, rest]).astype(int)


def learners(h):
    """Name the ways to walk, each with its arguments for `propagate`."""
    ways = {f"{steps} step{'s' * (steps > 1)}": {"steps": steps} for steps in STEPS}
    for level, each in enumerate(h):
        ways[f"{each.memberships.shape[1]} clusters"] = {"level": level}
    return ways


def measure(h, truth, draws, stop):
    """Return the ways, the counts, accuracies (ways, counts, draws), and seconds of one solution (ways)."""
    counts = [count for count in COUNTS if count >= len(np.unique(truth))]
    ways = learners(h)
    accuracy, seconds = np.zeros((len(ways), len(counts), draws)), np.full(len(ways), np.inf)
    rng = np.random.default_rng(0)
    for column, count in enumerate(counts):
        for draw in range(draws):
            known = draw_labels(truth, count, rng)
            others = np.setdiff1d(np.arange(len(truth)), known)
            labels = dict(zip(known.tolist(), truth[known].tolist(), strict=True))
            for row, way in enumerate(ways.values()):
                began = time.perf_counter()
                found = graphsoft.propagate(h, labels, stop=stop, **way)
                seconds[row] = min(seconds[row], time.perf_counter() - began)
                accuracy[row, column, draw] = (found.labels[others] == truth[others]).mean()
    return list(ways), counts, accuracy, seconds


def print_table(names, counts, accuracy, seconds):
    """Print mean accuracies with their standard deviations, and how much faster each way is than one step."""
    print(f"{'labels':>12}" + "".join(f"{count:>13}" for count in counts) + "        ms   times faster")
    for name, row, each in zip(names, accuracy, seconds, strict=True):
        cells = "".join(f"  {one.mean():.3f} ±{one.std():.3f}" for one in row)
        print(f"{name:>12}{cells} {each * 1e3:9.2f} {seconds[0] / each:14.1f}")


def compare(names, accuracy):
    """Print in how many of the draws each way was better than one step, or worse."""
    for name, row in zip(names[1:], accuracy[1:], strict=True):
        better, worse = (row > accuracy[0]).sum(), (row < accuracy[0]).sum()
        gain = (row - accuracy[0]).mean()
        print(
            f"{name:>12}: {gain:+.3f}, better than 1 step in {better} of {row.size} draws, worse in {worse}"
        )


def draw_curves(panels, name, runs):
    """Draw accuracy against labels, a panel for each chance to stop."""
    for panel, (stop, (names, counts, accuracy, _)) in zip(panels, runs.items(), strict=True):
        few = sum("step" in each for each in names)
        blues = plt.cm.Blues(np.linspace(0.45, 1, few))
        oranges = plt.cm.Oranges(np.linspace(0.9, 0.4, len(names) - few))
        for label, row, color in zip(names, accuracy, [*blues, *oranges], strict=True):
            style = "-" if "step" in label else "--"
            panel.plot(counts, row.mean(axis=1), style, color=color, marker="o", ms=4, label=label)
        panel.set_xscale("log")
        panel.set_xticks(counts, counts)
        panel.minorticks_off()
        panel.set_title(f"{name}: {STOPS[stop]}", fontsize=10)
        panel.set_xlabel("labeled points")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("accuracy on the other points")
    panels[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def main():
    parser = page_parser(__doc__, data="folder of the two sets", quick="3 draws instead of 10")
    options = parser.parse_args()
    results = {}
    for name, X, truth, metric, levels in read_sets(options.data):
        h = graphsoft.hierarchy(X, levels, metric=metric)
        graphsoft.propagate(h, {0: 0}, level=0)  # compiles, which is not to be timed
        results[name] = {stop: measure(h, truth, 3 if options.quick else 10, stop) for stop in STOPS}
        for stop, (names, counts, accuracy, seconds) in results[name].items():
            print(f"## {name}, {h}; {STOPS[stop]}\n")
            print_table(names, counts, accuracy, seconds)
            compare(names, accuracy)
            print()
    figure, panels = plt.subplots(
        len(results),
        len(STOPS),
        figsize=(11.5, 4 * len(results)),
        squeeze=False,
        sharey="row",
        layout="constrained",
    )
    for row, (name, runs) in zip(panels, results.items(), strict=True):
        draw_curves(row, name, runs)
    figure.savefig(options.output / "few_labels.png", dpi=120)
    print(f"picture: {options.output / 'few_labels.png'}")


if __name__ == "__main__":
    main()
