"""How many clusters: the sizes at which a graph falls apart by itself, and a ladder of levels to there.

A graph is contracted to some hundred nodes, and these are merged one by one, always the pair with the largest
``w_pq / (d_p d_q)``. Where k clusters are what is there, what joins two of them is much weaker than what
joined the last parts within one: the similarity falls from the merge into k to the merge into k - 1. A single
fall may be chance, so the graph is merged several times, each time without a fifth of its edges, and the mean
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import contracted, grouped, strays
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import generator, integer
from graphsoft.linalg.csr import inverse_or_zero, submatrix

__all__ = ["Candidate", "Suggestion", "ladder", "suggest", "suggest_levels", "within_limits"]

# Edges are left out of a graph that was contracted to so many nodes: rounds then cost the same for any graph.
MAX_NODES = 1000
# Merged one by one are so many nodes, or a third of the points.
MAX_MERGED = 200
# No more clusters are suggested, and a ladder begins with no more unless the top itself is large.
MAX_CLUSTERS = 100
ROUNDS = 8
# Where no seed is given, so that the same call gives the same answer.
SEED = 0
# Edges left out in each round.
LEFT_OUT = 0.2
# A component lighter than a tenth of a cluster among so many is no cluster.
CLUSTERS_OF_STRAYS = 20
# Falls get smaller as clusters get more, in a graph without clusters about as 1 / k. By this power of k they
# are weighed against that: 0 would take two clusters nearly everywhere, 1 would take a chance among many.
POWER = 0.5
# Between levels of a ladder there is about this factor.
STEP = 4.0
# A level between is the best of those within this factor of where it would be.
WINDOW = 1.4
# A lower score is said to be unsure. Of 240 clouds without clusters, uniform or normal, of 100 to 4000 points
# in 2 to 30 dimensions, nine of ten had at most 1.14, and the highest 1.9; along a line it is 1.4 to 3.7.
SURE = 1.5
# Candidates that are printed.
SHOWN = 8


@dataclass(frozen=True)
class Candidate:
    """A number of clusters, and what speaks for it.

    Attributes
    ----------
    clusters : int
    score : float
        `fall` times the root of `clusters`; the largest is suggested, of those up to the number whose
        `held_out` is largest.
    fall : float
        How much weaker the clusters are joined than the parts of the next cluster to be split, as a natural
        logarithm, mean over rounds.
    stability : float
        How well the clusters of the rounds agree with those of the whole graph: adjusted Rand index, mean.
    held_out : float
        How much likelier the edges left out are under these clusters than by the degrees of their ends
        alone: nats for each unit of weight, mean.
    """

    clusters: int
    score: float
    fall: float
    stability: float
    held_out: float


@dataclass(frozen=True, repr=False)
class Suggestion:
    """What `suggest_levels` found; ``print`` shows it as a table.

    Attributes
    ----------
    levels : tuple of int
        A ladder for :func:`graphsoft.hierarchy`, finest first; the last is the suggested number of clusters.
    candidates : tuple of Candidate
        Every number of clusters that was looked at, from 2 on.
    reason : str
        Why these levels, in words.
    """

    levels: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    reason: str

    @property
    def clusters(self) -> int:
        """The suggested number of clusters."""
        return self.levels[-1]

    def best(self, count: int = SHOWN) -> tuple[Candidate, ...]:
        """List the `count` candidates with the largest scores, the best first.

        Those with more clusters than make the edges left out likeliest come after all others.
        """
        count = integer("count", count, 1)
        foretold = _foretold(self.candidates) if self.candidates else 0
        order = sorted(
            self.candidates, key=lambda each: (each.clusters > foretold, -each.score, each.clusters)
        )
        return tuple(order[:count])

    def __repr__(self) -> str:
        return f"Suggestion(levels={self.levels}, {len(self.candidates)} candidates; print it for a table)"

    def __str__(self) -> str:
        lines = [f"levels={list(self.levels)}: {self.reason}"]
        if self.candidates:
            lines.append("clusters  score   fall  stability  held out")
        lines += [
            f"{each.clusters:8}  {each.score:5.2f}  {each.fall:5.2f}  {each.stability:9.2f}  "
            f"{each.held_out:8.3f}"
            for each in self.best()
        ]
        return "\n".join(lines)


def suggest_levels(
    X: Any,
    *,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    neighbors: Any = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Suggestion:
    """Suggest how many clusters there are, and levels that lead there.

    Parameters
    ----------
    X, n_neighbors, metric, weights, affinity, neighbors
        As for :func:`graphsoft.hierarchy`.
    rng : None, int, or numpy Generator
        Draws the edges that are left out. None gives the same answer every time.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Suggestion

    Notes
    -----
    For numbers of clusters from 2 to 100, some hundred nodes of a contraction are merged one by one, on the
    graph without a fifth of its edges, eight times. The `score` says where joining becomes much weaker. No
    more clusters are suggested than make the edges left out likeliest; on neighbor graphs, whose edges
    depend on each other, that is seldom a bound.

    A number is named also where there are no clusters; the score of the best is then seldom above 1.5, and
    `reason` says so if it is below. Where clusters are nested, several sizes are right: look at all of
    :meth:`Suggestion.best`.

    Examples
    --------
    >>> import graphsoft
    >>> graph = graphsoft.patterns.block_graph(0, blocks=5, size=20)
    >>> found = graphsoft.suggest_levels(graph)
    >>> found.clusters, found.levels
    (5, (20, 5))
    """
    graph = as_graph(
        X, affinity=affinity, n_neighbors=n_neighbors, metric=metric, weights=weights, neighbors=neighbors,
        rng=rng, progress=progress,
    )  # fmt: skip
    return suggest(graph, generator("rng", rng), progress)


def suggest(
    graph: Graph,
    random: np.random.Generator | None = None,
    progress: Progress | None = None,
    children: tuple[int | None, int | None] = (None, None),
) -> Suggestion:
    """Suggest levels for a checked graph; see :func:`suggest_levels`.

    `children` limits how many clusters there are, at least and at most, for each one of the level above.

    Examples
    --------
    >>> import networkx as nx
    >>> print(suggest(as_graph(nx.empty_graph(9))))
    levels=[1]: no two points are joined
    """
    if not graph.adjacency.nnz:
        return Suggestion((1,), (), "no two points are joined")
    watched = _watched(graph, progress)
    merged = min(MAX_MERGED, watched.distinct // 3)
    if merged < 3:
        return Suggestion((1,), (), f"{watched.distinct} distinct points are too few to tell clusters")
    random = np.random.default_rng(SEED) if random is None else random
    edge = 1.0 / (2.0 * watched.counts.sum())
    whole = _merges(_both_ways(watched.upper), merged, edge)
    rounds = []
    for done in range(ROUNDS):
        kept, left_out = _thinned(watched, random)
        merges = _merges(kept, merged, edge)
        rounds.append((merges, _between(merges, left_out)))
        if progress is not None:
            progress("counting clusters", done + 1, ROUNDS)
    max_clusters = min(
        [MAX_CLUSTERS, *(len(each.pairs) for each in (whole, *(merges for merges, _ in rounds)))]
    )
    falls = np.mean([_falls(merges.similarity, max_clusters) for merges, _ in rounds], axis=0)
    stability = np.mean(
        [_agreement(whole, merges, watched.points, max_clusters) for merges, _ in rounds], axis=0
    )
    held_out = np.mean([_held_out(merges, left, edge, max_clusters) for merges, left in rounds], axis=0)
    sizes = np.arange(2, max_clusters + 1)
    columns = (sizes, falls * sizes**POWER, falls, stability, held_out)
    candidates = tuple(Candidate(*row) for row in zip(*(each.tolist() for each in columns), strict=True))
    return _explained(candidates, watched.distinct, children)


def ladder(top: int, points: int, scores: dict[int, float]) -> tuple[int, ...]:
    """Choose levels from some hundred clusters down to `top`, by factors of about four.

    A level between is the size of largest score near where it would be; the finest has no more than a fifth
    of the points.

    Examples
    --------
    >>> ladder(10, 2000, {}), ladder(2, 2000, {}), ladder(40, 2000, {}), ladder(3, 12, {})
    ((100, 32, 10), (100, 27, 7, 2), (160, 40), (3,))
    >>> ladder(2, 2000, {26: 0.1, 25: 0.3, 8: 0.2})
    (100, 25, 8, 2)
    """
    finest = min(max(MAX_CLUSTERS, round(STEP * top)), points // 5)
    steps = max(1, round(np.log(finest / top) / np.log(STEP))) if finest >= 2 * top else 0
    levels = [finest] if steps else []
    for step in range(1, steps):
        wanted = finest * (top / finest) ** (step / steps)
        near = range(int(np.ceil(wanted / WINDOW)), min(int(wanted * WINDOW), levels[-1] * 2 // 3) + 1)
        best = max((k for k in near if k in scores), key=lambda k: (scores[k], -k), default=round(wanted))
        levels.append(best)
    return (*levels, top)


def within_limits(
    levels: tuple[int, ...], points: int, min_children: int | None, max_children: int | None
) -> tuple[int, ...]:
    """Move levels, from the top down, to have `least` to `most` clusters under each of the next.

    A level that would have more than a fifth of the points is left out, and where steps become smaller there
    are more of them.

    Examples
    --------
    >>> within_limits((100, 39, 9), 1797, None, 2), within_limits((100, 39, 9), 1797, 5, None)
    ((72, 36, 18, 9), (225, 45, 9))
    """
    if min_children is None and max_children is None:
        return levels
    finest, kept = max(levels[0], points // 5), [levels[-1]]
    steps = list(levels[-2::-1])
    while steps or (max_children is not None and kept[-1] * max_children <= levels[0]):
        wanted = steps.pop(0) if steps else kept[-1] * (max_children or 1)
        size = max(wanted, (min_children or 1) * kept[-1])
        size = min(size, (max_children or size) * kept[-1])
        if not kept[-1] < size <= finest:
            break
        kept.append(size)
    return tuple(kept[::-1])


@dataclass(frozen=True, eq=False)
class _Watched:
    """The graph that is watched while it merges: without strays, contracted if it is large."""

    upper: sp.csr_array  # weights as shares of the whole, each pair once
    counts: Array  # edges behind each of them
    points: Array  # points in each node
    distinct: int  # points, without strays, copies counted once


@dataclass(frozen=True, eq=False)
class _Merges:
    """How some hundred nodes merged one by one."""

    group: Array  # the node that each watched one began in, -1 for strays
    weights: Array  # between these nodes, before they merged
    pairs: list[tuple[int, int]]  # the second joins the first
    similarity: Array  # of each merge, as a logarithm, never rising


def _watched(graph: Graph, progress: Progress | None = None) -> _Watched:
    inside = np.flatnonzero(~strays(graph, CLUSTERS_OF_STRAYS))
    weights = submatrix(graph.adjacency, inside)
    begun = Graph(weights / weights.sum(), range(len(inside)))
    group = np.arange(len(inside))
    if graph.duplicates is not None:
        group = np.unique(graph.duplicates[inside], return_inverse=True)[1]
    sites = int(group.max()) + 1
    if sites > MAX_NODES:
        group = grouped(contracted(begun, group, sites), MAX_NODES, progress)[group]
    nodes = int(group.max()) + 1
    edges = sp.csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)
    counts = _upper(contracted(Graph(edges, range(len(inside))), group, nodes))
    upper = _upper(contracted(begun, group, nodes))
    return _Watched(upper, counts.data.astype(np.int64), np.bincount(group, minlength=nodes), sites)


def _upper(graph: Graph) -> sp.csr_array:
    half = sp.triu(graph.adjacency, format="csr")
    half.sort_indices()
    return half


def _both_ways(upper: sp.csr_array) -> Graph:
    upper.eliminate_zeros()
    whole = (upper + sp.triu(upper, 1).T).tocsr()
    whole.sort_indices()
    return Graph(whole, range(whole.shape[0]))


def _thinned(watched: _Watched, random: np.random.Generator) -> tuple[Graph, Graph]:
    """Leave out a part of the edges: what is kept, and what is left out."""
    upper = watched.upper
    share = random.binomial(watched.counts, LEFT_OUT) / watched.counts
    parts = (upper.data * (1.0 - share), upper.data * share)
    kept, left = (sp.csr_array((data, upper.indices, upper.indptr), upper.shape, copy=True) for data in parts)
    return _both_ways(kept), _both_ways(left)


def _merges(graph: Graph, count: int, edge: float) -> _Merges:
    """Contract to `count` nodes, and merge these one by one; `edge` is what an edge weighs in the mean."""
    inside = np.flatnonzero(~strays(graph, CLUSTERS_OF_STRAYS))
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

    In what is returned every pair has an edge more, so that no similarity is zero.
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
    """Compute how far the similarity falls from the merge into k clusters to the next, k = 2 to `most`."""
    into = similarity[::-1]  # into 1, 2, 3, ... clusters
    return np.asarray(into[1:max_clusters] - into[: max_clusters - 1])


def _at(merges: _Merges, max_clusters: int) -> tuple[Array, list[tuple[int, int]]]:
    """Stop merging at `most` clusters: the number of each node's cluster, and the pairs that merge then."""
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
    """Compute the adjusted Rand index of two ways to merge, for k = 2 to `most`."""
    both = (one.group >= 0) & (two.group >= 0)
    table = np.zeros((len(one.weights), len(two.weights)))
    np.add.at(table, (one.group[both], two.group[both]), points[both])
    (rows, row_pairs), (columns, column_pairs) = _at(one, max_clusters), _at(two, max_clusters)
    table = _summed(table, rows, columns, max_clusters)
    found: Array = np.empty(max_clusters - 1)
    for k in range(max_clusters, 1, -1):
        found[k - 2] = _adjusted_rand(table)
        _merge(table, *row_pairs[max_clusters - k])
        _merge(table.T, *column_pairs[max_clusters - k])
    return found


