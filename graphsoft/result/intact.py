"""Whether results are still as they were found: users can change them, copy them, or make them by hand.

Compiled loops follow the indices in a result's matrices. So each public function that hands them on looks at
them first, every time. That takes about as long as multiplying each of them with a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import Features, FeaturesLeftOut
from graphsoft.graph.graph import Graph, checked_graph
from graphsoft.input.checks import choice, integer
from graphsoft.input.mapped import is_plain
from graphsoft.input.memberships import REMEDY, check_memberships
from graphsoft.input.sparse_input import check_rows
from graphsoft.neighbors.nearest import METRICS
from graphsoft.neighbors.weights import WEIGHTS
from graphsoft.parallel import row_blocks

__all__ = [
    "check_cluster_graph",
    "check_described",
    "check_features",
    "check_level",
    "check_levels",
    "intact_features",
    "intact_graph",
]


def intact_graph(h: Any) -> Graph:
    """Check the graph of a hierarchy."""
    if not isinstance(h.graph, Graph):
        raise InputError("h", f"has {shown(h.graph)} as its graph", REMEDY)
    return checked_graph(h.graph, "h")


def check_levels(levels: Sequence[Any], points: int) -> None:
    """Check all levels of a hierarchy, and that they fit each other."""
    if not len(levels):
        raise InputError("h", "has no levels", REMEDY)
    above: int | None = None
    for level in reversed(levels):
        check_level(level, points)
        _check_parents(level, above)
        above = level.memberships.shape[1]


def check_level(level: Any, points: int | None = None) -> None:
    """Check what compiled loops are given of one level; `points` is how many it must have."""
    kind, names = type(level), ("memberships", "parents", "mass", "degrees")
    if "__getattribute__" in vars(kind) or any(hasattr(kind, name) for name in names):
        raise InputError("h", f"has a level of type {kind.__name__}, which computes its fields", REMEDY)
    memberships, mass, degrees = level.memberships, level.mass, level.degrees
    check_memberships(memberships, "h")
    count, clusters = memberships.shape
    if points is not None and count != points:
        raise InputError("h", f"has a level of {count} points, but {points} nodes", REMEDY)
    for name, values, length in (("masses", mass, clusters), ("degrees", degrees, count)):
        plain = is_plain(values) and values.dtype == np.float64 and values.shape == (length,)
        if not (plain and np.isfinite(values).all() and values.min() >= 0):
            raise InputError("h", f"has a level whose {name} are not {length} finite numbers", REMEDY)


def check_cluster_graph(level: Any) -> None:
    """Check the graph of a level's clusters."""
    check_rows(level.graph, "h")
    count, weights = level.memberships.shape[1], level.graph.data
    sound = np.isfinite(weights).all() and (weights >= 0).all()
    if level.graph.shape != (count, count) or not sound:
        raise InputError("h", f"has a graph that is not one of {count} clusters", REMEDY)


def check_described(levels: Sequence[Any], report: Any, settings: Any) -> None:
    """Check that levels, which are in order, fit each other and what is said of them."""
    counts = tuple(level.memberships.shape[1] for level in levels)
    if type(report) is not Report or [type(each) for each in report.levels] != [LevelReport] * len(levels):
        raise InputError("h", "has a report that is not of its levels", REMEDY)
    if type(settings) is not Settings or settings.levels != counts or len(settings.methods) != len(counts):
        raise InputError("h", "has settings that are not of its levels", REMEDY)
    for level in levels:
        check_cluster_graph(level)
        if not np.array_equal(level.degrees, levels[0].degrees):
            raise InputError("h", "has levels with different degrees", REMEDY)


def _check_parents(level: Any, above: int | None) -> None:
    """Check the parents of a level's clusters among so many clusters of the level above."""
    if (level.parents is None) != (above is None):
        raise InputError("h", "has parents on its top level, or none on another", REMEDY)
    if above is not None:
        check_memberships(level.parents, "h", (level.memberships.shape[1], above))


def intact_features(h: Any) -> Features | None:
    """Check the features of a hierarchy, which must be there unless a graph was given."""
    if isinstance(h.features, FeaturesLeftOut):
        problem = "was saved without the features of its points, which are needed here"
        raise InputError("h", problem, "save it with features=True, or pass X where that is possible")
    check_features(h.features, h.settings, len(h.graph))
    return h.features  # type: ignore[no-any-return]


def check_features(features: Any, settings: Any, points: int) -> None:
    """Check the features of a hierarchy's points, and how new points are to be joined to them."""
    integer("h", settings.n_neighbors, 1)
    choice("h", settings.weights, WEIGHTS)
    if features is None:
        return
    if type(features) is not Features:
        raise InputError("h", f"has {shown(features)} as features", REMEDY)
    choice("h", features.metric, METRICS)
    values = features.values
    if isinstance(values, np.ndarray):
        fits = values.ndim == 2 and values.dtype in (np.float32, np.float64) and values.flags.c_contiguous
        if not (fits and values.flags.aligned):
            raise InputError("h", f"has features of dtype {values.dtype}, shape {values.shape}", REMEDY)
    else:
        check_rows(values, "h")
    numbers = [values.data] if sp.issparse(values) else (values[a:b] for a, b in row_blocks(values))
    if not all(np.isfinite(part).all() for part in numbers):
        raise InputError("h", "has features that are NaN or infinite", REMEDY)
    if len(features) != points:
        raise InputError("h", f"has features of {len(features)} points for {points} nodes", REMEDY)
    if features.fitted is not None:
        integer("h", features.fitted, 1, points)
