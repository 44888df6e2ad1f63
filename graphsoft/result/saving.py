"""Hierarchies, on the way into a file and out of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from graphsoft.aliases import Array
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.settings import Settings
from graphsoft.graph.saving import pack_features
from graphsoft.linalg.memberships import frozen, frozen_rows
from graphsoft.methods.saving import pack_method, unpack_method
from graphsoft.result.intact import check_features, check_levels, intact_graph
from graphsoft.result.level import Level
from graphsoft.storage.packing import Packer, Unpacker, pack_value, unpack_value

__all__ = ["pack_hierarchy", "unpack_levels", "unpack_report", "unpack_settings"]


def pack_hierarchy(h: Any, packer: Packer, features: bool) -> dict[str, Any]:
    """Describe a hierarchy that is in order, and add its arrays."""
    graph = intact_graph(h)
    check_levels(h.levels, len(graph))
    if features:
        check_features(h.features, h.settings, len(graph))
    packer.array("degrees", h.levels[0].degrees)
    return {
        "graph": graph.packed(packer),
        "features": pack_features(h.features, packer, features),
        "levels": [_packed_level(level, f"levels/{number}", packer) for number, level in enumerate(h)],
        "cluster_names": dict(h.cluster_names),
        "report": _packed_fields(h.report, levels=[_packed_fields(each) for each in h.report.levels]),
        "settings": _packed_fields(h.settings, methods=[pack_method(each) for each in h.settings.methods]),
    }


def _packed_fields(record: Any, **others: Any) -> dict[str, Any]:
    """Describe a record field by field; some are described by the caller."""
    packed = dict(others)
    for each in fields(record):
        if each.name not in others:
            value = getattr(record, each.name)
            entries = (
                [[key, pack_value(entry, each.name)] for key, entry in value.items()]
                if isinstance(value, dict)
                else None
            )
            packed[each.name] = pack_value(value, each.name) if entries is None else {"dict": entries}
    return packed


def _unpacked_fields(packed: dict[str, Any], **others: Any) -> dict[str, Any]:
    found = dict(others)
    for name, value in packed.items():
        if name not in others:
            held = value["dict"] if isinstance(value, dict) and "dict" in value else None
            found[name] = unpack_value(value) if held is None else {str(k): unpack_value(v) for k, v in held}
    return found


def _packed_level(level: Level, name: str, packer: Packer) -> dict[str, Any]:
    parents = level.parents
    return {
        "memberships": packer.matrix(f"{name}/memberships", level.memberships),
        "parents": None if parents is None else packer.matrix(f"{name}/parents", parents),
        "mass": packer.array(f"{name}/mass", level.mass),
        "graph": packer.matrix(f"{name}/graph", level.graph),
    }


def unpack_report(packed: dict[str, Any]) -> Report:
    """Make a report of its description."""
    levels = tuple(LevelReport(**_unpacked_fields(each)) for each in packed["levels"])
    return Report(**_unpacked_fields(packed, levels=levels))


def unpack_settings(packed: dict[str, Any]) -> Settings:
    """Make settings of their description; they are checked as always."""
    methods = tuple(unpack_method(each) for each in packed["methods"])
    return Settings(**_unpacked_fields(packed, methods=methods))


def unpack_levels(packed: list[dict[str, Any]], report: Report, unpacker: Unpacker) -> tuple[Level, ...]:
    """Make levels of their descriptions, and check them."""
    degrees = frozen(unpacker.array("degrees", "f"))
    if len(packed) != len(report.levels):
        raise ValueError("not as many reports as levels")
    levels = []
    for each, how in zip(packed, report.levels, strict=True):
        parents = None if each["parents"] is None else unpacker.matrix(each["parents"])
        mass: Array = frozen(unpacker.array(each["mass"], "f"))
        level = Level(
            frozen_rows(unpacker.matrix(each["memberships"])),
            None if parents is None else frozen_rows(parents),
            mass, unpacker.matrix(each["graph"]), degrees, how,
        )  # fmt: skip
        levels.append(level)
    check_levels(levels, len(degrees))
    return tuple(levels)
