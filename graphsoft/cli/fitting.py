"""The commands that read data and look for clusters: hierarchy, cluster, graph, suggest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from graphsoft.cli import options as shared
from graphsoft.cli.options import FILE, METHODS, Levels, example
from graphsoft.cli.terminal import say, show
from graphsoft.version import installed_version

__all__ = ["cluster", "graph", "hierarchy", "suggest"]

method = click.option(
    "--method", type=click.Choice(METHODS), metavar="NAME", help="clustering method (relation)"
)


@click.command(
    epilog=example(
        "graphsoft hierarchy data/penguins.csv --levels 20,6,3 --labels species --save penguins.graphsoft"
    )
)
@shared.reading
@click.option(
    "--levels", required=True, type=Levels(), metavar="M,M,...",
    help="falling numbers of clusters, such as 100,20,10, or auto",
)  # fmt: skip
@click.option(
    "-o", "--output", type=FILE, metavar="DIR",
    help="write explorer.html, tree.json, labels.csv, memberships and report.json here",
)  # fmt: skip
@shared.fitting
@method
@click.option(
    "--polish/--no-polish", default=None, help="find and refine every level on the graph of the points"
)
@click.option("--min-children", type=int, metavar="M", help="fewest clusters under each of the next level")
@click.option("--max-children", type=int, metavar="M", help="most clusters under each of the next level")
@click.option("--time-limit", type=float, metavar="S", help="seconds after which nothing more is refined")
@click.option("--checkpoint", metavar="DIR", help="keep steps in DIR, so that the same command goes on there")
@shared.output
@click.option("--force", is_flag=True, help="overwrite what graphsoft did not write")
def hierarchy(**options: Any) -> None:
    """Find a hierarchy of soft clusters."""
    from graphsoft.cli.given import as_given
    from graphsoft.cli.summary import hierarchy_facts, score_levels, summarize
    from graphsoft.cli.writing import check_folder, check_model, show_json, write_folder
    from graphsoft.levels import hierarchy as found_in
    from graphsoft.progress import watched

    folder = check_folder(options["output"], options["force"])
    check_model(options["save"])
    stages = ("reading", "neighbors", "coarsening", "dividing", "polishing", "refining", "writing")
    with watched(not options["quiet"], "hierarchy", stages) as progress:
        given = as_given(options, progress)
        names = ("method", "polish", "min_children", "max_children", "time_limit", "checkpoint")
        chosen = {name: options[name] for name in names}
        keywords = given.keywords | {name: value for name, value in chosen.items() if value is not None}
        h = given.described(found_in(given.data, options["levels"], progress=progress, **keywords))
        known = given.dataset.labels
        scores = [] if known is None else score_levels(h, known)
        if options["save"] is not None:
            h.save(options["save"])
        if folder is not None:
            asked = _asked(options) | keywords
            report = {
                "program": "graphsoft", "version": installed_version(), "asked": asked,
                "read": given.dataset.notes, "scores": scores, "report": h.report,
            }  # fmt: skip
            write_folder(folder, h, report, known, Path(options["input"]).stem)
    if options["as_json"]:
        show_json(hierarchy_facts(h, known, scores, given.dataset.notes))
    elif not options["quiet"]:
        show(summarize(h, known, scores, given.dataset.notes))
    if folder is not None and not options["quiet"]:
        say(f"explorer.html, tree.json, labels.csv, memberships and report.json are in {options['output']}")


@click.command(epilog=example("graphsoft cluster data/iris.csv -k 3 --labels label --save iris.graphsoft"))
@shared.reading
@click.option("-k", "--clusters", "k", required=True, type=int, metavar="K", help="how many clusters")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="write the labels to this csv file")
@shared.fitting
@method
@shared.output
def cluster(**options: Any) -> None:
    """Find one flat clustering, by any method."""
    from graphsoft.cli.given import as_given
    from graphsoft.cli.summary import clustering_facts, score_labels, summarize_clustering
    from graphsoft.cli.writing import check_file, check_model, show_json
    from graphsoft.clustering import cluster as found_in
    from graphsoft.formats.frames import columns_to_csv
    from graphsoft.formats.tables import point_columns
    from graphsoft.progress import watched

    check_file(options["output"], options["input"])
    check_model(options["save"])
    stages = ("reading", "neighbors", "coarsening", "dividing", "refining", "writing")
    with watched(not options["quiet"], "cluster", stages) as progress:
        given = as_given(options, progress)
        named = {} if options["method"] is None else {"method": options["method"]}
        found = found_in(given.data, options["k"], progress=progress, **given.keywords, **named)
        found = given.described_clustering(found)
        if options["save"] is not None:
            found.save(options["save"])
        if options["output"] is not None:
            columns_to_csv(point_columns(found.nodes, [found]), options["output"])
    known = given.dataset.labels
    scores = None if known is None else score_labels(found.labels, known)
    if options["as_json"]:
        show_json(clustering_facts(found, known, scores, given.dataset.notes))
    elif not options["quiet"]:
        show(summarize_clustering(found, known, scores, given.dataset.notes))


@click.command(epilog=example("graphsoft graph data/iris.csv --drop label --neighbors 7 -o iris.npz"))
@shared.reading
@click.option(
    "-o", "--output", type=FILE, metavar="FILE",
    help="write it to this npz, mtx, edges, graphml or graphsoft file",
)  # fmt: skip
@shared.joining
@shared.output
def graph(**options: Any) -> None:
    """Join points to their nearest neighbors, or check a graph."""
    from graphsoft.cli.facts import graph_facts, summarize_facts
    from graphsoft.cli.given import as_given, named
    from graphsoft.cli.writing import check_file, show_json
    from graphsoft.formats.graph_files import check_ending, graph_to_file
    from graphsoft.graph.reading import as_graph
    from graphsoft.progress import watched

    check_file(options["output"], options["input"])
    if options["output"] is not None:
        check_ending(options["output"])
    with watched(not options["quiet"], "graph", ("reading", "neighbors", "writing")) as progress:
        given = as_given(options, progress)
        made = named(as_graph(given.data, progress=progress, **given.keywords), given.dataset)
        if options["output"] is not None:
            graph_to_file(made, options["output"])
    facts = graph_facts(made, given.dataset.notes)
    if options["as_json"]:
        show_json(facts)
    elif not options["quiet"]:
        show(summarize_facts(facts))


@click.command(epilog=example("graphsoft suggest data/iris.csv --drop label"))
@shared.reading
@shared.joining
@shared.output
def suggest(**options: Any) -> None:
    """Suggest how many clusters there are."""
    from dataclasses import asdict

    from graphsoft.cli.given import as_given
    from graphsoft.cli.writing import show_json
    from graphsoft.progress import watched
    from graphsoft.suggestion import suggest_levels

    stages = ("reading", "neighbors", "coarsening", "counting clusters")
    with watched(not options["quiet"], "suggest", stages) as progress:
        given = as_given(options, progress)
        found = suggest_levels(given.data, progress=progress, **given.keywords)
    if options["as_json"]:
        show_json({"clusters": found.clusters, "sure": found.sure, **asdict(found)})
    elif not options["quiet"]:
        show(str(found).splitlines())


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """Choose the options for the report: those about the data that the user gave."""
    always = {"input": options["input"], "levels": options["levels"], "directed": options["directed"]}
    perhaps = ("kind", "header", "columns", "drop", "obsm", "obsp", "scale")
    return always | {name: options[name] for name in perhaps if options[name] is not None}
