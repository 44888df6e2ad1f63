"""Learn classes from few labels, along the edges of a graph and by way of the clusters of a hierarchy.

    python examples/few_labels.py [--data DIR] [--output DIR] [--quick]

Section 4.3 of "Soft Clustering on Graphs" says that walks of several steps always lead to better
classification than the graph itself, and that learning on clusters is much faster than on points. Here a
learner is given the labels of 4 to 160 points, one of each class at least and the others by chance, and its
accuracy is taken over all other points: by walks along 1, 4, 16 and 64 edges at a time, and by way of each
level. It prints means over several draws and their spread, and the least time of one solution.

All of it twice, since what longer steps bring depends on how far a walk goes anyway: one that stops with a
chance of 0.02 each time, as is the default, goes 50 times on average, and one that stops with 0.5 twice.

``DIR`` holds ``usps_1234.npz`` (``X``, ``y``) and ``ng4_paper.npz`` (``data, indices, indptr, shape``,
``y``). Without it the set is the digits that come with the project.
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.folder import folder

import graphsoft
from graphsoft.datasets import read

mpl.use("Agg")
import matplotlib.pyplot as plt

BUNDLED = Path(__file__).parents[1] / "data" / "digits.csv.gz"
STOPS = {0.02: "a walk stops with chance 0.02", 0.5: "a walk stops with chance 0.5"}
STEPS = [1, 4, 16, 64]
COUNTS = [4, 8, 16, 40, 80, 160]


def read_sets(directory):
    """Yield name, features, classes, metric, and the sizes of the levels."""
    if directory is None:
        print("no --data: the bundled digits stand in for USPS, and the newsgroups are skipped\n")
        digits = read(BUNDLED, labels="label")
        yield "Bundled digits", digits.data, np.asarray(digits.labels), "euclidean", [100, 20, 10]
        return
    with np.load(directory / "usps_1234.npz", allow_pickle=False) as file:
        yield "USPS 1-4", file["X"], file["y"], "euclidean", [100, 20, 10, 4]
    with np.load(directory / "ng4_paper.npz", allow_pickle=False) as file:
        words = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        yield "Four newsgroups", words, file["y"], "cosine", [100, 20, 4]


def draw_labels(truth, count, rng):
    """Choose points to label: one of each class, the others by chance."""
    first = [rng.choice(np.flatnonzero(truth == each)) for each in np.unique(truth)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(truth)), first))[: max(count - len(first), 0)]
    return np.concatenate([first, rest]).astype(int)


def learners(h):
    """List the ways to walk, by name, as what `propagate` is to be told."""
    ways = {f"{steps} step{'s' * (steps > 1)}": {"steps": steps} for steps in STEPS}
    for level, each in enumerate(h):
        ways[f"{each.memberships.shape[1]} clusters"] = {"level": level}
    return ways


def measure(h, truth, draws, stop):
    """Return accuracies, (ways, counts, draws), and seconds of one solution, (ways)."""
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
    """Print mean accuracies, their spread over draws, and the seconds beside those of one step on points."""
    print(f"{'labels':>12}" + "".join(f"{count:>13}" for count in counts) + "        ms   times faster")
    for name, row, each in zip(names, accuracy, seconds, strict=True):
        cells = "".join(f"  {one.mean():.3f} ±{one.std():.3f}" for one in row)
        print(f"{name:>12}{cells} {each * 1e3:9.2f} {seconds[0] / each:14.1f}")


def compare(names, accuracy):
    """Tell in how many of the draws each way was better than one step, or worse."""
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
        blues, reds = (
            plt.cm.Blues(np.linspace(0.45, 1, few)),
            plt.cm.Oranges(np.linspace(0.9, 0.4, len(names) - few)),
        )
        for label, row, color in zip(names, accuracy, [*blues, *reds], strict=True):
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=folder, help="directory of the sets")
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="3 draws instead of 10")
    arguments = parser.parse_args()
    results = {}
    for name, X, truth, metric, levels in read_sets(arguments.data):
        h = graphsoft.hierarchy(X, levels, metric=metric)
        graphsoft.propagate(h, {0: 0}, level=0)  # compiles, so that no seconds count that
        results[name] = {stop: measure(h, truth, 3 if arguments.quick else 10, stop) for stop in STOPS}
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
    arguments.output.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.output / "few_labels.png", dpi=120)
    print(f"picture: {arguments.output / 'few_labels.png'}")


if __name__ == "__main__":
    main()
