"""What a run says of itself when it is done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Record
from graphsoft.engine.assessing import Fit
from graphsoft.fitting.descending import Course
from graphsoft.fitting.memory import memory_text
from graphsoft.fitting.report import LevelReport, Report, notes_on_sizes

__all__ = ["Told", "reported"]


@dataclass(frozen=True, eq=False)
class Told:
    """What is known of a run when its levels are found.

    Attributes
    ----------
    plan : Plan
    records : sequence of dict
        Of the blocks of the graph.
    recall : float
        The part of the true neighbors that partitions can find, as a probe has shown.
    components : int
        Of the graph.
    """

    plan: Plan
    records: Sequence[Record]
    recall: float
    components: int

    def total(self, name: str) -> int:
        """Add up what the blocks say."""
        return sum(int(record[name]) for record in self.records)


def reported(run: Run, told: Told, courses: Sequence[Course], fits: Sequence[Fit]) -> Report:
    """Report a run."""
    levels = tuple(
        LevelReport(
            clusters, course.sweeps, course.trace, fit.log_likelihood, fit.gap, course.status,
            course.seconds, stopped=course.stopped,
        )
        for clusters, course, fit in zip(told.plan.levels, courses, fits, strict=True)
    )  # fmt: skip
    notes = (*_notes(told), *_costs(run))
    edges = told.total("entries") // 2
    return Report(told.plan.rows, edges, told.components, notes, levels, _seconds(run))


def _notes(told: Told) -> list[str]:
    """Say how the graph was made, and in which parts."""
    plan, nodes, entries = told.plan, told.total("nodes"), told.total("entries")
    notes = []
    if plan.kind == "points":
        notes.append(
            f"{min(plan.n_neighbors, max(1, nodes - 1))} nearest neighbors, {plan.metric} distance, "
            f"{plan.weights} weights, union"
        )
    if nodes < plan.rows:
        notes.append(f"{plan.rows} rows are {nodes} distinct points, of whose graph the figures are")
    if plan.partitions == 1:
        notes.append("one partition")
    elif plan.kind == "points":
        notes.append(
            f"{plan.partitions} partitions; each point was also compared with those of the {plan.lends} "
            f"nearest other cells, which finds {told.recall:.1%} of the true neighbors of a sample"
        )
    else:
        notes.append(f"{plan.partitions} partitions")
    if plan.partitions > 1:
        crossing, halo = told.total("crossing") / max(1, entries), told.total("halo") / max(1, nodes)
        notes.append(
            f"{crossing:.1%} of the edges join different partitions; for each of its own nodes a partition "
            f"has {halo:.2f} of others"
        )
    return notes + notes_on_sizes(nodes, told.components, plan.levels)


def _costs(run: Run) -> list[str]:
    """Say what the run took beside time."""
    stages = run.report().values()
    tasks, again = (int(sum(stage[name] for stage in stages)) for name in ("tasks", "again"))
    read, written = (sum(stage[name] for stage in stages) for name in ("bytes_read", "bytes_written"))
    peak = max(stage["peak_memory"] for stage in stages)
    return [
        f"{tasks} tasks, {again} of them done again; {memory_text(read)} read and {memory_text(written)} "
        f"written; at most {memory_text(peak)} of memory in a process that did tasks"
    ]


def _seconds(run: Run) -> dict[str, float]:
    """Add up the seconds of all tasks of each kind of stages, such as all sweeps."""
    seconds: dict[str, float] = {}
    for name, stage in run.report().items():
        kind = re.split(r"-[0-9]", name)[0]
        seconds[kind] = seconds.get(kind, 0.0) + float(stage["seconds"])
    return seconds
