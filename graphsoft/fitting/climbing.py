"""From a sample to fitted levels: the loop over levels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import matmul

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.cluster_graph import cluster_graph, edge_graph
from graphsoft.engine.dividing import Division
from graphsoft.engine.grouping import Limits, grouped_levels
from graphsoft.engine.keeping import held, nodes_to_hold
from graphsoft.engine.ordering import in_clumps
from graphsoft.engine.polishing import Log, polish_level, refine_in_groups, with_rows
from graphsoft.engine.sweeps import assess, groups_restored
from graphsoft.fitting.finding import find
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.fitting.numbering import from_the_heaviest
from graphsoft.fitting.preparing import Work, prepare
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.memberships import likeliest, one_cluster_each, rows_to_one
from graphsoft.methods import Relation, Sample
from graphsoft.methods.relation import by_likelihood

__all__ = ["cluster_graphs", "fit"]

# The walk that gives a cluster its parents stays where it is with this probability. Over the benchmark sets
# the memberships of upper levels agree best with the classes from 0.5 to 0.67. The larger it is, the better
# they explain the graph.
STAY = 2 / 3
# A parent with a smaller probability is dropped.
MIN_PARENT = 0.01
# Narrow sweeps of an upper level after its wide one. With one of them nodes that belong to two groups come
# out in one; with more than three little changes.
UPPER_SWEEPS = 3


def fit(
    sample: Sample,
    settings: Settings,
    random: np.random.Generator,
    progress: Progress | None = None,
    deadline: Deadline = NEVER,
) -> list[FittedLevel]:
    """Find all levels, finest first, in the way that their methods allow; only polished ones keep to time."""
    methods = [each for each in settings.methods if by_likelihood(each)]
    likely = len(methods) == len(settings.methods)
    work = prepare(sample, settings.levels[0], settings.methods[0]) if likely else Work(sample)
    if settings.polished:
        levels = _descend(work, methods[0], settings, progress, deadline)
    else:
        degrees = work.degrees if likely else sample.with_pairs_as_weights().graph.degrees
        levels = _climb_published(work.sample, degrees, settings, random, progress)
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
) -> list[FittedLevel]:
    """Cluster the points' graph, then the cluster graph, then its cluster graph, as published."""
    levels: list[FittedLevel] = []
    below, chained = sample, None
    for size, method in zip(settings.levels, settings.methods, strict=True):
        began = time.perf_counter()
        found = find(below, size, method, random, progress)
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


def _descend(
    work: Work, method: Relation, settings: Settings, progress: Progress | None, deadline: Deadline
) -> list[FittedLevel]:
    """Divide the graph of the points from the top level down, and make all levels soft on it.

    Every level is divided within the one above, so the top level does not depend on those below. Known pairs
    are in the weights already, and decide here which clusters are not to be grouped. `method` is that of the
    finest level. When time is over, the levels that are not soft yet stay as they were divided.
    """
    graph, sizes = work.sample.graph, settings.levels
    division = Division(graph, len(sizes), progress, deadline)
    labels: list[Array] = []
    seconds: list[float] = []
    for size in reversed(sizes):
        began = time.perf_counter()
        labels.insert(0, division.into(size))
        seconds.insert(0, time.perf_counter() - began)
    del division  # it holds several numbers for each node
    groups = grouped_levels(graph, labels, sizes, _limits(settings, work.pairs), progress)
    memberships = one_cluster_each(labels[0], sizes[0])
    levels: list[FittedLevel] = []
    above: sp.csr_array | None = None
    trace: tuple[float, ...]
    for level in reversed(range(len(sizes))):
        began, trace, sweeps, stopped = time.perf_counter(), (), 0, deadline.over
        if level and not stopped:
            upper = reduce(matmul, groups[:level])
            polished, before = polish_level(graph, memberships, upper, UPPER_SWEEPS, progress)
            trace, sweeps = (before,), UPPER_SWEEPS + 1
            memberships = polished if above is None else groups_restored(polished, memberships, above)
            above = upper
        elif not stopped:
            memberships, log = _finest(graph, memberships, above, method, progress, deadline)
            trace, sweeps, stopped = tuple(log.trace), log.sweeps, log.cut_short
        spent = seconds[level] + time.perf_counter() - began
        done = f"stopped by time_limit after {sweeps}" if stopped else f"and polished by {sweeps}"
        status = f"divided, {done} sweeps"
        levels.insert(0, FittedLevel(memberships, graph, None, status, sweeps, trace, spent, stopped=stopped))
    return _with_parents(levels, memberships, groups, labels[0], work.degrees)


