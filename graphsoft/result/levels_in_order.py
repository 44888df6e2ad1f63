"""What hierarchies in memory and on disk have in common: they are sequences of levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from graphsoft.input.checks import integer

__all__ = ["LevelsInOrder"]

Each = TypeVar("Each")


class LevelsInOrder(Sequence[Each]):
    """Levels, finest first: ``h[0]`` is the finest, ``h[-1]`` the coarsest."""

    if TYPE_CHECKING:  # a field, or computed when it is asked for

        @property
        def levels(self) -> tuple[Each, ...]:
            """The levels, finest first."""

    @overload
    def __getitem__(self, index: int) -> Each: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Each, ...]: ...
    def __getitem__(self, index: int | slice) -> Each | tuple[Each, ...]:
        try:
            return self.levels[index]
        except IndexError:
            problem = f"there is no level {index}: the finest is 0, the coarsest {len(self) - 1}"
            raise IndexError(problem) from None

    def __len__(self) -> int:
        return len(self.levels)

    def __iter__(self) -> Iterator[Each]:
        return iter(self.levels)

    def _level(self, level: Any) -> int:
        return integer("level", level, -len(self), len(self) - 1) % len(self)
