"""From data to a tree of soft clusters: the loop over levels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.clustering import DEFAULT_SEED, find
from graphsoft.engine.cluster_graph import cluster_graph, edge_graph
from graphsoft.engine.coarsening import contracted
from graphsoft.engine.grouping import Limits, between, grouped_within, keeps_to
from graphsoft.engine.ordering import Reordered, in_clumps
from graphsoft.engine.polishing import grouped_beside_strays, polish_level, refine_in_groups
from graphsoft.engine.sweeps import assess, merged_clusters
from graphsoft.errors import InputError, shown
from graphsoft.fitting.report import LevelReport, Report, edge_count
from graphsoft.fitting.settings import (
    Settings,
    falling_sizes,
    limits_of_children,
    one_for_each_level,
    refuse_feature_methods,
    refuse_known_pairs,
    rows_told,
)
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import check_options, joined_to_nearest
from graphsoft.graph.reading import read_input
from graphsoft.input.checks import generator
from graphsoft.input.constraints import kept_pairs, listed_labels, listed_pairs, side_information
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.memberships import likeliest, rows_to_one
from graphsoft.methods import Method, Relation, Sample
from graphsoft.methods.relation import by_likelihood
from graphsoft.result.hierarchy import Hierarchy, Level
from graphsoft.suggestion import suggest

__all__ = ["hierarchy"]

# A walk that tells the parents of a cluster stays there with this chance. Over the benchmark sets memberships
# of the levels above come nearest to the classes from 0.5 to 0.67 (a Brier score of 0.247; hard parents have
# 0.252), and explain the graph better the larger it is.
STAY = 2 / 3
# A parent with a smaller probability is not kept.
MIN_PARENT = 0.01


def hierarchy(
    X: Any,
    levels: int | Sequence[int] | str,
    *,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    neighbors: Any = None,
    method: str | Method | Sequence[str | Method] = "relation",
    polish: bool = True,
    must_link: Any = None,
    cannot_link: Any = None,
    known: Any = None,
    min_children: int | None = None,
    max_children: int | None = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Hierarchy:
    """Find a hierarchy of soft clusters.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx graph or Graph
        Points with features, or a graph; see :func:`graphsoft.as_graph`. The result looks at these features
        again when new points come: change them afterwards, and predictions change.
    levels : int, sequence of int, or "auto"
        How many clusters each level has, falling; at most as many as points. With ``"auto"`` they are those
        that :func:`graphsoft.suggest_levels` finds, within the limits of children, and the report says why.
    n_neighbors, metric, weights, affinity, neighbors
        How points become a graph; see :func:`graphsoft.knn_graph` and :func:`graphsoft.as_graph`. An object
        that finds the `neighbors` is kept and finds those of new points too: fit it to other data afterwards,
        and it cannot serve this hierarchy.
    method : str, settings, or a sequence of them with one for each level
        How clusters are found: a key of ``graphsoft.methods.METHODS``, or settings as
        ``Relation(support="dense")``. Above the finest level a method clusters the graph of the clusters
        below; one that looks at features is given those clusters' mean features.
    polish : bool
        Refine every level on the graph of the points. Without it each level only clusters the cluster graph
        below it, as the method was published. Only relation factorization on all levels can polish; with any
        other method this has no effect.
    must_link, cannot_link, known
        What you know of some points, as :func:`graphsoft.cluster` takes it. The levels are found in the graph
        with that put in; polished ones also do not group clusters whose points are mostly known to be apart,
        while others can be grouped. It does not bind, and the report says for each level how many pairs came
        out as known: on a fine level most points of one class are in different clusters. Degrees, masses, the
        graphs of the levels and the figures in the report are those of the graph without.
    min_children, max_children : int, optional
        At least and at most so many clusters under every cluster of the next level, by their likeliest
        parents, as in `Hierarchy.tree`. These bind. For polished relation factorization only.
    rng : None, int, or numpy Generator
        Where the chance comes from, for the approximate neighbor search and for methods that use any;
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
    auto = isinstance(levels, str) and levels == "auto"
    # of no points at all the door complains better; until the graph is there one level stands for its own
    sizes = [1] if auto else falling_sizes(levels, rows_told(X) or None)
    methods = one_for_each_level(method, len(sizes), auto)
    if not isinstance(polish, bool | np.bool_):
        raise InputError("polish", f"got {shown(polish)}", "use True or False")
    check_options(n_neighbors, metric, weights, "union", progress)
    children = limits_of_children(min_children, max_children, sizes, methods, bool(polish))
    random = generator("rng", rng)
    must, cannot = listed_pairs("must_link", must_link), listed_pairs("cannot_link", cannot_link)
    began = time.perf_counter()
    given = read_input(X, affinity, metric, weights, neighbors=neighbors)
    sizes = falling_sizes(sizes, len(given))
    names = given.nodes if isinstance(given, Graph) else range(len(given))
    side = side_information(names, must, cannot, known)
    if isinstance(given, Graph):
        refuse_feature_methods(methods, [len(given), *sizes])
    if side is not None:
        refuse_known_pairs(methods[0], len(given), isinstance(given, Features))
    settings = Settings(
        tuple(sizes), tuple(methods), bool(polish), n_neighbors, metric, weights,
        must, cannot, listed_labels(names, known), *children,
    )  # fmt: skip
    sample = _sample(given, side, settings, random, progress)
    graph = sample.graph
    ready = time.perf_counter()
    settings, why = _own_levels(sample, settings, random, progress) if auto else (settings, ())
    near = in_clumps(graph)
    fitted = _fitted(sample, near, settings, random or np.random.default_rng(DEFAULT_SEED), progress)
    reports = [_report(near, each, side) for each in fitted]
    seconds = {"graph": ready - began, "levels": time.perf_counter() - ready}
    report = _whole_report(graph, settings.levels, reports, seconds, why)
    found = tuple(Level.of(graph, each.memberships, each.parents, each.graph) for each in fitted)
    return Hierarchy(found, graph, report, settings, sample.given_features)


