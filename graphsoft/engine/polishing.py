"""Steps that improve memberships on the graph of the points: of a level, within a level, of some rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import grouped, strays
from graphsoft.engine.sweeps import (
    ENTRY_SHARE,
    border_gains,
    edge_model,
    floor_of,
    gain_matrix,
    groups_restored,
    in_several_clusters,
    merged_clusters,
    parent_gains,
    reweighted,
    reweighted_by_groups,
    swept,
    widened,
    with_shares,
)
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.linalg.memberships import likeliest, one_cluster_each

__all__ = [
    "MIN_SHARE",
    "Log",
    "grouped_beside_strays",
    "polish_level",
    "refine_in_groups",
    "refit_rows",
]

# A share below this is dropped.
MIN_SHARE = 1e-3
# While polishing, siblings have the same gain and would fill the rows: this keeps what tells. Over the
# benchmark sets, less is worth no more.
MIN_SHARE_POLISHED = 3e-3


@dataclass
class Log:
    """What happened so far; the one mutable thing in a factorization."""

    stage: str
    planned: int
    progress: Progress | None
    trace: list[float] = field(default_factory=list)
    sweeps: int = 0

    def count(self, log_likelihood: float | None = None) -> None:
        """Take note of a sweep, and of the likelihood before it where it is known."""
        if log_likelihood is not None:
            self.trace.append(log_likelihood)
        self.sweeps += 1
        if self.progress is not None:
            self.progress(self.stage, self.sweeps, self.planned)


def polish_level(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array,
    rounds: int = 3,
    sweeps: int = 3,
    progress: Progress | None = None,
) -> tuple[sp.csr_array, tuple[float, ...]]:
    """Refine the finest memberships so that an upper level explains the graph of the points better.

    These are steps of expectation maximization for the upper level's memberships, ``memberships @ groups``,
    with `groups` held: a finest cluster's gain is that of its group. So the chain rule holds by construction,
    and the upper level's likelihood rises, but for what widening the support costs, and what edges cost whose
    ends share no cluster. A node that would gain by no other group stays as it is.

    Parameters
    ----------
    graph : Graph
        The points.
    memberships : csr_array of shape (n, m_0)
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 a row.
    rounds, sweeps : int
        Times the support is widened to the clusters of the neighbors, and sweeps after each.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n, m_0)
    tuple of float
        The upper level's log-likelihood before each widening.
    """
    log = Log("polishing", rounds * (sweeps + 1), progress)
    group = likeliest(groups)
    for _ in range(rounds):
        upper = merged_clusters(memberships, groups)
        border, above, log_likelihood = border_gains(graph, upper, MIN_SHARE_POLISHED)
        log.count(log_likelihood)
        wider = np.diff(above.indptr) > np.diff(upper.indptr)[border]
        found = reweighted_by_groups(
            graph, memberships, border[wider], above[wider], group, MIN_SHARE_POLISHED
        )
        others = _lifted(memberships, border[~wider], above[~wider], groups)
        memberships = _replaced(memberships, (border[wider], found), (border[~wider], others))
        upper = merged_clusters(memberships, groups)
        shares = swept(graph, upper, sweeps, MIN_SHARE_POLISHED, log.count)
        moved = in_several_clusters(upper)
        found = _lifted(memberships, moved, with_shares(upper, shares / upper.data)[moved], groups)
        memberships = _replaced(memberships, (moved, found))
    return memberships, tuple(log.trace)


def refine_in_groups(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array,
    sweeps: int = 3,
    progress: Progress | None = None,
) -> tuple[sp.csr_array, float]:
    """Refine the finest memberships for their own likelihood, while every node's share of each group is held.

    To polish the levels above costs the finest one: the clusters that a node holds move as one group, and
    its neighbors may be left in other clusters of that group. A wide sweep and narrow ones make good for it.

    Parameters
    ----------
    graph : Graph
        The points.
    memberships : csr_array of shape (n, m_0)
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 a row.
    sweeps : int
        Narrow sweeps after the wide one.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n, m_0)
    float
        The finest level's log-likelihood before.
    """
    log = Log("refining", sweeps + 1, progress)
    wider, log_likelihood = widened(graph, memberships, MIN_SHARE)
    memberships = groups_restored(wider, memberships, groups)
    log.count()
    for _ in range(sweeps):
        shares = swept(graph, memberships, 1, MIN_SHARE, log.count)
        memberships = groups_restored(with_shares(memberships, shares), memberships, groups)
    return memberships, log_likelihood


def _lifted(
    memberships: sp.csr_array, rows: Array, upper: sp.csr_array, groups: sp.csr_array
) -> sp.csr_array:
    """Multiply the shares of some nodes by the gains of groups, which `upper` has for these nodes."""
    held = memberships[rows]
    return reweighted(held, parent_gains(held, upper, groups), MIN_SHARE_POLISHED)


def _replaced(memberships: sp.csr_array, *changes: tuple[Array, sp.csr_array]) -> sp.csr_array:
    """Put new rows in the place of some."""
    source, parts = np.arange(memberships.shape[0], dtype=memberships.indices.dtype), [memberships]
    for rows, found in changes:
        below = sum(part.shape[0] for part in parts)
        source[rows] = np.arange(below, below + len(rows))
        parts.append(found)
    return sp.vstack(parts, format="csr")[source]


def refit_rows(
    graph: Graph,
    memberships: sp.csr_array,
    rows: Array,
    parents: sp.csr_array | None = None,
    sweeps: int = 4,
    progress: Progress | None = None,
) -> sp.csr_array:
    """Refine the memberships of some nodes, while all others and the masses of the clusters are held.

    The first sweep takes in clusters of the neighbors; the likelihood of the edges at `rows` does not fall
    in the others, for with masses held each node has the best answer to its neighbors in closed form.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m)
    rows : ndarray of int
        Nodes, each once.
    parents : csr_array of shape (m, m_upper), optional
        Refine for the likelihood of an upper level instead, as :func:`polish_level` does.
    sweeps : int
    progress : callable, optional

    Returns
    -------
    csr_array of shape (len(rows), m)
    """
    adjacency = graph.adjacency[rows].tocsr()
    halo = np.setdiff1d(adjacency.indices, rows)
    local = np.empty(len(graph), dtype=adjacency.indices.dtype)
    local[rows], local[halo] = np.arange(len(rows)), np.arange(len(halo)) + len(rows)
    shape = (len(rows), len(rows) + len(halo))
    adjacency = sp.csr_array((adjacency.data, local[adjacency.indices], adjacency.indptr), shape=shape)
    everyone, degrees = np.arange(len(rows)), graph.degrees[rows]
    mass, floor = np.asarray(memberships.T @ graph.degrees), floor_of(graph)
    held, found = memberships[halo], memberships[rows]
    min_share = MIN_SHARE if parents is None else MIN_SHARE_POLISHED

    def gain(at: sp.csr_array, mass: Array) -> sp.csr_array:
        return gain_matrix(edge_model(adjacency, degrees, at, mass, floor), everyone)

    for done in range(sweeps if len(rows) else 0):
        everybody = sp.vstack([found, held], format="csr")
        if parents is None:
            step = gain(everybody, mass)
        else:
            upper = gain((everybody @ parents).tocsr(), parents.T @ mass)
            step = parent_gains(gain(everybody, mass) if done == 0 else found, upper, parents)
        found = reweighted(found, step, min_share, ENTRY_SHARE if done == 0 else 0.0)
        if progress is not None:
            progress("re-fitting", done + 1, sweeps)
    return found


def grouped_beside_strays(graph: Graph, count: int, progress: Progress | None = None) -> sp.csr_array:
    """Group nodes by contraction alone, strays with the heaviest group: memberships with one entry a row."""
    stray = strays(graph, count)
    inside = np.flatnonzero(~stray)
    rest = subgraph(graph, inside)
    group = np.zeros(len(graph), dtype=np.int64)
    group[inside] = grouped(rest, count, progress)
    mass = np.bincount(group[inside], rest.degrees, minlength=count)
    group[stray] = np.argmax(mass)
    return one_cluster_each(group, count)
