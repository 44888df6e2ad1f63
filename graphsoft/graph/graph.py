"""The graph that everything works on: checked, undirected, weighted, frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.graph.adjacency import asymmetry, check_square, is_clean, refuse_asymmetric, weight_matrix
from graphsoft.input.mapped import is_plain
from graphsoft.input.sparse_input import check_rows, narrow, sparse_matrix
from graphsoft.kernels import rows_of
from graphsoft.kernels.adjacency import find_components, row_sums
from graphsoft.lazy import lazy
from graphsoft.linalg.csr import submatrix
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load
from graphsoft.storage.container import write_container
from graphsoft.storage.packing import Packer, Unpacker, pack_names, unpack_names
from graphsoft.storage.records import are_texts, is_flag, pack_record, unpack_record
from graphsoft.version import installed_version

__all__ = [
    "Graph",
    "checked_graph",
    "graph_of_weights",
    "pack_graph",
    "subgraph",
    "symmetric_graph",
    "unpack_graph",
]

# Properties that are computed on first use and kept.
KEPT = ("degrees", "degree_logs", "components")
# What is written of a graph beside its arrays and names.
FIELDS = {"notes": are_texts, "from_distances": is_flag, "of_neighbors": is_flag}


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A checked, undirected, weighted graph; made by :func:`as_graph` and :func:`knn_graph`.

    Nothing marks a graph as checked, because copies, pickles and arrays can change. Instead, every public
    function checks each graph that it is given. That takes about as long as three products with a vector:
    40 ms for 20 million stored weights.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric to the last bit, positive float64 weights, sorted columns, no repeated and no zero entries;
        int32 indices where they fit. (The engine also makes contracted and reordered graphs. Their weights
        may be float32, in any order, and symmetric except for rounding.) Its buffers are read-only. A CSR
        matrix that already has this form is not copied: if you change it, you change the graph.
    nodes : sequence of n
        The names of the nodes in row order, ``range(n)`` if they have none.
    notes : tuple of str
        What was done to the input, in words.
    duplicates : ndarray of shape (n,) or None
        For each node the number of its distinct point: nodes with the same number have identical features.
        The numbers begin at 0 and leave none out. None if no two nodes have identical features.
    from_distances : bool
        Whether the input was a matrix of distances to neighbors, which became weights.
    of_neighbors : bool
        Whether its edges are known to lead from points to their nearest neighbors.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> graph = as_graph(nx.path_graph(["a", "b", "c"]))
    >>> graph
    Graph(nodes=3, edges=2)
    >>> graph.nodes, graph.degrees.tolist()
    (('a', 'b', 'c'), [1.0, 2.0, 1.0])
    """

    adjacency: sp.csr_array
    nodes: Sequence[Any]
    notes: tuple[str, ...] = ()
    duplicates: Array | None = None
    from_distances: bool = False
    of_neighbors: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", _read_only(self.adjacency))
        if self.duplicates is not None:
            duplicates = np.asarray(self.duplicates).view()
            duplicates.flags.writeable = False
            object.__setattr__(self, "duplicates", duplicates)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the fields only: the copy computes its degrees itself."""
        of_points = (self.from_distances, self.of_neighbors)
        return type(self), (self.adjacency, self.nodes, self.notes, self.duplicates, *of_points)

    def __len__(self) -> int:
        if not sp.issparse(self.adjacency):
            raise InputError("graph", f"has the adjacency {shown(self.adjacency)}", "make it a csr_array")
        return int(self.adjacency.shape[0])

    def __repr__(self) -> str:
        given = self.adjacency
        try:
            check_rows(given, "graph")
        except InputError as error:
            return f"Graph(damaged: {error.problem})"
        loops = int(np.count_nonzero(given.diagonal()))
        return f"Graph(nodes={given.shape[0]}, edges={(given.nnz + loops) // 2})"

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all; :func:`graphsoft.load` reads it."""
        packer = Packer()
        content = pack_graph(checked_graph(self, "graph"), packer)
        write_container(path, "graph", content, packer.arrays, installed_version())

    @lazy
    def degrees(self) -> Array:
        """The summed weights of every node, float64 of shape (n,)."""
        given = self.adjacency
        check_rows(given, "graph")
        degrees = np.empty(given.shape[0])

        def piece(start: int, stop: int) -> None:
            row_sums(given.indptr, given.data, start, stop, degrees)

        for _ in map_pieces(piece, pieces_by_load(given.indptr, LOAD)):
            pass
        degrees.flags.writeable = False
        return degrees

    @lazy
    def degree_logs(self) -> float:
        """``sum_i d_i log d_i``: twice it is the part of a log-likelihood that no membership changes."""
        degrees = self.degrees[self.degrees > 0]
        return float((degrees * np.log(degrees)).sum())

    @lazy
    def components(self) -> Array:
        """The connected component of every node, int32 of shape (n,), numbered by their first nodes."""
        given = self.adjacency
        check_rows(given, "graph")
        labels = np.empty(given.shape[0], dtype=np.int32)
        find_components(*rows_of(given)[:2], labels)
        labels.flags.writeable = False
        return labels


