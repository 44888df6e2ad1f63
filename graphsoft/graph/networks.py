"""Graphs of networkx and igraph, read as symmetric weights with the names of their nodes."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph, symmetric_graph

__all__ = [
    "adjacency_of",
    "checked_weights",
    "from_network",
    "graph_of_network",
    "is_igraph",
    "is_network",
    "is_networkx",
    "names_of",
]


def is_networkx(data: Any) -> bool:
    """Tell whether `data` is a graph of networkx; if so, networkx has been imported."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(data, networkx.Graph)


def is_igraph(data: Any) -> bool:
    """Tell whether `data` is a graph of igraph; if so, igraph has been imported."""
    igraph = sys.modules.get("igraph")
    return igraph is not None and isinstance(data, igraph.Graph)


def is_network(data: Any) -> bool:
    """Tell whether `data` is a graph of networkx or of igraph."""
    return is_networkx(data) or is_igraph(data)


def names_of(network: Any) -> Sequence[Any]:
    """List the nodes in order; the vertices of igraph have numbers unless they have names that differ.

    Those of graphs that igraph has taken over from networkx have the names of these nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> names_of(nx.Graph([("a", "b")]))
    ('a', 'b')
    """
    if is_networkx(network):
        return tuple(network.nodes)
    numbered = range(network.vcount())
    key = next((key for key in ("name", "_nx_name") if key in network.vs.attributes()), None)
    if key is None:
        return numbered
    names = tuple(network.vs[key])
    try:
        return names if len(set(names)) == len(names) else numbered
    except TypeError:  # not hashable
        return numbered


def graph_of_network(network: Any, weight: str | None = "weight") -> Graph:
    """Make a checked graph; the two directions of an edge must weigh the same."""
    return symmetric_graph(*from_network(network, "X", weight))


def from_network(
    network: Any, argument: str, weight: str | None = "weight"
) -> tuple[sp.csr_array, Sequence[Any], list[str]]:
    """Read a graph of networkx or igraph: its edges, its nodes, and what was done.

    Edges without direction are there in both directions. Parallel edges are summed.

    Parameters
    ----------
    network : networkx or igraph graph
    argument : str
        The name to use in errors.
    weight : str or None
        The attribute that holds the weights of edges. Every edge counts 1 if it is None, and also if it is
        ``weight`` and no edge has that.

    Examples
    --------
    >>> import networkx as nx
    >>> matrix, nodes, _ = from_network(nx.Graph([("a", "b")]), "X")
    >>> matrix.toarray().tolist(), nodes
    ([[0.0, 1.0], [1.0, 0.0]], ('a', 'b'))
    """
    nodes = names_of(network)
    if not nodes:
        raise InputError(argument, "is a graph without nodes", "pass at least one node")
    rows, columns = _ends(network, nodes)
    given = None if weight is None else _attribute(network, weight, argument)
    if given is None:
        values, notes = np.ones(len(rows)), ["edges without weight count as 1"]
    else:
        values, notes = checked_weights(given, (rows, columns), nodes, argument), []
    matrix = adjacency_of((rows, columns), values, len(nodes), argument, directed=network.is_directed())
    return matrix, nodes, notes


def _ends(network: Any, nodes: Sequence[Any]) -> tuple[Array, Array]:
    """List the two ends of every edge, as numbers of nodes."""
    if is_networkx(network):
        number = {node: place for place, node in enumerate(nodes)}
        pairs = [(number[one], number[two]) for one, two in network.edges()]
    else:
        pairs = network.get_edgelist()
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _attribute(network: Any, name: Any, argument: str) -> list[Any] | None:
    """List an attribute of the edges, with None where it is missing; None if edges do not need it."""
    if not isinstance(name, str):
        raise InputError("weight", f"got {shown(name)}", "name an attribute of the edges, or pass None")
    if is_networkx(network):
        values = [value for _, _, value in network.edges(data=name)]
    else:
        values = network.es[name] if name in network.es.attributes() else [None] * network.ecount()
    if any(value is not None for value in values):
        return values
    if name == "weight" or not values:
        return None
    raise InputError("weight", f"no edge of {argument} has an attribute {name!r}", "name one that edges have")


def checked_weights(given: Any, ends: tuple[Array, Array], nodes: Sequence[Any], argument: str) -> Array:
    """Check the weights of edges: finite numbers, and none missing.

    Parameters
    ----------
    given : sequence of m
    ends : pair of ndarrays of shape (m,)
        The numbers of the nodes that each edge joins, for errors.
    nodes : sequence of n
        The names of the nodes.
    argument : str
        The name to use in errors.

    Examples
    --------
    >>> checked_weights([2, 0.5], (np.array([0, 1]), np.array([1, 2])), ("a", "b", "c"), "X")
    array([2. , 0.5])
    """

    def edge(place: int) -> str:
        return repr((nodes[ends[0][place]], nodes[ends[1][place]]))

    if isinstance(given, np.ndarray):
        if given.dtype.kind in "biuf":
            with np.errstate(over="ignore"):
                values = given.astype(np.float64)
            if np.isfinite(values).all():
                return values
        given = given.tolist()
    missing = [place for place, weight in enumerate(given) if weight is None]
    if missing:
        problem = f"{len(missing)} of {len(given)} edges have no weight, the first is {edge(missing[0])}"
        raise InputError(argument, problem, "give every edge a weight, or none of them")
    for place, weight in enumerate(given):
        if not _finite(weight):
            problem = f"the edge {edge(place)} has the weight {shown(weight)}"
            raise InputError(argument, problem, "use finite numbers")
    return np.array([float(weight) for weight in given])


def _finite(weight: Any) -> bool:
    """Tell whether a weight is a real number that float64 holds."""
    if not isinstance(weight, (numbers.Real, np.bool_)):
        return False
    try:
        return bool(np.isfinite(float(weight)))
    except OverflowError:
        return False


def adjacency_of(
    ends: tuple[Array, Array], values: Array, count: int, argument: str, *, directed: bool = False
) -> sp.csr_array:
    """Make the adjacency of `count` nodes; edges without direction are stored twice, self-loops once.

    Examples
    --------
    >>> adjacency_of((np.array([0, 0]), np.array([0, 1])), np.array([2.0, 3.0]), 2, "X").toarray()
    array([[2., 3.],
           [3., 0.]])
    """
    rows, columns = ends
    if not directed:
        other = rows != columns
        rows, columns = np.concatenate([rows, columns[other]]), np.concatenate([columns, rows[other]])
        values = np.concatenate([values, values[other]])
    with np.errstate(over="ignore"):
        matrix = sp.coo_array((values, (rows, columns)), shape=(count, count)).tocsr()
    if not np.isfinite(matrix.data).all():
        raise InputError(argument, "parallel edges add up to more than float64 holds", "rescale the weights")
    return matrix
