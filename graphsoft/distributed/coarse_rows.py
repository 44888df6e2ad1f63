"""The graph of groups in rows: each partition sums what its nodes contribute, and one task puts it together.

Of each two mirrored entries only the one above the diagonal is kept, and mirrored in the end. So the graph of
groups is symmetric to the last bit, and takes half the room on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from graphsoft.aliases import Array
from graphsoft.distributed.block_files import read_edges
from graphsoft.distributed.files import rows_in_sections
from graphsoft.distributed.merging import from_halo, light_components
from graphsoft.distributed.pieces import looked_up, pieces_of
from graphsoft.distributed.tasks import Where
from graphsoft.engine.coarsening import STRAY_MASS, summed_rows
from graphsoft.engine.ordering import weight_type
from graphsoft.engine.scales import Layer, contraction, merged_along_edges
from graphsoft.engine.ties import structure_keys
from graphsoft.graph.graph import Graph
from graphsoft.linalg.csr import pointers
from graphsoft.parallel import LOAD, pieces_by_load

__all__ = [
    "Gathered",
    "assemble",
    "count_islands",
    "merge_groups",
    "number_merged",
    "renumbered",
    "sum_edges",
    "sum_groups",
]

# Entries that are mirrored at a time.
ROOM = 4 * LOAD


def sum_edges(where: Where, groups: str, offsets: Array) -> Mapping[str, Any]:
    """Sum the edges of a partition's nodes by groups.

    Parameters
    ----------
    where : Where
    groups : str
        The stage that numbered the groups.
    offsets : ndarray
        Where the numbers of each partition begin, and where the last ones end.
    """
    with where.open("graph", where.part) as file:
        edges, degrees = read_edges(file), file.array("degrees")
        parts = np.unique(file.array("halo_part"))
    with where.open(groups, where.part) as file:
        own = file.array("group")
    columns = np.concatenate([own, from_halo(where, groups, "sent", parts)])
    rows, group = np.unique(own, return_inverse=True)
    summed = summed_rows(edges, group, len(rows), columns, offsets[-1], np.float64)
    known = {"single": edges.dtype == np.float32, "given": edges.nnz}
    del edges
    upper = _kept(summed, np.repeat(rows, np.diff(summed.indptr)) <= summed.indices)
    masses = np.bincount(group, degrees, minlength=len(rows))
    return {**_write_rows(where, rows, upper, masses, offsets), **known}


def _kept(matrix: sp.csr_array, kept: Array) -> sp.csr_array:
    """Keep some of the entries of a matrix."""
    before = np.zeros(len(kept) + 1, dtype=matrix.indptr.dtype)
    np.cumsum(kept, out=before[1:])
    parts = matrix.data[kept], matrix.indices[kept], before[matrix.indptr]
    return sp.csr_array(parts, shape=matrix.shape)


def _write_rows(
    where: Where, rows: Array, upper: sp.csr_array, degrees: Array, offsets: Array
) -> Mapping[str, Any]:
    """Write some rows of the graph of groups, in sections by the partition that their numbers belong to."""
    upper.sort_indices()
    cut = np.searchsorted(rows, offsets)
    arrays, cuts = rows_in_sections("weights", upper, cut)
    arrays |= {"rows": rows, "degrees": degrees, "of_part": np.diff(upper.indptr[cut]).astype(np.int64)}
    where.write(arrays, cuts | {"rows": cut, "degrees": cut})
    return {"entries": upper.nnz}


@dataclass(frozen=True, eq=False)
class Gathered:
    """Groups of some partitions next to each other, which become one.

    Attributes
    ----------
    stage : str
        The stage that wrote their rows.
    offsets : ndarray
        Where the numbers of each of these partitions begin, and where the last ones end.
    runs : ndarray
        Where the partitions begin that become one, and where the last ones end.
    """

    stage: str
    offsets: Array
    runs: Array

    def numbers(self, part: int) -> tuple[int, int]:
        """Tell where the numbers of groups begin that will be in one partition, and where they end."""
        return int(self.offsets[self.runs[part]]), int(self.offsets[self.runs[part + 1]])

    def read(self, where: Where) -> tuple[Array, Array, Array, Array]:
        """Read what will be in one partition: rows, columns and values of entries, and degrees."""
        begin, end = self.numbers(where.part)
        found: list[tuple[Array, Array, Array]] = []
        degrees = np.zeros(end - begin)
        for part in range(len(self.offsets) - 1):
            with where.open(self.stage, part) as file:
                for section in range(self.runs[where.part], self.runs[where.part + 1]):
                    rows = file.section("rows", section)
                    if not len(rows):
                        continue
                    weights = file.rows("weights", section)
                    degrees[rows - begin] += file.section("degrees", section)
                    rows = np.repeat(rows.astype(np.int32), np.diff(weights.indptr))
                    found.append((rows, weights.indices, weights.data))
        if not found:
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0), degrees
        rows, columns, values = (np.concatenate(each) for each in zip(*found, strict=True))
        return rows, columns, values, degrees


def merge_groups(where: Where, gathered: Mapping[str, Any], share: int, across: bool) -> Mapping[str, Any]:
    """Merge groups of partitions that become one, until there are as many as its share.

    `gathered` has what a `Gathered` is made of. `across` tells that light groups are to merge where no edge
    is left to merge along.
    """
    these = Gathered(**gathered)
    rows, columns, values, degrees = these.read(where)
    begin, end = these.numbers(where.part)
    inside = (columns >= begin) & (columns < end)
    rows, columns, values = rows[inside] - begin, columns[inside] - begin, values[inside]
    upper = sp.csr_array((values, (rows, columns)), shape=(end - begin, end - begin))
    del rows, columns, values, inside
    upper.data = upper.data.astype(weight_type(upper.data))
    graph = Graph(_mirrored(upper), range(end - begin))
    del upper
    layer = Layer(graph, structure_keys(graph.adjacency), degrees)
    if across:
        scales = contraction(layer, max(1, share), np.zeros(len(layer), dtype=np.int32))
        group = scales.spread(np.arange(len(scales.layers[-1])))
    else:
        group = merged_along_edges(layer, share + light_components(graph, degrees, share))
    where.write({"group": group.astype(np.int64)})
    return {"groups": int(group.max(initial=-1)) + 1}


def sum_groups(where: Where, gathered: Mapping[str, Any], numbered: str, offsets: Array) -> Mapping[str, Any]:
    """Sum rows of the graph of groups by the groups that merged; `offsets` has where their numbers begin."""
    these = Gathered(**gathered)
    rows, columns, values, degrees = these.read(where)
    groups = np.arange(*these.numbers(where.part))
    low, high, own = renumbered(where, numbered, int(these.offsets[-1]), rows, columns, groups)
    values[(low == high) & (rows != columns)] *= 2.0  # both mirrored entries come to lie on the diagonal
    del rows, columns
    low, high = np.minimum(low, high), np.maximum(low, high)
    found, place = np.unique(np.concatenate([low, own]), return_inverse=True)
    shape = len(found), offsets[-1]
    upper = sp.csr_array((values, (place[: len(low)], high.astype(np.int32))), shape=shape)
    masses = np.bincount(place[len(low) :], degrees, minlength=len(found))
    return _write_rows(where, found, upper, masses, offsets)


def number_merged(where: Where, merged: str, offsets: Array) -> None:
    """Write the new number of every group in one file, which many tasks look up."""
    numbers: list[Array] = []
    for part, begin in enumerate(offsets[:-1]):
        with where.open(merged, part) as file:
            numbers.append(file.array("group") + begin)
    found = np.concatenate(numbers)
    where.write({"numbers": found}, {"numbers": pieces_of(len(found))})


def renumbered(where: Where, numbered: str, count: int, *groups: Array) -> list[Array]:
    """Look up the new numbers of some groups, of which there are so many in all."""
    needed = np.zeros(count, dtype=np.bool_)
    for some in groups:
        needed[some] = True
    wanted = np.flatnonzero(needed)
    numbers = np.empty(count, dtype=np.int64)  # of those that are wanted
    numbers[wanted] = looked_up(where, numbered, "numbers", wanted, np.array([0, count]))
    return [numbers[some] for some in groups]


def assemble(
    where: Where, stage: str, files: int, nodes: int, dtype: str, edges: float, spared: int
) -> Mapping[str, Any]:
    """Put the graph of groups together, from rows in so many files.

    `edges` and `spared` are those of the original graph: its edges, and the components it has beyond these.
    """
    graph = _assembled(where, stage, files, nodes, dtype)
    arrays, cuts = rows_in_sections("weights", graph)
    where.write(arrays | {"edges": np.array(edges)}, cuts)
    components = int(Graph(graph, range(nodes)).components.max()) + 1
    return {"nodes": nodes, "entries": graph.nnz, "components": components + spared}


def count_islands(where: Where, stage: str, files: int, nodes: int, clusters: int) -> Mapping[str, Any]:
    """Count the components that are heavy enough for a cluster of their own."""
    graph = Graph(_assembled(where, stage, files, nodes, np.float32), range(nodes))
    mass = np.bincount(graph.components, graph.degrees)
    heavy = (mass > 0) & (mass >= STRAY_MASS * mass.sum() / clusters)
    return {"islands": np.count_nonzero(heavy)}


def _assembled(where: Where, stage: str, files: int, nodes: int, dtype: DTypeLike) -> sp.csr_array:
    """Read the rows of all partitions and mirror them; rows overlap where nodes joined groups of others."""
    counts = np.zeros(nodes, dtype=np.int64)
    for part in range(files):
        with where.open(stage, part) as file:
            counts[file.array("rows")] += file.array("weights/counts")
    ptr = pointers(counts)
    columns, weights, begins = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1]), ptr[:-1].astype(np.int64)
    for part in range(files):
        with where.open(stage, part) as file:
            rows, some = file.array("rows"), file.array("weights/counts").astype(np.int64)
            places = np.repeat(begins[rows] - np.cumsum(some) + some, some) + np.arange(some.sum())
            columns[places] = file.array("weights/columns")
            weights[places] = file.array("weights/values")
            begins[rows] += some
            del rows, some, places
    upper = sp.csr_array((weights, columns, ptr), shape=(nodes, nodes))
    del columns, weights
    upper.sum_duplicates()
    upper.data = upper.data.astype(dtype)
    return _mirrored(upper)


def _mirrored(upper: sp.csr_array) -> sp.csr_array:
    """Add the mirror image of the entries above the diagonal; columns are sorted."""
    count, lower = upper.shape[0], upper.tocsc()
    first = np.append(upper.indices, -1)[upper.indptr[:-1]]
    loops = (first == np.arange(count)) & (np.diff(upper.indptr) > 0)
    left, right = np.diff(lower.indptr) - loops, np.diff(upper.indptr)
    ptr = pointers(left.astype(np.int64) + right)
    indices, data = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1], dtype=upper.dtype)
    for start, stop in pieces_by_load(ptr, ROOM):
        some, before = slice(start, stop), ptr[start:stop].astype(np.int64)
        for half, counts, begins in ((lower, left, before), (upper, right, before + left[some])):
            within = np.arange(counts[some].sum()) - np.repeat(
                np.cumsum(counts[some]) - counts[some], counts[some]
            )
            source = np.repeat(half.indptr[some], counts[some]) + within
            target = np.repeat(begins, counts[some]) + within
            indices[target], data[target] = half.indices[source], half.data[source]
    return sp.csr_array((data, indices, ptr), shape=upper.shape)