def _read_only(given: Any) -> sp.csr_array:
    """Make a CSR array of read-only views, so that arrays of the caller stay as writable as they were."""
    if not (sp.issparse(given) and given.format == "csr"):
        remedy = "pass a csr_array, or let graphsoft.as_graph make the graph"
        raise InputError("adjacency", f"got {shown(given)}", remedy)
    try:
        parts = tuple(np.asarray(part).view() for part in (given.data, given.indices, given.indptr))
        frozen = sp.csr_array(parts, shape=given.shape)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        problem = f"is a malformed sparse matrix: {shown(error)}"
        raise InputError("adjacency", problem, "build it again from its rows, columns and values") from error
    for buffer in (frozen.data, frozen.indices, frozen.indptr):
        buffer.flags.writeable = False
    return frozen


def checked_graph(graph: Graph, argument: str = "X") -> Graph:
    """Check a graph, which a user may have made or changed by hand.

    Parameters
    ----------
    graph : Graph
        Or of a subclass.
    argument : str
        The name to use in errors.

    Returns
    -------
    Graph
        The given one, if it is as :func:`as_graph` would have made it. Else a new one, made of its adjacency
        as of any other matrix.

    Examples
    --------
    >>> graph = graph_of_weights(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), range(2), [])
    >>> checked_graph(graph) is graph
    True
    """
    if type(graph) is Graph and is_clean(graph.adjacency) and _fits(graph):
        for name in KEPT:  # the weights may have changed since these were computed
            graph.__dict__.pop(name, None)
        return graph
    adjacency, notes = graph.adjacency, graph.notes
    if not sp.issparse(adjacency):
        raise InputError(argument, f"has the adjacency {shown(adjacency)}", "make it a csr_array")
    made = symmetric_graph(sparse_matrix(adjacency, argument, rounded=True), None, [], argument)
    notes = tuple(map(str, notes)) if isinstance(notes, tuple | list) else ()
    new = tuple(note for note in made.notes if note not in notes)
    of_points = bool(graph.from_distances), bool(graph.of_neighbors)
    made = Graph(made.adjacency, graph.nodes, notes + new, graph.duplicates, *of_points)
    _refuse_unfit(made, argument)
    return made


def _fits(graph: Graph) -> bool:
    """Tell whether names, duplicates and notes fit the nodes."""
    try:
        _refuse_unfit(graph, "")
    except InputError:
        return False
    return type(graph.notes) is tuple and all(type(note) is str for note in graph.notes)


