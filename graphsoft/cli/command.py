"""The command line: reads a file, calls one public function, writes and prints what came out."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsoft.cli.terminal import ProgressLine, printable
from graphsoft.errors import GraphsoftWarning, InputError, shown
from graphsoft.version import installed_version

if TYPE_CHECKING:
    from graphsoft.datasets import Dataset
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["main"]

# How the user wrote what the library calls by another name.
_OPTIONS = {
    "path": "input",
    "X": "input",
    "n_neighbors": "--neighbors",
    "output": "--output",
    "levels": "--levels",
    "labels": "--labels",
    "header": "--header",
    "metric": "--metric",
    "weights": "--weights",
    "affinity": "--affinity",
    "method": "--method",
    "min_children": "--min-children",
    "max_children": "--max-children",
}
_PASSED_ON = (
    "n_neighbors", "metric", "weights", "affinity", "method", "polish", "min_children", "max_children",
)  # fmt: skip
_MEMBERSHIPS = re.compile(r"memberships-(\d+)\.npz", re.ASCII)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        In place of those of the process.

    Returns
    -------
    int
        0 if all went well, 1 if the system failed (a full disk, too little memory), 2 for wrong input, 130
        after Ctrl-C, 141 if the reader of the output closed it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a C locale knows no letters beyond ASCII
    options = _parser().parse_args(arguments)
    try:
        with _short_warnings():
            options.run(options)
        sys.stdout.flush()
    except InputError as error:
        name = _OPTIONS.get(error.argument, error.argument)
        return _fail(2, f"{name}: {error.problem}. Remedy: {error.remedy}.")
    except BrokenPipeError:
        # so that the flush at exit does not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        return _fail(1, str(error))
    except MemoryError:
        return _fail(1, "out of memory. Remedy: fewer points, fewer neighbors, or a larger machine.")
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    return 0


def _fail(code: int, message: str) -> int:
    with contextlib.suppress(OSError):  # if nothing can be written, the exit code still tells
        print(f"graphsoft: {printable(message)}", file=sys.stderr, flush=True)
    return code


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    """Show warnings as one line, without the line of source that raised them."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"graphsoft: warning: {printable(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", GraphsoftWarning)
        warnings.showwarning = show
        yield


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphsoft", description="Soft clusters of a sparse graph, as a tree."
    )
    parser.add_argument("--version", action="version", version=f"graphsoft {installed_version()}")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser(
        "hierarchy",
        help="find a hierarchy of soft clusters",
        description="Find a hierarchy of soft clusters in a table, a matrix or a graph.",
        epilog="example: graphsoft hierarchy data/penguins.csv --levels 20,6,3 --labels species -o out/",
        argument_default=argparse.SUPPRESS,  # the library decides about what is not asked for
    )
    command.set_defaults(run=_hierarchy, output=None, labels=None, header=None)
    add = command.add_argument
    add("input", help="csv, tsv, npy, npz, mtx, edges, edgelist, txt or graphml; also .gz")
    add(
        "--levels",
        required=True,
        metavar="M,M,...",
        help="falling numbers of clusters, such as 100,20,10, or auto",
    )
    add("-o", "--output", metavar="DIR", help="write tree.json, labels.csv, memberships and report.json here")
    add("--directed", action="store_true", default=False, help="edges have a direction: cluster their flow")
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a table has titles (found out)",
    )
    add("--labels", metavar="NAME", help="known classes, only for scores: a column, array or node attribute")
    add("--neighbors", dest="n_neighbors", type=int, metavar="K", help="neighbors of a point (10)")
    add("--metric", help="distance between points, such as euclidean or cosine (euclidean)")
    add("--weights", help="how distances become weights (local-scaling)")
    add("--affinity", help="is the input points or a graph: auto, features, precomputed (auto)")
    add("--method", help="clustering method (relation)")
    add(
        "--polish",
        action=argparse.BooleanOptionalAction,
        help="find and refine every level on the graph of the points",
    )
    add("--min-children", type=int, metavar="M", help="fewest clusters under each of the next level")
    add("--max-children", type=int, metavar="M", help="most clusters under each of the next level")
    add("--quiet", action="store_true", default=False, help="no progress, no tables")
    add("--force", action="store_true", default=False, help="overwrite what graphsoft did not write")
    return parser


