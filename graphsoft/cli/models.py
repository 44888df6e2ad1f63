"""The commands that look at what was saved: predict, describe, compare, convert, explore, info."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphsoft.cli import options as shared
from graphsoft.cli.options import FILE, example
from graphsoft.cli.terminal import printable, say, show
from graphsoft.errors import InputError

if TYPE_CHECKING:
    from graphsoft.datasets import Dataset
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["compare", "convert", "describe", "explore", "info", "predict"]

PENGUINS = "penguins.graphsoft"  # which the first example of the help saves


@click.command(epilog=example(f"graphsoft predict {PENGUINS} data/penguins.csv -o predicted.csv"))
@click.argument("model", type=FILE)
@shared.reading
@click.option(
    "--directory", type=FILE, metavar="DIR",
    help="for files larger than memory: where the answers are kept; the same command again takes it up",
)  # fmt: skip
@shared.working
@click.option("-o", "--output", type=FILE, metavar="FILE", help="write to this csv file")
@shared.output
def predict(**options: Any) -> None:
    """Put new points into the clusters of a saved hierarchy.

    They are read as the points of the model were: the same columns by their titles, in the same order, and
    scaled in the same way. Other columns are left out. Of an h5ad file the same part is read.

    With --directory MODEL is the directory of a run, and INPUT may be larger than memory: a file or a folder
    of npy, parquet, h5ad or zarr.
    """
    from graphsoft.cli.writing import check_file

    check_file(options["output"], options["input"])
    (_predict_here if options["directory"] is None else _predict_in_directory)(options)


def _predict_here(options: Mapping[str, Any]) -> None:
    from graphsoft.cli.placing import placed
    from graphsoft.cli.writing import show_json
    from graphsoft.formats.frames import columns_to_csv, write_columns
    from graphsoft.formats.tables import point_columns
    from graphsoft.progress import watched

    for name in ("workers", "scheduler", "max_memory"):
        if options[name] is not None:
            raise InputError(name, "has no meaning without --directory", "name a directory, or leave it out")
    with watched(not options["quiet"], "predict", ("reading", "neighbors")) as progress:
        h = _hierarchy_or_stored(options["model"])
        found = placed(h, options, progress)
    if options["output"] is not None:
        columns_to_csv(point_columns(found.names, found.levels, h.cluster_names), options["output"])
    if options["as_json"]:
        show_json(found.facts())
    elif options["output"] is None and not options["quiet"]:
        names, called = found.names, h.cluster_names
        if sys.stdout.isatty():  # which has to be guarded from what names hold: a pipe gets them as they are
            names = [printable(str(name)) for name in names]
            called = {id: printable(name) for id, name in called.items()}
        write_columns(point_columns(names, found.levels, called), sys.stdout)


def _predict_in_directory(options: Mapping[str, Any]) -> None:
    from graphsoft.cli.placing import rows_alike
    from graphsoft.cli.running import started_client
    from graphsoft.cli.stored import placed_facts, summarize_placed
    from graphsoft.cli.writing import show_json
    from graphsoft.progress import watched

    h = _stored(options["model"])
    rows = rows_alike(h, options)
    kept = {"directory": options["directory"], "max_memory": options["max_memory"]}
    with started_client(options) as client, watched(not options["quiet"], "predict", ()) as progress:
        found = h.transform(rows, client=client, progress=progress, **kept)
    if options["output"] is not None:
        found.to_csv(options["output"])
    if options["as_json"]:
        show_json(placed_facts(found))
    elif not options["quiet"]:
        show(summarize_placed(found))
        say(f"memberships and labels of all points are in {options['directory']}")


@click.command(epilog=example(f"graphsoft describe {PENGUINS} --level 1"))
@click.argument("model", type=FILE)
@click.option("--level", type=int, default=-1, help="0 is the finest, -1 the coarsest (-1)")
@shared.as_json
def describe(model: str, level: int, as_json: bool) -> None:
    """Describe the clusters of a level of a saved hierarchy."""
    from graphsoft.cli.writing import show_json

    found = _hierarchy(model).describe(level)
    if as_json:
        show_json({"level": found.level, "clusters": found.clusters})
    else:
        show(str(found).splitlines())


@click.command(epilog=example(f"graphsoft compare {PENGUINS} data/penguins.csv --labels species"))
@click.argument("model", type=FILE)
@click.argument("other", type=FILE)
@click.option("--labels", metavar="NAME", help="the labels in OTHER, if it is no model")
@click.option("--format", "kind", type=click.Choice(shared.FORMATS), help="what - holds (csv)")
@click.option("--header/--no-header", default=None, help="whether the first line of a table has titles")
@shared.as_json
def compare(model: str, other: str, as_json: bool, **options: Any) -> None:
    """Compare a saved hierarchy with other clusters.

    OTHER is another model, or a file with labels. Points are matched by their names if both have names, else
    by their order.
    """
    from graphsoft.cli.given import seems_a_model
    from graphsoft.cli.writing import show_json

    h = _hierarchy(model)
    found = h.compare(_model(other) if seems_a_model(other) else _labels(h, other, options))
    if as_json:
        names = "adjusted_rand", "nmi", "nearest", "matches"
        show_json({name: getattr(found, name) for name in names})
    else:
        show(str(found).splitlines())


@click.command(epilog=example(f"graphsoft convert {PENGUINS} penguins.json"))
@click.argument("source", type=FILE)
@click.argument("target", type=FILE)
@click.option("--names", type=FILE, metavar="FILE", help="names of clusters, as the page saves them")
@click.option("--of", type=click.Choice(("tree", "points", "clusters")), help="what of a hierarchy to write")
def convert(source: str, target: str, names: str | None, of: str | None) -> None:
    """Write a model or a graph in another format.

    The ending of TARGET says which one.

    \b
    a hierarchy:   .json, .nwk (its tree), .graphml, .gexf (its tree, or its points), .csv, .parquet
                   (its points, or its clusters), .graphsoft (all of it)
    a clustering:  .csv (labels)
    a graph:       .npz, .mtx, .edges, .graphml, .graphsoft
    """  # noqa: D301 - click reads the backspace
    from graphsoft.cli.converting import convert_file
    from graphsoft.cli.writing import check_file

    check_file(target, source)
    convert_file(source, target, names, of)


@click.command(epilog=example(f"graphsoft explore {PENGUINS} -o penguins.html"))
@click.argument("model", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="the HTML file to write")
@click.option("--title", help="what the page is called (the name of the model)")
@click.option("--data", type=FILE, metavar="FILE", help="a table of the same points, for labels and texts")
@click.option("--labels", metavar="NAME", help="known classes of the points: a column of the table")
@click.option("--texts", metavar="NAME", help="what is read of a point: a column of the table")
def explore(model: str, output: str, title: str | None, **options: Any) -> None:
    """Write one HTML page that shows a saved hierarchy, and opens without a network."""
    from graphsoft.cli.writing import check_file

    check_file(output, model)
    h = _hierarchy_or_stored(model)
    known = {name: _column(h, options["data"], name, options[name]) for name in ("labels", "texts")}
    h.explore(output, title=Path(model).stem if title is None else title, **known)


@click.command(epilog=example(f"graphsoft info {PENGUINS}"))
@shared.reading
@click.option("--labels", metavar="NAME", help="known classes: a column, array or node attribute")
@shared.as_json
def info(as_json: bool, **options: Any) -> None:
    """Tell what a model or a file of data holds, or how far a run in a directory is."""
    from graphsoft.cli.facts import dataset_facts, model_facts, run_facts, summarize_facts
    from graphsoft.cli.given import read_file, seems_a_model
    from graphsoft.cli.writing import show_json
    from graphsoft.storage.container import read_container

    name = options["input"]
    if os.path.isdir(name):
        facts = run_facts(name)
    elif seems_a_model(name):
        facts = {**model_facts(_model(name)), "made by": f"graphsoft {read_container(name).made_by}"}
    else:
        facts = dataset_facts(read_file(options))
    if as_json:
        show_json(facts)
    else:
        show(summarize_facts(facts))


def _model(name: str) -> Any:
    from graphsoft.loading import load

    return load(name)


def _hierarchy_or_stored(name: str) -> Hierarchy | StoredHierarchy:
    return _stored(name) if os.path.isdir(name) else _hierarchy(name)


def _stored(name: str) -> StoredHierarchy:
    from graphsoft.result.stored import StoredHierarchy

    try:
        return StoredHierarchy.open(name)
    except InputError as error:  # of the model, while --directory may be that of the answers
        raise InputError("path", error.problem, error.remedy) from error


def _hierarchy(name: str) -> Hierarchy:
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.stored import StoredHierarchy

    found = _model(name)
    if isinstance(found, StoredHierarchy):
        problem = f"{name!r} is a hierarchy on disk, which is not looked at as a whole"
        remedy = "use graphsoft info or explore, or graphsoft convert with --of clusters, which makes a table"
        raise InputError("model", problem, remedy)
    if not isinstance(found, Hierarchy):
        problem = f"{name!r} holds a {type(found).__name__.lower()}, not a hierarchy"
        raise InputError("model", problem, "give a file that graphsoft hierarchy --save wrote")
    return found


def _column(h: Hierarchy | StoredHierarchy, table: str | None, argument: str, title: str | None) -> Any:
    """Read one column of a table with a row for each point, in their order or with their names."""
    if title is None:
        return None
    if table is None:
        raise InputError(argument, "are in no table", "name it with --data")
    try:
        found = _labels(h, table, {"labels": title, "kind": None})
    except InputError as error:
        name = {"labels": argument, "path": "data", "other": "data"}.get(error.argument, error.argument)
        raise InputError(name, error.problem, error.remedy) from None
    if not isinstance(found, dict):
        return found
    if found.keys().isdisjoint(h.nodes):
        problem = f"{table!r} has other names than the model, such as {next(iter(found))!r}"
        raise InputError("data", problem, "give a table of the same points")
    return [found.get(name) for name in h.nodes]


def _labels(h: Hierarchy | StoredHierarchy, name: str, options: Mapping[str, Any]) -> Any:
    """Read labels of the points: by name if both sides have names, else in the order of the rows."""
    from graphsoft.cli.given import read_file
    from graphsoft.datasets.reading import has_columns

    if options["labels"] is None:
        raise InputError("labels", "are not named", "say which column, array or attribute they are")
    kind = f"stdin.{options['kind'] or 'csv'}" if name == "-" else name
    columns: list[str] | None = [] if has_columns(kind) else None  # no features are needed
    dataset: Dataset = read_file({**options, "input": name}, columns=columns)
    if dataset.names is None or h.nodes == range(len(h.nodes)):
        return dataset.labels
    if len(set(dataset.names)) < len(dataset.names):
        raise InputError("other", "has two points of the same name", "give each point a name of its own")
    return dict(zip(dataset.names, (dataset.labels if dataset.labels is not None else ()), strict=True))
