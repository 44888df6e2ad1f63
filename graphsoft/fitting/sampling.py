"""From checked input to the sample that methods are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.fitting.settings import Settings, refuse_feature_methods, refuse_known_pairs
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph, pack_graph, unpack_graph
from graphsoft.graph.joining import joined_to_nearest
from graphsoft.input.constraints import listed_labels, matrix_of_pairs
from graphsoft.methods import Sample
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint
from graphsoft.storage.packing import Packer, Unpacker

__all__ = ["joined", "sampled"]


def sampled(given: Graph | Features, settings: Settings, known: Any) -> tuple[Sample, Settings]:
    """Collect the known pairs of the points; points with features are not joined to their neighbors yet.

    Everything that can be refused is refused here, before the search for neighbors begins. The returned
    settings list the known labels.
    """
    is_graph = isinstance(given, Graph)
    names = given.nodes if isinstance(given, Graph) else given.names or range(len(given))
    pairs = matrix_of_pairs(names, settings.must_link, settings.cannot_link, known)
    if is_graph:
        refuse_feature_methods(settings.methods, [len(given), *settings.levels])
    if pairs is not None:
        refuse_known_pairs(settings.methods[0], len(given), not is_graph)
    settings = replace(settings, known=listed_labels(names, known))
    return Sample(given, None, pairs) if isinstance(given, Graph) else Sample(None, given, pairs), settings


def joined(
    sample: Sample,
    settings: Settings,
    random: np.random.Generator | None,
    progress: Progress | None,
    checkpoint: Checkpoint = NOWHERE,
) -> Sample:
    """Join points to their nearest neighbors, unless they are nodes of a graph."""
    features = sample.given_features
    if features is None:
        return sample

    def join() -> Graph:
        return joined_to_nearest(features, settings.n_neighbors, settings.weights, "union", random, progress)

    def pack(graph: Graph, packer: Packer) -> Any:
        return pack_graph(replace(graph, nodes=range(len(graph))), packer)

    def unpack(content: Any, unpacker: Unpacker) -> Graph:
        graph = unpack_graph(content, unpacker)
        if len(graph) != len(sample):
            raise ValueError("a graph of other points")
        return replace(graph, nodes=features.names or graph.nodes)

    graph = checkpoint.step("graph", join, pack, unpack, random)
    return replace(sample, given_graph=graph)
