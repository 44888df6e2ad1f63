"""Models and graphs in other formats, and models with names for their clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphsoft.cli.given import named, seems_a_model
from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.formats.frames import columns_to_csv
from graphsoft.formats.graph_files import check_ending, graph_to_file
from graphsoft.formats.json_text import parsed_json
from graphsoft.formats.tables import point_columns
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.loading import load
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_points import StoredPoints

__all__ = ["convert_file"]

# By the ending of the file: the method that writes it.
WRITERS = {
    ".json": "to_json", ".nwk": "to_newick", ".graphml": "to_graphml", ".gexf": "to_gexf", ".csv": "to_csv",
    ".parquet": "to_parquet", ".graphsoft": "save",
}  # fmt: skip
# By the ending: what may be asked for, the usual first. Points on disk may be too many for a graph in a file.
Choices = dict[str, tuple[str, ...]]
TREE: Choices = {".json": (), ".nwk": (), ".graphml": ("tree",), ".gexf": ("tree",)}
TABLES: Choices = {".csv": ("points", "clusters"), ".parquet": ("points", "clusters")}
GRAPHS: Choices = {".graphml": ("tree", "points"), ".gexf": ("tree", "points")}
KINDS: dict[type, tuple[str, Choices]] = {
    Hierarchy: ("a hierarchy", {**TREE, **GRAPHS, **TABLES, ".graphsoft": ()}),
    StoredHierarchy: ("a hierarchy on disk", {**TREE, **TABLES}),
    StoredPoints: ("what holds new points", dict.fromkeys(TABLES, ("points",))),
}


def convert_file(source: str, target: str, names: str | None = None, of: str | None = None) -> None:
    """Write what `source` holds in the format that the ending of `target` says.

    Parameters
    ----------
    source, target : str
    names : str, optional
        A file with names for the clusters of a hierarchy.
    of : str, optional
        What of a hierarchy to write.
    """
    ending = Path(target).suffix.lower()
    found: Any = load(source) if seems_a_model(source) or Path(source).is_dir() else _graph(source)
    if isinstance(found, Hierarchy | StoredHierarchy | StoredPoints):
        _write_hierarchy(found if names is None else found.name_clusters(_read_names(names)), target, of)
        return
    for argument, value in {"names": names, "of": of}.items():
        if value is not None:
            raise InputError(argument, f"{source!r} holds no hierarchy", "leave it out")
    if isinstance(found, Graph):
        check_ending(target)
        graph_to_file(found, target)
    elif ending == ".csv":
        columns_to_csv(point_columns(found.nodes, [found]), target)
    else:
        raise InputError("output", f"a clustering cannot be written as {ending!r}", "use .csv")


def _write_hierarchy(h: Hierarchy | StoredHierarchy | StoredPoints, target: str, of: str | None) -> None:
    ending = Path(target).suffix.lower()
    kind, known = KINDS[type(h)]
    if ending not in known:
        raise InputError("output", f"{kind} cannot be written as {ending!r}", f"use {' or '.join(known)}")
    if of is not None and of not in known[ending]:
        others = " or ".join(each for each, choices in known.items() if of in choices)
        remedy = f"leave it out, or use {others}" if others else "leave it out"
        raise InputError("of", f"a {ending} file has no choice of {of}", remedy)
    getattr(h, WRITERS[ending])(target, *(() if of is None else (of,)))


def _read_names(path: str) -> Any:
    """Read names of clusters as the page saves them: a JSON object from ids to names."""
    try:
        return parsed_json(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        problem = f"{path!r} holds no JSON: {error}"
        raise InputError("names", problem, "give the file that Save names of the page wrote") from None


def _graph(source: str) -> Graph:
    dataset = read(source)
    if dataset.affinity == "features":
        problem = f"{source!r} holds points, not a graph"
        raise InputError("input", problem, "make a graph of it first, with graphsoft graph")
    return named(as_graph(dataset.data, affinity="precomputed"), dataset)