def _refuse_unfit(graph: Graph, argument: str) -> None:
    """Refuse names and duplicates that do not fit the nodes."""
    count = len(graph)
    try:
        named = len(graph.nodes)
    except TypeError:
        raise InputError(argument, f"has {shown(graph.nodes)} as names", "give a list of names") from None
    if named != count:
        problem = f"has {named} names for {count} nodes"
        raise InputError(argument, problem, "give one name for each row of its adjacency")
    if graph.duplicates is not None and not _are_numbers(graph.duplicates, count):
        raise InputError(argument, "has duplicates that do not number its nodes", "leave them as they were")


def _are_numbers(duplicates: Any, count: int) -> bool:
    """Tell whether these number the distinct points of `count` nodes, from 0 on with none left out."""
    if not is_plain(duplicates) or duplicates.shape != (count,):
        return False
    if duplicates.dtype.kind not in "iu" or not duplicates.dtype.isnative:
        return False
    largest = int(duplicates.max())
    if duplicates.min() < 0 or largest >= count:
        return False
    return bool(np.bincount(duplicates.astype(np.int64, copy=False), minlength=largest + 1).all())


def symmetric_graph(
    matrix: sp.csr_array, nodes: Sequence[Any] | None, notes: list[str], argument: str = "X"
) -> Graph:
    """Make a graph of edge weights with checked indices; they must be symmetric."""
    check_square(matrix, argument)
    weights, done = weight_matrix(matrix, argument, nodes)
    result, pair = asymmetry(weights)
    if pair is not None:
        raise refuse_asymmetric(matrix, pair, argument, nodes)
    return graph_of_weights(result, nodes, notes + done)


def graph_of_weights(
    matrix: sp.csr_array,
    nodes: Sequence[Any] | None,
    notes: list[str],
    duplicates: Array | None = None,
    from_distances: bool = False,
    of_neighbors: bool = False,
) -> Graph:
    """Make a graph of checked weights, with int32 indices where they fit."""
    matrix.sort_indices()
    adjacency = narrow(matrix)
    adjacency.data = np.ascontiguousarray(matrix.data, dtype=np.float64)
    adjacency.has_canonical_format = True
    loops = int(np.count_nonzero(adjacency.diagonal()))
    if loops:
        notes = [*notes, f"{loops} self-loops kept"]
    alone = int(np.count_nonzero(np.diff(adjacency.indptr) == 0))
    if alone:
        notes = [*notes, f"{alone} nodes without edges"]
    names = range(matrix.shape[0]) if nodes is None else nodes
    return Graph(adjacency, names, tuple(notes), duplicates, from_distances, of_neighbors)


def subgraph(graph: Graph, nodes: Array) -> Graph:
    """Keep only these nodes, which rise, without names and duplicates; the graph itself if they are all.

    Examples
    --------
    >>> weights = sp.csr_array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    >>> subgraph(Graph(weights, range(3)), np.array([0, 2])).degrees
    array([2., 2.])
    """
    if len(nodes) == len(graph):
        return graph
    return Graph(submatrix(graph.adjacency, nodes), range(len(nodes)))


def pack_graph(graph: Graph, packer: Packer) -> dict[str, Any]:
    """Describe a checked graph, and add its arrays."""
    numbers = None if graph.duplicates is None else packer.array("graph/duplicates", graph.duplicates)
    return {
        **pack_record(graph, FIELDS, "graph"),
        "adjacency": packer.matrix("graph/adjacency", graph.adjacency),
        "nodes": pack_names(graph.nodes),
        "duplicates": numbers,
    }


def unpack_graph(packed: dict[str, Any], unpacker: Unpacker) -> Graph:
    """Make a graph of its description, and check it."""
    numbers = packed["duplicates"]
    found = Graph(
        unpacker.matrix(packed["adjacency"]),
        unpack_names(packed["nodes"]),
        duplicates=None if numbers is None else unpacker.array(numbers, "iu"),
        **unpack_record(packed, FIELDS),
    )
    if checked_graph(found, "path") is not found:
        raise ValueError("a graph that has not been checked")
    return found
