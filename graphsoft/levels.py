"""From data to a tree of soft clusters: the loop over levels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.checks import generator, integer
from graphsoft.clustering import SEED, find
from graphsoft.coarsening import contracted, inverse_or_zero
from graphsoft.errors import InputError, shown
from graphsoft.graph import Features, Graph, check_options, joined_to_nearest, read_input
from graphsoft.memberships import rows_to_one
from graphsoft.methods import Method, Relation, Sample, method_named
from graphsoft.methods.relation import assess, by_likelihood, grouped_beside_strays, polish_level
from graphsoft.result import Hierarchy, Level, LevelReport, Report, Settings
from graphsoft.walks import cluster_graph, edge_graph

__all__ = ["hierarchy"]

Array = np.ndarray[Any, np.dtype[Any]]
Progress = Callable[[str, int, int], None]

# A parent with a smaller probability is not kept.
LEAST_PARENT = 0.01


def hierarchy(
    X: Any,
    levels: int | Sequence[int],
    *,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    method: str | Method | Sequence[str | Method] = "relation",
    polish: bool = True,
    rng: Any = None,
    progress: Progress | None = None,
) -> Hierarchy:
    """Find a hierarchy of soft clusters.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx graph or Graph
        Points with features, or a graph; see :func:`graphsoft.as_graph`.
    levels : int or sequence of int
        How many clusters each level has, falling; at most as many as points.
    n_neighbors, metric, weights, affinity
        How points become a graph; see :func:`graphsoft.knn_graph` and :func:`graphsoft.as_graph`.
    method : str, settings, or a sequence of them with one for each level
        How clusters are found: a key of ``graphsoft.methods.METHODS``, or settings as
        ``Relation(support="dense")``. Above the finest level a method clusters the graph of the clusters
        below; one that looks at features is given those clusters' mean features.
    polish : bool
        Refine every level on the graph of the points. Without it each level only clusters the cluster graph
        below it, as the method was published. Only relation factorization on all levels can polish; with any
        other method this has no effect.
    rng : None, int, or numpy Generator
        Where the chance comes from, for the approximate neighbour search and for methods that use any;
        relation factorization uses none. None gives the same answer every time.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Hierarchy

    Raises
    ------
    InputError
        For an argument that cannot be used, before any long work.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> h = graphsoft.hierarchy(nx.karate_club_graph(), levels=[8, 2])
    >>> h
    Hierarchy(34 points: 8 -> 2 clusters)
    >>> h[-1].labels[:8].tolist()
    [0, 0, 0, 0, 0, 0, 0, 0]
    """
    sizes = _falling_sizes(levels, _rows(X) or None)  # of no points at all the door complains better
    methods = _one_for_each_level(method, len(sizes))
    if not isinstance(polish, bool | np.bool_):
        raise InputError("polish", f"got {shown(polish)}", "use True or False")
    check_options(n_neighbors, metric, weights, "union", progress)
    random = generator("rng", rng)
    began = time.perf_counter()
    given = read_input(X, affinity, metric, weights)
    sizes = _falling_sizes(sizes, len(given))
    if isinstance(given, Graph):
        _refuse_feature_methods(methods, [len(given), *sizes])
        sample = Sample(given)
    else:
        sample = Sample(joined_to_nearest(given, n_neighbors, weights, "union", random, progress), given)
    graph = sample.graph
    ready = time.perf_counter()
    likely = [each for each in methods if by_likelihood(each)]
    random = random or np.random.default_rng(SEED)
    if len(likely) == len(methods):
        fitted = _by_likelihood(graph, sizes, likely, polish, random, progress)
    else:
        fitted = _climb_published(sample, sizes, methods, random, progress)
    reports = [_report(graph, each) for each in fitted]
    done = time.perf_counter()
    report = Report(
        nodes=len(graph),
        edges=(graph.adjacency.nnz + int(np.count_nonzero(graph.adjacency.diagonal()))) // 2,
        components=int(graph.components.max()) + 1,
        notes=graph.notes + _notes(graph, sizes),
        levels=tuple(reports),
        seconds={"graph": ready - began, "levels": done - ready},
    )
    found = tuple(Level.of(graph, each.memberships, each.parents, each.graph) for each in fitted)
    settings = Settings(tuple(sizes), tuple(methods), bool(polish), n_neighbors, metric, weights)
    return Hierarchy(found, graph, report, settings, sample.given_features)


@dataclass(frozen=True)
class _Fitted:
    """A level as the loop knows it."""

    memberships: sp.csr_array
    graph: Graph
    parents: sp.csr_array | None
    run: _Run


@dataclass(frozen=True)
class _Run:
    """The work that one level took."""

    status: str
    sweeps: int
    trace: tuple[float, ...]
    seconds: float
    likely: bool = True


def _by_likelihood(
    graph: Graph,
    sizes: list[int],
    methods: list[Relation],
    polish: bool,
    random: np.random.Generator,
    progress: Progress | None,
) -> list[_Fitted]:
    """Climb by relation factorization; identical points are one node until the end."""
    tied = graph.sites if graph.sites is not None and graph.sites.max() + 1 >= sizes[0] else None
    work = graph if tied is None else contracted(graph, tied, int(tied.max()) + 1)
    climb = _climb_polished if polish else _climb_published
    fitted = climb(Sample(work), sizes, methods, random, progress)
    if tied is not None:
        fitted = [replace(each, memberships=each.memberships[tied]) for each in fitted]
    return fitted


def _climb_published(
    sample: Sample,
    sizes: list[int],
    methods: Sequence[Method],
    random: np.random.Generator,
    progress: Progress | None,
) -> list[_Fitted]:
    """Cluster the points' graph, then the cluster graph, then its cluster graph, as published."""
    levels: list[_Fitted] = []
    below, chained = sample, None
    for size, method in zip(sizes, methods, strict=True):
        began = time.perf_counter()
        found = find(below, size, method, random, progress)
        if levels:
            levels[-1] = replace(levels[-1], parents=found.memberships)
        chained = found.memberships if chained is None else chained @ found.memberships
        likely = by_likelihood(method)
        if likely:
            graph = cluster_graph(found.memberships, below.graph.degrees)
        else:
            graph = edge_graph(found.memberships, below.graph)
        trace = tuple(-value for value in found.trace) if likely else found.trace
        run = _Run(found.status, found.sweeps, trace, time.perf_counter() - began, likely)
        levels.append(_Fitted(chained, graph, None, run))
        below = Sample(graph, _mean_features(sample.given_features, chained))
    return levels


