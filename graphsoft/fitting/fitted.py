"""A level on its way from the fit to the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.engine.assessing import Fit
from graphsoft.graph.graph import Graph

__all__ = ["FittedLevel"]

# Stands for the fit of a level until all levels are found.
UNKNOWN = Fit(np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class FittedLevel:
    """A level on its way to the result.

    Attributes
    ----------
    memberships : csr_array of shape (n, m)
        Of the points; while the levels are being found, of the nodes that are worked on.
    graph : Graph
        The graph of its clusters.
    parents : csr_array of shape (m, m_above) or None
    status : str
    sweeps : int
    trace : tuple of float
        Log-likelihood for relation factorization, what is minimized for other methods.
    seconds : float
    likely : bool
        Whether it was found by relation factorization.
    stopped : bool
        Whether there was no time to refine it to the end.
    fit : Fit
        How well it explains the graph of the points; known when all levels are found.
    """

    memberships: sp.csr_array
    graph: Graph
    parents: sp.csr_array | None
    status: str
    sweeps: int
    trace: tuple[float, ...]
    seconds: float
    likely: bool = True
    stopped: bool = False
    fit: Fit = UNKNOWN
