"""Neighbors of the rows are sought in every partition, among its own rows and those lent to it, and merged.

Identical rows are one node of the partition that all of them belong to. Elsewhere a node is known by a key:
the number of its first row, and its partition. So rising keys are rising first rows, which decide between
neighbors at the same distance, whatever the partitions are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.files import value_in_sections
from graphsoft.distributed.plan import Plan, check_distinct
from graphsoft.distributed.point_memory import list_length
from graphsoft.distributed.routing import Sizes, routed_rows
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Where, receivers, senders
from graphsoft.neighbors.nearest import nearest_neighbors
from graphsoft.neighbors.points import Points, first_copies
from graphsoft.parallel import blocks

__all__ = ["MOST_NUMBERED", "MOST_PARTITIONS", "first_row", "join", "partition_of"]

PART_BITS = 20  # of a key; the others are the first row
MOST_PARTITIONS, MOST_NUMBERED = 1 << PART_BITS, 1 << (63 - PART_BITS)
ROWS_AT_ONCE = 1 << 14  # whose lists are merged


def first_row(keys: Array) -> Array:
    """Read the first rows of nodes from their keys."""
    return keys >> PART_BITS


def partition_of(keys: Array) -> Array:
    """Read the partitions of nodes from their keys."""
    return keys & ((1 << PART_BITS) - 1)


def join(run: Run, plan: Plan, sizes: Sizes) -> list[Array]:
    """Find the nodes of every partition and their nearest neighbors: stages "rows" and "points".

    Stage "merge-neighbors" has the lists; the building of edges forgets it. `sizes` are of what was routed.

    Returns
    -------
    list of ndarray
        For each partition the others whose nodes have neighbors in it.
    """
    chunks, parts = len(plan.chunks), plan.parts
    routed: dict[str, Any] = {"chunks": chunks, "sparse": plan.sparse}
    found = run.stage(
        "find-neighbors", find_neighbors, parts, own={"size": sizes.seen.tolist()}, **routed,
        partitions=len(parts), metric=plan.metric, n_neighbors=list_length(plan),
    )  # fmt: skip
    check_distinct(plan, sum(int(record["nodes"]) for record in found))
    run.stage("rows", number_rows, parts)
    own = {"helpers": senders(found)}
    records = run.stage("merge-neighbors", merge_neighbors, parts, own=own, partitions=len(parts))
    run.forget("find-neighbors")
    smallest = min(float(record["smallest"]) for record in records)
    if not np.isfinite(smallest):  # all neighbors are at distance 0, or there are none
        smallest = 1.0
    run.stage("points", keep_points, parts, own={"size": sizes.own.tolist()}, **routed, smallest=smallest)
    run.forget("route-rows")
    return senders(records)


def find_neighbors(
    where: Where, chunks: int, sparse: bool, size: Sequence[int], partitions: int, metric: str,
    n_neighbors: int,
) -> dict[str, Any]:  # fmt: skip
    """Find copies and neighbors among the rows of a partition and those lent to it.

    The lists of nodes of other partitions are written in sections, one for each of these.
    """
    routed = routed_rows(where, chunks, sparse, size)
    rows, owners, points = routed.rows, routed.owners, [routed.values]
    copies, first = routed.copies, routed.first
    del routed
    heads, node, indices, distances = _searched(points, metric, n_neighbors)
    keys = (rows[heads] << PART_BITS) | owners[heads]
    mine = owners[heads] == where.part
    places = np.cumsum(mine) - 1  # of the nodes of this partition
    own = np.flatnonzero(owners == where.part)
    node = np.append(node[own], node[np.searchsorted(rows, first)])
    own = np.append(rows[own], copies)
    order = np.argsort(own)
    lent = np.flatnonzero(~mine)
    lent = lent[np.argsort(owners[heads[lent]], kind="stable")]
    ptr = np.searchsorted(owners[heads[lent]], np.arange(partitions + 1))
    arrays = {"rows": own[order], "node": places[node[order]].astype(np.int32), "first": rows[heads[mine]]}
    arrays |= _lists(np.flatnonzero(mine), indices, distances, keys, n_neighbors)
    abroad = _lists(lent, indices, distances, keys, n_neighbors)
    arrays |= {f"lent-{name}": values for name, values in abroad.items()} | {"lent-first": rows[heads[lent]]}
    where.write(arrays, {name: ptr for name in arrays if name.startswith("lent-")})
    return {"nodes": int(mine.sum()), "to": receivers(ptr)}


def _searched(given: list[Any], metric: str, n_neighbors: int) -> tuple[Array, Array, Array, Array]:
    """Find the first of identical rows, the number of each row among these, and the neighbors of these.

    The only one of the `given` features is taken out of its list, so that nothing holds them when only the
    distinct ones are needed.
    """
    values = given.pop()
    if not values.shape[0]:
        none = np.zeros(0, dtype=np.int64)
        return none, none, none.reshape(0, 1), np.zeros((0, 1))
    points = Points.of(values, metric)
    del values
    heads, node = np.unique(first_copies(points), return_inverse=True)
    if len(heads) < len(points):
        points = points.take(heads)
    found = min(n_neighbors, len(heads) - 1)
    if not found:
        return heads, node, np.full((1, 1), -1), np.full((1, 1), np.inf)
    return heads, node, *nearest_neighbors(points, found)


def _lists(nodes: Array, indices: Array, distances: Array, keys: Array, width: int) -> dict[str, Array]:
    """Write down the lists of some nodes by the keys of their neighbors, -1 where there are no more."""
    found = np.full((len(nodes), width), -1, dtype=np.int64)
    lengths = np.full((len(nodes), width), np.inf)
    near = indices[nodes]
    found[:, : near.shape[1]] = np.where(near >= 0, keys[near], -1)
    lengths[:, : near.shape[1]] = distances[nodes]
    return {"keys": found, "distances": lengths}


def number_rows(where: Where) -> None:
    """Write down the rows of a partition, and the place of the node of each."""
    with where.open("find-neighbors", where.part) as file:
        rows, node = file.array("rows"), file.array("node")
    where.write({"rows": rows, "node": node})


def merge_neighbors(where: Where, helpers: Array, partitions: int) -> dict[str, Any]:
    """Merge the lists that were found of each node, in its partition and in those that it is lent to.

    `helpers` are the other partitions that found some.

    Beside the lists, the file has the first row and the local scale of each node, which may still be 0, and
    the first rows of neighbors in other partitions, in sections, one for each of these.
    """
    part = where.part
    with where.open("find-neighbors", part) as file:
        first, keys, distances = (file.array(name) for name in ("first", "keys", "distances"))
    for other in helpers.tolist():
        with where.open("find-neighbors", other) as file:
            nodes = np.searchsorted(first, file.section("lent-first", part))
            more, lengths = file.section("lent-keys", part), file.section("lent-distances", part)
        for start, stop in blocks(len(nodes), ROWS_AT_ONCE):
            some = nodes[start:stop]
            offered = np.hstack([keys[some], more[start:stop]])
            keys[some], distances[some] = _nearest_of(
                offered, np.hstack([distances[some], lengths[start:stop]]), keys.shape[1]
            )
    scale = np.max(distances, axis=1, initial=0.0, where=keys >= 0)
    abroad = np.unique(keys[(keys >= 0) & (partition_of(keys) != part)])
    abroad = abroad[np.argsort(partition_of(abroad), kind="stable")]
    ptr = np.searchsorted(partition_of(abroad), np.arange(partitions + 1))
    arrays = {"first": first, "keys": keys, "distances": distances, "scale": scale}
    where.write(arrays | {"abroad": first_row(abroad)}, {"abroad": ptr})
    return {
        "nodes": len(first), "smallest": scale[scale > 0].min(initial=np.inf), "to": receivers(ptr),
    }  # fmt: skip


def _nearest_of(keys: Array, distances: Array, count: int) -> tuple[Array, Array]:
    """Keep the nearest of each row of candidates, by (distance, key), each key once.

    Examples
    --------
    >>> keys, distances = _nearest_of(np.array([[5, -1, 5, 3]]), np.array([[2.0, np.inf, 2.0, 2.0]]), 3)
    >>> keys.tolist(), distances.tolist()
    ([[3, 5, -1]], [[2.0, 2.0, inf]])
    """
    last = np.iinfo(np.int64).max
    keys = np.where(keys < 0, last, keys)
    order = np.lexsort((distances, keys), axis=1)
    keys, distances = (np.take_along_axis(each, order, axis=1) for each in (keys, distances))
    repeated = keys[:, 1:] == keys[:, :-1]
    keys[:, 1:][repeated], distances[:, 1:][repeated] = last, np.inf
    order = np.lexsort((keys, distances), axis=1)[:, :count]
    keys, distances = (np.take_along_axis(each, order, axis=1) for each in (keys, distances))
    return np.where(keys == last, -1, keys), distances


def keep_points(
    where: Where, chunks: int, sparse: bool, size: Sequence[int], smallest: float
) -> dict[str, Any]:
    """Write down the features, the local scale and the first row of each node.

    A scale of 0 is replaced by the smallest positive one of all partitions.
    """
    with where.open("merge-neighbors", where.part) as file:
        first, scale = file.array("first"), file.array("scale")
    scale[scale == 0] = smallest
    values = routed_rows(where, chunks, sparse, size, lent=False, only=first).values
    where.write({"first": first, "scale": scale} | value_in_sections("features", values)[0])
    return {"nodes": len(first)}
