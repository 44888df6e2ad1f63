"""How well memberships explain a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import scipy.sparse as sp

from graphsoft.engine.blocks import Blocks, Found, OneBlock, Seen, State
from graphsoft.engine.sweeps import log_likelihood_and_gap
from graphsoft.graph.graph import Graph

__all__ = ["Fit", "assess", "fit_of"]


@dataclass(frozen=True)
class Fit:
    """How well memberships explain a graph.

    Attributes
    ----------
    log_likelihood : float
        ``sum_ij w_ij log (B L^-1 B^T)_ij``.
    gap : float
        The largest gain of a cluster that a node does not hold, minus one; 0 at an optimum.
    """

    log_likelihood: float
    gap: float


def assess(graph: Graph, memberships: sp.csr_array) -> Fit:
    """Compute the log-likelihood of any memberships, and how far they are from an optimum."""
    blocks = OneBlock(graph)
    return fit_of(blocks, blocks.begin(memberships))


def fit_of(blocks: Blocks, state: State, parents: sp.csr_array | None = None) -> Fit:
    """Compute how well memberships explain a graph, or those of the parents of their clusters if given.

    Parameters
    ----------
    blocks : Blocks
    state : State
        Memberships in m clusters.
    parents : csr_array of shape (m, m_above), optional
    """
    found = blocks.look(_assessed, _both_assessed, state, parents=parents)
    return Fit(float(found["log_likelihood"]) + 2.0 * blocks.degree_logs, float(found["gap"]))


def _assessed(seen: Seen, parents: sp.csr_array | None) -> dict[str, float]:
    if parents is not None:
        upper = (seen.memberships @ parents).tocsr()
        seen = replace(seen, memberships=upper, mass=parents.T @ seen.mass)
    log_likelihood, gap = log_likelihood_and_gap(seen)
    return {"log_likelihood": log_likelihood, "gap": gap}


def _both_assessed(one: Found, other: Found) -> Found:
    likelihood, gap = one["log_likelihood"] + other["log_likelihood"], max(one["gap"], other["gap"])
    return {"log_likelihood": likelihood, "gap": gap}
