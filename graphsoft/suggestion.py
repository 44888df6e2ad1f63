"""The public function `suggest_levels`: how many clusters a graph seems to have."""

from __future__ import annotations

from typing import Any

from graphsoft.aliases import Progress
from graphsoft.fitting.suggesting import Suggestion, suggest
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import callback, generator
from graphsoft.progress import watches_progress

__all__ = ["suggest_levels"]


@watches_progress("neighbors", "coarsening", "counting clusters")
def suggest_levels(
    X: Any,
    *,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    neighbors: Any = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Suggestion:
    """Suggest how many clusters there are, and levels that lead there.

    Parameters
    ----------
    X, n_neighbors, metric, weights, affinity, neighbors
        As for :func:`graphsoft.hierarchy`.
    rng : None, int, or numpy Generator
        Draws the edges that are left out. None gives the same answer every time.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Suggestion

    Notes
    -----
    For numbers of clusters from 2 to 100, some hundred nodes of a contraction are merged one by one, on the
    graph without a fifth of its edges, eight times. The `score` says where joining becomes much weaker. No
    more clusters are suggested than make the edges left out likeliest; on neighbor graphs, whose edges
    depend on each other, that is seldom a bound.

    In a network, communities may be there although joining weakens nowhere at once. So if no number stands
    out, and X is not made of points and their nearest neighbors, nodes also move between the groups as these
    merge, and the number is suggested that predicts best where the edges left out are.

    A number is named also where there are no clusters; the score of the best is then seldom above 1.5, and
    `reason` says so if it is below. Where clusters are nested, several sizes are right: look at all of
    :meth:`Suggestion.best`.

    Examples
    --------
    >>> import graphsoft
    >>> graph = graphsoft.patterns.block_graph(0, blocks=5, size=20)
    >>> found = graphsoft.suggest_levels(graph)
    >>> found.clusters, found.levels
    (5, (20, 5))
    """
    progress = callback("progress", progress)
    graph = as_graph(
        X, affinity=affinity, n_neighbors=n_neighbors, metric=metric, weights=weights, neighbors=neighbors,
        rng=rng, progress=progress,
    )  # fmt: skip
    return suggest(graph, generator("rng", rng), progress)
