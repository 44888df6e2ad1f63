"""What each part of the engine does for the clusters: scores with parts left out, alone and together.

    python examples/benchmarks/ablation.py --data DIR [--data DIR] [--neighbors 7,10,15] [--family sets]

``DIR`` and the scores are those of ``quality.py``. The parts:

- moves: nodes move between groups through all scales, and between the groups of each draw
- draws: the small graph is grouped many times with other weights, and the median is taken
- strays: components lighter than a tenth of an average cluster get none, and draws with fragments do not
  count
- sweeps: the steps of expectation maximization that make groups soft

Without moves and draws what is left is a contraction and one merge into k groups. A part is left out by
replacing its function or its number for the time of a run. ``neither`` has no moves and no draws.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import scipy.sparse as sp
from quality import LabeledSet, build_graph, ladder, read_sets, score
from tables import Row, Rows, family_tables

import graphsoft
from graphsoft.engine import dividing, drawing
from graphsoft.fitting import descending
from graphsoft.methods import relation

PARTS = ("moves", "draws", "strays", "sweeps")
VARIANTS = {
    "all parts": (),
    "no moves": ("moves",),
    "no draws": ("draws",),
    "neither": ("moves", "draws"),
    "no rule for strays": ("strays",),
    "no sweeps": ("sweeps",),
}


@contextmanager
def without(*parts: str) -> Iterator[None]:
    """Leave out parts of the engine."""

    def unmoved(scales: Any, labels: Any, homes: Any, above_next: float = 1.0) -> Any:
        return scales.spread(labels)

    def isolated(graph: Any, count: int, homes: Any = None) -> Any:
        return graph.degrees == 0

    def unpolished(blocks: Any, state: Any, *arguments: Any) -> Any:
        return state, 0.0

    def unrefined(blocks: Any, state: Any, *arguments: Any) -> Any:
        return state

    changes: dict[str, list[tuple[Any, str, Any]]] = {
        "moves": [(dividing, "moved_through", unmoved), (drawing, "ROUNDS", 0)],
        "draws": [(drawing, "DRAWS", 1)],
        "strays": [(dividing, "strays", isolated), (drawing, "FRAGMENT", 0.0)],
        "sweeps": [(descending, "polish_level", unpolished), (relation, "refine", unrefined)],
    }
    with ExitStack() as stack:
        for part in parts:
            for module, name, value in changes[part]:
                stack.enter_context(patch.object(module, name, value))
        yield


def labels_of(item: LabeledSet, graph: Any, k: int, parts: tuple[str, ...]) -> Any:
    """Return the top labels of a hierarchy that is made without some parts."""
    affinity = "precomputed" if sp.issparse(graph) else "auto"
    with without(*parts):
        return graphsoft.hierarchy(graph, ladder(len(item.classes), k), affinity=affinity)[-1].labels


def run(item: LabeledSet, neighbors: list[int]) -> Rows:
    """Score all variants on one set."""
    rows = {name: Row(item.family, len(item.classes), k) for name, k in item.rows.items()}
    for count in [0] if item.features is None else neighbors:
        graph, seconds = build_graph(item, count)
        for row in rows.values():
            row.building.append(seconds)
            for name, parts in VARIANTS.items():
                found = score(item.classes, labels_of(item, graph, row.k, parts), 0.0)
                row.scores.setdefault(name, []).append(found)
        del graph
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labeled sets")
    parser.add_argument("--neighbors", default="7,10,15", help="numbers of neighbors, comma-separated")
    parser.add_argument("--family", choices=["embeddings", "sets", "all"], default="all")
    arguments = parser.parse_args()
    neighbors = [int(each) for each in arguments.neighbors.split(",")]
    rows: Rows = {}
    for item in read_sets(arguments.data, []):
        if arguments.family in ("all", item.family):
            rows |= run(item, neighbors)
            print(item.name, file=sys.stderr, flush=True)
    print("\n\n".join(family_tables(rows, neighbors)))


if __name__ == "__main__":
    main()
