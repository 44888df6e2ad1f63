"""Partitions of grouped nodes, cut and improved node by node; see `graphsoft.distributed.gathering`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.growing import (
    Units,
    ends_of,
    leaders_of,
    places_in,
    replaced,
    units_of,
)
from graphsoft.distributed.pieces import looked_up, pieces_of
from graphsoft.distributed.summing import BRANCH, branch
from graphsoft.distributed.tasks import Where
from graphsoft.engine.ordering import weight_type
from graphsoft.engine.scales import Layer, contraction
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows
from graphsoft.kernels.gathering import move_nodes

__all__ = ["count_nodes", "cut_units", "label_nodes", "move_nodes_of", "number_nodes", "place_nodes"]

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


def label_nodes(where: Where, before: int, rounds: int, bare: int, starts: Array, partitions: int) -> None:
    """Give the nodes of a block the partitions of their groups; nodes without edges go to all partitions.

    There are `bare` of these, and `before` of them in earlier blocks.
    """
    with where.open("sort-edges", where.part) as file:
        counts = np.diff(file.array("ptr"))
    ids = np.arange(starts[where.part], starts[where.part + 1], dtype=np.int32)
    labels = np.empty(len(ids), dtype=np.int32)
    places = np.flatnonzero(counts == 0)
    labels[places] = (before + np.arange(len(places))) * partitions // max(1, bare)
    some = np.flatnonzero(counts)
    groups = ids[some]
    for number in range(rounds):
        different, groups = ends_of(groups)
        groups = replaced(groups, leaders_of(where, number, different, starts))
    with where.open("cut-groups", 0) as file:
        labels[some] = file.array("labels")[np.searchsorted(file.array("ids"), groups)]
    _write_labels(where, labels, counts, partitions)


def _write_labels(where: Where, labels: Array, counts: Array, partitions: int) -> None:
    """Write the partitions of nodes, and how many nodes and which load each partition has of them."""
    arrays = {"labels": labels, "counts": np.bincount(labels, minlength=partitions)}
    arrays["loads"] = np.bincount(labels, counts + 1, partitions)
    where.write(arrays, {"labels": pieces_of(len(labels))})


def move_nodes_of(where: Where, labels: str, loads: Array, starts: Array, partitions: int) -> dict[str, Any]:
    """Move nodes of a block to the partitions of their neighbors; each block may use its part of the room."""
    with where.open("sort-edges", where.part) as file:
        ptr, columns, weights = (file.array(name) for name in ("ptr", "columns", "weights"))
    start, stop = int(starts[where.part]), int(starts[where.part + 1])
    ends, columns, first = _with_own(*ends_of(columns), start, stop)
    found = looked_up(where, labels, "labels", ends, starts)
    counts = np.diff(ptr)
    here = slice(first, first + stop - start)
    crossing = weights[np.repeat(found[here], counts) != found[columns]].sum()
    move_nodes(Rows(ptr, columns, weights), counts + 1, first, found, _room(loads) / (len(starts) - 1))
    _write_labels(where, found[here], counts, partitions)
    return {"crossing": crossing}


def _with_own(ends: Array, places: Array, start: int, stop: int) -> tuple[Array, Array, int]:
    """Merge the block's own nodes into `ends`.

    Returns the merged ids, the shifted places, and where the own nodes begin.

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


def count_nodes(where: Where, labels: str, blocks: int) -> None:
    """Count for some blocks how many nodes the ones before them among these have in each partition."""
    counts = []
    for block in branch(where.part, blocks):
        with where.open(labels, block) as file:
            counts.append(file.array("counts"))
    after = np.cumsum(counts, axis=0)
    where.write({"before": after - counts, "all": after[-1]}, {"before": np.arange(len(counts) + 1)})


def place_nodes(where: Where, branches: int) -> dict[str, Any]:
    """Find the new number of the first node of each partition, in all blocks and in some of them."""
    counts = []
    for number in range(branches):
        with where.open("count-nodes", number) as file:
            counts.append(file.array("all"))
    after = np.cumsum(counts, axis=0)
    begins = np.concatenate(([0], np.cumsum(after[-1])))
    where.write({"first": begins[:-1] + after - counts}, {"first": np.arange(branches + 1)})
    return {"begins": begins}


def number_nodes(where: Where, labels: str) -> None:
    """Give the nodes of a block new numbers, partition by partition, in their old order in each."""
    number, place = divmod(where.part, BRANCH)
    with where.open("place-nodes", 0) as file:
        first = file.section("first", number)[0]
    with where.open("count-nodes", number) as file:
        first = first + file.section("before", place)[0]
    with where.open(labels, where.part) as file:
        found = file.array("labels")
    order = np.argsort(found, kind="stable")
    counts = np.bincount(found, minlength=len(first))
    begins = np.cumsum(counts) - counts
    numbers = np.empty(len(found), dtype=np.int32)
    numbers[order] = np.arange(len(found)) + np.repeat(first - begins, counts)
    where.write({"numbers": numbers}, {"numbers": pieces_of(len(numbers))})
