"""What several methods compute of a graph and a dense factor with a column for each cluster."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.engine.coarsening import grouped
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice

__all__ = ["STARTS", "start_shares"]

STARTS = ("contraction", "random")
# What each point gives to all clusters alike at the start, for a share of exactly zero may stay there.
SPREAD = 0.1
ROWS = 1 << 13


def start_shares(graph: Graph, count: int, start: str, random: np.random.Generator) -> Array:
    """Make dense shares to begin with; every row sums to one.

    Parameters
    ----------
    graph : Graph
    count : int
    start : {"contraction", "random"}
        ``contraction`` groups the nodes by contraction of the graph, and gives each node mostly to its group;
        ``random`` draws every row anew.
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
    shares = np.full((len(graph), count), SPREAD / count)
    shares[np.arange(len(graph)), grouped(graph, count)] += 1.0 - SPREAD
    return shares
