"""From a sample to fitted levels: the loop over levels."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from operator import matmul
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.assessing import assess
from graphsoft.engine.cluster_graph import cluster_graph, edge_graph
from graphsoft.engine.grouping import Limits, grouped_levels
from graphsoft.engine.kept_blocks import KeptBlocks
from graphsoft.engine.ordering import in_clumps
from graphsoft.fitting.descending import descend
from graphsoft.fitting.finding import find
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.fitting.islands import divided_levels, means_of_islands
from graphsoft.fitting.numbering import from_the_heaviest
from graphsoft.fitting.preparing import Work, prepare
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.input.memberships import check_memberships
from graphsoft.linalg.memberships import one_cluster_each, rows_to_one
from graphsoft.methods import Clustering, Method, Sample
from graphsoft.methods.interface import pack_clustering, unpack_clustering
from graphsoft.methods.relation import by_likelihood
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint
from graphsoft.storage.packing import Unpacker

__all__ = ["cluster_graphs", "fit"]


def fit(
    sample: Sample,
    settings: Settings,
    random: np.random.Generator,
    progress: Progress | None = None,
    deadline: Deadline = NEVER,
    checkpoint: Checkpoint = NOWHERE,
) -> list[FittedLevel]:
    """Find all levels, finest first, in the way that their methods allow; only polished ones keep to time."""
    methods = [each for each in settings.methods if by_likelihood(each)]
    likely = len(methods) == len(settings.methods)
    work = prepare(sample, settings.levels[0], settings.methods[0]) if likely else Work(sample)
    if settings.polished:
        means = None
        if sample.given_features is not None:
            means = partial(means_of_islands, work.sample.graph, sample.given_features, work.first_points)
        levels = _descend(work, means, settings, progress, deadline, checkpoint)
    else:
        degrees = work.degrees if likely else sample.with_pairs_as_weights().graph.degrees
        levels = _climb_published(work.sample, degrees, settings, random, progress, checkpoint)
    levels = _assessed(sample.graph, work, levels)
    if sample.pairs is not None:
        levels = _on_given_graph(sample.graph, levels, settings.polished)
    return from_the_heaviest(levels, sample.graph.degrees)


def _climb_published(
    sample: Sample,
    degrees: Array,
    settings: Settings,
    random: np.random.Generator,
    progress: Progress | None,
    checkpoint: Checkpoint,
) -> list[FittedLevel]:
    """Cluster the points' graph, then the cluster graph, then its cluster graph, as published."""
    levels: list[FittedLevel] = []
    below, chained = sample, None
    for size, method in zip(settings.levels, settings.methods, strict=True):
        began = time.perf_counter()
        found = _found(below, size, method, random, progress, checkpoint)
        if levels:
            levels[-1] = replace(levels[-1], parents=found.memberships)
        chained = found.memberships if chained is None else chained @ found.memberships
        likely = by_likelihood(method)
        if likely:
            graph = cluster_graph(found.memberships, degrees)
        else:
            graph = edge_graph(found.memberships, below.with_pairs_as_weights().graph)
        trace = tuple(-value for value in found.trace) if likely else found.trace
        seconds = time.perf_counter() - began
        levels.append(FittedLevel(chained, graph, None, found.status, found.sweeps, trace, seconds, likely))
        below, degrees = Sample(graph, _mean_features(sample.given_features, chained)), graph.degrees
    return levels


def _found(
    below: Sample, size: int, method: Method, random: np.random.Generator, progress: Progress | None,
    checkpoint: Checkpoint,
) -> Clustering:  # fmt: skip
    """Cluster what is below a level, or read how it was clustered before."""

    def unpack(content: Any, unpacker: Unpacker) -> Clustering:
        found = unpack_clustering(content, unpacker)
        check_memberships(found.memberships, "checkpoint", (len(below), size))
        return found

    return checkpoint.step(
        f"clustering-{size}",
        lambda: find(below, size, method, random, progress),
        pack_clustering,
        unpack,
        random,
    )