def _sample(
    given: Graph | Features,
    side: sp.csr_array | None,
    settings: Settings,
    random: np.random.Generator | None,
    progress: Progress | None,
) -> Sample:
    """Join points to their nearest, if it is points that are given."""
    if isinstance(given, Graph):
        return Sample(given, None, side)
    graph = joined_to_nearest(given, settings.n_neighbors, settings.weights, "union", random, progress)
    return Sample(graph, given, side)


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

    def then(self, sweeps: int, before: float, seconds: float) -> _Run:
        """Add the refinement within the groups of the level above."""
        status = f"{self.status}, and by {sweeps} more within the level above"
        trace = (*self.trace, before)
        return replace(
            self,
            status=status,
            sweeps=self.sweeps + sweeps,
            trace=trace,
            seconds=self.seconds + seconds,
        )


def _fitted(
    sample: Sample,
    near: Reordered,
    settings: Settings,
    random: np.random.Generator,
    progress: Progress | None,
) -> list[_Fitted]:
    """Find all levels, in the way that the methods allow."""
    likely = [each for each in settings.methods if by_likelihood(each)]
    polished = settings.polish and len(likely) == len(settings.methods)
    if len(likely) == len(settings.methods):
        levels = _by_likelihood(sample, near, settings, likely, random, progress)
    else:
        degrees = sample.informed().graph.degrees
        levels = _climb_published(sample, degrees, settings.levels, settings.methods, random, progress)
    return levels if sample.side is None else _on_given(sample.graph, levels, polished)


