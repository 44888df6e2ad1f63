"""Steps that improve memberships on the graph of points: for an upper level, within groups, of some rows.

A step looks at a block of the graph. Between steps the blocks show each other what they have found.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.blocks import Block, Blocks, Seen, State, Stepped, floor_of
from graphsoft.engine.sweeps import (
    ENTRY_SHARE,
    border_gains,
    gain_matrix,
    groups_restored,
    in_several_clusters,
    merged_clusters,
    narrow_sweep,
    parent_gains,
    reweighted,
    reweighted_by_groups,
    wide_sweep,
    with_shares,
)
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import likeliest, one_cluster_each

__all__ = [
    "MIN_SHARE",
    "Log",
    "lowered",
    "narrowed",
    "narrowed_upper",
    "polish_level",
    "refine",
    "refit_rows",
    "widened",
    "widened_for_upper",
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
    blocks: Blocks,
    state: State,
    groups: sp.csr_array,
    sweeps: int = 3,
    progress: Progress | None = None,
    above: sp.csr_array | None = None,
) -> tuple[State, float]:
    """Refine the finest memberships so that an upper level explains the graph of the points better.

    These are steps of expectation maximization for the upper level's memberships, ``memberships @ groups``,
    while `groups` stay as they are. A finest cluster's gain is that of its group, so the upper memberships
    follow from the finest by the chain rule. The upper level's likelihood rises, but for small losses when
    the support is widened and at edges whose ends share no cluster. A node that would gain by no other group
    stays as it is.

    Parameters
    ----------
    blocks : Blocks
    state : State
        Memberships in m_0 clusters.
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 in each row.
    sweeps : int
        Narrow sweeps after the wide one, at least one.
    progress : callable, optional
    above : csr_array of shape (m_0, m_above), optional
        Groups of which every node keeps its shares, as `groups`.

    Returns
    -------
    State
    float
        The upper level's log-likelihood before the first sweep.
    """
    log = Log("polishing", sweeps + 1, progress)
    wider = blocks.step(widened_for_upper, state, groups=groups)
    log.count()
    upper = blocks.step(narrowed_upper, wider, groups=groups)
    log.count()
    for _ in range(sweeps - 1):
        stepped = blocks.step(narrowed_upper, upper)
        blocks.forget(upper)
        upper = stepped
        log.count()
    before = () if above is None else (state,)
    polished = blocks.step(lowered, wider, (upper, *before), groups=groups, above=above)
    blocks.forget(upper)
    blocks.forget(wider)
    return polished, wider.log_likelihood


def refine(
    blocks: Blocks, state: State, rounds: int, sweeps: int, log: Log, groups: sp.csr_array | None = None
) -> State:
    """Refine memberships for their own likelihood.

    With `groups` every node keeps its share of each group. Polishing the levels above costs the finest one
    some likelihood: the clusters of a group move together, and a node's neighbors may be left in other
    clusters of the group. This makes up for it.

    Parameters
    ----------
    blocks : Blocks
    state : State
        Memberships in m clusters.
    rounds : int
        Each has a wide sweep.
    sweeps : int
        Narrow sweeps of a round, after the wide one. `log` may have no time for them.
    log : Log
        It gets the log-likelihood before each wide sweep.
    groups : csr_array of shape (m, m_above), optional
        The group of each cluster: one entry of 1 in each row.
    """
    given = state
    for number in range(rounds * (sweeps + 1)):
        wide = number % (sweeps + 1) == 0
        stepped = blocks.step(widened if wide else narrowed, state, groups=groups)
        if state is not given:
            blocks.forget(state)
        state = stepped
        if log.count(state.log_likelihood if wide else None):
            break
    return state


# Steps, as `Blocks.step` takes them


def widened_for_upper(seen: Seen, groups: sp.csr_array) -> Stepped:
    """Take a wide sweep for the likelihood of groups; where no group enters, no cluster does.

    The log-likelihood is that of the groups.
    """
    group = likeliest(groups)
    by_groups = _merged(seen, groups)
    border, above, log_likelihood = border_gains(by_groups, MIN_SHARE_POLISHED)
    enters = np.diff(above.indptr) > np.diff(by_groups.memberships.indptr)[border]
    wider, same = border[enters], border[~enters]
    found = reweighted_by_groups(seen, wider, above[enters], group, MIN_SHARE_POLISHED)
    others = _reweighted_by_upper(seen.own, same, above[~enters], groups)
    return Stepped(with_rows(seen.own, (wider, found), (same, others)), log_likelihood)


def narrowed_upper(seen: Seen, groups: sp.csr_array | None = None) -> Stepped:
    """Take a narrow sweep of upper memberships, which are those of groups of the clusters seen if given."""
    return Stepped(narrow_sweep(seen if groups is None else _merged(seen, groups), MIN_SHARE_POLISHED))


def lowered(
    seen: Seen,
    upper: sp.csr_array,
    before: sp.csr_array | None = None,
    *,
    groups: sp.csr_array,
    above: sp.csr_array | None = None,
) -> Stepped:
    """Change the shares of clusters by as much as those of their groups have changed, which are `upper` now.

    With `above` all nodes have the shares of these groups that they have in `before`.
    """
    own = seen.own
    merged = merged_clusters(own, groups)
    nodes = in_several_clusters(merged)
    now = upper[nodes]
    themselves = one_cluster_each(np.arange(groups.shape[1]), groups.shape[1])
    then = parent_gains(now, merged[nodes], themselves)
    found = _reweighted_by_upper(own, nodes, with_shares(now, now.data / then.data), groups)
    polished = with_rows(own, (nodes, found))
    if above is not None and before is not None:
        polished = groups_restored(polished, before, above)
    return Stepped(polished)


def widened(seen: Seen, groups: sp.csr_array | None = None) -> Stepped:
    """Take a wide sweep, with the shares of groups held if there are any."""
    wider, log_likelihood = wide_sweep(seen, MIN_SHARE)
    return Stepped(wider if groups is None else groups_restored(wider, seen.own, groups), log_likelihood)


def narrowed(seen: Seen, groups: sp.csr_array | None = None) -> Stepped:
    """Take a narrow sweep, with the shares of groups held if there are any."""
    swept = narrow_sweep(seen, MIN_SHARE)
    return Stepped(swept if groups is None else groups_restored(swept, seen.own, groups))


def _merged(seen: Seen, groups: sp.csr_array) -> Seen:
    """See groups of clusters, with one entry of 1 in each row, in place of the clusters."""
    mass = np.bincount(groups.indices, seen.mass, minlength=groups.shape[1])
    return replace(seen, memberships=merged_clusters(seen.memberships, groups), mass=mass)


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
    block = Block(edges, graph.degrees[rows])
    mass, floor = np.asarray(memberships.T @ graph.degrees), floor_of(float(graph.degrees.sum()))
    others, found = memberships[neighbors], memberships[rows]
    min_share = MIN_SHARE if parents is None else MIN_SHARE_POLISHED
    for done in range(sweeps if len(rows) else 0):
        both = sp.vstack([found, others], format="csr")
        if parents is None:
            factors = gain_matrix(Seen(block, both, mass, floor))
        else:
            candidates = gain_matrix(Seen(block, both, mass, floor)) if done == 0 else found
            upper = Seen(block, (both @ parents).tocsr(), parents.T @ mass, floor)
            factors = parent_gains(candidates, gain_matrix(upper), parents)
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
