"""Steps of a long call that are kept in files, so that the same call goes on after its process has ended.

Each step has a file with a digest. A file that is damaged, or of another call, is as if it were not there:
the step is done again. What is worth a file is decided by the time that it took; what is computed from it is
the same either way.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from graphsoft.aliases import Array
from graphsoft.deadline import NEVER, Deadline
from graphsoft.errors import InputError, shown, warn
from graphsoft.storage.container import UNSOUND, read_container, write_container
from graphsoft.storage.packing import Packer, Unpacker
from graphsoft.version import installed_version

__all__ = ["NOWHERE", "Checkpoint", "begun", "digest_of"]

KIND, PLAN = "checkpoint", "plan"
# A step is kept if it took so many times as long as writing it does. So a call takes a few percent longer at
# most, and what is lost with a process is about this many times what it takes to write it.
WORTH = 30.0
# How long writing takes, until it is known of this disk: seconds for a file, and bytes in a second.
LATENCY, RATE = 0.01, 200e6

Found = TypeVar("Found")


class Checkpoint:
    """The steps of one call, in files of one directory; see `begun`.

    Parameters
    ----------
    directory : Path, optional
        Without one nothing is kept.
    plan : str
        The digest of the plan that the steps belong to.

    Examples
    --------
    >>> NOWHERE.step("sum", lambda: 1 + 1, lambda found, packer: found, lambda content, unpacker: content)
    2
    """

    def __init__(self, directory: Path | None = None, plan: str = "") -> None:
        self._directory, self._plan = directory, plan
        self._slowness = 1.0  # of this disk
        self._failed = False

    @property
    def keeps(self) -> bool:
        """Whether there is a directory."""
        return self._directory is not None

    def step(
        self,
        name: str,
        make: Callable[[], Found],
        pack: Callable[[Found, Packer], Any],
        unpack: Callable[[Any, Unpacker], Found],
        random: np.random.Generator | None = None,
        deadline: Deadline = NEVER,
    ) -> Found:
        """Read what a step has found, or do it, and keep what it finds if that is worth a file.

        Parameters
        ----------
        name : str
        make : callable
            Does the step.
        pack, unpack : callable
            Describe what it finds, and make it of its description.
        random : Generator, optional
            What the step draws from; it is left as the step leaves it.
        deadline : Deadline
            Nothing is kept after it, because the step may have been cut short.
        """
        if self._directory is None:
            return make()
        before = self.read(name, unpack, random)
        if before is not None:
            return before
        began = time.perf_counter()
        found = make()
        if not deadline.over:
            packer = Packer()
            self.write(name, pack(found, packer), packer, time.perf_counter() - began, random)
        return found

    def read(
        self, name: str, unpack: Callable[[Any, Unpacker], Found], random: np.random.Generator | None = None
    ) -> Found | None:
        """Read what a step has found; None if there is no sound file of it."""
        if self._directory is None:
            return None
        try:
            container = read_container(self._path(name))
            if (container.kind, container.content["plan"]) != (KIND, self._plan):
                return None
            found = unpack(container.content["step"], Unpacker(container.arrays))
            if random is not None:
                random.bit_generator.state = _with_arrays(container.content["random"])
        except (*UNSOUND, OSError):
            return None
        return found

    def write(
        self, name: str, content: Any, packer: Packer, spent: float,
        random: np.random.Generator | None = None,
    ) -> bool:  # fmt: skip
        """Keep what a step has found, if that is worth a file: returns whether the file is there.

        A disk that is full ends no call: it goes on without, and warns.
        """
        usual = LATENCY + sum(values.nbytes for values in packer.arrays.values()) / RATE
        if self._directory is None or spent < WORTH * usual * self._slowness:
            return False
        state = None if random is None else _plain(random.bit_generator.state)
        described = {"plan": self._plan, "step": content, "random": state}
        began = time.perf_counter()
        try:
            write_container(self._path(name), KIND, described, packer.arrays, installed_version())
        except OSError as error:
            if not self._failed:
                warn(f"checkpoint: {error.strerror}: {error.filename!r}; the call goes on, but keeps less")
            self._failed = True
            return False
        self._slowness = (time.perf_counter() - began) / usual
        return True

    def _path(self, name: str) -> Path:
        return _path(self._directory or Path(), name)


NOWHERE = Checkpoint()


def begun(directory: Path, plan: Mapping[str, Any]) -> Checkpoint:
    """Begin to keep steps in a directory, or go on with those that are there; others are refused.

    Parameters
    ----------
    directory : Path
        It is there, and no other process works in it.
    plan : mapping of str to plain values
        All that what is found depends on.
    """
    given = _plain(dict(plan))
    earlier = Checkpoint(directory).read(PLAN, lambda content, unpacker: dict(content))
    if earlier is not None and earlier != given:
        differing = [
            f"{name} was {shown(earlier.get(name))} and is {shown(given.get(name))}"
            for name in sorted(earlier.keys() | given.keys())
            if earlier.get(name) != given.get(name)
        ]
        problem = f"{str(directory)!r} holds the steps of another call: {'; '.join(differing[:3])}"
        remedy = "call with what it was begun with, give another directory, or delete this one"
        raise InputError("checkpoint", problem, remedy)
    for spare in directory.glob(".*.graphsoft.*.tmp"):  # what killed processes have left half written
        spare.unlink(missing_ok=True)
    if earlier is None:
        Checkpoint(directory).write(PLAN, given, Packer(), np.inf)
    return Checkpoint(directory, hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest())


def _path(directory: Path, name: str) -> Path:
    return directory / f"{name}.graphsoft"


def _plain(value: Any) -> Any:
    """Make numbers and arrays of NumPy what JSON brings back."""
    return json.loads(json.dumps(value, default=lambda each: each.tolist()))


def _with_arrays(state: Any) -> Any:
    """Make lists in the state of a bit generator arrays again."""
    if isinstance(state, dict):
        return {name: _with_arrays(each) for name, each in state.items()}
    return np.array(state, dtype=np.uint64) if isinstance(state, list) else state


def digest_of(*arrays: Array) -> str:
    """Compute the digest of some arrays, a part at a time."""
    found = hashlib.sha256()
    for values in arrays:
        found.update(f"{values.dtype.str} {values.shape} ".encode())
        for start in range(0, len(values), step := max(1, (1 << 22) // max(1, values[:1].nbytes))):
            found.update(np.ascontiguousarray(values[start : start + step]).data)
    return found.hexdigest()
