"""A graph in blocks: each has some of the nodes, all their edges, and sees memberships of their neighbors.

Every sweep computes all rows from the memberships before it. So it can be done block by block: what a block
needs of the others are the masses of all clusters, and the rows of the neighbors of its nodes. On a single
machine there is one block, which is the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.graph.graph import Graph

__all__ = [
    "Block",
    "Blocks",
    "Found",
    "Join",
    "Look",
    "OneBlock",
    "Seen",
    "State",
    "Step",
    "Stepped",
    "added",
    "floor_of",
    "joined_in_pairs",
]

Item = TypeVar("Item")

# At an edge whose ends share no cluster, the model counts as this part of the weight expected by chance.
UNEXPLAINED = 1e-3


def floor_of(total: float) -> float:
    """Compute the lowest value of the model from the sum of all degrees.

    It stands at an edge whose ends share no cluster.
    """
    return UNEXPLAINED / total if total > 0 else 1.0


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
    number : int
        Its place among the blocks.
    """

    edges: sp.csr_array
    degrees: Array
    number: int = 0

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
        """Memberships of the nodes of the block; they share memory with all."""
        count, seen = len(self.block), self.memberships
        if count == seen.shape[0]:
            return seen
        ptr = seen.indptr[: count + 1]
        parts = seen.data[: ptr[-1]], seen.indices[: ptr[-1]], ptr
        return sp.csr_array(parts, shape=(count, seen.shape[1]))


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
Found = Mapping[str, Any]  # numbers, arrays and sparse matrices by their names
Look = Callable[..., Found]
# Makes one of what was found in some blocks, and in those that follow.
Join = Callable[[Found, Found], Found]


def added(one: Found, other: Found) -> Found:
    """Add up what has the same name."""
    return {name: value + other[name] for name, value in one.items()}


def joined_in_pairs(items: Iterable[Item], join: Callable[[Item, Item], Item]) -> Item:
    """Join items pair by pair, then the pairs, and so on; in memory are no more than ``1 + log2`` of them.

    So a branch of 2, 4, 8, ... items that follow each other can be joined elsewhere, without any other bits.

    Examples
    --------
    >>> joined_in_pairs("abcdefg", lambda one, other: f"({one}{other})")
    '(((ab)(cd))((ef)g))'
    """
    joined: list[tuple[int, Item]] = []  # each with how many items it is made of
    for item in items:
        count, found = 1, item
        while joined and joined[-1][0] == count:
            found = join(joined.pop()[1], found)
            count *= 2
        joined.append((count, found))
    found = joined.pop()[1]
    while joined:
        found = join(joined.pop()[1], found)
    return found


class Blocks(Protocol):
    """A graph in blocks, in memory or in files."""

    degree_logs: float
    """``sum_i d_i log d_i`` over all nodes."""

    def step(self, work: Step, state: State, others: Sequence[State] = (), **known: Any) -> State:
        """Take a step on every block: ``work(seen, *own_rows_of_others, **known)``."""
        ...

    def look(self, work: Look, join: Join, state: State, others: Sequence[State] = (), **known: Any) -> Found:
        """Compute a few numbers, arrays or matrices for every block, and join them, see `joined_in_pairs`."""
        ...

    def forget(self, state: State) -> None:
        """Let go of a state that no step will look at again."""
        ...


class OneBlock:
    """A graph as a single block; what its states hold are the memberships of all nodes.

    Parameters
    ----------
    graph : Graph
    degrees : ndarray of shape (n,), optional
        Sums of weights that were not rounded to float32, by default those of the graph.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> blocks = OneBlock(as_graph(nx.path_graph(3)))
    >>> blocks.begin(sp.csr_array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])).mass
    array([2., 2.])
    """

    def __init__(self, graph: Graph, degrees: Array | None = None) -> None:
        self.block = Block(graph.adjacency, graph.degrees if degrees is None else degrees)
        self.floor = floor_of(float(self.block.degrees.sum()))
        positive = self.block.degrees[self.block.degrees > 0]
        self.degree_logs = float((positive * np.log(positive)).sum())

    def begin(self, memberships: sp.csr_array, log_likelihood: float = np.nan) -> State:
        """Begin with memberships of all nodes."""
        mass = np.asarray(memberships.T @ self.block.degrees)
        return State(mass, log_likelihood, memberships)

    def step(self, work: Step, state: State, others: Sequence[State] = (), **known: Any) -> State:
        """Take a step on the graph."""
        stepped = work(self.seen(state), *(other.held for other in others), **known)
        return self.begin(stepped.memberships, stepped.log_likelihood + 2.0 * self.degree_logs)

    def look(self, work: Look, join: Join, state: State, others: Sequence[State] = (), **known: Any) -> Found:
        """Compute a few numbers, arrays or matrices."""
        found: Found = work(self.seen(state), *(other.held for other in others), **known)
        return found

    def forget(self, state: State) -> None:
        """Do nothing: a state that nobody has is gone."""

    def seen(self, state: State) -> Seen:
        """Show a state, as steps look at it."""
        return Seen(self.block, state.held, state.mass, self.floor)
