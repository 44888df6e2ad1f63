"""The leading eigenvectors of ``D^-1/2 W D^-1/2``, the relaxed solution of normalized cuts.

There are three solvers: dense for few nodes, Lanczos, and for large graphs LOBPCG, preconditioned by
multigrid. The scales of a contraction are all that multigrid needs. The Laplacian of a contracted graph acts
on merged nodes like the Laplacian of the graph on vectors that are constant on them.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.blas import one_thread
from graphsoft.engine.scales import coarsened
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice
from graphsoft.linalg.csr import inverse_or_zero, times

__all__ = ["SOLVERS", "Eigenpairs", "leading_eigenvectors"]

SOLVERS = ("auto", "lanczos", "multigrid")
# With at most this many nodes, or this many for each eigenvector, everything is dense. This holds for small
# graphs, and for the coarsest scale of large ones.
FEW_NODES = 500
FEW_NODES_EACH = 5
# Multigrid is used if the spectral gap of the coarsest scale is below this; the gap is 1 minus the last of
# the wanted eigenvalues. Multigrid is several times faster on neighbor graphs, whose gap is small. Lanczos is
# faster on random graphs without clusters, whose gap is above 0.4.
MAX_GAP = 0.1
# The largest residual ``|S v - value v|`` of an eigenvector; also at most this share of the spectral gap.
TOLERANCE = 1e-5
SHARE_OF_GAP = 1e-4
LANCZOS_TOLERANCE = 1e-10
LANCZOS_RESTARTS = 3000
MULTIGRID_STEPS = 150
# Of a Jacobi step; the eigenvalues of a Laplacian over its diagonal are at most 2.
DAMPING = 2.0 / 3.0
# Vectors that are constant on merged nodes are too stiff, so the correction from the coarser scale is too
# small. Multiplied by this, it halves the number of LOBPCG steps on neighbor graphs.
STRETCH = 1.5
MIN_SHIFT = 1e-8
# Added to the start, so that no eigenvector is orthogonal to it.
NOISE = 1e-3


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Leading eigenvalues and eigenvectors of a normalized graph.

    Attributes
    ----------
    values : ndarray of shape (k,)
        In falling order; 1 for each component of the graph.
    vectors : ndarray of shape (n, k)
        With orthonormal columns; the entry of largest absolute value is positive in every column.
    residual : float
        The largest ``|S v - value v|``.
    solver : str
        The solver that was used, in words.
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

    A node without edges counts as if it had a loop: it is a component with the eigenvalue 1.

    Parameters
    ----------
    graph : Graph
    count : int
        At most the number of nodes.
    random : Generator
        For the start of the sparse solvers.
    progress : callable, optional
    solver : {"auto", "lanczos", "multigrid"}
        ``auto`` decides by a contraction of the graph. With up to 500 nodes, or 5 for each vector, the dense
        solver is used instead.

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
    with one_thread():
        if len(graph) <= max(FEW_NODES, FEW_NODES_EACH * count):
            return _finished(walk, _dense(walk)[1][:, : walk.wanted], "dense")
        return _sparse(walk, solver, random, progress)


def _sparse(walk: Walk, solver: str, random: np.random.Generator, progress: Progress | None) -> Eigenpairs:
    """Choose a sparse solver, and try the other one if it does not converge."""
    grid = None if solver == "lanczos" else Multigrid(walk, progress)
    if grid is None or (solver == "auto" and grid.gap > MAX_GAP):
        grid = None  # frees its memory
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
    """``S = D^-1/2 W D^-1/2``, and the eigenvectors of its eigenvalue 1.

    Those are known: the square roots of the degrees within each component. `deflated` moves their eigenvalue
    to -2, below all others, so that no solver has to find a multiple eigenvalue.
    """

    def __init__(self, graph: Graph, count: int) -> None:
        self.graph = graph
        root = np.sqrt(graph.degrees)
        self.root, self.inverse_root = root, inverse_or_zero(root)
        parts = graph.components
        unit = np.where(graph.degrees > 0, root, 1.0)
        largest = np.zeros(int(parts.max()) + 1)
        np.maximum.at(largest, parts, unit)
        unit /= largest[parts]  # the squares of extreme weights would underflow
        unit /= np.sqrt(np.bincount(parts, unit**2))[parts]
        inside = np.flatnonzero(parts < count)
        self.known = np.zeros((len(graph), min(len(largest), count)))
        self.known[inside, parts[inside]] = unit[inside]
        self.wanted = count - self.known.shape[1]

    def times(self, vectors: Array) -> Array:
        """Multiply S by `vectors` of shape (n, any)."""
        result = times(self.graph.adjacency, vectors * self.inverse_root[:, None])
        result *= self.inverse_root[:, None]
        return result

    def without_known(self, vectors: Array) -> Array:
        """Make `vectors` orthogonal to the known eigenvectors."""
        return vectors - (self.known @ (self.known.T @ vectors))

    def deflated(self, vectors: Array) -> Array:
        """Multiply S, without the known eigenvectors, by `vectors` of shape (n,) or (n, any)."""
        columns = vectors.reshape(len(self.graph), -1)
        result = self.times(columns) - 3.0 * (self.known @ (self.known.T @ columns))
        return result.reshape(vectors.shape)


def _finished(walk: Walk, vectors: Array | None, solver: str) -> Eigenpairs:
    """Join known and found vectors, in falling order of eigenvalues and with fixed signs."""
    if vectors is None:
        found, values, residual = np.zeros((len(walk.graph), 0)), np.zeros(0), 0.0
    else:
        found, values, residual = _by_value(walk, walk.without_known(vectors))
    vectors = np.column_stack([walk.known, found])
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return Eigenpairs(np.append(np.ones(walk.known.shape[1]), values), vectors, residual, solver)


def _by_value(walk: Walk, vectors: Array) -> tuple[Array, Array, float]:
    """Rotate a basis to the best approximate eigenvectors; also returns values and the largest residual."""
    basis = np.linalg.qr(vectors)[0]
    image = walk.times(basis)
    values, rotation = np.linalg.eigh(basis.T @ image)
    values, rotation = values[::-1], rotation[:, ::-1]
    vectors = basis @ rotation
    off = np.linalg.norm(image @ rotation - vectors * values, axis=0)
    return vectors, np.clip(values, -1.0, 1.0), float(off.max())


def _dense(walk: Walk) -> tuple[Array, Array]:
    """Compute all eigenvalues, in falling order, and all eigenvectors."""
    S = walk.inverse_root[:, None] * walk.graph.adjacency.toarray() * walk.inverse_root
    values, vectors = np.linalg.eigh(S - 3.0 * (walk.known @ walk.known.T))
    return values[::-1], vectors[:, ::-1]


def _lanczos(walk: Walk, random: np.random.Generator, progress: Progress | None) -> Array | None:
    """Compute the wanted vectors, or None if they do not converge."""
    from scipy.sparse.linalg import ArpackError

    try:
        vectors, values = _krylov(walk, np.zeros((len(walk.graph), 0)), walk.wanted, random, progress)
        # One start finds one vector of each eigenvalue. Graphs with symmetries have multiple eigenvalues, so
        # more are looked for, orthogonal to the vectors found, until no eigenvalue there is large enough.
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
    """Compute leading eigenvectors orthogonal to those found, and their eigenvalues."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    count, products = len(walk.graph), 0

    def product(vector: Array) -> Array:
        nonlocal products
        products += 1
        if progress is not None:
            progress("eigenvectors: products", products, max(products, 50 * wanted))
        return np.asarray(walk.deflated(vector) - 3.0 * (found @ (found.T @ vector)))

    operator = LinearOperator((count, count), matvec=product, dtype=np.float64)
    start = walk.without_known(random.normal(size=count))
    options = {"v0": start, "tol": LANCZOS_TOLERANCE, "maxiter": LANCZOS_RESTARTS}
    if "rng" in inspect.signature(eigsh).parameters:
        # a restart draws random numbers; before SciPy 1.17 from a state that outlives the call
        options["rng"] = random
    values, vectors = eigsh(operator, wanted, which="LA", **options)
    return vectors, values


