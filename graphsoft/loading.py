"""The public function `load`: what was saved, as it was."""

from __future__ import annotations

import os
from typing import Any

from graphsoft.distributed.summary import PREDICTIONS
from graphsoft.errors import InputError, shown
from graphsoft.fitting.saving import unpack_report, unpack_settings
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph, unpack_graph
from graphsoft.graph.saving import unpack_features
from graphsoft.methods import Clustering
from graphsoft.methods.interface import unpack_clustering
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.intact import check_described, check_features
from graphsoft.result.naming import checked_cluster_names
from graphsoft.result.saving import unpack_levels
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_points import StoredPoints
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.container import DAMAGED, UNSOUND, Container, cause_of, read_container
from graphsoft.storage.packing import Unpacker

__all__ = ["load"]

KINDS = ("hierarchy", "clustering", "graph")


def load(
    path: PathLike, *, neighbors: Any = None
) -> Hierarchy | StoredHierarchy | StoredPoints | Clustering | Graph:
    """Read what `save` of a hierarchy, a clustering or a graph wrote, or open the directory of a run.

    Large arrays stay in the file and are mapped into memory. So do not write into the file while you use the
    result; `save` may replace it at any time. The whole file is read once, to compare its digest.

    Parameters
    ----------
    path : path-like
        A file, or the directory of a hierarchy beyond memory, or of new points in one.
    neighbors : object, optional
        The search for neighbors that the hierarchy was made with, fitted as it was then. It is needed if
        there was one, because a file holds no objects of others.

    Returns
    -------
    Hierarchy, StoredHierarchy, StoredPoints, Clustering or Graph
        It answers as the one that was saved, to the last bit.

    Raises
    ------
    InputError
        If the file was not written by graphsoft, is damaged, or is of a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import graphsoft
    >>> h = graphsoft.hierarchy([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], levels=[2], n_neighbors=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.graphsoft")
    ...     h.save(path)
    ...     graphsoft.load(path).predict([[0.3], [5.3]]).tolist()
    [0, 1]
    """
    if isinstance(path, str | os.PathLike) and os.path.isdir(path):
        if neighbors is not None:
            raise InputError("neighbors", f"got {shown(neighbors)}, but this is a directory", "leave it out")
        if os.path.isfile(os.path.join(path, PREDICTIONS)):
            return StoredPoints.open(path)
        return StoredHierarchy.open(path)
    container = read_container(path)
    if container.kind not in KINDS:
        problem = f"{str(path)!r} holds a {shown(container.kind)}, which this version does not know"
        raise InputError("path", problem, "install the version of graphsoft that made it")
    if neighbors is not None and container.kind != "hierarchy":
        problem = f"got {shown(neighbors)}, but the file holds a {container.kind}"
        raise InputError("neighbors", problem, "leave it out")
    try:
        return _unpacked(container, neighbors)
    except UNSOUND as error:
        if isinstance(error, InputError) and error.argument == "neighbors":
            raise
        holds = f"of graphsoft {container.made_by[:20]!r} holds no sound model: {cause_of(error)}"
        raise InputError("path", f"{str(path)!r} {holds}", DAMAGED) from error


def _unpacked(container: Container, neighbors: Any) -> Hierarchy | Clustering | Graph:
    content, unpacker = container.content, Unpacker(container.arrays)
    if container.kind == "graph":
        return unpack_graph(content, unpacker)
    if container.kind == "clustering":
        return unpack_clustering(content, unpacker)
    graph = unpack_graph(content["graph"], unpacker)
    report, settings = unpack_report(content["report"]), unpack_settings(content["settings"])
    levels = unpack_levels(content["levels"], content["degrees"], report, unpacker)
    check_described(levels, report, settings)
    features = unpack_features(content["features"], unpacker, neighbors)
    if len(levels[0].degrees) != len(graph):
        raise ValueError("levels of another graph")
    names = checked_cluster_names(content["cluster_names"], [len(level.mass) for level in levels])
    if isinstance(features, Features):
        check_features(features, settings, len(graph))
    return Hierarchy(levels, graph, report, settings, features, names)
