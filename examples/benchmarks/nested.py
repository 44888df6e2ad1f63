"""Compare trees of clusters on data with two levels of known classes, every tool on the same graph.

    python examples/benchmarks/nested.py [--data DIR] [--families text,digits,blocks,gaussians] [--each]

Families: ``text`` (descriptions of Debian packages, with their sections and a coarser grouping of these;
needs a ``DIR`` with ``text_debian_sections.npz``), ``digits`` (scikit-learn's, and pairs of similar digits),
``blocks`` (sparse nested stochastic block models), ``gaussians`` (fine centers around coarse centers).

Both levels have the true numbers of clusters. Each is scored against its classes, by the adjusted Rand index
and by NMI, the mutual information over the mean of both entropies. *purity* is the dendrogram purity of the
tree: the mean, over all pairs of points of one class, of the share of this class in the smallest cluster that
holds both. *cost* is Dasgupta's: the mean, over the edges by weight, of the share of all points that are in
this smallest cluster; lower is better. Finer trees do better in both, and paris, average and ward go down to
single points. So all trees are also compared *alike*: each is cut to 500, 200, the fine and the coarse number
of clusters.

graphsoft has its levels from a hierarchy of these two, and its tree from one with 500 and 200 clusters below.
graphsoft-long has all from one hierarchy, in which each level has about half as many clusters as the last.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from nested_sets import FAMILIES, Labels, NestedSet
from nested_tools import TOOLS
from numpy.typing import NDArray
from tables import markdown

import graphsoft
from graphsoft import metrics


@dataclass(frozen=True)
class Score:
    """How well two levels and a tree agree with the classes and the graph."""

    fine_ari: float
    fine_nmi: float
    coarse_ari: float
    coarse_nmi: float
    fine_purity: float
    coarse_purity: float
    cost: float
    alike_fine_purity: float
    alike_coarse_purity: float
    alike_cost: float
    seconds: float


FAILED = Score(*[math.nan] * 11)


def class_counts(parents: Labels, classes: Labels) -> NDArray[np.float64]:
    """Count the points of every class under every node."""
    counts = np.zeros((len(parents), classes.max() + 1))
    counts[np.arange(len(classes)), classes] = 1
    for node, parent in enumerate(parents[:-1]):
        counts[parent] += counts[node]
    return counts


def purity(parents: Labels, classes: Labels) -> float:
    """Dendrogram purity over all pairs of points of one class.

    >>> tree = np.array([4, 4, 5, 5, 6, 6, 6])  # points 0 and 1 under 4, points 2 and 3 under 5
    >>> purity(tree, np.array([0, 0, 1, 1])), purity(tree, np.array([0, 1, 1, 1]))
    (1.0, 0.8333333333333334)
    """
    counts = class_counts(parents, classes)
    pairs = counts * (counts - 1) / 2
    met = pairs.copy()  # pairs that are first together at this node
    np.subtract.at(met, parents[:-1], pairs[:-1])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return float((met * shares).sum() / pairs[-1].sum())


def dasgupta(parents: Labels, adjacency: Any) -> float:
    """Dasgupta's cost of a tree, over its largest value.

    >>> path = sp.csr_array(np.diag([1.0, 1.0, 1.0], 1) + np.diag([1.0, 1.0, 1.0], -1))
    >>> round(dasgupta(np.array([4, 4, 5, 5, 6, 6, 6]), path), 3)
    0.667
    """
    upper, n = sp.coo_array(sp.triu(adjacency, 1)), adjacency.shape[0]
    first, second = (ends.astype(np.int64) for ends in upper.coords)
    apart = np.arange(len(first))
    while len(apart):  # parents have higher numbers, so the lower of two different nodes can go up
        low, high = (pick(first[apart], second[apart]) for pick in (np.minimum, np.maximum))
        first[apart], second[apart] = parents[low], high
        apart = apart[first[apart] != second[apart]]
    points = class_counts(parents, np.zeros(n, dtype=np.int64))[:, 0]
    return float(np.average(points[first], weights=upper.data) / n)


def without(parents: Labels, kept: NDArray[np.bool_]) -> Labels:
    """Put every node under its nearest ancestor that is kept; others stay, without anything below."""
    nearest = parents.copy()
    for node in range(len(parents) - 1, -1, -1):
        if not kept[nearest[node]]:
            nearest[node] = nearest[nearest[node]]
    return nearest


def scored(name: str, item: NestedSet) -> Score:
    """Run one tool, without its warnings, and score what it found."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = TOOLS[name](item)
    except Exception as error:  # one failure must not lose the whole table
        print(f"{item.name}: {name} failed: {error}", file=sys.stderr)
        return FAILED
    seconds = time.perf_counter() - start
    sizes = tuple(len(np.unique(labels)) for labels in (found.fine, found.coarse))
    if sizes != item.sizes:
        print(f"{item.name}: {name} has {sizes} clusters where {item.sizes} are wanted", file=sys.stderr)
    levels = ((item.fine, found.fine), (item.coarse, found.coarse))
    trees = (found.parents, without(found.parents, found.kept))
    return Score(
        *(score for pair in levels for score in (metrics.adjusted_rand(*pair), metrics.nmi(*pair, "mean"))),
        *(score for tree in trees for score in tree_scores(tree, item)),
        seconds,
    )


