"""What methods have in common that look at features only, from several random starts."""

from __future__ import annotations

from graphsoft.input.checks import integer
from graphsoft.methods.parts.convergence import stop_status

__all__ = ["FeaturesFromStarts"]


class FeaturesFromStarts:
    """Settings with ``starts`` and ``max_sweeps``, of a method that looks at features only.

    Each dataclass lists the two fields itself, for their order and defaults differ.
    """

    starts: int
    max_sweeps: int

    def __post_init__(self) -> None:
        for argument in ("starts", "max_sweeps"):
            integer(argument, getattr(self, argument), 1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the features only."""
        return frozenset({"features"})

    def _status(self, sweeps: int, converged: bool) -> str:
        return f"best of {self.starts} starts {stop_status(sweeps, converged)}"
