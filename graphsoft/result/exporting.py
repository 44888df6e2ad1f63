"""Hierarchies in the forms of other programs: these functions are methods of `Hierarchy`, which `h` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.formats.frames import as_frame, columns_to_csv, columns_to_parquet
from graphsoft.formats.graphrag import community_columns
from graphsoft.formats.linkage import Linkage, linkage_of
from graphsoft.formats.naming import checked_names, distinct_texts, plain_name
from graphsoft.formats.networkx_graphs import points_to_networkx, tree_to_networkx, write_gexf, write_graphml
from graphsoft.formats.newick import tree_to_newick
from graphsoft.formats.tables import cluster_columns, point_columns
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.input.checks import choice, integer
from graphsoft.result.description import ClusterDescription, described
from graphsoft.result.distinctive import Distinctive
from graphsoft.result.intact import intact_graph
from graphsoft.result.steps import central_points
from graphsoft.storage.atomic import PathLike

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.stored import StoredHierarchy

__all__ = [
    "to_csv",
    "to_frame",
    "to_gexf",
    "to_graphml",
    "to_graphrag",
    "to_json",
    "to_linkage",
    "to_networkx",
    "to_newick",
    "to_parquet",
    "tree_columns",
]

POINTS, CLUSTERS, TREE = "points", "clusters", "tree"

Names = Mapping[str, str] | None


def to_json(
    h: Hierarchy,
    path: PathLike | None = None,
    *,
    names: Names = None,
    examples: int = 0,
    words: int | Sequence[Distinctive] = 0,
    points: bool = False,
) -> str | None:
    """Write the tree in the shape of d3-hierarchy; :func:`graphsoft.read_json` reads it.

    Parameters
    ----------
    path : path-like, optional
        Written whole or not at all; without it the text is returned.
    names : mapping of str to str, optional
        Names of some or all clusters, by id. By default those of ``h.cluster_names``.
    examples : int
        Write at most so many of the most central points of each cluster, by their names.
    words : int or sequence of Distinctive
        Write at most so many of the features that set each cluster apart, with their scores; or, for each
        level, what :meth:`distinctive` found, perhaps in another table.
    points : bool
        Write the points of each finest cluster, with their rows, names and memberships. The memberships of
        other levels follow from these and ``parents``.

    Returns
    -------
    str or None
        ``name, id, level, mass, size, children``, and ``parents`` with every parent's probability. On request
        ``examples`` ``[name, ...]``, ``words`` ``[{"word", "score"}, ...]`` and ``points``
        ``[{"row", "name", "p"}, ...]``.

    Examples
    --------
    >>> import json
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> top = json.loads(h.to_json(names={"1-0": "Paris"}, examples=1))
    >>> [(child["name"], child["size"], child["examples"]) for child in top["children"]][:2]
    [('Paris', 39, ['Valjean']), ('1-1', 17, ['Courfeyrac'])]
    """
    details: dict[str, dict[str, Any]] = {node.id: {} for node in h.tree.nodes}
    if integer("examples", examples, 0):
        for id, rows in _central(h, examples):
            details[id]["examples"] = [plain_name(h.nodes[row]) for row in rows]
    for found in _words(h, words):
        for id, scores in zip(found.ids, found.scores, strict=True):
            details[id]["words"] = [
                {"word": plain_name(word), "score": float(score)} for word, score in scores
            ]
    if points:
        columns = h._memberships(0).tocsc()
        for number, start in enumerate(columns.indptr[:-1].tolist()):
            entries = slice(start, columns.indptr[number + 1])
            details[f"0-{number}"]["points"] = [
                {"row": row, "name": plain_name(h.nodes[row]), "p": share}
                for row, share in zip(
                    columns.indices[entries].tolist(), columns.data[entries].tolist(), strict=True
                )
            ]
    return tree_to_json(h.tree, path, names, details)


def to_newick(
    h: Hierarchy | StoredHierarchy, path: PathLike | None = None, *, names: Names = None
) -> str | None:
    r"""Write the tree in the Newick format of phylogenetics.

    Leaves are the finest clusters, and inner nodes have labels too. Branches are as long as the heights of
    :meth:`to_linkage` differ.

    Parameters
    ----------
    path : path-like, optional
        Written whole or not at all; without it the text is returned.
    names : mapping of str to str, optional
        Names of some or all clusters, by id; see :meth:`to_json`. Control characters are refused.

    Examples
    --------
    >>> import graphsoft
    >>> h = graphsoft.hierarchy([[0.0], [0.1], [5.0], [5.1]], levels=[2], n_neighbors=1)
    >>> h.to_newick(names={"0-1": "far away"})
    "(0-0:1.0,'far away':1.0)root;\n"
    """
    return tree_to_newick(h.tree, path, names, _linkage(h).heights)


def to_linkage(h: Hierarchy | StoredHierarchy) -> Array:
    """Turn the tree into a linkage matrix of SciPy, over the finest clusters.

    Leaf i is cluster ``0-i``. Clusters are merged level by level, within their parent. Among these, the pair
    goes first between which a random walk goes most often in one step, compared with chance: its lift is the
    weight of steps between the two, times the total weight of the graph, over the product of their masses. A
    merge of clusters of level l has the height ``l + 1 / (1 + lift)``. So the whole part says which level was
    merged, and the fraction how well the walk tells the two apart: 1/2 at chance, and 1 if it never goes from
    one to the other. Heights never fall from a part to the whole.

    Returns
    -------
    ndarray of shape (m - 1, 4)
        What ``dendrogram``, ``fcluster`` and ``cut_tree`` of :mod:`scipy.cluster.hierarchy` take. Cut at the
        height l, or into as many clusters as level l has, it gives the branches of ``h.tree`` at level l.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import fcluster
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> Z = h.to_linkage()
    >>> Z.shape, len(set(fcluster(Z, 4, "maxclust"))), len(set(fcluster(Z, 1, "distance")))
    ((11, 4), 4, 4)
    """
    return _linkage(h).matrix


def to_networkx(h: Hierarchy | StoredHierarchy, of: str = TREE, *, names: Names = None) -> Any:
    """Make a networkx graph of the tree, or of the points.

    Parameters
    ----------
    of : {"tree", "points"}
        The tree of clusters with an edge from each likeliest parent to its child, or the graph of the points.
    names : mapping of str to str, optional
        Names of some or all clusters, by id; see :meth:`to_json`.

    Returns
    -------
    networkx.DiGraph or networkx.Graph
        Clusters have ``label, level, mass, size`` and the ``height`` of :meth:`to_linkage`. Edges between
        them have ``p``, the probability of the parent. Points have for each level l ``level_l``, the id of
        the likeliest cluster, ``probability_l`` and ``entropy_l``, and ``memberships``, a dictionary from ids
        to probabilities; and ``name_l`` where clusters of the level have names. Edges between points have a
        ``weight``.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> nx.is_arborescence(h.to_networkx())
    True
    >>> h.to_networkx("points").nodes["Valjean"]["level_1"]
    '1-0'
    """
    if choice("of", of, (TREE, POINTS)) == TREE:
        return tree_to_networkx(h.tree, checked_names(h.tree, names), _linkage(h).heights)
    columns = {
        title: values.tolist() if isinstance(values, np.ndarray) else values
        for title, values in _points(h, names).items()
        if title != "point"
    }
    for level in range(len(h)):
        columns[f"level_{level}"] = [f"{level}-{label}" for label in columns[f"level_{level}"]]
    memberships = [h._memberships(level) for level in range(len(h))]
    return points_to_networkx(intact_graph(h).adjacency, h.nodes, columns, memberships)


def to_graphml(
    h: Hierarchy | StoredHierarchy, path: PathLike, of: str = TREE, *, names: Names = None
) -> None:
    """Write the graph of :meth:`to_networkx` as GraphML, for Gephi, Cytoscape, yEd or igraph.

    Names of points become texts, which must differ, and memberships the text of a JSON object. Control
    characters are refused.

    Parameters
    ----------
    path : path-like
    of, names
        See :meth:`to_networkx`.
    """
    write_graphml(to_networkx(h, of, names=names), path)


def to_gexf(h: Hierarchy | StoredHierarchy, path: PathLike, of: str = TREE, *, names: Names = None) -> None:
    """Write the graph of :meth:`to_networkx` as GEXF, for Gephi; see :meth:`to_graphml`."""
    write_gexf(to_networkx(h, of, names=names), path)


def to_frame(h: Hierarchy, of: str = POINTS, *, library: str = "pandas", names: Names = None) -> Any:
    """Make a data frame with a row for each point, or for each cluster.

    Parameters
    ----------
    of : {"points", "clusters"}
    library : {"pandas", "polars", "pyarrow"}
        Whose data frame, or table.
    names : mapping of str to str, optional
        Names of some or all clusters, by id; see :meth:`to_json`.

    Returns
    -------
    data frame
        Of points: ``point``, its name, and for each level l ``level_l``, the number of its likeliest cluster,
        the ``probability_l`` of that, and ``entropy_l``; and ``name_l``, what the cluster is called, where
        clusters of the level have names. Of clusters: ``id, name, level, number, parent,
        probability, size, mass, share, certainty, conductance, hard_conductance, cohesion, height``. There
        ``probability`` is that of the parent, which is empty on the top level; ``height`` is that of
        :meth:`to_linkage`, and the others are those of :meth:`describe`.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> h.to_frame().columns.tolist()[:4]
    ['point', 'level_0', 'probability_0', 'entropy_0']
    >>> h.to_frame("clusters", names={"1-0": "Paris"})[["id", "name", "parent", "size"]].tail(2)
         id name parent  size
    14  1-2  1-2           11
    15  1-3  1-3           10
    """
    return as_frame(_columns(h, of, names), library)


def to_csv(h: Hierarchy, path: PathLike, of: str = POINTS, *, names: Names = None) -> None:
    """Write the rows of :meth:`to_frame` as CSV, in UTF-8 with all texts in quotes.

    A text that a spreadsheet would run as a formula gets a ``'`` before it, as
    :func:`graphsoft.formats.frames.columns_to_csv` says.

    Parameters
    ----------
    path : path-like
    of, names
        See :meth:`to_frame`.
    """
    columns_to_csv(_columns(h, of, names), path)


def to_parquet(h: Hierarchy, path: PathLike, of: str = POINTS, *, names: Names = None) -> None:
    """Write the rows of :meth:`to_frame` as Parquet; it needs pyarrow.

    Parameters
    ----------
    path : path-like
    of, names
        See :meth:`to_frame`.
    """
    columns_to_parquet(_columns(h, of, names), path)


def to_graphrag(
    h: Hierarchy,
    path: PathLike | None = None,
    *,
    entities: Any = None,
    relationships: Any = None,
    names: Names = None,
) -> Any:
    """Make GraphRAG's table of communities, for a graph whose nodes are the titles of entities.

    Parameters
    ----------
    path : path-like, optional
        Such as ``"communities.parquet"``; this needs pyarrow. Without it a pandas data frame is returned.
    entities : data frame, optional
        GraphRAG's table, for the ids of the entities. Without it their titles stand for these.
    relationships : data frame, optional
        GraphRAG's table, for the relationships and text units of each community. Without it these are empty.
    names : mapping of str to str, optional
        Titles of some or all communities, by id; see :meth:`to_json`. Others are ``Community`` and a number.

    Returns
    -------
    pandas.DataFrame or None
        The columns of GraphRAG 3, in their order. Its level 0 is the coarsest, and the parent of these is -1.
        An entity is in its likeliest community of each level, so a torn one may be in a community without
        being in the parent of that.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> h.to_graphrag()[["community", "level", "parent", "title", "size"]].head(2)
       community  level  parent        title  size
    0          0      0      -1  Community 0    39
    1          1      0      -1  Community 1    17
    """
    labels = [level.labels for level in h]
    known = checked_names(h.tree, names)
    columns = community_columns(h.tree, labels, distinct_texts(h.nodes), known, entities, relationships)
    return as_frame(columns) if path is None else columns_to_parquet(columns, path)


def _linkage(h: Hierarchy | StoredHierarchy) -> Linkage:
    return linkage_of(h.tree, h._steps())


def _central(h: Hierarchy, count: int) -> list[tuple[str, list[int]]]:
    graph = intact_graph(h)
    found = [central_points(graph, h._memberships(level), count) for level in range(len(h))]
    return [
        (f"{level}-{number}", rows) for level, each in enumerate(found) for number, rows in enumerate(each)
    ]


def _words(h: Hierarchy, words: int | Sequence[Distinctive]) -> Sequence[Distinctive]:
    if isinstance(words, Sequence) and all(isinstance(each, Distinctive) for each in words):
        known = {node.id for node in h.tree.nodes}
        if all(set(each.ids) <= known for each in words):
            return words
    elif not isinstance(words, Sequence):
        count = integer("words", words, 0)
        return [h.distinctive(level, count) for level in range(len(h))] if count else []
    raise InputError(
        "words", f"got {shown(words)}", "pass a number, or a list of what h.distinctive returned"
    )


def _points(h: Any, names: Names) -> dict[str, Any]:
    for number in range(len(h)):
        h._memberships(number)  # which were perhaps changed by hand
    return point_columns(h.nodes, h.levels, checked_names(h.tree, names))


def _columns(h: Hierarchy, of: str, names: Names) -> dict[str, Any]:
    if choice("of", of, (POINTS, CLUSTERS)) == POINTS:
        return _points(h, names)
    columns, graph = tree_columns(h, names), intact_graph(h)
    figures: list[ClusterDescription] = []
    for level in range(len(h)):
        memberships = h._memberships(level)
        figures += described(graph, memberships, level, [()] * memberships.shape[1], {})
    height = columns.pop("height")  # which is the last column
    figured = ("certainty", "conductance", "hard_conductance", "cohesion")
    columns |= {name: np.array([getattr(row, name) for row in figures]) for name in figured}
    return columns | {"height": height}


def tree_columns(h: Hierarchy | StoredHierarchy, names: Names) -> dict[str, Any]:
    """List what the tree says of all clusters."""
    known, heights = checked_names(h.tree, names), _linkage(h).heights
    return cluster_columns(h.tree, [level.mass for level in h], heights, known)
