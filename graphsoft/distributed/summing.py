"""What all tasks of a stage found becomes one, by a tree of tasks.

The tree is that of `graphsoft.engine.blocks.joined_in_pairs`, whatever else runs, so the result has the same
bits everywhere. No process reads more than a few files, and the client only gets the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.files import value_in_sections
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Record, Where
from graphsoft.engine.blocks import Found, Join, added, joined_in_pairs

__all__ = ["BRANCH", "branch", "packed", "summed"]

# A task joins what so many files hold; a power of two, so that what it joins is a whole branch of the tree.
BRANCH = 1 << 6


def summed(run: Run, stage: str, files: int, names: Sequence[str] | None = None, join: Join = added) -> Found:
    """Join what all files of a stage hold.

    Parameters
    ----------
    run : Run
    stage : str
    files : int
        How many there are, numbered from 0.
    names : sequence of str, optional
        What is read of them, by default all.
    join : callable, optional
        By default everything is added up.
    """
    known: dict[str, Any] = {"names": names, "join": join}
    of, made = stage, list[str]()
    while files > BRANCH:
        name = f"{stage}-summed-{len(made) + 1}"
        parts = range(-(-files // BRANCH))
        run.stage(name, join_files, parts, of=of, files=files, **known)
        made.append(name)
        of, files = name, len(parts)
    record = run.stage(f"{stage}-summed", join_last, [0], here=True, of=of, files=files, **known)[0]
    for name in made:
        run.forget(name)
    return _unpacked(record)


def branch(number: int, files: int) -> range:
    """List the files that one task joins.

    Examples
    --------
    >>> branch(0, 100), branch(1, 100)
    (range(0, 64), range(64, 100))
    """
    return range(number * BRANCH, min((number + 1) * BRANCH, files))


def join_files(where: Where, *, of: str, files: int, names: Sequence[str] | None, join: Join) -> None:
    """Join what some of the files hold, and write it."""
    where.write(packed(joined_in_pairs(_read(where, of, branch(where.part, files), names), join)))


def join_last(where: Where, *, of: str, files: int, names: Sequence[str] | None, join: Join) -> Found:
    """Join what few files hold."""
    return packed(joined_in_pairs(_read(where, of, range(files), names), join))


def _read(where: Where, of: str, files: range, names: Sequence[str] | None) -> Iterator[Found]:
    for part in files:
        with where.open(of, part) as file:
            chosen = names or list(dict.fromkeys(name.partition("/")[0] for name in file))
            yield {name: file.value(name) for name in chosen}


def packed(found: Found) -> dict[str, Any]:
    """Make arrays of sparse matrices."""
    arrays: dict[str, Any] = {}
    for name, value in found.items():
        arrays.update(value_in_sections(name, value)[0])
    return arrays


def _unpacked(record: Record) -> dict[str, Any]:
    """Make sparse matrices and numbers of arrays again."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        matrix, _, part = name.rpartition("/")
        if part == "width":
            counts, columns, values = (record[f"{matrix}/{each}"] for each in ("counts", "columns", "values"))
            ptr = np.concatenate(([0], np.cumsum(counts))).astype(columns.dtype)
            found[matrix] = sp.csr_array((values, columns, ptr), shape=(len(counts), int(value[0])))
        elif not matrix:
            found[name] = value.item() if value.ndim == 0 else value
    return found