def _finest(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array | None,
    method: Relation,
    progress: Progress | None,
    deadline: Deadline,
) -> tuple[sp.csr_array, Log]:
    """Make the finest level soft: memberships, and the sweeps that it took.

    Every node keeps its shares of the groups, if there are any: they are the clusters of the level above.
    """
    if groups is None or method.support == "dense":
        log = Log("polishing", 0, progress, deadline)
        swept = method.swept(graph, memberships, log)
        return swept if groups is None else groups_restored(swept, memberships, groups), log
    log = Log("refining", method.rounds * (method.sweeps + 1), progress, deadline)
    for _ in range(method.rounds):
        memberships = refine_in_groups(graph, memberships, groups, method.sweeps, log)
        if deadline.over:
            break
    return memberships, log


def _limits(settings: Settings, pairs: sp.csr_array | None) -> Limits:
    """Collect what groups of clusters must keep to."""
    return Limits(settings.min_children or 0, settings.max_children or settings.levels[0], pairs)


def _with_parents(
    levels: Sequence[FittedLevel],
    memberships: sp.csr_array,
    groups: Sequence[sp.csr_array],
    labels: Array,
    degrees: Array,
) -> list[FittedLevel]:
    """Find the parents of each level's clusters, and from them the memberships of the level above.

    Every cluster that nodes were divided into keeps one. Where it lost all, a node is held in it, and so are
    the clusters of the levels below that this node was divided into.
    """
    chain = [labels]
    for group in groups:
        chain.append(likeliest(group)[chain[-1]])
    firm = [np.zeros(group.shape[0], dtype=bool) for group in groups]
    while True:
        found = _linked(levels, memberships, groups, firm, degrees)
        lost = [nodes_to_hold(each.memberships, own) for each, own in zip(found, chain, strict=True)]
        if not any(map(len, lost)):
            return found
        memberships = held(memberships, labels, np.unique(np.concatenate(lost)))
        for level, nodes in enumerate(lost):
            for below in range(level):
                firm[below][chain[below][nodes]] = True


def _linked(
    levels: Sequence[FittedLevel],
    memberships: sp.csr_array,
    groups: Sequence[sp.csr_array],
    firm: Sequence[Array],
    degrees: Array,
) -> list[FittedLevel]:
    """Find parents, of which firm clusters have one only, and the memberships that follow."""
    found: list[FittedLevel] = []
    for number, level in enumerate(levels):
        clusters, parents = cluster_graph(memberships, degrees), None
        if number < len(groups):
            own, stays = groups[number], np.flatnonzero(firm[number])
            parents = with_rows(_parents_by_walk(clusters, own), (stays, own[stays]))
        found.append(replace(level, memberships=memberships, graph=clusters, parents=parents))
        memberships = memberships if parents is None else memberships @ parents
    return found


def _parents_by_walk(clusters: Graph, group: sp.csr_array) -> sp.csr_array:
    """Compute ``p(parent | cluster)``: the group that a walk is in after it stayed or took a step.

    At least `STAY` of the probability is with the cluster's own group, so that this is its likeliest parent.
    """
    step = sp.diags_array(inverse_or_zero(clusters.degrees)) @ clusters.adjacency @ group
    lazy = ((1.0 - STAY) * step + STAY * group).tocsr()
    lazy.data[lazy.data < MIN_PARENT] = 0.0
    lazy.eliminate_zeros()
    lazy.sort_indices()
    return rows_to_one(lazy)


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
