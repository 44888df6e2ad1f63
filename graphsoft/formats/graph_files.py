"""Graphs as files: npz, Matrix Market, lists of edges, GraphML."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse import save_npz

from graphsoft.errors import InputError, shown
from graphsoft.formats.naming import distinct_texts, refuse
from graphsoft.formats.networkx_graphs import edges_once, weighted_graph, write_graphml
from graphsoft.graph.graph import Graph
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["GRAPH_ENDINGS", "check_ending", "graph_to_file"]

# A list of edges is split at white space and cut at #; a byte order mark at its beginning is skipped.
_UNFIT = re.compile(r"[\s#\ufeff\ud800-\udfff]|^$")


def graph_to_file(graph: Graph, path: PathLike) -> None:
    """Write a graph, whole or not at all; the ending of the name says how.

    Parameters
    ----------
    graph : Graph
    path : path-like
        Ends in ``.npz`` (for ``scipy.sparse.load_npz``), ``.mtx``, ``.edges``, ``.graphml``, or
        ``.graphsoft``. npz and mtx hold no names of nodes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "path.edges")
    ...     graph_to_file(as_graph(nx.path_graph(["a", "b", "c"])), path)
    ...     print(path.read_text(encoding="utf-8"))
    a b 1.0
    b c 1.0
    <BLANKLINE>
    """
    _WRITERS[check_ending(path)](graph, path)


def check_ending(path: PathLike) -> str:
    """Return the ending of a name if graphs can be written to such a file.

    Examples
    --------
    >>> check_ending("graph.NPZ")
    '.npz'
    """
    ending = Path(path).suffix.lower()
    if ending in GRAPH_ENDINGS:
        return ending
    problem = f"{Path(path).name!r} ends in {ending!r}"
    raise InputError("output", problem, f"use one of {', '.join(GRAPH_ENDINGS)}")


def _write_npz(graph: Graph, path: PathLike) -> None:
    write_atomic(path, lambda file: save_npz(file, graph.adjacency))


def _write_mtx(graph: Graph, path: PathLike) -> None:
    from scipy.io import mmwrite

    write_atomic(path, lambda file: mmwrite(file, graph.adjacency, precision=17, symmetry="symmetric"))


def _write_edges(graph: Graph, path: PathLike) -> None:
    names = distinct_texts(graph.nodes)
    refuse(names, _UNFIT, "a list of edges")
    isolated = np.flatnonzero(np.diff(graph.adjacency.indptr) == 0)
    if len(isolated):
        problem = f"node {shown(names[isolated[0]])} has no edges, which a list of edges cannot tell"
        raise InputError("path", problem, "write .graphml or .npz")
    lines = (
        f"{names[row]} {names[column]} {weight!r}\n" for row, column, weight in edges_once(graph.adjacency)
    )
    write_atomic(path, lambda file: file.writelines(line.encode("utf-8") for line in lines))


def _write_graphml(graph: Graph, path: PathLike) -> None:
    write_graphml(weighted_graph(graph.adjacency, graph.nodes), path)


_WRITERS: dict[str, Callable[[Graph, PathLike], None]] = {
    ".npz": _write_npz,
    ".mtx": _write_mtx,
    ".edges": _write_edges,
    ".graphml": _write_graphml,
    ".graphsoft": Graph.save,
}
GRAPH_ENDINGS = tuple(_WRITERS)
