"""Options that several commands share, and how their values are written on the command line.

Lists of names are written out here, because importing the library to ask for them takes longer than
``--help`` and the Tab key may. A test compares them with the library.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = [
    "FILE",
    "FORMATS",
    "METHODS",
    "METRICS",
    "NAMES",
    "WEIGHTS",
    "Levels",
    "Titles",
    "as_json",
    "example",
    "fitting",
    "joining",
    "output",
    "reading",
]

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("csv", "tsv", "parquet", "npy", "npz", "h5ad", "mtx", "edges", "edgelist", "txt", "graphml")
METRICS = (
    "euclidean", "cosine", "correlation", "manhattan", "chebyshev", "canberra", "braycurtis", "hamming",
)  # fmt: skip
WEIGHTS = ("local-scaling", "gaussian", "connectivity", "jaccard", "relative")
METHODS = (
    "baum-eagon", "complete-linkage", "cp", "gaussian-mixture", "gnmf", "k-means",
    "kernel-k-means", "nmf", "normalized-cut", "regularized-nmf", "relation",
    "relation-beta", "relation-frobenius", "single-linkage", "sof", "spectral",
    "spherical-k-means", "symnmf", "ward",
)  # fmt: skip
# How the user wrote what the library calls by another name.
NAMES = {
    "path": "input",
    "X": "input",
    "n_neighbors": "--neighbors",
    "k": "--clusters",
    **{
        name: "--" + name.replace("_", "-")
        for name in (
            "output", "save", "levels", "level", "labels", "texts", "header", "columns", "drop", "obsm",
            "obsp", "format", "scale", "metric", "weights", "affinity", "method", "min_children",
            "max_children", "time_limit", "checkpoint", "names", "of", "data", "directory", "workers",
            "scheduler", "max_memory", "partitions", "part", "max_bytes",
        )
    },
}  # fmt: skip


class Levels(click.ParamType):  # type: ignore[type-arg]
    """Falling numbers with commas, or ``auto``."""

    name = "levels"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Make a list of the numbers."""
        if not isinstance(value, str) or value == "auto":
            return value
        try:
            return [int(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"{_cut(value)} is neither auto nor whole numbers with commas, such as 100,20,10.")

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Say what to write where the option is missing."""
        return "Write numbers of clusters, such as 100,20,10, or auto."


class Titles(click.ParamType):  # type: ignore[type-arg]
    """Titles of columns with commas; a title that holds a comma stands in quotes."""

    name = "titles"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Make a list of the titles."""
        if not isinstance(value, str):
            return value
        try:
            titles = next(csv.reader([value], skipinitialspace=True), [])
        except csv.Error:
            self.fail(f"{_cut(value)} holds a line break outside quotes.")
        if not titles:
            self.fail("there is no title")
        return titles


def _cut(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:37] + "...")


def _all(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Put several options in one, in the order in which the help lists them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def example(command: str) -> str:
    """Make an example the end of a command's help; a test runs all examples, in the order of the commands."""
    return f"\b\nExample:\n  {command}"


FILE = click.Path(allow_dash=True, readable=False)  # whether it can be read is found out by reading

# What is read, and how.
reading = _all(
    click.argument("input", type=FILE),
    click.option(
        "--format",
        "kind",
        type=click.Choice(FORMATS),
        help="what the standard input holds, if it is - (csv)",
    ),
    click.option(
        "--header/--no-header", default=None, help="whether the first line of a table has titles (found out)"
    ),
    click.option("--columns", type=Titles(), metavar="A,B,...", help="the columns that are features (all)"),
    click.option("--drop", type=Titles(), metavar="A,B,...", help="columns that are not features"),
    click.option("--obsm", metavar="KEY", help="of an h5ad file, the table to read, such as X_pca"),
    click.option("--obsp", metavar="KEY", help="of an h5ad file, the graph to read, such as connectivities"),
    click.option("--max-bytes", metavar="SIZE", help="what the content may have (100 times the file's size)"),
)

# How points become a graph.
joining = _all(
    click.option("--directed", is_flag=True, help="edges have a direction: cluster their flow"),
    click.option(
        "--scale",
        type=click.Choice(["standardize", "none"]),
        help="divide columns by their standard deviations, or leave them without a warning",
    ),
    click.option("--neighbors", "n_neighbors", type=int, metavar="K", help="neighbors of a point (10)"),
    click.option("--metric", type=click.Choice(METRICS), help="distance between points (euclidean)"),
    click.option(
        "--weights", type=click.Choice(WEIGHTS), help="how distances become weights (local-scaling)"
    ),
    click.option(
        "--affinity",
        type=click.Choice(["auto", "features", "precomputed"]),
        help="whether the input is points or a graph (auto)",
    ),
)

labels = click.option(
    "--labels", metavar="NAME", help="known classes, only for scores: a column, array or node attribute"
)
as_json = click.option("--json", "as_json", is_flag=True, help="print JSON in place of tables")
quiet = click.option("--quiet", is_flag=True, help="no progress, no tables")
save = click.option(
    "--save", type=FILE, metavar="FILE", help="write the model here; the name ends in .graphsoft"
)

fitting = _all(labels, joining, save)
output = _all(as_json, quiet)

# Who works in a directory.
working = _all(
    click.option("--workers", type=click.IntRange(1), metavar="N", help="so many processes of this machine"),
    click.option("--scheduler", metavar="ADDRESS", help="the scheduler of a Dask cluster that is there"),
    click.option("--max-memory", metavar="SIZE", help="what a process may take, such as 2GB (what is free)"),
)
