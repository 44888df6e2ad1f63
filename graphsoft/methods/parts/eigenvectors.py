"""The leading eigenvectors of ``D^-1/2 W D^-1/2``, to which normalized cuts relax.

Three solvers: dense for few nodes; Lanczos from a seeded start; for large graphs LOBPCG, preconditioned by
multigrid. The scales of a contraction are all that multigrid needs: the Laplacian of a contracted graph does
to merged nodes what the Laplacian of the graph does to vectors that are constant on them.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import coarsen
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice
from graphsoft.linalg.csr import inverse_or_zero, times
from graphsoft.parallel import one_thread

__all__ = ["SOLVERS", "Eigenpairs", "leading_eigenvectors"]

SOLVERS = ("auto", "lanczos", "multigrid")
# Of so many nodes, or so many for each eigenvector, everything is dense: of small graphs, and of the coarsest
# scale of large ones.
FEW_NODES = 500
FEW_NODES_EACH = 5
# Multigrid where the eigenvalues of the coarsest scale leave less room below 1 than this. On neighbor graphs
# (room below 0.1) of 30,000 nodes it is 3 to 10 times as fast as Lanczos, of a million 10 times; on random
# graphs without clusters (room above 0.4), Lanczos is 2 to 4 times as fast.
ROOM = 0.1
# How far S v may be from a multiple of v; at most this part of the room that the eigenvalues leave below 1.
TOLERANCE = 1e-5
PART_OF_ROOM = 1e-4
LANCZOS_TOLERANCE = 1e-10
LANCZOS_RESTARTS = 3000
MULTIGRID_STEPS = 150
# Of a Jacobi step; the spectrum of a Laplacian over its diagonal reaches up to 2.
DAMPING = 2.0 / 3.0
# Vectors that are constant on merged nodes are too stiff, and the step from the coarser scale falls short. On
# a neighbor graph of 100,000 points, LOBPCG takes 44 steps with 1, and 20 with 1.5.
STRETCH = 1.5
MIN_SHIFT = 1e-8
# What is added to the start, so that nothing is orthogonal to it.
NOISE = 1e-3


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Leading eigenvalues and eigenvectors of a normalized graph.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Falling; 1 for each component of the graph.
    vectors : ndarray of shape (n, k)
        With orthonormal columns; of every column, the entry of largest size is positive.
    residual : float
        The largest ``|S v - value v|``.
    solver : str
        Which one it was, in words.
    """

    values: Array
    vectors: Array
    residual: float
    solver: str


def leading_eigenvectors(
    graph: Graph,
    count: int,
    random: np.random.Generator,
    progress: Progress | None = None,
    solver: str = "auto",
) -> Eigenpairs:
    """Compute the `count` leading eigenvectors of ``S = D^-1/2 W D^-1/2``.

    A node without edges counts as if tied to itself: it is a component, with the eigenvalue 1.

    Parameters
    ----------
    graph : Graph
    count : int
        At most as many as nodes.
    random : Generator
        Where the sparse solvers begin.
    progress : callable, optional
    solver : {"auto", "lanczos", "multigrid"}
        ``auto`` decides by a contraction of the graph. Up to 500 nodes, or 5 for each vector, none of them is
        needed: everything is dense.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> pairs = leading_eigenvectors(as_graph(nx.cycle_graph(5)), 1, np.random.default_rng(0))
    >>> pairs.values.round(6).tolist(), pairs.vectors[:3].round(3).tolist()
    ([1.0], [[0.447], [0.447], [0.447]])
    """
    choice("solver", solver, SOLVERS)
    walk = Walk(graph, count)
    if walk.wanted == 0:
        return _finished(walk, None, "components")
    if len(graph) <= max(FEW_NODES, FEW_NODES_EACH * count):
        return _finished(walk, _dense(walk)[1][:, : walk.wanted], "dense")
    with one_thread():
        return _sparse(walk, solver, random, progress)


def _sparse(walk: Walk, solver: str, random: np.random.Generator, progress: Progress | None) -> Eigenpairs:
    """Choose between the sparse solvers, and try the other one where one does not converge."""
    grid = None if solver == "lanczos" else Multigrid(walk, progress)
    if grid is None or (solver == "auto" and grid.room > ROOM):
        grid = None  # its memory is of use
        found = _lanczos(walk, random, progress)
        if found is not None:
            return _finished(walk, found, "lanczos")
        found, _ = _multigrid(walk, Multigrid(walk, progress), random, progress)
        return _finished(walk, found, "multigrid, for lanczos did not converge")
    found, converged = _multigrid(walk, grid, random, progress)
    if converged:
        return _finished(walk, found, "multigrid")
    other = _lanczos(walk, random, progress)
    if other is not None:
        return _finished(walk, other, "lanczos, for multigrid did not converge")
    return _finished(walk, found, "multigrid, not converged")


