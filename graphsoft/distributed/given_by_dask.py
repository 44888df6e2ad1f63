"""Data that Dask computes: each block is checked and written to a file where it is computed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from graphsoft.deadline import NEVER, Deadline
from graphsoft.distributed.doing import (
    DESERTED,
    MORE_MEMORY,
    NO_SCHEDULER,
    PAUSE,
    TIME_IS_OVER,
    no_worker,
)
from graphsoft.distributed.executors import DaskFutures, Workers
from graphsoft.distributed.given import (
    GivenRows,
    checked_table,
    digest_of,
    known_of,
    note,
    refuse_other_data,
    rows_of,
    write_rows,
)
from graphsoft.errors import InputError, RunStopped, Unreachable, imported
from graphsoft.input.dense_input import frame_columns
from graphsoft.parallel import thread_count

__all__ = ["is_of_dask", "written_by_dask"]

MOST_BLOCKS = 4  # that are in memory at once without a cluster
SHARED = "name a directory that all workers and this process reach under the same path"


def is_of_dask(X: Any) -> bool:
    """Tell whether this is an array or a data frame of Dask.

    Examples
    --------
    >>> is_of_dask([[1.0]])
    False
    """
    # an object of dask.delayed has every attribute, but none is a number
    tabular = type(getattr(X, "ndim", None)) is int and hasattr(X, "to_delayed")
    return tabular and hasattr(X, "__dask_graph__")


def written_by_dask(
    X: Any, directory: Path, client: Any = None, deadline: Deadline = NEVER
) -> list[GivenRows]:
    """Write the blocks of a Dask array or data frame, but for those that an earlier call wrote.

    Parameters
    ----------
    X : dask array of shape (n, d), or dask data frame
        How many rows its blocks have need not be known.
    directory : Path
    client : distributed.Client, optional
        Without it, threads of this process compute the blocks, a few at a time.
    deadline : Deadline
        When it is over, `RunStopped` is raised; blocks that are written stay.
    """
    columns, parts = _blocks(X)
    token = imported("dask.base", "a Dask array", "'graphsoft[dask]'").tokenize(X)
    known = known_of(directory)
    digests = known.get("digests")
    if digests is not None and len(digests) != len(parts):
        raise refuse_other_data(directory)
    if digests is None and known.get("token") != token:
        note(directory, token=token)
    paths = [directory / f"{number}.arrays" for number in range(len(parts))]
    files = [rows_of(path, columns) if known.get("token") == token else None for path in paths]
    missing = [number for number, file in enumerate(files) if file is None]
    write = imported("dask", "a Dask array", "'graphsoft[dask]'").delayed(_write_block, pure=False)
    tasks = [
        write(parts[number], str(paths[number]), number, None if digests is None else digests[number])
        for number in missing
    ]
    _compute(tasks, client, deadline)
    for number in missing:
        files[number] = rows_of(paths[number], columns)
        if files[number] is None:
            problem = f"{str(paths[number])!r}, which a worker wrote, is not there"
            raise InputError("directory", problem, SHARED)
    found = [file for file in files if file is not None]
    note(directory, token=token, digests=[file.digest for file in found])
    return found


def _blocks(X: Any) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Cut into blocks of whole rows."""
    if hasattr(X, "columns"):
        return frame_columns(X), list(X.to_delayed())
    if X.ndim != 2:
        problem = f"is a Dask array with {X.ndim} dimension{'s' * (X.ndim != 1)}"
        raise InputError("X", problem, "pass one with a row for each point")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return None, list(X.to_delayed().ravel())


def _write_block(block: Any, path: str, number: int, expected: str | None) -> str:
    """Check and write a block; where it was written before, it must be what it was."""
    try:
        values = checked_table(block)
    except InputError as error:
        raise InputError("X", f"{error.problem} of block {number}", error.remedy) from None
    file = Path(path)
    digest = digest_of(values)
    if expected is not None and digest != expected:
        raise refuse_other_data(file.parent)
    found = rows_of(file, None)
    if found is None or found.digest != digest:
        write_rows(file, values)
    return digest


def _compute(tasks: list[Any], client: Any, deadline: Deadline) -> None:
    """Compute on the cluster, or on a few threads of this process.

    When the time is over, no more is waited for than the first block, as for other tasks.
    """
    if hasattr(client, "compute"):
        _compute_on_cluster(tasks, client, deadline)
        return
    # without a client, or with an executor of another kind
    dask = imported("dask", "a Dask array", "'graphsoft[dask]'")
    left = {task.key for task in tasks}

    def stop_in_time(key: Any, *_: Any) -> None:
        left.discard(key)
        if len(left) < len(tasks) and left and deadline.over:
            raise _time_is_over()

    callbacks = imported("dask.callbacks", "a Dask array", "'graphsoft[dask]'")
    with callbacks.Callback(posttask=stop_in_time):
        dask.compute(*tasks, scheduler="threads", num_workers=min(MOST_BLOCKS, thread_count()))


def _compute_on_cluster(tasks: list[Any], client: Any, deadline: Deadline) -> None:
    executor = DaskFutures(client)
    _workers(executor)  # before a block goes to one that cannot read what it is to do
    futures = client.compute(tasks)
    left, since = set(futures), time.monotonic()
    try:
        while left:
            workers = _workers(executor)
            ended = {future for future in left if future.done()}
            for future in ended:
                _raise(future)
            left -= ended
            since = time.monotonic() if ended else since
            quiet = time.monotonic() - since
            if workers.there == workers.silent and (quiet >= DESERTED or deadline.over):
                raise _stopped(*no_worker(quiet))
            if left and len(left) < len(tasks) and deadline.over:
                raise _time_is_over()
            if not ended:
                time.sleep(PAUSE / 10)
    finally:
        client.cancel(futures)  # those that are left after an error


def _workers(executor: DaskFutures) -> Workers:
    try:
        return executor.workers()
    except Unreachable as error:
        raise _stopped(error.problem, error.remedy) from error
    except ConnectionError as error:
        raise _stopped(str(error), NO_SCHEDULER) from error


def _raise(future: Any) -> None:
    """Raise what a block has raised, as other tasks do where its worker was the cause."""
    if future.status == "finished":
        return
    error = future.exception() if future.status == "error" else None
    if error is None or type(error).__name__ == "KilledWorker":
        raise _stopped(f"the worker of a block died ({error or future.status})", MORE_MEMORY) from error
    if isinstance(error, MemoryError):
        raise _stopped(f"there was not enough memory for a block ({error})", MORE_MEMORY) from error
    raise error


def _stopped(problem: str, remedy: str) -> RunStopped:
    return RunStopped("write-blocks", [], problem, remedy)


def _time_is_over() -> RunStopped:
    return _stopped(*TIME_IS_OVER)
