"""How a run is cut: into how many partitions, and how many rows are read together."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil
from typing import Any

from graphsoft.available import available_memory
from graphsoft.errors import InputError, shown
from graphsoft.fitting.memory import memory_text
from graphsoft.input.checks import integer

__all__ = ["chunk_rows_of", "memory_of", "partitions_of", "sweeps_bytes"]

# A process of Python with what it imports takes this much before it reads anything.
OF_PROCESS = 250_000_000
# The part of the memory that tasks are planned to use: the rest is for what allocators keep, and for what a
# process reads and writes beside its tasks.
USED = 0.7
# The largest partition has so many times the rows of an average one.
UNEVEN = 1.25
# Partitions are not larger than this, so that there is work for several processes.
MOST_ROWS = 250_000
# Rows that are read together: at most so many, and at least so many however long they are.
MOST_AT_ONCE, LEAST_AT_ONCE = 1 << 18, 1 << 8
# The part of the memory that rows may take that are read together; they are copied several times.
READ = 1 / 12
# Of the memory that there is, a process that is not told otherwise takes this part.
OF_AVAILABLE = 0.8
UNITS = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40,
}  # fmt: skip


def memory_of(given: Any, client: Any) -> int:
    """Tell how many bytes a process may take.

    Parameters
    ----------
    given : int, str or None
        A number of bytes, or a text such as ``"2GB"``. By default it is the limit of the smallest worker, or
        80 % of what is available here.
    client : object or None

    Examples
    --------
    >>> memory_of("2GB", None), memory_of("512 MiB", None), memory_of(10**9, None)
    (2000000000, 536870912, 1000000000)
    >>> memory_of("much", None)
    Traceback (most recent call last):
    graphsoft.errors.InputError: max_memory: got 'much'. Remedy: use bytes, or a text such as '2GB'.
    """
    if given is not None:
        return _checked(_bytes_of(given))
    workers = []
    if hasattr(client, "scheduler_info"):
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    limits = [int(worker["memory_limit"]) for worker in workers if worker["memory_limit"]]
    if limits:
        return _checked(min(limits))
    return _checked(int(min(OF_AVAILABLE * available_memory(), 2**62)) // max(1, len(workers)))


def _checked(size: int) -> int:
    least = ceil(1.1 * OF_PROCESS / USED)
    if size < least:
        problem = f"a process may take {memory_text(size)}, and Python itself takes {memory_text(OF_PROCESS)}"
        raise InputError("max_memory", problem, f"allow at least {memory_text(least)}")
    return size


def _bytes_of(given: Any) -> int:
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([kmgt]?i?)b?\s*", given.lower())
        if found is not None and found[2] in UNITS:
            return int(float(found[1]) * UNITS[found[2]])
    elif not isinstance(given, bool):
        return integer("max_memory", given, 1)
    raise InputError("max_memory", f"got {shown(given)}", "use bytes, or a text such as '2GB'")


def usable(max_memory: int) -> int:
    """Tell how many bytes a task may hold in arrays.

    Examples
    --------
    >>> usable(1_000_000_000)
    450000000
    """
    return int(USED * max_memory) - OF_PROCESS


def chunk_rows_of(row_bytes: int, max_memory: int) -> int:
    """Tell how many rows are read together; this depends on their length and on the memory alone.

    Examples
    --------
    >>> chunk_rows_of(8 * 16, 2_000_000_000), chunk_rows_of(8 * 10_000, 1_000_000_000)
    (262144, 468)
    """
    fits = int(READ * usable(max_memory)) // max(1, row_bytes)
    return max(LEAST_AT_ONCE, min(MOST_AT_ONCE, fits))


def partitions_of(rows: int, given: int | None, max_memory: int, needed: Callable[[int], int]) -> int:
    """Choose the number of partitions, or refuse a number with which one would be too large.

    Parameters
    ----------
    rows : int
    given : int or None
        The number that the caller wants.
    max_memory : int
    needed : callable
        The bytes that a task needs for a partition of so many rows.

    Examples
    --------
    >>> partitions_of(1_000_000, None, 2_000_000_000, lambda rows: 1000 * rows)
    4
    >>> partitions_of(1_000_000, None, 1_000_000_000, lambda rows: 5000 * rows)
    14
    """
    room = usable(max_memory)

    def largest(partitions: int) -> int:
        return rows if partitions == 1 else min(rows, ceil(UNEVEN * rows / partitions))

    low, high = 0, rows  # too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if needed(largest(middle)) <= room else (middle, high)
    if needed(largest(high)) > room:
        problem = f"a task may hold {memory_text(room)}, and a single row needs {memory_text(needed(1))}"
        raise InputError("max_memory", problem, "allow more")
    if given is None:
        return max(high, -(-rows // MOST_ROWS))
    if given < high:
        each = largest(given)
        problem = (
            f"got {given}, and a partition of {each:,} rows needs about {memory_text(needed(each))}, "
            f"where a task may hold {memory_text(room)}"
        )
        raise InputError("partitions", problem, f"use at least {high}, or allow more with max_memory")
    return given


def sweeps_bytes(nodes: int, neighbors: float, halo: float = 1.5, held: float = 14.0) -> int:
    """Count what a sweep over a partition needs.

    Parameters
    ----------
    nodes : int
    neighbors : float
        Edges of a node.
    halo : float
        Nodes of the halo for each own node.
    held : float
        Clusters that a node holds, most after the first wide sweep.

    Examples
    --------
    >>> sweeps_bytes(100_000, 16)
    183400000
    """
    edges = neighbors * (4 + 4) + 4 + 8
    entry = 4 + 8
    # rows of the halo are read and joined; a step makes new rows, which are cut by partitions before writing
    memberships = 2 * (1 + halo) * held * entry + (3 + halo) * held * entry
    return int(nodes * (1.5 * edges + memberships + 8 * (2 + halo)))
