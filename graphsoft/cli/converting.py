"""Models and graphs in other formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphsoft.cli.given import named, seems_a_model
from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.formats.frames import columns_to_csv
from graphsoft.formats.graph_files import check_ending, graph_to_file
from graphsoft.formats.tables import point_columns
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.loading import load
from graphsoft.methods import Clustering
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["convert_file"]

# By the ending of the file: the tree, or, as csv and Parquet, a table of the points.
HIERARCHY_WRITERS: dict[str, Callable[[Hierarchy, str], object]] = {
    ".json": Hierarchy.to_json,
    ".nwk": Hierarchy.to_newick,
    ".graphml": Hierarchy.to_graphml,
    ".gexf": Hierarchy.to_gexf,
    ".csv": Hierarchy.to_csv,
    ".parquet": Hierarchy.to_parquet,
}


def convert_file(source: str, target: str) -> None:
    """Write what `source` holds in the format that the ending of `target` says."""
    ending = Path(target).suffix.lower()
    found: Any = load(source) if seems_a_model(source) else _graph(source)
    if isinstance(found, Graph):
        check_ending(target)
        graph_to_file(found, target)
    elif isinstance(found, Clustering) and ending == ".csv":
        columns_to_csv(point_columns(found.nodes, [found]), target)
    elif isinstance(found, Hierarchy) and ending in HIERARCHY_WRITERS:
        HIERARCHY_WRITERS[ending](found, target)
    else:
        possible = HIERARCHY_WRITERS if isinstance(found, Hierarchy) else [".csv"]
        problem = f"a {type(found).__name__.lower()} cannot be written as {ending!r}"
        raise InputError("output", problem, f"use {' or '.join(possible)}")


def _graph(source: str) -> Graph:
    dataset = read(source)
    if dataset.affinity == "features":
        problem = f"{source!r} holds points, not a graph"
        raise InputError("input", problem, "make a graph of it first, with graphsoft graph")
    return named(as_graph(dataset.data, affinity="precomputed"), dataset)
