"""Rounds in which groups of nodes grow over the blocks of a graph; see `graphsoft.distributed.gathering`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.pieces import heads_of, looked_up, pieces_of
from graphsoft.distributed.tasks import Where, receivers, sections_for
from graphsoft.kernels import Rows
from graphsoft.kernels.gathering import best_centers, filled_groups
from graphsoft.parallel import pieces_by_load

__all__ = [
    "AT_ONCE",
    "Units",
    "choose_centers",
    "distinct",
    "ends_of",
    "fill_groups",
    "leaders_of",
    "merge_units",
    "places_in",
    "replaced",
    "sum_units",
    "tell_leaders",
    "units_of",
]

# One of so many units is a center, which others join.
CENTERS = 4
# Entries that are summed at a time.
AT_ONCE = 1 << 19


class Units(NamedTuple):
    """Units of one block in one round, with the edges to all others; self-loops do not matter.

    Their ids rise. Columns are ids. Weights are float32: they only decide who joins whom.
    """

    ids: Array
    ptr: Array
    columns: Array
    weights: Array
    degrees: Array
    loads: Array


def units_of(where: Where, number: int, block: int, starts: Array) -> Units:
    """Read the units of a block before a round. Before the first one these are its nodes that have edges."""
    if number:
        with where.open(stage_of_units(number), block) as file:
            return Units(*(file.array(name) for name in Units._fields))
    with where.open("sort-edges", block) as file:
        ptr, columns, weights, degrees = (file.array(k) for k in ("ptr", "columns", "weights", "degrees"))
    counts = np.diff(ptr)
    some = np.flatnonzero(counts)
    ids = (starts[block] + some).astype(np.int32)
    ptr = np.concatenate(([0], ptr[some + 1]))
    return Units(ids, ptr, columns, weights.astype(np.float32), degrees[some], counts[some] + 1)


def stage_of_units(number: int) -> str:
    """Name the stage that wrote the units of a round."""
    return f"sum-groups-{number}" if number else "sort-edges"


def ends_of(columns: Array) -> tuple[Array, Array]:
    """List the different columns in rising order, and find each column there; the places are written over it.

    Examples
    --------
    >>> ends_of(np.array([7, 3, 9, 3], dtype=np.int32))
    (array([3, 7, 9], dtype=int32), array([1, 0, 2, 0], dtype=int32))
    """
    low = int(columns.min(initial=np.iinfo(np.int32).max))
    span = int(columns.max(initial=-1)) - low + 1
    if 0 < span <= len(columns):  # by a table, since nothing needs to be sorted
        columns -= low
        seen = np.zeros(span, dtype=np.bool_)
        seen[columns] = True
        ends = (np.flatnonzero(seen) + low).astype(np.int32)
        return ends, replaced(columns, np.cumsum(seen, dtype=np.int32) - 1)
    ends = distinct(columns)
    return ends, places_in(ends, columns)


def distinct(numbers: Array) -> Array:
    """Sort numbers of at least 0, and keep each once, in the time of the sort; `numpy.unique` takes longer.

    Examples
    --------
    >>> distinct(np.array([2, 0, 2]))
    array([0, 2])
    """
    found = np.sort(numbers)
    return np.asarray(found[np.diff(found, prepend=-1) != 0])


def places_in(ends: Array, columns: Array) -> Array:
    """Find columns among ids that rise, some at a time; the places are written over them."""
    for start in range(0, len(columns), AT_ONCE):
        some = columns[start : start + AT_ONCE]
        some[:] = np.searchsorted(ends, some)
    return columns


def replaced(places: Array, values: Array) -> Array:
    """Write the value of each place over it, some at a time."""
    for start in range(0, len(places), AT_ONCE):
        some = places[start : start + AT_ONCE]
        some[:] = values[some]
    return places


def choose_centers(where: Where, number: int, starts: Array) -> dict[str, Any]:
    """Choose for each unit the center that it would join, and ask the center's block.

    Units without edges ask to join the first of them in the block.
    """
    units = units_of(where, number, where.part, starts)
    ends, columns = ends_of(units.columns)
    degrees = looked_up(where, stage_of_units(number), "degrees", ends, starts).astype(np.float64, copy=False)
    best, scores = np.empty(len(units.ids), dtype=np.int64), np.empty(len(units.ids))
    rows = Rows(units.ptr, columns, units.weights)
    with np.errstate(over="ignore"):
        best_centers(rows, units.ids, ends, _are_centers(ends, number), degrees, best, scores)
    asking = (best >= 0) & ~_are_centers(units.ids, number)
    targets = np.full(len(best), -1, dtype=np.int32)
    targets[asking] = ends[best[asking]]
    free = np.flatnonzero(best == -2)
    targets[free[1:]] = units.ids[free[:1]]
    chosen = np.flatnonzero(targets >= 0)
    chosen = chosen[np.lexsort((units.ids[chosen], -scores[chosen] / units.degrees[chosen], targets[chosen]))]
    arrays = {"units": units.ids[chosen], "targets": targets[chosen], "loads": units.loads[chosen]}
    arrays["scores"] = scores[chosen] / units.degrees[chosen]
    cut = np.searchsorted(arrays["targets"], starts)
    where.write(arrays, dict.fromkeys(arrays, cut))
    return {"to": receivers(cut)}


def _are_centers(ids: Array, number: int) -> Array:
    """Draw centers by a hash of their ids, others in each round."""
    bits = ids.astype(np.uint64) + np.uint64((number + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((bits >> np.uint64(33)) % np.uint64(CENTERS) == 0)


def fill_groups(where: Where, askers: Array, number: int, starts: Array, most: int) -> dict[str, Any]:
    """Answer the units of the blocks `askers` that would join a center.

    Those with the largest scores join while there is room. The others, which want the same center, form
    groups of their own.
    """
    asked = sections_for(
        where, f"choose-groups-{number}", askers,
        units=np.int32, targets=np.int32, loads=np.int64, scores=np.float64,
    )  # fmt: skip
    units, targets, loads, scores = (np.concatenate(asked.pop(name)) for name in list(asked))
    order = np.lexsort((units, -scores, targets))
    units, targets, loads = units[order], targets[order], loads[order]
    wanted, which = np.unique(targets, return_inverse=True)
    if number:
        of_targets = looked_up(where, stage_of_units(number), "loads", wanted, starts)
    else:
        with where.open("sort-edges", where.part) as file:
            of_targets = np.diff(file.array("ptr"))[wanted - starts[where.part]] + 1
    leaders = np.empty_like(units)
    filled_groups(units, targets, loads, of_targets[which].astype(np.int64), most, leaders)
    joined = np.flatnonzero(leaders != units)
    joined = joined[np.argsort(units[joined])]
    arrays = {"units": units[joined], "leaders": leaders[joined]}
    cut = np.searchsorted(arrays["units"], starts)
    where.write(arrays, dict.fromkeys(arrays, cut))
    return {"to": receivers(cut)}


def tell_leaders(where: Where, asked: Array, number: int, starts: Array) -> None:
    """Collect what the blocks `asked` answered the units of this one: the group of each, or its own."""
    ids = units_of(where, number, where.part, starts).ids
    leaders = ids.copy()
    told = sections_for(where, f"fill-groups-{number}", asked, units=np.int32, leaders=np.int32)
    for units, theirs in zip(told["units"], told["leaders"], strict=True):
        leaders[np.searchsorted(ids, units)] = theirs
    where.write(
        {"ids": ids, "heads": heads_of(ids), "leaders": leaders},
        dict.fromkeys(("ids", "leaders"), pieces_of(len(ids))),
    )


def leaders_of(where: Where, number: int, ids: Array, starts: Array) -> Array:
    """Tell which groups units of any blocks are in after a round; the ids rise."""
    return looked_up(where, f"tell-groups-{number}", "leaders", ids, starts)


def merge_units(where: Where, number: int, starts: Array) -> dict[str, Any]:
    """Sum the rows of the units of a block by groups, and send them to the blocks of these groups."""
    units = units_of(where, number, where.part, starts)
    ends, places = ends_of(units.columns)
    own, others = (leaders_of(where, number, ids, starts) for ids in (units.ids, ends))
    order = np.argsort(own, kind="stable")
    counts = np.diff(units.ptr)[order]
    keys, weights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.float32)]
    # rows of a group may be in two pieces; what is left to sum then is summed by the group's block
    for start, stop in pieces_by_load(np.concatenate(([0], np.cumsum(counts))), AT_ONCE):
        rows, lengths = order[start:stop], counts[start:stop]
        before = np.cumsum(lengths) - lengths
        entries = np.arange(lengths.sum()) + np.repeat(units.ptr[rows] - before, lengths)
        leaders = np.repeat(own[rows], lengths)
        columns = others[places[entries]]
        kept = leaders != columns
        key = (leaders[kept].astype(np.int64) << 32) | columns[kept]
        summed = _summed(key, units.weights[entries[kept]])
        keys.append(summed[0])
        weights.append(summed[1])
    groups = {"ids": own[order], "degrees": units.degrees[order], "loads": units.loads[order]}
    del units, places
    edges = {"keys": np.concatenate(keys)}
    del keys
    edges["weights"] = np.concatenate(weights)
    cuts = dict.fromkeys(groups, np.searchsorted(groups["ids"], starts))
    cuts |= dict.fromkeys(edges, np.searchsorted(edges["keys"], starts << 32))
    where.write(groups | edges, cuts)
    return {"to": receivers(cuts["ids"])}


def _summed(keys: Array, values: Array) -> tuple[Array, Array]:
    """Sum values by their keys, which rise in the result."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    if not len(begins):
        return keys, values
    return keys[begins], np.add.reduceat(values[order], begins)


