"""Directed graphs: the random walk along their edges, and how often it uses each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown, warn
from graphsoft.graph.adjacency import weight_matrix
from graphsoft.graph.graph import Graph
from graphsoft.graph.networks import from_network, is_network
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import callback, number
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.sparse_input import canonical, sparse_matrix
from graphsoft.linalg.csr import inverse_or_zero, times
from graphsoft.progress import watches_progress

__all__ = ["directed_graph"]

# The walk has settled when a step moves less than this share of the whole.
SETTLED = 1e-12
# A walk that has not settled after so many steps hardly ever will.
MAX_STEPS = 20_000


@watches_progress("following the flow")
def directed_graph(
    X: Any,
    teleport: float = 0.15,
    *,
    weight: str | None = "weight",
    progress: Progress | bool | None = None,
) -> Graph:
    """Turn a directed graph into an undirected one that keeps its random walk.

    A walk follows the edges, from i to j with the chance ``P_ij = a_ij / sum_j a_ij``, and visits node i with
    the frequency ``pi_i`` in the long run. The weight of an edge in the result is how often this walk uses
    it, in either direction: ``W = (Pi P + P^T Pi) / 2``. So the clusters are groups in which the walk stays
    for long. Nodes that merely have edges to the same other nodes do not form one.

    Parameters
    ----------
    X : networkx or igraph graph, sparse or dense square matrix, or Graph
        Entry ``a_ij``, at least 0, is the weight of the edge from i to j.
    teleport : float
        From 0 to 1: how often the walk jumps instead of following an edge. It jumps to nodes in proportion to
        the weight of the edges that leave them. From nodes that no edge leaves it always jumps. Jumps
        influence where the walk is, but are not part of the result, which stays as sparse as X. With 0 every
        edge must be part of a cycle. With 1 the result is ``(A + A^T) / 2``.
    weight : str or None
        The attribute that holds the weights of edges; see :func:`graphsoft.as_graph`.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Graph
        With the names of the nodes, for `hierarchy`, `cluster` and all else that takes a graph.

    Notes
    -----
    ``pi`` is scaled so that it adds up to the weight of X: a symmetric X is returned unchanged, with any
    teleport. A row sum is the mean of the flow into the node and the flow out of it. Without teleport both
    are ``pi_i``. Then the walk on the result visits every node, and leaves every set of nodes, as often as
    the directed walk. Such weights were used by D. Zhou, J. Huang and B. Schölkopf, *Learning from Labeled
    and Unlabeled Data on a Directed Graph*, 2005. Jumps that do not count were used by R. Lambiotte and M.
    Rosvall, *Ranking and clustering of nodes in networks with smart teleportation*, 2012.

    Examples
    --------
    The whole flow goes along the edge from b to c, so this edge is the heaviest:

    >>> import networkx as nx
    >>> graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "b")])
    >>> directed_graph(graph, teleport=0).adjacency.toarray().round(2)
    array([[0.  , 0.42, 0.42, 0.  ],
           [0.42, 0.  , 0.83, 0.42],
           [0.42, 0.83, 0.  , 0.42],
           [0.  , 0.42, 0.42, 0.  ]])
    """
    teleport = number("teleport", teleport, minimum=0, maximum=1)
    progress = callback("progress", progress)
    weights, nodes, notes = _directed(X, weight)
    leaving = np.asarray(weights.sum(axis=1)).ravel()
    if teleport == 0:
        _refuse_one_way(weights, nodes)
    visits, steps = _visits(weights, leaving, teleport, progress)
    flow = weights * (visits * inverse_or_zero(leaving))[:, None]
    both = canonical(((flow + flow.T) * 0.5).tocsr())
    notes.append(f"flow of a walk with teleport {teleport:g}, settled after {steps} steps")
    ends = int(np.count_nonzero((leaving == 0) & (visits > 0)))
    if ends:
        notes.append(f"{ends} nodes that no edge leaves: the walk jumps from there")
    made = as_graph(both, affinity="precomputed")
    return replace(made, nodes=nodes or made.nodes, notes=(*notes, *made.notes))


def _directed(X: Any, weight: str | None) -> tuple[sp.csr_array, Any, list[str]]:
    """Check a directed graph. Return its weights, its names if it has any, and what was done."""
    nodes: Any = None
    notes: list[str] = []
    if isinstance(X, Graph):
        checked = as_graph(X)
        return checked.adjacency, checked.nodes, list(checked.notes)
    if is_network(X):
        matrix, nodes, notes = from_network(X, "X", weight)
    elif sp.issparse(X):
        matrix = sparse_matrix(X, rounded=True)
    else:
        matrix = sp.csr_array(dense_matrix(X, rounded=True).astype(np.float64))
    if matrix.shape[0] != matrix.shape[1]:
        problem = f"is a graph of shape {matrix.shape}, which is not square"
        raise InputError("X", problem, "pass one row and one column for each node")
    weights, done = weight_matrix(matrix, "X", nodes)
    return weights, nodes, notes + done


def _refuse_one_way(weights: sp.csr_array, nodes: Any) -> None:
    """Refuse a graph in which the walk would leave some nodes and never return."""
    strong = connected_components(weights, connection="strong")[1]
    rows = np.repeat(np.arange(len(strong)), np.diff(weights.indptr))
    leaves = np.flatnonzero(strong[rows] != strong[weights.indices])
    if len(leaves):
        node = int(rows[leaves[0]])
        name = node if nodes is None else nodes[node]
        problem = f"is 0, but the walk leaves {shown(name)} and others for good"
        raise InputError("teleport", problem, "use more than 0")


def _visits(
    weights: sp.csr_array, leaving: Array, teleport: float, progress: Progress | None
) -> tuple[Array, int]:
    """Follow the walk until it settles. Return how often it is at every node, and the steps taken."""
    total = float(leaving.sum())
    if total == 0:
        return leaving, 0
    into = (weights * inverse_or_zero(leaving)[:, None]).T.tocsr()
    landing, stuck, stay = leaving / total, leaving == 0, 1.0 - teleport
    planned = MAX_STEPS
    if 0.0 < stay < 1.0:  # each step leaves this part of the distance to the limit
        planned = min(MAX_STEPS, int(np.ceil(np.log(SETTLED) / np.log(stay))) + 1)
    visits, steps, moved = leaving, 0, np.inf
    while moved > SETTLED * total and steps < MAX_STEPS:
        stepped = stay * times(into, visits[:, None])[:, 0]
        stepped += landing * (teleport * total + stay * float(visits[stuck].sum()))
        if teleport == 0:  # or else it might alternate for ever, as on a cycle
            stepped = 0.5 * (stepped + visits)
        moved, visits, steps = float(np.abs(stepped - visits).sum()), stepped, steps + 1
        if progress is not None:
            progress("following the flow", min(steps, planned), planned)
    if moved > SETTLED * total:
        warn(f"the walk has not settled after {steps} steps; more teleport lets it forget sooner")
    if progress is not None and steps < planned:
        progress("following the flow", planned, planned)
    return visits, steps
