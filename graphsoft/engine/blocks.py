"""A graph in blocks: each has some of the nodes, all their edges, and sees memberships of their neighbors.

Every sweep computes all rows from the memberships before it. So it can be done block by block: what a block
needs of the others are the masses of all clusters, and the rows of the neighbors of its nodes. On a single
machine there is one block, which is the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array

__all__ = ["Block", "Blocks", "Look", "Seen", "State", "Step", "Stepped"]


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the nodes of a graph.

    Attributes
    ----------
    edges : csr_array of shape (n, N)
        Edges of the n nodes of the block. The columns are these nodes, and then their neighbors in other
        blocks, the halo.
    degrees : ndarray of shape (n,)
        Sums of weights that were not rounded to float32.
    """

    edges: sp.csr_array
    degrees: Array

    def __len__(self) -> int:
        return int(self.edges.shape[0])


@dataclass(frozen=True, eq=False)
class Seen:
    """What a step looks at: a block, and memberships of its nodes and of the halo.

    Attributes
    ----------
    block : Block
    memberships : csr_array of shape (N, m)
        Of the nodes of the block, and then of the halo.
    mass : ndarray of shape (m,)
        Of the clusters, in the whole graph.
    floor : float
        The value of the model at an edge whose ends share no cluster.
    """

    block: Block
    memberships: sp.csr_array
    mass: Array
    floor: float

    @property
    def own(self) -> sp.csr_array:
        """Memberships of the nodes of the block."""
        return self.memberships[: len(self.block)]


@dataclass(frozen=True, eq=False)
class Stepped:
    """What a step makes of a block.

    Attributes
    ----------
    memberships : csr_array of shape (n, m)
        New ones of the nodes of the block.
    log_likelihood : float
        Of the edges of the block before the step, but for the part that depends on degrees alone; NaN if the
        step does not compute it.
    """

    memberships: sp.csr_array
    log_likelihood: float = np.nan


@dataclass(frozen=True, eq=False)
class State:
    """Memberships of all nodes after a step.

    Attributes
    ----------
    mass : ndarray of shape (m,)
        ``memberships.T @ degrees``.
    log_likelihood : float
        Of the whole graph before the step, with the part that depends on degrees; NaN if not known.
    held : object
        The memberships themselves, or where they are; only the `Blocks` that made the state look at it.
    """

    mass: Array
    log_likelihood: float
    held: Any


# They are functions of a module, called with what a block sees of a state, with the rows that its nodes have
# in other states, and with further arguments. The same function with the same arguments works on all blocks.
Step = Callable[..., Stepped]
Look = Callable[..., Mapping[str, Any]]


class Blocks(Protocol):
    """A graph in blocks, in memory or in files."""

    degree_logs: float
    """``sum_i d_i log d_i`` over all nodes."""

    def step(self, work: Step, state: State, others: Sequence[State] = (), **known: Any) -> State:
        """Take a step on every block: ``work(seen, *own_rows_of_others, **known)``."""
        ...

    def look(
        self, work: Look, state: State, others: Sequence[State] = (), **known: Any
    ) -> list[Mapping[str, Any]]:
        """Compute a few numbers or small arrays for every block, in the order of the blocks."""
        ...

    def forget(self, state: State) -> None:
        """Let go of a state that no step will look at again."""
        ...
