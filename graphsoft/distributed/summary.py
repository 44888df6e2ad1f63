"""What is small in a result on disk, in one file: levels, tree, report, settings, and the plan of the run.

Memberships and labels, which grow with the number of points, are in files of arrays beside it. Of new points
that were put into the clusters of a hierarchy there is the same, in a file of another name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.plan import AS_JSON, FIELDS, Plan, check_plan, earlier, same, settled
from graphsoft.errors import InputError
from graphsoft.fitting.report import Report
from graphsoft.fitting.saving import pack_report, pack_settings, unpack_report, unpack_settings
from graphsoft.fitting.settings import Settings
from graphsoft.input.memberships import check_memberships
from graphsoft.storage.container import DAMAGED, UNSOUND, cause_of, read_container, write_container
from graphsoft.storage.packing import Packer, Unpacker, pack_value, unpack_value
from graphsoft.storage.records import are_texts, are_whole, is_number, is_text
from graphsoft.version import installed_version

__all__ = [
    "PREDICTIONS",
    "SUMMARY",
    "LevelSummary",
    "Summary",
    "is_finished",
    "read_summary",
    "restore_plan",
    "write_summary",
]

SUMMARY, PREDICTIONS = "hierarchy.gs", "predictions.gs"
KINDS = {SUMMARY: "stored hierarchy", PREDICTIONS: "stored predictions"}


@dataclass(frozen=True, eq=False)
class LevelSummary:
    """What is small of a level of m clusters.

    Attributes
    ----------
    parents : csr_array of shape (m, m_above) or None
        None on the top level.
    mass : ndarray of shape (m,)
        float64.
    sizes : ndarray of shape (m,)
        int64: the rows whose likeliest cluster each is. They sum to the number of rows of the plan.
    graph : csr_array of shape (m, m)
        The cluster graph.
    """

    parents: sp.csr_array | None
    mass: Array
    sizes: Array
    graph: sp.csr_array


@dataclass(frozen=True, eq=False)
class Summary:
    """What is small of a result on disk.

    Attributes
    ----------
    plan : Plan
    levels : tuple of LevelSummary
        Finest first.
    report : Report
        With a report of each level.
    settings : Settings
    columns : tuple of str or None
        The names of the features.
    cluster_names : mapping of str to str
        By the ids of clusters.
    steps : csr_array of shape (m, m) or None
        Of the finest level: how much weight goes along edges from cluster to cluster, ``S^T W S``, with S the
        memberships and W the graph. None if that was not computed.
    bare : tuple of int or None
        Partition and place of the first point without edges, if there is one.
    least_scale : float or None
        The least local scale of all points; None if there are no points, but a graph, or predictions.
    """

    plan: Plan
    levels: tuple[LevelSummary, ...]
    report: Report
    settings: Settings
    columns: tuple[str, ...] | None = None
    cluster_names: Mapping[str, str] = field(default_factory=dict)
    steps: sp.csr_array | None = None
    bare: tuple[int, int] | None = None
    least_scale: float | None = None


def write_summary(directory: Path, summary: Summary) -> None:
    """Write the file, which comes last: where it is, the result is complete.

    Examples
    --------
    >>> import tempfile
    >>> from graphsoft.fitting.report import LevelReport
    >>> from graphsoft.methods import METHODS
    >>> plan = Plan("graph", 3, 0, False, 1, 3, 0, 10, "euclidean", "local-scaling", (2,), 10**9, 100)
    >>> level = LevelSummary(None, np.array([4.0, 2.0]), np.array([2, 1]), sp.csr_array(np.diag([4.0, 2.0])))
    >>> report = Report(3, 2, 1, (), (LevelReport(2, 5, (), -3.0, 0.0, "converged", 0.1),), {})
    >>> settings = Settings((2,), (METHODS["relation"],), True, 10, "euclidean", "local-scaling")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_summary(Path(folder), Summary(plan, (level,), report, settings))
    ...     read_summary(Path(folder)).levels[0].sizes.tolist()
    [2, 1]
    """
    _check(summary)
    packer = Packer()
    content = {
        "plan": _packed_plan(summary.plan),
        "levels": [_packed_level(level, f"levels/{at}", packer) for at, level in enumerate(summary.levels)],
        "report": pack_report(summary.report),
        "settings": pack_settings(summary.settings),
        "columns": pack_value(summary.columns, "columns"),
        "cluster_names": dict(summary.cluster_names),
        "steps": _packed_matrix("steps", summary.steps, packer),
        "bare": pack_value(summary.bare, "bare"),
        "least_scale": summary.least_scale,
    }
    name = _name(summary.plan)
    write_container(directory / name, KINDS[name], content, packer.arrays, installed_version())


def read_summary(directory: Path, name: str = SUMMARY) -> Summary:
    """Read what `write_summary` wrote; nothing in it is believed.

    Parameters
    ----------
    directory : Path
    name : {SUMMARY, PREDICTIONS}

    Raises
    ------
    InputError
        If it is not there, was damaged, or does not hold what it should.
    """
    path = directory / name
    container = read_container(path)
    if container.kind != KINDS[name]:
        raise InputError("path", f"{str(path)!r} holds a {container.kind[:40]!r}", "give a run's directory")
    content, unpacker = container.content, Unpacker(container.arrays)
    try:
        summary = Summary(
            plan=_unpacked_plan(content["plan"]),
            levels=tuple(_unpacked_level(each, unpacker) for each in content["levels"]),
            report=unpack_report(content["report"]),
            settings=unpack_settings(content["settings"]),
            columns=unpack_value(content["columns"]),
            cluster_names=content["cluster_names"],
            steps=_unpacked_matrix(content["steps"], unpacker),
            bare=unpack_value(content["bare"]),
            least_scale=content["least_scale"],
        )
        _check(summary)
        if _name(summary.plan) != name:
            raise ValueError("a plan of another kind")
    except UNSOUND as error:
        problem = f"{str(path)!r} holds no sound result: {cause_of(error)}"
        raise InputError("path", problem, DAMAGED) from error
    return summary


def is_finished(directory: Path, plan: Plan) -> bool:
    """Tell whether all that is small of a result is there, and sound, and of this run."""
    try:
        return same(read_summary(directory, _name(plan)).plan, plan)
    except InputError:
        return False


def restore_plan(directory: Path, name: str) -> None:
    """Write the plan where there is none: a saved copy of a result has it in its summary only."""
    if earlier(directory) is None:
        with suppress(InputError):
            settled(directory, read_summary(directory, name).plan)


def _name(plan: Plan) -> str:
    return PREDICTIONS if plan.kind == "predictions" else SUMMARY


def _packed_plan(plan: Plan) -> dict[str, Any]:
    packed = {name: pack_value(getattr(plan, name), name) for name in FIELDS}
    return {**packed, **{name: getattr(plan, name) for name in AS_JSON}}


def _unpacked_plan(packed: dict[str, Any]) -> Plan:
    values = {name: unpack_value(packed[name]) for name in FIELDS}
    return Plan(**values, **{name: packed[name] for name in AS_JSON})


def _packed_level(level: LevelSummary, name: str, packer: Packer) -> dict[str, Any]:
    return {
        "parents": _packed_matrix(f"{name}/parents", level.parents, packer),
        "mass": packer.array(f"{name}/mass", level.mass),
        "sizes": packer.array(f"{name}/sizes", level.sizes),
        "graph": _packed_matrix(f"{name}/graph", level.graph, packer),
    }


def _unpacked_level(packed: dict[str, Any], unpacker: Unpacker) -> LevelSummary:
    graph = _unpacked_matrix(packed["graph"], unpacker)
    if graph is None:
        raise ValueError("a level without a graph")
    mass, sizes = unpacker.array(packed["mass"], "f"), unpacker.array(packed["sizes"], "i")
    return LevelSummary(_unpacked_matrix(packed["parents"], unpacker), mass, sizes, graph)


def _packed_matrix(name: str, matrix: sp.csr_array | None, packer: Packer) -> dict[str, Any] | None:
    return None if matrix is None else packer.matrix(name, matrix)


def _unpacked_matrix(packed: dict[str, Any] | None, unpacker: Unpacker) -> sp.csr_array | None:
    return None if packed is None else unpacker.matrix(packed)


def _check(summary: Summary) -> None:
    """Refuse what does not fit together, both before it is written and after it is read."""
    check_plan(summary.plan)
    counts = tuple(len(level.mass) for level in summary.levels)
    if not counts or not counts == summary.plan.levels == summary.settings.levels:
        raise ValueError("levels that were not asked for")
    joined = [(each.n_neighbors, each.metric, each.weights) for each in (summary.plan, summary.settings)]
    if joined[0] != joined[1]:
        raise ValueError("settings of another run")
    if tuple(each.clusters for each in summary.report.levels) != counts:
        raise ValueError("a report of other levels")
    for level, above in zip(summary.levels, (*counts[1:], None), strict=True):
        _check_level(level, above, summary.plan.rows)
    columns, names = summary.columns, summary.cluster_names
    if columns is not None and not (are_texts(columns) and len(columns) == summary.plan.features):
        raise ValueError("names of other features")
    if not isinstance(names, Mapping) or not all(is_text(each) for pair in names.items() for each in pair):
        raise ValueError("names of clusters that are no texts")
    if summary.steps is not None:
        _check_weights(summary.steps, counts[0])
    bare, least = summary.bare, summary.least_scale
    if bare is not None and not (
        are_whole(bare) and len(bare) == 2 and 0 <= bare[0] < summary.plan.partitions and bare[1] >= 0
    ):
        raise ValueError("a point without edges that is none")
    if (least is None) == (summary.plan.kind == "points"):
        raise ValueError("a scale of another kind of data")
    if least is not None and not (is_number(least) and 0 < least < np.inf):
        raise ValueError("a scale that is not above 0")


def _check_level(level: LevelSummary, above: int | None, rows: int) -> None:
    count = len(level.mass)
    for values in (level.mass, level.sizes):
        if values.shape != (count,) or not np.isfinite(values).all() or values.min() < 0:
            raise ValueError("masses or sizes that are not those of clusters")
    if level.mass.dtype != np.float64 or level.sizes.dtype != np.int64:
        raise ValueError("masses or sizes of another type")
    # added up as Python's numbers, which do not overflow
    if sum(level.sizes.tolist()) != rows:
        raise ValueError("sizes that are not those of all points")
    if (level.parents is None) != (above is None):
        raise ValueError("parents on the top level, or none on another")
    if above is not None:
        check_memberships(level.parents, "path", (count, above))
    _check_weights(level.graph, count)


def _check_weights(matrix: sp.csr_array, count: int) -> None:
    if matrix.shape != (count, count) or (len(matrix.data) and matrix.data.min() < 0):
        raise ValueError("a graph of other clusters")
    if matrix.data.dtype != np.float64 or not np.isfinite(matrix.data).all():
        raise ValueError("a graph of other clusters")
