"""Hierarchies, on the way into a file and out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphsoft.errors import InputError, shown
from graphsoft.fitting.report import Report
from graphsoft.fitting.saving import pack_report, pack_settings
from graphsoft.graph.features import FeaturesLeftOut
from graphsoft.graph.graph import pack_graph
from graphsoft.graph.saving import pack_features
from graphsoft.result.intact import check_described, check_features, check_levels, intact_graph
from graphsoft.result.level import Level
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.container import write_container
from graphsoft.storage.packing import Packer, Unpacker
from graphsoft.storage.records import is_flag
from graphsoft.version import installed_version

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["unpack_levels", "write_hierarchy"]


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
        "report": pack_report(h.report),
        "settings": pack_settings(h.settings),
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
