"""Score graphsoft on sets of M. Gagolewski's suite by the suite's own protocol, beside Genie and others.

    python examples/benchmarks/gagolewski.py --data DIR [--neighbors 10] [--peers leiden,spectral]

``DIR`` holds ``.npz`` files with ``X`` and ``y``, named after the suite: ``fcps_*``, ``graves_*``,
``other_*``, ``sipu_*``, ``uci_*``, ``wut_*``. By the protocol, classes are numbered from 1 and 0 marks noise:
all points are clustered, into as many clusters as there are classes, and noise is left out of the scores.

Scores are the adjusted Rand index (ARI) and the normalized clustering accuracy (NCA). The NCA is the share of
each class that is in the cluster matched to it, mean over the classes, scaled so that chance has 0. Some sets
of the suite have several reference labelings, and the best score counts; these files hold the first only.

Genie has its defaults and needs genieclust. The others are those of ``quality.py``, on the same graphs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peers
from numpy.typing import NDArray
from quality import ALL_PAIRS, MAX_PAIRED, ladder
from scipy.optimize import linear_sum_assignment
from tables import bootstrap, markdown

import graphsoft
from graphsoft import metrics

FOLDERS = ("fcps", "graves", "other", "sipu", "uci", "wut")
NOISE = 0
Labels = NDArray[Any]


def normalized_accuracy(classes: Labels, labels: Labels) -> float:
    """Return the normalized clustering accuracy.

    >>> normalized_accuracy(np.array([1, 1, 2, 2]), np.array([5, 5, 6, 6]))
    1.0
    >>> normalized_accuracy(np.array([1, 1, 2, 2]), np.array([5, 6, 5, 6]))
    0.0
    """
    table = metrics.confusion(classes, labels).toarray()
    shares = table / table.sum(axis=1, keepdims=True)
    rows, columns = linear_sum_assignment(-shares)
    chance = 1.0 / len(shares)
    return float((shares[rows, columns].sum() / len(shares) - chance) / (1.0 - chance))


def genie(features: NDArray[Any], k: int) -> Labels:
    """Genie with its defaults."""
    from genieclust import Genie

    return np.asarray(Genie(n_clusters=k).fit_predict(features))


def run_set(path: Path, neighbors: int, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Score everything on one set: for each method the ARI and the NCA."""
    with np.load(path, allow_pickle=False) as file:
        features, classes = np.asarray(file["X"], dtype=np.float64), file["y"]
    counted = classes != NOISE
    k, graph = len(np.unique(classes[counted])), graphsoft.knn_graph(features, neighbors)
    found = {
        "graphsoft": graphsoft.hierarchy(graph, ladder(len(classes), k))[-1].labels,
        "genie": genie(features, k),
    }
    for name in names:
        if name != ALL_PAIRS or len(classes) <= MAX_PAIRED:
            found[name] = peers.run(name, graph.adjacency, features, k)
    scores = dict.fromkeys(("graphsoft", "genie", *names), (np.nan, np.nan))
    for name, labels in found.items():
        pair = classes[counted], np.asarray(labels)[counted]
        scores[name] = metrics.adjusted_rand(*pair), normalized_accuracy(*pair)
    return scores


def table(scores: dict[str, dict[str, tuple[float, float]]], place: int) -> str:
    """Write one score of all methods, and how much graphsoft is ahead."""
    methods = list(next(iter(scores.values())))
    lines = [[name, *(f"{row[method][place]:.3f}" for method in methods)] for name, row in scores.items()]
    columns = {method: [row[method][place] for row in scores.values()] for method in methods}
    for name, summary in (("mean", np.nanmean), ("median", np.nanmedian)):
        lines.append([name, *(f"{summary(column):.3f}" for column in columns.values())])
    text = [markdown(["set", *methods], lines)]
    for method in methods[1:]:
        differences = np.subtract(columns["graphsoft"], columns[method])
        mean, low, high = bootstrap(differences[~np.isnan(differences)])
        text.append(f"graphsoft less {method}: {mean:+.3f} [{low:+.3f}, {high:+.3f}]")
    return "\n\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of sets")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--peers", default="leiden,spectral,paris,ward_free,kmeans")
    arguments = parser.parse_args()
    names = [each for each in arguments.peers.split(",") if each]
    scores = {}
    paths = [path for folder in arguments.data for path in folder.glob("*.npz")]
    for path in sorted(paths, key=lambda path: path.stem):
        if path.stem.split("_")[0] in FOLDERS:
            scores[path.stem] = run_set(path, arguments.neighbors, names)
            print(path.stem, file=sys.stderr, flush=True)
    for place, score in enumerate(("ARI", "NCA")):
        print(f"## {score}, {len(scores)} sets\n\n{table(scores, place)}\n")


if __name__ == "__main__":
    main()
