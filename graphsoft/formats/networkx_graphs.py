"""The tree of clusters, or the graph of the points, for networkx, and as GraphML and GEXF."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_array, triu

from graphsoft.errors import InputError, shown
from graphsoft.formats.naming import distinct_texts, refuse
from graphsoft.storage.atomic import PathLike, write_atomic
from graphsoft.tree import Tree

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "edges_once",
    "points_to_networkx",
    "tree_to_networkx",
    "weighted_graph",
    "write_gexf",
    "write_graphml",
]

# XML has none of these, and turns a carriage return into a new line.
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def tree_to_networkx(tree: Tree, names: Mapping[str, str], heights: Mapping[str, float]) -> nx.DiGraph:
    """Make a directed graph of the tree, with an edge from each likeliest parent to its child.

    Parameters
    ----------
    tree : Tree
    names : mapping of str to str
        Labels for some or all ids; a node without one is labeled by its id.
    heights : mapping of str to float
        The height of every node.

    Returns
    -------
    networkx.DiGraph
        Nodes are ids, with ``label, level, mass, size, height``. Edges have ``p``, the probability of the
        parent.

    Examples
    --------
    >>> from graphsoft.tree_building import build_tree
    >>> tree = build_tree([csr_array([[1.0], [1.0]])], [[2.0, 3.0], [5.0]], [[2, 3], [5]])
    >>> tree_to_networkx(tree, {}, dict.fromkeys(["0-0", "0-1", "1-0"], 0.0)).edges(data="p")
    OutEdgeDataView([('1-0', '0-0', 1.0), ('1-0', '0-1', 1.0)])
    """
    import networkx as nx

    graph = nx.DiGraph()
    for node in tree.walk():
        figures = {"level": node.level, "mass": node.mass, "size": node.size, "height": heights[node.id]}
        graph.add_node(node.id, label=names.get(node.id, node.id), **figures)
        if node.parent is not None:
            graph.add_edge(node.parent, node.id, p=node.parents[0][1])
    return graph


def points_to_networkx(
    adjacency: csr_array,
    nodes: Sequence[Any],
    columns: Mapping[str, Sequence[Any]],
    memberships: Sequence[csr_array],
) -> nx.Graph:
    """Make a graph of the points with their clusters as attributes.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
    nodes : sequence of n
        The names of the points.
    columns : mapping of str to sequence of n
        Attributes of the points.
    memberships : sequence of csr_array
        Of every level; together they make the attribute ``memberships``, a dictionary by id.

    Returns
    -------
    networkx.Graph
        Edges have a ``weight``.

    Examples
    --------
    >>> soft = csr_array([[1.0, 0.0], [0.25, 0.75]])
    >>> graph = points_to_networkx(csr_array([[0, 2], [2, 0]]), ["x", "y"], {"torn": [0.0, 0.5]}, [soft])
    >>> graph.nodes["y"], graph.edges["x", "y"]["weight"]
    ({'torn': 0.5, 'memberships': {'0-0': 0.25, '0-1': 0.75}}, 2)
    """
    graph, names = weighted_graph(adjacency, nodes), list(columns)
    for name, *values in zip(nodes, *columns.values(), strict=True):
        graph.nodes[name].update(zip(names, values, strict=True), memberships={})
    for level, shares in enumerate(memberships):
        entries = shares.tocoo()
        for row, column, share in zip(
            entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True
        ):
            graph.nodes[nodes[row]]["memberships"][f"{level}-{column}"] = share
    return graph


def weighted_graph(adjacency: csr_array, nodes: Sequence[Any]) -> nx.Graph:
    """Make a graph whose edges have a ``weight``.

    Examples
    --------
    >>> weighted_graph(csr_array([[0, 2], [2, 0]]), ["x", "y"]).edges(data=True)
    EdgeDataView([('x', 'y', {'weight': 2})])
    """
    import networkx as nx

    if len(set(nodes)) < len(nodes):
        name, times = Counter(nodes).most_common(1)[0]
        problem = f"{times} points are called {shown(name)}, but a node needs a name of its own"
        raise InputError("nodes", problem, "give the points names that differ")
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    edges = edges_once(adjacency)
    graph.add_weighted_edges_from((nodes[one], nodes[other], weight) for one, other, weight in edges)
    return graph


def edges_once(adjacency: csr_array) -> Iterator[tuple[int, int, float]]:
    """List every edge once: its two nodes and its weight.

    Examples
    --------
    >>> list(edges_once(csr_array([[1.0, 2.0], [2.0, 0.0]])))
    [(0, 0, 1.0), (0, 1, 2.0)]
    """
    half = triu(adjacency, format="coo")
    return zip(half.row.tolist(), half.col.tolist(), half.data.tolist(), strict=True)


def write_graphml(graph: nx.Graph, path: PathLike) -> None:
    """Write a graph of this module as GraphML, which Gephi, Cytoscape, yEd and igraph open.

    Names become text, and a dictionary becomes its JSON text. Names with control characters are refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import networkx as nx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "graph.graphml")
    ...     write_graphml(nx.path_graph(["a", "b"]), path)
    ...     nx.read_graphml(path).nodes(data="label")
    NodeDataView({'a': 'a', 'b': 'b'}, data='label')
    """
    from networkx.readwrite.graphml import GraphMLWriter

    writer = GraphMLWriter(_flat(graph))
    write_atomic(path, writer.dump)


def write_gexf(graph: nx.Graph, path: PathLike) -> None:
    """Write a graph of this module as GEXF, the format of Gephi; see :func:`write_graphml`."""
    from networkx.readwrite.gexf import GEXFWriter

    writer = GEXFWriter(_flat(graph))
    for each in writer.xml.iter("meta"):
        each.attrib.clear()  # the date: the same graph makes the same file on any day
    write_atomic(path, writer.write)


def _flat(graph: nx.Graph) -> nx.Graph:
    """Copy a graph with texts and numbers only."""
    texts = dict(zip(graph, distinct_texts(list(graph)), strict=True))
    written = [
        value for _, data in graph.nodes(data=True) for value in data.values() if isinstance(value, str)
    ]
    refuse([*texts.values(), *written], _UNFIT, "XML")
    flat = type(graph)()
    for node, data in graph.nodes(data=True):
        values = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in data.items()}
        flat.add_node(texts[node], **{"label": texts[node], **values})
    flat.add_edges_from((texts[one], texts[other], data) for one, other, data in graph.edges(data=True))
    return flat
