"""When a run has to stop refining what it has."""

from __future__ import annotations

import time
from dataclasses import dataclass

__all__ = ["NEVER", "Deadline"]


@dataclass(frozen=True)
class Deadline:
    """A time on the monotonic clock; see `Deadline.after`.

    Attributes
    ----------
    ends : float
        Infinite if there is no deadline. Then the clock is of no influence.

    Examples
    --------
    >>> NEVER.over, Deadline.after(60).over, Deadline.after(0).over
    (False, False, True)
    """

    ends: float = float("inf")

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Begin to count now."""
        return cls(time.monotonic() + seconds)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.ends


NEVER = Deadline()