def _descend(
    work: Work,
    means: Callable[[], Features] | None,
    settings: Settings,
    progress: Progress | None,
    deadline: Deadline,
    checkpoint: Checkpoint,
) -> list[FittedLevel]:
    """Divide the graph of the points from the top level down, and make all levels soft on it.

    Every level is divided within the one above, so the top level does not depend on those below. Known pairs
    are in the weights already, and decide here which clusters are not to be grouped. The method is that of
    the finest level.
    """
    graph, sizes = work.sample.graph, settings.levels
    divided = divided_levels(graph, sizes, means, progress=progress, deadline=deadline, checkpoint=checkpoint)
    groups = grouped_levels(graph, divided.labels, sizes, _limits(settings, work.pairs), progress)
    blocks, seconds = KeptBlocks(graph, work.degrees, checkpoint, deadline), divided.seconds
    begun = blocks.begin(one_cluster_each(divided.labels[0], sizes[0]))
    del divided
    method = next(each for each in settings.methods if by_likelihood(each))
    found = descend(blocks, begun, groups, method, progress, blocks.deadline)
    chained = accumulate(found.parents, matmul, initial=found.finest.held)
    levels = zip(chained, found.graphs, [*found.parents, None], found.courses, seconds, strict=True)
    return [
        FittedLevel(
            memberships, clusters, parents, course.status, course.sweeps, course.trace,
            course.seconds + divided_in, stopped=course.stopped,
        )
        for memberships, clusters, parents, course, divided_in in levels
    ]  # fmt: skip


def _limits(settings: Settings, pairs: sp.csr_array | None) -> Limits:
    """Collect what groups of clusters must keep to."""
    return Limits(settings.min_children or 0, settings.max_children or settings.levels[0], pairs)


def _assessed(graph: Graph, work: Work, levels: Sequence[FittedLevel]) -> list[FittedLevel]:
    """Carry memberships back to the points, and compute how well they explain the graph as it was given."""
    same = work.moved is not None and len(work.sample) == len(graph) and work.pairs is None
    moved = work.moved if same and work.moved is not None else in_clumps(graph)
    found = []
    for level in levels:
        memberships = work.restore(level.memberships)
        ordered = level.memberships if same else memberships[moved.nodes]
        found.append(replace(level, memberships=memberships, fit=assess(moved.graph, ordered)))
    return found


def _on_given_graph(graph: Graph, levels: Sequence[FittedLevel], polished: bool) -> list[FittedLevel]:
    """Make the cluster graphs again from the graph as it was given, without known pairs."""
    memberships = [level.memberships for level in levels]
    parents = [level.parents for level in levels if level.parents is not None]
    likely = [level.likely for level in levels]
    graphs = cluster_graphs(graph, memberships, parents, likely, polished)
    return [replace(level, graph=clusters) for level, clusters in zip(levels, graphs, strict=True)]


def cluster_graphs(
    points: Graph,
    memberships: Sequence[sp.csr_array],
    parents: Sequence[sp.csr_array],
    likely: Sequence[bool],
    polished: bool,
) -> list[Graph]:
    """Make the graph of the clusters of every level.

    Parameters
    ----------
    points : Graph
    memberships : sequence of csr_array of shape (n, m)
        Of each level, finest first.
    parents : sequence of csr_array of shape (m, m_above)
        Of each level but the top.
    likely : sequence of bool
        Whether relation factorization found the level.
    polished : bool
        Whether levels were fitted to the graph of the points, not each to the cluster graph below.
    """
    graphs: list[Graph] = []
    below, step = points, memberships[0]
    for level, factorized in enumerate(likely):
        if polished:
            below, step = points, memberships[level]
        elif level:
            step = parents[level - 1]
        below = cluster_graph(step, below.degrees) if factorized else edge_graph(step, below)
        graphs.append(below)
    return graphs


def _mean_features(features: Features | None, memberships: sp.csr_array) -> Features | None:
    """Compute the mean features of the clusters' points, each point weighing as much as it belongs."""
    if features is None:
        return None
    shares = rows_to_one(memberships.T.tocsr())
    return replace(features, values=shares @ features.values)