def tree_scores(parents: Labels, item: NestedSet) -> tuple[float, float, float]:
    """Return the purity for fine and for coarse classes, and the cost."""
    return (
        purity(parents, item.fine),
        purity(parents, item.coarse),
        dasgupta(parents, item.graph.adjacency),
    )


def warm_up(tools: Sequence[str]) -> None:
    """Import and compile everything before anything is timed."""
    points = np.random.default_rng(0).normal(size=(60, 2))
    graph = graphsoft.knn_graph(points, 10)
    for tool in tools:
        scored(tool, NestedSet("warm-up", "warm-up", graph, points, np.arange(60) % 4, np.arange(60) % 2))


Scores = dict[tuple[str, str], dict[str, NDArray[np.float64]]]  # by family and set, then by tool


def compare(
    folders: Sequence[Path], families: Sequence[str], tools: Sequence[str], neighbors: Sequence[int]
) -> Scores:
    """Score all tools on all sets; scores at several numbers of neighbors are averaged."""
    runs: dict[tuple[str, str], dict[str, list[NDArray[np.float64]]]] = {}
    for number in neighbors:
        for item in (item for family in families for item in FAMILIES[family](folders, number)):
            key = item.family, item.name
            if item.features is None and key in runs:
                continue  # a bare graph is the same for any number of neighbors
            lists = runs.setdefault(key, {tool: [] for tool in tools})
            for tool in tools:
                lists[tool].append(np.array(astuple(scored(tool, item))))
            shown = ", ".join(f"{tool} {lists[tool][-1][0]:.3f} {lists[tool][-1][2]:.3f}" for tool in tools)
            print(f"{item.name}, {item.sizes}: fine and coarse ARI {shown}", file=sys.stderr)
    return {
        key: {tool: np.mean(scores, axis=0) for tool, scores in lists.items()} for key, lists in runs.items()
    }


def columns() -> list[str]:
    """Name the columns of scores."""
    return [field.name.replace("_", " ") for field in fields(Score)]


def grouped(results: Scores) -> dict[str, list[tuple[str, str]]]:
    """List the sets of every family."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for key in results:
        groups.setdefault(key[0], []).append(key)
    return groups


def table_of_sets(results: Scores, tools: Sequence[str]) -> str:
    """Write the scores of all tools on every set."""
    rows = [
        [name, tool, *(f"{value:.3f}" for value in row[tool])]
        for (_, name), row in results.items()
        for tool in tools
    ]
    return markdown(["set", "tool", *columns()], rows)


def table_of_means(results: Scores, tools: Sequence[str]) -> str:
    """Write the mean scores of all tools for every family, and for all, where families count alike."""
    means = {
        f"{family} ({len(keys)})": np.array(
            [np.nanmean([results[key][tool] for key in keys], axis=0) for tool in tools]
        )
        for family, keys in grouped(results).items()
    }
    if len(means) > 1:
        means["all, families alike"] = np.nanmean(list(means.values()), axis=0)
    rows = [
        [family, tool, *(f"{value:.3f}" for value in line)]
        for family, lines in means.items()
        for tool, line in zip(tools, lines, strict=True)
    ]
    return markdown(["family (sets)", "tool", *columns()], rows)


def table_of_differences(results: Scores, tools: Sequence[str]) -> str:
    """Write the mean lead over each rival, with its 95 % interval from a paired bootstrap over the sets."""
    rows = []
    for family, keys in grouped(results).items():
        for rival in tools[1:]:
            leads = np.array([results[key][tools[0]] - results[key][rival] for key in keys])
            leads = leads[~np.isnan(leads).any(axis=1)]
            cells = [f"{mean:+.3f}" for mean in leads.mean(axis=0)] if len(leads) else []
            if len(leads) > 1:
                drawn = np.random.default_rng(0).integers(len(leads), size=(2000, len(leads)))
                low, high = np.percentile(leads[drawn].mean(axis=1), (2.5, 97.5), axis=0)
                cells = [f"{c} [{a:+.3f}, {b:+.3f}]" for c, a, b in zip(cells, low, high, strict=True)]
            rows.append([f"{family} ({len(leads)})", rival, *(cells or ["-"] * len(columns()))])
    return markdown(["family (sets)", f"{tools[0]} less", *columns()], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, action="append", default=[], help="folder; may be repeated")
    parser.add_argument("--families", default=",".join(FAMILIES), help="names, comma-separated")
    parser.add_argument(
        "--tools", default=",".join(TOOLS), help="names; the first is compared with the others"
    )
    parser.add_argument("--neighbors", default="10", help="numbers, comma-separated; scores are their means")
    parser.add_argument("--each", action="store_true", help="show the scores of every set too")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    arguments = parser.parse_args()
    tools, families = arguments.tools.split(","), arguments.families.split(",")
    if unknown := {*tools, *families} - {*TOOLS, *FAMILIES}:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    warm_up(tools)
    results = compare(arguments.data, families, tools, list(map(int, arguments.neighbors.split(","))))
    if not results:
        parser.error("there are no sets")
    tables = [table_of_sets(results, tools)] if arguments.each else []
    tables.append(table_of_means(results, tools))
    if len(tools) > 1:
        tables.append(table_of_differences(results, tools))
    text = "\n\n".join(tables)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
