"""One flat clustering: from data to soft clusters by any method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Progress
from graphsoft.engine.coarsening import contracted, grouped, strays
from graphsoft.errors import InputError
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import check_options, joined_to_nearest
from graphsoft.graph.reading import read_input
from graphsoft.input.checks import generator, integer
from graphsoft.input.constraints import kept_pairs, side_information
from graphsoft.linalg.memberships import frozen_rows, one_cluster_each, rows_to_one
from graphsoft.methods import Clustering, Method, Sample, method_named, takes_pairs
from graphsoft.methods.relation import by_likelihood

__all__ = ["cluster", "find"]

# Where no seed is given, so that the same call gives the same answer.
DEFAULT_SEED = 0


def cluster(
    X: Any,
    k: int,
    method: str | Method = "relation",
    *,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    neighbors: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    known: Any = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Clustering:
    """Find soft clusters by one of the methods.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx graph or Graph
        Points with features, or a graph; see :func:`graphsoft.as_graph`.
    k : int
        How many clusters; at most as many as points.
    method : str or settings
        A key of ``graphsoft.methods.METHODS``, or settings such as ``graphsoft.methods.SoF(neighbors=10)``.
    n_neighbors, metric, weights, affinity, neighbors
        How points become a graph, for methods that look at one; see :func:`graphsoft.knn_graph` and
        :func:`graphsoft.as_graph`. Of the methods for features alone, only linkage goes by the metric.
    must_link, cannot_link : iterable of pairs, optional
        Points that belong to one cluster, and points that do not: rows, or the names of a graph's nodes. They
        raise or lower weights and do not bind: few pairs against many edges may change nothing. The status
        tells how many came out as they are known.
    known : mapping or sequence, optional
        Labels of some points: ``{point: label}``, or one label for each point, with -1, None or NaN where it
        is unknown. They say who belongs together, not which column of the memberships is whose.
    rng : None, int, or numpy Generator
        Where the chance comes from, for methods and searches that use any. None gives the same answer every
        time.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Clustering
        ``memberships, labels, entropy, trace, status, nodes``.

    Raises
    ------
    InputError
        For an argument that cannot be used, before any long work.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> graphsoft.cluster(nx.barbell_graph(5, 0), 2).labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    integer("k", k, 1)
    settings = method_named(method)
    check_options(n_neighbors, metric, weights, "union", progress)
    random = generator("rng", rng)
    given = read_input(X, affinity, metric, weights, neighbors=neighbors)
    if k > len(given):
        raise InputError("k", f"got {k} clusters for {len(given)} points", f"use at most {len(given)}")
    reads = settings.reads(len(given), isinstance(given, Features))
    if "features" in reads and isinstance(given, Graph):
        problem = f"{_called(method)} looks at features, and X is a graph"
        raise InputError("method", problem, "pass points, or use one for graphs, as 'relation' or 'cp'")
    names = given.nodes if isinstance(given, Graph) else range(len(given))
    side = side_information(names, must_link, cannot_link, known)
    if side is not None and "graph" not in reads and not takes_pairs(settings):
        problem = f"{_called(method)} looks at features, and has no place for known pairs"
        raise InputError("method", problem, "use one for graphs, as 'relation' or 'cp'")
    if isinstance(given, Graph):
        sample = Sample(given, None, side)
    elif "graph" in reads:
        graph = joined_to_nearest(given, n_neighbors, weights, "union", random, progress)
        sample = Sample(graph, given, side)
    else:
        sample = Sample(None, given, side)
    found = find(sample, k, settings, random or np.random.default_rng(DEFAULT_SEED), progress)
    frozen_rows(found.memberships)
    status = found.status if side is None else f"{found.status}; {kept_pairs(side, found.labels)}"
    return replace(found, status=status, nodes=names)


def _called(method: Any) -> str:
    return method if isinstance(method, str) else type(method).__name__


def find(
    sample: Sample, count: int, method: Method, random: np.random.Generator, progress: Progress | None = None
) -> Clustering:
    """Cluster points by a method that is spared the odd cases.

    Nodes in components too light for a cluster of their own join the heaviest cluster; identical points get
    identical memberships. What is known of pairs goes into the graph, if the method does not see to it.
    """
    reads = method.reads(len(sample), sample.given_features is not None)
    if sample.side is not None and not takes_pairs(method):
        sample = sample.informed()
    if "graph" not in reads:
        return _spared(sample, count, method, random, progress)
    tied = sample.graph.duplicates if sample.side is None else None  # who is told apart may look the same
    if tied is None or tied.max() + 1 < count:
        return _beside_strays(sample, count, method, random, progress)
    sites = int(tied.max()) + 1
    if by_likelihood(method):  # sums of weights mean the same to it
        merged = Sample(contracted(sample.graph, tied, sites))
        found = _beside_strays(merged, count, method, random, progress)
        return replace(found, memberships=found.memberships[tied])
    found = _beside_strays(sample, count, method, random, progress)
    mean = rows_to_one((one_cluster_each(tied, sites).T @ found.memberships).tocsr())
    return replace(found, memberships=mean[tied])


def _beside_strays(
    sample: Sample, count: int, method: Method, random: np.random.Generator, progress: Progress | None
) -> Clustering:
    """Cluster all but the stray components, and put those into the heaviest cluster."""
    graph = sample.graph
    stray = strays(graph, count)
    if not stray.any():
        return _spared(sample, count, method, random, progress)
    inside = np.flatnonzero(~stray)
    found = _spared(sample.take(inside), count, method, random, progress)
    heaviest = int(np.argmax(found.memberships.T @ graph.degrees[inside]))
    group = np.full(len(graph), len(inside))
    group[inside] = np.arange(len(inside))
    row = sp.csr_array(([1.0], [heaviest], [0, 1]), shape=(1, count))
    return replace(found, memberships=sp.vstack([found.memberships, row], format="csr")[group])


def _spared(
    sample: Sample, count: int, method: Method, random: np.random.Generator, progress: Progress | None
) -> Clustering:
    """Answer where there is nothing to find."""
    graph = sample.given_graph
    if by_likelihood(method):  # which can do all of this itself
        return method.cluster(sample, count, random, progress)
    if count == 1:
        return Clustering(one_cluster_each(np.zeros(len(sample), dtype=int), 1), (), "all in one cluster")
    if len(sample) <= count:
        return Clustering(one_cluster_each(np.arange(len(sample)), count), (), "one cluster for each point")
    if graph is not None and not graph.adjacency.nnz:
        return Clustering(one_cluster_each(grouped(graph, count), count), (), "no edges: grouped by number")
    return method.cluster(sample, count, random, progress)
