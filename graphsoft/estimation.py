"""The public function `estimate`: how much memory a hierarchy needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.errors import InputError, shown
from graphsoft.fitting.memory import Extent, MemoryEstimate, needed
from graphsoft.fitting.settings import falling_sizes
from graphsoft.input.checks import choice, integer
from graphsoft.neighbors.nearest import METRICS

__all__ = ["estimate"]


def estimate(
    n: int,
    d: int | None,
    levels: Any,
    *,
    edges: int | None = None,
    nnz: int | None = None,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    dtype: Any = np.float64,
) -> MemoryEstimate:
    """Estimate how much memory :func:`graphsoft.hierarchy` needs, before anything is computed.

    Parameters
    ----------
    n : int
        Points, or nodes of a graph.
    d : int or None
        Features of a point; None for a network, whose nodes have none.
    levels : int or sequence of int
        How many clusters each level has.
    edges : int, optional
        How many edges the graph has, where a graph is passed: a CSR matrix of float64 weights, or a `Graph`.
        If it was made of points, pass their `d` too, since they are torn between fewer clusters.
    nnz : int, optional
        How many entries are stored, where features are sparse.
    n_neighbors, metric
        As for :func:`graphsoft.hierarchy`.
    dtype : dtype
        Of the features. Only float32 and float64 are not copied, and of sparse ones only float64.

    Returns
    -------
    MemoryEstimate
        ``peak, result, stages``, in bytes beyond what the process holds already: data, libraries, and
        compiled loops, which are some 200 MB in a new process. Above 100 MB the peak is within 30 % of what
        is taken, if the data are clustered, polished relation factorization finds all levels, and rows are
        distinct. Points without any clusters are torn between more of them, and may take twice as much.

    Examples
    --------
    >>> import graphsoft
    >>> print(graphsoft.estimate(100_000_000, 32, [100, 20, 10]))
    89 GB at the peak, which is in neighbors; 26 GB in the result
    >>> network = graphsoft.estimate(20_000_000, None, [100, 20, 10], edges=200_000_000)
    >>> network.stage, round(network.peak / 1e9)
    ('clustering', 15)
    """
    n = integer("n", n, 1)
    if isinstance(levels, str):
        raise InputError("levels", f"got {shown(levels)}", "list falling sizes, such as levels=[100, 20, 10]")
    sizes = falling_sizes(levels, n)
    n_neighbors = max(1, min(integer("n_neighbors", n_neighbors, 1), n - 1))
    choice("metric", metric, METRICS)
    if d is None and edges is None:
        raise InputError("d", "got None, and no edges", "say how many features points have, or pass edges")
    d = None if d is None else integer("d", d, 1)
    edges = None if edges is None else integer("edges", edges, 0)
    nnz = None if nnz is None else integer("nnz", nnz, 0)
    if edges is not None and nnz is not None:
        raise InputError("nnz", f"got {nnz} entries of features, and edges", "leave out one of them")
    entries = None if edges is None else 2 * edges
    copied = 0 if d is None or entries is not None else _copied(n * d, nnz, dtype)
    return needed(Extent(n, d, metric, n_neighbors, nnz, entries), sizes, copied)


def _copied(cells: int, nnz: int | None, dtype: Any) -> int:
    """Count the bytes of a copy in the type that features are worked on."""
    try:
        given = np.dtype(dtype)
    except TypeError:
        raise InputError("dtype", f"got {shown(dtype)}", "use a type of NumPy, such as np.float32") from None
    single = np.can_cast(given, np.float32) and nnz is None
    if given == np.float64 or (given == np.float32 and single):
        return 0
    return (4 if single else 8) * (cells if nnz is None else nnz)