class Walk:
    """``S = D^-1/2 W D^-1/2``, with its eigenvectors of eigenvalue 1 moved out of the way.

    Those are known: the square roots of the degrees within a component. They are moved to -2 and less, below
    all others, so that no solver has to find copies of one eigenvalue.
    """

    def __init__(self, graph: Graph, count: int) -> None:
        self.graph = graph
        root = np.sqrt(graph.degrees)
        self.root, self.inverse_root = root, inverse_or_zero(root)
        parts = graph.components
        unit = np.where(graph.degrees > 0, root, 1.0)
        largest = np.zeros(int(parts.max()) + 1)
        np.maximum.at(largest, parts, unit)
        unit /= largest[parts]  # the squares of extreme weights would be none
        unit /= np.sqrt(np.bincount(parts, unit**2))[parts]
        inside = np.flatnonzero(parts < count)
        self.known = np.zeros((len(graph), min(len(largest), count)))
        self.known[inside, parts[inside]] = unit[inside]
        self.wanted = count - self.known.shape[1]

    def times(self, vectors: Array) -> Array:
        """Multiply S with `vectors` of shape (n, any)."""
        result = times(self.graph.adjacency, vectors * self.inverse_root[:, None])
        result *= self.inverse_root[:, None]
        return result

    def without_known(self, vectors: Array) -> Array:
        """Take out of `vectors` what is known."""
        return vectors - (self.known @ (self.known.T @ vectors))

    def moved(self, vectors: Array) -> Array:
        """Multiply S, with the known eigenvectors moved, with `vectors` of shape (n,) or (n, any)."""
        columns = vectors.reshape(len(self.graph), -1)
        result = self.times(columns) - 3.0 * (self.known @ (self.known.T @ columns))
        return result.reshape(vectors.shape)


def _finished(walk: Walk, vectors: Array | None, solver: str) -> Eigenpairs:
    """Put known and found vectors together, in order and with their signs."""
    if vectors is None:
        turned, values, residual = np.zeros((len(walk.graph), 0)), np.zeros(0), 0.0
    else:
        turned, values, residual = _by_value(walk, walk.without_known(vectors))
    vectors = np.column_stack([walk.known, turned])
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return Eigenpairs(np.append(np.ones(walk.known.shape[1]), values), vectors, residual, solver)


def _by_value(walk: Walk, vectors: Array) -> tuple[Array, Array, float]:
    """Turn a basis into the best approximations of eigenvectors; also returns values and largest residual."""
    basis = np.linalg.qr(vectors)[0]
    image = walk.times(basis)
    values, turn = np.linalg.eigh(basis.T @ image)
    values, turn = values[::-1], turn[:, ::-1]
    vectors = basis @ turn
    off = np.linalg.norm(image @ turn - vectors * values, axis=0)
    return vectors, np.clip(values, -1.0, 1.0), float(off.max())


def _dense(walk: Walk) -> tuple[Array, Array]:
    """Compute all eigenvalues, falling, and the wanted eigenvectors."""
    S = walk.inverse_root[:, None] * walk.graph.adjacency.toarray() * walk.inverse_root
    values, vectors = np.linalg.eigh(S - 3.0 * (walk.known @ walk.known.T))
    return values[::-1], vectors[:, ::-1]


def _lanczos(walk: Walk, random: np.random.Generator, progress: Progress | None) -> Array | None:
    """Compute the wanted vectors, or None if they do not converge."""
    from scipy.sparse.linalg import ArpackError

    try:
        vectors, values = _krylov(walk, np.zeros((len(walk.graph), 0)), walk.wanted, random, progress)
        # One start meets one vector of each eigenvalue: other copies, which graphs with symmetries have, are
        # sought among what is orthogonal to the vectors found, until nothing as large is left there.
        for _ in range(walk.wanted):
            another, value = _krylov(walk, vectors, 1, random, progress)
            if value[0] <= np.partition(values, -walk.wanted)[-walk.wanted] + TOLERANCE:
                break
            vectors, values = np.column_stack([vectors, another]), np.append(values, value)
    except ArpackError:
        return None
    return np.asarray(vectors[:, np.argsort(-values, kind="stable")[: walk.wanted]])


