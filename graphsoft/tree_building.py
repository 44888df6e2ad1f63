"""Make the cluster tree of the parents, masses and sizes of all levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphsoft.errors import InputError
from graphsoft.tree import ROOT, Node, SoftParents, Tree

__all__ = ["build_tree"]


def build_tree(
    parents: Sequence[csr_array],
    masses: Sequence[Sequence[float] | NDArray[np.floating]],
    sizes: Sequence[Sequence[int] | NDArray[np.integer]],
    names: Mapping[str, str] | None = None,
) -> Tree:
    """Put every cluster under its likeliest parent.

    Parameters
    ----------
    parents : sequence of csr_array
        ``parents[l]`` of shape (m_l, m_{l+1}) holds p(parent | cluster). There is one fewer than levels. Of
        equally likely parents the one with the lowest index counts.
    masses : sequence of array-like, shape (m_l,)
        Weight of each cluster, for every level.
    sizes : sequence of array-like of int, shape (m_l,)
        Number of points that have each as their likeliest cluster, for every level.
    names : mapping of str to str, optional
        Names of clusters, by their ids.

    Returns
    -------
    Tree
        With one more node, ``"root"``, if the top level has more than one cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> up = csr_array(np.array([[0.9, 0.1], [0.8, 0.2], [0.0, 1.0]]))
    >>> tree = build_tree([up], [[2.0, 3.0, 5.0], [4.2, 5.8]], [[2, 3, 5], [5, 5]])
    >>> tree.find("0-1").parents
    (('1-0', 0.8), ('1-1', 0.2))
    """
    level_sizes = tuple(len(mass) for mass in masses)
    _check_shapes(parents, level_sizes, [len(size) for size in sizes])
    top = len(level_sizes) - 1
    ids = [[f"{level}-{index}" for index in range(count)] for level, count in enumerate(level_sizes)]
    ranked: list[list[SoftParents]] = [
        _rank_parents(matrix, ids[level], ids[level + 1]) for level, matrix in enumerate(parents)
    ]
    all_masses = [np.asarray(mass, dtype=np.float64).tolist() for mass in masses]
    all_sizes = [np.asarray(size, dtype=np.int64).tolist() for size in sizes]
    if level_sizes[top] > 1:
        ids.append([ROOT])
        ranked.append([((ROOT, 1.0),)] * level_sizes[top])
        all_masses.append([sum(all_masses[top])])
        all_sizes.append([sum(all_sizes[top])])
    ranked.append([()])

    nodes: list[Node] = []
    children: dict[str, list[str]] = {}
    for level, row in enumerate(ids):
        above: dict[str, list[str]] = {}
        for index, (id, soft) in enumerate(zip(row, ranked[level], strict=True)):
            parent = soft[0][0] if soft else None
            if parent is not None:
                above.setdefault(parent, []).append(id)
            mass, size = all_masses[level][index], all_sizes[level][index]
            nodes.append(Node(id, level, index, mass, size, parent, tuple(children.get(id, ())), soft))
        children = above
    return Tree(tuple(nodes), level_sizes, dict(names or {}))


def _check_shapes(parents: Sequence[csr_array], counts: Sequence[int], sizes: Sequence[int]) -> None:
    if not counts or min(counts) < 1:
        raise InputError("masses", f"got levels of {list(counts)} clusters", "give at least one of each")
    if list(sizes) != list(counts):
        raise InputError(
            "sizes", f"got {list(sizes)} entries for {list(counts)} masses", "give one for each cluster"
        )
    expected = [(low, high) for low, high in pairwise(counts)]
    shapes = [tuple(matrix.shape) for matrix in parents]
    if shapes != expected:
        raise InputError("parents", f"got shapes {shapes}", f"with these masses they must be {expected}")


def _rank_parents(matrix: csr_array, names: list[str], above: list[str]) -> list[SoftParents]:
    """Return the parents of every row, likeliest first, without zeros."""
    matrix = csr_array(matrix)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    columns, chances = matrix.indices[order].tolist(), matrix.data[order].astype(np.float64).tolist()
    ranked: list[SoftParents] = []
    for name, start, stop in zip(names, matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        soft = tuple((above[columns[k]], chances[k]) for k in range(start, stop) if chances[k] > 0)
        if not soft:
            raise InputError("parents", f"cluster {name} has no parent", "let every row sum to 1")
        ranked.append(soft)
    return ranked
