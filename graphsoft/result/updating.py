"""A hierarchy after new points came in: its levels and its report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import scipy.sparse as sp

from graphsoft.aliases import Progress
from graphsoft.fitting.report import Report
from graphsoft.linalg.memberships import frozen
from graphsoft.result.growth import Growth, refined_levels
from graphsoft.result.level import Level

__all__ = ["updated"]


def updated(
    h: Any, growth: Growth, guesses: Sequence[sp.csr_array], began: float, progress: Progress | None = None
) -> tuple[tuple[Level, ...], Report]:
    """Refine the levels where the graph has grown, and report it.

    Parameters
    ----------
    h : Hierarchy
        As it was before.
    growth, guesses, progress
        See :func:`graphsoft.result.growth.refined_levels`.
    began : float
        When the graph began to grow, by `time.perf_counter`.

    Returns
    -------
    tuple of Level
    Report
    """
    ready = time.perf_counter()
    refined = refined_levels(growth, h.levels, guesses, h.settings, progress)
    seconds = {"graph": ready - began, "levels": time.perf_counter() - ready}
    reports = [level.report.after(fit) for level, fit in zip(h.levels, refined.fits, strict=True)]
    degrees = growth.graph.degrees
    parts = zip(h.levels, refined.memberships, refined.graphs, reports, strict=True)
    grown = tuple(
        Level(shares, level.parents, frozen(shares.T @ degrees), clusters.adjacency, degrees, how)
        for level, shares, clusters, how in parts
    )
    return grown, h.report.after(growth.graph, reports, len(refined.rows), seconds)
