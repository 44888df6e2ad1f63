"""What a file held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """What a file held; made by :func:`graphsoft.datasets.read`.

    Attributes
    ----------
    data : ndarray of shape (n, d), sparse array, or networkx graph
        What to give to ``graphsoft.hierarchy``. A table has float64 numbers, or objects if it holds whole
        numbers beyond 2**53 that float64 would round.
    labels : ndarray of shape (n,) or None
        Known classes, if they were asked for.
    names : tuple or None
        Names of the points, if the file has them.
    affinity : {"auto", "features", "precomputed"}
        How ``graphsoft.hierarchy`` should take `data`.
    notes : tuple of str
        What was assumed about the file: whether its first line is a header, and which column has names.
    columns : tuple of str or None
        The titles of the features, if the file is a table. Without a header they are numbers, from 0.
    """

    data: Any
    labels: NDArray[Any] | None = None
    names: tuple[Any, ...] | None = None
    affinity: Literal["auto", "features", "precomputed"] = "auto"
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.data) if not hasattr(self.data, "shape") else int(self.data.shape[0])

    def __repr__(self) -> str:
        shape = getattr(self.data, "shape", None)
        if shape is None:
            inside = f"{len(self)} nodes, {self.data.number_of_edges()} edges"
        elif self.affinity == "precomputed":
            inside = f"{len(self)} nodes, {self.data.nnz} stored weights"
        else:
            inside = f"{len(self)} x {shape[1]}"
        if self.labels is not None:
            inside += f", {len(np.unique(self.labels))} classes"
        return f"Dataset({inside})"
