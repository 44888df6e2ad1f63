"""A run from the data to the result: the plan, and the stages in their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

from graphsoft.aliases import Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.distributed.calls import carry_out, delete_work
from graphsoft.distributed.cells import lends_needed
from graphsoft.distributed.contracting import contract
from graphsoft.distributed.dealing import deal
from graphsoft.distributed.directories import refuse_folder_of
from graphsoft.distributed.dividing import divide
from graphsoft.distributed.edge_files import PartitionedGraph
from graphsoft.distributed.edges import build_blocks
from graphsoft.distributed.executors import executor_of
from graphsoft.distributed.expecting import expected_stages
from graphsoft.distributed.finishing import LASTING, finish
from graphsoft.distributed.joining import join
from graphsoft.distributed.plan import Plan, settled
from graphsoft.distributed.planning import LENDS, partitions_of_points, plan_of
from graphsoft.distributed.reporting import Told, reported
from graphsoft.distributed.routing import route
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source, source_of
from graphsoft.distributed.summary import SUMMARY, Summary, write_summary
from graphsoft.distributed.sweeping import BlocksInFiles
from graphsoft.distributed.tasks import Record
from graphsoft.distributed.typical import bare_and_least
from graphsoft.engine.grouping import Limits
from graphsoft.errors import InputError, warn
from graphsoft.fitting.descending import descend, fits
from graphsoft.fitting.settings import Settings, falling_sizes
from graphsoft.graph.reading import warn_of_unused
from graphsoft.input.checks import folder_named, integer
from graphsoft.methods import Relation

__all__ = ["ONE_METHOD", "drive"]

ONE_METHOD = "use method='relation' and polish=True, or leave out the directory"

# Partitions of fewer rows than this have most of their neighbors in others.
FEW_ROWS = 10


def drive(
    X: Any,
    settings: Settings,
    directory: str | PathLike[str],
    client: Any = None,
    max_memory: int | str | None = None,
    partitions: int | None = None,
    progress: Progress | None = None,
    deadline: Deadline = NEVER,
) -> None:
    """Find a hierarchy by stages in a directory, or go on where an earlier call stopped.

    See `carry_out` for what becomes of files that are there already.

    Parameters
    ----------
    X : PartitionedGraph, or anything that `source_of` takes
    settings : Settings
    directory : path-like
        Made if it is not there.
    client : distributed.Client or Executor, optional
        Who does the tasks; this process if not given.
    max_memory : int or str, optional
        Bytes that a process may take.
    partitions : int, optional
    progress : callable, optional
    deadline : Deadline
        When it is over, `RunStopped` is raised after the next task.
    """
    folder = folder_named("directory", directory)
    refuse_folder_of(X, folder, directory)
    method = _method(settings)
    if partitions is not None:
        partitions = integer("partitions", partitions, 1)

    def begin() -> Run:
        return Run(folder, executor_of(client), progress, deadline=deadline)

    def planned(lends: int) -> tuple[Source | PartitionedGraph, Plan]:
        data = X if isinstance(X, PartitionedGraph) else source_of(X, folder, client, deadline)
        falling_sizes(settings.levels, data.n)
        _warn_of_few_rows(data.n, partitions)
        _warn_of_neighbors(data, settings)
        return data, plan_of(data, settings, folder, client, max_memory, partitions, lends)

    def work(run: Run, plan: Plan, data: Source | PartitionedGraph) -> None:
        _Drive(run, plan, settings, method, partitions).drive(data)

    lends = LENDS
    while True:
        try:
            carry_out(folder, SUMMARY, begin, partial(planned, lends), work)
            return
        except _TooFewPartitions as error:
            lends = error.lends


class _TooFewPartitions(Exception):
    """More partitions must see each point than was guessed, for which these partitions are too large."""

    def __init__(self, lends: int) -> None:
        super().__init__(lends)
        self.lends = lends


def _warn_of_neighbors(data: Source | PartitionedGraph, settings: Settings) -> None:
    """Warn of options for joining points that change nothing."""
    if isinstance(data, PartitionedGraph):
        warn_of_unused(data, settings.n_neighbors, settings.metric, settings.weights)
    elif 1 < data.n <= settings.n_neighbors:
        warn(f"n_neighbors: {settings.n_neighbors} is more than the {data.n - 1} other points; all are used")


def _warn_of_few_rows(rows: int, partitions: int | None) -> None:
    """Warn of more partitions than do any good; more than there are rows are refused later."""
    if partitions is not None and 1 < partitions <= rows < FEW_ROWS * partitions:
        few = f"{partitions} for {rows} rows leave each with fewer than {FEW_ROWS}"
        warn(f"partitions: {few}, most of whose neighbors are in others; use fewer partitions")


def _method(settings: Settings) -> Relation:
    """Find the method of all levels, and refuse what cannot be done in partitions."""
    method = settings.methods[0]
    same = all(each == method for each in settings.methods)
    if not (isinstance(method, Relation) and settings.polished and same):
        problem = "with a directory, levels are found by polished relation factorization only"
        raise InputError("method", problem, ONE_METHOD)
    if method.support != "adaptive":
        problem = f"got support={method.support!r}, which needs all clusters of all points"
        raise InputError("method", problem, "use support='adaptive', or leave out the directory")
    return method


@dataclass(frozen=True, eq=False)
class _Drive:
    """A run, and what is to be done."""

    run: Run
    plan: Plan
    settings: Settings
    method: Relation
    given: int | None  # partitions that the caller wants

    def drive(self, data: Source | PartitionedGraph) -> None:
        """Go through all stages; those that are done already take no time."""
        run = self.run
        run.expect(expected_stages(self.plan, self.method))
        plan, records, recall = self._graph(data)
        bare, least = bare_and_least(run, plan) if plan.kind == "points" else (None, None)
        components = contract(run, plan, records)
        groups = divide(run, plan, plan.levels, self._limits())
        blocks = BlocksInFiles(run, plan, records)
        begun = blocks.begin()
        for stage in ("central", "group", "islands"):
            run.forget(stage)
        descended = descend(blocks, begun, groups, self.method)
        fitted = fits(blocks, descended)
        levels, steps = finish(run, plan, blocks, descended)
        run.forget_but(LASTING)
        told = Told(plan, records, recall, components)
        report = reported(run, told, descended.courses, fitted)
        columns = None if isinstance(data, PartitionedGraph) else data.columns
        found = Summary(
            plan, tuple(levels), report, self.settings, columns, steps=steps, bare=bare, least_scale=least
        )
        write_summary(run.directory, found)

    def _graph(self, data: Source | PartitionedGraph) -> tuple[Plan, list[Record], float]:
        """Make the graph in blocks; returns what `Told` says of it."""
        run, plan = self.run, self.plan
        if isinstance(data, PartitionedGraph):
            return plan, deal(run, data, plan), 1.0
        lends, recall = lends_needed(run, data, plan)
        if partitions_of_points(plan, data, lends, self.given) > plan.partitions:
            delete_work(run.directory)
            raise _TooFewPartitions(lends)
        plan = settled(run.directory, replace(plan, lends=lends))
        return plan, build_blocks(run, plan, join(run, plan, route(run, data, plan))), recall

    def _limits(self) -> Limits:
        """Collect what groups of clusters must keep to."""
        settings = self.settings
        return Limits(settings.min_children or 0, settings.max_children or settings.levels[0])
