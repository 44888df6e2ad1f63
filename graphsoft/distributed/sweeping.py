"""Memberships of a graph in blocks, in files: every step is a stage of the run.

A file of a stage holds the memberships of the nodes of a partition, and a pack for each other partition: the
rows of those nodes that it has edges to. A step of a partition reads its own rows and the packs that are for
it. So what is read of other partitions is what is needed of them, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.block_files import read_edges
from graphsoft.distributed.files import ArrayFile, rows_in_sections
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.summing import packed, summed
from graphsoft.distributed.tasks import Record, Where
from graphsoft.engine.blocks import Block, Found, Join, Look, Seen, State, Step, floor_of
from graphsoft.kernels import Rows
from graphsoft.linalg.csr import joined
from graphsoft.linalg.memberships import one_cluster_each

__all__ = ["BlocksInFiles", "own_rows", "read_block"]

# States that no step looks at again are kept for so many steps more: what is damaged meanwhile can be made
# again without going back to the beginning.
KEPT = 2


class BlocksInFiles:
    """The blocks of a run; see `graphsoft.engine.blocks.Blocks`.

    Parameters
    ----------
    run : Run
    plan : Plan
    records : sequence of dict
        What the tasks returned that wrote the blocks.
    """

    def __init__(self, run: Run, plan: Plan, records: Sequence[Record]) -> None:
        self.degree_logs = float(sum(float(record["degree_logs"]) for record in records))
        self._floor = floor_of(float(sum(float(record["weight"]) for record in records)))
        self._run, self._plan = run, plan
        self._steps = self._looks = 0
        self._old: list[tuple[int, str]] = []  # stages to be deleted, and after which step

    def begin(self) -> State:
        """Start with hard memberships: each node in the cluster found for its central node."""
        stage = "begin-sweeps"
        count = self._plan.levels[0]
        return self._state(stage, self._run.stage(stage, begin_block, self._plan.parts, count=count))

    def step(self, work: Step, state: State, others: Sequence[State] = (), **known: Any) -> State:
        """Take a step on every block."""
        self._steps += 1
        stage = _stage_name(f"sweep-{self._steps:03d}", work)
        told = self._told(state, others)
        records = self._run.stage(stage, step_block, self._plan.parts, work=work, known=known, **told)
        self._drop_old()
        return self._state(stage, records)

    def look(self, work: Look, join: Join, state: State, others: Sequence[State] = (), **known: Any) -> Found:
        """Compute a few numbers, arrays or matrices for every block, and join them."""
        self._looks += 1
        stage = _stage_name(f"look-{self._looks:03d}", work)
        told = self._told(state, others)
        self._run.stage(stage, look_at_block, self._plan.parts, work=work, known=known, **told)
        found = summed(self._run, stage, self._plan.partitions, join=join)
        self._run.forget(stage)
        return found

    def forget(self, state: State) -> None:
        """Let go of a state that no step will look at again."""
        self._old.append((self._steps + KEPT, state.held))

    def _drop_old(self) -> None:
        due = [stage for after, stage in self._old if after <= self._steps]
        self._old = [(after, stage) for after, stage in self._old if after > self._steps]
        for stage in due:
            self._run.forget(stage)

    def _told(self, state: State, others: Sequence[State]) -> dict[str, Any]:
        """Collect what all tasks of a step or look are told of states."""
        places = tuple(other.held for other in others)
        return {"of": state.held, "others": places, "floor": self._floor, "mass": state.mass}

    def _state(self, stage: str, records: Sequence[Record]) -> State:
        """Add up what the tasks found."""
        mass = summed(self._run, stage, len(records), ["mass"])["mass"]
        likelihood = sum(float(record["log_likelihood"]) for record in records)
        return State(mass, likelihood + 2.0 * self.degree_logs, stage)


def _stage_name(kind: str, work: Step | Look) -> str:
    return f"{kind}-{work.__name__.strip('_').replace('_', '-')}"


# Tasks


def begin_block(where: Where, *, count: int) -> Mapping[str, Any]:
    """Let the nodes of a partition belong to the clusters that they were divided into."""
    with where.open("divided", 0) as file:
        labels = file.array("labels")
    with where.open("group", where.part) as file:
        labels = labels[file.array("group")]
    with where.open("graph", where.part) as file:
        return _written(where, file, one_cluster_each(labels, count), np.nan)


def step_block(
    where: Where, *, work: Step, of: str, others: Sequence[str], floor: float, mass: Array,
    known: Mapping[str, Any],
) -> Mapping[str, Any]:  # fmt: skip
    """Take a step on a block: reads its rows and the packs for it, writes new rows and packs.

    Parameters
    ----------
    where : Where
    work : callable
        What is done on each block.
    of : str
        The stage with the memberships that are looked at.
    others : sequence of str
        Stages of which only the rows of the block are read.
    floor : float
    mass : ndarray
    known : mapping
    """
    with where.open("graph", where.part) as file:
        seen = _seen(where, file, of, mass, floor)
        stepped = work(seen, *(own_rows(where, other) for other in others), **known)
        return _written(where, file, stepped.memberships, stepped.log_likelihood)


def look_at_block(
    where: Where, *, work: Look, of: str, others: Sequence[str], floor: float, mass: Array,
    known: Mapping[str, Any],
) -> None:  # fmt: skip
    """Look at a block, as `step_block` steps."""
    with where.open("graph", where.part) as file:
        seen = _seen(where, file, of, mass, floor)
    where.write(packed(work(seen, *(own_rows(where, other) for other in others), **known)))


# Files


def read_block(file: ArrayFile, number: int) -> Block:
    """Read the edges of a partition.

    Parameters
    ----------
    file : ArrayFile
        Of the stage "graph".
    number : int
        Of the partition.
    """
    return Block(read_edges(file), file.array("degrees"), number)


def own_rows(where: Where, stage: str) -> sp.csr_array:
    """Read the memberships of the nodes of a partition."""
    with where.open(stage, where.part) as file:
        return file.rows("own")


def _seen(where: Where, graph: ArrayFile, of: str, mass: Array, floor: float) -> Seen:
    """Put the rows of a partition above those of its halo, which are in the packs of other partitions."""
    block = read_block(graph, where.part)
    parts = [_rows(own_rows(where, of))]
    for part in np.unique(graph.array("halo_part")).tolist():
        with where.open(of, part) as file:
            parts.append(_rows(file.rows("pack", where.part)))
    return Seen(block, joined(parts, len(mass)), mass, floor)


def _rows(matrix: sp.csr_array) -> Rows:
    return Rows(matrix.indptr, matrix.indices, matrix.data)


def _written(
    where: Where, graph: ArrayFile, memberships: sp.csr_array, log_likelihood: float
) -> Mapping[str, Any]:
    """Write the rows of a partition and the packs for the others; returns masses and likelihood."""
    arrays, _ = rows_in_sections("own", memberships)
    packs, cuts = rows_in_sections("pack", memberships[graph.array("sent")], graph.cut("sent"))
    mass = np.asarray(memberships.T @ graph.array("degrees"))
    where.write({**arrays, **packs, "mass": mass}, cuts)
    return {"log_likelihood": log_likelihood}
