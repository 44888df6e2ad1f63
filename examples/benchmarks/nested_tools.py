"""The tools that `nested.py` compares. Each makes two levels and a tree of the graph of a set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import peers
import scipy.sparse as sp
from nested_sets import Labels, NestedSet
from numpy.typing import NDArray

import graphsoft

TREE_SIZES = (500, 200)  # levels of the tree below the two that are scored
TRIES = 30


@dataclass(frozen=True)
class Found:
    """Two levels, and a tree: the parent of every node, points first, parents after children, root last.

    `kept` marks the nodes that remain in the tree that is compared alike.
    """

    fine: Labels
    coarse: Labels
    parents: Labels
    kept: NDArray[np.bool_]


def finer_sizes(item: NestedSet) -> list[int]:
    """Choose the levels of a tree below the fine level."""
    return [size for size in TREE_SIZES if item.sizes[0] < size < len(item.fine)]


def found_in(tree: graphsoft.Hierarchy, sizes: Sequence[int], levels: Sequence[Labels]) -> Found:
    """Put every point under its likeliest finest cluster, and every cluster under its likeliest parent."""
    nodes, labels = tree.tree.nodes, tree[0].labels
    places = {node.id: len(labels) + place for place, node in enumerate(nodes)}
    parents = [places[node.id if node.parent is None else node.parent] for node in nodes]
    kept = [node.parent is None or tree.tree.level_sizes[node.level] in sizes for node in nodes]
    below = np.ones(len(labels), dtype=bool)
    return Found(*levels, np.concatenate([len(labels) + labels, parents]), np.concatenate([below, kept]))


def ours(item: NestedSet) -> Found:
    """Take the two levels from a hierarchy of these two, and the tree from one with finer levels below."""
    levels = graphsoft.hierarchy(item.graph, list(item.sizes))
    sizes = [*finer_sizes(item), *item.sizes]
    return found_in(graphsoft.hierarchy(item.graph, sizes), sizes, [level.labels for level in levels])


def halved(sizes: Sequence[int]) -> list[int]:
    """Fill falling sizes up by halving, down to 2 or 3.

    >>> halved([500, 200, 10, 5])
    [500, 200, 100, 50, 25, 10, 5, 2]
    """
    filled = []
    for size, lower in pairwise([*sizes, 1]):
        steps = range(size.bit_length())
        filled += [size >> step for step in steps if step == 0 or size >> step >= 1.5 * lower]
    return filled


def ours_long(item: NestedSet) -> Found:
    """Take all from one hierarchy that about halves from level to level, from half of the points down."""
    sizes = [*finer_sizes(item), *item.sizes]
    start = len(item.fine) // 2
    ladder = halved([start, *sizes] if start >= 1.5 * sizes[0] else sizes)
    tree = graphsoft.hierarchy(item.graph, ladder)
    return found_in(tree, sizes, [tree[ladder.index(size)].labels for size in item.sizes])


def found_by_merges(merges: Labels, item: NestedSet) -> Found:
    """Cut a binary tree, in which merge t makes node n + t, by leaving out the last merges."""
    n = len(merges) + 1
    parents = np.full(2 * n - 1, 2 * n - 2)
    parents[merges.ravel()] = np.repeat(np.arange(n, 2 * n - 1), 2)
    kept = np.arange(2 * n - 1) == 2 * n - 2
    levels = []
    for size in (*finer_sizes(item), *item.sizes):
        tops = np.arange(2 * n - size)
        for node in tops[::-1]:
            tops[node] = tops[parents[node]] if parents[node] < len(tops) else node
        kept[tops[:n]] = True
        levels.append(np.unique(tops[:n], return_inverse=True)[1])
    return Found(levels[-2], levels[-1], parents, kept)


def int32_matrix(graph: Any) -> sp.csr_matrix:
    """Copy a graph in the form that the other tools take."""
    csr = sp.csr_matrix(graph, dtype=np.float64, copy=True)
    csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return csr


def paris(item: NestedSet, weights: str = "degree") -> Found:
    """Agglomerate by Paris, with merges put in the order of their heights."""
    from sknetwork.hierarchy import Paris

    dendrogram = Paris(weights=weights, reorder=False).fit_predict(int32_matrix(item.graph.adjacency))
    merges, heights, n = dendrogram[:, :2].astype(np.int64), dendrogram[:, 2].copy(), len(item.fine)
    for row, children in enumerate(merges):
        heights[row] = max([heights[row], *heights[children[children >= n] - n]])  # rounding, as in peers.py
    order = np.argsort(heights, kind="stable")
    numbers = np.arange(2 * n - 1)
    numbers[n + order] = np.arange(n, 2 * n - 1)
    return found_by_merges(numbers[merges[order]], item)


def average(item: NestedSet) -> Found:
    """Agglomerate by the average weight between two clusters, which is Paris with all points alike."""
    return paris(item, weights="uniform")


def ward(item: NestedSet) -> Found:
    """Agglomerate by Ward along the edges; bare graphs have spectral features, as in peers.py."""
    from sklearn.cluster import AgglomerativeClustering

    adjacency, features = item.graph.adjacency, item.features
    points = peers.spectral_features(adjacency, item.sizes[0]) if features is None else features
    connectivity = int32_matrix(adjacency)
    model = AgglomerativeClustering(connectivity=connectivity, linkage="ward", compute_full_tree=True)
    return found_by_merges(np.asarray(model.fit(points).children_, dtype=np.int64), item)


def leiden(item: NestedSet) -> Found:
    """Search Leiden to the coarse number, and split its clusters to the fine number and further."""
    adjacency, (fine, coarse) = item.graph.adjacency, item.sizes
    levels = [peers.run("leiden", adjacency, item.features, coarse)]
    for size in (fine, *finer_sizes(item)[::-1]):
        levels.insert(0, split_by_leiden(adjacency, levels[0], size))
    parents, start = [len(item.fine) + levels[0]], len(item.fine)
    for below, above in pairwise(levels):
        first = np.unique(below, return_index=True)[1]
        start += len(first)
        parents.append(start + above[first])
    root = start + levels[-1].max() + 1
    tree = np.concatenate([*parents, np.full(root - start + 1, root)])
    return Found(levels[-2], levels[-1], tree, np.ones(len(tree), dtype=bool))


def split_by_leiden(adjacency: Any, labels: Labels, size: int) -> Labels:
    """Split clusters by Leiden without the edges between them, its resolution searched to a total number.

    If no resolution gives this number, the nearest is taken. Splitting every cluster as a graph of its own,
    all with one resolution, was a little worse.
    """
    import igraph
    import leidenalg

    upper = sp.coo_array(sp.triu(adjacency))
    within = labels[upper.coords[0]] == labels[upper.coords[1]]
    edges = np.column_stack(upper.coords)[within].tolist()
    network, weights = igraph.Graph(len(labels), edges), upper.data[within].tolist()
    best, nearest = labels, math.inf
    low, high = math.log(1e-4), math.log(1e4)
    for _ in range(TRIES):
        middle = (low + high) / 2
        partition = leidenalg.find_partition(
            network,
            leidenalg.RBConfigurationVertexPartition,
            weights=weights,
            resolution_parameter=math.exp(middle),
            seed=0,
        )
        found = len(partition)
        if abs(found - size) < nearest:
            best, nearest = np.asarray(partition.membership, dtype=np.int64), abs(found - size)
        if found == size:
            break
        low, high = (middle, high) if found < size else (low, middle)
    return best


TOOLS: dict[str, Callable[[NestedSet], Found]] = {
    "graphsoft": ours,
    "graphsoft-long": ours_long,
    "paris": paris,
    "average": average,
    "ward": ward,
    "leiden": leiden,
}
