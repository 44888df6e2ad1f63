"""The evidence for each number of clusters of a graph, above all of points and their nearest neighbors.

A graph is contracted to some hundred nodes, and these are merged one by one, always the pair with the largest
``w_pq / (d_p d_q)``. If the graph has k clusters, then what joins two of them is much weaker than what joined
the last parts within one: the similarity falls from the merge into k to the merge into k - 1. A single fall
may be chance, so the graph is merged several times, each time without a fifth of its edges. The mean counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import contracted, strays, without_copies
from graphsoft.engine.scales import grouped
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.input.checks import DEFAULT_SEED
from graphsoft.input.labels import adjusted_rand_of_pairs
from graphsoft.linalg.csr import inverse_or_zero, submatrix

__all__ = [
    "CLUSTERS_OF_STRAYS",
    "LEFT_OUT",
    "MAX_CLUSTERS",
    "Evidence",
    "Watched",
    "evidence_for_counts",
    "rand_of_table",
    "thinned",
    "watched_part",
]

# Edges are left out of a graph that was contracted to so many nodes: rounds then cost the same for any graph.
MAX_NODES = 1000
# So many nodes are merged one by one, or a third of the points.
MAX_MERGED = 200
# No more clusters are looked at.
MAX_CLUSTERS = 100
ROUNDS = 8
# The share of edges that each round leaves out.
LEFT_OUT = 0.2
# A component lighter than a tenth of a cluster among so many is no cluster.
CLUSTERS_OF_STRAYS = 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """Figures for some numbers of clusters.

    Attributes
    ----------
    distinct : int
        Distinct points, without strays.
    sizes : ndarray of int
        The numbers of clusters, which rise from 2.
    falls, stability, held_out : ndarray
        See `graphsoft.fitting.suggesting.Candidate`. Empty where there are too few points.
    """

    distinct: int
    sizes: Array
    falls: Array
    stability: Array
    held_out: Array

    @classmethod
    def none(cls, distinct: int) -> Evidence:
        """There are too few points for any."""
        return cls(distinct, *(np.empty(0) for _ in range(4)))


def evidence_for_counts(
    graph: Graph,
    random: np.random.Generator | None = None,
    progress: Progress | None = None,
    clusters: int = CLUSTERS_OF_STRAYS,
) -> Evidence:
    """Merge a graph that has edges several times, and compare how similar the merged pairs are.

    Components that are strays among so many `clusters` are left out.
    """
    watched = watched_part(graph, MAX_NODES, progress, clusters)
    merged = min(MAX_MERGED, watched.distinct // 3)
    if merged < 3:
        return Evidence.none(watched.distinct)
    random = np.random.default_rng(DEFAULT_SEED) if random is None else random
    edge = 1.0 / (2.0 * watched.counts.sum())
    whole = _merges(_both_ways(watched.upper), merged, edge, clusters)
    rounds = []
    for done in range(ROUNDS):
        kept, left_out = thinned(watched, random)
        merges = _merges(kept, merged, edge, clusters)
        rounds.append((merges, _between(merges, left_out)))
        if progress is not None:
            progress("counting clusters", done + 1, ROUNDS)
    most = min([MAX_CLUSTERS, *(len(each.pairs) for each in (whole, *(merges for merges, _ in rounds)))])
    falls = np.mean([_falls(merges.similarity, most) for merges, _ in rounds], axis=0)
    agreements = [_agreement(whole, merges, watched.points, most) for merges, _ in rounds]
    held_out = [_held_out(merges, left, edge, most) for merges, left in rounds]
    sizes = np.arange(2, most + 1)
    return Evidence(watched.distinct, sizes, falls, np.mean(agreements, axis=0), np.mean(held_out, axis=0))


@dataclass(frozen=True, eq=False)
class Watched:
    """The graph whose merges are recorded: without strays, contracted if it is large."""

    upper: sp.csr_array  # weights as shares of the whole, each pair once
    counts: Array  # edges behind each of them
    points: Array  # points in each node
    distinct: int  # points, without strays, copies counted once


@dataclass(frozen=True, eq=False)
class _Merges:
    """How some hundred nodes merged one by one."""

    group: Array  # for each node of the graph, the node it was contracted to; -1 for strays
    weights: Array  # between these nodes, before they merged
    pairs: list[tuple[int, int]]  # the second joins the first
    similarity: Array  # of each merge, as a logarithm, never rising


def watched_part(
    graph: Graph, max_nodes: int, progress: Progress | None = None, clusters: int = CLUSTERS_OF_STRAYS
) -> Watched:
    """Leave out strays and copies, and contract the rest if it has more than `max_nodes` nodes."""
    inside = np.flatnonzero(~strays(graph, clusters))
    weights = submatrix(graph.adjacency, inside)
    copies = graph.duplicates
    if copies is not None:
        copies = np.unique(copies[inside], return_inverse=True)[1]
    begun = Graph(weights / weights.sum(), range(len(inside)), (), copies)
    small, group = without_copies(begun)
    distinct = len(small)
    if distinct > max_nodes:
        group = grouped(small, max_nodes, progress)[group]
    nodes = int(group.max()) + 1
    edges = sp.csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)
    counts = _upper(contracted(Graph(edges, range(len(inside))), group, nodes))
    upper = _upper(contracted(begun, group, nodes))
    return Watched(upper, counts.data.astype(np.int64), np.bincount(group, minlength=nodes), distinct)


def _upper(graph: Graph) -> sp.csr_array:
    half = sp.triu(graph.adjacency, format="csr")
    half.sort_indices()
    return half


def _both_ways(upper: sp.csr_array) -> Graph:
    whole = (upper + sp.triu(upper, 1).T).tocsr()
    whole.eliminate_zeros()
    whole.sort_indices()
    return Graph(whole, range(whole.shape[0]))


def thinned(watched: Watched, random: np.random.Generator) -> tuple[Graph, Graph]:
    """Leave out a part of the edges: what is kept, and what is left out."""
    upper = watched.upper
    share = random.binomial(watched.counts, LEFT_OUT) / watched.counts
    parts = (upper.data * (1.0 - share), upper.data * share)
    kept, left = (sp.csr_array((data, upper.indices, upper.indptr), upper.shape, copy=True) for data in parts)
    return _both_ways(kept), _both_ways(left)


def _merges(graph: Graph, count: int, edge: float, clusters: int) -> _Merges:
    """Contract to `count` nodes, and merge these one by one; `edge` is the mean weight of an edge."""
    inside = np.flatnonzero(~strays(graph, clusters))
    rest = subgraph(graph, inside)
    group = np.full(len(graph), -1)
    group[inside] = grouped(rest, count)
    nodes = int(group.max()) + 1
    weights = contracted(rest, group[inside], nodes).adjacency.toarray()
    pairs, similarity = _merged_one_by_one((weights + weights.T) * 0.5, edge)
    return _Merges(group, weights, pairs, similarity)


def _between(merges: _Merges, left_out: Graph) -> Array:
    """Sum edges left out between the nodes that were merged."""
    inside = np.flatnonzero(merges.group >= 0)
    rest = subgraph(left_out, inside)
    return np.asarray(contracted(rest, merges.group[inside], len(merges.weights)).adjacency.toarray())


def _merged_one_by_one(weights: Array, edge: float) -> tuple[list[tuple[int, int]], Array]:
    """Merge the pair with the largest ``w_pq / (d_p d_q)``, again and again; of equal ones the first.

    The returned similarities count one edge more for every pair, so that none is zero.
    """
    weights, count = weights.copy(), len(weights)
    mass = weights.sum(axis=1)
    inverse = inverse_or_zero(mass)
    score = weights * inverse[:, None] * inverse
    np.fill_diagonal(score, -1.0)
    alive = np.ones(count, dtype=bool)
    pairs, similarity = [], np.empty(count - 1)
    for step in range(count - 1):
        one, two = sorted(divmod(int(np.argmax(score)), count))
        similarity[step] = score[one, two] + edge / max(mass[one] * mass[two], edge**2)
        pairs.append((one, two))
        weights[one] += weights[two]
        weights[:, one] += weights[:, two]
        mass[one] += mass[two]
        alive[two] = False
        inverse[one] = 1.0 / mass[one] if mass[one] > 0 else 0.0
        row = np.where(alive, weights[one] * inverse[one] * inverse, -1.0)
        row[one] = -1.0
        score[one] = score[:, one] = row
        score[two] = score[:, two] = -1.0
    return pairs, np.minimum.accumulate(np.log(similarity))


def _falls(similarity: Array, max_clusters: int) -> Array:
    """Compute how far the similarity falls from the merge into k clusters to the next.

    There is a value for each k from 2 to `max_clusters`.
    """
    into = similarity[::-1]  # into 1, 2, 3, ... clusters
    return np.asarray(into[1:max_clusters] - into[: max_clusters - 1])


def _at(merges: _Merges, max_clusters: int) -> tuple[Array, list[tuple[int, int]]]:
    """Stop merging at `max_clusters` clusters.

    Returns the number of each node's cluster, and the pairs that merge from there on.
    """
    number = np.arange(len(merges.weights))
    done = len(number) - max_clusters
    for one, two in merges.pairs[:done]:
        number[number == two] = one
    heads, number = np.unique(number, return_inverse=True)
    place = {int(head): at for at, head in enumerate(heads)}
    return number, [(place[one], place[two]) for one, two in merges.pairs[done:]]


def _summed(table: Array, rows: Array, columns: Array, max_clusters: int) -> Array:
    place = rows[:, None] * max_clusters + columns[None, :]
    return np.bincount(place.ravel(), table.ravel(), minlength=max_clusters * max_clusters).reshape(
        max_clusters, max_clusters
    )


def _merge(table: Array, one: int, two: int) -> None:
    """Add the second row to the first."""
    table[one] += table[two]
    table[two] = 0.0


def _agreement(one: _Merges, two: _Merges, points: Array, max_clusters: int) -> Array:
    """Compute the adjusted Rand index of two ways to merge, for k = 2 to `max_clusters`."""
    both = (one.group >= 0) & (two.group >= 0)
    table = np.zeros((len(one.weights), len(two.weights)))
    np.add.at(table, (one.group[both], two.group[both]), points[both])
    (rows, row_pairs), (columns, column_pairs) = _at(one, max_clusters), _at(two, max_clusters)
    table = _summed(table, rows, columns, max_clusters)
    found: Array = np.empty(max_clusters - 1)
    for k in range(max_clusters, 1, -1):
        found[k - 2] = rand_of_table(table)
        _merge(table, *row_pairs[max_clusters - k])
        _merge(table.T, *column_pairs[max_clusters - k])
    return found


def rand_of_table(table: Array) -> float:
    """Compute the adjusted Rand index from the points in each cluster of one and each of the other."""

    def pairs(counts: Array) -> int:
        return int((counts * (counts - 1.0)).sum()) // 2

    counts = table, table.sum(axis=1), table.sum(axis=0), table.sum()
    return adjusted_rand_of_pairs(*map(pairs, counts))


def _held_out(merges: _Merges, left_out: Array, edge: float, max_clusters: int) -> Array:
    """Compute the log-likelihood of edges left out, over that of their ends' degrees.

    There is a value for each k from 2 to `max_clusters`.

    Walks between clusters are as frequent as among the edges kept, and one edge more for each pair of
    clusters, spread as chance would.
    """
    number, pairs = _at(merges, max_clusters)
    known, left = (_summed(each, number, number, max_clusters) for each in (merges.weights, left_out))
    found, total = np.zeros(max_clusters - 1), left.sum()
    if not (known.any() and total > 0):
        return found
    known /= known.sum()
    for k in range(max_clusters, 1, -1):
        mass, doubt = known.sum(axis=1), k * k * edge
        chance = np.outer(mass, mass)
        seen = (left > 0) & (chance > 0)
        likelier = np.log((known[seen] / chance[seen] + doubt) / (1.0 + doubt))
        found[k - 2] = left[seen] @ likelier / total
        for table in (known, left):
            _merge(table, *pairs[max_clusters - k])
            _merge(table.T, *pairs[max_clusters - k])
    return found
