"""What is known of a graph, of a file of data, and of a saved model, as names and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.datasets import Dataset
from graphsoft.distributed.status import status
from graphsoft.distributed.summary import PREDICTIONS
from graphsoft.fitting.report import edge_count
from graphsoft.fitting.settings import name_of
from graphsoft.graph.features import FeaturesLeftOut
from graphsoft.graph.graph import Graph
from graphsoft.methods import Clustering
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_points import StoredPoints

__all__ = ["dataset_facts", "graph_facts", "model_facts", "run_facts", "summarize_facts"]

# Of a list, so many are shown in a line of text.
SHOWN = 8


def graph_facts(graph: Graph, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Tell the size of a graph, its parts, and its degrees."""
    lengths = np.diff(graph.adjacency.indptr)
    return {
        "kind": "graph",
        "nodes": len(graph),
        "edges": edge_count(graph),
        "components": int(graph.components.max()) + 1,
        "isolated nodes": int(np.count_nonzero(lengths == 0)),
        "neighbors of a node": {
            "least": int(lengths.min()), "median": float(np.median(lengths)), "most": int(lengths.max())
        },
        "notes": [*notes, *graph.notes],
    }  # fmt: skip


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    """Tell what a file of data holds."""
    return {
        "kind": "a graph" if dataset.affinity == "precomputed" else "points",
        "holds": repr(dataset).removeprefix("Dataset(").removesuffix(")"),
        "columns": None if dataset.columns is None else list(dataset.columns),
        "names": None if dataset.names is None else [str(name) for name in dataset.names],
        "classes": None if dataset.labels is None else [str(each) for each in np.unique(dataset.labels)],
        "notes": list(dataset.notes),
    }


def model_facts(model: Hierarchy | Clustering | Graph) -> dict[str, Any]:
    """Tell what a saved model holds."""
    if isinstance(model, Graph):
        return graph_facts(model)
    if isinstance(model, Clustering):
        points, clusters = model.memberships.shape
        return {"kind": "clustering", "points": points, "clusters": clusters, "status": model.status}
    settings = model.settings
    columns = None if model.features is None else model.features.columns
    return {
        "kind": "hierarchy",
        "points": len(model.graph),
        "levels": [len(level.mass) for level in model],
        "methods": [name_of(each) for each in settings.methods],
        "neighbors": None if model.features is None else settings.n_neighbors,
        "metric": None if model.features is None else settings.metric,
        "weights": None if model.features is None else settings.weights,
        "columns": None if columns is None else list(columns),
        "features": _features(model),
        "scaled": bool(model.report.scaling),
        "notes": list(model.report.notes),
    }


def run_facts(directory: str) -> dict[str, Any]:
    """Tell how far the run in a directory is, and what its result holds if it is there."""
    found = status(directory)
    if not found.finished:
        resume = [] if found.worked_on else ["the same call takes it up where it stopped"]
        return {
            "kind": "a run", "tasks": found.tasks, "done": found.done, "stands at": found.stage,
            "at work": found.worked_on, "notes": resume,
        }  # fmt: skip
    if Path(directory, PREDICTIONS).is_file():
        plan = StoredPoints.open(directory).plan
        return {
            "kind": "new points on disk", "points": plan.rows, "levels": list(plan.levels),
            "rows in a chunk": plan.chunk_rows,
        }  # fmt: skip
    h = StoredHierarchy.open(directory)
    plan, points = h.plan, h.plan.kind == "points"
    return {
        "kind": "a hierarchy on disk",
        "points": plan.rows,
        "levels": list(plan.levels),
        "partitions": plan.partitions,
        "rows in a chunk": plan.chunk_rows,
        "neighbors": plan.n_neighbors if points else None,
        "metric": plan.metric if points else None,
        "weights": plan.weights if points else None,
        "columns": None if h.summary.columns is None else list(h.summary.columns),
        "features": f"{plan.features}" if points else "none, a graph was given",
        "notes": list(h.report.notes),
    }


def _features(h: Hierarchy) -> str:
    """Tell which features a hierarchy has: new points can be compared with these only."""
    if h.features is None:
        return "none, a graph was given"
    if isinstance(h.features, FeaturesLeftOut):
        return "left out"
    return f"{h.features.values.shape[1]}"


def summarize_facts(facts: Mapping[str, Any]) -> list[str]:
    """Write facts as lines; long lists are cut, and what is not there is left out.

    Examples
    --------
    >>> summarize_facts({"kind": "graph", "columns": None, "names": list("abcdefghij")})
    ['kind: graph', 'names: a, b, c, d, e, f, g, h, ... (10)']
    """
    return [f"{name}: {_words(value)}" for name, value in facts.items() if value is not None and value != []]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each:g}" for name, each in value.items())
    if isinstance(value, list):
        cut = f", ... ({len(value)})" if len(value) > SHOWN else ""
        return ", ".join(map(str, value[:SHOWN])) + cut
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
