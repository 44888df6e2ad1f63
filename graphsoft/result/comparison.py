"""Two clusterings of the same points compared: which clusters are found again, which are split or merged.

Soft clusters have ``sum_i min(s_iq, t_ip)`` points in common. Their overlap is that number divided by
``sum_i max(s_iq, t_ip)``. For hard clusters this is the Jaccard index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown, warn
from graphsoft.input.labels import label_array, shares_of
from graphsoft.input.names import in_row_order, rows_named
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import frozen, likeliest
from graphsoft.metrics import adjusted_rand, nmi
from graphsoft.parallel import map_pieces, pieces_by_load
from graphsoft.result.tables import aligned, levels_shown, number_or_dash, shortened

__all__ = [
    "Comparison",
    "Match",
    "NamedClusters",
    "as_named_clusters",
    "common_points",
    "compared",
    "overlaps",
]

# A cluster is mostly in another if that holds more than this part of its points.
MOSTLY = 0.5
# Pairs of entries in one piece of work.
PAIRS_PER_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class NamedClusters:
    """A clustering of one or more levels, with names for its clusters and points.

    Attributes
    ----------
    levels : tuple of csr_array, each of shape (n, m)
        Memberships.
    ids : tuple of tuples of str
        The names of the clusters of each level.
    nodes : sequence of n, or range
        The names of the points. A range means that they have no names, only row numbers.
    """

    levels: tuple[sp.csr_array, ...]
    ids: tuple[tuple[str, ...], ...]
    nodes: Sequence[Any]

    @classmethod
    def of_levels(cls, levels: Sequence[sp.csr_array], nodes: Sequence[Any]) -> NamedClusters:
        """Name clusters by level and number, as the tree does."""
        ids = tuple(
            tuple(f"{number}-{cluster}" for cluster in range(level.shape[1]))
            for number, level in enumerate(levels)
        )
        return cls(tuple(levels), ids, nodes)


@dataclass(frozen=True)
class Match:
    """What becomes of a cluster in the other clustering.

    Attributes
    ----------
    id : str
    size : int
        The number of points whose likeliest cluster it is, as everywhere.
    expected_size : float
        The sum of its memberships: torn points count in part. `overlap` and `split` are parts of such sums.
    best : str
        The cluster of the other clustering that it overlaps most.
    overlap : float
        Of these two: from 0, nothing in common, to 1, the same memberships.
    split : tuple of (str, float)
        If several clusters of the other clustering are mostly in this one: their names, and the part of this
        one that each of them holds. The largest comes first.
    merged : tuple of str
        If this cluster is mostly in one of the other clustering: the clusters that are mostly in the same.
    """

    id: str
    size: int
    expected_size: float
    best: str
    overlap: float
    split: tuple[tuple[str, float], ...]
    merged: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two clusterings of the same points; made by ``h.compare(other)``.

    ``print`` shows the scores, and the matches of the top level and of levels with at most 30 clusters below.

    Attributes
    ----------
    adjusted_rand, nmi : ndarray of shape (levels, levels of the other)
        Scores of the hard labels, where 1 means the same. NMI is divided by the larger entropy.
    nearest : tuple of int
        For each level, the level of the other clustering with the largest adjusted Rand index.
    matches : tuple of tuples of Match
        For each level, its clusters compared with those of that nearest level.
    """

    adjusted_rand: Array
    nmi: Array
    nearest: tuple[int, ...]
    matches: tuple[tuple[Match, ...], ...]
    _sizes: tuple[int, ...] = field(default=())

    def __repr__(self) -> str:
        best = ", ".join(
            f"level {level} beside {other}: {self.adjusted_rand[level, other]:.3f}"
            for level, other in enumerate(self.nearest)
        )
        return f"Comparison(adjusted Rand index of {best})"

    def __str__(self) -> str:
        lines = []
        for called, scores in (("adjusted Rand", self.adjusted_rand), ("NMI", self.nmi)):
            header = [called, *(f"{m} clusters" for m in self._sizes)]
            rows = [
                [f"{len(self.matches[level])} clusters", *(number_or_dash(score, ".3f") for score in row)]
                for level, row in enumerate(scores.tolist())
            ]
            lines += [*aligned([header, *rows], left=[called]), ""]
        for level in levels_shown([len(matches) for matches in self.matches]):
            lines += [self._heading(level), *_table(self.matches[level]), ""]
        return "\n".join(lines[:-1])

    def _heading(self, level: int) -> str:
        other, matches = self.nearest[level], self.matches[level]
        found = sum(match.overlap > MOSTLY for match in matches)
        return (
            f"{len(matches)} clusters beside {self._sizes[other]}: {found} overlap another by more than half"
        )


