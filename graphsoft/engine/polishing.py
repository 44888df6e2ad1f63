"""Steps that improve memberships on the graph of points: for an upper level, within groups, of some rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.sweeps import (
    ENTRY_SHARE,
    border_gains,
    edge_model,
    floor_of,
    gain_matrix,
    groups_restored,
    in_several_clusters,
    merged_clusters,
    narrow_sweeps,
    parent_gains,
    reweighted,
    reweighted_by_groups,
    wide_sweep,
    with_shares,
)
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import likeliest

__all__ = [
    "MIN_SHARE",
    "Log",
    "polish_level",
    "refine_in_groups",
    "refit_rows",
    "with_rows",
]

# A share below this is dropped.
MIN_SHARE = 1e-3
# While polishing, clusters of one group have the same gain, and many small shares would fill the rows. Over
# the benchmark sets, lower values gave no better clusters.
MIN_SHARE_POLISHED = 3e-3


@dataclass
class Log:
    """The sweeps of a factorization so far, which is its one mutable part.

    Attributes
    ----------
    stage : str
        What progress is reported as.
    planned : int
        How many sweeps there will be.
    progress : callable or None
    deadline : Deadline
        When no further sweep begins.
    trace : list of float
        Log-likelihoods before those sweeps for which it was known.
    sweeps : int
    """

    stage: str
    planned: int
    progress: Progress | None
    deadline: Deadline = NEVER
    trace: list[float] = field(default_factory=list)
    sweeps: int = 0

    def count(self, log_likelihood: float | None = None) -> bool:
        """Count a sweep, and record the log-likelihood before it if that is known.

        Returns whether this has to be the last one.
        """
        if log_likelihood is not None:
            self.trace.append(log_likelihood)
        self.sweeps += 1
        if self.progress is not None:
            self.progress(self.stage, self.sweeps, self.planned)
        return self.deadline.over

    @property
    def cut_short(self) -> bool:
        """Whether there are fewer sweeps than planned."""
        return self.sweeps < self.planned


def polish_level(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array,
    sweeps: int = 3,
    progress: Progress | None = None,
) -> tuple[sp.csr_array, float]:
    """Refine the finest memberships so that an upper level explains the graph of the points better.

    These are steps of expectation maximization for the upper level's memberships, ``memberships @ groups``,
    while `groups` stay as they are. A finest cluster's gain is that of its group, so the upper memberships
    follow from the finest by the chain rule. The upper level's likelihood rises, but for small losses when
    the support is widened and at edges whose ends share no cluster. A node that would gain by no other group
    stays as it is.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m_0)
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 in each row.
    sweeps : int
        Narrow sweeps after the wide one.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n, m_0)
    float
        The upper level's log-likelihood before the first sweep.
    """
    log = Log("polishing", sweeps + 1, progress)
    group = likeliest(groups)
    upper = merged_clusters(memberships, groups)
    border, above, log_likelihood = border_gains(graph, upper, MIN_SHARE_POLISHED)
    log.count()
    enters = np.diff(above.indptr) > np.diff(upper.indptr)[border]
    wider, same = border[enters], border[~enters]
    found = reweighted_by_groups(graph, memberships, wider, above[enters], group, MIN_SHARE_POLISHED)
    others = _reweighted_by_upper(memberships, same, above[~enters], groups)
    memberships = with_rows(memberships, (wider, found), (same, others))
    upper = merged_clusters(memberships, groups)
    stepped = narrow_sweeps(graph, upper, sweeps, MIN_SHARE_POLISHED, log.count)
    nodes = in_several_clusters(upper)
    factors = with_shares(upper, stepped.data / upper.data)[nodes]
    found = _reweighted_by_upper(memberships, nodes, factors, groups)
    return with_rows(memberships, (nodes, found)), log_likelihood


def refine_in_groups(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array,
    sweeps: int,
    log: Log,
) -> sp.csr_array:
    """Refine the finest memberships for their own likelihood, while every node keeps its share of each group.

    Polishing the levels above costs the finest one some likelihood: the clusters of a group move together,
    and a node's neighbors may be left in other clusters of the group. A wide sweep and narrow ones make up
    for it.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m_0)
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 in each row.
    sweeps : int
        Narrow sweeps after the wide one, for which `log` may have no time.
    log : Log
        It gets the finest level's log-likelihood before the first sweep.

    Returns
    -------
    csr_array of shape (n, m_0)
    """
    wider, log_likelihood = wide_sweep(graph, memberships, MIN_SHARE)
    memberships = groups_restored(wider, memberships, groups)
    log.count(log_likelihood)
    for _ in range(sweeps):
        if log.deadline.over:
            break
        stepped = narrow_sweeps(graph, memberships, 1, MIN_SHARE, log.count)
        memberships = groups_restored(stepped, memberships, groups)
    return memberships


def _reweighted_by_upper(
    memberships: sp.csr_array, nodes: Array, gain: sp.csr_array, groups: sp.csr_array
) -> sp.csr_array:
    """Multiply the shares of some nodes by the gains of their groups, which `gain` has for these nodes."""
    held = memberships[nodes]
    return reweighted(held, parent_gains(held, gain, groups), MIN_SHARE_POLISHED)


def with_rows(memberships: sp.csr_array, *changes: tuple[Array, sp.csr_array]) -> sp.csr_array:
    """Replace rows: each change is the numbers of some rows, and the new ones. All others keep their bits.

    Examples
    --------
    >>> change = np.array([1]), sp.csr_array([[3.0]])
    >>> with_rows(sp.csr_array([[1.0], [2.0]]), change).toarray()
    array([[1.],
           [3.]])
    """
    source, parts = np.arange(memberships.shape[0], dtype=memberships.indices.dtype), [memberships]
    for rows, found in changes:
        above = sum(part.shape[0] for part in parts)
        source[rows] = np.arange(above, above + len(rows))
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
    """Refine the memberships of some nodes, while all others and the masses of the clusters stay as they are.

    The first sweep takes in clusters of the neighbors. In the other sweeps the likelihood of the edges at
    `rows` does not fall: with masses fixed, each node's best shares given its neighbors' are known in closed
    form.

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
    edges, neighbors = _edges_at(graph, rows)
    places, degrees = np.arange(len(rows)), graph.degrees[rows]
    mass, floor = np.asarray(memberships.T @ graph.degrees), floor_of(graph)
    others, found = memberships[neighbors], memberships[rows]
    min_share = MIN_SHARE if parents is None else MIN_SHARE_POLISHED

    def gain(of: sp.csr_array, mass: Array) -> sp.csr_array:
        return gain_matrix(edge_model(edges, degrees, of, mass, floor), places)

    for done in range(sweeps if len(rows) else 0):
        both = sp.vstack([found, others], format="csr")
        if parents is None:
            factors = gain(both, mass)
        else:
            candidates = gain(both, mass) if done == 0 else found
            factors = parent_gains(candidates, gain((both @ parents).tocsr(), parents.T @ mass), parents)
        found = reweighted(found, factors, min_share, ENTRY_SHARE if done == 0 else 0.0)
        if progress is not None:
            progress("re-fitting", done + 1, sweeps)
    return found


def _edges_at(graph: Graph, rows: Array) -> tuple[sp.csr_array, Array]:
    """Take the edges of some nodes; the columns are these nodes, then their other neighbors. Returns both."""
    edges = graph.adjacency[rows].tocsr()
    neighbors = np.setdiff1d(edges.indices, rows)
    local = np.empty(len(graph), dtype=edges.indices.dtype)
    local[rows], local[neighbors] = np.arange(len(rows)), np.arange(len(neighbors)) + len(rows)
    shape = (len(rows), len(rows) + len(neighbors))
    return sp.csr_array((edges.data, local[edges.indices], edges.indptr), shape=shape), neighbors
