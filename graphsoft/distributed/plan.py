"""What a run is going to do: settled before it begins, the same whenever it is taken up again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """What a run is going to do.

    Attributes
    ----------
    kind : {"points", "graph"}
    rows : int
        Points, or nodes of a given graph.
    features : int
        0 for a graph.
    sparse : bool
    partitions : int
    chunk_rows : int
        So many rows of the input are read together, however it is cut into files.
    lends : int
        How many further partitions see each point while neighbors are sought.
    n_neighbors : int
    metric, weights : str
    levels : tuple of int
    max_memory : int
        Bytes that a process may take.
    coarse_nodes : int
        How many nodes the central graph is to have.
    identity : dict
        What the input is known by.
    """

    kind: str
    rows: int
    features: int
    sparse: bool
    partitions: int
    chunk_rows: int
    lends: int
    n_neighbors: int
    metric: str
    weights: str
    levels: tuple[int, ...]
    max_memory: int
    coarse_nodes: int
    identity: dict[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> range:
        """The numbers of the partitions."""
        return range(self.partitions)

    @property
    def chunks(self) -> range:
        """The numbers of the chunks."""
        return range(-(-self.rows // self.chunk_rows))

    def chunk(self, number: int) -> tuple[int, int]:
        """Tell where the rows of a chunk begin and end."""
        start = number * self.chunk_rows
        return start, min(start + self.chunk_rows, self.rows)