def _by_likelihood(
    sample: Sample,
    near: Reordered,
    settings: Settings,
    methods: list[Relation],
    random: np.random.Generator,
    progress: Progress | None,
) -> list[_Fitted]:
    """Climb by relation factorization; identical points are one node until the end."""
    graph, side = sample.informed().graph, sample.side
    tied = (
        graph.duplicates
        if graph.duplicates is not None and graph.duplicates.max() + 1 >= settings.levels[0]
        else None
    )
    if tied is not None:
        sites = int(tied.max()) + 1
        graph = contracted(graph, tied, sites)
        side = side if side is None else between(side, tied, sites)
    if graph is not sample.graph:
        near = in_clumps(graph)
    side = side if side is None else side[near.nodes][:, near.nodes]
    if settings.polish:
        fitted = _climb_polished(near, side, settings, methods, random, progress)
    else:
        work = Sample(near.graph, ordered=True)
        fitted = _climb_published(work, near.degrees, settings.levels, methods, random, progress)
    places = near.places if tied is None else near.places[tied]
    return [replace(each, memberships=each.memberships[places]) for each in fitted]


def _on_given(graph: Graph, levels: list[_Fitted], polished: bool) -> list[_Fitted]:
    """Make the graphs of the clusters anew of the graph as it was given, without what is known of pairs."""
    fresh: list[_Fitted] = []
    below, step = graph, levels[0].memberships
    for level in levels:
        if polished:
            clusters = cluster_graph(level.memberships, graph.degrees)
        elif level.run.likely:
            clusters = cluster_graph(step, below.degrees)
        else:
            clusters = edge_graph(step, below)
        fresh.append(replace(level, graph=clusters))
        if level.parents is not None:
            below, step = clusters, level.parents
    return fresh


