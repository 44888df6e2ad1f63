"""What the command line writes: folders of results, single files, and JSON on the standard output."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsoft.cli.given import seems_a_model
from graphsoft.cli.terminal import show
from graphsoft.errors import InputError
from graphsoft.formats.frames import columns_to_csv
from graphsoft.formats.tables import memberships_to_npz, point_columns
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.storage.atomic import write_atomic
from graphsoft.storage.together import leftovers, replace_together

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = [
    "PAGE",
    "REPORT",
    "TREE",
    "check_file",
    "check_folder",
    "check_model",
    "plain",
    "results_in",
    "show_json",
    "write_folder",
]

REPORT, PAGE, TREE, _LABELS = "report.json", "explorer.html", "tree.json", "labels.csv"
_OF_LEVELS = re.compile(r"memberships-(\d+)\.npz|labels-(\d+)\.npy", re.ASCII)
# For more points than this the page is not made by the way: `graphsoft explore` makes it of a saved model.
MOST_EXPLORED = 200_000


def check_folder(name: str | None, force: bool) -> Path | None:
    """Make the folder. Refuse, before the long work, to overwrite files that graphsoft did not write."""
    if name is None:
        return None
    if name == "":
        raise InputError("output", "is empty", "name a directory")
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise InputError("output", f"{str(folder)!r} is a file", "name a directory")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError("output", f"{str(folder)!r} cannot be written to", "name another directory")
    if not (force or _is_ours(folder)) and (there := results_in(folder)):
        problem = f"{str(there[0])!r} is there and graphsoft did not write it"
        raise InputError("output", problem, "name another directory, or say --force")
    return folder


def results_in(folder: Path) -> list[Path]:
    """List the files that a run would replace or remove."""
    names = {REPORT, PAGE, TREE, _LABELS}
    return sorted(path for path in folder.iterdir() if path.name in names or _OF_LEVELS.fullmatch(path.name))


def _is_ours(folder: Path) -> bool:
    """Tell whether a run of this command filled the folder, or was killed when it began to."""
    if leftovers(folder):
        return True
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(report, dict) and report.get("program") == "graphsoft"


def check_model(name: str | None) -> None:
    """Refuse, before the long work, a name that a model cannot be saved under."""
    if name is None:
        return
    if not seems_a_model(name):
        raise InputError("save", f"{name!r} does not end in .graphsoft", "let it end so")
    _check_parent("save", name)


def check_file(name: str | None, source: str) -> None:
    """Refuse, before the long work, to write where there is no directory, or over the input."""
    if name is None:
        return
    _check_parent("output", name)
    if os.path.exists(name) and os.path.exists(source) and os.path.samefile(name, source):
        raise InputError("output", f"{name!r} is the input", "give another name")


def _check_parent(argument: str, name: str) -> None:
    parent = Path(name).parent
    if not parent.is_dir():
        raise InputError(argument, f"there is no directory {str(parent)!r}", "make it first")
    if Path(name).is_dir():
        raise InputError(argument, f"{name!r} is a directory", "give the name of a file")
    if Path(name).exists() and not Path(name).is_file():
        raise InputError(argument, f"{name!r} is not an ordinary file", "give the name of a file")


def write_folder(folder: Path, h: Hierarchy, report: Mapping[str, Any], labels: Any, title: str) -> None:
    """Write a page to look at, tree, labels, memberships and a report, all of them or none."""
    text = json.dumps(plain(report), indent=2, allow_nan=False) + "\n"
    writers: dict[str, Any] = {
        REPORT: lambda path: write_atomic(path, lambda file: file.write(text.encode("utf-8"))),
        TREE: lambda path: tree_to_json(h.tree, path),
        _LABELS: lambda path: columns_to_csv(point_columns(h.nodes, h.levels), path),
    }
    if len(h.graph) <= MOST_EXPLORED:
        writers[PAGE] = lambda path: h.explore(path, labels=labels, title=title)
    for index, level in enumerate(h):
        writers[f"memberships-{index}.npz"] = lambda path, level=level: memberships_to_npz(
            level.memberships, path
        )
    replace_together(folder, writers, lambda: results_in(folder), seal=REPORT)


def show_json(value: Any) -> None:
    """Print a value as JSON in ASCII, which no terminal takes for a command."""
    text = json.dumps(plain(value), indent=2, allow_nan=False).replace("\x7f", "\\u007f")
    show(text.splitlines())


def plain(value: Any) -> Any:
    """Turn results into types that JSON has; numbers that are not finite become null.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"gap": np.float32(0.5), "trace": np.array([1.0, np.inf]), "levels": (3, 2)})
    {'gap': 0.5, 'trace': [1.0, None], 'levels': [3, 2]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