def _hierarchy(options: argparse.Namespace) -> None:
    from graphsoft.cli.summary import score_levels, summarize
    from graphsoft.datasets import read
    from graphsoft.graph.directed import directed_graph
    from graphsoft.levels import hierarchy

    sizes = _parse_levels(options.levels)
    dataset = read(options.input, options.labels, options.directed, options.header)
    if options.output == "":
        raise InputError("output", "is empty", "name a directory")
    output = None if options.output is None else Path(options.output)
    if output is not None:
        _check_output(output, options.force)
    keywords = {name: getattr(options, name) for name in _PASSED_ON if hasattr(options, name)}
    keywords.setdefault("affinity", dataset.affinity)
    line = None if options.quiet else ProgressLine(sys.stderr)
    progress = None if line is None else line.update
    try:
        data = directed_graph(dataset.data, progress=progress) if options.directed else dataset.data
        h = hierarchy(data, sizes, progress=progress, **keywords)
    finally:
        if line is not None:
            line.clear()
    scores = [] if dataset.labels is None else score_levels(h, dataset.labels)
    if output is not None:
        asked = {"input": options.input, "levels": sizes, "directed": options.directed, **keywords}
        asked |= {} if options.header is None else {"header": options.header}
        _write(output, h, dataset, scores, asked)
    if not options.quiet:
        print("\n".join(summarize(h, dataset.labels, scores, dataset.notes)))
        if output is not None:
            written = f"tree.json, labels.csv, memberships and report.json are in {printable(str(output))}"
            print(written, file=sys.stderr)


def _parse_levels(text: str) -> list[int] | str:
    if text == "auto":
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "levels", f"got {shown(text)}", "give whole numbers with commas, such as 100,20,10, or auto"
        ) from None


def _check_output(folder: Path, force: bool) -> None:
    """Make the folder. Refuse, before the long work, to overwrite files that graphsoft did not write."""
    if folder.exists() and not folder.is_dir():
        raise InputError("output", f"{str(folder)!r} is a file", "name a directory")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError("output", f"{str(folder)!r} cannot be written to", "name another directory")
    if force or _is_ours(folder):
        return
    names = {"report.json", "tree.json", "labels.csv"}
    there = sorted(
        path for path in folder.iterdir() if path.name in names or _MEMBERSHIPS.fullmatch(path.name)
    )
    if there:
        problem = f"{str(there[0])!r} is there and graphsoft did not write it"
        raise InputError("output", problem, "name another directory, or say --force")


def _is_ours(folder: Path) -> bool:
    """Tell by the report whether a run of this command filled the folder."""
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(report, dict) and report.get("program") == "graphsoft"


def _write(
    folder: Path, h: Hierarchy, dataset: Dataset, scores: list[dict[str, float]], asked: Mapping[str, Any]
) -> None:
    from graphsoft.formats.tables import labels_to_csv, memberships_to_npz
    from graphsoft.formats.tree_json import tree_to_json
    from graphsoft.storage.atomic import write_atomic

    report = {
        "program": "graphsoft",
        "version": installed_version(),
        "asked": asked,
        "read": dataset.notes,
        "scores": scores,
        "report": h.report,
    }
    text = json.dumps(plain(report), indent=2, allow_nan=False) + "\n"
    # first, because it marks the folder as graphsoft's own even if the run stops before all files are written
    write_atomic(folder / "report.json", lambda file: file.write(text.encode("utf-8")))
    tree_to_json(h.tree, folder / "tree.json")
    names = h.nodes if dataset.names is None else dataset.names
    labels_to_csv(names, [level.labels for level in h], [level.entropy for level in h], folder / "labels.csv")
    for index, level in enumerate(h):
        memberships_to_npz(level.memberships, folder / f"memberships-{index}.npz")
    for old in folder.iterdir():  # if an earlier run had more levels, its files do not belong to this tree
        match = _MEMBERSHIPS.fullmatch(old.name)
        if match and int(match[1]) >= len(h):
            old.unlink()


def plain(value: Any) -> Any:
    """Turn a report into types that JSON has; numbers that are not finite become null.

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
