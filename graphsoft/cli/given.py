"""From what was asked for on the command line to data, and from results to results with names."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsoft.cli.scaling import Scaling, warn_of_spreads
from graphsoft.datasets import Dataset, read
from graphsoft.errors import InputError
from graphsoft.graph.features import Features

if TYPE_CHECKING:
    from graphsoft.aliases import Progress
    from graphsoft.graph.graph import Graph
    from graphsoft.methods import Clustering
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["Given", "as_given", "named", "opened", "read_file", "seems_a_model"]

# What `read` takes of the options.
READ = ("labels", "directed", "header", "columns", "drop", "obsm", "obsp", "max_bytes")
# What public functions take of them, if the user said it.
JOINING = ("n_neighbors", "metric", "weights", "affinity")
# What of an h5ad file is read in place of X.
PARTS = ("obsm", "obsp")
# Of these metrics all but this one are decided by the columns that spread most.
BY_VALUES = "hamming"


@dataclass(frozen=True)
class Given:
    """What was read, and how it is to be clustered.

    Attributes
    ----------
    dataset : Dataset
        As the file has it.
    data : object
        For the library: perhaps scaled, or the flow of a graph with directions.
    keywords : dict
        For the library.
    scaling : Scaling or None
    part : str
        What was read of an h5ad file, as in `Report`.
    """

    dataset: Dataset
    data: Any
    keywords: dict[str, Any]
    scaling: Scaling | None = None
    part: str = ""

    def described(self, h: Hierarchy) -> Hierarchy:
        """Give a hierarchy the names of points and columns, and how to read new points."""
        features, columns, scaling = h.features, self.dataset.columns, self.scaling
        if isinstance(features, Features) and columns is not None:
            features = replace(features, columns=columns)
        pairs = () if scaling is None else tuple(zip(scaling.means, scaling.deviations, strict=True))
        report = replace(h.report, scaling=pairs, part=self.part)
        return replace(h, graph=named(h.graph, self.dataset), features=features, report=report)

    def described_clustering(self, found: Clustering) -> Clustering:
        """Give a clustering the names of the points."""
        names = self.dataset.names
        return found if names is None else replace(found, nodes=names)


def as_given(options: Mapping[str, Any], progress: Progress | None) -> Given:
    """Read the input, and make it ready to be clustered."""
    dataset = read_file(options, progress)
    keywords = {name: options[name] for name in JOINING if options.get(name) is not None}
    keywords.setdefault("affinity", dataset.affinity)
    data, scaling = dataset.data, None
    if options["directed"]:
        from graphsoft.graph.directed import directed_graph

        data = directed_graph(data, progress=progress)
    if options["scale"] == "standardize":
        scaling = Scaling.of(data)
        data = scaling.applied(data)
    elif options["scale"] is None and dataset.columns is not None and options.get("metric") != BY_VALUES:
        warn_of_spreads(dataset.columns, data)
    part = next((f"{name}/{options[name]}" for name in PARTS if options[name] is not None), "")
    return Given(dataset, data, keywords, scaling, part)


def read_file(options: Mapping[str, Any], progress: Progress | None = None, **others: Any) -> Dataset:
    """Read what the options say; `others` replace some of them."""
    if os.path.isdir(options["input"]):
        remedy = "name one file; graphsoft run, and graphsoft predict with --directory, read folders"
        raise InputError("path", f"{options['input']!r} is no file, but a folder", remedy)
    asked: dict[str, Any] = {name: options[name] for name in READ if options.get(name) is not None}
    if progress is not None:
        progress("reading", 0, 1)
    with opened(options["input"], options["kind"]) as path:
        dataset = read(path, **asked | others)
    if progress is not None:
        progress("reading", 1, 1)
    return dataset


@contextmanager
def opened(name: str, kind: str | None) -> Iterator[Path]:
    """Yield the path of a file, or of a copy of the standard input if the name is ``-``."""
    if name != "-":
        if kind is not None:
            raise InputError("format", "is for the standard input", "leave it out, or write - for the input")
        yield Path(name)
        return
    if sys.stdin is None:  # closed by the shell
        raise InputError("input", "the standard input is closed", "pipe a file into it")
    # readers of some formats jump back and forth, which cannot be done in a pipe
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, f"stdin.{kind or 'csv'}")
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield path


def named(graph: Graph, dataset: Dataset) -> Graph:
    """Give a graph the names of the points that were read, if they have names that are different."""
    names = dataset.names
    return graph if names is None or len(set(names)) < len(names) else replace(graph, nodes=names)


def seems_a_model(name: str) -> bool:
    """Tell by its name whether a file was saved by graphsoft."""
    return name.lower().endswith(".graphsoft")
