"""Compare graphsoft with its peers on a folder of labeled sets, every graph method on the same graph.

    python examples/benchmarks/quality.py --data DIR [--sets a,b] [--no-peers | --methods] [--out table.md]

``DIR`` holds one ``.npz`` file for each set: ``X`` (dense features), or ``data, indices, indptr, shape``
(CSR: sparse features, or a graph if the name starts with ``graph_``), and ``y`` (the classes; files without
``y`` are left out). The labels serve for the scores and for the number of clusters k, which all methods are
given.

With ``--methods`` the peers are graphsoft's other methods, flat and with their defaults, in place of other
packages. Those that look at a graph get the same graph, the others get the features (and nothing on bare
graphs).

The seconds are those of clustering a finished graph. Building the graph is the same for all and has its own
column.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import graphsoft
from graphsoft import metrics
from graphsoft.datasets import read

OURS = "graphsoft"
NEIGHBORS = 10
LOSS = 0.05  # a score further than this below the best peer counts as a loss


@dataclass(frozen=True)
class LabeledSet:
    """Features (array or sparse matrix) or an adjacency, and the class of every point."""

    name: str
    features: Any
    adjacency: Any
    classes: NDArray[Any]


@dataclass(frozen=True)
class Score:
    """How well labels agree with the classes, and the seconds that they took."""

    ari: float
    nmi: float
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Target:
    """The score that is wanted on one set."""

    name: str
    levels: tuple[int, ...]
    accuracy: float
    nmi: float | None


TARGETS = (
    Target("usps_1234", (100, 20, 10, 4), accuracy=0.985, nmi=0.94),
    Target("usps", (100, 20, 10), accuracy=0.955, nmi=None),
    Target("ng4_paper", (100, 20, 4), accuracy=0.89, nmi=None),
)

FAILED = Score(np.nan, np.nan, np.nan, np.nan)

# scores everything that graphsoft is compared with, by name
Rivals = Callable[[LabeledSet, Any, int], dict[str, Score]]


def ladder(n: int, k: int) -> list[int]:
    """Choose sizes of levels for n points in k classes: 100, max(2k, 20) and k, falling and below n.

    >>> ladder(4000, 10), ladder(60, 3), ladder(1000, 60), ladder(12, 5), ladder(5, 5)
    ([100, 20, 10], [20, 3], [120, 60], [10, 5], [5])
    """
    sizes = [k]
    for size in (max(2 * k, 20), 100):
        if sizes[0] < size < n:
            sizes.insert(0, size)
    if len(sizes) == 1 and 2 * k < n:
        sizes.insert(0, 2 * k)
    return sizes


def read_sets(directory: Path, wanted: Sequence[str]) -> Iterator[LabeledSet]:
    """Read the files of a folder in the order of their names, or only the wanted ones."""
    paths = [directory / f"{name}.npz" for name in wanted] or sorted(directory.glob("*.npz"))
    for path in paths:
        with np.load(path, allow_pickle=False) as file:
            if "y" not in file:
                continue
        found = read(path, labels="y")
        features, adjacency = (None, found.data) if path.stem.startswith("graph_") else (found.data, None)
        yield LabeledSet(path.stem, features, adjacency, found.labels)


def build_graph(item: LabeledSet) -> tuple[Any, float]:
    """Return a graph for `graphsoft.hierarchy`, and the seconds it took to build."""
    if item.features is None:
        return item.adjacency, 0.0
    start = time.perf_counter()
    metric = "cosine" if sp.issparse(item.features) else "euclidean"
    graph = graphsoft.knn_graph(item.features, NEIGHBORS, metric=metric)
    return graph, time.perf_counter() - start


def score(classes: NDArray[Any], labels: NDArray[Any], seconds: float) -> Score:
    """Score labels against the classes."""
    return Score(
        metrics.adjusted_rand(classes, labels),
        metrics.nmi(classes, labels, normalizer="max"),
        metrics.accuracy(classes, labels),
        seconds,
    )


def run_ours(graph: Any, classes: NDArray[Any], levels: Sequence[int]) -> Score:
    """Score the top level of a hierarchy."""
    start = time.perf_counter()
    # a bare adjacency could be taken for sparse features otherwise
    affinity = "precomputed" if sp.issparse(graph) else "auto"
    hierarchy = graphsoft.hierarchy(graph, list(levels), affinity=affinity)
    return score(classes, hierarchy[-1].labels, time.perf_counter() - start)


def run_peers(item: LabeledSet, graph: Any, k: int) -> dict[str, Score]:
    """Score every peer on the same graph."""
    import peers  # only here: they need the `bench` extra

    adjacency = graph if sp.issparse(graph) else graph.adjacency
    scores = {}
    for name in peers.PEERS:
        start = time.perf_counter()
        try:
            labels = peers.run(name, adjacency, item.features, k)
        except Exception as error:  # one failure must not lose the whole table
            print(f"{item.name}: {name} failed: {error}", file=sys.stderr)
            scores[name] = FAILED
            continue
        scores[name] = score(item.classes, labels, time.perf_counter() - start)
    return scores


def run_methods(item: LabeledSet, graph: Any, k: int) -> dict[str, Score]:
    """Score every method of graphsoft by itself, without a hierarchy."""
    scores = {}
    checked = graphsoft.as_graph(graph, affinity="precomputed") if sp.issparse(graph) else graph
    for name, method in graphsoft.methods.METHODS.items():
        given = checked if method.reads(len(item.classes), False) == {"graph"} else item.features
        if given is None:
            scores[name] = FAILED
            continue
        start = time.perf_counter()
        try:
            labels = graphsoft.cluster(given, k, method=name).labels
        except Exception as error:
            print(f"{item.name}: {name} failed: {error}", file=sys.stderr)
            scores[name] = FAILED
            continue
        scores[name] = score(item.classes, labels, time.perf_counter() - start)
    return scores


def warm_up(rivals: Rivals | None) -> None:
    """Import and compile everything before anything is timed."""
    points = np.random.default_rng(0).normal(size=(60, 2))
    graph = graphsoft.knn_graph(points, NEIGHBORS)
    graphsoft.hierarchy(graph, [10, 3])
    if rivals is not None:
        rivals(LabeledSet("warm-up", np.abs(points), None, np.arange(60) % 3), graph, 3)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table with columns of equal width."""
    cells = [list(header), ["---"] * len(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    )


def best_peer(line: Sequence[float]) -> int:
    """Return the column of the best peer; a peer that failed is NaN and never the best."""
    return 1 + int(np.argmax(np.nan_to_num(line[1:], nan=-np.inf)))


def quality_table(results: dict[str, dict[str, Score]], field: str) -> str:
    """Write one score of all methods on all sets, with the means and our lead over the best peer."""
    methods = list(next(iter(results.values())))
    lines = {name: [getattr(row[method], field) for method in methods] for name, row in results.items()}
    groups = {
        "mean of the feature sets": [line for name, line in lines.items() if not name.startswith("graph_")],
        "mean of the graphs": [line for name, line in lines.items() if name.startswith("graph_")],
        "mean of all": list(lines.values()),
    }
    means = {label: np.nanmean(group, axis=0).tolist() for label, group in groups.items() if group}
    header = ["set", *methods]
    rows = [[name, *(f"{value:.3f}" for value in line)] for name, line in (lines | means).items()]
    if len(methods) == 1:
        return "\n".join([f"## {field.upper()}", "", markdown(header, rows)])
    for row, line in zip(rows, (lines | means).values(), strict=True):
        best = best_peer(line)
        row += [methods[best], f"{line[0] - line[best]:+.3f}"]
    lost = [name for name, line in lines.items() if line[0] - line[best_peer(line)] < -LOSS]
    table = markdown([*header, "best peer", "ours - best"], rows)
    count = f"More than {LOSS} below the best peer: {len(lost)} of {len(lines)} sets. {', '.join(lost)}"
    return "\n".join([f"## {field.upper()}", "", table, "", count.rstrip()])


def seconds_table(results: dict[str, dict[str, Score]], building: dict[str, float]) -> str:
    """Write the seconds of all methods, and of building the graph."""
    methods = list(next(iter(results.values())))
    lines = [[building[name], *(row[method].seconds for method in methods)] for name, row in results.items()]
    named = [*zip(results, lines, strict=True), ("sum", np.nansum(lines, axis=0))]
    rows = [[name, *(f"{value:.2f}" for value in line)] for name, line in named]
    return "\n".join(["## Seconds", "", markdown(["set", "graph", *methods], rows)])


def targets_table(rows: Sequence[tuple[Target, Score]]) -> str:
    """Write the targets, and whether they are met."""
    lines = []
    for target, reached in rows:
        wanted = f"{target.accuracy}" + (f", NMI {target.nmi}" if target.nmi else "")
        met = reached.accuracy >= target.accuracy and reached.nmi >= (target.nmi or 0.0)
        got = f"{reached.accuracy:.4f}, NMI {reached.nmi:.4f}"
        levels = ", ".join(map(str, target.levels))
        lines.append(
            [target.name, f"[{levels}]", wanted, got, "yes" if met else "NO", f"{reached.seconds:.2f}"]
        )
    header = ["set", "levels", "accuracy wanted", "reached", "met", "seconds"]
    return "\n".join(["## Targets", "", markdown(header, lines)])


def compare(sets: Iterator[LabeledSet], rivals: Rivals | None) -> str:
    """Run everything and return the tables as one text."""
    results: dict[str, dict[str, Score]] = {}
    building: dict[str, float] = {}
    reached: list[tuple[Target, Score]] = []
    for item in sets:
        n, k = len(item.classes), len(np.unique(item.classes))
        graph, building[item.name] = build_graph(item)
        row = {OURS: run_ours(graph, item.classes, ladder(n, k))}
        reached += [
            (target, run_ours(graph, item.classes, target.levels))
            for target in TARGETS
            if target.name == item.name
        ]
        if rivals is not None:
            row |= rivals(item, graph, k)
        results[item.name] = row
        best = max((value.ari for name, value in row.items() if name != OURS), default=np.nan)
        print(f"{item.name}: n {n}, k {k}, ARI {row[OURS].ari:.3f}, best peer {best:.3f}", file=sys.stderr)
    tables = [quality_table(results, "ari"), quality_table(results, "nmi"), seconds_table(results, building)]
    if reached:
        tables.append(targets_table(reached))
    return "\n\n".join(tables) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of labeled sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    parser.add_argument(
        "--peers", action=argparse.BooleanOptionalAction, default=True, help="run the peers too"
    )
    parser.add_argument(
        "--methods", action="store_true", help="run graphsoft's other methods in place of the peers"
    )
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"--data: there is no folder {arguments.data}")
    wanted = [name for name in arguments.sets.split(",") if name]
    if not (wanted or any(arguments.data.glob("*.npz"))):
        parser.error(f"--data: {arguments.data} holds no .npz files")
    rivals = run_methods if arguments.methods else run_peers if arguments.peers else None
    warm_up(rivals)
    text = compare(read_sets(arguments.data, wanted), rivals)
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