def _climb_polished(
    sample: Sample,
    sizes: list[int],
    methods: list[Relation],
    random: np.random.Generator,
    progress: Progress | None,
) -> list[_Fitted]:
    """Group the clusters of each level, and refine on the points' graph before climbing further."""
    began = time.perf_counter()
    graph = sample.graph
    first = find(sample, sizes[0], methods[0], random, progress)
    memberships, groups = first.memberships, []
    status = "factorized, later refined for the levels above," if sizes[1:] else "factorized"
    trace = tuple(-value for value in first.trace)
    runs = [_Run(f"{status} by {first.sweeps} sweeps", first.sweeps, trace, time.perf_counter() - began)]
    upper: sp.csr_array | None = None
    for size, method in zip(sizes[1:], methods[1:], strict=True):
        began = time.perf_counter()
        at = memberships if upper is None else memberships @ upper
        groups.append(grouped_beside_strays(cluster_graph(at, graph.degrees), size, progress))
        upper = groups[-1] if upper is None else upper @ groups[-1]
        memberships, trace = polish_level(graph, memberships, upper, method.rounds, method.sweeps, progress)
        status = f"grouped and polished by {len(trace)} sweeps"
        runs.append(_Run(status, len(trace), trace, time.perf_counter() - began))
    levels = []
    for group, run in zip([*groups, None], runs, strict=True):
        clusters = cluster_graph(memberships, graph.degrees)
        parents = None if group is None else _lazy_parents(clusters, group)
        levels.append(_Fitted(memberships, clusters, parents, run))
        memberships = memberships if parents is None else memberships @ parents
    return levels


def _mean_features(features: Features | None, memberships: sp.csr_array) -> Features | None:
    """Compute the mean features of the clusters' points, each point weighing as much as it belongs."""
    if features is None:
        return None
    shares = rows_to_one(memberships.T.tocsr())
    return replace(features, values=shares @ features.values)


def _lazy_parents(clusters: Graph, group: sp.csr_array) -> sp.csr_array:
    """``p(parent | cluster)``: the group that a walk on the cluster graph is in after it stayed or stepped.

    At least half the probability stays with the cluster's own group, so that this is its likeliest parent.
    """
    step = sp.diags_array(inverse_or_zero(clusters.degrees)) @ clusters.adjacency @ group
    lazy = ((step + group) * 0.5).tocsr()
    lazy.data[lazy.data < LEAST_PARENT] = 0.0
    lazy.eliminate_zeros()
    lazy.sort_indices()
    return rows_to_one(lazy)


def _report(graph: Graph, fitted: _Fitted) -> LevelReport:
    run, fit = fitted.run, assess(graph, fitted.memberships)
    count = fitted.memberships.shape[1]
    gap = fit.gap if run.likely else None
    return LevelReport(count, run.sweeps, run.trace, fit.log_likelihood, gap, run.status, run.seconds)


def _one_for_each_level(method: Any, levels: int) -> list[Method]:
    """Check the methods, and repeat a single one."""
    if not isinstance(method, list | tuple):
        return [method_named(method)] * levels
    if len(method) != levels:
        problem = f"got {len(method)} methods for {levels} levels"
        raise InputError("method", problem, "name one for each level, or one for all")
    return [method_named(each) for each in method]


def _refuse_feature_methods(methods: list[Method], points: list[int]) -> None:
    """Refuse methods that look at features where X is a graph; `points` are those that each is to cluster."""
    for method, count in zip(methods, points, strict=False):
        if "features" in method.reads(count, featured=False):
            problem = f"{type(method).__name__} looks at features, and X is a graph"
            raise InputError("method", problem, "pass points, or use one for graphs, as 'relation' or 'cp'")


def _falling_sizes(levels: Any, points: int | None) -> list[int]:
    """Check the sizes of the levels, as far as it can be done before the graph is there."""
    unfit = (str, bytes, bytearray, memoryview, Set, Mapping)
    single = isinstance(levels, unfit) or not isinstance(levels, Iterable) or getattr(levels, "ndim", 1) == 0
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


def _rows(X: Any) -> int | None:
    """Count the points of an input that has not been checked yet, if it tells."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    try:
        return len(X)
    except TypeError:  # as for a scalar; the door says what is wrong with it
        return None


def _notes(graph: Graph, sizes: list[int]) -> tuple[str, ...]:
    notes = []
    distinct = len(graph) if graph.sites is None else int(graph.sites.max()) + 1
    if distinct < sizes[0]:
        notes.append(
            f"{distinct} distinct points are fewer than the {sizes[0]} clusters of the finest level: "
            "identical rows may get different memberships"
        )
    components = int(graph.components.max()) + 1
    if components > sizes[-1]:
        notes.append(
            f"{components} components are more than the {sizes[-1]} clusters of the top level: "
            "some clusters hold several"
        )
    return tuple(notes)
