"""The public function `cluster`: one flat clustering by any method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.errors import InputError
from graphsoft.fitting.finding import find
from graphsoft.fitting.memory import check_memory
from graphsoft.fitting.numbering import heaviest_first
from graphsoft.fitting.report import with_empty_clusters, with_kept_pairs
from graphsoft.fitting.sampling import joined, sampled
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import Features, named
from graphsoft.graph.reading import read_input, warn_of_unused
from graphsoft.input.checks import DEFAULT_SEED, callback, generator, integer
from graphsoft.input.constraints import listed_pairs
from graphsoft.linalg.memberships import frozen_rows
from graphsoft.methods import Clustering, Method, method_named
from graphsoft.methods.interface import reads_of
from graphsoft.progress import watches_progress

__all__ = ["cluster"]


@watches_progress("neighbors", "coarsening", "dividing", "refining")
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
    names: Any = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Clustering:
    """Find soft clusters by one of the methods.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx or igraph graph, or Graph
        Points with features, or a graph; see :func:`graphsoft.as_graph`.
    k : int
        How many clusters; at most as many as there are points.
    method : str or settings
        A key of ``graphsoft.methods.METHODS``, or settings such as ``graphsoft.methods.SoF(neighbors=10)``.
    n_neighbors, metric, weights, affinity, neighbors
        How points become a graph, for methods that look at one; see :func:`graphsoft.knn_graph` and
        :func:`graphsoft.as_graph`. Of the methods that look at features alone, only linkage uses the metric.
    must_link, cannot_link : iterable of pairs, optional
        Points that belong to one cluster, and points that do not: rows, or the names of a graph's nodes. They
        raise or lower weights, and are wishes: few pairs against many edges may change nothing. The result
        counts how many came out as known.
    known : mapping or sequence, optional
        Labels of some points: ``{point: label}``, or one label for each point, with -1, None or NaN where it
        is unknown. They say which points belong together, not which column of the memberships is theirs.
    names : sequence of n, optional
        Names of the points, none of them twice. By default those of a networkx graph, or the texts in the
        index of a data frame.
    rng : None, int, or numpy Generator
        Source of random numbers, for methods and searches that use some. With None the same call gives the
        same answer every time.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Clustering
        ``memberships, labels, entropy, trace, status, nodes, pairs_kept``. The heaviest cluster is
        the first: by the weight of its points in the graph, or by their number where there is none.

    Raises
    ------
    InputError
        For an argument that cannot be used, before any long work.
    NotEnoughMemory
        If there is too little memory for the graph of the points, or for relation factorization.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> graphsoft.cluster(nx.barbell_graph(5, 0), 2).labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    k = integer("k", k, 1)
    method = method_named(method)
    settings = Settings(
        (k,), (method,), True, n_neighbors, metric, weights,
        listed_pairs("must_link", must_link), listed_pairs("cannot_link", cannot_link),
    )  # fmt: skip
    progress = callback("progress", progress)
    random = generator("rng", rng)
    given = named(read_input(X, affinity, metric, weights, neighbors=neighbors), names)
    warn_of_unused(given, n_neighbors, metric, weights)
    if k > len(given):
        raise InputError("k", f"got {k} clusters for {len(given)} points", f"use at most {len(given)}")
    needs_graph = "graph" in reads_of(method, len(given), isinstance(given, Features))
    if needs_graph:
        check_memory(given, settings)
    sample, settings = sampled(given, settings, known)
    if needs_graph:
        sample = joined(sample, settings, random, progress)
    found = find(sample, k, method, random or np.random.default_rng(DEFAULT_SEED), progress)
    weights_of_points = sample.graph.degrees if needs_graph else np.ones(len(given))
    memberships = frozen_rows(heaviest_first(found.memberships, weights_of_points))
    nodes = given.names or range(len(given)) if isinstance(given, Features) else given.nodes
    told = with_empty_clusters(found.status, memberships)
    status, kept, listed = with_kept_pairs(told, sample.pairs, memberships)
    return replace(
        found, memberships=memberships, status=status, nodes=nodes, pairs_kept=kept, pairs_known=listed
    )
