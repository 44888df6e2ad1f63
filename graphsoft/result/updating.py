"""New points in an old hierarchy; `partial_update` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphsoft.aliases import Progress
from graphsoft.errors import InputError
from graphsoft.input.checks import callback
from graphsoft.input.names import frame_index
from graphsoft.linalg.memberships import frozen
from graphsoft.progress import watches_progress
from graphsoft.result.growth import grown, refined_levels
from graphsoft.result.intact import check_levels, intact_features, intact_graph
from graphsoft.result.level import Level

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["partial_update"]


@watches_progress("neighbors", "re-fitting")
def partial_update(
    h: Hierarchy, X: Any, *, names: Sequence[Any] | None = None, progress: Progress | bool | None = None
) -> Hierarchy:
    """Add new points, and refine memberships only near them.

    The new points are joined to their nearest among old and new ones and start from what
    :meth:`predict_proba` says; a few sweeps refine them and their neighbors.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (q, d)
        The same features as in fitting. If a graph was given: weights to its n nodes on the scale of
        ``h.graph.adjacency``, shape (q, n), or (q, n + q) with the weights among the new nodes.
    names : sequence of q, optional
        Names of the new points. Without them their row numbers are their names.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Hierarchy
        With n + q points, the old ones first. Clusters keep their numbers and parents. Edges between old
        points keep their weights, and old points that were not refined keep their memberships to the last
        bit.

    Examples
    --------
    >>> import graphsoft
    >>> h = graphsoft.hierarchy([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], levels=[2], n_neighbors=2)
    >>> h.partial_update([[0.15], [5.05]])[0].labels.tolist()
    [0, 0, 0, 1, 1, 1, 0, 1]
    """
    progress = callback("progress", progress)
    began = time.perf_counter()
    graph = intact_graph(h)
    check_levels(h.levels, len(graph))
    features = intact_features(h)
    if features is not None and features.beside:
        problem = "holds features, but the graph was not made of features, so it cannot grow by them"
        raise InputError("X", problem, "use predict_proba, or make the hierarchy of the points")
    reference = h._reference
    values = h._new_rows(X, growing=True)
    if values.shape[0] == 0:
        return h
    if names is None and not isinstance(graph.nodes, range):
        names = frame_index(X)
    growth = grown(graph, features, reference, values, names, progress)
    ready = time.perf_counter()
    guesses = h._memberships_of_new(growth.step, range(len(h)))
    refined = refined_levels(growth, h.levels, guesses, h.settings, progress)
    seconds = {"graph": ready - began, "levels": time.perf_counter() - ready}
    reports = [level.report.after(fit) for level, fit in zip(h, refined.fits, strict=True)]
    report = h.report.after(growth.graph, reports, len(refined.rows), seconds)
    degrees = growth.graph.degrees
    parts = zip(h, refined.memberships, refined.graphs, reports, strict=True)
    levels = tuple(
        Level(shares, level.parents, frozen(shares.T @ degrees), clusters.adjacency, degrees, how)
        for level, shares, clusters, how in parts
    )
    return replace(h, levels=levels, graph=growth.graph, report=report, features=growth.features)
