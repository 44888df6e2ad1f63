"""Results on disk, as the command line shows and writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphsoft.cli.writing import PAGE, REPORT, TREE, plain, results_in
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.result.tables import ROWS_SHOWN, aligned, levels_shown, shortened
from graphsoft.storage.atomic import write_atomic
from graphsoft.storage.together import replace_together

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy
    from graphsoft.result.stored_points import StoredPoints

__all__ = ["placed_facts", "stored_facts", "summarize_placed", "summarize_stored", "write_stored"]

_CHILDREN_SHOWN = 4


def stored_facts(h: StoredHierarchy) -> dict[str, Any]:
    """List the clusters of all levels, heaviest first, for a program to read."""
    levels = [{"level": at, "clusters": _clusters(h, at)} for at in range(len(h))]
    return {
        "kind": "hierarchy", "points": h.plan.rows, "partitions": h.plan.partitions,
        "directory": str(h.directory), "levels": levels, "notes": [*h.report.notes],
    }  # fmt: skip


def summarize_stored(h: StoredHierarchy) -> list[str]:
    """Describe the top of a hierarchy on disk in lines of text."""
    sizes = [len(level.mass) for level in h]
    lines = [f"{h.plan.rows} points -> {' -> '.join(map(str, sizes))} clusters"]
    lines += [f"note: {note}" for note in h.report.notes]
    for at in levels_shown(sizes):
        lines += ["", f"level {at}: {sizes[at]} clusters, heaviest first"]
        rows = [["cluster", "size", "mass", "share", "name", "main children"]]
        for fact in _clusters(h, at)[:ROWS_SHOWN]:
            children = fact["children"][:_CHILDREN_SHOWN]
            if len(fact["children"]) > _CHILDREN_SHOWN:
                children = [*children, f"+{len(fact['children']) - _CHILDREN_SHOWN}"]
            share = "-" if fact["share"] is None else f"{100 * fact['share']:.1f} %"
            row = [fact["cluster"], str(fact["size"]), f"{fact['mass']:.4g}", share, fact["name"] or ""]
            rows.append([*row, " ".join(children)])
        lines += aligned(rows, frozenset({"cluster", "name", "main children"}))
        if sizes[at] > ROWS_SHOWN:
            lines.append(f"... and {sizes[at] - ROWS_SHOWN} more")
    return lines


def placed_facts(found: StoredPoints) -> dict[str, Any]:
    """Tell how many new points are in each cluster, for a program to read."""
    levels = []
    for at, level in enumerate(found):
        clusters = [
            {"cluster": id, "name": found.cluster_names.get(id), "size": size}
            for id, size in ((f"{at}-{cluster}", size) for cluster, size in enumerate(level.sizes.tolist()))
        ]
        levels.append({"level": at, "clusters": clusters})
    return {
        "kind": "new points", "points": found.plan.rows, "directory": str(found.directory), "levels": levels,
    }  # fmt: skip


def summarize_placed(found: StoredPoints) -> list[str]:
    """Tell in lines of text how many new points are in each cluster of the top level."""
    lines = [f"{found.plan.rows} points in {' -> '.join(map(str, found.plan.levels))} clusters"]
    facts = placed_facts(found)["levels"][-1]["clusters"]
    largest = sorted(facts, key=lambda fact: -fact["size"])
    rows = [["cluster", "size", "name"]]
    rows += [[fact["cluster"], str(fact["size"]), fact["name"] or ""] for fact in largest]
    return lines + shortened(aligned(rows, frozenset({"cluster", "name"})))


def _clusters(h: StoredHierarchy, at: int) -> list[dict[str, Any]]:
    level, found = h[at], []
    total = float(level.mass.sum())
    for cluster in np.argsort(-level.mass, kind="stable").tolist():
        node = h.tree.find(f"{at}-{cluster}")
        children = sorted(map(h.tree.find, node.children), key=lambda child: -child.mass)
        found.append(
            {
                "cluster": node.id,
                "name": h.cluster_names.get(node.id),
                "size": node.size,
                "mass": node.mass,
                "share": node.mass / total if total > 0 else None,
                "children": [child.id for child in children],
            }
        )
    return found


def write_stored(folder: Path, h: StoredHierarchy, report: Mapping[str, Any], title: str) -> None:
    """Write a page to look at, the tree, labels in the order of the input, and a report; all or none."""
    text = json.dumps(plain(report), indent=2, allow_nan=False) + "\n"
    writers: dict[str, Any] = {
        REPORT: lambda path: write_atomic(path, lambda file: file.write(text.encode("utf-8"))),
        TREE: lambda path: tree_to_json(h.tree, path, h.cluster_names),
        PAGE: lambda path: h.explore(path, title=title),
    }
    for at, level in enumerate(h):
        writers[f"labels-{at}.npy"] = lambda path, level=level: level.labels.to_npy(path)
    replace_together(folder, writers, lambda: results_in(folder), seal=REPORT)
