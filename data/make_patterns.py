"""Draw the synthetic patterns: ``python make_patterns.py``. It writes the same bytes each time."""

import csv
from pathlib import Path

import networkx as nx

from graphsoft.patterns import PATTERNS, block_graph, make_pattern

FOLDER = Path(__file__).parent / "patterns"
SEED = 2026


def main() -> None:
    """Write one csv for every pattern in the plane, and the block-stochastic graph."""
    FOLDER.mkdir(exist_ok=True)
    for name in PATTERNS:
        points, labels = make_pattern(name, rng=SEED)
        with open(FOLDER / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["x", "y", "label"])
            table.writerows(
                [f"{x:.4f}", f"{y:.4f}", label]
                for (x, y), label in zip(points.tolist(), labels.tolist(), strict=True)
            )
    nx.write_graphml_xml(block_graph(SEED), FOLDER / "blocks.graphml")


if __name__ == "__main__":
    main()