def sum_units(where: Where, members: Array, number: int) -> dict[str, Any]:
    """Sum what the blocks of their `members` know of the groups of this one: the units of the next round."""
    parts = sections_for(
        where, f"merge-groups-{number - 1}", members,
        ids=np.int32, degrees=np.float64, loads=np.int64, keys=np.int64, weights=np.float32,
    )  # fmt: skip
    ids, degrees, loads = (np.concatenate(parts.pop(name)) for name in ("ids", "degrees", "loads"))
    units, degrees = _summed(ids, degrees)
    loads = _summed(ids, loads)[1]
    counts, columns, weights = _summed_in_pieces(units, parts["keys"], parts["weights"])
    ptr = np.concatenate(([0], np.cumsum(counts)))
    made = Units(units, ptr, columns, weights, degrees, loads)
    arrays = made._asdict() | {"heads": heads_of(units)}
    where.write(arrays, dict.fromkeys(("ids", "degrees", "loads"), pieces_of(len(units))))
    return {"units": len(units), "entries": len(columns)}


def _summed_in_pieces(units: Array, keys: list[Array], weights: list[Array]) -> tuple[Array, Array, Array]:
    """Sum lists of entries, each of which rises: entries of each unit, columns, weights."""
    pieces = 1 + sum(map(len, keys)) // AT_ONCE
    bounds = units[np.arange(1, pieces) * len(units) // pieces].astype(np.int64) << 32
    cuts = [np.concatenate(([0], np.searchsorted(some, bounds), [len(some)])) for some in keys]
    counts: Array = np.zeros(len(units), dtype=np.int64)
    columns, sums = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.float32)]
    for piece in range(pieces):
        parts = [slice(cut[piece], cut[piece + 1]) for cut in cuts]
        some_keys, some_weights = (
            np.concatenate([some[part] for some, part in zip(lists, parts, strict=True)])
            for lists in (keys, weights)
        )
        key, total = _summed(some_keys, some_weights)
        counts += np.bincount(np.searchsorted(units, key >> 32), minlength=len(units))
        columns.append((key & 0xFFFFFFFF).astype(np.int32))
        sums.append(total)
    return counts, np.concatenate(columns), np.concatenate(sums)
