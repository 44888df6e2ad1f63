"""Learning from few labels: classes spread from labeled points by random walks on a graph or its clusters.

A walk starts at every labeled point and stops with a fixed chance before each step. Compare how often the
walks from one class visit a point with how often any long walk does. The larger the ratio, the likelier the
class at that point. These ratios are ``F = (D - a A)^-1 Y``, with A the adjacency of the walk, D its degrees
and ``a = 1 - stop``. Y has a column for each class, in which the labeled points of one connected component
have equal entries that sum to one.

A is the graph, its walk of several steps, or the equivalent adjacency of a level, ``A = D S L^-1 S^T D``. For
a level, the system is as small as the number of its clusters,

    F = a S (L - a S^T D S)^-1 S^T Y    (plus D^-1 Y, which concerns labeled points only).

It is the same system again on the graph of the clusters, to which the points hand on their labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import without_copies
from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import callback, integer, number
from graphsoft.input.constraints import LABELS, labeled
from graphsoft.input.labels import label_array
from graphsoft.lazy import lazy
from graphsoft.linalg.csr import inverse_or_zero, times
from graphsoft.linalg.memberships import frozen, one_cluster_each
from graphsoft.progress import watches_progress
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.intact import check_level, intact_graph
from graphsoft.result.level import Level
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_answers import needs_a_sample
from graphsoft.result.walks import MAX_STEPS, MultistepAdjacency

__all__ = ["Propagated", "propagate"]

# Over 19 labeled sets the mean accuracy was highest for 0.01 and 0.02.
STOP = 0.02
# Walks that stop more rarely do not depend on where they began, and the system is nearly singular.
MIN_STOP = 1e-4
# Conjugate gradients end at this norm of the residual, relative to that of the right-hand side.
TOLERANCE = 1e-12
# The rounding error of a product, relative to the solution.
ROUNDING = 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class Propagated:
    """Classes of n points, learned from few labels.

    Attributes
    ----------
    probabilities : ndarray of shape (n, k)
        ``p(class | point)``; every row sums to one. Labeled points have probability 1 for their own label.
    classes : ndarray of shape (k,)
        The distinct labels, sorted.
    labeled : ndarray of int
        The rows of the labeled points, rising.
    iterations : int
        Steps of conjugate gradients.
    residual : float
        Norm of the residual relative to the right-hand side: about 1e-12, or more if `stop` is very small.
    """

    probabilities: Array
    classes: Array
    labeled: Array
    iterations: int
    residual: float

    def __repr__(self) -> str:
        points, classes = self.probabilities.shape
        return f"Propagated({points} points in {classes} classes, {len(self.labeled)} labeled)"

    @lazy
    def labels(self) -> Array:
        """The likeliest class of every point, of shape (n,); the first of equally likely ones."""
        return frozen(self.classes[self.probabilities.argmax(axis=1)])


@watches_progress("neighbors", "learning from labels")
def propagate(
    X: Any,
    y_partial: Any,
    *,
    level: int | None = None,
    steps: int = 1,
    stop: float = STOP,
    progress: Progress | bool | None = None,
) -> Propagated:
    """Learn the classes of all points from the labels of a few.

    Parameters
    ----------
    X : Hierarchy, or what :func:`graphsoft.as_graph` takes
        Of a hierarchy, its graph or one of its levels is used.
    y_partial : mapping or sequence
        Labels of some points: ``{point: label}``, or one label for each point, with -1, None or NaN where it
        is unknown. Labels are numbers or strings.
    level : int, optional
        Walk through the clusters of this level of the hierarchy. The system to be solved is then as small as
        the number of clusters. By default, walks go along the edges of the graph.
    steps : int
        Steps that a walk takes at a time: the adjacency is ``W (D^-1 W)^(steps-1)``, with W the graph or the
        equivalent adjacency of the level.
    stop : float
        Chance that a walk stops each time, from 0.0001 to below 1. The smaller it is, the further labels
        reach.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Propagated
        ``probabilities``, ``labels`` and ``classes``.

    Raises
    ------
    InputError
        For labels or a level that cannot be used.

    Notes
    -----
    Within a connected component all classes have the same influence, however many labels each has. Labeled
    points keep their label. Points that no walk reaches get the frequencies of the classes among the labels.
    So do points that are very many edges away from all labels, where visits are rarer than the precision of
    the solution. Unlabeled points with identical features get identical probabilities.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> found = graphsoft.propagate(nx.path_graph(5), {0: "left", 4: "right"})
    >>> found
    Propagated(5 points in 2 classes, 2 labeled)
    >>> found.probabilities[:3].round(2).tolist(), found.labels[3].item()
    ([[1.0, 0.0], [0.54, 0.46], [0.5, 0.5]], 'right')
    """
    steps = integer("steps", steps, 1, MAX_STEPS)
    stop = number("stop", stop, minimum=MIN_STOP, below=1)
    progress = callback("progress", progress)
    graph, clusters = _graph_and_level(X, level, progress)
    rows, numbered, classes = read_labels(y_partial, graph.nodes)
    starts = _starts(rows, numbered, len(graph), len(classes))
    walks = _Walks(steps, stop, np.bincount(numbered) / len(numbered), progress)
    solved = _on_points(graph, starts, walks) if clusters is None else _on_clusters(clusters, starts, walks)
    chances = solved.visits / solved.visits.sum(axis=1, keepdims=True)
    chances[rows] = 0.0
    chances[rows, numbered] = 1.0
    return Propagated(frozen(chances), frozen(classes), frozen(rows), solved.iterations, solved.residual)


def _graph_and_level(X: Any, level: Any, progress: Progress | None) -> tuple[Graph, Level | None]:
    """Return the graph of the points, and the level if there is one."""
    if isinstance(X, StoredHierarchy):
        raise needs_a_sample("X")
    if isinstance(X, Hierarchy):
        graph = intact_graph(X)
        if level is None:
            return graph, None
        chosen = X[integer("level", level, -len(X), len(X) - 1)]
        check_level(chosen, len(graph))
        return graph, chosen
    if level is not None:
        problem = f"got {shown(level)} without a hierarchy"
        raise InputError("level", problem, "pass the result of graphsoft.hierarchy as X, or no level")
    return as_graph(X, progress=progress), None


@dataclass(frozen=True, eq=False)
class _Walks:
    """How walks go, and the frequencies of the classes among the labels, for points that no walk reaches."""

    steps: int
    stop: float
    frequencies: Array
    progress: Progress | None


@dataclass(frozen=True, eq=False)
class _Solved:
    """Visits divided by degrees, of shape (n, k) and positive, and how the system was solved."""

    visits: Array
    iterations: int
    residual: float


def _on_points(graph: Graph, starts: sp.csr_array, walks: _Walks) -> _Solved:
    """Solve on the points, of which identical ones are merged."""
    work, node = without_copies(graph)
    found = _solve(work, one_cluster_each(node, len(work)).T @ starts, walks)
    return replace(found, visits=found.visits[node])


def _on_clusters(level: Level, starts: sp.csr_array, walks: _Walks) -> _Solved:
    """Solve on the clusters. A walk of t steps between points takes t - 1 of them between clusters."""
    clusters = level.equivalent_adjacency.clusters
    found = _solve(clusters, level.memberships.T @ starts, walks)
    visits = found.visits
    if walks.steps > 1:
        walk = MultistepAdjacency(clusters.adjacency, clusters.degrees, walks.steps - 1)
        mass = clusters.degrees[:, None]
        visits = np.divide(walk.product(visits), mass, out=visits.copy(), where=mass > 0)
    return replace(found, visits=times(level.memberships, visits))


def _solve(graph: Graph, starts: sp.csr_array, walks: _Walks) -> _Solved:
    """Solve ``(D - a A) F = Y``, and add the possible error of F, spread as the classes are frequent.

    Where F is smaller than its error, probabilities are thus close to those frequencies. The system is
    solved as ``(I - a D^-1/2 A D^-1/2) X = D^-1/2 Y`` by conjugate gradients. Its eigenvalues are at least
    the chance to stop, so the error of X is at most the norm of the residual divided by that chance.
    """
    walk = MultistepAdjacency(graph.adjacency, graph.degrees, walks.steps)
    inverse_root = inverse_or_zero(np.sqrt(graph.degrees))[:, None]
    damped = (1.0 - walks.stop) * inverse_root

    def system(x: Array) -> Array:
        return np.asarray(x - damped * walk.product(inverse_root * x))

    right = inverse_root * _balanced(graph, starts)
    tolerance = max(TOLERANCE, ROUNDING / walks.stop)
    x, iterations, residual = conjugate_gradients(system, right, tolerance, walks.stop, walks.progress)
    error = tolerance / walks.stop * float(np.sqrt(_column_dots(right, right).max()))
    raised = np.maximum(x, 0.0) + (error or 1.0) * walks.frequencies
    return _Solved(raised * np.where(inverse_root > 0, inverse_root, 1.0), iterations, residual)


def conjugate_gradients(
    system: Callable[[Array], Array],
    right: Array,
    tolerance: float,
    smallest: float,
    progress: Progress | None = None,
) -> tuple[Array, int, float]:
    """Solve a symmetric system with eigenvalues from `smallest` to 2, for each column of `right` separately.

    Parameters
    ----------
    system : callable
        Multiplies the matrix with an array of shape (n, k).
    right : ndarray of shape (n, k)
    tolerance : float
        Largest norm of the residual, relative to that of the column.
    smallest : float
        A lower bound of the eigenvalues.
    progress : callable, optional

    Returns
    -------
    ndarray of shape (n, k), int, float
        The solution, the steps, and the largest relative residual.

    Examples
    --------
    >>> solution, _, _ = conjugate_gradients(lambda x: 0.5 * x, np.array([[1.0], [3.0]]), 1e-12, 0.5)
    >>> solution.tolist()
    [[2.0], [6.0]]
    """
    solution = np.zeros_like(right)
    residual, direction = right.copy(), right.copy()
    first = square = _column_dots(residual, residual)
    # in theory, half as many iterations bring a residual below rounding
    max_iterations = math.ceil(100.0 / math.sqrt(smallest))
    iterations = reached = 0
    while (unsolved := square > tolerance**2 * first).any() and iterations < max_iterations:
        product = system(direction)
        length = np.where(unsolved, square, 0.0) * inverse_or_zero(_column_dots(direction, product))
        solution += length * direction
        residual -= length * product
        before, square = square, _column_dots(residual, residual)
        direction = residual + square * inverse_or_zero(before) * direction
        iterations += 1
        if progress is not None:
            left = max(_largest_ratio(square, first), tolerance)
            reached = max(reached, int(100 * math.log(left) / math.log(tolerance)))
            progress("learning from labels", reached, 100)
    return solution, iterations, _largest_ratio(square, first)


def _column_dots(one: Array, two: Array) -> Array:
    """Compute the dot product of each column of one with that of two; the bits of BLAS depend on threads."""
    return np.asarray(np.einsum("ij,ij->j", one, two))


def _largest_ratio(square: Array, first: Array) -> float:
    """Compute the largest norm of a residual relative to its right-hand side, from the squares of both."""
    return float(np.sqrt((square * inverse_or_zero(first)).max()))


def read_labels(y_partial: Any, nodes: Sequence[Any]) -> tuple[Array, Array, Array]:
    """Read the labels of some points: their rows, rising, their classes as numbers, and the sorted classes.

    Examples
    --------
    >>> rows, numbered, classes = read_labels(["b", None, "a", "b"], range(4))
    >>> rows.tolist(), numbered.tolist(), classes.tolist()
    ([0, 2, 3], [1, 0, 1], ['a', 'b'])
    """
    rows, known = labeled("y_partial", y_partial, nodes)
    if not len(rows):
        raise InputError("y_partial", "labels no point", "label at least one")
    remedy = "use only numbers or only strings"
    if len({isinstance(label, str) for label in known}) > 1:  # NumPy would turn the numbers into strings
        raise InputError("y_partial", f"holds {shown(known)}", remedy)
    try:
        classes, numbered = np.unique(label_array(known), return_inverse=True)
    except (ArithmeticError, TypeError, ValueError):
        raise InputError("y_partial", f"holds {shown(known)}", remedy) from None
    if numbered.shape != rows.shape:
        raise InputError("y_partial", f"holds {shown(known)}", LABELS)
    return rows, numbered, classes


def _starts(rows: Array, numbered: Array, points: int, classes: int) -> sp.csr_array:
    """Count the labels of every point in each class."""
    ptr = np.zeros(points + 1, dtype=np.int64)
    ptr[rows + 1] = 1
    return sp.csr_array((np.ones(len(rows)), numbered, np.cumsum(ptr)), shape=(points, classes))


def _balanced(graph: Graph, starts: sp.csr_array) -> Array:
    """Make Y: in each component, divide the labels of each class by their sum."""
    labels = starts.tocoo()
    groups = graph.components[labels.row].astype(np.int64) * labels.shape[1] + labels.col
    _, group = np.unique(groups, return_inverse=True)
    shares = labels.data / np.bincount(group, labels.data)[group]
    return np.asarray(sp.coo_array((shares, (labels.row, labels.col)), shape=labels.shape).toarray())
