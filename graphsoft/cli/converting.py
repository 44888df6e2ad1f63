"""Models and graphs in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphsoft.cli.given import named, seems_a_model
from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.formats.frames import columns_to_csv
from graphsoft.formats.graph_files import check_ending, graph_to_file
from graphsoft.formats.tables import point_columns
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.loading import load
from graphsoft.methods import Clustering

__all__ = ["convert_file"]


def convert_file(source: str, target: str) -> None:
    """Write what `source` holds in the format that the ending of `target` says."""
    ending = Path(target).suffix.lower()
    found: Any = load(source) if seems_a_model(source) else _graph(source)
    if isinstance(found, Graph):
        check_ending(target)
        graph_to_file(found, target)
    elif ending == ".csv":
        levels = [found] if isinstance(found, Clustering) else list(found)
        columns_to_csv(point_columns(found.nodes, levels), target)
    elif ending == ".json" and not isinstance(found, Clustering):
        tree_to_json(found.tree, target)
    else:
        kind = type(found).__name__.lower()
        possible = ".csv" if isinstance(found, Clustering) else ".json or .csv"
        raise InputError("output", f"a {kind} cannot be written as {ending!r}", f"use {possible}")


def _graph(source: str) -> Graph:
    dataset = read(source)
    if dataset.affinity == "features":
        problem = f"{source!r} holds points, not a graph"
        raise InputError("input", problem, "make a graph of it first, with graphsoft graph")
    return named(as_graph(dataset.data, affinity="precomputed"), dataset)
