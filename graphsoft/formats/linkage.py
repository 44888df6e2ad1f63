"""The tree of clusters as binary merges with heights, as SciPy's linkage matrices hold them."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from graphsoft.aliases import Array
from graphsoft.tree import Node, Tree

__all__ = ["Linkage", "linkage_of"]


@dataclass(frozen=True, eq=False)
class Linkage:
    """Merges of the finest clusters, and the height at which each cluster of the tree is complete.

    Attributes
    ----------
    matrix : ndarray of shape (m - 1, 4)
        As SciPy's: the two parts of each merge, its height, and the number of finest clusters in it.
    heights : dict of str to float
        For each id in the tree, the height of the last merge inside that cluster; 0 if there is none.
    """

    matrix: Array
    heights: dict[str, float]


def linkage_of(tree: Tree, weights: csr_array) -> Linkage:
    """Turn the tree into binary merges.

    Clusters are merged level by level, and only with others of the same parent. Among these, the pair goes
    first between which a walk goes most often, compared with chance: with ``w`` the weight of steps from a to
    b, ``lift = w * total / (mass_a * mass_b)`` is 1 if steps go there as often as by chance. The height of a
    merge of clusters of level l is ``l + 1 / (1 + lift)``: nearly l if the walk hardly tells them apart,
    ``l + 1/2`` at chance, and ``l + 1`` if it never goes from one to the other. Merged clusters have the sums
    of their weights and masses, so heights never fall from a part to the whole.

    Parameters
    ----------
    tree : Tree
    weights : csr_array of shape (m, m)
        Weights of steps between the m finest clusters, symmetric. Their rows sum to the masses.

    Returns
    -------
    Linkage

    Examples
    --------
    >>> from graphsoft.tree_building import build_tree
    >>> up = csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> tree = build_tree([up], [[4.0, 4.0, 2.0], [8.0, 2.0]], [[4, 4, 2], [8, 2]])
    >>> steps = csr_array([[2.0, 2.0, 0.0], [2.0, 1.5, 0.5], [0.0, 0.5, 1.5]])
    >>> found = linkage_of(tree, steps)
    >>> found.matrix.round(2)
    array([[0.  , 1.  , 0.44, 2.  ],
           [2.  , 3.  , 1.76, 3.  ]])
    >>> {id: round(height, 2) for id, height in found.heights.items() if height}
    {'1-0': 0.44, 'root': 1.76}
    """
    merger = _Merger.of(weights)
    items = {node.id: node.index for node in tree.nodes if node.level == 0}
    heights = {node.id: 0.0 for node in tree.nodes}
    rows: list[tuple[float, int, int, int]] = []
    for level in _levels(tree)[1:]:
        groups = [[items[child] for child in node.children if child in items] for node in level]
        made = merger.merged(groups, level[0].level - 1)
        rows += sorted(made, key=lambda merge: merge[0])  # a part has no larger height, and comes first
        for node, group in zip(level, groups, strict=True):
            if group:
                items[node.id] = merger.whole[group[0]] if len(group) > 1 else group[0]
                heights[node.id] = merger.heights[items[node.id]]
    return Linkage(_matrix(rows, weights.shape[0]), heights)


def _levels(tree: Tree) -> list[list[Node]]:
    levels: list[list[Node]] = [[] for _ in range(tree.nodes[-1].level + 1)]
    for node in tree.nodes:
        levels[node.level].append(node)
    return levels


def _matrix(rows: list[tuple[float, int, int, int]], leaves: int) -> Array:
    """Give numbers to the merges in the order of their rows, and count the leaves in each."""
    places = list(range(leaves)) + [0] * len(rows)
    matrix = np.empty((len(rows), 4))
    for row, (height, one, other, whole) in enumerate(rows):
        places[whole] = leaves + row
        parts = sorted((places[one], places[other]))
        count = sum(1 if part < leaves else int(matrix[part - leaves, 3]) for part in parts)
        matrix[row] = (*parts, height, count)
    return matrix


@dataclass(eq=False)
class _Merger:
    """What is left to merge: weights between the parts, and the mass and height of every part.

    Attributes
    ----------
    near : list of dict
        For each part the weights to others; None for parts that are merged.
    whole : dict
        For the first part of a group, what the whole group became.
    """

    total: float
    near: list[dict[int, float] | None]
    masses: list[float]
    heights: list[float]
    whole: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, weights: csr_array) -> _Merger:
        weights = csr_array((weights + weights.T) / 2)  # rounding may have made the two ends differ
        near: list[dict[int, float] | None] = []
        ends = zip(weights.indptr[:-1].tolist(), weights.indptr[1:].tolist(), strict=True)
        for row, (start, stop) in enumerate(ends):
            columns, values = weights.indices[start:stop].tolist(), weights.data[start:stop].tolist()
            near.append({c: w for c, w in zip(columns, values, strict=True) if c != row and w > 0})
        masses = np.asarray(weights.sum(axis=1)).ravel().tolist()
        return cls(float(sum(masses)), near, masses, [0.0] * len(near))

    def merged(self, groups: list[list[int]], level: int) -> list[tuple[float, int, int, int]]:
        """Merge each group of parts of a level to one; list ``(height, part, part, whole)`` in order."""
        made: list[tuple[float, int, int, int]] = []
        lowest = math.nextafter(level, math.inf)  # above every merge of the level below
        for group in groups:
            inside, last = set(group), group[0] if group else -1
            pairs = [
                (self._surprise(a, b), a, b) for a in group for b in self._near(a) if a < b and b in inside
            ]
            heapq.heapify(pairs)
            while pairs:
                surprise, one, other = heapq.heappop(pairs)
                if one not in inside or other not in inside:
                    continue
                last = self._join(one, other, max(level + surprise, lowest), made)
                inside -= {one, other}
                for each in self._near(last):
                    if each in inside:
                        heapq.heappush(pairs, (self._surprise(last, each), each, last))
                inside.add(last)
            for apart in sorted(inside - {last}):  # no step leads there
                last = self._join(apart, last, level + 1.0, made)
            if len(group) > 1:
                self.whole[group[0]] = last
        return made

    def _near(self, part: int) -> dict[int, float]:
        return self.near[part] or {}

    def _surprise(self, one: int, other: int) -> float:
        """Return ``1 / (1 + lift)``."""
        lift = self._near(one)[other] / self.masses[one] * (self.total / self.masses[other])
        return 1.0 / (1.0 + lift)

    def _join(self, one: int, other: int, height: float, made: list[tuple[float, int, int, int]]) -> int:
        whole = len(self.near)
        more, fewer = sorted((self._near(one), self._near(other)), key=len, reverse=True)
        for each, weight in fewer.items():
            more[each] = more.get(each, 0.0) + weight
        more.pop(one, None)
        more.pop(other, None)
        for each, weight in more.items():
            theirs = self._near(each)
            theirs.pop(one, None)
            theirs.pop(other, None)
            theirs[whole] = weight
        self.near[one] = self.near[other] = None
        self.near.append(more)
        self.masses.append(self.masses[one] + self.masses[other])
        self.heights.append(max(height, self.heights[one], self.heights[other]))
        made.append((self.heights[whole], one, other, whole))
        return whole
