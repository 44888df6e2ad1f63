"""Check what README's main command wrote and printed: ``python check_output.py out printed.txt``."""

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import load_npz

POINTS, SIZES = 342, (20, 6, 3)
MIN_ACCURACY = 0.95


def check(holds: object, claim: str) -> None:
    """Stop unless the claim holds; unlike an assert also under ``python -O``."""
    if not holds:
        sys.exit(f"not so: {claim}")


def check_tree(folder: Path) -> None:
    """Every level has its clusters, children of one parent each, and the masses add up."""
    root = json.loads((folder / "tree.json").read_text(encoding="utf-8"))
    floor = [root]
    for level in reversed(range(len(SIZES))):
        mass = sum(node["mass"] for node in floor)
        floor = [child for node in floor for child in node.get("children", [])]
        check(len(floor) == SIZES[level], f"tree.json has {SIZES[level]} clusters on level {level}")
        check(all(node["level"] == level for node in floor), f"tree.json knows level {level}")
        check(np.isclose(sum(node["mass"] for node in floor), mass), f"level {level} keeps the mass")
        check(sum(node["size"] for node in floor) == POINTS, f"level {level} holds every point once")
        for node in floor:
            total = sum(parent["p"] for parent in node["parents"])
            check(np.isclose(total, 1.0), f"parents of {node['id']} sum to 1")


def check_tables(folder: Path) -> None:
    """Memberships are probabilities, and labels the likeliest of them."""
    with open(folder / "labels.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    check(len(rows) == POINTS, f"labels.csv has {POINTS} rows")
    for level, size in enumerate(SIZES):
        memberships = load_npz(folder / f"memberships-{level}.npz")
        check(memberships.shape == (POINTS, size), f"memberships-{level}.npz is {POINTS} x {size}")
        check(memberships.data.min() > 0, f"memberships-{level}.npz stores nothing but positive numbers")
        check(np.allclose(memberships.sum(axis=1), 1.0), f"rows of memberships-{level}.npz sum to 1")
        dense = memberships.toarray()
        labels = np.array([int(row[f"level_{level}"]) for row in rows])
        chosen = dense[np.arange(POINTS), labels]
        check(np.allclose(chosen, dense.max(axis=1)), f"labels of level {level} are the likeliest clusters")


def check_printed(text: str) -> None:
    """Find the table of scores, whose first row is the top level."""
    scores = re.search(r"^ *level +clusters +accuracy .*\n *2 +3 +(0\.\d+|1\.0+) ", text, flags=re.MULTILINE)
    check(scores, "the accuracy of the top level is printed")
    accuracy = float(scores[1]) if scores else 0.0
    check(accuracy >= MIN_ACCURACY, f"accuracy {accuracy} is at least {MIN_ACCURACY}")


def main() -> None:
    """Check the folder and the printed text that the arguments name."""
    folder, printed = Path(sys.argv[1]), Path(sys.argv[2])
    check_tree(folder)
    check_tables(folder)
    check_printed(printed.read_text(encoding="utf-8"))
    page = (folder / "explorer.html").read_text(encoding="utf-8")
    check(page.startswith("<!doctype html>") and "://" not in page[:500], "explorer.html is a page")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    check(report["asked"]["levels"] == list(SIZES), "report.json tells what was asked for")
    print(f"{folder}: the tree, the memberships, the labels and the report are as README says")


if __name__ == "__main__":
    main()
