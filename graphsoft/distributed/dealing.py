"""Edges on disk become the blocks of a graph.

1. Edges are dealt to blocks of node numbers that follow each other. A block has all edges of its nodes.
2. If too many edges lead from block to block, the nodes are gathered, see
   `graphsoft.distributed.gathering`.
3. The blocks of the partitions are written, with what each has to send to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.dealt_blocks import built_block, listed_rows
from graphsoft.distributed.edge_files import PartitionedGraph
from graphsoft.distributed.gathering import BYTES_EACH, gathered, most_entries
from graphsoft.distributed.growing import AT_ONCE, distinct, ends_of, replaced
from graphsoft.distributed.pieces import looked_up, pieces_of
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.summing import summed
from graphsoft.distributed.tasks import Record, Where, receivers, senders
from graphsoft.engine.ordering import weight_type
from graphsoft.errors import InputError
from graphsoft.graph.adjacency import MODEST, TOLERANCE
from graphsoft.kernels import read_only
from graphsoft.kernels.adjacency import row_sums
from graphsoft.linalg.csr import index_type

__all__ = ["bytes_needed", "deal"]

# If more of the entries cross blocks of consecutive nodes, the numbers say little about who is near whom.
MOST_CROSSING = 1 / 3
# Node numbers are cut into so many bins, or so many for each partition; a block is a run of bins.
BINS, BINS_EACH = 512, 4
# An edge that is read takes so many bytes at the peak, and a slice of edges this part of the memory.
BYTES_READ, SHARE_READ = 130, 0.2


def deal(run: Run, graph: PartitionedGraph, plan: Plan) -> list[Record]:
    """Make the files ``rows`` and ``graph`` of all partitions; returns the records of the blocks.

    Parameters
    ----------
    run : Run
    graph : PartitionedGraph
    plan : Plan
    """
    edges = _edges_at_once(plan)
    slices = graph.slices(edges)
    bins = min(graph.nodes, max(BINS, BINS_EACH * plan.partitions))
    own: dict[str, Any] = {
        "graph": [replace(graph, files=(graph.files[number],)) for number, _, _ in slices],
        "slice_": [(0, start, stop) for _, start, stop in slices],
    }
    read = run.stage("read-edges", read_slice, range(len(slices)), own=own, bins=bins)
    exponent, kind = _scale(read, graph.directed)
    loads = _nodes_of(graph.nodes, bins)
    if slices:  # there may be no edges at all
        loads = loads + summed(run, "read-edges", len(slices), ["loads"])["loads"]
    cuts = _balanced(loads, plan.partitions)
    known: dict[str, Any] = {"slices": len(slices), "nodes": graph.nodes, "bins": bins, "cuts": cuts}
    known |= {"directed": graph.directed, "exponent": exponent}
    blocks = run.stage("sort-edges", sort_block, plan.parts, **known)
    run.forget("read-edges")
    starts, last = _begins(graph.nodes, bins)[cuts], "sort-edges"
    movers: Sequence[Array | None] = [None] * plan.partitions
    entries, crossing = (sum(int(each[name]) for each in blocks) for name in ("entries", "crossing"))
    if crossing > MOST_CROSSING * entries:
        before, starts = starts, gathered(run, plan, starts, blocks)
        moved = run.stage("move-edges", move_block, plan.parts, before=before, starts=starts)
        movers, last = senders(moved), "move-edges"
        run.forget("number-nodes")
        run.forget("sort-edges")
    own = {"movers": movers}
    run.stage("rows", listed_rows, plan.parts, own=own, starts=starts)
    records = run.stage("graph", built_block, plan.parts, own=own, starts=starts, kind=kind)
    run.forget(last)
    return records


def bytes_needed(plan: Plan, graph: PartitionedGraph) -> dict[str, int]:
    """Estimate what a process needs at its peak in each stage, for partitions of equal size.

    Edges count as if each were listed once. What Python and its libraries take comes on top.
    """
    listed = sum(file.edges for file in graph.files)
    entries, nodes = 2 * listed / plan.partitions, graph.nodes / plan.partitions
    bins = max(BINS, BINS_EACH * plan.partitions) / plan.partitions
    ends = min(graph.nodes, entries)
    return {
        "read-edges": int(BYTES_READ * min(_edges_at_once(plan), listed)),
        "sort-edges": int(entries * (28 + 44 / bins) + 24 * nodes),
        "merge-groups": int(entries * 30 + 64 * min(AT_ONCE, entries) + 20 * ends + 64 * nodes),
        "cut-groups": BYTES_EACH * min(most_entries(plan), 2 * listed),
        "move-nodes": int(entries * 26 + 20 * ends + 40 * nodes),
        "move-edges": int(entries * 36 + 12 * ends + 40 * nodes),
        "graph": int(entries * 30 + 40 * nodes),
    }


def _edges_at_once(plan: Plan) -> int:
    """Tell how many edges a task reads."""
    return max(1 << 12, int(SHARE_READ * plan.max_memory / BYTES_READ))


def _begins(nodes: int, bins: int) -> Array:
    """Tell at which node each bin begins, and where the last ends; v is in bin ``v * bins // nodes``."""
    return -(-np.arange(bins + 1, dtype=np.int64) * nodes // bins)


def _nodes_of(nodes: int, bins: int) -> Array:
    return np.diff(_begins(nodes, bins))


def _balanced(loads: Array, parts: int) -> Array:
    """Cut a sequence into parts of about equal load: where each begins, and where the last one ends.

    Examples
    --------
    >>> _balanced(np.array([1, 1, 1, 1, 4]), 2)
    array([0, 4, 5])
    """
    total = np.concatenate(([0], np.cumsum(loads)))
    wanted = total[-1] * np.arange(1, parts) / parts
    above = np.clip(np.searchsorted(total, wanted), 1, len(loads))
    cuts = np.where(total[above] - wanted <= wanted - total[above - 1], above, above - 1)
    return np.concatenate(([0], np.maximum.accumulate(cuts), [len(loads)])).astype(np.int64)


def _scale(read: list[Record], directed: bool) -> tuple[int, type]:
    """Choose the power of two that weights are divided by, as a graph in memory does, and their type."""
    low = min((float(each["low"]) for each in read), default=np.inf) / (1 + directed)
    high = max((float(each["high"]) for each in read), default=0.0)
    if high == 0:
        return 0, np.float32
    exponent = int(np.frexp(high)[1]) - 1
    if exponent - int(np.frexp(low)[1]) > 1021:
        problem = f"has weights between {low:g} and {high:g}, too far apart for float64"
        raise InputError("path", problem, "rescale the weights or drop the negligible ones")
    if abs(exponent) <= MODEST and low >= np.finfo(np.float64).tiny:
        exponent = 0
    return exponent, weight_type(np.ldexp(np.array([low, high]), -exponent))


def read_slice(
    where: Where, graph: PartitionedGraph, slice_: tuple[int, int, int], bins: int
) -> dict[str, Any]:
    """Read a slice of the only file, and write both directions of its edges by the bins of their rows."""
    parts: dict[str, list[Array]] = {"rows": [], "columns": [], "weights": [], "turned": []}
    for some in graph.read(slice_):
        source, target = (column.astype(np.int32) for column in some[:2])
        back = slice(None) if graph.directed else source != target
        parts["rows"] += [source, target[back]]
        parts["columns"] += [target, source[back]]
        if some.weight is not None:
            parts["weights"] += [some.weight, some.weight[back]]
        if graph.directed:
            parts["turned"] += [np.zeros(len(source), dtype=bool), np.ones(len(source), dtype=bool)]
    rows = np.concatenate([*parts.pop("rows"), np.empty(0, dtype=np.int32)])
    bin_of = (rows.astype(np.int64) * bins // graph.nodes).astype(np.uint16 if bins <= 1 << 16 else np.int32)
    loads = np.bincount(bin_of, minlength=bins)
    order = np.argsort(bin_of, kind="stable")
    arrays = {"rows": rows[order]}
    del rows, bin_of
    for name, pieces in parts.items():
        if pieces:
            parts[name] = [np.concatenate(pieces)]
            arrays[name] = parts[name].pop()[order]
    ptr = np.concatenate(([0], np.cumsum(loads)))
    where.write(arrays | {"loads": loads}, dict.fromkeys(arrays, ptr))
    weights = arrays.get("weights", np.ones(min(1, len(order))))
    return {"low": weights.min(initial=np.inf), "high": weights.max(initial=0.0)}


def sort_block(
    where: Where, slices: int, nodes: int, bins: int, cuts: Array, directed: bool, exponent: int
) -> dict[str, Any]:
    """Gather the edges of a block, each once in every direction, in the order of node numbers."""
    begins = _begins(nodes, bins)
    first, last = int(cuts[where.part]), int(cuts[where.part + 1])
    start, stop = int(begins[first]), int(begins[last])
    counts: Array = np.zeros(stop - start, dtype=np.int64)
    columns, weights = [np.empty(0, dtype=np.int32)], [np.empty(0)]
    read = _of_bins(where, range(first, last), slices)
    for number in range(first, last):
        keys, values = _merged(*_of_bin(read.pop(0), start), directed, exponent, start)
        low, high = int(begins[number]) - start, int(begins[number + 1]) - start
        counts[low:high] = np.bincount((keys >> 32) - low, minlength=high - low)
        columns.append((keys & 0xFFFFFFFF).astype(np.int32))
        weights.append(values)
    ptr = np.concatenate(([0], np.cumsum(counts)))
    arrays = {"ptr": ptr, "columns": np.concatenate(columns)}
    del columns
    arrays["weights"] = np.concatenate(weights)
    del weights
    arrays["degrees"] = _degrees(ptr, arrays["weights"])
    where.write(arrays, {"degrees": pieces_of(stop - start)})
    outside = (arrays["columns"] < start) | (arrays["columns"] >= stop)
    bare = np.count_nonzero(counts == 0)
    return {"entries": ptr[-1], "crossing": np.count_nonzero(outside), "bare": bare, "nodes": stop - start}


def _degrees(ptr: Array, weights: Array) -> Array:
    """Sum the rows as a graph in memory does, with the same types and so the same compiled loop."""
    degrees = np.empty(len(ptr) - 1)
    small = ptr.astype(index_type(int(ptr[-1])), copy=False)
    row_sums(read_only(small), read_only(weights), 0, len(degrees), degrees)
    return degrees


def _of_bins(where: Where, bins: range, slices: int) -> list[list[dict[str, Array]]]:
    """Read for each bin what all slices have of it; a slice is opened once."""
    found: list[list[dict[str, Array]]] = [[] for _ in bins]
    for slice_ in range(slices):
        with where.open("read-edges", slice_) as file:
            names = [name for name in ("rows", "columns", "turned", "weights") if name in file]
            for number, parts in zip(bins, found, strict=True):
                parts.append({name: file.section(name, number) for name in names})
    return found


def _of_bin(parts: list[dict[str, Array]], start: int) -> tuple[Array, Array | None]:
    """Put a bin together: keys of row, column and direction, and the weights if there are any."""
    keys, weights = [np.empty(0, dtype=np.int64)], []
    for part in parts:
        some = (part["rows"].astype(np.int64) - start) << 32
        some |= part["columns"].astype(np.int64) << 1
        if "turned" in part:
            some |= part["turned"]
        keys.append(some)
        if "weights" in part:
            weights.append(part["weights"])
    return np.concatenate(keys), np.concatenate(weights) if weights else None


def _merged(
    keys: Array, weights: Array | None, directed: bool, exponent: int, start: int
) -> tuple[Array, Array]:
    """Sort entries and make one of those that are listed several times, whose weights must agree."""
    if weights is None:
        found, values = distinct(keys), None
    else:
        order = np.argsort(keys)
        keys, weights = keys[order], np.ldexp(weights[order], -exponent)
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        found, values = keys[begins], weights[:0]
        if len(begins):
            low, high = (f.reduceat(weights, begins) for f in (np.minimum, np.maximum))
            _refuse_conflicts(found, np.ldexp(low, exponent), np.ldexp(high, exponent), start)
            values = np.where(low == high, low, (low + high) / 2)
    values = np.ones(len(found)) if values is None else values
    if directed:  # the mean of both directions
        begins = np.flatnonzero(np.diff(found >> 1, prepend=-1))
        values = np.add.reduceat(values / 2, begins) if len(begins) else values
        found = found[begins]
    return (found >> 32 << 32) | ((found & 0xFFFFFFFF) >> 1), values


def _refuse_conflicts(keys: Array, low: Array, high: Array, start: int) -> None:
    bad = np.flatnonzero(high - low > TOLERANCE * high)
    if len(bad):
        key = int(keys[bad[0]])
        edge = f"{(key >> 32) + start} {(key & 0xFFFFFFFF) >> 1}"
        problem = f"edge {edge} weighs {low[bad[0]]:.10g} in one place and {high[bad[0]]:.10g} in another"
        raise InputError("path", problem, "write each edge with one weight; sum or average them before")


def move_block(where: Where, before: Array, starts: Array) -> dict[str, Any]:
    """Give the nodes of a block their new numbers, and write their rows by the partitions they go to."""
    with where.open("number-nodes", where.part) as file:
        numbers = file.array("numbers")
    with where.open("sort-edges", where.part) as file:
        ptr, columns = file.array("ptr"), file.array("columns")
        ends, columns = ends_of(columns)
        columns = replaced(columns, looked_up(where, "number-nodes", "numbers", ends, before))
        del ends
        matrix = sp.csr_array((file.array("weights"), columns, ptr), shape=(len(numbers), int(starts[-1])))
        del columns
        degrees = file.array("degrees")
    order = np.argsort(numbers)
    matrix = matrix[order]
    cut = np.searchsorted(numbers[order], starts)
    counts = np.diff(matrix.indptr).astype(np.int32)
    arrays = {"rows": before[where.part] + order, "degrees": degrees[order], "counts": counts}
    cuts = dict.fromkeys(arrays, cut) | dict.fromkeys(("columns", "weights"), matrix.indptr[cut])
    columns = matrix.indices.astype(np.int32, copy=False)
    where.write(arrays | {"columns": columns, "weights": matrix.data}, cuts)
    return {"to": receivers(cut)}