def _multigrid(
    walk: Walk, grid: Multigrid, random: np.random.Generator, progress: Progress | None
) -> tuple[Array, bool]:
    """Compute the wanted vectors, and whether they converged."""
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
        for product in (walk.deflated, preconditioned)
    )
    tolerance = min(TOLERANCE, SHARE_OF_GAP * grid.gap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "exited with accuracies ...": checked below
        try:
            _, vectors = lobpcg(operator, start, M=helper, tol=tolerance, maxiter=MULTIGRID_STEPS)
        except (ValueError, np.linalg.LinAlgError):  # its basis lost rank
            return start, False
    if not np.isfinite(vectors).all():
        return start, False
    return vectors, _by_value(walk, vectors)[2] <= 2.0 * tolerance


class Multigrid:
    """One V-cycle for ``(1 + gap) I - S``: symmetric, as a preconditioner must be.

    The spectral gap, taken from the coarsest scale, is about the largest wanted eigenvalue of ``I - S``.
    """

    def __init__(self, walk: Walk, progress: Progress | None) -> None:
        wanted = walk.known.shape[1] + walk.wanted
        scales = coarsened(walk.graph, max(FEW_NODES, FEW_NODES_EACH * wanted), progress)
        self.walks = [walk, *(Walk(layer.graph, wanted) for layer in scales.layers[1:])]
        values, vectors = _dense(self.walks[-1])
        self.gap = max(1.0 - float(values[walk.wanted - 1]), MIN_SHIFT)
        self._leading = vectors[:, : walk.wanted]
        diagonal = 1.0 + self.gap
        self._coarsest = (vectors / np.maximum(diagonal - values, self.gap)) @ vectors.T
        self._step = [
            DAMPING / (diagonal - each.graph.adjacency.diagonal() * each.inverse_root**2)[:, None]
            for each in self.walks[:-1]
        ]
        self._restrictions = [
            _restriction(fine, coarse, step)
            for fine, coarse, step in zip(self.walks, self.walks[1:], scales.steps, strict=False)
        ]
        self._prolongations = [each.T.tocsr() for each in self._restrictions]

    def prolonged(self) -> Array:
        """Take the leading eigenvectors of the coarsest scale to the finest."""
        vectors = self._leading
        for prolongation in reversed(self._prolongations):
            vectors = times(prolongation, vectors)
        return vectors

    def solved(self, right: Array) -> Array:
        """Solve ``((1 + gap) I - S) x = right`` approximately."""
        diagonal, sides, found = 1.0 + self.gap, [], []
        for walk, step, restriction in zip(self.walks, self._step, self._restrictions, strict=False):
            sides.append(right)
            found.append(step * right)
            right = times(restriction, right - diagonal * found[-1] + walk.times(found[-1]))
        coarse = np.asarray(self._coarsest @ right)
        for level in range(len(found) - 1, -1, -1):
            finer = found.pop() + STRETCH * times(self._prolongations[level], coarse)
            rest = sides.pop() - diagonal * finer + self.walks[level].times(finer)
            coarse = finer + self._step[level] * rest
        return coarse


def _restriction(fine: Walk, coarse: Walk, group: Array) -> sp.csr_array:
    """Make the matrix, with orthonormal rows, that takes vectors to the coarser scale."""
    weights = fine.root * coarse.inverse_root[group]
    members = np.argsort(group, kind="stable")
    ptr = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=len(coarse.graph)))))
    shape = (len(coarse.graph), len(fine.graph))
    return sp.csr_array((weights[members], members, ptr), shape=shape)
