"""How surely clusters and points are found again; `graphsoft.resampling` finds it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array
from graphsoft.result.tables import aligned, levels_shown, number_or_dash, shortened

__all__ = ["LOST", "Stability"]

# A cluster whose best overlap in a round is no larger counts as lost in it, as in Hennig (2007).
LOST = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How surely clusters and points are found again; made by :func:`graphsoft.stability`.

    ``print`` shows a table for the top level, and for lower levels of at most 30 clusters. Its column
    ``stability`` holds `clusters`, and ``lost in`` holds `lost`.

    Attributes
    ----------
    rounds : int
    clusters : tuple of ndarray, each of shape (m,)
        For every level, the mean over the rounds of each cluster's overlap with the best match among the
        clusters of the same level: the sum of the smaller memberships over that of the larger. From 0 to 1.
    lost : tuple of ndarray of int, each of shape (m,)
        Rounds in which that overlap was at most one half.
    points : tuple of ndarray, each of shape (n,)
        For every level, how surely each point stays with the same others. This is the expected overlap of
        its cluster here and its cluster there, both drawn by its memberships; the mean over the rounds. A
        torn point has less than 1 even if everything is found again.
    sizes : tuple of ndarray, each of shape (m,)
        How many points have each cluster as their likeliest.
    company : tuple of ndarray, each of shape (m,)
        The mean of `points` over those of each cluster; NaN where it has none.
    """

    rounds: int
    clusters: tuple[Array, ...]
    lost: tuple[Array, ...]
    points: tuple[Array, ...]
    sizes: tuple[Array, ...]
    company: tuple[Array, ...]

    def __repr__(self) -> str:
        means = ", ".join(
            f"{len(clusters)} clusters {np.average(clusters, weights=sizes):.2f}"
            for clusters, sizes in zip(self.clusters, self.sizes, strict=True)
        )
        return f"Stability(over {self.rounds} rounds, mean by size: {means})"

    def __str__(self) -> str:
        lines = [
            f"found again on {self.rounds} graphs with random weights; 1 is always, "
            f"and lost is an overlap of at most {LOST:g}"
        ]
        for level in levels_shown([len(clusters) for clusters in self.clusters]):
            mean = np.average(self.clusters[level], weights=self.sizes[level])
            lines += ["", f"level {level}, {mean:.2f} by size:", *self._table(level)]
        return "\n".join(lines)

    def _table(self, level: int) -> list[str]:
        clusters, lost, sizes = self.clusters[level], self.lost[level], self.sizes[level]
        company = self.company[level]
        rows = [["cluster", "size", "stability", "lost in", "company"]]
        for cluster in np.argsort(-clusters, kind="stable").tolist():
            numbers = [
                number_or_dash(clusters[cluster]),
                str(lost[cluster]),
                number_or_dash(company[cluster]),
            ]
            rows.append([f"{level}-{cluster}", str(sizes[cluster]), *numbers])
        return shortened(aligned(rows, left=["cluster"]))
