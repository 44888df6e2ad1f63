"""Compare hierarchies found in partitions with those of a single machine, on sets with known classes.

    python examples/benchmarks/partitions.py --data DIR [--data DIR] [--sets a,b] [--partitions 1,2,4,8,16]
        [--neighbors 10,15] [--orders 3] [--weights local-scaling] [--max-memory SIZE] [--out table.md]

``DIR`` holds labeled sets as for ``quality.py``. Planted sets come along, and have names for ``--sets`` too:

- ``centers``: 70,000 points in 16 dimensions around 200 centers, of which each twenty are near each other.
- ``islands``: 24,000 points in 1,500 clouds that are far apart, of which each hundred are near each other.
  With 10 neighbors each cloud is a component of the graph.
- ``specks``: 18,000 points in 1,500 clouds of twelve in the plane.

Every set is clustered with its rows in several random orders, by a single machine and in directories with so
many partitions. The single machine gives almost the same for any order, so its weights are also multiplied by
random numbers around 1, with a deviation of 2 %: what that changes is the spread of the method itself. In
partitions another order gives other cells, and so another graph.

The scores are adjusted Rand indices, the finest level first: with the classes, as mean and standard deviation
over orders; the difference of the mean to that of the single machine with all its spread; and the agreement
of labels with those of the single machine, which for the single machine is that of its own runs with each
other. Sets with one kind of classes are compared with these on all levels. Recall is the part of the true
neighbors of some points that are joined to them. ``--max-memory`` limits the central graph: with 356MB it has
about 3,000 nodes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from directory import CENTERS, GROUPS, centers_of
from numpy.typing import NDArray
from quality import SEVERAL, ladder, read_sets
from tables import markdown

import graphsoft
from graphsoft.distributed.files import open_arrays
from graphsoft.distributed.plan import mark_of
from graphsoft.metrics import adjusted_rand

LEAST = 3000  # points of a set
PROBES = 500
SHAKEN = 0.02  # by which weights are changed
LIMIT = 0.01  # a mean that is further below that of the single machine is marked

Labels = NDArray[Any]


@dataclass(frozen=True)
class KnownSet:
    """Points, and the classes that each level is compared with."""

    name: str
    features: Any
    levels: list[int]
    truths: list[Labels]

    @property
    def metric(self) -> str:
        """The metric that fits such points."""
        return "cosine" if sp.issparse(self.features) or self.name.startswith("text_") else "euclidean"


@dataclass(frozen=True)
class Found:
    """What one run found: labels of each level, and the recall of neighbors."""

    labels: list[Labels]
    recall: float


def centers() -> KnownSet:
    """Draw points around centers in ten groups."""
    random = np.random.default_rng(1)
    places, groups = centers_of(16)
    truth = random.integers(CENTERS, size=70_000)
    features = (places[truth] + random.normal(size=(len(truth), 16))).astype(np.float32)
    return KnownSet("centers", features, [CENTERS, GROUPS], [truth, groups[truth]])


def clouds(name: str, groups: int, each: int, points: int, features: int) -> KnownSet:
    """Draw clouds in groups: far from each other, and the groups further."""
    random = np.random.default_rng(2)
    around = 1000.0 * random.normal(size=(groups, features)).repeat(each, axis=0)
    places = around + 100.0 * random.normal(size=(groups * each, features))
    truth = np.arange(groups * each).repeat(points)
    values = (places[truth] + random.normal(size=(len(truth), features))).astype(np.float32)
    return KnownSet(name, values, [groups * each, groups], [truth, truth // each])


PLANTED = {
    "centers": centers,
    "islands": lambda: clouds("islands", 15, 100, 16, 8),
    "specks": lambda: clouds("specks", 15, 100, 12, 2),
}


def known_sets(folders: Sequence[Path], wanted: Sequence[str]) -> Iterator[KnownSet]:
    """Read the sets of folders that are large enough, or the wanted ones; and draw the planted ones."""
    stored = [name for name in wanted if name not in PLANTED]
    for item in read_sets(folders, stored) if stored or not wanted else []:
        if item.features is not None and (wanted or len(item.classes) >= LEAST):
            count = SEVERAL.get(item.name, [len(np.unique(item.classes))])[0]
            levels = ladder(len(item.classes), count)
            yield KnownSet(item.name, item.features, levels, [item.classes] * len(levels))
    for name, draw in PLANTED.items():
        if name in wanted or not wanted:
            yield draw()


def true_neighbors(item: KnownSet, neighbors: int) -> tuple[Labels, list[Labels]]:
    """Find some points, none of them with copies, and the nearest of all others by brute force."""
    from sklearn.neighbors import NearestNeighbors

    some = np.sort(np.random.default_rng(3).choice(len(item.truths[0]), PROBES, replace=False))
    search = NearestNeighbors(n_neighbors=neighbors + 1, metric=item.metric, algorithm="brute")
    found = search.fit(item.features).kneighbors(item.features[some], return_distance=False)
    kept = [row[row != point][:neighbors] for point, row in zip(some, found, strict=True)]
    return some, kept


def recall_of(graph: sp.csr_array, node: Labels, some: Labels, near: list[Labels]) -> float:
    """Count the true neighbors that are joined to their points, or are copies of them."""
    met = [
        np.isin(node[others], np.append(graph.indices[slice(*graph.indptr[at : at + 2])], at)).mean()
        for at, others in zip(node[some], near, strict=True)
    ]
    return float(np.mean(met))


def graph_of_run(directory: Path, partitions: int, rows: int, mark: bytes) -> tuple[sp.csr_array, Labels]:
    """Read the graph of a run: edges between nodes, and the node of each row."""
    node, first = np.empty(rows, dtype=np.int64), [0]
    ones, others = [], []
    blocks = []
    for part in range(partitions):
        with open_arrays(directory / "parts" / "graph" / f"{part}.arrays", mark=mark) as file:
            blocks.append([file.array(name) for name in ("ptr", "columns", "halo_part", "halo_place")])
        first.append(first[-1] + len(blocks[-1][0]) - 1)
        with open_arrays(directory / "parts" / "rows" / f"{part}.arrays", mark=mark) as file:
            node[file.array("rows")] = first[part] + file.array("node")
    for part, (ptr, columns, of, place) in enumerate(blocks):
        numbers = np.append(np.arange(first[part], first[part + 1]), np.array(first)[of] + place)
        ones.append(np.repeat(np.arange(first[part], first[part + 1]), np.diff(ptr)))
        others.append(numbers[columns])
    row, column = np.concatenate(ones), np.concatenate(others)
    return sp.csr_array((np.ones(len(row)), (row, column)), shape=(first[-1], first[-1])), node


def alone(item: KnownSet, order: Labels, settings: dict[str, Any], known: Any) -> Iterator[Found]:
    """Cluster on a single machine: with the weights as they are, and with others.

    Not with others where the graph has more components than clusters, which only features can merge.
    """
    features, place = item.features[order], np.argsort(order)
    found = [graphsoft.hierarchy(features, item.levels, metric=item.metric, **settings)]
    graph = found[0].graph
    if found[0].report.components <= item.levels[-1]:
        found.append(graphsoft.hierarchy(shaken(graph, order), item.levels))
    for h in found:
        yield Found([level.labels[place] for level in h], recall_of(graph.adjacency, place, *known))


def shaken(graph: graphsoft.Graph, order: Labels) -> graphsoft.Graph:
    """Multiply the weights by random numbers around 1."""
    upper = sp.triu(graph.adjacency, format="csr")
    upper.data *= np.exp(SHAKEN * np.random.default_rng(order[:4]).normal(size=upper.nnz))
    lower = sp.triu(upper, k=1, format="csr").T
    whole = (upper + lower).tocsr()
    whole.sort_indices()
    return replace(graph, adjacency=whole)


def in_partitions(
    item: KnownSet, order: Labels, settings: dict[str, Any], partitions: int, memory: str | None, known: Any
) -> Found:
    """Cluster in a directory."""
    place = np.argsort(order)
    with tempfile.TemporaryDirectory() as folder:
        h = graphsoft.hierarchy(
            item.features[order], item.levels, metric=item.metric, directory=folder, partitions=partitions,
            max_memory=memory, **settings,
        )  # fmt: skip
        labels = [np.asarray(level.labels)[place] for level in h]
        graph, node = graph_of_run(Path(folder), partitions, len(order), mark_of(h.plan))
    return Found(labels, recall_of(graph, node[place], *known))


def scores_of(item: KnownSet, runs: Sequence[Found]) -> NDArray[np.float64]:
    """Compare the labels of runs with the classes: a row for each run, a column for each level."""
    return np.array(
        [
            [adjusted_rand(truth, found) for truth, found in zip(item.truths, run.labels, strict=True)]
            for run in runs
        ]
    )


def agreement(pairs: Sequence[tuple[Found, Found]]) -> str:
    """Compare the labels of runs with each other, level by level."""
    if not pairs:
        return "-"
    scores = [
        [adjusted_rand(a, b) for a, b in zip(one.labels, two.labels, strict=True)] for one, two in pairs
    ]
    return ", ".join(f"{value:.3f}" for value in np.mean(scores, axis=0))


def rows_of(item: KnownSet, neighbors: int, options: argparse.Namespace) -> Iterator[list[str]]:
    """Make the lines of one set with so many neighbors, the single machine first."""
    settings = {"n_neighbors": neighbors, "weights": options.weights}
    random = np.random.default_rng(0)
    count = len(item.truths[0])
    orders = [np.arange(count), *(random.permutation(count) for _ in range(options.orders - 1))]
    known = true_neighbors(item, neighbors)
    runs = [list(alone(item, order, settings, known)) for order in orders]
    every = [run for pair in runs for run in pair]
    single = scores_of(item, every)
    yield line(item, neighbors, "single", single, every, agreement(list(combinations(every, 2))), single)
    for partitions in options.partitions:
        found = [
            in_partitions(item, order, settings, partitions, options.max_memory, known) for order in orders
        ]
        same = agreement([(run, pair[0]) for run, pair in zip(found, runs, strict=True)])
        yield line(item, neighbors, str(partitions), scores_of(item, found), found, same, single)


def line(
    item: KnownSet, neighbors: int, name: str, scores: Any, runs: Sequence[Found], same: str, single: Any
) -> list[str]:
    """Write one line of the table."""
    mean, spread = scores.mean(axis=0), scores.std(axis=0)
    difference = mean - single.mean(axis=0)
    below = " (!)" if difference.min() < -LIMIT else ""
    return [
        item.name, str(neighbors), name,
        ", ".join(f"{one:.3f} ± {two:.3f}" for one, two in zip(mean, spread, strict=True)),
        "" if name == "single" else ", ".join(f"{value:+.3f}" for value in difference) + below,
        same, f"{np.mean([run.recall for run in runs]):.4f}",
    ]  # fmt: skip


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = lambda text: [int(each) for each in text.split(",")]  # noqa: E731
    parser.add_argument("--data", type=Path, action="append", default=[], help="folder of labeled sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    parser.add_argument("--partitions", type=numbers, default=[1, 2, 4, 8, 16])
    parser.add_argument("--neighbors", type=numbers, default=[10], help="numbers of neighbors, with commas")
    parser.add_argument("--orders", type=int, default=3, help="random orders of the rows")
    parser.add_argument("--weights", default="local-scaling")
    parser.add_argument("--max-memory", metavar="SIZE", help="what a process may take")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    options = parser.parse_args()
    options.sets = [each for each in options.sets.split(",") if each]
    return options


def main() -> None:
    options = read_arguments()
    warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)  # of a low recall, which has a column
    lines = []
    for item in known_sets(options.data, options.sets):
        for neighbors in options.neighbors:
            for row in rows_of(item, neighbors, options):
                lines.append(row)
                print(" | ".join(row), file=sys.stderr, flush=True)
    header = ["set", "neighbors", "partitions", "ARI by level", "difference", "agreement", "recall"]
    text = markdown(header, lines) + "\n"
    print(text, end="")
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
