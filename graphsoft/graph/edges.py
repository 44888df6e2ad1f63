"""Lists of edges, as arrays, as tuples or in the columns of a data frame, become a graph."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph, symmetric_graph
from graphsoft.graph.networks import adjacency_of, checked_weights, is_network
from graphsoft.input.containers import names_of_columns
from graphsoft.input.large_numbers import EXACT

__all__ = ["edge_graph"]


def edge_graph(
    edges: Any, *, weight: str | None = "weight", source: str = "source", target: str = "target"
) -> Graph:
    """Make a graph of a list of edges.

    Parameters
    ----------
    edges : array of shape (m, 2) or (m, 3), iterable of tuples, or data frame
        For each edge its two nodes and, if there are three columns, its weight. Nodes are whole numbers,
        texts, or anything else that can be a key.
    weight : str or None
        The column of a data frame that holds the weights. Every edge counts 1 with None, and also if a data
        frame has no column ``weight``.
    source, target : str
        The columns of a data frame that hold the two nodes.

    Returns
    -------
    Graph
        Nodes that are whole numbers come in rising order, others in the order in which they appear. The
        weights of an edge that is listed several times are summed, whichever of its nodes comes first.

    See Also
    --------
    as_graph : for graphs of networkx and igraph, and for sparse matrices.
    directed_graph : for edges that go one way.

    Examples
    --------
    >>> import graphsoft
    >>> graph = graphsoft.edge_graph([("a", "b", 2.0), ("b", "c", 1.0), ("b", "a", 1.0)])
    >>> graph.nodes, graph.adjacency.toarray().tolist()
    (('a', 'b', 'c'), [[0.0, 3.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 0.0]])

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"from": [0, 0, 1], "to": [1, 2, 2], "calls": [5, 1, 3]})
    >>> graphsoft.edge_graph(frame, source="from", target="to", weight="calls")
    Graph(nodes=3, edges=3)
    """
    first, second, given = _columns(edges, weight, source, target)
    ends, nodes = _numbered(first, second)
    values = np.ones(len(first)) if given is None else checked_weights(given, ends, nodes, "edges")
    matrix = adjacency_of(ends, values, len(nodes), "edges")
    notes = ["edges without weight count as 1"] if given is None else []
    repeated = len(first) - sp.triu(matrix).nnz
    if repeated:
        notes.append(f"{repeated} repeated edges added to others")
    return symmetric_graph(matrix, nodes, notes, "edges")


def _columns(edges: Any, weight: Any, source: Any, target: Any) -> tuple[Array, Array, Any]:
    """Split a list of edges into the first nodes, the second nodes, and the weights or None."""
    if is_network(edges) or isinstance(edges, Graph) or sp.issparse(edges):
        raise InputError("edges", "is a graph, not a list of edges", "pass it to graphsoft.as_graph")
    titles = names_of_columns(edges)
    parts = _of_rows(edges) if titles is None else _of_frame(edges, list(titles), weight, source, target)
    if not parts or not len(parts[0]):
        raise InputError("edges", "got no edges", "pass at least one")
    first, second, *rest = parts
    given = rest[0] if rest and weight is not None else None
    return _as_names(first), _as_names(second), given


def _of_frame(frame: Any, known: list[Any], weight: Any, source: Any, target: Any) -> list[Any]:
    """Take columns of a table, which has those that are known."""
    for argument, name in (("source", source), ("target", target), ("weight", weight)):
        if name not in known and not (argument == "weight" and name in (None, "weight")):
            problem = f"edges has no column {shown(name)}, but {shown(known)}"
            raise InputError(argument, problem, f"name a column, as in {argument}='...'")
    names = [source, target] + [weight] * (weight in known)
    columns = [np.asarray(frame[name]) for name in names]
    if any(column.ndim != 1 for column in columns):
        raise InputError("edges", f"has columns {shown(known)}, of which some are alike", "rename them")
    return columns


def _of_rows(edges: Any) -> list[Any]:
    """Take the columns of an array, or of tuples."""
    remedy = "pass pairs of nodes, or pairs with a weight: (u, v) or (u, v, weight)"
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] not in (2, 3):
            turned = ", such as edges.T" if edges.ndim == 2 and edges.shape[0] in (2, 3) else ""
            raise InputError("edges", f"has the shape {edges.shape}", remedy + turned)
        return list(edges.T)
    if isinstance(edges, str | bytes | Mapping) or not isinstance(edges, Iterable):
        raise InputError("edges", f"got {shown(edges)}", remedy)
    rows = list(edges)
    length = len(rows[0]) if rows and isinstance(rows[0], Sequence | np.ndarray) else 2
    for place, row in enumerate(rows):
        fits = isinstance(row, Sequence | np.ndarray) and not isinstance(row, str | bytes)
        if not fits or len(row) != length or length not in (2, 3):
            problem = f"row {place} is {shown(row)}"
            raise InputError("edges", problem, remedy + ", the same on every row")
    return [list(column) for column in zip(*rows, strict=True)]


def _as_names(column: Any) -> Any:
    """Make names of one column of nodes: an array of whole numbers, or a list of anything else."""
    if not (isinstance(column, np.ndarray) and column.dtype.kind in "iuf"):
        names = column.tolist() if isinstance(column, np.ndarray) else column
        if not all(isinstance(name, numbers.Real) and not isinstance(name, bool) for name in names):
            return names
        whole = all(isinstance(name, numbers.Integral) for name in names)
        try:
            column = np.array(names, dtype=np.int64 if whole else np.float64)
        except OverflowError:  # names may be larger than any type of NumPy
            return names
    if column.dtype.kind == "f":
        bad = np.flatnonzero(~((column == np.floor(column)) & (np.abs(column) < EXACT)))
        if len(bad):
            problem = f"row {bad[0]} has {column[bad[0]]:g} as a node"
            raise InputError("edges", problem, "use whole numbers or texts, and drop rows without a node")
        column = column.astype(np.int64)
    return column


def _numbered(first: Any, second: Any) -> tuple[tuple[Array, Array], tuple[Any, ...]]:
    """Give numbers to the nodes. Return the two of each edge, and the names."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        both = np.concatenate([first, second])
        if both.dtype.kind in "iu":  # int64 and uint64 would become float64
            names, numbered = np.unique(both, return_inverse=True)
            return (numbered[: len(first)], numbered[len(first) :]), tuple(names.tolist())
    number: dict[Any, int] = {}
    pairs = np.empty((len(first), 2), dtype=np.int64)
    columns = (each.tolist() if isinstance(each, np.ndarray) else each for each in (first, second))
    for row, pair in enumerate(zip(*columns, strict=True)):
        for side, name in enumerate(pair):
            pairs[row, side] = number.setdefault(_checked_name(name, row), len(number))
    return (pairs[:, 0], pairs[:, 1]), tuple(number)


def _checked_name(name: Any, row: int) -> Any:
    """Refuse what cannot be the name of a node."""
    missing = name is None or type(name).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(name, float) and math.isnan(name)):
        raise InputError("edges", f"row {row} has no node", "drop such rows")
    try:
        hash(name)
    except TypeError:
        problem = f"row {row} has {shown(name)} as a node"
        raise InputError("edges", problem, "use whole numbers, texts or other keys") from None
    return name.item() if isinstance(name, np.generic) else name
