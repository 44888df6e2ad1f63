"""Checks of plain arguments: words, numbers, functions and random generators.

Each check returns the argument in one known type or raises an :class:`~graphsoft.errors.InputError`.
"""

from __future__ import annotations

import contextlib
import numbers
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.errors import InputError, shown

__all__ = [
    "DEFAULT_SEED",
    "byte_count",
    "callback",
    "choice",
    "folder_named",
    "generator",
    "integer",
    "number",
]

# Used where the caller gives no seed, so that the same call gives the same answer.
DEFAULT_SEED = 0
UNITS = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40,
}  # fmt: skip


def choice(argument: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` if it is one of the `allowed` words.

    Examples
    --------
    >>> choice("symmetrize", "union", ["union", "mutual"])
    'union'
    """
    if isinstance(value, str) and value in allowed:
        return str(value)
    raise InputError(argument, f"got {shown(value)}", "use one of " + ", ".join(map(repr, allowed)))


def integer(argument: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int if it is a whole number (not a bool) from `minimum` to `maximum`.

    Examples
    --------
    >>> integer("n_neighbors", 10, 1)
    10
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if whole and int(value) >= minimum and (maximum is None or int(value) <= maximum):
        return int(value)
    span = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise InputError(argument, f"got {shown(value)}", f"use a whole number {span}")


def number(
    argument: str,
    value: Any,
    *,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a float if it is a finite real number (not a bool) within the bounds.

    Examples
    --------
    >>> number("tolerance", 0, minimum=0, below=1)
    0.0
    >>> number("strength", 2, above=0, maximum=1)
    Traceback (most recent call last):
    graphsoft.errors.InputError: strength: got 2. Remedy: use a number above 0 and at most 1.
    """
    bounds = (("of at least", minimum), ("above", above), ("at most", maximum), ("below", below))
    found = np.nan
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
        with contextlib.suppress(OverflowError):  # a whole number that is too large for a float
            found = float(value)
    if (
        np.isfinite(found)
        and (minimum is None or found >= minimum)
        and (above is None or found > above)
        and (maximum is None or found <= maximum)
        and (below is None or found < below)
    ):
        return found
    said = " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)
    raise InputError(argument, f"got {shown(value)}", f"use a number {said}".rstrip())


def byte_count(argument: str, value: Any) -> int:
    """Return the number of bytes that a whole number or a text stands for.

    Examples
    --------
    >>> byte_count("max_memory", "2GB"), byte_count("max_memory", "512 MiB"), byte_count("max_memory", 10**9)
    (2000000000, 536870912, 1000000000)
    >>> byte_count("max_memory", "much")
    Traceback (most recent call last):
    graphsoft.errors.InputError: max_memory: got 'much'. Remedy: use bytes, or a text such as '2GB'.
    """
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([kmgt]?i?)b?\s*", value.lower())
        if found is not None and found[2] in UNITS:
            return int(float(found[1]) * UNITS[found[2]])
    elif not isinstance(value, bool):
        return integer(argument, value, 1)
    raise InputError(argument, f"got {shown(value)}", "use bytes, or a text such as '2GB'")


def callback(argument: str, value: Progress | bool | None) -> Progress | None:
    """Return None or a function; `watches_progress` has made one of True.

    Examples
    --------
    >>> callback("progress", None)
    >>> callback("progress", 7)
    Traceback (most recent call last):
    graphsoft.errors.InputError: progress: got 7. Remedy: use True, None or a function (stage, done, total).
    """
    if value is None or callable(value):
        return value
    raise InputError(argument, f"got {shown(value)}", "use True, None or a function (stage, done, total)")


def folder_named(argument: str, value: Any) -> Path:
    """Return the absolute path of a folder, which need not be there.

    Examples
    --------
    >>> folder_named("directory", "run").name
    'run'
    """
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise InputError(argument, f"got {shown(value)}", "name a directory")
    folder = Path(value).absolute()
    # unlike that of Path, this takes names that are too long
    if os.path.exists(folder) and not folder.is_dir():
        raise InputError(argument, f"{str(value)!r} is a file", "name a directory")
    return folder


def generator(argument: str, value: Any) -> np.random.Generator | None:
    """Return the random generator that `value` stands for; None stays None.

    Examples
    --------
    >>> generator("rng", 7).integers(100)
    np.int64(94)
    """
    if value is None:
        return None
    with contextlib.suppress(Exception):  # NumPy, or the caller's own object, may raise anything
        if not isinstance(value, (bool, np.bool_)):
            return np.random.default_rng(value)
    remedy = "use None, a whole number of at least 0, or a numpy.random.Generator"
    raise InputError(argument, f"got {shown(value)}", remedy)
