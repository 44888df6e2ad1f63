"""Print tables of scores: of one run of ``quality.py``, or of several runs beside each other.

    python examples/benchmarks/tables.py before.json after.json [more.json] [--method graphsoft]

The files are what ``quality.py --scores FILE`` writes. One file gives the tables of that run again. Of
several files, one method is shown, and the differences to the first file: before and after a change, or with
its parts on and off.

Each score is a mean over the numbers of neighbors. ARI is the adjusted Rand index, and NMI the mutual
information over the mean of both entropies, as in scikit-learn. Intervals are of the mean difference over
sets, by a paired bootstrap: the middle 95 % of 10,000 draws.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

DRAWS = 10_000
LOSS = 0.05  # a score further than this below another counts as a loss
FAMILIES = {"embeddings": "Embeddings", "sets": "Benchmark sets"}
POLBLOGS = "graph_polblogs"  # two stray nodes are worth half of its score


@dataclass(frozen=True)
class Score:
    """How well labels agree with the classes, and the seconds that they took."""

    ari: float
    nmi: float
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """One line of a table: for each method its scores, one for each number of neighbors."""

    family: str
    n: int
    k: int
    scores: dict[str, list[Score]] = field(default_factory=dict)
    building: list[float] = field(default_factory=list)

    def mean(self, method: str, name: str) -> float:
        """Return the mean of one score over the numbers of neighbors; NaN if the method failed at one."""
        return float(np.mean([getattr(score, name) for score in self.scores[method]]))


Rows = dict[str, Row]
Column = dict[str, tuple[float, float]]  # the ARI and the NMI on every set


def save_rows(path: Path, rows: Rows, neighbors: Sequence[int]) -> None:
    """Write the scores of a run."""
    content = {"neighbors": [*neighbors], "sets": {name: asdict(row) for name, row in rows.items()}}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load_rows(path: Path) -> tuple[Rows, list[int]]:
    """Read the scores of a run, and its numbers of neighbors."""
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = {}
    for name, row in content["sets"].items():
        scores = {method: [Score(**score) for score in scores] for method, scores in row["scores"].items()}
        rows[name] = Row(row["family"], row["n"], row["k"], scores, row["building"])
    return rows, content["neighbors"]


def bootstrap(differences: ArrayLike) -> tuple[float, float, float]:
    """Return the mean, and the interval that holds 95 % of the means of sets drawn with replacement.

    >>> mean, low, high = bootstrap([0.1, 0.2, 0.3])
    >>> round(mean, 3), round(low, 3), round(high, 3)
    (0.2, 0.1, 0.3)
    """
    values = np.asarray(differences, dtype=np.float64)
    drawn = np.random.default_rng(0).integers(len(values), size=(DRAWS, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return float(values.mean()), float(low), float(high)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table with columns of equal width."""
    cells = [list(header), ["---"] * len(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    )


def both(ari: float, nmi: float) -> str:
    """Write two scores into one cell.

    >>> both(0.5, float("nan"))
    '0.500 / -'
    """
    return " / ".join("-" if np.isnan(value) else f"{value:.3f}" for value in (ari, nmi))


def groups_of(names: Sequence[str]) -> dict[str, list[str]]:
    """Return what means are taken over: all sets, and all but the graph that decides a mean by itself.

    >>> groups_of(["a", "graph_polblogs"]), groups_of(["a", "b"])
    ({'all 2': ['a', 'graph_polblogs'], 'without polblogs': ['a']}, {'all 2': ['a', 'b']})
    """
    rest = [name for name in names if name != POLBLOGS]
    groups = {f"all {len(names)}": list(names)} if names else {}
    return groups | ({"without polblogs": rest} if 0 < len(rest) < len(names) else {})


def mean_there(values: Sequence[float]) -> float:
    """Return the mean without what failed; NaN if all failed."""
    there = [value for value in values if not np.isnan(value)]
    return float(np.mean(there)) if there else np.nan


def column_of(rows: Rows, method: str) -> Column:
    """Return both scores of a method on every set."""
    return {name: (row.mean(method, "ari"), row.mean(method, "nmi")) for name, row in rows.items()}


def scores_table(rows: Rows, columns: Mapping[str, Column]) -> str:
    """Write columns of scores, with their means at the end."""
    lines = [
        [name, f"{row.n}", f"{row.k}", *(both(*column[name]) for column in columns.values())]
        for name, row in rows.items()
    ]
    for label, names in groups_of(list(rows)).items():
        means = [
            [mean_there([column[name][place] for name in names]) for place in (0, 1)]
            for column in columns.values()
        ]
        lines.append([f"mean, {label}", "", "", *(both(*pair) for pair in means)])
    return markdown(["set", "points", "k", *columns], lines)


def against(ours: Column, theirs: Column) -> list[list[str]]:
    """Compare two columns: the mean difference of each score, its interval, and the losses of ours."""
    lines = []
    compared = [name for name in ours if not np.isnan([*ours[name], *theirs[name]]).any()]
    for label, names in groups_of(compared).items():
        line = [label]
        for place in (0, 1):
            differences = {name: ours[name][place] - theirs[name][place] for name in names}
            mean, low, high = bootstrap(list(differences.values()))
            lost = [f"{name} {value:+.3f}" for name, value in differences.items() if value < -LOSS]
            line += [f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]", f"{len(lost)}: {', '.join(lost)}".rstrip(": ")]
        lines.append(line)
    return lines


def differences_table(columns: Mapping[str, Column], pairs: Sequence[tuple[str, str]]) -> str:
    """Write the differences of pairs of columns, the second of a pair taken from the first."""
    below = f"more than {LOSS} below"
    lines = [
        [f"{ours} - {theirs}", *line]
        for ours, theirs in pairs
        for line in against(columns[ours], columns[theirs])
    ]
    return markdown(["difference", "sets", "ARI", below, "NMI", below], lines)


def title(family: str, rows: Rows, neighbors: Sequence[int]) -> str:
    """Write the heading of a family's table."""
    counts = ", ".join(map(str, neighbors))
    return f"## {FAMILIES[family]}: ARI / NMI, mean over {counts} neighbors, {len(rows)} sets"


def family_tables(rows: Rows, neighbors: Sequence[int]) -> list[str]:
    """Write for each family the scores of all methods, and the differences of the first to the others."""
    texts = []
    for family in FAMILIES:
        chosen = {name: row for name, row in rows.items() if row.family == family}
        if chosen:
            first, *others = next(iter(chosen.values())).scores
            columns = {method: column_of(chosen, method) for method in (first, *others)}
            texts += [title(family, chosen, neighbors), scores_table(chosen, columns)]
            texts += [differences_table(columns, [(first, other) for other in others])] if others else []
    return texts


def run_tables(runs: Mapping[str, Rows], neighbors: Sequence[int], method: str) -> list[str]:
    """Write for each family one method in several runs, and the differences to the first run."""
    texts = []
    first, *others = runs
    for family in FAMILIES:
        chosen = {
            name: row
            for name, row in runs[first].items()
            if row.family == family and all(name in rows for rows in runs.values())
        }
        if chosen:
            columns = {
                run: column_of({name: rows[name] for name in chosen}, method) for run, rows in runs.items()
            }
            texts += [title(family, chosen, neighbors), scores_table(chosen, columns)]
            texts.append(differences_table(columns, [(other, first) for other in others]))
    return texts


def seconds_table(rows: Rows) -> str:
    """Write the mean seconds of all methods, and of building the graph."""
    methods = list(next(iter(rows.values())).scores)
    lines = {
        name: [float(np.mean(row.building)), *(row.mean(method, "seconds") for method in methods)]
        for name, row in rows.items()
    }
    lines["sum"] = np.nansum(list(lines.values()), axis=0).tolist()
    cells = [
        [name, *("-" if np.isnan(value) else f"{value:.2f}" for value in line)]
        for name, line in lines.items()
    ]
    return "\n\n".join(["## Seconds", markdown(["set", "graph", *methods], cells)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", help="what quality.py --scores wrote")
    parser.add_argument("--method", default="graphsoft", help="the method shown of several files")
    arguments = parser.parse_args()
    stems = {path.stem for path in arguments.files}
    distinct = len(stems) == len(arguments.files)
    loaded = {path.stem if distinct else f"{path}": load_rows(path) for path in arguments.files}
    runs = {name: rows for name, (rows, _) in loaded.items()}
    neighbors = next(iter(loaded.values()))[1]
    if any(other != neighbors for _, other in loaded.values()):
        parser.error("the files have scores for different numbers of neighbors")
    if any(arguments.method not in row.scores for rows in runs.values() for row in rows.values()):
        parser.error(f"--method: not every file has scores of {arguments.method}")
    if len(runs) == 1:
        (rows,) = runs.values()
        texts = [*family_tables(rows, neighbors), seconds_table(rows)]
    else:
        texts = run_tables(runs, neighbors, arguments.method)
    print("\n\n".join(texts))


if __name__ == "__main__":
    main()
