"""Lists of neighbors become a graph in blocks: weights of edges, from both their ends, with their copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.block_files import write_block
from graphsoft.distributed.joining import first_row, partition_of
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.point_memory import list_length
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Record, Where
from graphsoft.distributed.typical import typical_scale
from graphsoft.engine.ordering import weight_type
from graphsoft.kernels import Rows, read_only
from graphsoft.kernels.adjacency import row_sums
from graphsoft.kernels.neighbors import shared_neighbors
from graphsoft.neighbors.weights import weight_inside, weights_by_length
from graphsoft.parallel import LOAD, blocks, map_pieces, pieces_by_load

__all__ = ["build_blocks"]

LISTS_AT_ONCE = 1 << 14
PLACE_BITS = 32  # of the number of a node in another partition; those before them are its partition


def build_blocks(run: Run, plan: Plan, askers: Sequence[Array]) -> list[Record]:
    """Weigh the edges to neighbors, and put those of each partition together: stage "graph".

    A node of several rows has the edges that all of them have on a single machine.

    Parameters
    ----------
    run : Run
    plan : Plan
    askers : sequence of ndarray
        For each partition the others whose nodes have neighbors in it.
    """
    parts, partitions = plan.parts, plan.partitions
    own, known = {"askers": askers}, dict[str, Any](partitions=partitions, weights=plan.weights)
    records = run.stage("look-up-neighbors", look_up_neighbors, parts, own=own, **known)
    nodes = sum(int(record["nodes"]) for record in records)
    listed = max(1, min(list_length(plan), nodes - 1))
    typical = 1.0
    if plan.weights == "gaussian":
        typical = typical_scale(run, plan)
    records = run.stage("weigh-edges", weigh_edges, parts, typical=typical, listed=listed, **known)
    lightest = min(float(record["lightest"]) for record in records)
    heaviest = max(float(record["heaviest"]) for record in records)
    ends = np.array([lightest, heaviest] if heaviest > 0 else [])
    kind = np.dtype(weight_type(ends)).name
    told: dict[str, Any] = {"listed": listed, "kind": kind, "typical": typical}
    records = run.stage("graph", join_edges, parts, own=own, partitions=partitions, **told)
    for stage in ("merge-neighbors", "look-up-neighbors", "weigh-edges"):
        run.forget(stage)
    return records


def look_up_neighbors(where: Where, askers: Array, partitions: int, weights: str) -> dict[str, Any]:
    """Tell other partitions of the nodes that are neighbors there: their places, scales, and lists.

    There is a section for each of the others, of which `askers` have some. Only `jaccard` needs the lists.
    """
    with where.open("points", where.part) as file:
        first, scale = file.array("first"), file.array("scale")
    asked, counts = [np.zeros(0, dtype=np.int64)], np.zeros(partitions, dtype=np.int64)
    for other in askers.tolist():
        with where.open("merge-neighbors", other) as file:
            asked.append(file.section("abroad", where.part))
        counts[other] = len(asked[-1])
    place = np.searchsorted(first, np.concatenate(asked))
    arrays = {"place": place.astype(np.int32), "scale": scale[place]}
    if weights == "jaccard":
        with where.open("merge-neighbors", where.part) as file:
            arrays["keys"] = file.array("keys")[place]
    where.write(arrays, dict.fromkeys(arrays, np.append(0, np.cumsum(counts))))
    return {"nodes": len(first)}


class _Listed(NamedTuple):
    """The lists of a partition's nodes.

    Neighbors in other partitions, abroad, are numbered after the nodes of the partition, in the order of
    their (partition, place).
    """

    first: Array  # rows of the nodes
    keys: Array  # of neighbors, (n, k), -1 where there are no more, as in `distances`
    distances: Array
    abroad: Array  # first rows of the neighbors abroad, and what is known of them
    part: Array
    place: Array
    scale: Array
    their_keys: Array  # none where they are not needed

    def numbers(self, keys: Array, own: int) -> Array:
        """Give nodes their numbers: -1 for none, and one past all others where nothing is known of a node."""
        order = np.argsort(self.abroad)
        rising = self.abroad[order]
        result = np.full(keys.shape, -1, dtype=np.int32)
        for start, stop in blocks(len(keys), LISTS_AT_ONCE):
            some = keys[start:stop]
            rows, mine = first_row(some), partition_of(some) == own
            places = np.searchsorted(rising, rows)
            places[np.append(rising, -1)[places] != rows] = len(order)
            numbers = len(self.first) + np.append(order, len(order))[places]
            numbers[mine] = np.searchsorted(self.first, rows[mine])
            result[start:stop] = np.where(some >= 0, numbers, -1)
        return result


def _read_lists(where: Where, partitions: int, with_keys: bool) -> _Listed:
    """Read the lists of a partition, and what the other ones told of the neighbors there."""
    with where.open("merge-neighbors", where.part) as file:
        first, keys, distances = (file.array(name) for name in ("first", "keys", "distances"))
        abroad, ptr = file.array("abroad"), file.cut("abroad")
    part = np.repeat(np.arange(partitions, dtype=np.int32), np.diff(ptr))
    places, scales = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    theirs = [np.zeros((0, keys.shape[1]), dtype=np.int64)]
    for other in np.flatnonzero(np.diff(ptr)).tolist():
        with where.open("look-up-neighbors", other) as file:
            places.append(file.section("place", where.part))
            scales.append(file.section("scale", where.part))
            if with_keys:
                theirs.append(file.section("keys", where.part))
    place, scale, their_keys = (np.concatenate(each) for each in (places, scales, theirs))
    return _Listed(first, keys, distances, abroad, part, place, scale, their_keys)


def weigh_edges(where: Where, partitions: int, weights: str, typical: float, listed: int) -> dict[str, Any]:
    """Weigh the edges from the nodes of a partition to their neighbors.

    Those to other partitions are written in sections, one for each of these, with the number of copies of
    their nodes here.
    """
    lists = _read_lists(where, partitions, weights == "jaccard")
    count = len(lists.first)
    columns = lists.numbers(lists.keys, where.part)
    with where.open("points", where.part) as file:
        scales = np.append(file.array("scale"), lists.scale)
    values = _weighed(lists, columns, scales, where.part, (weights, typical))
    part, place = lists.part, lists.place
    del lists
    present = columns >= 0
    nodes = np.repeat(np.arange(count, dtype=np.int32), present.sum(axis=1))
    columns, values, copies = columns[present], values[present], _copies(where, count)
    inside = weight_inside(copies, listed)
    every = np.append(values * copies[nodes], inside[inside > 0])
    inner = columns < count
    arrays = {"inner-ones": nodes[inner], "inner-others": columns[inner], "inner-weights": values[inner]}
    nodes, columns, values = nodes[~inner], columns[~inner] - count, values[~inner]
    order = np.argsort(part[columns], kind="stable")
    nodes, columns, values = nodes[order], columns[order], values[order]
    ptr = np.searchsorted(part[columns], np.arange(partitions + 1))
    crossing = {"ones": nodes, "others": place[columns], "weights": values, "copies": copies[nodes]}
    where.write(arrays | crossing, dict.fromkeys(crossing, ptr))
    return {"lightest": every.min(initial=np.inf), "heaviest": every.max(initial=0.0)}


def _copies(where: Where, nodes: int) -> Array:
    with where.open("rows", where.part) as file:
        return np.bincount(file.array("node"), minlength=nodes).astype(np.int32)


def _weighed(lists: _Listed, columns: Array, scales: Array, own: int, kind: tuple[str, float]) -> Array:
    """Compute the weights of the listed edges; where there is none, the value means nothing."""
    values = np.ones(columns.shape)
    if kind[0] == "connectivity":
        return values
    if kind[0] == "jaccard":
        return _shared(lists, columns, own)
    for start, stop in blocks(len(columns), LISTS_AT_ONCE):
        ends = scales[start:stop, None], scales[columns[start:stop]]
        values[start:stop] = weights_by_length(lists.distances[start:stop], *ends, kind[1], kind[0])
    return values


def _shared(lists: _Listed, columns: Array, own: int) -> Array:
    """Compute the Jaccard index of the list of each node and those of its neighbors."""
    theirs = lists.numbers(lists.their_keys, own)
    # those that are in no list here all have the same number, because only how many they are counts
    every = np.sort(np.concatenate([columns, theirs]), axis=1)
    result = np.zeros(columns.shape)
    for start, stop in blocks(len(columns), LISTS_AT_ONCE // 2):
        shared_neighbors(every, start, stop, result)
    back = np.argsort(np.argsort(columns, axis=1, kind="stable"), axis=1, kind="stable")
    return np.take_along_axis(result, back, axis=1)


class _Edges(NamedTuple):
    """Edges from nodes of a partition, in the list of one of their ends."""

    nodes: Array
    others: Array  # places in the same partition, or numbers that `_abroad` makes
    weights: Array
    copies: Array  # of the node in whose list it is


def join_edges(
    where: Where, askers: Array, partitions: int, listed: int, kind: str, typical: float
) -> dict[str, Any]:
    """Put together the edges that are listed at either end, as a block with its halo.

    Nodes of the partitions `askers` have neighbors here. The typical scale is written too: new points are
    weighed by it.
    """
    with where.open("points", where.part) as file:
        count = file.shape("first")[0]
    copies = _copies(where, count)
    edges, halo = _union(where, askers, partitions, copies)
    inside = weight_inside(copies, listed)
    before = int(np.searchsorted(halo, where.part << PLACE_BITS))
    if inside.any():
        sites = np.flatnonzero(inside)
        loops = sp.coo_array((inside[sites], (sites, before + sites)), shape=edges.shape)
        edges = (edges + loops.tocsr()).tocsr()
    degrees = np.empty(count)
    for _ in map_pieces(
        lambda start, stop: row_sums(read_only(edges.indptr), read_only(edges.data), start, stop, degrees),
        pieces_by_load(edges.indptr, LOAD),
    ):
        pass
    columns = edges.indices.astype(np.int32)
    own = (columns >= before) & (columns < before + count)
    columns[own] -= before
    columns[~own] += np.where(columns[~own] < before, count, 0).astype(np.int32)
    halo_part, halo_place = _part_and_place(halo)
    nodes = np.repeat(np.arange(count, dtype=np.int32), np.diff(edges.indptr))[~own]
    to, sent = _part_and_place(np.unique(_abroad(halo_part[columns[~own] - count], nodes)))
    return write_block(
        where, Rows(edges.indptr, columns, edges.data.astype(kind)), degrees, copies,
        (halo_part, halo_place), (sent, np.searchsorted(to, np.arange(partitions + 1))),
        typical=np.array(typical),
    )  # fmt: skip


def _abroad(part: Array, place: Array) -> Array:
    """Make one number of a partition and a place in it; numbers rise as these do."""
    return (part.astype(np.int64) << PLACE_BITS) | place


def _part_and_place(numbers: Array) -> tuple[Array, Array]:
    return (numbers >> PLACE_BITS).astype(np.int32), (numbers & ((1 << PLACE_BITS) - 1)).astype(np.int32)


def _read_edges(where: Where, askers: Array, partitions: int, copies: Array) -> tuple[_Edges, _Edges, _Edges]:
    """Read edges inside a partition; those to others in the lists here; and those in the lists there."""
    part, names = where.part, ("ones", "others", "weights", "copies")
    with where.open("weigh-edges", part) as file:
        ones, others, weights = (file.array(f"inner-{name}") for name in names[:3])
        nodes, places, *rest = (file.array(name) for name in names)
        to = np.repeat(np.arange(partitions, dtype=np.int32), np.diff(file.cut("ones")))
    back = [_Edges(nodes[:0], np.zeros(0, dtype=np.int64), *(each[:0] for each in rest))]
    for other in askers.tolist():
        with where.open("weigh-edges", other) as file:
            theirs, mine, *told = (file.section(name, part) for name in names)
        back.append(_Edges(mine, _abroad(np.full(len(mine), other), theirs), *told))
    inner = _Edges(ones, others, weights, copies[ones] if (copies > 1).any() else np.ones(1, dtype=np.int32))
    listed_there = _Edges(*(np.concatenate(each) for each in zip(*back, strict=True)))
    return inner, _Edges(nodes, _abroad(to, places), *rest), listed_there


def _union(where: Where, askers: Array, partitions: int, copies: Array) -> tuple[sp.csr_array, Array]:
    """Make a matrix of the edges listed at either end, with columns in the order of (partition, place).

    Returns
    -------
    edges : csr_array of shape (nodes, nodes + halo)
        With copies counted.
    halo : ndarray
        Numbers of the neighbors in other partitions, rising.
    """
    inner, here, there = _read_edges(where, askers, partitions, copies)
    halo = np.unique(np.concatenate([here.others, there.others]))
    before, count = int(np.searchsorted(halo, where.part << PLACE_BITS)), len(copies)
    repeated = max(int(each.copies.max(initial=1)) for each in (inner, here, there)) > 1
    matrices, times = [], []
    for nodes, others, crossing in ((inner.nodes, inner.others, here), (inner.others, inner.nodes, there)):
        place = np.searchsorted(halo, crossing.others).astype(np.int32)
        place[place >= before] += count
        rows, columns = np.append(nodes, crossing.nodes), np.append(others + np.int32(before), place)
        shape = (count, count + len(halo))
        matrices.append(_matrix(rows, columns, np.append(inner.weights, crossing.weights), shape))
        if repeated:
            own = np.broadcast_to(inner.copies, inner.nodes.shape)
            times.append(_matrix(rows, columns, np.append(own, crossing.copies), shape))
    del inner, here, there, crossing, nodes, others, rows, columns
    edges = matrices[0].maximum(matrices[1]).tocsr()
    if repeated:
        edges.data = _added_up(edges.data, times[0].maximum(times[1]).tocsr().data)
    return edges, halo


def _matrix(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.sort_indices()
    return matrix


def _added_up(weights: Array, times: Array) -> Array:
    """Add up each weight so many times, one after the other, as the copies of a node are added up elsewhere.

    A product would be rounded differently.

    Examples
    --------
    >>> _added_up(np.array([0.1, 0.5]), np.array([3, 1])).tolist()
    [0.30000000000000004, 0.5]
    """
    sums = weights.copy()
    some = np.flatnonzero(times > 1)
    some = some[np.argsort(-times[some], kind="stable")]
    done = 1
    while len(some):
        sums[some] += weights[some]
        done += 1
        some = some[: np.searchsorted(-times[some], -done)]
    return sums
