"""From checked input to the sample that methods are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.fitting.settings import Settings, refuse_feature_methods, refuse_known_pairs
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import joined_to_nearest
from graphsoft.input.constraints import listed_labels, matrix_of_pairs
from graphsoft.methods import Sample

__all__ = ["sampled"]


def sampled(
    given: Graph | Features,
    settings: Settings,
    known: Any,
    random: np.random.Generator | None,
    progress: Progress | None,
    needs_graph: bool = True,
) -> tuple[Sample, Settings]:
    """Collect the known pairs of the points, and join the points to their nearest neighbors.

    Everything that can be refused is refused before the search for neighbors begins. The returned settings
    list the known labels.
    """
    is_graph = isinstance(given, Graph)
    names = given.nodes if isinstance(given, Graph) else given.names or range(len(given))
    pairs = matrix_of_pairs(names, settings.must_link, settings.cannot_link, known)
    if is_graph:
        refuse_feature_methods(settings.methods, [len(given), *settings.levels])
    if pairs is not None:
        refuse_known_pairs(settings.methods[0], len(given), not is_graph)
    settings = replace(settings, known=listed_labels(names, known))
    if isinstance(given, Graph):
        return Sample(given, None, pairs), settings
    if not needs_graph:
        return Sample(None, given, pairs), settings
    graph = joined_to_nearest(given, settings.n_neighbors, settings.weights, "union", random, progress)
    return Sample(graph, given, pairs), settings