def _climb_published(
    sample: Sample,
    degrees: Array,
    sizes: Sequence[int],
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
            graph = cluster_graph(found.memberships, degrees)
        else:
            graph = edge_graph(found.memberships, below.informed().graph)
        trace = tuple(-value for value in found.trace) if likely else found.trace
        run = _Run(found.status, found.sweeps, trace, time.perf_counter() - began, likely)
        levels.append(_Fitted(chained, graph, None, run))
        below, degrees = Sample(graph, _mean_features(sample.given_features, chained)), graph.degrees
    return levels


def _climb_polished(
    near: Reordered,
    side: sp.csr_array | None,
    settings: Settings,
    methods: list[Relation],
    random: np.random.Generator,
    progress: Progress | None,
) -> list[_Fitted]:
    """Group the clusters of each level, and refine on the points' graph before climbing further.

    What is known of pairs is in the graph already, and decides here which clusters are not to be grouped.
    """
    graph, sizes = near.graph, settings.levels
    memberships, run = _finest(graph, sizes, methods[0], random, progress)
    groups, runs = [], [run]
    upper: sp.csr_array | None = None
    for size, method in zip(sizes[1:], methods[1:], strict=True):
        began = time.perf_counter()
        at = memberships if upper is None else merged_clusters(memberships, upper)
        clusters = cluster_graph(at, near.degrees)
        groups.append(_groups(clusters, at, size, settings, side, progress))
        upper = groups[-1] if upper is None else upper @ groups[-1]
        rounds = method.rounds if size == sizes[-1] else min(method.rounds, 1)
        memberships, trace = polish_level(graph, memberships, upper, rounds, method.sweeps, progress)
        done = rounds * (method.sweeps + 1)
        status = f"grouped and polished by {done} sweeps"
        runs.append(_Run(status, done, trace, time.perf_counter() - began))
    if groups and methods[0].rounds > 1:
        began = time.perf_counter()
        sweeps = methods[0].sweeps
        memberships, before = refine_in_groups(graph, memberships, groups[0], sweeps, progress)
        runs[0] = run.then(sweeps + 1, before, time.perf_counter() - began)
    return _with_parents(near, memberships, groups, runs)


def _finest(
    graph: Graph,
    sizes: Sequence[int],
    method: Relation,
    random: np.random.Generator,
    progress: Progress | None,
) -> tuple[sp.csr_array, _Run]:
    """Factorize the points' graph; where other levels follow, one round is left for when they are found."""
    began = time.perf_counter()
    if sizes[1:] and method.rounds > 1:
        method = replace(method, rounds=method.rounds - 1)
    found = find(Sample(graph, ordered=True), sizes[0], method, random, progress)
    trace = tuple(-value for value in found.trace)
    status = f"factorized by {found.sweeps} sweeps"
    return found.memberships, _Run(status, found.sweeps, trace, time.perf_counter() - began)


def _with_parents(
    near: Reordered, memberships: sp.csr_array, groups: list[sp.csr_array], runs: list[_Run]
) -> list[_Fitted]:
    """Let each level follow from the one below, by what its cluster graph says of parents."""
    levels: list[_Fitted] = []
    for group, run in zip([*groups, None], runs, strict=True):
        clusters = cluster_graph(memberships, near.degrees)
        parents = None if group is None else _lazy_parents(clusters, group)
        levels.append(_Fitted(memberships, clusters, parents, run))
        memberships = memberships if parents is None else memberships @ parents
    return levels


def _groups(
    clusters: Graph,
    memberships: sp.csr_array,
    count: int,
    settings: Settings,
    side: sp.csr_array | None,
    progress: Progress | None,
) -> sp.csr_array:
    """Group the clusters that points have these memberships of, within what is wished and known."""
    min_children, max_children = settings.min_children, settings.max_children
    free = grouped_beside_strays(clusters, count, progress)
    if side is not None:
        side = between(side, likeliest(memberships), len(clusters))
    limits = Limits(min_children or 0, max_children or len(clusters), side)
    return free if keeps_to(free, limits) else grouped_within(clusters, count, limits, progress)


def _mean_features(features: Features | None, memberships: sp.csr_array) -> Features | None:
    """Compute the mean features of the clusters' points, each point weighing as much as it belongs."""
    if features is None:
        return None
    shares = rows_to_one(memberships.T.tocsr())
    return replace(features, values=shares @ features.values)


def _lazy_parents(clusters: Graph, group: sp.csr_array) -> sp.csr_array:
    """``p(parent | cluster)``: the group that a walk on the cluster graph is in after it stayed or stepped.

    At least `STAY` of the probability is with the cluster's own group, so that this is its likeliest parent.
    """
    step = sp.diags_array(inverse_or_zero(clusters.degrees)) @ clusters.adjacency @ group
    lazy = ((1.0 - STAY) * step + STAY * group).tocsr()
    lazy.data[lazy.data < MIN_PARENT] = 0.0
    lazy.eliminate_zeros()
    lazy.sort_indices()
    return rows_to_one(lazy)


def _report(near: Reordered, fitted: _Fitted, side: sp.csr_array | None) -> LevelReport:
    run, fit = fitted.run, assess(near.graph, fitted.memberships[near.nodes])
    count = fitted.memberships.shape[1]
    gap = fit.gap if run.likely else None
    status = (
        run.status if side is None else f"{run.status}; {kept_pairs(side, likeliest(fitted.memberships))}"
    )
    return LevelReport(count, run.sweeps, run.trace, fit.log_likelihood, gap, status, run.seconds)


def _whole_report(
    graph: Graph,
    sizes: Sequence[int],
    levels: list[LevelReport],
    seconds: dict[str, float],
    why: tuple[str, ...],
) -> Report:
    return Report(
        nodes=len(graph),
        edges=edge_count(graph),
        components=int(graph.components.max()) + 1,
        notes=graph.notes + why + _notes(graph, sizes),
        levels=tuple(levels),
        seconds=seconds,
    )


def _own_levels(
    sample: Sample, settings: Settings, random: np.random.Generator | None, progress: Progress | None
) -> tuple[Settings, tuple[str, ...]]:
    """Let the graph choose the levels; also returns why they are these."""
    children = settings.min_children, settings.max_children
    found = suggest(sample.graph, random, progress, children)
    methods = list(settings.methods) * len(found.levels)
    if sample.given_features is None:
        refuse_feature_methods(methods, [len(sample), *found.levels])
    chosen = replace(settings, levels=found.levels, methods=tuple(methods))
    return chosen, (f"levels chosen: {', '.join(map(str, found.levels))} clusters; {found.reason}",)


def _notes(graph: Graph, sizes: Sequence[int]) -> tuple[str, ...]:
    notes = []
    distinct = len(graph) if graph.duplicates is None else int(graph.duplicates.max()) + 1
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
