"""The nodes of a graph as seen by new nodes, which come with the weights of their edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Progress
from graphsoft.errors import InputError, warn
from graphsoft.input.sparse_input import check_rows
from graphsoft.neighbors.points import Points, RowLookup
from graphsoft.result.new_rows import (
    checked_rows,
    empty_rows,
    normalized,
    refuse_negative,
    row_count,
    warn_of_empty,
)

__all__ = ["ReferenceGraph"]

# Weights of a checked graph are far below this one.
MAX_WEIGHT = 2.0**200
MIN_WEIGHT = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class ReferenceGraph:
    """The n nodes of a graph, for new nodes that come with the weights of their edges.

    Attributes
    ----------
    known : RowLookup
        The rows of the adjacency, compared by their directions.
    from_distances : bool
        Whether the weights were made of distances. The rows of new nodes are weights all the same.

    Examples
    --------
    >>> import networkx as nx
    >>> path = Points.of(nx.to_scipy_sparse_array(nx.path_graph(3), dtype=float), "cosine")
    >>> ReferenceGraph(RowLookup.of(path)).step(sp.csr_array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0]])).toarray()
    array([[0.75, 0.  , 0.25],
           [1.  , 0.  , 0.  ]])
    """

    known: RowLookup
    from_distances: bool = False

    def rows(self, X: Any, growing: bool = False) -> sp.csr_array:
        """Check weights to the old nodes and, if the graph is `growing`, perhaps among the new ones too."""
        count = len(self.known.points)
        more = row_count(X) if growing else 0
        values = checked_rows(X, sorted({count, count + more}), True, "nodes")
        refuse_negative(values)
        if self.from_distances and len(values.data) and np.ptp(values.data) > 0.0:
            warn(
                "X: taken as weights, where larger is nearer, although the graph was made of distances; make "
                "the hierarchy of points and pass neighbors= to have new points joined as the old ones were"
            )
        if growing:
            _refuse_extreme(values)
        return values

    def step(self, values: sp.csr_array, progress: Progress | None = None) -> sp.csr_array:
        """Go along the edges. A new node whose edges are those of an old one, up to a factor, goes there."""
        check_rows(self.known.points.values, "h")  # perhaps the caller's own matrix, which can have changed
        rows = values[:, : len(self.known.points)].tocsr()
        if rows.shape[0] == 0:
            return rows
        copy_of = self.known.find(Points.of(rows, "cosine"))
        copies = copy_of >= 0
        step = normalized(rows)
        step.data[np.repeat(copies, np.diff(step.indptr))] = 0.0
        units = (copies * 1.0, np.where(copies, copy_of, 0), np.arange(len(copy_of) + 1))
        step = (step + sp.csr_array(units, shape=rows.shape)).tocsr()
        step.eliminate_zeros()
        warn_of_empty(empty_rows(step))
        return step


def _refuse_extreme(values: sp.csr_array) -> None:
    """Refuse weights whose sums or inverses could overflow once they are part of the graph."""
    if values.data.max(initial=0.0) > MAX_WEIGHT:
        problem = f"holds a weight of {values.data.max():g}, whose sums may overflow"
        raise InputError("X", problem, "pass weights on the scale of h.graph.adjacency")
    smallest = values.data[values.data > 0].min(initial=1.0)
    if smallest < MIN_WEIGHT:
        problem = f"holds a weight of {smallest:g}, whose inverse is beyond float64"
        raise InputError("X", problem, "pass weights on the scale of h.graph.adjacency")
