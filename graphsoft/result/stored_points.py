"""New points in the clusters of a hierarchy on disk, where they are too many for memory."""

from __future__ import annotations

from dataclasses import dataclass

from graphsoft.aliases import Array
from graphsoft.lazy import lazy
from graphsoft.result.stored_files import FilesOfPredictions
from graphsoft.result.stored_labels import StoredEntropy, StoredLabels, StoredProbability
from graphsoft.result.stored_memberships import StoredMemberships
from graphsoft.result.stored_result import StoredResult

__all__ = ["StoredPoints", "StoredPointsLevel"]


@dataclass(frozen=True, eq=False, repr=False)
class StoredPointsLevel:
    """New points on one level: q points in m clusters.

    Attributes
    ----------
    memberships : StoredMemberships of shape (q, m)
        ``p(cluster | new point)``, on disk.
    labels : StoredLabels of shape (q,)
        The likeliest cluster of every new point, on disk.
    probability : StoredProbability of shape (q,)
        The membership of every new point in it, on disk.
    entropy : StoredEntropy of shape (q,)
        How torn every new point is between clusters, in nats, on disk.
    sizes : ndarray of shape (m,)
        The number of new points whose likeliest cluster each is.
    """

    memberships: StoredMemberships
    labels: StoredLabels
    probability: StoredProbability
    entropy: StoredEntropy
    sizes: Array

    def __repr__(self) -> str:
        points, clusters = self.memberships.shape
        return f"StoredPointsLevel({points} points in {clusters} clusters)"


@dataclass(frozen=True, eq=False, repr=False)
class StoredPoints(StoredResult[StoredPointsLevel]):
    """New points in the clusters of a hierarchy, in a directory, with their levels, finest first.

    `StoredHierarchy.transform` makes it, and ``graphsoft.load(directory)`` opens it. The hierarchy is not
    needed for it. The directory must stay where it is.

    Attributes
    ----------
    files : FilesOfPredictions
        What it is read from.
    cluster_names : mapping of str to str
        Names of clusters, by their ids.
    """

    files: FilesOfPredictions

    kind = FilesOfPredictions

    @lazy
    def levels(self) -> tuple[StoredPointsLevel, ...]:
        """The levels, finest first."""
        return tuple(
            StoredPointsLevel(
                StoredMemberships(self.files, at), StoredLabels(self.files, at),
                StoredProbability(self.files, at), StoredEntropy(self.files, at), each.sizes,
            )
            for at, each in enumerate(self.files.summary.levels)
        )  # fmt: skip
