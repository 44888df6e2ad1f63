"""What plots read of a hierarchy: checked levels, weights of clusters, names, and the order of the tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.checks import integer
from graphsoft.plots.text import showable
from graphsoft.result.circles import weights_of
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.intact import check_levels
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_answers import needs_a_sample
from graphsoft.tree import Tree

__all__ = [
    "aggregated",
    "checked",
    "folded",
    "level_of",
    "name_of",
    "names_in",
    "parents_in",
    "tree_order",
    "weights",
]


def checked(h: Any) -> Hierarchy:
    """Refuse anything but a hierarchy that is as it was found."""
    if isinstance(h, StoredHierarchy):
        raise needs_a_sample("h")
    if not isinstance(h, Hierarchy):
        raise InputError("h", f"got {shown(h)}", "pass what graphsoft.hierarchy returns")
    check_levels(h.levels, len(h.graph))
    return h


def level_of(level: Any, count: int) -> int:
    """Return the number of a level; negative ones count from the top."""
    return integer("level", level, -count, count - 1) % count


def name_of(names: Any, id: str) -> str:
    """Return what a cluster is called in a picture: its name if it has one, else its id."""
    return showable(names.get(id, id))


def names_in(h: Hierarchy, level: int, clusters: Iterable[int]) -> list[str]:
    """Return what clusters of a level are called in a picture."""
    return [name_of(h.cluster_names, f"{level}-{cluster}") for cluster in clusters]


def weights(h: Hierarchy) -> list[Array]:
    """Return the share of each cluster in the whole, for every level: of mass, or of points without edges."""
    return [mass / mass.sum() for mass in map(weights_of, h)]


def tree_order(tree: Tree) -> list[Array]:
    """Return the clusters of each level, finest level first, in the order in which the tree is walked."""
    order: list[list[int]] = [[] for _ in tree.level_sizes]
    for node in tree.walk():
        if node.level < len(order):
            order[node.level].append(node.index)
    return [np.array(each) for each in order]


def parents_in(tree: Tree, level: int) -> Array:
    """Return the likeliest parent of every cluster of a level, as the tree has it."""
    start = sum(tree.level_sizes[:level])
    nodes = tree.nodes[start : start + tree.level_sizes[level]]
    return np.array([int(str(node.parent).partition("-")[2] or 0) for node in nodes])


def folded(order: Array, weight: Array, most: int) -> tuple[Array, Array]:
    """Keep the heaviest, and put all others into one group.

    Parameters
    ----------
    order : ndarray of int, shape (m,)
        In which the kept ones are to stand.
    weight : ndarray of shape (m,)
    most : int

    Returns
    -------
    kept : ndarray of int
        Those that are kept, in the given order: all if there are at most `most`.
    group : ndarray of int, shape (m,)
        The place of each in `kept`; ``len(kept)`` for those in the group of others.

    Examples
    --------
    >>> folded(np.array([2, 0, 1, 3]), np.array([5.0, 1.0, 3.0, 2.0]), 2)
    (array([2, 0]), array([1, 2, 0, 2]))
    """
    chosen = np.zeros(len(weight), dtype=bool)
    chosen[np.argsort(-weight, kind="stable")[:most]] = True
    kept = order[chosen[order]]
    group = np.full(len(weight), len(kept))
    group[kept] = np.arange(len(kept))
    return kept, group


def aggregated(rows: Array, columns: Array, matrix: sp.csr_array) -> Array:
    """Sum the entries of a sparse matrix by groups of its rows and of its columns, as a dense array.

    Examples
    --------
    >>> aggregated(np.array([0, 0]), np.array([0, 1, 1]), sp.csr_array([[1.0, 2.0, 3.0], [4.0, 0.0, 5.0]]))
    array([[ 5., 10.]])
    """
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    each = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    flat = rows[each] * shape[1] + columns[matrix.indices]
    return np.bincount(flat, matrix.data, minlength=shape[0] * shape[1]).reshape(shape)
