"""How well memberships explain a graph, for tests: the floor of the model, and falls of a trace."""

import numpy as np


def blurred(S):
    """Every node a little in every cluster, so that every edge is explained a little."""
    return 0.9 * S + 0.1 / S.shape[1]


def floor_of(W):
    return 1e-3 / W.sum() if W.any() else 1.0


def fall(trace, graph):
    """The largest fall from one entry to the next, in nats for each unit of weight."""
    return max([0.0, *-np.diff(trace)]) / max(graph.degrees.sum(), 1e-300)


def rise(trace, graph):
    return fall(-np.array(trace), graph)
