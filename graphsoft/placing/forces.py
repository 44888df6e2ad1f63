"""What pulls nodes in a plane together, and what pushes them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.kernels import rows_of
from graphsoft.kernels.placing import Cells, attract, grow_cells, lean, measure_cells, morton_codes, repel
from graphsoft.linalg.csr import inverse_or_zero, times
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import LOAD, blocks, map_pieces, pieces_by_load

__all__ = ["Forces", "Plane"]

# Points in the lowest cells of the quadtree, and cells in one piece of work.
BUCKET, CELLS_PER_PIECE = 32, 1024
# A cell acts as one point where it is at most as wide as it is far away. All forces of a layout are then
# right to some percent, and halving it changed neither pictures nor scores.
OPENING = 1.0
CODE_RANGE = 2.0**31 - 2**8  # below 2**31 also after rounding


class Forces(NamedTuple):
    """What acts on the nodes; ``k_ij = 1 / (1 + |y_i - y_j|^2)``.

    Attributes
    ----------
    edges : ndarray of shape (n, 2)
        ``sum_j p_ij k_ij (y_j - y_i)``.
    stiffness : ndarray of shape (n,)
        ``sum_j p_ij k_ij``.
    push : ndarray of shape (n, 2)
        ``m_i sum_j m_j k_ij^2 (y_i - y_j) / Z``, where Z is the sum of ``m_i m_j k_ij``.
    jumps : ndarray of shape (n, 2)
        ``m_i k (c - y_i)`` on average over the levels above. There c is the mean of the middles of the node's
        clusters, and k is as above, but with the spread of these clusters added below the line.
    """

    edges: Array
    stiffness: Array
    push: Array
    jumps: Array


class Plane:
    """Nodes with masses, and the edges between them, wherever in the plane they are.

    Parameters
    ----------
    edges : csr_array of shape (n, n)
        Symmetric ``p_ij`` without a diagonal.
    masses : ndarray of shape (n,)
        Above 0.
    above : sequence of csr_array, each of shape (n, m)
        The memberships of the nodes on the levels above.
    """

    def __init__(self, edges: sp.csr_array, masses: Array, above: Sequence[sp.csr_array]) -> None:
        self.edges, self.masses = edges, masses
        self._above = [(shares, _means_by(shares, masses)) for shares in above]
        self._aims = np.zeros((len(above), len(masses), 3))
        self._order, self._bounds = np.arange(len(masses)), np.empty((0, 3), dtype=np.int64)

    def survey(self, points: Array) -> None:
        """Note where clusters are now, and divide the nodes into cells by where they are.

        Repulsion is right for any cells, but computed sooner if nodes of a cell are near each other.
        """
        squares = points[:, 0] ** 2 + points[:, 1] ** 2
        for (shares, means), aims in zip(self._above, self._aims, strict=True):
            middles = times(means, np.column_stack([points, squares]))
            middles[:, 2] -= (middles[:, :2] ** 2).sum(axis=1)  # now the variance within the cluster
            aims[:] = times(shares, np.maximum(middles, [-np.inf, -np.inf, 0]))
        low = points.min(axis=0)
        side = max(float((points.max(axis=0) - low).max()), 1e-200)
        codes, bounds = np.empty(len(points), dtype=np.uint64), np.empty((2 * len(points), 3), dtype=np.int64)
        morton_codes(points, low, CODE_RANGE / side, codes)
        self._order = np.argsort(codes, kind="stable")
        self._bounds = bounds[: grow_cells(codes[self._order], BUCKET, bounds)]

    def forces(self, points: Array) -> Forces:
        """Compute what acts on the nodes at these places, after a survey."""
        pull = np.empty((len(points), 3))

        def piece(start: int, stop: int) -> None:
            attract(rows_of(self.edges), points, start, stop, pull)

        for _ in map_pieces(piece, pieces_by_load(self.edges.indptr, LOAD)):
            pass
        jumps = np.empty((len(points), 2))
        lean(self._aims, points, 0, len(points), jumps)
        pushed = self._repulsion(points)
        total = float((self.masses * pushed[:, 2]).sum())
        push = pushed[:, :2] * (self.masses / max(total, 1e-300))[:, None]
        return Forces(pull[:, :2], pull[:, 2], push, jumps * self.masses[:, None])

    def _repulsion(self, points: Array) -> Array:
        nearby, masses, bounds = points[self._order], self.masses[self._order], self._bounds
        cells = Cells(bounds, np.empty((len(bounds), 4)))
        pushed, result = np.empty((len(points), 3)), np.empty((len(points), 3))

        def measured(start: int, stop: int) -> None:
            measure_cells(nearby, masses, bounds, start, stop, cells.middles)

        def piece(start: int, stop: int) -> None:
            repel(nearby, masses, cells, OPENING, start, stop, pushed)

        for work in (measured, piece):
            for _ in map_pieces(work, blocks(len(bounds), CELLS_PER_PIECE)):
                pass
        result[self._order] = pushed
        return result


def _means_by(shares: sp.csr_array, masses: Array) -> sp.csr_array:
    """Make the matrix that takes values of nodes to their means in each cluster."""
    by_cluster = shares.T.tocsr()
    by_cluster.data = by_cluster.data * taken(masses, by_cluster.indices)
    clusters = np.repeat(np.arange(shares.shape[1]), np.diff(by_cluster.indptr))
    by_cluster.data *= inverse_or_zero(np.bincount(clusters, by_cluster.data))[clusters]
    return by_cluster
