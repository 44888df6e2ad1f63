"""When a run has to stop refining what it has."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

__all__ = ["NEVER", "Deadline"]


@dataclass(frozen=True)
class Deadline:
    """A time on the monotonic clock; see `Deadline.after`.

    Attributes
    ----------
    ends : float
        Infinite if there is no deadline. Then the clock is of no influence.
    ready : callable
        Tells whether it counts yet.

    Examples
    --------
    >>> NEVER.over, Deadline.after(60).over, Deadline.after(0).over
    (False, False, True)
    """

    ends: float = float("inf")
    ready: Callable[[], bool] = lambda: True

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Begin to count now."""
        return cls(time.monotonic() + seconds)

    def once(self, ready: Callable[[], bool]) -> Deadline:
        """Let it count no sooner than `ready` says."""
        return replace(self, ready=ready)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.ready() and time.monotonic() >= self.ends


NEVER = Deadline()
