"""What a hierarchy is asked for: its levels, methods and limits, checked before any long work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.input.checks import integer
from graphsoft.methods import Method, method_named, takes_pairs
from graphsoft.methods.relation import by_likelihood

__all__ = [
    "Settings",
    "by_features",
    "falling_sizes",
    "limits_of_children",
    "one_for_each_level",
    "refuse_feature_methods",
    "refuse_known_pairs",
    "rows_told",
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


def one_for_each_level(method: Any, levels: int, auto: bool = False) -> list[Method]:
    """Check the methods, and repeat a single one."""
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
        if "features" in method.reads(count, featured):
            return method
    return None


def refuse_feature_methods(methods: Sequence[Method], points: Sequence[int]) -> None:
    """Refuse methods that look at features where X is a graph."""
    method = by_features(methods, points, featured=False)
    if method is not None:
        problem = f"{type(method).__name__} looks at features, and X is a graph"
        raise InputError("method", problem, "pass points, or use one for graphs, as 'relation' or 'cp'")


def refuse_known_pairs(method: Method, points: int, featured: bool) -> None:
    """Refuse a method of the finest level that could do nothing with known pairs."""
    if "graph" not in method.reads(points, featured) and not takes_pairs(method):
        problem = f"{type(method).__name__} looks at features, and has no place for known pairs"
        raise InputError("method", problem, "use one for graphs, as 'relation' or 'cp', on the finest level")


def limits_of_children(
    min_children: Any, max_children: Any, sizes: Sequence[int], methods: Sequence[Method], polish: bool
) -> tuple[int | None, int | None]:
    """Check the limits of children, and whether levels of these sizes can keep to them."""
    min_children = min_children if min_children is None else integer("min_children", min_children, 1)
    max_children = max_children if max_children is None else integer("max_children", max_children, 1)
    for argument, value in (("min_children", min_children), ("max_children", max_children)):
        if value is None:
            continue
        if not polish or not all(by_likelihood(each) for each in methods):
            problem = f"got {value}, but only polished relation factorization keeps to it"
            raise InputError(argument, problem, "use polish=True and method='relation', or leave it out")
    if min_children is not None and max_children is not None and min_children > max_children:
        raise InputError(
            "min_children", f"got {min_children}, which is above max_children={max_children}", "lower it"
        )
    for below, above in pairwise(sizes):
        if min_children is not None and min_children * above > below:
            problem = (
                f"got {min_children}, but {below} clusters under {above} are {below / above:.3g} for each"
            )
            raise InputError(
                "min_children", problem, f"use at most {below // above}, or fewer clusters above"
            )
        if max_children is not None and max_children * above < below:
            problem = (
                f"got {max_children}, but {below} clusters under {above} are {below / above:.3g} for each"
            )
            raise InputError(
                "max_children", problem, f"use at least {-(-below // above)}, or more clusters above"
            )
    return min_children, max_children


def falling_sizes(levels: Any, points: int | None) -> list[int]:
    """Check the sizes of the levels, as far as it can be done before the graph is there."""
    unfit = (str, bytes, bytearray, memoryview, Set, Mapping)
    single = isinstance(levels, unfit) or not isinstance(levels, Iterable) or getattr(levels, "ndim", 1) == 0
    if isinstance(levels, str) or levels is None:
        remedy = "list falling sizes, as levels=[100, 20, 10], or pass 'auto'"
        raise InputError("levels", f"got {shown(levels)}", remedy)
    sizes: list[int] = []
    for size in [levels] if single else levels:
        sizes.append(integer("levels", size, 1))
        if len(sizes) > 1 and sizes[-1] >= sizes[-2]:  # at once, for iterators without end
            problem = f"got {shown(sizes)}, where {shown(sizes[-1])} does not fall below {shown(sizes[-2])}"
            raise InputError("levels", problem, "list falling sizes, as levels=[100, 20, 10]")
    if not sizes:
        raise InputError("levels", "got no sizes", "name at least one, as levels=[100, 20, 10]")
    if points is not None and sizes[0] > points:
        problem = f"got a finest level of {shown(sizes[0])} clusters, but there are {points} points"
        raise InputError("levels", problem, f"begin with at most {points}")
    return sizes


def rows_told(X: Any) -> int | None:
    """Count the points of an input that has not been checked yet, if it tells."""
    if isinstance(X, str | bytes | Mapping | Set) or (isinstance(X, list) and X and isinstance(X[0], str)):
        return None  # the door says what is wrong with it
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    try:
        return len(X)
    except TypeError:  # as for a scalar
        return None
