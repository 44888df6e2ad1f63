"""How many clusters to look for: candidates with the evidence for each, and levels that lead there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import COUNTED_MASS, STRAY_MASS, strays
from graphsoft.engine.communities import evidence_for_communities
from graphsoft.engine.counting import (
    CLUSTERS_OF_STRAYS,
    LEFT_OUT,
    MAX_CLUSTERS,
    Evidence,
    evidence_for_counts,
)
from graphsoft.errors import warn
from graphsoft.fitting.settings import Settings, falling_sizes, refuse_feature_methods
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import integer
from graphsoft.methods import Sample
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint
from graphsoft.storage.packing import Unpacker

__all__ = ["Candidate", "Suggestion", "levels_down_to", "suggest", "with_suggested_levels", "within_limits"]

# In a graph without clusters falls get smaller about as 1 / k. They are weighed against that by this power of
# k: 0 would take two clusters nearly everywhere, 1 would take a chance among many.
POWER = 0.5
# Levels differ by about this factor.
STEP = 4.0
# A level between two others is the best of those within this factor of where it would be.
WINDOW = 1.4
# A lower score is said to be unsure. Of 240 clouds without clusters, uniform or normal, of 100 to 4000 points
# in 2 to 30 dimensions, nine of ten had at most 1.14, and the highest 1.9; along a line it is 1.4 to 3.7.
SURE = 1.5
# In a sparse network edges left out are hard to predict. There it is enough that groups agree so well from
# round to round.
STABLE = 0.5
# A number that is smaller than the number of parts that share no edge, by no more than this factor, is taken
# for it: small parts count for little when edges are left out.
NEAR_PARTS = 1.5
# Candidates that are printed.
SHOWN = 8


@dataclass(frozen=True)
class Candidate:
    """A number of clusters, and the evidence for it.

    Attributes
    ----------
    clusters : int
    score : float
        By falls, `fall` times the root of `clusters`: the largest is suggested, of those up to the number
        whose `held_out` is largest. By edges left out, the same as `held_out`.
    fall : float
        How much weaker the clusters are joined than the parts of the next cluster to be split, as a natural
        logarithm, mean over rounds.
    stability : float
        How well the clusters of the rounds agree with those of the whole graph, or by edges left out with
        each other: adjusted Rand index, mean.
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
        Levels for :func:`graphsoft.hierarchy`, finest first; the last is the suggested number of clusters.
    candidates : tuple of Candidate
        Every number of clusters that was looked at, from 2 on.
    reason : str
        Why these levels, in words.
    by_falls : bool
        Whether the number was chosen by falls, and not by how likely it makes the edges left out.
    parts : int
        The number of parts that share no edge, if it was chosen for them, else 0.
    """

    levels: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    reason: str
    by_falls: bool = True
    parts: int = 0

    @property
    def clusters(self) -> int:
        """The suggested number of clusters."""
        return self.levels[-1]

    @property
    def sure(self) -> bool:
        """Whether so clear a number is seldom found where there are no clusters."""
        return bool(self.parts) or not (self.candidates and self.by_falls) or self.best(1)[0].score >= SURE

    def best(self, count: int = SHOWN) -> tuple[Candidate, ...]:
        """List the `count` candidates with the largest scores, the best first.

        By falls, those with more clusters than make the edges left out likeliest come after all others.
        """
        count = integer("count", count, 1)
        most = _best_held_out(self.candidates).clusters if self.candidates and self.by_falls else np.inf

        def place(each: Candidate) -> tuple[bool, bool, float, int]:
            return each.clusters != self.parts, each.clusters > most, -each.score, each.clusters

        return tuple(sorted(self.candidates, key=place)[:count])

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


def suggest(
    graph: Graph,
    random: np.random.Generator | None = None,
    progress: Progress | None = None,
    children: tuple[int | None, int | None] = (None, None),
) -> Suggestion:
    """Suggest levels for a checked graph; see :func:`graphsoft.suggest_levels`.

    `children` limits how many clusters there are, at least and at most, for each one of the level above.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> print(suggest(as_graph(nx.empty_graph(9))))
    levels=[1]: no two points are joined
    """
    if not graph.adjacency.nnz:
        return Suggestion((1,), (), "no two points are joined")
    found = evidence_for_counts(graph, random, progress)
    candidates = _by_fall(found)
    best = _largest_fall(candidates)
    if best is not None and _more_strays(graph, best.clusters):
        # components that were counted as clusters get none among so few
        found = evidence_for_counts(graph, random, progress, best.clusters)
        candidates = _by_fall(found)
        best = _largest_fall(candidates)
    if best is None:
        return Suggestion((1,), (), f"{found.distinct} distinct points are too few to tell clusters")
    parts = _parts(graph)
    if parts > MAX_CLUSTERS or best.clusters < parts <= NEAR_PARTS * best.clusters:
        return _by_parts(parts, candidates, found.distinct, children)
    if best.score < SURE and not graph.of_neighbors:
        network = evidence_for_communities(graph, random, progress)
        among = _candidates(network, network.held_out)
        if among and _predicts(_best_held_out(among), among[-1].clusters):
            return _by_edges_left_out(among, found.distinct, children)
    return _by_falls(best, candidates, found.distinct, children)


def _parts(graph: Graph) -> int:
    """Count the components, if each of them is heavy enough to be a cluster among so many; strays aside."""
    mass = np.bincount(graph.components, graph.degrees)
    mass = mass[mass >= COUNTED_MASS * mass.sum() / len(mass)]
    return len(mass) if mass.min() >= STRAY_MASS * mass.sum() / len(mass) else 0


def _more_strays(graph: Graph, clusters: int) -> bool:
    """Tell whether more points are strays among so many clusters than when clusters were counted."""
    counted = np.count_nonzero(strays(graph, CLUSTERS_OF_STRAYS))
    return bool(np.count_nonzero(strays(graph, clusters)) > counted)


def _by_fall(found: Evidence) -> tuple[Candidate, ...]:
    return _candidates(found, found.falls * found.sizes**POWER)


def _largest_fall(candidates: tuple[Candidate, ...]) -> Candidate | None:
    """Find the number with the largest score, up to the one that makes the edges left out likeliest."""
    if not candidates:
        return None
    most = _best_held_out(candidates).clusters
    return max(candidates[: most - 1], key=lambda each: (each.score, -each.clusters))


def _predicts(best: Candidate, most: int) -> bool:
    """Tell whether so many clusters predict edges, or come back, and far fewer than `most`.

    Where the most predict best, only nearness does.
    """
    return (best.held_out > 0.0 or best.stability >= STABLE) and 2 * best.clusters <= most


def _candidates(found: Evidence, scores: Array) -> tuple[Candidate, ...]:
    columns = found.sizes, scores, found.falls, found.stability, found.held_out
    return tuple(Candidate(*row) for row in zip(*(each.tolist() for each in columns), strict=True))


def with_suggested_levels(
    sample: Sample,
    settings: Settings,
    random: np.random.Generator | None,
    progress: Progress | None,
    checkpoint: Checkpoint = NOWHERE,
) -> tuple[Settings, tuple[str, ...]]:
    """Let the graph choose the levels: the settings with them, and why they are these."""
    children = settings.min_children, settings.max_children

    def choose() -> tuple[tuple[int, ...], str, bool]:
        found = suggest(sample.graph, random, progress, children)
        return found.levels, found.reason, found.sure

    def unpack(content: Any, unpacker: Unpacker) -> tuple[tuple[int, ...], str, bool]:
        levels, reason, sure = content
        return tuple(falling_sizes(levels, len(sample))), str(reason), bool(sure)

    levels, reason, sure = checkpoint.step("levels", choose, lambda found, packer: found, unpack, random)
    methods = settings.methods * len(levels)
    if sample.given_features is None:
        refuse_feature_methods(methods, [len(sample), *levels])
    if not sure:
        remedy = "name the levels if you know better"
        warn(f"levels: 'auto' took {levels[-1]} at the top, although no number stands out; {remedy}")
    sizes = ", ".join(map(str, levels))
    chosen = replace(settings, levels=levels, methods=methods)
    return chosen, (f"levels chosen: {sizes} clusters; {reason}",)


def levels_down_to(top: int, points: int, scores: dict[int, float]) -> tuple[int, ...]:
    """Choose levels from some hundred clusters down to `top`, by factors of about four.

    A level between is the size of largest score near where it would be; the finest has no more than a fifth
    of the points.

    Examples
    --------
    >>> levels_down_to(10, 2000, {}), levels_down_to(2, 2000, {})
    ((100, 32, 10), (100, 27, 7, 2))
    >>> levels_down_to(40, 2000, {}), levels_down_to(3, 12, {})
    ((160, 40), (3,))
    >>> levels_down_to(2, 2000, {26: 0.1, 25: 0.3, 8: 0.2})
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
    """Move levels, from the top down, so that each has `min_children` to `max_children` for each of the next.

    A level with more clusters than a fifth of the points is left out. Where steps become smaller, levels are
    added.

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


def _best_held_out(candidates: tuple[Candidate, ...]) -> Candidate:
    """Return the number of clusters that makes the edges left out likeliest."""
    return max(candidates, key=lambda each: (each.held_out, -each.clusters))


def _by_falls(
    best: Candidate, candidates: tuple[Candidate, ...], points: int, children: tuple[int | None, int | None]
) -> Suggestion:
    """Choose the levels below the number with the largest fall, and say why."""
    if best.score <= 0.0:
        return Suggestion((1,), candidates, "no number of clusters stands out, all parts are joined alike")
    reason = (
        f"{best.clusters} clusters are joined {np.exp(best.fall):.1f} times more weakly than the parts of "
        f"the next to split, and {_come_back(best)}"
    )
    if best.score < SURE:
        reason += f"; a score of {best.score:.2f} is also reached where there are no clusters"
    return Suggestion(_levels_below(best.clusters, candidates, points, children), candidates, reason)


def _by_edges_left_out(
    candidates: tuple[Candidate, ...], points: int, children: tuple[int | None, int | None]
) -> Suggestion:
    """Choose the levels below the number that makes the edges left out likeliest, and say why."""
    best = _best_held_out(candidates)
    reason = f"{best.clusters} clusters predict best where the edges left out are, and {_come_back(best)}"
    return Suggestion(
        _levels_below(best.clusters, candidates, points, children), candidates, reason, by_falls=False
    )


def _by_parts(
    parts: int, candidates: tuple[Candidate, ...], points: int, children: tuple[int | None, int | None]
) -> Suggestion:
    """Choose the levels below the components of a graph."""
    levels = _levels_below(parts, candidates, points, children)
    return Suggestion(levels, candidates, f"the graph has {parts} parts that share no edge", parts=parts)


def _come_back(best: Candidate) -> str:
    return (
        f"come out again with an adjusted Rand index of {best.stability:.2f} when {LEFT_OUT:.0%} of the "
        "edges are left out"
    )


def _levels_below(
    top: int, candidates: tuple[Candidate, ...], points: int, children: tuple[int | None, int | None]
) -> tuple[int, ...]:
    levels = levels_down_to(top, points, {each.clusters: each.score for each in candidates})
    return within_limits(levels, points, *children)
