"""How far a run is: one number for all of its stages, which are reported one by one."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Estimate"]

# How long stages take beside each other: shares of the time of whole runs, measured on some thousand points
# in 4 to 64 dimensions and rounded. Stages that are not listed count 10. In a directory each sweep
# is a stage of its own.
SHARES = {
    "reading": 2,
    "following the flow": 5,
    "neighbors": 40,
    "coarsening": 6,
    "counting clusters": 10,
    "counting communities": 20,
    "dividing": 40,
    "polishing": 5,
    "refining": 5,
    "re-fitting": 10,
    "writing": 2,
    # of runs in a directory
    "sample rows": 1,
    "gather probes": 1,
    "compare probes": 3,
    "probe": 1,
    "route rows": 3,
    "find neighbors": 40,
    "rows": 1,
    "merge neighbors": 2,
    "points": 1,
    "graph": 4,
    "group": 1,
    "central": 1,
    "divided": 15,
    "begin sweeps": 2,
    "sweep widened for upper": 2,
    "sweep narrowed upper": 1,
    "sweep lowered": 1,
    "sweep widened": 3,
    "sweep narrowed": 1,
    "number clusters": 1,
    "memberships": 1,
    "send home": 1,
    "homes": 1,
    "add sizes": 1,
    "check files": 1,
}
USUAL_SHARE = 10


class Estimate:
    """Puts stages together to one run.

    Which stages a run has is only expected. Expected stages that do not come are left out, others are put
    in, and the part that is done never falls.

    Parameters
    ----------
    expected : sequence of str
        Stages in their order.

    Attributes
    ----------
    stage : str
        What is being done. A stage is first reported when a part of it is done, so when one ends it is the
        next that is expected.
    part : float
        How much of the run is done, from 0 to 1.

    Examples
    --------
    >>> run = Estimate(["neighbors", "dividing"])
    >>> run.update("neighbors", 50, 100)
    >>> run.stage, run.part
    ('neighbors', 0.25)
    >>> run.update("neighbors", 100, 100)
    >>> run.stage, run.part
    ('dividing', 0.5)
    """

    def __init__(self, expected: Sequence[str]) -> None:
        self.part = 0.0
        self.stage = expected[0] if expected else ""
        self._coming = list(expected)
        self._passed = 0.0
        self._now, self._done = "", 0

    def expect(self, coming: Sequence[str]) -> None:
        """Expect other stages than before after the one that is being done."""
        self._coming = list(coming)
        if not self._now and coming:
            self.stage = coming[0]

    def update(self, stage: str, done: int, total: int) -> None:
        """Take in that `done` of `total` steps of a stage are done."""
        if stage != self._now or done < self._done:
            self._begin(stage)
        self._done = done
        fraction = min(1.0, max(0.0, done / total)) if total > 0 else 0.0
        ahead = sum(map(_share, self._coming))
        whole = self._passed + _share(stage) + ahead
        self.part = max(self.part, (self._passed + fraction * _share(stage)) / whole)
        self.stage = self._coming[0] if fraction >= 1.0 and self._coming else stage

    def _begin(self, stage: str) -> None:
        if self._now:
            self._passed += _share(self._now)
        self._now = stage
        if stage in self._coming:
            del self._coming[: self._coming.index(stage) + 1]


def _share(stage: str) -> float:
    return SHARES.get(stage, USUAL_SHARE)
