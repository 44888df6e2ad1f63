"""Cells: regions of space around centroids, some of which make a partition, and the search for the nearest.

Cells are sought among rows as they are seen here. Under metrics of directions a row has length one, and rows
that are copies of each other up to a factor are seen alike. Rows with many features, and sparse ones, are
seen as sums of random groups of features with random signs, which keeps distances roughly. So identical rows
always come to the same cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.tasks import Where
from graphsoft.neighbors.nearest import nearest_among
from graphsoft.neighbors.points import DIRECTIONS, Points, as_compared
from graphsoft.parallel import blocks

__all__ = ["Cells", "directed", "seen_rows", "width_seen"]

WIDE, SUMS = 1024, 512  # rows with more features than WIDE are seen as SUMS sums
SEED = 20010831
NUMBERS_AT_ONCE = 1 << 21  # in a temporary array of rows


def width_seen(features: int) -> int:
    """Tell how many numbers are seen of a row.

    Examples
    --------
    >>> width_seen(100), width_seen(100_000)
    (100, 512)
    """
    return features if features <= WIDE else SUMS


def directed(values: Any, metric: str) -> Array:
    """Tell which rows can have neighbors: under metrics of directions, those that have a direction.

    Examples
    --------
    >>> directed(np.array([[0.0, 0.0], [1.0, 2.0]]), "cosine").tolist()
    [False, True]
    """
    if metric not in DIRECTIONS:
        return np.ones(values.shape[0], dtype=np.bool_)
    parts = [Points.of(values[start:stop], metric).factors > 0 for start, stop in _row_blocks(values)]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])


def seen_rows(values: Any, metric: str) -> Array:
    """Make dense rows between which Euclidean distances are like those under `metric`.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n, d)
    metric : str

    Returns
    -------
    ndarray of shape (n, width_seen(d))
        What is made of a row does not depend on the other rows.

    Examples
    --------
    >>> seen_rows(np.array([[3.0, 4.0], [6.0, 8.0]]), "cosine").tolist()
    [[0.6, 0.8], [0.6, 0.8]]
    """
    parts = [_seen(values[start:stop], metric) for start, stop in _row_blocks(values)]
    return np.concatenate(parts) if parts else np.zeros((0, width_seen(values.shape[1])))


def _row_blocks(values: Any) -> list[tuple[int, int]]:
    return blocks(values.shape[0], max(1, NUMBERS_AT_ONCE // max(1, min(values.shape[1], WIDE))))


def _seen(values: Any, metric: str) -> Array:
    if metric in DIRECTIONS:
        values = as_compared(Points.of(values, metric))
    if values.shape[1] > WIDE:
        values = values @ _signs(values.shape[1])
    rows = np.ascontiguousarray(values.toarray() if sp.issparse(values) else values)
    if metric in DIRECTIONS:
        lengths = np.sqrt(np.square(rows).sum(axis=1))
        lengths[lengths == 0] = 1.0
        rows = rows / lengths[:, None]
    return rows


def _signs(features: int) -> sp.csr_array:
    """Put each feature into one of the sums, with a sign."""
    random = np.random.default_rng(SEED)
    columns = random.permutation(features) % SUMS
    signs = random.choice(np.array([-1.0, 1.0]), features)
    return sp.csr_array((signs, columns, np.arange(features + 1)), shape=(features, SUMS))


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a run.

    Attributes
    ----------
    centroids : ndarray of shape (C, w)
        As rows are seen.
    partition : int32 ndarray of shape (C,)
        The partition that each cell belongs to; rising.
    metric : str

    Examples
    --------
    >>> cells = Cells(np.array([[0.0], [1.0], [4.0]]), np.array([0, 0, 1]), "euclidean")
    >>> cells.partitions_of(np.array([[0.6], [4.0]]), lends=2).tolist()
    [[0, -1, 1], [1, 0, -1]]
    """

    centroids: Array
    partition: Array
    metric: str

    @classmethod
    def read(cls, where: Where, metric: str) -> Cells:
        """Read the cells that `graphsoft.distributed.cells.choose_cells` has chosen."""
        with where.open("cells", 0) as file:
            return cls(file.array("centroids"), file.array("partition"), metric)

    def nearest(self, seen: Array, count: int) -> Array:
        """Find the nearest cells of seen rows, int32 of shape (n, count); ties by number."""
        count = min(count, len(self.centroids))
        if len(self.centroids) == 1:
            return np.zeros((len(seen), 1), dtype=np.int32)
        centers = Points.of(self.centroids)
        found, _ = nearest_among(centers, centers.alongside(seen), count)
        return found.astype(np.int32)

    def partitions_of(self, values: Any, lends: int) -> Array:
        """Tell which partition each row belongs to, and which ones it is lent to.

        Parameters
        ----------
        values : ndarray or csr_array of shape (n, d)
        lends : int
            A row is lent to the partitions of so many further cells.

        Returns
        -------
        int32 ndarray of shape (n, 1 + lends), or less wide where there are fewer cells
            First its own; -1 where a partition is listed before.
        """
        width = min(1 + lends, len(self.centroids))
        result = np.full((values.shape[0], width), -1, dtype=np.int32)
        for start, stop in _row_blocks(values):
            near = self.nearest(_seen(values[start:stop], self.metric), width)
            result[start:stop] = self.each_once(near)
        return result

    def each_once(self, near: Array) -> Array:
        """List the partitions of the nearest cells, -1 where one is listed before."""
        parts = self.partition[near]
        for rank in range(1, parts.shape[1]):
            known = (parts[:, :rank] == parts[:, rank : rank + 1]).any(axis=1)
            parts[known, rank] = -1
        return parts
