"""What a clustering is asked for: levels, methods, limits, and how points are joined."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import check_options
from graphsoft.graph.networks import is_igraph, is_network
from graphsoft.input.checks import integer
from graphsoft.methods import METHODS, Method, method_named, takes_pairs
from graphsoft.methods.interface import reads_of
from graphsoft.methods.relation import by_likelihood

__all__ = [
    "Settings",
    "by_features",
    "falling_sizes",
    "name_of",
    "one_for_each_level",
    "refuse_feature_methods",
    "refuse_known_pairs",
    "row_count",
]


@dataclass(frozen=True)
class Settings:
    """How a hierarchy was asked for.

    Attributes
    ----------
    levels : tuple of int
        Clusters of each level.
    methods : tuple of Method
        One for each level.
    polish : bool
    n_neighbors : int
    metric, weights : str
        How points became a graph; of no meaning where a graph was given.
    must_link, cannot_link : tuple of pairs
        Points that belong together, and points that do not, by their names.
    known : tuple of pairs
        Points and their labels; ``hierarchy(..., known=dict(known))`` takes them.
    min_children, max_children : int or None
        Limits on the clusters under one cluster of the next level.

    All of them are checked when the settings are made, as far as this can be done without the points.
    """

    levels: tuple[int, ...]
    methods: tuple[Method, ...]
    polish: bool
    n_neighbors: int
    metric: str
    weights: str
    must_link: tuple[tuple[Any, ...], ...] = ()
    cannot_link: tuple[tuple[Any, ...], ...] = ()
    known: tuple[tuple[Any, Any], ...] = ()
    min_children: int | None = None
    max_children: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.polish, bool | np.bool_):
            raise InputError("polish", f"got {shown(self.polish)}", "use True or False")
        check_options(self.n_neighbors, self.metric, self.weights, "union")
        for argument in ("min_children", "max_children"):
            limit = getattr(self, argument)
            if limit is not None:
                object.__setattr__(self, argument, _checked_limit(argument, limit, self))
        least, most = self.min_children, self.max_children
        if least is not None and most is not None and least > most:
            raise InputError("min_children", f"got {least}, which is above max_children={most}", "lower it")
        for below, above in pairwise(self.levels):
            _check_children(self, below, above)

    @property
    def polished(self) -> bool:
        """Whether levels are refined on the graph of the points: `polish`, where the methods allow it."""
        return bool(self.polish) and all(by_likelihood(each) for each in self.methods)


def _checked_limit(argument: str, given: Any, settings: Settings) -> int:
    """Check a limit of children, and refuse it to methods that cannot keep to it."""
    limit = integer(argument, given, 1)
    if not settings.polished:
        problem = f"got {limit}, but only polished relation factorization keeps to it"
        raise InputError(argument, problem, "use polish=True and method='relation', or leave it out")
    return limit


def _check_children(settings: Settings, below: int, above: int) -> None:
    """Refuse limits of children that two levels of these sizes cannot keep to."""
    each = f"{below} clusters under {above} are {below / above:.3g} for each"
    least, most = settings.min_children, settings.max_children
    if least is not None and least * above > below:
        remedy = f"use at most {below // above}, or fewer clusters above"
        raise InputError("min_children", f"got {least}, but {each}", remedy)
    if most is not None and most * above < below:
        remedy = f"use at least {-(-below // above)}, or more clusters above"
        raise InputError("max_children", f"got {most}, but {each}", remedy)


def one_for_each_level(method: Any, levels: int, auto: bool = False) -> list[Method]:
    """Check the methods, and repeat a single one for all levels."""
    if auto and isinstance(method, list | tuple):
        problem = f"got {len(method)} methods, but levels='auto' leaves the number of levels open"
        raise InputError("method", problem, "name one for all")
    if not isinstance(method, list | tuple):
        return [method_named(method)] * levels
    if len(method) != levels:
        problem = f"got {len(method)} methods for {levels} levels"
        raise InputError("method", problem, "name one for each level, or one for all")
    return [method_named(each) for each in method]


def by_features(methods: Sequence[Method], points: Sequence[int], featured: bool) -> Method | None:
    """Find the first method that looks at features; `points` are those that each is to cluster.

    Examples
    --------
    >>> by_features([method_named("relation"), method_named("ward")], [50, 5], featured=True)
    Linkage(kind='ward')
    """
    for method, count in zip(methods, points, strict=False):
        if "features" in reads_of(method, count, featured):
            return method
    return None


def name_of(method: Method) -> str:
    """Call a method by its key in the table of methods, or else by its class.

    Examples
    --------
    >>> name_of(method_named("ward"))
    'ward'
    """
    names = (name for name, known in METHODS.items() if known == method)
    return next(names, type(method).__name__)


def refuse_feature_methods(methods: Sequence[Method], points: Sequence[int]) -> None:
    """Refuse methods that look at features if X is a graph."""
    method = by_features(methods, points, featured=False)
    if method is not None:
        problem = f"{name_of(method)} looks at features, and X is a graph"
        remedy = "pass points, or use a method for graphs, such as 'relation' or 'cp'"
        raise InputError("method", problem, remedy)


def refuse_known_pairs(method: Method, points: int, featured: bool) -> None:
    """Refuse known pairs if the method of the finest level cannot use them."""
    if "graph" not in reads_of(method, points, featured) and not takes_pairs(method):
        problem = f"{name_of(method)} looks at features, and has no place for known pairs"
        remedy = "use a method for graphs, such as 'relation' or 'cp', on the finest level"
        raise InputError("method", problem, remedy)


def falling_sizes(levels: Any, points: int | None) -> list[int]:
    """Check the sizes of the levels; `points` is None while their number is not known."""
    unfit = (str, bytes, bytearray, memoryview, Set, Mapping)
    single = isinstance(levels, unfit) or not isinstance(levels, Iterable) or getattr(levels, "ndim", 1) == 0
    if isinstance(levels, str) or levels is None:
        remedy = "list falling sizes such as levels=[100, 20, 10], or pass 'auto'"
        raise InputError("levels", f"got {shown(levels)}", remedy)
    sizes: list[int] = []
    for size in [levels] if single else levels:
        sizes.append(integer("levels", size, 1))
        if len(sizes) > 1 and sizes[-1] >= sizes[-2]:  # checked here, since an iterator may never end
            problem = f"got {shown(sizes)}, where {shown(sizes[-1])} does not fall below {shown(sizes[-2])}"
            raise InputError("levels", problem, "list falling sizes, such as levels=[100, 20, 10]")
    if not sizes:
        raise InputError("levels", "got no sizes", "name at least one, such as levels=[100, 20, 10]")
    if points is not None and sizes[0] > points:
        problem = f"got a finest level of {shown(sizes[0])} clusters, but there are {points} points"
        raise InputError("levels", problem, f"begin with at most {points}")
    return sizes


def row_count(X: Any) -> int | None:
    """Count the rows or nodes of an input that has not been checked yet; None if that cannot be told.

    Examples
    --------
    >>> row_count([[1, 2], [3, 4]]), row_count([("a", "b"), ("b", "c")])
    (2, None)
    """
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:  # data frames of dask count their rows later
        return int(shape[0]) if isinstance(shape[0], numbers.Integral) else None
    if is_network(X):
        return int(X.vcount()) if is_igraph(X) else len(X)
    if isinstance(X, Graph):
        return len(X)
    if not isinstance(X, list | tuple) or not X:
        return None
    first = X[0][:1] if isinstance(X[0], list | tuple) else X[:1]
    # texts are refused by `read_input`, with a better message
    return None if any(isinstance(each, str) for each in first) else len(X)
