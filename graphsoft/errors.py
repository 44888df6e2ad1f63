"""The errors and warnings of graphsoft, also where an optional package is missing."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

__all__ = [
    "GraphsoftError",
    "GraphsoftWarning",
    "InputError",
    "NotEnoughMemory",
    "RunStopped",
    "Unreachable",
    "imported",
    "shown",
    "warn",
]


class GraphsoftError(Exception):
    """Base class of the errors that graphsoft raises on purpose."""


class InputError(GraphsoftError, ValueError):
    """An argument cannot be used as it is.

    Parameters
    ----------
    argument : str
        The name of the argument, as the caller writes it.
    problem : str
        What is wrong, with the value and its place.
    remedy : str
        What to do about it.

    Examples
    --------
    >>> print(InputError("levels", "got [10, 20], but 20 does not fall below 10", "list falling sizes"))
    levels: got [10, 20], but 20 does not fall below 10. Remedy: list falling sizes.
    """

    def __init__(self, argument: str, problem: str, remedy: str) -> None:
        super().__init__(argument, problem, remedy)
        self.argument = argument
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.argument}: {self.problem}. Remedy: {self.remedy}."


class NotEnoughMemory(InputError, MemoryError):
    """The input needs more memory than there is; raised before long work.

    Examples
    --------
    >>> raise NotEnoughMemory("X", "needs 9.2 GB, and 4 GB are free", "use fewer points")
    Traceback (most recent call last):
    graphsoft.errors.NotEnoughMemory: X: needs 9.2 GB, and 4 GB are free. Remedy: use fewer points.
    """


class Unreachable(InputError):
    """What a call reads is not to be had, or is not what it saw at first, where it is read.

    That says nothing against the data: a run stops then, and keeps what is done.
    """


class RunStopped(GraphsoftError):
    """A run in a directory cannot go on as things are; the same call takes it up where it stopped.

    Parameters
    ----------
    stage : str
        Where the run stopped.
    parts : sequence of int
        Whose tasks could not be done; none if it stopped between tasks.
    problem : str
    remedy : str

    Examples
    --------
    >>> print(RunStopped("find-neighbors", [3, 4], "the disk is full", "make room, and call again"))
    find-neighbors, parts 3 and 4: the disk is full. Remedy: make room, and call again.
    """

    def __init__(self, stage: str, parts: Sequence[int], problem: str, remedy: str) -> None:
        super().__init__(stage, parts, problem, remedy)
        self.stage = stage
        self.parts = list(parts)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        shown = [str(part) for part in self.parts[:5]]
        if len(self.parts) > 5:
            shown.append(f"{len(self.parts) - 5:,} more")
        listed = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
        where = f", part{'s' * (len(shown) > 1)} {listed}" if shown else ""
        return f"{self.stage}{where}: {self.problem}. Remedy: {self.remedy}."


class GraphsoftWarning(UserWarning):
    """Something was done that the caller may not expect; the result is still right."""


def shown(value: object) -> str:
    """Write a value for an error message: on one line, and not too long.

    Examples
    --------
    >>> shown([1, 2]), len(shown("a" * 1000))
    ('[1, 2]', 60)
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the caller's own __repr__, or a number with too many digits
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def warn(message: str) -> None:
    """Issue a `GraphsoftWarning` that points to the line that called graphsoft, however deep this call is.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("odd, but usable")
    >>> caught[0].message
    GraphsoftWarning('odd, but usable')
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "graphsoft":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, GraphsoftWarning, stacklevel=level)


def imported(module: str, user: str, install: str) -> ModuleType:
    """Import an optional package, or say what needs it and how to install it.

    Examples
    --------
    >>> imported("json", "to_json", "json").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        raise ImportError(f"{user} needs {error.name}: pip install {install}", name=error.name) from None
