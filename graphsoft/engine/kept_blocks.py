"""A graph as one block whose states are kept in a file, so that its steps go on after the last one kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.deadline import Deadline
from graphsoft.engine.blocks import Found, Join, Look, OneBlock, State, Step
from graphsoft.engine.polishing import Log
from graphsoft.graph.graph import Graph
from graphsoft.storage.checkpoint import Checkpoint
from graphsoft.storage.packing import Packer, Unpacker, pack_value, unpack_value

__all__ = ["KeptBlocks"]

FILE = "sweeps"


class KeptBlocks(OneBlock):
    """A graph as a single block, whose steps up to the last one that was kept are not taken again.

    Steps are known by their numbers, since whoever takes them takes the same ones each time. One file holds
    the states that are needed after the last step kept, and the log-likelihoods of all before. It is replaced
    whenever the steps since then are worth it.

    Parameters
    ----------
    graph : Graph
    degrees : ndarray of shape (n,)
    checkpoint : Checkpoint
    deadline : Deadline
        Nothing is kept after it, because steps are left out then.
    """

    def __init__(self, graph: Graph, degrees: Array, checkpoint: Checkpoint, deadline: Deadline) -> None:
        super().__init__(graph, degrees)
        self._checkpoint = checkpoint
        self._log_likelihoods: list[float] = []
        self._alive: dict[int, State] = {}
        self._kept = checkpoint.read(FILE, self._unpacked) or 0
        self._taken, self._since = 0, time.perf_counter()
        self._deadline, self._looked_at = deadline.once(lambda: self._taken >= self._kept), False

    @property
    def deadline(self) -> Deadline:
        """When to leave out steps: not as long as they need not be taken."""
        return self._deadline

    def step(self, work: Step, state: State, others: Sequence[State] = (), **known: Any) -> State:
        """Take a step on the graph, or return what it led to before."""
        self._taken += 1
        if self._taken <= self._kept:
            # a state that is not alive is one that no further step needs
            gone = State(np.empty(0), self._log_likelihoods[self._taken - 1], None)
            return self._alive.get(self._taken, gone)
        found = super().step(work, state, others, **known)
        self._log_likelihoods.append(found.log_likelihood)
        self._alive[self._taken] = found
        # steps that count sweeps themselves tell more than their state, and are always taken
        if not any(isinstance(each, Log) for each in known.values()):
            self._keep()
        return found

    def look(self, work: Look, join: Join, state: State, others: Sequence[State] = (), **known: Any) -> Found:
        """Compute a few numbers, arrays or matrices; then nothing more is kept, for little is left to do."""
        self._looked_at = True
        return super().look(work, join, state, others, **known)

    def forget(self, state: State) -> None:
        """Leave a state out of the file."""
        self._alive = {number: each for number, each in self._alive.items() if each is not state}

    def _keep(self) -> None:
        if not self._checkpoint.keeps or self._looked_at or self._deadline.over:
            return
        packer, now = Packer(), time.perf_counter()
        content = {
            "log_likelihoods": [pack_value(float(each), "checkpoint") for each in self._log_likelihoods],
            "alive": {
                str(number): packer.matrix(f"state_{number}", state.held)
                for number, state in self._alive.items()
            },
        }
        if self._checkpoint.write(FILE, content, packer, now - self._since):
            self._since = time.perf_counter()

    def _unpacked(self, content: Any, unpacker: Unpacker) -> int:
        """Take over the states of a file; returns how many steps led there."""
        found = [float(unpack_value(each)) for each in content["log_likelihoods"]]
        alive = {}
        for number, packed in content["alive"].items():
            memberships = unpacker.matrix(packed)
            if memberships.shape[0] != len(self.block):
                raise ValueError("states of another graph")
            alive[int(number)] = self.begin(memberships, found[int(number) - 1])
        if len(found) not in alive:
            raise ValueError("no last state")
        self._log_likelihoods, self._alive = found, alive
        return len(found)
