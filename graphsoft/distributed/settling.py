"""Partitions of grouped nodes, cut and improved node by node; see `graphsoft.distributed.gathering`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.growing import Units, ends_of, leaders_of, places_in, replaced, units_of
from graphsoft.distributed.tasks import Where
from graphsoft.engine.ordering import weight_type
from graphsoft.engine.scales import Layer, contraction
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows
from graphsoft.kernels.gathering import move_nodes

__all__ = ["cut_units", "label_nodes", "move_nodes_of", "number_nodes", "parts_of"]

# A partition may have this many times the load of an average one.
LARGEST = 1.1
# What weights of float32 leave of a degree, if it is less than this part of it, is rounding.
ROUNDED = 1e-6
# Units move between partitions at most so often, in one process.
MAX_MOVES = 10


def cut_units(where: Where, rounds: int, starts: Array, partitions: int) -> None:
    """Divide all units into partitions, in one process: the partition of each unit."""
    blocks = [units_of(where, rounds, block, starts) for block in range(len(starts) - 1)]
    counts = [len(units.columns) for units in blocks]
    shifts = np.concatenate(([0], np.cumsum(counts)))
    units = Units(*(np.concatenate(pieces) for pieces in zip(*blocks, strict=True)))
    ptr = np.concatenate([[0], *(each.ptr[1:] + shift for each, shift in zip(blocks, shifts, strict=False))])
    del blocks
    columns = places_in(units.ids, units.columns)
    matrix = sp.csr_array((units.weights, columns, ptr), shape=(len(units.ids),) * 2)
    labels = _in_tree_order(matrix, units.degrees, units.loads, partitions)
    room = _room(np.bincount(labels, units.loads, partitions))
    for _ in range(MAX_MOVES):
        if not move_nodes(Rows(ptr, columns, units.weights), units.loads, 0, labels, room):
            break
    where.write({"ids": units.ids, "labels": labels})


def _in_tree_order(matrix: sp.csr_array, degrees: Array, loads: Array, partitions: int) -> Array:
    """Put units in the order of a tree of contractions, and cut it into parts of equal load."""
    inside = degrees - matrix.sum(axis=1, dtype=np.float64)
    inside[inside < ROUNDED * degrees] = 0.0
    whole = (matrix + sp.diags_array(inside)).tocsr()
    whole.eliminate_zeros()
    whole.data = whole.data.astype(weight_type(whole.data))
    layer = Layer.of(Graph(whole, range(len(degrees))))
    labels, keys = np.arange(len(degrees)), []
    for step in contraction(layer, 1, np.zeros(len(degrees), dtype=np.int32)).steps:
        labels = step[labels]
        keys.append(labels)
    order = np.lexsort(keys) if keys else labels
    ends = np.cumsum(loads[order])
    found = np.empty(len(order), dtype=np.int32)
    found[order] = np.minimum(partitions - 1, (ends - loads[order] / 2) * partitions // max(1, ends[-1]))
    return found


def _room(loads: Array) -> Array:
    """Tell how much each partition may still take."""
    return np.asarray(np.maximum(0.0, LARGEST * loads.mean() - loads))


def label_nodes(
    where: Where, rounds: int, before_alone: Array, starts: Array, partitions: int
) -> dict[str, Any]:
    """Give the nodes of a block the partitions of their groups; nodes without edges go to all partitions."""
    with where.open("sort-edges", where.part) as file:
        counts = np.diff(file.array("ptr"))
    ids = np.arange(starts[where.part], starts[where.part + 1], dtype=np.int32)
    labels = np.empty(len(ids), dtype=np.int32)
    alone = np.flatnonzero(counts == 0)
    rank = before_alone[where.part] + np.arange(len(alone))
    labels[alone] = rank * partitions // max(1, before_alone[-1])
    some = np.flatnonzero(counts)
    groups = ids[some]
    for number in range(rounds):
        groups = leaders_of(where, number, groups, starts)
    with where.open("cut-groups", 0) as file:
        labels[some] = file.array("labels")[np.searchsorted(file.array("ids"), groups)]
    where.write({"labels": labels})
    return _counted(labels, counts, partitions)


def _counted(labels: Array, counts: Array, partitions: int) -> dict[str, Any]:
    return {
        "counts": np.bincount(labels, minlength=partitions),
        "loads": np.bincount(labels, counts + 1, partitions),
    }


def parts_of(where: Where, stage: str, name: str, nodes: Array, starts: Array) -> Array:
    """Look up what a stage says of nodes of any blocks, which rise."""
    found = [np.empty(0, dtype=np.int32)]
    cuts = np.searchsorted(nodes, starts)
    for block in range(len(starts) - 1):
        some = nodes[cuts[block] : cuts[block + 1]]
        if len(some):
            with where.open(stage, block) as file:
                found.append(file.array(name)[some - starts[block]])
    return np.concatenate(found)


def move_nodes_of(where: Where, labels: str, loads: Array, starts: Array, partitions: int) -> dict[str, Any]:
    """Move nodes of a block to the partitions of their neighbors; each block may use its part of the room."""
    with where.open("sort-edges", where.part) as file:
        ptr, columns, weights = (file.array(name) for name in ("ptr", "columns", "weights"))
    start, stop = int(starts[where.part]), int(starts[where.part + 1])
    ends, columns, first = _with_own(*ends_of(columns), start, stop)
    found = parts_of(where, labels, "labels", ends, starts)
    counts = np.diff(ptr)
    here = slice(first, first + stop - start)
    crossing = weights[np.repeat(found[here], counts) != found[columns]].sum()
    move_nodes(Rows(ptr, columns, weights), counts + 1, first, found, _room(loads) / (len(starts) - 1))
    where.write({"labels": found[here]})
    return {"crossing": crossing} | _counted(found[here], counts, partitions)


def _with_own(ends: Array, places: Array, start: int, stop: int) -> tuple[Array, Array, int]:
    """Add all nodes from `start` to `stop` to the ends of edges: these, places of columns, the first place.

    Examples
    --------
    >>> _with_own(np.array([1, 4, 9]), np.array([2, 0, 1]), 3, 6)
    (array([1, 3, 4, 5, 9]), array([4, 0, 2]), 1)
    """
    first, last = np.searchsorted(ends, (start, stop)).tolist()
    own = np.arange(start, stop, dtype=ends.dtype)
    moved = np.arange(len(ends))
    moved[first:last] = first + ends[first:last] - start
    moved[last:] += stop - start - (last - first)
    return np.concatenate([ends[:first], own, ends[last:]]), replaced(places, moved), first


def number_nodes(where: Where, labels: str, first: Array) -> None:
    """Give the nodes of a block new numbers, partition by partition, in their old order in each."""
    with where.open(labels, where.part) as file:
        found = file.array("labels")
    order = np.argsort(found, kind="stable")
    counts = np.bincount(found, minlength=first.shape[1])
    begins = np.cumsum(counts) - counts
    numbers = np.empty(len(found), dtype=np.int32)
    numbers[order] = np.arange(len(found)) + np.repeat(first[where.part] - begins, counts)
    where.write({"numbers": numbers})
