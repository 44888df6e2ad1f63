"""Ask for twenty ladders of levels on every set, and compare the top levels, which have the true number.

    python examples/benchmarks/ladders.py --data DIR [--data DIR] [--sets a,b] [--neighbors 10] [--out FILE]

``DIR`` holds labeled sets as for `quality.py`. Sets of more than 5,000 points are left out, and so are
ladders that are impossible for a set, because their sizes do not fall. The levels below should not ruin the
top level: no ladder should be more than 0.03 behind the best one, mean over the sets.

Two ladders are compared on the sets for which both are possible. The best ladder is the one with the largest
mean lead over the mean of all ladders of a set.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tables import markdown

import graphsoft
from graphsoft import metrics
from graphsoft.datasets import read

MOST_POINTS = 5000
MOST_BEHIND = 0.03


def halving(size: int, k: int) -> list[int]:
    """Halve a size down to k, without a step to less than 1.5 k.

    >>> halving(100, 10)
    [100, 50, 25, 10]
    """
    steps = [size >> step for step in range(size.bit_length())]
    return [*(step for step in steps if step >= 1.5 * k), k]


# Sizes of levels for n points in k classes.
LADDERS: dict[str, Callable[[int, int], list[int]]] = {
    "k": lambda n, k: [k],
    "k+1, k": lambda n, k: [k + 1, k],
    "k+3, k+2, k+1, k": lambda n, k: [k + 3, k + 2, k + 1, k],
    "2k, k": lambda n, k: [2 * k, k],
    "4k, 2k, k": lambda n, k: [4 * k, 2 * k, k],
    "10k, k": lambda n, k: [10 * k, k],
    "100, k": lambda n, k: [100, k],
    "100, max(2k, 20), k": lambda n, k: [100, max(2 * k, 20), k],
    "101, 100, k": lambda n, k: [101, 100, k],
    "500, k": lambda n, k: [500, k],
    "500, 200, 100, 50, k": lambda n, k: [500, 200, 100, 50, k],
    "n/10, n/20, k": lambda n, k: [n // 10, n // 20, k],
    "n/4, k": lambda n, k: [n // 4, k],
    "n/2, k": lambda n, k: [n // 2, k],
    "n/2, n/2-1, k": lambda n, k: [n // 2, n // 2 - 1, k],
    "n-100, k": lambda n, k: [n - 100, k],
    "n-1, k": lambda n, k: [n - 1, k],
    "n, k": lambda n, k: [n, k],
    "halving from n/4": lambda n, k: halving(n // 4, k),
    "halving from n-1": lambda n, k: halving(n - 1, k),
}

Results = dict[str, dict[str, float]]  # by set, then by ladder; a ladder that is impossible is missing


@dataclass(frozen=True)
class LabeledGraph:
    """A graph, and the class of every point."""

    name: str
    graph: graphsoft.Graph
    classes: NDArray[Any]


def possible(sizes: Sequence[int], n: int) -> bool:
    """Tell whether sizes fall, from at most n.

    >>> possible([100, 20, 3], 150), possible([100, 20, 3], 80), possible([20, 30], 150)
    (True, False, False)
    """
    return sizes[0] <= n and all(size > above for size, above in pairwise(sizes))


def read_graphs(folders: Sequence[Path], wanted: Sequence[str], neighbors: int) -> Iterator[LabeledGraph]:
    """Read the labeled sets that are small enough, or only the wanted ones, and make their graphs."""
    for path in (path for folder in folders for path in sorted(folder.glob("*.npz"))):
        if wanted and path.stem not in wanted:
            continue
        with np.load(path, allow_pickle=False) as file:
            if "y" not in file or len(file["y"]) > MOST_POINTS:
                continue
        found = read(path, labels="y")
        if path.stem.startswith("graph_"):
            graph = graphsoft.as_graph(found.data, affinity="precomputed")
        else:
            metric = "cosine" if sp.issparse(found.data) else "euclidean"
            graph = graphsoft.knn_graph(found.data, neighbors, metric=metric)
        yield LabeledGraph(path.stem, graph, found.labels)


def run(item: LabeledGraph) -> dict[str, float]:
    """Score the top level of every ladder that is possible."""
    n, k = len(item.classes), len(np.unique(item.classes))
    scores: dict[tuple[int, ...], float] = {}
    named = {}
    for name, sizes in ((name, tuple(ladder(n, k))) for name, ladder in LADDERS.items()):
        if not possible(sizes, n):
            continue
        if sizes not in scores:  # several names can stand for the same sizes
            scores[sizes] = metrics.adjusted_rand(
                item.classes, graphsoft.hierarchy(item.graph, sizes)[-1].labels
            )
        named[name] = scores[sizes]
    return named


def table_of_sets(results: Results) -> str:
    """Write the score of every ladder on every set."""
    rows = []
    for name, scores in results.items():
        cells = [f"{scores[ladder]:.3f}" if ladder in scores else "-" for ladder in LADDERS]
        rows.append([name, *cells, f"{max(scores.values()) - min(scores.values()):.3f}"])
    return markdown(["set", *LADDERS, "best - worst"], rows)


def lead(results: Results, ladder: str, other: str) -> float:
    """Mean lead of a ladder over another, on the sets for which both are possible."""
    leads = [
        scores[ladder] - scores[other] for scores in results.values() if {ladder, other} <= scores.keys()
    ]
    return float(np.mean(leads)) if leads else np.nan


def best_ladder(results: Results) -> str:
    """Return the ladder with the largest mean lead over the mean of all ladders of the same set."""
    leads: dict[str, list[float]] = {}
    for scores in results.values():
        mean = float(np.mean(list(scores.values())))
        for ladder, score in scores.items():
            leads.setdefault(ladder, []).append(score - mean)
    return max(leads, key=lambda ladder: float(np.mean(leads[ladder])))


def table_of_ladders(results: Results) -> tuple[str, str]:
    """Write the mean of every ladder, and how far it is behind the best one; and how many are near it."""
    best = best_ladder(results)
    rows, near = [], 0
    for ladder in LADDERS:
        held = {name: scores for name, scores in results.items() if ladder in scores}
        if not held:
            continue
        behind = {name: max(scores.values()) - scores[ladder] for name, scores in held.items()}
        worst = max(behind, key=lambda name: behind[name])
        ahead = lead(results, ladder, best)
        near += ahead >= -MOST_BEHIND
        rows.append(
            [
                ladder,
                str(len(held)),
                f"{np.mean([scores[ladder] for scores in held.values()]):.3f}",
                f"{ahead:+.3f}",
                "yes" if ahead >= -MOST_BEHIND else "NO",
                f"{worst} {-behind[worst]:+.3f}",
            ]
        )
    header = ["ladder", "sets", "mean ARI", f"less [{best}], same sets", f"within {MOST_BEHIND}"]
    table = markdown([*header, "furthest behind the set's best"], rows)
    return table, f"Within {MOST_BEHIND} of the best: {near} of {len(rows)} ladders."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder; may be repeated")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    parser.add_argument("--neighbors", type=int, default=10, help="neighbors of every point")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.sets.split(",") if name]
    results: Results = {}
    for item in read_graphs(arguments.data, wanted, arguments.neighbors):
        start = time.perf_counter()
        scores = results[item.name] = run(item)
        low, high = (pick(scores, key=lambda ladder: scores[ladder]) for pick in (min, max))
        shown = f"[{low}] {scores[low]:.3f} to [{high}] {scores[high]:.3f}"
        print(f"{item.name}: {shown}, {time.perf_counter() - start:.1f} s", file=sys.stderr)
    if not results:
        parser.error("--data: there are no labeled sets that are small enough")
    text = "\n\n".join([table_of_sets(results), *table_of_ladders(results)])
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
