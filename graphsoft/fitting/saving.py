"""Reports and settings, on the way into a file and out of it."""

from __future__ import annotations

from typing import Any

from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.settings import Settings
from graphsoft.methods.saving import pack_method, unpack_method
from graphsoft.storage.packing import pack_value, unpack_value
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

__all__ = ["pack_report", "pack_settings", "unpack_report", "unpack_settings"]

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


def pack_report(report: Report) -> dict[str, Any]:
    """Describe a report."""
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


def pack_settings(settings: Settings) -> dict[str, Any]:
    """Describe settings."""
    methods = [pack_method(method) for method in settings.methods]
    return {**pack_record(settings, OF_SETTINGS, "h"), "methods": methods}


def unpack_settings(packed: dict[str, Any]) -> Settings:
    """Make settings of their description; they are checked as always."""
    methods = tuple(unpack_method(each) for each in packed["methods"])
    return Settings(methods=methods, **unpack_record(packed, OF_SETTINGS))
