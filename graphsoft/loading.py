"""The public function `load`: what was saved, as it was."""

from __future__ import annotations

from typing import Any

from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.graph.saving import unpack_features, unpack_graph
from graphsoft.methods import Clustering
from graphsoft.methods.saving import unpack_clustering
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.intact import check_features
from graphsoft.result.naming import checked_cluster_names
from graphsoft.result.saving import unpack_levels, unpack_report, unpack_settings
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.container import DAMAGED, read_container
from graphsoft.storage.packing import Unpacker

__all__ = ["load"]

# What can go wrong with a description that somebody made by hand.
UNSOUND = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip


def load(path: PathLike, *, neighbors: Any = None) -> Hierarchy | Clustering | Graph:
    """Read what `save` of a hierarchy, a clustering or a graph wrote.

    Large arrays stay in the file and are mapped into memory, so leave the file where it is while you use the
    result. The whole file is read once, to compare its digest.

    Parameters
    ----------
    path : path-like
    neighbors : object, optional
        The search for neighbors that the hierarchy was made with, fitted as it was then. It is needed if
        there was one, because a file holds no objects of others.

    Returns
    -------
    Hierarchy, Clustering or Graph
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
    container = read_container(path)
    content, unpacker = container.content, Unpacker(container.arrays)
    try:
        match container.kind:
            case "hierarchy":
                return _hierarchy(content, unpacker, neighbors)
            case "clustering":
                return unpack_clustering(content, unpacker)
            case "graph":
                return unpack_graph(content, unpacker)
    except InputError as error:
        if error.argument == "neighbors":
            raise
        raise InputError("path", f"{str(path)!r} holds no sound model: {error.problem}", DAMAGED) from error
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise InputError("path", f"{str(path)!r} holds no sound model", DAMAGED) from error
    problem = f"{str(path)!r} holds a {container.kind[:20]}, which this version does not know"
    raise InputError("path", problem, "install the version of graphsoft that made it")


def _hierarchy(content: dict[str, Any], unpacker: Unpacker, neighbors: Any) -> Hierarchy:
    graph = unpack_graph(content["graph"], unpacker)
    report, settings = unpack_report(content["report"]), unpack_settings(content["settings"])
    levels = unpack_levels(content["levels"], report, unpacker)
    features = unpack_features(content["features"], unpacker, neighbors)
    if len(levels[0].degrees) != len(graph) or len(settings.levels) != len(levels):
        raise ValueError("levels of another graph")
    ids = {f"{number}-{cluster}" for number, level in enumerate(levels) for cluster in range(len(level.mass))}
    names = checked_cluster_names(content["cluster_names"], ids)
    found = Hierarchy(levels, graph, report, settings, features, names)
    if features is not None and len(features):
        check_features(features, settings, len(graph))
    return found
