"""The command that finds a hierarchy beyond memory, in a directory: run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from logging import CRITICAL
from pathlib import Path
from typing import Any

import click

from graphsoft.cli import options as shared
from graphsoft.cli.options import FILE, METRICS, WEIGHTS, Levels, Titles, example
from graphsoft.cli.terminal import say, show
from graphsoft.errors import InputError, imported
from graphsoft.version import installed_version

__all__ = ["run", "started_client"]

# What the library takes under the same name, if the user said it.
PASSED = (
    "n_neighbors", "metric", "weights", "min_children", "max_children", "max_memory", "partitions",
    "time_limit",
)  # fmt: skip


@click.command(epilog=example("graphsoft run iris.npz --edges --levels 12,3 --directory iris-run"))
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option(
    "--levels", required=True, type=Levels(), metavar="M,M,...",
    help="falling numbers of clusters, such as 100,20,10",
)  # fmt: skip
@click.option(
    "--directory", required=True, type=FILE, metavar="DIR",
    help="where the run keeps its files, and then its result; the same command again takes it up",
)  # fmt: skip
@click.option("--edges", is_flag=True, help="the files hold the edges of a graph")
@click.option("--columns", type=Titles(), metavar="A,B,...", help="of tables, the columns to read")
@click.option("--drop", type=Titles(), metavar="A,B,...", help="of tables, the columns to leave out")
@click.option("--part", metavar="PART", help="of h5ad and zarr, what to read, such as obsm/X_pca (X)")
@shared.working
@click.option(
    "--partitions", type=int, metavar="P", help="in how many parts the points are dealt (found out)"
)
@click.option("--neighbors", "n_neighbors", type=int, metavar="K", help="neighbors of a point (10)")
@click.option("--metric", type=click.Choice(METRICS), help="distance between points (euclidean)")
@click.option("--weights", type=click.Choice(WEIGHTS), help="how distances become weights (local-scaling)")
@click.option("--min-children", type=int, metavar="M", help="fewest clusters under each of the next level")
@click.option("--max-children", type=int, metavar="M", help="most clusters under each of the next level")
@click.option("--time-limit", type=float, metavar="SECONDS", help="stop then; the same command goes on")
@click.option(
    "-o", "--output", type=FILE, metavar="FOLDER",
    help="write explorer.html, tree.json, labels and report.json here",
)  # fmt: skip
@shared.output
@click.option("--force", is_flag=True, help="overwrite what graphsoft did not write")
def run(**options: Any) -> None:
    """Find a hierarchy of points or of a graph that may be larger than memory.

    FILES are parts of one table, in their order: npy, parquet, h5ad or zarr; or, with --edges, parts of one
    list of edges: parquet, npz, csv or text. A folder stands for all files in it.

    Without --workers and --scheduler all is done in this process.
    """
    from graphsoft.cli.stored import stored_facts, summarize_stored, write_stored
    from graphsoft.cli.writing import check_folder, show_json
    from graphsoft.levels import hierarchy
    from graphsoft.progress import watched

    folder = check_folder(options["output"], options["force"])
    data = _data(options)
    keywords = {name: options[name] for name in PASSED if options[name] is not None}
    with started_client(options) as client, watched(not options["quiet"], "run", ()) as progress:
        h: Any = hierarchy(
            data, options["levels"], directory=options["directory"], client=client, progress=progress,
            **keywords,
        )  # fmt: skip
    if folder is not None:
        asked = {"files": list(options["files"]), "levels": options["levels"], **keywords}
        report = {
            "program": "graphsoft", "version": installed_version(), "asked": asked, "report": h.report,
        }  # fmt: skip
        write_stored(folder, h, report, Path(options["directory"]).name)
    if options["as_json"]:
        show_json(stored_facts(h))
    elif not options["quiet"]:
        show(summarize_stored(h))
        say(f"memberships and labels of all points are in {options['directory']}")


def _data(options: dict[str, Any]) -> Any:
    """Describe the files, of which hardly anything is read yet."""
    files = list(options["files"])
    paths = files[0] if len(files) == 1 else files
    if "-" in files:
        remedy = "name files, which can be read again and by several processes"
        raise InputError("files", "the standard input cannot be read in parts", remedy)
    columns, drop, part = options["columns"], options["drop"], options["part"]
    if options["edges"]:
        from graphsoft.distributed.edge_files import partitioned_graph

        for name, value in (("drop", drop), ("part", part)):
            if value is not None:
                raise InputError(name, "is of no use for edges", "leave it out")
        return partitioned_graph(paths, columns=columns)
    from graphsoft.distributed.row_files import rows_in_files

    return rows_in_files(paths, columns=columns, drop=drop, part=part)


# Ctrl-C in a terminal reaches all processes. Workers leave it to this one, which ends them.
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@contextmanager
def started_client(options: Mapping[str, Any]) -> Iterator[Any]:
    """Start workers on this machine, or join a cluster; they are left as they were found."""
    workers, address = options["workers"], options["scheduler"]
    if workers is None and address is None:
        yield None
        return
    if workers is not None and address is not None:
        problem = "are started on this machine, and --scheduler names a cluster that has its own"
        raise InputError("workers", problem, "say one of the two")
    dask = imported("distributed", "--workers" if address is None else "--scheduler", "'graphsoft[dask]'")
    if address is not None:
        with dask.Client(address, set_as_default=False) as client:
            yield client
        return
    with (
        # any free port: another cluster of this machine may have the usual one
        dask.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=CRITICAL,
            memory_limit="auto" if options["max_memory"] is None else _bytes(options["max_memory"]),
            preload=DEAF,
        ) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        if not options["quiet"]:
            say(f"dashboard: {cluster.dashboard_link}")
        yield client


def _bytes(size: str) -> int:
    """Read a number of bytes, as the library reads it."""
    from graphsoft.distributed.planning import memory_of

    return memory_of(size, None)