def _adjusted_rand(table: Array) -> float:
    def pairs(counts: Array) -> float:
        return float((counts * (counts - 1.0)).sum()) / 2.0

    together, one, two = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    chance = one * two / max(pairs(table.sum()), 1.0)
    max_clusters = (one + two) / 2.0
    return (together - chance) / (max_clusters - chance) if max_clusters > chance else 1.0


def _held_out(merges: _Merges, left_out: Array, edge: float, max_clusters: int) -> Array:
    """Compute the log-likelihood of edges left out, over that of their ends' degrees, for k = 2 to `most`.

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


def _foretold(candidates: tuple[Candidate, ...]) -> int:
    """Return the number of clusters that make the edges left out likeliest: no more are suggested."""
    return max(candidates, key=lambda each: (each.held_out, -each.clusters)).clusters


def _explained(
    candidates: tuple[Candidate, ...], points: int, children: tuple[int | None, int | None]
) -> Suggestion:
    """Choose the top and the ladder, and say why."""
    best = max(candidates[: _foretold(candidates) - 1], key=lambda each: (each.score, -each.clusters))
    if best.score <= 0.0:
        return Suggestion((1,), candidates, "no number of clusters stands out, all parts are joined alike")
    levels = ladder(best.clusters, points, {each.clusters: each.score for each in candidates})
    levels = within_limits(levels, points, *children)
    reason = (
        f"{best.clusters} clusters are joined {np.exp(best.fall):.1f} times more weakly than the parts of "
        f"the next to split, and come out again with an adjusted Rand index of {best.stability:.2f} when "
        f"{LEFT_OUT:.0%} of the edges are left out"
    )
    if best.score < SURE:
        reason += f"; a score of {best.score:.2f} is also reached where there are no clusters"
    return Suggestion(levels, candidates, reason)
