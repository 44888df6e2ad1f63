"""Graphs as files: npz, Matrix Market, lists of edges, GraphML."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from scipy.sparse import csr_array, save_npz, triu

from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["GRAPH_ENDINGS", "check_ending", "graph_to_file"]

_UNFIT = re.compile(r"[\s#]|^$")  # for a list of edges


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
    ending = check_ending(path)
    if ending == ".graphsoft":
        graph.save(path)
    else:
        write_atomic(path, lambda file: _WRITERS[ending](graph, file))


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


def _write_npz(graph: Graph, file: IO[bytes]) -> None:
    save_npz(file, graph.adjacency)


def _write_mtx(graph: Graph, file: IO[bytes]) -> None:
    from scipy.io import mmwrite

    mmwrite(file, graph.adjacency, precision=17, symmetry="symmetric")


def _write_edges(graph: Graph, file: IO[bytes]) -> None:
    names = [str(name) for name in graph.nodes]
    unfit = next((name for name in names if _UNFIT.search(name)), None)
    if unfit is not None:
        problem = f"the name {shown(unfit)} has a space or a # in it, or is empty"
        raise InputError("path", problem, "write .graphml, which can hold all names")
    if len(set(names)) < len(names):
        raise InputError("path", "some nodes have the same name", "write .npz, which holds no names")
    isolated = np.flatnonzero(np.diff(graph.adjacency.indptr) == 0)
    if len(isolated):
        problem = f"node {shown(names[isolated[0]])} has no edges, which a list of edges cannot tell"
        raise InputError("path", problem, "write .graphml or .npz")
    text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    for row, column, weight in _edges(graph):
        text.write(f"{names[row]} {names[column]} {weight!r}\n")
    text.detach()


def _write_graphml(graph: Graph, file: IO[bytes]) -> None:
    import networkx as nx

    made = nx.Graph()
    made.add_nodes_from(str(name) for name in graph.nodes)
    names = list(made)
    if len(names) < len(graph):
        raise InputError("path", "some nodes have the same name", "write .npz, which holds no names")
    made.add_weighted_edges_from((names[row], names[column], weight) for row, column, weight in _edges(graph))
    nx.write_graphml(made, file)


def _edges(graph: Graph) -> list[tuple[int, int, float]]:
    """List every edge once, with its weight."""
    upper = csr_array(triu(graph.adjacency)).tocoo()
    return list(zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True))


_WRITERS: dict[str, Callable[[Graph, IO[bytes]], None]] = {
    ".npz": _write_npz,
    ".mtx": _write_mtx,
    ".edges": _write_edges,
    ".graphml": _write_graphml,
}
GRAPH_ENDINGS = (*_WRITERS, ".graphsoft")
