"""What a run is going to do: settled before it begins, the same whenever it is taken up again."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from graphsoft.distributed.files import MARK_BYTES
from graphsoft.errors import InputError, shown
from graphsoft.storage.atomic import write_atomic
from graphsoft.storage.records import are_whole, is_flag, is_text, is_whole
from graphsoft.version import installed_version

__all__ = [
    "AS_JSON",
    "FIELDS",
    "PLAN",
    "PROCESS",
    "UNEVEN",
    "Plan",
    "check_distinct",
    "check_plan",
    "earlier",
    "mark_of",
    "same",
    "settled",
]

# Bytes of a process before it reads anything: the interpreter, NumPy, SciPy, Numba and the compiled loops, or
# Dask.
PROCESS = 220_000_000
# The largest partition has so many times the rows of an average one, or fewer.
UNEVEN = 1.2
PLAN = "plan.json"
OTHER_DATA = "the data are others, or their files were written again"
SAME_BYTES = (
    "; files of the same bytes are known again when their times of change are what they were, as cp -p keeps "
    "them and touch -d sets them, and graphsoft.load opens a finished result without the data"
)
# What differs between two plans, in words.
CALLED = {
    "rows": "the number of rows", "identity n": "the number of rows", "identity nodes": "the number of rows",
    "features": "the number of columns", "identity d": "the number of columns",
    "identity files": "the number of files", "identity format": "the format of the files",
    "identity dtype": "the type of the numbers", "identity directed": "directed",
}  # fmt: skip
# Fields of a plan and what they must be; the others are any JSON.
FIELDS = {
    "kind": is_text, "rows": is_whole, "features": is_whole, "sparse": is_flag, "partitions": is_whole,
    "chunk_rows": is_whole, "lends": is_whole, "n_neighbors": is_whole, "metric": is_text, "weights": is_text,
    "levels": are_whole, "max_memory": is_whole, "coarse_nodes": is_whole, "version": is_text,
}  # fmt: skip
AS_JSON = ("identity", "asked")
LEAST = {
    "rows": 1, "partitions": 1, "chunk_rows": 1, "n_neighbors": 1, "features": 0, "max_memory": 0,
    "coarse_nodes": 0, "lends": -1,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What a run is going to do.

    Attributes
    ----------
    kind : {"points", "graph", "predictions"}
        Predictions put new points into the clusters of a result.
    rows : int
        Points, or nodes of a given graph.
    features : int
        0 for a graph.
    sparse : bool
    partitions : int
    chunk_rows : int
        So many rows of the input are read together, however it is cut into files.
    lends : int
        How many further partitions see each point while neighbors are sought; -1 as long as it is not known.
    n_neighbors : int
    metric, weights : str
    levels : tuple of int
    max_memory : int
        Bytes that a process may take.
    coarse_nodes : int
        How many nodes the central graph is to have.
    identity : dict
        What the input is known by.
    asked : dict
        What else was asked for that makes the result another one.
    version : str
        Of graphsoft that begins it: no other one goes on.
    """

    kind: str
    rows: int
    features: int
    sparse: bool
    partitions: int
    chunk_rows: int
    lends: int
    n_neighbors: int
    metric: str
    weights: str
    levels: tuple[int, ...]
    max_memory: int
    coarse_nodes: int
    identity: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    version: str = field(default_factory=installed_version)

    @property
    def parts(self) -> range:
        """The numbers of the partitions."""
        return range(self.partitions)

    @property
    def chunks(self) -> range:
        """The numbers of the chunks."""
        return range(-(-self.rows // self.chunk_rows))

    def chunk(self, number: int) -> tuple[int, int]:
        """Tell where the rows of a chunk begin and end."""
        start = number * self.chunk_rows
        return start, min(start + self.chunk_rows, self.rows)


def check_plan(plan: Plan) -> None:
    """Refuse a plan that somebody has changed by hand."""
    for name, fits in FIELDS.items():
        value = getattr(plan, name)
        if not fits(value) or (name in LEAST and value < LEAST[name]):
            raise ValueError(f"a plan whose {name} is not what it should be")
    if plan.kind not in ("points", "graph", "predictions") or (plan.features > 0) != (plan.kind != "graph"):
        raise ValueError("a plan of another kind")
    if not all(isinstance(getattr(plan, name), dict) for name in AS_JSON):
        raise ValueError("a plan without an identity")


def check_distinct(plan: Plan, points: int) -> None:
    """Refuse more clusters than there are distinct points, of which there are at most so many."""
    if plan.levels[0] > points:
        problem = f"asks for {plan.levels[0]} clusters, and no more than {points} points are distinct"
        raise InputError("levels", problem, "ask for fewer clusters")


def settled(directory: Path, plan: Plan) -> Plan:
    """Write down the plan of a run, or compare it with the one that was written down; another one is refused.

    What is not known yet, which is `lends`, can be settled later, and is taken from the older plan if it is
    known there.

    Parameters
    ----------
    directory : Path
        It is there, and held.
    plan : Plan
    """
    given = _plain(plan)
    older = earlier(directory)
    if older is not None:
        if given["lends"] < 0:
            given["lends"] = older.get("lends")
        lends_new = older.get("lends") == -1 and given["lends"] >= 0
        found = _differences(older | ({"lends": given["lends"]} if lends_new else {}), given)
        differing = list(dict.fromkeys(found))
        if differing:
            problem = f"{str(directory)!r} holds a run with another plan: {'; '.join(differing[:5])}"
            remedy = "call with what it was begun with, or give another directory"
            raise InputError("directory", problem, remedy + SAME_BYTES * (OTHER_DATA in differing))
        if not lends_new:
            return Plan(**(given | {"levels": plan.levels, "identity": plan.identity}))
    text = json.dumps(given)
    content = {"version": plan.version, "check": zlib.crc32(text.encode()), "plan": given}
    write_atomic(directory / PLAN, lambda file: file.write(json.dumps(content, indent=1).encode()))
    return plan


def earlier(directory: Path) -> dict[str, Any] | None:
    """Read the fields of the plan that was written down; None if there is none, or if it is damaged."""
    path = directory / PLAN
    try:
        content = json.loads(path.read_bytes())
        plan = dict(content.get("plan", {}))
        sound = content.get("check") == zlib.crc32(json.dumps(plan).encode())
        _refuse_other_version(directory, plan["version"] if sound else content["version"])
        if not sound:
            return None
        check_plan(Plan(**plan | {"levels": tuple(plan["levels"])}))
    except InputError:
        raise
    except (
        FileNotFoundError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):
        return None
    return plan


def same(plan: Plan, other: Plan) -> bool:
    """Tell whether two plans are written down alike."""
    return _plain(plan) == _plain(other)


def mark_of(plan: Plan) -> bytes:
    """Compute the mark of the files of a plan, which is the same before and after `lends` is settled."""
    text = json.dumps(_plain(replace(plan, lends=-1)), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=MARK_BYTES).digest()


def _plain(plan: Plan) -> dict[str, Any]:
    """Make the values of a plan, some of them numbers of numpy, what JSON brings back."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(plan), default=lambda number: number.item()))
    return plain


def _refuse_other_version(directory: Path, version: Any) -> None:
    """Refuse what another version began, before more is read of it: its files need not mean the same."""
    if not is_text(version):
        raise ValueError("no version")
    if version != (own := installed_version()):
        problem = f"{str(directory)!r} was begun by graphsoft {version[:40]}, and this is {own}"
        remedy = "finish it with that version, or delete it; graphsoft.load opens it if it is finished"
        raise InputError("directory", problem, remedy)


def _differences(older: dict[str, Any], given: dict[str, Any], of: str = "") -> Iterator[str]:
    """Say what is not the same, by its name."""
    for name in sorted(older.keys() | given.keys()):
        before, now = older.get(name), given.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{of}{name} ")
        elif before != now or type(before) is not type(now):
            if of == "identity " and (name == "digest" or isinstance(now, list)):
                yield OTHER_DATA
                continue
            yield f"{CALLED.get(f'{of}{name}', f'{of}{name}')} was {shown(before)} and is {shown(now)}"
