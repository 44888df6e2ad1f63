"""What a method works on, and the way back to the points.

Four things are done before a method runs and undone after it, here and nowhere else:

- Known pairs raise or lower weights of the graph.
- Identical points become one node, so that they get identical memberships.
- Strays, components too light for a cluster of their own, are left out. They join the heaviest cluster.
  (Polished levels leave this to the division, which has other strays on every level.)
- Neighbors are put near each other in memory, for methods whose work is sweeps over the edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.engine.coarsening import strays, without_copies
from graphsoft.engine.grouping import pairs_between_groups
from graphsoft.engine.ordering import Reordered, in_clumps
from graphsoft.linalg.indexing import put, taken
from graphsoft.linalg.memberships import one_cluster_each, rows_to_one
from graphsoft.methods import Method, Sample, takes_pairs
from graphsoft.methods.interface import reads_of
from graphsoft.methods.relation import by_likelihood

__all__ = ["Work", "prepare"]


@dataclass(frozen=True, eq=False)
class Work:
    """What a method is given, and what it takes to carry memberships back to the points.

    Attributes
    ----------
    sample : Sample
        What the method works on.
    pairs : csr_array or None
        Known pairs of the nodes of `sample`, kept even if its weights include them already.
    node : ndarray of shape (n,) or None
        The node of each of the n points; for strays, one past the last node. None if nothing has moved.
    copies : ndarray of shape (n,) or None
        For methods that saw every copy of a point: the number of its group of copies.
    moved : Reordered or None
        The graph of `sample` with its exact degrees, where its nodes have been put in another order.
    """

    sample: Sample
    pairs: sp.csr_array | None = None
    node: Array | None = None
    copies: Array | None = None
    moved: Reordered | None = None

    @property
    def degrees(self) -> Array:
        """The degrees of the nodes, of weights that were not rounded to float32."""
        return self.sample.degrees

    @property
    def first_points(self) -> Array | None:
        """The first point of each node, strays left out; None if each point is a node."""
        if self.node is None:
            return None
        first = np.empty(len(self.sample) + 1, dtype=np.int64)
        put(first, self.node[::-1], np.arange(len(self.node))[::-1])
        return first[:-1]

    def without_strays(self, count: int) -> Work:
        """Leave out the components that are too light when `count` clusters are wanted."""
        if self.sample.given_graph is None:
            return self
        stray = strays(self.sample.graph, count)
        if not stray.any():
            return self
        inside = np.flatnonzero(~stray)
        node = np.full(len(stray), len(inside))
        node[inside] = np.arange(len(inside))
        node = node if self.node is None else node[self.node]
        return Work(self.sample.take(inside), None, node, self.copies)

    def restore(self, memberships: sp.csr_array) -> sp.csr_array:
        """Give the points the memberships of their nodes."""
        if self.node is not None:
            if self.node.max() == len(self.sample):
                heaviest = int(np.argmax(memberships.T @ self.sample.graph.degrees))
                row = sp.csr_array(([1.0], [heaviest], [0, 1]), shape=(1, memberships.shape[1]))
                memberships = sp.vstack([memberships, row], format="csr")
            memberships = memberships[self.node]
        if self.copies is not None:
            groups = one_cluster_each(self.copies, int(self.copies.max()) + 1)
            memberships = rows_to_one((groups.T @ memberships).tocsr())[self.copies]
        return memberships


def prepare(sample: Sample, count: int, method: Method) -> Work:
    """Prepare points for a method that looks for `count` clusters.

    Strays stay in; see `Work.without_strays`.
    """
    pairs, weighted = sample.pairs, sample
    if not takes_pairs(method):
        weighted = sample.with_pairs_as_weights()
    if "graph" not in reads_of(method, len(sample), sample.given_features is not None):
        return Work(weighted, pairs)
    copies = weighted.graph.duplicates if weighted.pairs is None else None
    if copies is not None and copies.max() + 1 < count:
        copies = None  # there are too few distinct points
    if not by_likelihood(method):
        return Work(weighted, pairs, None, copies)
    graph, node = weighted.graph, None
    if copies is not None:
        graph, node = without_copies(graph)
        pairs = pairs if pairs is None else pairs_between_groups(pairs, node, len(graph))
    if weighted.ordered:
        return Work(replace(weighted, given_graph=graph, given_features=None), pairs, node)
    moved = in_clumps(graph)
    pairs = pairs if pairs is None else pairs[moved.nodes][:, moved.nodes]
    node = moved.places if node is None else taken(moved.places, node)
    sample = Sample(moved.graph, ordered=True, given_degrees=moved.degrees)
    return Work(sample, pairs, node, moved=moved)
