"""Models and graphs in other formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphsoft.cli.given import seems_a_model
from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.formats.graphs import check_ending, graph_to_file
from graphsoft.formats.tables import labels_to_csv
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.loading import load
from graphsoft.methods import Clustering
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["convert_file"]

# By the ending of the file: the tree, or, as Parquet, a table of the points.
HIERARCHY_WRITERS: dict[str, Callable[[Hierarchy, str], object]] = {
    ".json": Hierarchy.to_json,
    ".nwk": Hierarchy.to_newick,
    ".graphml": Hierarchy.to_graphml,
    ".gexf": Hierarchy.to_gexf,
    ".parquet": Hierarchy.to_parquet,
}


def convert_file(source: str, target: str) -> None:
    """Write what `source` holds in the format that the ending of `target` says."""
    ending = Path(target).suffix.lower()
    found: Any = load(source) if seems_a_model(source) else _graph(source)
    if isinstance(found, Graph):
        check_ending(target)
        graph_to_file(found, target)
    elif ending == ".csv":
        levels = [found] if isinstance(found, Clustering) else list(found)
        columns = [level.labels for level in levels], [level.entropy for level in levels]
        labels_to_csv(found.nodes, *columns, target)
    elif ending in HIERARCHY_WRITERS and isinstance(found, Hierarchy):
        HIERARCHY_WRITERS[ending](found, target)
    else:
        kind = type(found).__name__.lower()
        possible = [".csv", *(HIERARCHY_WRITERS if isinstance(found, Hierarchy) else ())]
        problem = f"a {kind} cannot be written as {ending!r}"
        raise InputError("output", problem, f"use {' or '.join(possible)}")


def _graph(source: str) -> Graph:
    dataset = read(source)
    if dataset.affinity == "features":
        problem = f"{source!r} holds points, not a graph"
        raise InputError("input", problem, "make a graph of it first, with graphsoft graph")
    made = as_graph(dataset.data, affinity="precomputed")
    if dataset.names is None or len(set(dataset.names)) < len(made):
        return made
    return Graph(made.adjacency, dataset.names, made.notes)
