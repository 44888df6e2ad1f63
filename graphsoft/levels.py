"""The public function `hierarchy`: from data to a tree of soft clusters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.fitting.climbing import fit
from graphsoft.fitting.finding import DEFAULT_SEED
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.sampling import sampled
from graphsoft.fitting.settings import Settings, falling_sizes, one_for_each_level, rows_told
from graphsoft.fitting.suggesting import with_suggested_levels
from graphsoft.graph.reading import read_input
from graphsoft.input.checks import callback, generator
from graphsoft.input.constraints import listed_pairs
from graphsoft.methods import Method
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.level import Level

__all__ = ["hierarchy"]


def hierarchy(
    X: Any,
    levels: int | Sequence[int] | str,
    *,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    neighbors: Any = None,
    method: str | Method | Sequence[str | Method] = "relation",
    polish: bool = True,
    must_link: Any = None,
    cannot_link: Any = None,
    known: Any = None,
    min_children: int | None = None,
    max_children: int | None = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Hierarchy:
    """Find a hierarchy of soft clusters.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx graph or Graph
        Points with features, or a graph; see :func:`graphsoft.as_graph`. The result looks at these features
        again when new points come: change them afterwards, and predictions change.
    levels : int, sequence of int, or "auto"
        How many clusters each level has, falling; at most as many as points. With ``"auto"`` they are those
        that :func:`graphsoft.suggest_levels` finds, within the limits of children, and the report says why.
    n_neighbors, metric, weights, affinity, neighbors
        How points become a graph; see :func:`graphsoft.knn_graph` and :func:`graphsoft.as_graph`. An object
        that finds the `neighbors` is kept and finds those of new points too: fit it to other data afterwards,
        and it cannot serve this hierarchy.
    method : str, settings, or a sequence of them with one for each level
        How clusters are found: a key of ``graphsoft.methods.METHODS``, or settings as
        ``Relation(support="dense")``. Above the finest level a method clusters the graph of the clusters
        below; one that looks at features is given those clusters' mean features.
    polish : bool
        Refine every level on the graph of the points. Without it each level only clusters the cluster graph
        below it, as the method was published. Only relation factorization on all levels can polish; with any
        other method this has no effect.
    must_link, cannot_link, known
        What you know of some points, as :func:`graphsoft.cluster` takes it. The levels are found in the graph
        with that put in; polished ones also do not group clusters whose points are mostly known to be apart,
        while others can be grouped. It does not bind, and the report says for each level how many pairs came
        out as known: on a fine level most points of one class are in different clusters. Degrees, masses, the
        graphs of the levels and the figures in the report are those of the graph without.
    min_children, max_children : int, optional
        At least and at most so many clusters under every cluster of the next level, by their likeliest
        parents, as in `Hierarchy.tree`. These bind. For polished relation factorization only.
    rng : None, int, or numpy Generator
        Where the chance comes from, for the approximate neighbor search and for methods that use any;
        relation factorization uses none. None gives the same answer every time.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Hierarchy

    Raises
    ------
    InputError
        For an argument that cannot be used, before any long work.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> h = graphsoft.hierarchy(nx.karate_club_graph(), levels=[8, 2])
    >>> h
    Hierarchy(34 points: 8 -> 2 clusters)
    >>> h[-1].labels[:8].tolist()
    [0, 0, 0, 0, 0, 0, 0, 0]
    """
    auto = isinstance(levels, str) and levels == "auto"
    # until the graph can suggest levels, a single one stands for them
    sizes = [1] if auto else falling_sizes(levels, rows_told(X) or None)
    settings = Settings(
        tuple(sizes), tuple(one_for_each_level(method, len(sizes), auto)), polish,
        n_neighbors, metric, weights,
        listed_pairs("must_link", must_link), listed_pairs("cannot_link", cannot_link),
        min_children=min_children, max_children=max_children,
    )  # fmt: skip
    callback("progress", progress)
    random = generator("rng", rng)
    began = time.perf_counter()
    given = read_input(X, affinity, metric, weights, neighbors=neighbors)
    falling_sizes(sizes, len(given))
    sample, settings = sampled(given, settings, known, random, progress)
    ready = time.perf_counter()
    settings, reasons = with_suggested_levels(sample, settings, random, progress) if auto else (settings, ())
    fitted = fit(sample, settings, random or np.random.default_rng(DEFAULT_SEED), progress)
    reports = [LevelReport.of(level, sample.pairs) for level in fitted]
    seconds = {"graph": ready - began, "levels": time.perf_counter() - ready}
    report = Report.of(sample.graph, reports, reasons, seconds)
    found = (Level.of(sample.graph, *each) for each in zip(fitted, reports, strict=True))
    return Hierarchy(tuple(found), sample.graph, report, settings, sample.given_features)
