"""Plots: each function takes a result and Axes of matplotlib, draws, and returns the Axes.

Without Axes each makes a new figure. Colors of clusters are those of :mod:`graphsoft.colors` in all of them.
What cannot be read is left out, and a note below the title says so. They need matplotlib:
``pip install 'graphsoft[plot]'``.
"""

from __future__ import annotations

from graphsoft.plots.agreement import compare, stability
from graphsoft.plots.branches import tree
from graphsoft.plots.curves import entropy, suggestion, trace
from graphsoft.plots.flows import flow
from graphsoft.plots.heat import confusion, memberships
from graphsoft.plots.linked import cluster_graph
from graphsoft.plots.positions import map, walk

__all__ = [
    "cluster_graph",
    "compare",
    "confusion",
    "entropy",
    "flow",
    "map",
    "memberships",
    "stability",
    "suggestion",
    "trace",
    "tree",
    "walk",
]