def _krylov(
    walk: Walk, found: Array, wanted: int, random: np.random.Generator, progress: Progress | None
) -> tuple[Array, Array]:
    """Compute leading eigenvectors that are orthogonal to those found, and their eigenvalues."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    count, products = len(walk.graph), 0

    def product(vector: Array) -> Array:
        nonlocal products
        products += 1
        if progress is not None:
            progress("eigenvectors: products", products, max(products, 50 * wanted))
        return np.asarray(walk.moved(vector) - 3.0 * (found @ (found.T @ vector)))

    operator = LinearOperator((count, count), matvec=product, dtype=np.float64)
    start = walk.without_known(random.normal(size=count))
    options = {"v0": start, "tol": LANCZOS_TOLERANCE, "maxiter": LANCZOS_RESTARTS}
    if "rng" in inspect.signature(eigsh).parameters:
        # where it starts anew it draws; before SciPy 1.17 from a state that outlives the call
        options["rng"] = random
    values, vectors = eigsh(operator, wanted, which="LA", **options)
    return vectors, values


def _multigrid(
    walk: Walk, grid: Multigrid, random: np.random.Generator, progress: Progress | None
) -> tuple[Array, bool]:
    """Compute the wanted vectors, as far as they converge, and whether they do."""
    from scipy.sparse.linalg import LinearOperator, lobpcg

    count, steps = len(walk.graph), 0
    start = grid.prolonged() + random.normal(scale=NOISE / np.sqrt(count), size=(count, walk.wanted))
    start = walk.without_known(start)

    def preconditioned(vectors: Array) -> Array:
        nonlocal steps
        steps += 1
        if progress is not None:
            progress("eigenvectors: steps", min(steps, MULTIGRID_STEPS), MULTIGRID_STEPS)
        return walk.without_known(grid.solved(vectors.reshape(count, -1))).reshape(vectors.shape)

    operator, helper = (
        LinearOperator((count, count), matvec=product, matmat=product, dtype=np.float64)
        for product in (walk.moved, preconditioned)
    )
    tolerance = min(TOLERANCE, PART_OF_ROOM * grid.room)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "exited with accuracies ...": looked at below
        try:
            _, vectors = lobpcg(operator, start, M=helper, tol=tolerance, maxiter=MULTIGRID_STEPS)
        except (ValueError, np.linalg.LinAlgError):  # its basis has lost rank
            return start, False
    if not np.isfinite(vectors).all():
        return start, False
    return vectors, _by_value(walk, vectors)[2] <= 2.0 * tolerance


class Multigrid:
    """One V-cycle for ``(1 + shift) I - S``: symmetric, as a preconditioner must be.

    The shift is about as large as the eigenvalues of ``I - S`` that are sought.
    """

    def __init__(self, walk: Walk, progress: Progress | None) -> None:
        wanted = walk.known.shape[1] + walk.wanted
        scales = coarsen(walk.graph, max(FEW_NODES, FEW_NODES_EACH * wanted), progress)
        self.walks = [walk, *(Walk(scale.graph, wanted) for scale in scales)]
        values, vectors = _dense(self.walks[-1])
        self.room = max(1.0 - float(values[walk.wanted - 1]), MIN_SHIFT)
        self._leading = vectors[:, : walk.wanted]
        diagonal = 1.0 + self.room
        self._coarsest = (vectors / np.maximum(diagonal - values, self.room)) @ vectors.T
        self._step = [
            DAMPING / (diagonal - each.graph.adjacency.diagonal() * each.inverse_root**2)[:, None]
            for each in self.walks[:-1]
        ]
        self._down = [
            _summing(fine, coarse, scale.group)
            for fine, coarse, scale in zip(self.walks, self.walks[1:], scales, strict=False)
        ]
        self._up = [down.T.tocsr() for down in self._down]

    def prolonged(self) -> Array:
        """Take the leading eigenvectors of the coarsest scale to the finest."""
        vectors = self._leading
        for up in reversed(self._up):
            vectors = times(up, vectors)
        return vectors

    def solved(self, right: Array) -> Array:
        """Solve about ``((1 + shift) I - S) x = right``."""
        diagonal, sides, found = 1.0 + self.room, [], []
        for walk, step, down in zip(self.walks, self._step, self._down, strict=False):
            sides.append(right)
            found.append(step * right)
            right = times(down, right - diagonal * found[-1] + walk.times(found[-1]))
        coarse = np.asarray(self._coarsest @ right)
        for level in range(len(found) - 1, -1, -1):
            finer = found.pop() + STRETCH * times(self._up[level], coarse)
            rest = sides.pop() - diagonal * finer + self.walks[level].times(finer)
            coarse = finer + self._step[level] * rest
        return coarse


def _summing(fine: Walk, coarse: Walk, group: Array) -> sp.csr_array:
    """Make the matrix, with orthonormal rows, that takes vectors to the coarser scale."""
    weights = fine.root * coarse.inverse_root[group]
    members = np.argsort(group, kind="stable")
    ptr = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=len(coarse.graph)))))
    shape = (len(coarse.graph), len(fine.graph))
    return sp.csr_array((weights[members], members, ptr), shape=shape)
