"""One file of edges, whatever its format: what is known of it, and pieces of it that are checked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.large_numbers import EXACT

__all__ = [
    "CHUNK",
    "NAMES",
    "NUMBERED",
    "EdgeFile",
    "Edges",
    "checked",
    "chosen_titles",
    "of_disk",
    "refused",
]

# Edges that are read at a time.
CHUNK = 1 << 18
SAMPLE = 4096
NAMES = (("source", "target"), ("src", "dst"))
NUMBERED = "number the nodes 0, 1, 2, ..., as numpy.unique(names, return_inverse=True) does"


@dataclass(frozen=True)
class EdgeFile:
    """A file of edges, as it was found.

    Attributes
    ----------
    path : str
    kind : str
        Its format.
    size, mtime_ns : int
        Of the file.
    digest : str
        Of a small sample of its bytes.
    layout : tuple
        Where its format has the edges.
    begin, end : int
        It is read from here to there: in rows, or in bytes of text.
    each : float
        How much of that an edge takes.
    weighted : bool
        Whether its edges have weights.
    nodes : int
        What it says itself about the number of nodes, or 0: the side of a matrix.
    highest : int or None
        The highest number of a node, if that is known without reading all.
    """

    path: str
    kind: str
    size: int
    mtime_ns: int
    digest: str
    layout: tuple[Any, ...] = ()
    begin: int = 0
    end: int = 0
    each: float = 1.0
    weighted: bool = False
    nodes: int = 0
    highest: int | None = None

    @property
    def name(self) -> str:
        """Its name without the folder."""
        return Path(self.path).name

    @property
    def edges(self) -> int:
        """How many edges it has; of text only about."""
        return round((self.end - self.begin) / self.each)


class Edges(NamedTuple):
    """Some edges of a file: their nodes, their weights if there are any, and what the place of each is."""

    source: Array
    target: Array
    weight: Array | None
    place: Callable[[int], str]


def of_disk(path: Path, kind: str) -> EdgeFile:
    """Note what the disk says of a file, and a digest of its beginning, middle and end."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            digest = hashlib.blake2b(digest_size=16)
            for place in (0, found.st_size // 2, found.st_size - SAMPLE):
                file.seek(max(0, place))
                digest.update(file.read(SAMPLE))
    except OSError as error:
        raise InputError(
            "path", f"{str(path)!r} cannot be read: {error.strerror}", "name files of edges"
        ) from None
    return EdgeFile(str(path), kind, found.st_size, found.st_mtime_ns, digest.hexdigest())


def refused(file: EdgeFile, problem: str, remedy: str) -> InputError:
    """Make the error for a file that cannot be used."""
    return InputError("path", f"{file.name!r} {problem}", remedy)


def chosen_titles(file: EdgeFile, titles: Sequence[str], columns: Sequence[str] | None) -> tuple[int, ...]:
    """Choose the columns that hold the two nodes and, if there is one, the weight; by their numbers."""
    if columns is not None:
        missing = [name for name in columns if name not in titles]
        if missing:
            problem = f"{file.name!r} has no column {shown(missing[0])}, but {shown(list(titles))}"
            raise InputError(
                "columns", problem, "name two columns of nodes, and one of weights if there is one"
            )
        return tuple(titles.index(name) for name in columns)
    lower = [title.strip().casefold() for title in titles]
    for pair in NAMES:
        if set(pair) <= set(lower):
            return tuple(lower.index(name) for name in (*pair, "weight") if name in lower)
    if len(titles) < 2:
        raise refused(
            file, f"has the columns {shown(list(titles))}", "give each edge two nodes: u, v or u, v, weight"
        )
    return tuple(range(min(3, len(titles))))


def checked(file: EdgeFile, edges: Edges, nodes: int | None) -> Edges:
    """Refuse edges that are none: nodes that are not 0 to `nodes` - 1, weights that are not above 0.

    Returns them with nodes of int64 and weights of float64.
    """
    source, target = (_numbers(file, column, edges.place, nodes) for column in edges[:2])
    weight = edges.weight
    if weight is not None:
        with np.errstate(over="ignore"):
            weight = weight.astype(np.float64, copy=False)
        bad = np.flatnonzero(~((weight > 0) & (weight < np.inf)))
        if len(bad):
            at = int(bad[0])
            problem = f"has the weight {weight[at]:g} in {edges.place(at)}"
            remedy = "leave out edges without weight" if weight[at] == 0 else "give finite weights above 0"
            raise refused(file, problem, remedy)
    return Edges(source, target, weight, edges.place)


def _numbers(file: EdgeFile, column: Array, place: Callable[[int], str], nodes: int | None) -> Array:
    """Make int64 of a column of nodes, and refuse what is not the number of a node."""
    if column.dtype.kind == "f":
        bad = ~((column == np.floor(column)) & (np.abs(column) < EXACT))
        if bad.any():
            at = int(np.argmax(bad))
            raise refused(file, f"has {column[at]:g} as a node in {place(at)}", NUMBERED)
    numbers = column.astype(np.int64, copy=False)
    bad = numbers < 0 if nodes is None else (numbers < 0) | (numbers >= nodes)
    if bad.any():
        at = int(np.argmax(bad))
        said = "below 0" if nodes is None else f"outside 0..{nodes - 1}"
        problem = f"has the node {column[at]:.0f} in {place(at)}, {said}"
        raise refused(file, problem, "give the right number of nodes, and number them from 0")
    return numbers
