"""Memberships of a graph in blocks, in files: every step is a stage of the run.

A file of a stage holds the memberships of the nodes of a partition, and a pack for each other partition: the
rows of those nodes that it has edges to. A step of a partition reads its own rows and the packs that are for
it. So what is read of other partitions is what is needed of them, and no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.files import ArrayFile, rows_in_sections
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Record, Where
from graphsoft.engine.blocks import Block, Look, Seen, State, Step, floor_of
from graphsoft.kernels import Rows
from graphsoft.linalg.csr import joined
from graphsoft.linalg.memberships import one_cluster_each

__all__ = ["BlocksInFiles", "own_rows", "read_block"]

# Arguments of more bytes are written to a file once, and not sent with every task.
LARGE = 1 << 14
# With more clusters, the masses of a partition stay in its file, and one task adds them up.
MANY = 1 << 14
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
        self._sent_already: set[str] = set()

    def begin(self) -> State:
        """Let every node belong to the cluster that it was divided into."""
        stage = "begin-sweeps"
        count = self._plan.levels[0]
        return self._state(stage, self._run.stage(stage, begin_block, self._plan.parts, count=count), count)

    def step(self, work: Step, state: State, others: Sequence[State] = (), **known: Any) -> State:
        """Take a step on every block."""
        self._steps += 1
        stage, told = self._told(f"sweep-{self._steps:03d}", work, state, others, known)
        records = self._run.stage(stage, step_block, self._plan.parts, told=told)
        self._drop_old()
        return self._state(stage, records, int(records[0]["clusters"]))

    def look(
        self, work: Look, state: State, others: Sequence[State] = (), **known: Any
    ) -> list[Mapping[str, Any]]:
        """Compute a few numbers or small arrays for every block, in the order of the blocks."""
        self._looks += 1
        stage, told = self._told(f"look-{self._looks:03d}", work, state, others, known)
        return [
            _unpacked(record) for record in self._run.stage(stage, look_at_block, self._plan.parts, told=told)
        ]

    def forget(self, state: State) -> None:
        """Let go of a state that no step will look at again."""
        self._old.append((self._steps + KEPT, state.held))

    def _drop_old(self) -> None:
        due = [stage for after, stage in self._old if after <= self._steps]
        self._old = [(after, stage) for after, stage in self._old if after > self._steps]
        for stage in due:
            self._run.forget(stage)

    def _told(
        self, kind: str, work: Any, state: State, others: Sequence[State], known: Mapping[str, Any]
    ) -> tuple[str, _Told]:
        """Name the next stage, and collect what its tasks are told."""
        sent = {name: self._sent(value) for name, value in known.items()}
        places = tuple(other.held for other in others)
        name = f"{kind}-{work.__name__.strip('_').replace('_', '-')}"
        return name, _Told(work, state.held, places, self._floor, self._sent(state.mass), sent)

    def _state(self, stage: str, records: Sequence[Record], clusters: int) -> State:
        """Add up what the tasks returned, in the order of the blocks."""
        if clusters > MANY:
            total = self._run.stage(f"{stage}-masses", add_masses, [0], of=stage, blocks=len(records))
            mass = total[0]["mass"]
        else:
            mass = np.zeros(clusters)
            for record in records:
                mass += record["mass"]
        likelihood = sum(float(record["log_likelihood"]) for record in records)
        return State(mass, likelihood + 2.0 * self.degree_logs, stage)

    def _sent(self, value: Any) -> Any:
        """Write a large argument to a file, which is named after what it holds."""
        if isinstance(value, tuple | list):
            return type(value)(self._sent(each) for each in value)
        sparse = sp.issparse(value)
        if not (sparse or isinstance(value, np.ndarray)):
            return value
        arrays = [value.indptr, value.indices, value.data] if sparse else [value]
        if sum(array.nbytes for array in arrays) <= LARGE:
            return value
        digest = hashlib.sha256(str((value.shape, value.dtype.str)).encode())
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
        stage = f"known-{digest.hexdigest()[:16]}"
        if stage not in self._sent_already:
            self._sent_already.add(stage)
            self._run.stage(stage, keep, [0], here=True, value=value)
        return _InFile(stage)


@dataclass(frozen=True)
class _InFile:
    """An argument that is in a file."""

    stage: str


# Tasks


def begin_block(where: Where, *, count: int) -> Mapping[str, Any]:
    """Let the nodes of a partition belong to the clusters that they were divided into."""
    with where.open("divided", 0) as file:
        labels = file.array("labels")
    with where.open("group", where.part) as file:
        labels = labels[file.array("group")]
    with where.open("graph", where.part) as file:
        return _written(where, file, one_cluster_each(labels, count), np.nan)


@dataclass(frozen=True)
class _Told:
    """What all tasks of a step are told.

    Attributes
    ----------
    work : callable
        What is done on each block.
    of : str
        The stage with the memberships that are looked at.
    others : tuple of str
        Stages of which only the rows of the block are read.
    floor : float
    mass : ndarray or _InFile
    known : mapping
    """

    work: Step | Look
    of: str
    others: tuple[str, ...]
    floor: float
    mass: Any
    known: Mapping[str, Any]

    def done(self, where: Where, file: ArrayFile) -> Any:
        """Do it on the block in this file."""
        known = {name: _received(where, value) for name, value in self.known.items()}
        seen = _seen(where, file, self.of, _received(where, self.mass), self.floor)
        return self.work(seen, *(own_rows(where, other) for other in self.others), **known)


def step_block(where: Where, *, told: _Told) -> Mapping[str, Any]:
    """Take a step on a block: reads its rows and the packs for it, writes new rows and packs."""
    with where.open("graph", where.part) as file:
        stepped = told.done(where, file)
        return _written(where, file, stepped.memberships, stepped.log_likelihood)


def look_at_block(where: Where, *, told: _Told) -> Mapping[str, Any]:
    """Look at a block."""
    with where.open("graph", where.part) as file:
        return _packed(told.done(where, file))


def add_masses(where: Where, *, of: str, blocks: int) -> Mapping[str, Any]:
    """Add up the masses of clusters, one partition after the other."""
    total: Array | None = None
    for part in range(blocks):
        with where.open(of, part) as file:
            mass = file.array("mass")
        total = mass if total is None else total + mass
    return {"mass": total}


def keep(where: Where, *, value: Any) -> None:
    """Write an argument of later tasks to a file."""
    where.write(rows_in_sections("value", value)[0] if sp.issparse(value) else {"value": value})


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
    ptr, columns, weights = (file.array(name) for name in ("ptr", "columns", "weights"))
    if len(columns) <= np.iinfo(np.int32).max:  # the loops are compiled for this type already
        ptr = ptr.astype(np.int32)
    nodes = len(ptr) - 1
    shape = nodes, nodes + file.shape("halo_part")[0]
    return Block(sp.csr_array((weights, columns, ptr), shape=shape), file.array("degrees"), number)


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
    clusters = memberships.shape[1]
    mass = np.asarray(memberships.T @ graph.array("degrees"))
    arrays, _ = rows_in_sections("own", memberships)
    packs, cuts = rows_in_sections("pack", memberships[graph.array("sent")], graph.cut("sent"))
    found: dict[str, Any] = {"log_likelihood": log_likelihood, "clusters": clusters}
    if clusters > MANY:
        arrays["mass"] = mass
    else:
        found["mass"] = mass
    where.write({**arrays, **packs}, cuts)
    return found


def _received(where: Where, value: Any) -> Any:
    """Read an argument that is in a file."""
    if isinstance(value, tuple | list):
        return type(value)(_received(where, each) for each in value)
    if not isinstance(value, _InFile):
        return value
    with where.open(value.stage, 0) as file:
        return file.array("value") if "value" in file else file.rows("value")


def _packed(found: Mapping[str, Any]) -> dict[str, Any]:
    """Make arrays of sparse matrices."""
    packed: dict[str, Any] = {}
    for name, value in found.items():
        packed.update(rows_in_sections(name, value)[0] if sp.issparse(value) else {name: value})
    return packed


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
