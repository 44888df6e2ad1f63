"""The plan of a run in its directory: made before any work, and compared when the run is taken up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphsoft.distributed.plan import Plan
from graphsoft.distributed.planning import memory_of
from graphsoft.errors import InputError, shown
from graphsoft.fitting.saving import pack_settings
from graphsoft.fitting.settings import Settings
from graphsoft.storage.atomic import write_atomic

__all__ = ["PLAN", "stored_plan", "write_plan"]

PLAN = "plan.json"
OTHER = "use another directory, or call as before"


def write_plan(directory: Path, plan: Plan, settings: Settings) -> None:
    """Write a plan down, before any work is done by it."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {"plan": asdict(plan), "settings": pack_settings(settings)}
    text = json.dumps(content, indent=1, allow_nan=False)
    write_atomic(directory / PLAN, lambda file: file.write(text.encode()))


def stored_plan(
    directory: Path, asked: Mapping[str, Any], settings: Settings, max_memory: Any, partitions: int | None
) -> Plan | None:
    """Read the plan of an earlier call, and refuse a call that asks for something else; None if there is none.

    Parameters
    ----------
    directory : Path
    asked : mapping
        The fields of a plan that follow from the data and the settings.
    settings : Settings
    max_memory : int, str or None
        May be more than it was, or left out.
    partitions : int or None
        May be left out.
    """
    try:
        content = json.loads((directory / PLAN).read_bytes())
        fields = content["plan"]
        plan = Plan(**{**fields, "levels": tuple(fields["levels"])})
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError) as error:
        problem = f"its {PLAN} is damaged ({type(error).__name__})"
        raise InputError("directory", problem, "use another directory") from error
    for name, value in json.loads(json.dumps(asked)).items():
        _compare(directory, name, fields[name], value)
    packed = json.loads(json.dumps(pack_settings(settings)))
    for name, value in packed.items():
        _compare(directory, name, content["settings"][name], value)
    if partitions is not None:
        _compare(directory, "partitions", plan.partitions, partitions)
    if max_memory is not None and memory_of(max_memory, None) < plan.max_memory:
        _compare(directory, "max_memory", plan.max_memory, memory_of(max_memory, None))
    return plan


def _compare(directory: Path, name: str, before: Any, now: Any) -> None:
    """Refuse what is not as before."""
    if before == now:
        return
    where = shown(str(directory))
    if name == "identity":
        differing = [each for each in now if before.get(each) != now[each]]
        problem = f"{where} holds a run of other data (they differ in {', '.join(differing) or 'kind'})"
    else:
        problem = f"{where} holds a run with {name}={shown(before)}, and now it is {shown(now)}"
    raise InputError("directory", problem, OTHER)

