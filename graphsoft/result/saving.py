"""Hierarchies, on the way into a file and out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphsoft.errors import InputError, shown
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import FeaturesLeftOut
from graphsoft.graph.graph import pack_graph
from graphsoft.graph.saving import pack_features
from graphsoft.methods.saving import pack_method, unpack_method
from graphsoft.result.intact import check_described, check_features, check_levels, intact_graph
from graphsoft.result.level import Level
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.container import write_container
from graphsoft.storage.packing import Packer, Unpacker, pack_value, unpack_value
from graphsoft.storage.records import (
    are_number_pairs,
    are_numbers,
    are_pairs,
    are_texts,
    are_whole,
    is_flag,
    is_number,
    is_number_or_none,
    is_text,
    is_whole,
    is_whole_or_none,
    pack_record,
    unpack_record,
)
from graphsoft.version import installed_version

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["unpack_levels", "unpack_report", "unpack_settings", "write_hierarchy"]

OF_LEVEL_REPORT = {
    "clusters": is_whole,
    "sweeps": is_whole,
    "trace": are_numbers,
    "log_likelihood": is_number,
    "kkt_gap": is_number_or_none,
    "status": is_text,
    "seconds": is_number,
    "pairs_kept": is_whole_or_none,
    "pairs_known": is_whole_or_none,
    "stopped": is_flag,
}
OF_REPORT = {
    "nodes": is_whole,
    "edges": is_whole,
    "components": is_whole,
    "notes": are_texts,
    "scaling": are_number_pairs,
    "part": is_text,
}
OF_SETTINGS = {
    "levels": are_whole,
    "polish": is_flag,
    "n_neighbors": is_whole,
    "metric": is_text,
    "weights": is_text,
    "must_link": are_pairs,
    "cannot_link": are_pairs,
    "known": are_pairs,
    "min_children": is_whole_or_none,
    "max_children": is_whole_or_none,
}


def write_hierarchy(path: PathLike, h: Hierarchy, features: bool) -> None:
    """Check a hierarchy, and write it to a file, with or without its features."""
    if not is_flag(features):
        raise InputError("features", f"got {shown(features)}", "use True or False")
    graph = intact_graph(h)
    check_levels(h.levels, len(graph))
    check_described(h.levels, h.report, h.settings)
    if features and not isinstance(h.features, FeaturesLeftOut):
        check_features(h.features, h.settings, len(graph))
    packer = Packer()
    content = {
        "graph": pack_graph(graph, packer),
        "features": pack_features(h.features, packer, bool(features)),
        "degrees": packer.array("degrees", h.levels[0].degrees),
        "levels": [_packed_level(level, f"levels/{number}", packer) for number, level in enumerate(h)],
        "cluster_names": dict(h.cluster_names),
        "report": _packed_report(h.report),
        "settings": _packed_settings(h.settings),
    }
    write_container(path, "hierarchy", content, packer.arrays, installed_version())


def _packed_level(level: Level, name: str, packer: Packer) -> dict[str, Any]:
    parents = level.parents
    return {
        "memberships": packer.matrix(f"{name}/memberships", level.memberships),
        "parents": None if parents is None else packer.matrix(f"{name}/parents", parents),
        "mass": packer.array(f"{name}/mass", level.mass),
        "graph": packer.matrix(f"{name}/graph", level.graph),
    }


def unpack_levels(packed: list[Any], degrees: Any, report: Report, unpacker: Unpacker) -> tuple[Level, ...]:
    """Make levels of their descriptions, and check them."""
    shared = unpacker.array(degrees, "f")
    levels = tuple(
        Level(
            unpacker.matrix(each["memberships"]),
            None if each["parents"] is None else unpacker.matrix(each["parents"]),
            unpacker.array(each["mass"], "f"),
            unpacker.matrix(each["graph"]),
            shared,
            how,
        )
        for each, how in zip(packed, report.levels, strict=True)
    )
    check_levels(levels, len(shared))
    return levels


def _packed_report(report: Report) -> dict[str, Any]:
    return {
        **pack_record(report, OF_REPORT, "h"),
        "levels": [pack_record(level, OF_LEVEL_REPORT, "h") for level in report.levels],
        "seconds": [[str(stage), pack_value(each, "h")] for stage, each in report.seconds.items()],
    }


def unpack_report(packed: dict[str, Any]) -> Report:
    """Make a report of its description."""
    seconds = {stage: unpack_value(each) for stage, each in packed["seconds"]}
    if not all(is_text(stage) and is_number(each) for stage, each in seconds.items()):
        raise ValueError("not seconds of stages")
    levels = tuple(LevelReport(**unpack_record(each, OF_LEVEL_REPORT)) for each in packed["levels"])
    return Report(levels=levels, seconds=seconds, **unpack_record(packed, OF_REPORT))


def _packed_settings(settings: Settings) -> dict[str, Any]:
    methods = [pack_method(method) for method in settings.methods]
    return {**pack_record(settings, OF_SETTINGS, "h"), "methods": methods}


def unpack_settings(packed: dict[str, Any]) -> Settings:
    """Make settings of their description; they are checked as always."""
    methods = tuple(unpack_method(each) for each in packed["methods"])
    return Settings(methods=methods, **unpack_record(packed, OF_SETTINGS))
