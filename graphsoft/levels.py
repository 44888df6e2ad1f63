"""The public function `hierarchy`: from data to a tree of soft clusters."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.distributed.driving import ONE_METHOD, drive
from graphsoft.distributed.edge_files import PartitionedGraph
from graphsoft.distributed.locking import held
from graphsoft.distributed.row_files import RowsInFiles
from graphsoft.distributed.sources import lists_paths
from graphsoft.errors import InputError, shown, warn
from graphsoft.fitting.climbing import fit
from graphsoft.fitting.memory import check_memory
from graphsoft.fitting.planning import check_plannable, plan_of
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.sampling import joined, sampled
from graphsoft.fitting.settings import Settings, falling_sizes, one_for_each_level, row_count
from graphsoft.fitting.suggesting import with_suggested_levels
from graphsoft.graph.features import Features, features_beside, named
from graphsoft.graph.reading import AFFINITIES, edge_weights_in, read_input, warn_of_unused
from graphsoft.input.checks import DEFAULT_SEED, callback, choice, folder_named, generator, number
from graphsoft.input.constraints import listed_pairs
from graphsoft.methods import METHODS, Method, Sample
from graphsoft.neighbors.nearest import METRICS
from graphsoft.progress import watches_progress
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.level import Level
from graphsoft.result.stored import StoredHierarchy
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint, begun
from graphsoft.storage.records import is_text

__all__ = ["hierarchy"]

# What helps in a directory in place of an argument that is not possible there.
INSTEAD = {
    "levels": "list falling numbers, such as those that graphsoft.suggest_levels finds for some of the rows",
    "names": "leave it out, since labels are in the order of the input and stand beside names of your own",
    "rng": "leave it out, since the same call gives the same result",
}


@overload
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
    names: Any = None,
    features: Any = None,
    time_limit: float | None = None,
    checkpoint: str | PathLike[str] | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
    directory: None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    partitions: int | None = None,
) -> Hierarchy: ...
@overload
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
    names: Any = None,
    features: Any = None,
    time_limit: float | None = None,
    checkpoint: str | PathLike[str] | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
    directory: str | PathLike[str],
    client: Any = None,
    max_memory: int | str | None = None,
    partitions: int | None = None,
) -> StoredHierarchy: ...
@watches_progress("neighbors", "coarsening", "dividing", "polishing", "refining")
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
    names: Any = None,
    features: Any = None,
    time_limit: float | None = None,
    checkpoint: str | PathLike[str] | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
    directory: str | PathLike[str] | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    partitions: int | None = None,
) -> Hierarchy | StoredHierarchy:
    """Find a hierarchy of soft clusters.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx or igraph graph, or Graph
        Points with features, or a graph; see :func:`graphsoft.as_graph`. Features are not copied. The result
        reads them again to predict new points, so do not change them afterwards. With a `directory` also
        what is larger than memory: files and folders as :func:`graphsoft.rows_in_files` takes them, Dask
        arrays, and the graphs of :func:`graphsoft.partitioned_graph`.
    levels : int, sequence of int, or "auto"
        How many clusters each level has: falling numbers, at most as many as there are points. ``"auto"``
        takes the levels that :func:`graphsoft.suggest_levels` finds, and the report says why.
    n_neighbors, metric, weights, affinity, neighbors
        How points become a graph; see :func:`graphsoft.knn_graph` and :func:`graphsoft.as_graph`. An object
        passed as `neighbors` is kept for new points, so do not fit it to other data.
    method : str, settings, or a sequence of them with one for each level
        How clusters are found: a key of ``graphsoft.methods.METHODS``, or settings such as
        ``Relation(support="dense")``. Relation factorization finds the levels from the top down, each within
        the one above. Other methods begin with the finest level; above it they cluster the graph of the
        clusters below, or their mean features.
    polish : bool
        Find and refine every level on the graph of the points. Without it each level clusters the cluster
        graph below it, as in the paper. It has an effect only if relation factorization finds all levels.
    must_link, cannot_link, known
        What you know of some points; see :func:`graphsoft.cluster`. It changes the weights that the levels
        are found in. Polished levels also avoid grouping clusters whose points are mostly known to be apart.
        Known pairs are wishes: the report counts for each level how many came out as known. Expect few on a
        fine level, where one class has many clusters. Degrees, masses, the graphs of the levels and the
        figures in the report are those of the graph as it was given.
    min_children, max_children : int, optional
        How many clusters every cluster of the next level has under it, counted by likeliest parents as in
        `Hierarchy.tree`. These limits are always kept. They need polished relation factorization.
    names : sequence of n, optional
        Names of the points, none of them twice. By default those of a networkx graph, or the texts in the
        index of a data frame. They are used wherever points are named.
    features : array_like, data frame or sparse matrix of shape (n, d), optional
        Features of the points, where X is a graph. They do not change the clusters, but describe them, and
        new points come as features too: `metric`, `n_neighbors` and `weights` say how these are joined to
        the old ones. Rows of a data frame whose index holds the names of the nodes are matched by these.
    time_limit : float, optional
        Seconds after which no further refinement begins. What every level needs is done to the end, however
        long it takes: neighbors, contraction and division. So levels are as they should be: rows sum to one,
        the chain rule holds, and every cluster keeps a point. The report says which levels were stopped. How
        far a run gets depends on the machine, and so does the result. Only polished relation factorization
        keeps to a limit. With a `directory` the run stops with `RunStopped` after the tasks that are being
        done, the same call goes on from there, and the result does not depend on it.
    checkpoint : path-like, optional
        Keep what is found on the way in this directory, so that the same call goes on there if its process
        ends: killed, interrupted, or stopped by `time_limit`. What comes out has the same bits as without.
        What is lost is what little is not worth a file; see the guide on long runs. The directory stays when
        all is done: delete it when the result is saved. Other data or settings are refused.
    rng : None, int, or numpy Generator
        Source of random numbers, for the approximate neighbor search and for methods that use some.
        Relation factorization has its own, which are always the same. With None the same call gives the same
        answer every time.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.
    directory : path-like, optional
        Work in stages, whose files are in this directory, so that the data may be larger than memory and a
        run can be stopped. The same call goes on where it stopped; once all is done it looks through
        the files, makes again what is damaged, and opens the result; :func:`graphsoft.load` opens it at once.
        The levels are those of polished relation factorization with adaptive support. The directory belongs
        to the result, since what grows with the number of points stays in it.
    client : distributed.Client, optional
        Dask's workers do the work, and must see `directory` and the files of X. Without a client this
        process does it. The result is the same.
    max_memory : int or str, optional
        How much memory a process may take, in bytes or as ``"2GB"``. By default the limit of the smallest
        worker, or 80 % of what is available.
    partitions : int, optional
        Into how many parts the points are dealt; by default as few as memory allows, and one for each
        250,000 points. Each number gives its own graph of neighbors, and so its own result.

    Returns
    -------
    Hierarchy, or StoredHierarchy if there is a `directory`

    Raises
    ------
    InputError
        For an argument that cannot be used, before any long work.
    NotEnoughMemory
        If X needs more memory than there is, which :func:`graphsoft.estimate` tells; before any long work.
    RunStopped
        If a run in a directory cannot go on, because the disk is full, workers keep dying, or the
        `time_limit` is over. The same call takes it up.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> h = graphsoft.hierarchy(nx.karate_club_graph(), levels=[8, 2])
    >>> h
    Hierarchy(34 points: 8 -> 2 clusters)
    >>> h[-1].labels[:8].tolist()
    [1, 1, 1, 1, 1, 1, 1, 1]
    """
    auto = isinstance(levels, str) and levels == "auto"
    if directory is None:
        _refuse("directory=", X, client=client, max_memory=max_memory, partitions=partitions)
    else:
        _refuse(
            "", X, neighbors=neighbors, must_link=must_link, cannot_link=cannot_link, known=known,
            names=names, features=features, checkpoint=checkpoint, rng=rng,
            levels="auto" if auto else None, affinity=affinity if affinity == "precomputed" else None,
        )  # fmt: skip
        _refuse_unknown_method(method)
    # a single level stands in until the graph is there to suggest levels
    rows = row_count(X) if directory is None else None
    sizes = [1] if auto else falling_sizes(levels, rows or None)
    settings = Settings(
        tuple(sizes), tuple(one_for_each_level(method, len(sizes), auto)), polish,
        n_neighbors, metric, weights,
        listed_pairs("must_link", must_link), listed_pairs("cannot_link", cannot_link),
        min_children=min_children, max_children=max_children,
    )  # fmt: skip
    progress = callback("progress", progress)
    if directory is not None:
        deadline = _deadline(time_limit, settings)
        _refuse_edges(X, affinity, metric)
        drive(X, settings, directory, client, max_memory, partitions, progress, deadline)
        stored = StoredHierarchy.open(directory)
        if stored.plan.sparse:
            _warn_of_a_large_cluster(stored[-1].sizes, settings.levels)
        return stored
    random = generator("rng", rng)
    folder = _checkpoint_folder(checkpoint, settings, neighbors)
    deadline = _deadline(time_limit, settings)
    began = time.perf_counter()
    given = named(read_input(X, affinity, metric, weights, neighbors=neighbors), names)
    if features is None:
        warn_of_unused(given, n_neighbors, metric, weights)
    falling_sizes(sizes, len(given))
    beside = features_beside(given, features, metric)
    check_memory(given, settings)
    sample, settings = sampled(given, settings, known)
    with _kept_in(folder, sample, settings, auto, random) as kept:
        sample = joined(sample, settings, random, progress, kept)
        ready = time.perf_counter()
        reasons: tuple[str, ...] = ()
        if auto:
            settings, reasons = with_suggested_levels(sample, settings, random, progress, kept)
        random = random or np.random.default_rng(DEFAULT_SEED)
        fitted = fit(sample, settings, random, progress, deadline, kept)
    reports = [LevelReport.of(level, sample.pairs) for level in fitted]
    seconds = {"graph": ready - began, "levels": time.perf_counter() - ready}
    report = Report.of(sample.graph, reports, reasons, seconds)
    found = tuple(Level.of(sample.graph, *each) for each in zip(fitted, reports, strict=True))
    if isinstance(given, Features) and sp.issparse(given.values):
        _warn_of_a_large_cluster(
            np.bincount(found[-1].labels, minlength=settings.levels[-1]), settings.levels
        )
    return Hierarchy(found, sample.graph, report, settings, sample.given_features or beside)


def _checkpoint_folder(checkpoint: Any, settings: Settings, neighbors: Any) -> Path | None:
    """Check where steps are to be kept, and that others can tell whether theirs would be the same."""
    if checkpoint is None:
        return None
    check_plannable(settings, neighbors)
    return folder_named("checkpoint", checkpoint)


@contextmanager
def _kept_in(
    folder: Path | None, sample: Sample, settings: Settings, auto: bool, random: np.random.Generator | None
) -> Iterator[Checkpoint]:
    """Hold the folder of a checkpoint, if there is one, while steps are kept in it."""
    if folder is None:
        yield NOWHERE
        return
    with held(folder, "checkpoint"):
        yield begun(folder, plan_of(sample, settings, auto, random))


def _refuse(needed: str, X: Any, **given: Any) -> None:
    """Refuse arguments that have a meaning only with a directory, which is needed then, or only without."""
    for argument, value in given.items():
        if value is not None and needed:
            raise InputError(
                argument, f"has no meaning without {needed}", "name a directory, or leave it out"
            )
        if value is not None:
            problem = f"got {shown(value)}, which is not possible with a directory"
            instead = INSTEAD.get(argument, "leave it out")
            raise InputError(argument, problem, f"{instead}, or leave out the directory")
    if needed and isinstance(X, PartitionedGraph | RowsInFiles):
        problem = "is needed for data in files: a run keeps what is large there"
        raise InputError("directory", problem, "name one, such as directory='run'")
    paths = [X] if isinstance(X, str | PathLike) else X if lists_paths(X) else []
    if needed and paths and all(os.path.exists(path) for path in paths):
        problem = f"is needed to read {shown(os.fspath(paths[0]))}: only a run in a directory reads files"
        remedy = "name one, such as directory='run', or read it first: graphsoft.datasets.read(path).data"
        raise InputError("directory", problem, remedy)


def _refuse_unknown_method(method: Any) -> None:
    """Refuse a name that is none of a method, and say the one that is possible with a directory."""
    names = [each for each in (method if isinstance(method, list | tuple) else [method]) if is_text(each)]
    if not set(names) <= set(METHODS):
        raise InputError("method", f"got {shown(method)}", ONE_METHOD)


def _refuse_edges(X: Any, affinity: str, metric: str) -> None:
    """Refuse a sparse matrix that is taken as a graph where there is no directory."""
    choice("affinity", affinity, AFFINITIES)
    choice("metric", metric, METRICS)
    if sp.issparse(X) and edge_weights_in(X, affinity, metric) is not None:
        problem = "is a square sparse matrix, which is taken as the weights of the edges of a graph"
        remedy = (
            "write it to a file, scipy.sparse.save_npz(path, X.tocsr()), and pass "
            "graphsoft.partitioned_graph(path); or say affinity='features' if its rows are points"
        )
        raise InputError("X", problem, remedy)


def _deadline(time_limit: Any, settings: Settings) -> Deadline:
    """Begin to count the time, and refuse a limit to methods that cannot keep to it."""
    if time_limit is None:
        return NEVER
    seconds = number("time_limit", time_limit, above=0)
    if not settings.polished:
        problem = f"got {shown(time_limit)}, but only polished relation factorization keeps to it"
        raise InputError("time_limit", problem, "use polish=True and method='relation', or leave it out")
    return Deadline.after(seconds)


def _warn_of_a_large_cluster(sizes: Array, levels: Sequence[int]) -> None:
    """Warn if one cluster at the top has half of all points, and twice an even share.

    Short texts that share no word with others do so, and so may any points that are near nothing.

    `sizes` are those of the top level, `levels` says how many clusters each level has.
    """
    largest, points = int(sizes.argmax()), int(sizes.sum())
    if sizes[largest] <= points * max(1 / 2, 2 / len(sizes)):
        return
    remedy = "leave out points that have nothing in common with others, or ask for more clusters at the top"
    if len(levels) > 1:
        even = levels[-2] // len(sizes)
        remedy += f", or limit them: max_children={2 * even}"
    share = f"holds {sizes[largest] / points:.0%} of all points"
    warn(f"cluster {len(levels) - 1}-{largest}, of {len(sizes)} at the top, {share}; {remedy}")
