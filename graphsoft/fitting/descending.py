"""From groups of the nodes to soft levels: each is made soft from the top down, and then they are linked.

It works on a graph in blocks. What is done here with all of them together concerns clusters only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import matmul

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.assessing import Fit, fit_of
from graphsoft.engine.blocks import Blocks, Found, Seen, State, Stepped
from graphsoft.engine.cluster_graph import cluster_links, graph_of_links
from graphsoft.engine.keeping import candidates, clusters_won, held
from graphsoft.engine.polishing import Log, polish_level, with_rows
from graphsoft.graph.graph import Graph
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import likeliest, rows_to_one
from graphsoft.methods import Relation

__all__ = ["Course", "Descended", "descend", "fits"]

# The walk that gives a cluster its parents stays where it is with this probability. Over the benchmark sets
# the memberships of upper levels agree best with the classes from 0.5 to 0.67. The larger it is, the better
# they explain the graph.
STAY = 2 / 3
# A parent with a smaller probability is dropped.
MIN_PARENT = 0.01
# Narrow sweeps of an upper level after its wide one. With one of them nodes that belong to two groups come
# out in one; with more than three little changes.
UPPER_SWEEPS = 3


@dataclass(frozen=True)
class Course:
    """How a level became soft.

    Attributes
    ----------
    status : str
    sweeps : int
    trace : tuple of float
        The log-likelihood before each wide sweep.
    seconds : float
    stopped : bool
        Whether there was no time to refine it to the end.
    """

    status: str
    sweeps: int
    trace: tuple[float, ...]
    seconds: float
    stopped: bool


@dataclass(frozen=True, eq=False)
class Descended:
    """Soft levels, finest first.

    The memberships of a level are those of the level below times the parents of its clusters.

    Attributes
    ----------
    finest : State
        The memberships of the finest level.
    parents : list of csr_array of shape (m, m_above)
        Of each level but the top.
    graphs : list of Graph
        The cluster graph of each level.
    courses : list of Course
        One for each level.
    """

    finest: State
    parents: list[sp.csr_array]
    graphs: list[Graph]
    courses: list[Course]


def descend(
    blocks: Blocks,
    divided: State,
    groups: Sequence[sp.csr_array],
    method: Relation,
    progress: Progress | None = None,
    deadline: Deadline = NEVER,
) -> Descended:
    """Make all levels soft, from the top down to the finest, and link them.

    When time is over, the levels that are not soft yet stay as they were divided.

    Parameters
    ----------
    blocks : Blocks
    divided : State
        The finest cluster that every node was divided into: one entry of 1 in each row. It stays, and states
        on the way to the finest level are forgotten.
    groups : sequence of csr_array of shape (m, m_above)
        The cluster of the next level that each cluster was divided from: one entry of 1 in each row.
    method : Relation
        That of the finest level. Dense support needs all nodes in one block.
    progress : callable, optional
    deadline : Deadline
    """
    state, courses = divided, list[Course]()
    above: sp.csr_array | None = None
    from_finest = list(accumulate(groups, matmul))
    trace: tuple[float, ...]
    for level in reversed(range(len(groups) + 1)):
        began, trace, sweeps, stopped = time.perf_counter(), (), 0, deadline.over
        before = state
        if level and not stopped:
            upper = from_finest[level - 1]
            state, value = polish_level(blocks, state, upper, UPPER_SWEEPS, progress, above)
            trace, sweeps, above = (value,), UPPER_SWEEPS + 1, upper
        elif not stopped:
            in_groups = above is not None and method.support != "dense"
            log = Log("refining" if in_groups else "polishing", 0, progress, deadline)
            state = method.swept(blocks, state, log, above)
            trace, sweeps, stopped = tuple(log.trace), log.sweeps, log.cut_short
        if before is not divided and before is not state:
            blocks.forget(before)
        done = f"stopped by time_limit after {sweeps}" if stopped else f"and polished by {sweeps}"
        spent = time.perf_counter() - began
        courses.insert(0, Course(f"divided, {done} sweeps", sweeps, trace, spent, stopped))
    finest, parents, graphs, held_in = _linked(blocks, state, divided, groups)
    told = [_with_held(course, count) for course, count in zip(courses, held_in, strict=True)]
    return Descended(finest, parents, graphs, told)


def _with_held(course: Course, count: int) -> Course:
    """Say in how many clusters of a level a point is held."""
    if not count:
        return course
    what = "1 cluster keeps its point" if count == 1 else f"{count} clusters keep one point each"
    return replace(course, status=f"{course.status}; {what} because it is held there")


def fits(blocks: Blocks, descended: Descended) -> list[Fit]:
    """Compute how well every level explains the graph."""
    return [fit_of(blocks, descended.finest, each) for each in _from_finest(descended.parents)]


def _from_finest(parents: Sequence[sp.csr_array]) -> list[sp.csr_array | None]:
    """Multiply parents: what leads from the finest clusters to those of each level, None for the finest."""
    return [None, *accumulate(parents, lambda below, above: (below @ above).tocsr())]


# Links between levels


def _linked(
    blocks: Blocks, state: State, divided: State, groups: Sequence[sp.csr_array]
) -> tuple[State, list[sp.csr_array], list[Graph], list[int]]:
    """Find the parents of each level's clusters, which give the memberships of the level above.

    Every cluster that nodes were divided into keeps one. Where it lost all, a node is held in it, and so are
    the clusters of the levels below that this node was divided into. Also returns in how many clusters of
    each level a node is held.
    """
    chain = [np.arange(len(divided.mass))]  # the cluster of each level that every finest one was divided from
    for group in groups:
        chain.append(taken(likeliest(group), chain[-1]))
    firm = [np.zeros(group.shape[0], dtype=bool) for group in groups]
    held_in = [0] * len(chain)
    while True:
        parents, graphs, lost = _once_linked(blocks, state, divided, groups, chain, firm)
        if not any(lost):
            return state, parents, graphs, held_in
        held_in = [count + len(found) for count, found in zip(held_in, lost, strict=True)]
        nodes = np.array([(each.block, each.place) for found in lost for each in found])
        before, state = state, blocks.step(_held, state, (divided,), nodes=nodes)
        if before is not divided:
            blocks.forget(before)
        for level, found in enumerate(lost):
            for below in range(level):
                firm[below][chain[below][[each.finest for each in found]]] = True


# What is known of nodes that could be held: where they are, and their clusters.
_OF_HELD = ("blocks", "places", "shares", "finest", "labels")


@dataclass(frozen=True)
class _Node:
    """A node that may be held: where it is, and the finest cluster that it was divided into."""

    block: int
    place: int
    finest: int


def _once_linked(
    blocks: Blocks,
    state: State,
    divided: State,
    groups: Sequence[sp.csr_array],
    chain: Sequence[Array],
    firm: Sequence[Array],
) -> tuple[list[sp.csr_array], list[Graph], list[list[_Node]]]:
    """Find parents, of which firm clusters have one only, cluster graphs, and nodes to hold on each level."""
    parents, graphs, lost = list[sp.csr_array](), list[Graph](), list[list[_Node]]()
    upper: sp.csr_array | None = None
    for number, divided_from in enumerate(chain):
        found = blocks.look(_links, _both_linked, state, (divided,), parents=upper, chain=divided_from)
        graphs.append(graph_of_links(found["links"]))
        lost.append(_to_hold(found))
        if number < len(groups):
            own, stays = groups[number], np.flatnonzero(firm[number])
            parents.append(with_rows(_parents_by_walk(graphs[-1], own), (stays, own[stays])))
            upper = parents[-1] if upper is None else (upper @ parents[-1]).tocsr()
    return parents, graphs, lost


def _links(seen: Seen, divided: sp.csr_array, parents: sp.csr_array | None, chain: Array) -> Found:
    """Find what nodes of a block tell of a level: links of its clusters, and who could be held.

    `parents` lead from the finest clusters to those of the level, `chain` to those that they were divided
    from.
    """
    memberships = seen.own if parents is None else (seen.own @ parents).tocsr()
    links = cluster_links(memberships, seen.block.degrees)
    won, finest = clusters_won(memberships), divided.indices
    labels = chain[finest]
    places = candidates(memberships, labels, won)
    shares = np.asarray(memberships[places, labels[places]]).ravel() if len(places) else np.zeros(0)
    return {
        "links": links, "won": won, "blocks": np.full(len(places), seen.block.number), "places": places,
        "shares": shares, "finest": finest[places], "labels": labels[places],
    }  # fmt: skip


def _both_linked(one: Found, other: Found) -> Found:
    """Add up links, and keep who could be held: for a cluster that is the likeliest of none, one node.

    It is that of largest share, or the first.
    """
    won = one["won"] | other["won"]
    found = {name: np.concatenate([one[name], other[name]]) for name in _OF_HELD}
    order = np.lexsort((found["places"], found["blocks"], -found["shares"], found["labels"]))
    order = order[~taken(won, found["labels"][order])]
    first = order[np.unique(found["labels"][order], return_index=True)[1]]
    kept = {name: values[first] for name, values in found.items()}
    return {"links": (one["links"] + other["links"]).tocsr(), "won": won, **kept}


def _to_hold(found: Found) -> list[_Node]:
    """List the nodes that are to be held."""
    nodes = zip(*(found[name].tolist() for name in ("blocks", "places", "finest")), strict=True)
    return [_Node(*each) for each in nodes]


def _held(seen: Seen, divided: sp.csr_array, nodes: Array) -> Stepped:
    """Let nodes, by block and place, belong most of all to the cluster that they were divided into."""
    places = np.unique(nodes[nodes[:, 0] == seen.block.number, 1])
    return Stepped(held(seen.own, divided.indices, places))


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
