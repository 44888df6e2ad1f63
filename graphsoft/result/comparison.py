"""Two clusterings of the same points, side by side: which clusters are found again, which split or merged.

What two clusters have in common is counted softly: ``sum_i min(s_iq, t_ip)`` points, and their overlap is
that over ``sum_i max(s_iq, t_ip)``, which of hard clusters is Jaccard's index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown, warn
from graphsoft.input.constraints import by_name
from graphsoft.input.labels import shares_of
from graphsoft.linalg.memberships import frozen, likeliest
from graphsoft.metrics import adjusted_rand, nmi
from graphsoft.parallel import map_pieces, pieces_by_load
from graphsoft.result.tables import aligned, figure, levels_shown, shortened

__all__ = [
    "Comparison",
    "Match",
    "NamedClusters",
    "as_named_clusters",
    "common_points",
    "compared",
    "overlaps",
]

# Of this part of a cluster it is said that it is mostly in, or mostly of, another.
MOSTLY = 0.5
# Pairs of entries in one piece of work.
LOAD = 1 << 20


@dataclass(frozen=True, eq=False)
class NamedClusters:
    """One of the clusterings to compare.

    Attributes
    ----------
    levels : tuple of csr_array, each of shape (n, m)
        Memberships.
    ids : tuple of tuples of str
        What the clusters of each level are called.
    nodes : sequence of n, or range
        The names of the points.
    """

    levels: tuple[sp.csr_array, ...]
    ids: tuple[tuple[str, ...], ...]
    nodes: Sequence[Any]

    @classmethod
    def of_levels(cls, levels: Sequence[sp.csr_array], nodes: Sequence[Any]) -> NamedClusters:
        """Call clusters by level and number, as the tree does."""
        ids = tuple(
            tuple(f"{number}-{cluster}" for cluster in range(level.shape[1]))
            for number, level in enumerate(levels)
        )
        return cls(tuple(levels), ids, nodes)


@dataclass(frozen=True)
class Match:
    """A cluster beside the other clustering.

    Attributes
    ----------
    id : str
    size : float
        Its points, torn ones in part.
    best : str
        The cluster of the other that it overlaps most.
    overlap : float
        From 0, nothing in common, to 1, the same memberships.
    split : tuple of (str, float)
        The clusters of the other that are mostly of this one, if there are several, and which part of this
        one each of them holds; largest first.
    merged : tuple of str
        Clusters beside this one that are mostly in the same cluster of the other, if this one is.
    """

    id: str
    size: float
    best: str
    overlap: float
    split: tuple[tuple[str, float], ...]
    merged: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two clusterings of the same points; made by ``h.compare(other)``.

    ``print`` shows the scores, and the matches of the top level and of those below that have no more than 30
    clusters.

    Attributes
    ----------
    adjusted_rand, nmi : ndarray of shape (levels, levels of the other)
        Of the likeliest clusters; 1 is the same. NMI is by the larger entropy.
    nearest : tuple of int
        For each level the one of the other with the largest adjusted Rand index.
    matches : tuple of tuples of Match
        For each level its clusters beside those of that nearest level.
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
                [f"{len(self.matches[level])} clusters", *(figure(score, ".3f") for score in row)]
                for level, row in enumerate(scores.tolist())
            ]
            lines += [*aligned([header, *rows], left=[called]), ""]
        for level in levels_shown([len(matches) for matches in self.matches]):
            lines += [self._heading(level), *_table(self.matches[level]), ""]
        return "\n".join(lines[:-1])

    def _heading(self, level: int) -> str:
        other, matches = self.nearest[level], self.matches[level]
        again = sum(match.overlap > MOSTLY for match in matches)
        return (
            f"{len(matches)} clusters beside {self._sizes[other]}: {again} overlap another by more than half"
        )


def _table(matches: tuple[Match, ...]) -> list[str]:
    rows = [["cluster", "size", "best match", "overlap", "split into", "merged with"]]
    for match in sorted(matches, key=lambda match: -match.size):
        split = ", ".join(f"{id} ({part:.0%})" for id, part in match.split)
        merged = " ".join(match.merged)
        rows.append([match.id, f"{match.size:.0f}", match.best, figure(match.overlap), split, merged])
    return shortened(aligned(rows, left=["cluster", "best match", "split into", "merged with"]))


def common_points(one: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    """Count what clusters have in common, ``sum_i min(s_iq, t_ip)``, sparse of shape (m, m of the other).

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
        lengths = np.repeat(theirs[start:stop], mine[start:stop])  # for each entry of ours
        entries = np.repeat(np.arange(one.indptr[start], one.indptr[stop]), lengths)
        first = np.repeat(np.repeat(other.indptr[start:stop], mine[start:stop]), lengths)
        within = np.arange(len(entries)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        partners = first + within
        both = np.minimum(one.data[entries], other.data[partners])
        return sp.coo_array((both, (one.indices[entries], other.indices[partners])), shape=shape).tocsr()

    total = sp.csr_array(shape)
    for part in map_pieces(piece, pieces_by_load(pairs, LOAD)):
        total = total + part
    return sp.csr_array(total)


def overlaps(common: sp.csr_array, sizes: Array, others: Array) -> sp.csr_array:
    """Turn what clusters have in common into overlaps, given the sums of memberships of both.

    Examples
    --------
    >>> overlaps(sp.csr_array([[2.0, 1.0]]), np.array([3.0]), np.array([2.0, 1.0])).toarray().round(2)
    array([[0.67, 0.33]])
    """
    rows = np.repeat(np.arange(common.shape[0]), np.diff(common.indptr))
    either = sizes[rows] + others[common.indices] - common.data
    return sp.csr_array((common.data / either, common.indices, common.indptr), shape=common.shape)


def as_named_clusters(other: Any, nodes: Sequence[Any]) -> NamedClusters:
    """Read labels or memberships of the points as something to compare with.

    Parameters
    ----------
    other : mapping, array-like of shape (n,), or memberships of shape (n, m)
        A mapping has a label for every name of a point.
    nodes : sequence of n
        Their names.

    Examples
    --------
    >>> as_named_clusters({"x": "red", "y": "blue"}, ("y", "x")).ids
    (('blue', 'red'),)
    """
    other = by_name(other, nodes)
    if isinstance(other, Mapping):
        missing = [name for name in nodes if name not in other]
        if missing:
            problem = f"has no label for {shown(missing[0])}"
            raise InputError("other", problem, "give one for each point, by its name in h.nodes")
        other = [other[name] for name in nodes]
    elif isinstance(other, list | tuple) and any(isinstance(group, Set) for group in other):
        remedy = "pass a mapping, {name: number for number, group in enumerate(groups) for name in group}"
        raise InputError("other", "holds sets of points, not labels", remedy)
    shares = shares_of(other, "other")
    if np.ndim(other) != 1:  # memberships, or what has them
        ids = tuple(map(str, range(shares.shape[1])))
    else:
        ids = tuple(map(str, np.unique(np.asarray(other)).tolist()))
        if {"-1", "-1.0"} & set(ids) and len(ids) > 1:
            warn("other: -1, by which HDBSCAN and others mean noise, is compared as a cluster")
    if shares.shape[0] != len(nodes):
        problem = f"has {shares.shape[0]} points, and the hierarchy {len(nodes)}"
        raise InputError("other", problem, "compare clusterings of the same points")
    return NamedClusters((shares,), (ids,), nodes)


def compared(side: NamedClusters, other: NamedClusters) -> Comparison:
    """Compare every level of one with every level of the other, by the names of the points.

    Examples
    --------
    >>> side = NamedClusters.of_levels([sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])], ("a", "b", "c"))
    >>> comparison = compared(side, as_named_clusters(["x", "y", "z"], side.nodes))
    >>> comparison.matches[0][1].split
    (('y', 0.5), ('z', 0.5))
    """
    order = _places(side.nodes, other.nodes)
    theirs = [level if order is None else level[order] for level in other.levels]
    mine_labels, their_labels = ([likeliest(level) for level in levels] for levels in (side.levels, theirs))
    scores = [
        np.array([[score(mine, their) for their in their_labels] for mine in mine_labels])
        for score in (adjusted_rand, nmi)
    ]
    nearest = tuple(int(best) for best in scores[0].argmax(axis=1))
    matches = tuple(
        _matches(level, theirs[near], ids, other.ids[near])
        for level, near, ids in zip(side.levels, nearest, side.ids, strict=True)
    )
    return Comparison(frozen(scores[0]), frozen(scores[1]), nearest, matches, tuple(map(len, other.ids)))


def _places(nodes: Sequence[Any], others: Sequence[Any]) -> Array | None:
    """Find the rows of the other that hold our points; None where they are in the same order."""
    if len(nodes) != len(others):
        problem = f"has {len(others)} points, and the hierarchy {len(nodes)}"
        raise InputError("other", problem, "compare clusterings of the same points")
    unnamed = isinstance(nodes, range) or isinstance(others, range)  # then rows are all that can be gone by
    if unnamed or all(one == other for one, other in zip(nodes, others, strict=True)):
        return None
    place = {name: row for row, name in enumerate(others)}
    missing = [name for name in nodes if name not in place]
    if missing:
        problem = f"has no point {shown(missing[0])}"
        raise InputError("other", problem, "compare clusterings of the same points")
    return np.array([place[name] for name in nodes])


def _matches(
    level: sp.csr_array, their: sp.csr_array, ids: tuple[str, ...], names: tuple[str, ...]
) -> tuple[Match, ...]:
    common = common_points(level, their)
    sizes, others = (np.asarray(each.sum(axis=0)).ravel() for each in (level, their))
    best, overlap = _largest_of_rows(overlaps(common, sizes, others))
    into = _mostly(common, sizes)
    of = _mostly(common.T.tocsr(), others)
    parts: dict[int, list[int]] = {}
    for part in np.flatnonzero(of >= 0).tolist():
        parts.setdefault(int(of[part]), []).append(part)
    joined: dict[int, list[int]] = {}
    for cluster in np.flatnonzero(into >= 0).tolist():
        joined.setdefault(int(into[cluster]), []).append(cluster)
    found = []
    for cluster, id in enumerate(ids):
        pieces = parts.get(cluster, [])
        row = dict(zip(*_row(common, cluster), strict=True))
        shares = [(names[part], float(row[part] / sizes[cluster])) for part in pieces]
        split = tuple(sorted(shares, key=lambda share: -share[1])) if len(shares) > 1 else ()
        merged = tuple(ids[each] for each in joined.get(int(into[cluster]), []) if each != cluster)
        name = names[best[cluster]] if best[cluster] >= 0 else ""
        found.append(Match(id, float(sizes[cluster]), name, float(overlap[cluster]), split, merged))
    return tuple(found)


def _row(matrix: sp.csr_array, row: int) -> tuple[list[int], list[float]]:
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[span].tolist(), matrix.data[span].tolist()


def _largest_of_rows(matrix: sp.csr_array) -> tuple[Array, Array]:
    """Find the column of every row's largest entry, the lower of equals, or -1; and that entry, or 0."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    some = np.diff(matrix.indptr) > 0
    first = order[matrix.indptr[:-1][some]]
    best, value = np.full(matrix.shape[0], -1), np.zeros(matrix.shape[0])
    best[some], value[some] = matrix.indices[first], matrix.data[first]
    return best, value


def _mostly(common: sp.csr_array, sizes: Array) -> Array:
    """Find for every row the column that more than half of it is in, or -1."""
    best, held = _largest_of_rows(common)
    best[held <= MOSTLY * sizes] = -1
    return best
