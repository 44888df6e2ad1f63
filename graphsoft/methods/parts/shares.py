"""Dense shares: those that a method starts from, and the memberships made of those that it ends with."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.engine.scales import grouped
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice
from graphsoft.linalg.memberships import membership_rows, one_cluster_each

__all__ = ["MIN_PART", "STARTS", "blurred", "final_memberships", "start_shares"]

STARTS = ("contraction", "random")
# The part of a membership that is spread over all clusters at the start.
SPREAD = 0.1
# A smaller share is dropped from the memberships.
MIN_SHARE = 1e-4
# The same as a part of an even share, for methods that divide their factor by its sums at the end.
MIN_PART = 1e-3


def start_shares(graph: Graph, count: int, start: str, random: np.random.Generator) -> Array:
    """Make dense shares to start from; every row sums to one.

    Parameters
    ----------
    graph : Graph
    count : int
    start : {"contraction", "random"}
        ``contraction`` groups the nodes by contraction of the graph, and gives each node mostly to its group;
        ``random`` draws every row.
    random : Generator

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> start_shares(as_graph(nx.path_graph(4)), 2, "contraction", np.random.default_rng(0)).round(2).tolist()
    [[0.95, 0.05], [0.95, 0.05], [0.05, 0.95], [0.05, 0.95]]
    """
    if choice("start", start, STARTS) == "random":
        return random.dirichlet(np.ones(count), size=len(graph))
    return blurred(one_cluster_each(grouped(graph, count), count).toarray())


def blurred(memberships: Array, part: float = SPREAD) -> Array:
    """Spread a part of each membership over all clusters, because a share of zero could stay zero.

    Examples
    --------
    >>> blurred(np.array([[1.0, 0.0]])).round(2).tolist()
    [[0.95, 0.05]]
    """
    return np.asarray((1.0 - part) * memberships + part / memberships.shape[1])


def final_memberships(factor: Array, min_share: float = MIN_SHARE) -> sp.csr_array:
    """Divide the rows of a factor by their sums, and drop the smallest shares.

    With very many clusters less is dropped, so that no row loses all of its shares.

    Examples
    --------
    >>> final_memberships(np.array([[2.0, 2.0], [1.0, 1e-9]])).toarray()
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return membership_rows(factor, min(min_share, 0.5 / factor.shape[1]))