def _table(matches: tuple[Match, ...]) -> list[str]:
    rows = [["cluster", "size", "best match", "overlap", "split into", "merged with"]]
    for match in sorted(matches, key=lambda match: -match.expected_size):
        split = ", ".join(f"{id} ({part:.0%})" for id, part in match.split)
        merged = " ".join(match.merged)
        rows.append([match.id, str(match.size), match.best, number_or_dash(match.overlap), split, merged])
    return shortened(aligned(rows, left=["cluster", "best match", "split into", "merged with"]))


def common_points(one: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    """Count the points that clusters have in common: ``sum_i min(s_iq, t_ip)``, of shape (m, m of the other).

    Examples
    --------
    >>> soft = sp.csr_array([[0.5, 0.5], [0.0, 1.0]])
    >>> common_points(soft, sp.csr_array([[0.25, 0.75], [0.0, 1.0]])).toarray()
    array([[0.25, 0.5 ],
           [0.25, 1.5 ]])
    """
    shape = one.shape[1], other.shape[1]
    mine, theirs = np.diff(one.indptr).astype(np.int64), np.diff(other.indptr).astype(np.int64)
    pairs = np.concatenate(([0], np.cumsum(mine * theirs)))

    def piece(start: int, stop: int) -> sp.csr_array:
        lengths = np.repeat(theirs[start:stop], mine[start:stop])  # partners of each entry of `one`
        entries = np.repeat(np.arange(one.indptr[start], one.indptr[stop]), lengths)
        first = np.repeat(np.repeat(other.indptr[start:stop], mine[start:stop]), lengths)
        within = np.arange(len(entries)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        partners = first + within
        both = np.minimum(one.data[entries], other.data[partners])
        return sp.coo_array((both, (one.indices[entries], other.indices[partners])), shape=shape).tocsr()

    total = sp.csr_array(shape)
    for part in map_pieces(piece, pieces_by_load(pairs, PAIRS_PER_PIECE)):
        total = total + part
    return sp.csr_array(total)


def overlaps(common: sp.csr_array, sizes: Array, others: Array) -> sp.csr_array:
    """Turn numbers of common points into overlaps, given the sizes of the clusters on either side.

    Examples
    --------
    >>> overlaps(sp.csr_array([[2.0, 1.0]]), np.array([3.0]), np.array([2.0, 1.0])).toarray().round(2)
    array([[0.67, 0.33]])
    """
    rows = np.repeat(np.arange(common.shape[0]), np.diff(common.indptr))
    either = sizes[rows] + taken(others, common.indices) - common.data
    return sp.csr_array((common.data / either, common.indices, common.indptr), shape=common.shape)


def as_named_clusters(other: Any, nodes: Sequence[Any]) -> NamedClusters:
    """Read labels or memberships, and name their clusters.

    Parameters
    ----------
    other : mapping, list of sets, array-like of shape (n,), or memberships of shape (n, m)
        A mapping gives a label for the name of every point. Sets hold names.
    nodes : sequence of n
        The names of the points.

    Examples
    --------
    >>> as_named_clusters({"x": "red", "y": "blue"}, ("y", "x")).ids
    (('blue', 'red'),)
    """
    other = getattr(other, "membership", other)  # igraph keeps the labels of a clustering there
    if isinstance(other, list | tuple) and any(isinstance(group, Set) for group in other):
        other = _labels_of_sets(other)
    other = in_row_order("other", other, nodes)
    shares = shares_of(other, "other")
    if np.ndim(other) != 1:  # memberships, or an object that has them
        ids = tuple(map(str, range(shares.shape[1])))
    else:
        ids = tuple(map(str, np.unique(label_array(other)).tolist()))
        if {"-1", "-1.0"} & set(ids) and len(ids) > 1:
            warn("other: -1, the label of noise in HDBSCAN and others, is compared as a cluster")
    if shares.shape[0] != len(nodes):
        problem = f"has {shares.shape[0]} points, and the hierarchy {len(nodes)}"
        raise InputError("other", problem, "compare clusterings of the same points")
    return NamedClusters((shares,), (ids,), nodes)


def _labels_of_sets(groups: Sequence[Iterable[Any]]) -> dict[Any, int]:
    """Turn sets of points into a label for each point.

    Examples
    --------
    >>> _labels_of_sets([{"x"}, {"z"}])
    {'x': 0, 'z': 1}
    """
    labels: dict[Any, int] = {}
    for number, group in enumerate(groups):
        for name in group:
            if name in labels:
                remedy = "give sets that have no point in common, or memberships"
                raise InputError("other", f"has {shown(name)} in two sets", remedy)
            labels[name] = number
    return labels


def compared(one: NamedClusters, other: NamedClusters) -> Comparison:
    """Compare every level of one with every level of the other, matching points by their names.

    Examples
    --------
    >>> one = NamedClusters.of_levels([sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])], ("a", "b", "c"))
    >>> comparison = compared(one, as_named_clusters(["x", "y", "z"], one.nodes))
    >>> comparison.matches[0][1].split
    (('y', 0.5), ('z', 0.5))
    """
    order = _rows_in_other(one.nodes, other.nodes)
    others = [level if order is None else level[order] for level in other.levels]
    labels, other_labels = ([likeliest(level) for level in levels] for levels in (one.levels, others))
    scores = [
        np.array([[score(mine, theirs) for theirs in other_labels] for mine in labels])
        for score in (adjusted_rand, nmi)
    ]
    nearest = tuple(int(best) for best in scores[0].argmax(axis=1))
    matches = tuple(
        _matches(level, others[near], ids, other.ids[near])
        for level, near, ids in zip(one.levels, nearest, one.ids, strict=True)
    )
    return Comparison(frozen(scores[0]), frozen(scores[1]), nearest, matches, tuple(map(len, other.ids)))


def _rows_in_other(nodes: Sequence[Any], others: Sequence[Any]) -> Array | None:
    """Find the row of every node among the others by its name; None if the order is the same."""
    if len(nodes) != len(others):
        problem = f"has {len(others)} points, and the hierarchy {len(nodes)}"
        raise InputError("other", problem, "compare clusterings of the same points")
    unnamed = isinstance(nodes, range) or isinstance(others, range)  # only row numbers can be compared
    if unnamed or all(one == other for one, other in zip(nodes, others, strict=True)):
        return None
    rows, missing = rows_named(nodes, others)
    if missing:
        problem = f"has no point {shown(missing[0])}"
        raise InputError("other", problem, "compare clusterings of the same points")
    return np.array(rows)


def _matches(
    level: sp.csr_array, other: sp.csr_array, ids: tuple[str, ...], other_ids: tuple[str, ...]
) -> tuple[Match, ...]:
    common = common_points(level, other)
    sizes, other_sizes = (np.asarray(each.sum(axis=0)).ravel() for each in (level, other))
    counts = np.bincount(likeliest(level), minlength=len(ids)).tolist()
    best, overlap = _largest_of_rows(overlaps(common, sizes, other_sizes))
    mostly_in = _mostly_in(common, sizes)
    parts = _grouped(_mostly_in(common.T.tocsr(), other_sizes))
    joined = _grouped(mostly_in)
    found = []
    for cluster, id in enumerate(ids):
        row = dict(zip(*_row(common, cluster), strict=True))
        shares = [(other_ids[part], float(row[part] / sizes[cluster])) for part in parts.get(cluster, [])]
        split = tuple(sorted(shares, key=lambda share: -share[1])) if len(shares) > 1 else ()
        merged = tuple(ids[each] for each in joined.get(int(mostly_in[cluster]), []) if each != cluster)
        name = other_ids[best[cluster]] if best[cluster] >= 0 else ""
        figures = counts[cluster], float(sizes[cluster]), name, float(overlap[cluster])
        found.append(Match(id, *figures, split, merged))
    return tuple(found)


def _grouped(groups: Array) -> dict[int, list[int]]:
    """List the members of each group; -1 is none."""
    members: dict[int, list[int]] = {}
    for member in np.flatnonzero(groups >= 0).tolist():
        members.setdefault(int(groups[member]), []).append(member)
    return members


def _row(matrix: sp.csr_array, row: int) -> tuple[list[int], list[float]]:
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[span].tolist(), matrix.data[span].tolist()


def _largest_of_rows(matrix: sp.csr_array) -> tuple[Array, Array]:
    """Find the largest entry of every row and its column; 0 and -1 for an empty row.

    Of equal entries, the one in the lower column counts.
    """
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    some = np.diff(matrix.indptr) > 0
    first = order[matrix.indptr[:-1][some]]
    best, value = np.full(matrix.shape[0], -1), np.zeros(matrix.shape[0])
    best[some], value[some] = matrix.indices[first], matrix.data[first]
    return best, value


def _mostly_in(common: sp.csr_array, sizes: Array) -> Array:
    """Find for every row the column that holds more than half of its size, or -1."""
    best, held = _largest_of_rows(common)
    best[held <= MOSTLY * sizes] = -1
    return best
