"""A call for a directory: hold it, settle the plan, work or look through what is done, and tidy up."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from graphsoft.distributed.directories import faults_of, refuse_folder_of_others
from graphsoft.distributed.files import Unreadable
from graphsoft.distributed.finishing import check_result
from graphsoft.distributed.given import ABOUT
from graphsoft.distributed.plan import PLAN, Plan, mark_of, settled
from graphsoft.distributed.run import STAGES, Run
from graphsoft.distributed.sources import GIVEN
from graphsoft.distributed.summary import PREDICTIONS, SUMMARY, is_finished, restore_plan
from graphsoft.errors import InputError

__all__ = ["carry_out", "delete_work"]

Data = TypeVar("Data")

# What a run writes before its result; the plan goes last, so that nothing is left that is not of it.
DATA = (f"{GIVEN}/[0-9]*.arrays", f"{GIVEN}/{ABOUT}", f"{GIVEN}/source-*.json")
WORK = ("done/*/[0-9]*.arrays", "parts/*/[0-9]*.arrays", STAGES, PLAN)
FOLDERS = (GIVEN, "done/*", "done", "parts/*", "parts")
HELD = {SUMMARY: "a hierarchy", PREDICTIONS: "points that were put into the clusters of a hierarchy"}


def carry_out(
    folder: Path,
    name: str,
    begin: Callable[[], Run],
    planned: Callable[[], tuple[Data, Plan]],
    work: Callable[[Run, Plan, Data], None],
) -> None:
    """Make a result in the directory of a run, or look through the one that is there.

    A result that is damaged is made again. What a refused call has done is deleted, so that the corrected one
    can have the directory; what earlier calls have done stays.

    Parameters
    ----------
    folder : Path
        The directory.
    name : {SUMMARY, PREDICTIONS}
        Of the kind of result; a directory with one of another kind is refused.
    begin : callable
        Makes the run.
    planned : callable
        Sees the data, and says what is to be done with them; called when the directory is held.
    work : callable
        Goes through all stages.
    """
    _refuse_other_result(folder, name)
    with faults_of(folder):
        refuse_folder_of_others(folder)
    begun, damaged = os.path.exists(folder / PLAN), False
    while True:
        with faults_of(folder), begin() as run:
            data, plan = _settled(folder, name, planned)
            run.bind(mark_of(plan))
            try:
                if not damaged and is_finished(folder, plan):
                    check_result(run, plan)
                else:
                    work(run, plan, data)
                return
            except InputError:
                if not (begun or is_finished(folder, plan)):
                    _delete(folder, (*DATA, *WORK))
                raise
            except Unreadable:
                if damaged:
                    raise
                damaged = True


def _refuse_other_result(folder: Path, name: str) -> None:
    """Refuse a directory with a result of another kind, which would be written over."""
    for other, held in HELD.items():
        if other != name and os.path.exists(folder / other):
            raise InputError("directory", f"{str(folder)!r} holds {held}", "give another directory")


def delete_work(folder: Path) -> None:
    """Delete all that was done in a directory, but not the data."""
    _delete(folder, WORK)


def _settled(folder: Path, name: str, planned: Callable[[], tuple[Data, Plan]]) -> tuple[Data, Plan]:
    """See the data, and settle what will be done with them; a call that is refused leaves no data behind."""
    kept = (folder / GIVEN).exists()
    try:
        restore_plan(folder, name)
        data, plan = planned()
        return data, settled(folder, plan)
    except InputError:
        if not (kept and (folder / PLAN).exists()):  # else they are the data of an earlier call
            _delete(folder, DATA)
        raise


def _delete(folder: Path, patterns: Sequence[str]) -> None:
    """Delete files of a run, and their folders unless something of others is in these."""
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    for pattern in FOLDERS:
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.rmdir()
