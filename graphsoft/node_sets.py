"""Clusters in the forms that networkx and igraph have for communities: sets of nodes, attributes of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown, warn
from graphsoft.graph.networks import is_igraph, is_network, is_networkx, names_of
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import integer, number
from graphsoft.input.memberships import check_memberships
from graphsoft.input.names import rows_named
from graphsoft.levels import hierarchy
from graphsoft.linalg.memberships import likeliest, one_cluster_each
from graphsoft.methods import Clustering
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_answers import needs_a_sample
from graphsoft.suggestion import suggest_levels

if TYPE_CHECKING:
    import igraph

__all__ = [
    "communities",
    "overlapping",
    "partitions",
    "vertex_clustering",
    "vertex_cover",
    "write_attributes",
]

SHARE = 0.2  # of a node in a community, from which on it is listed there


def communities(G: Any, k: int | None = None, *, weight: str | None = "weight") -> list[set[Any]]:
    """Find communities, as a list of sets of nodes.

    Parameters
    ----------
    G : networkx or igraph graph, Graph, Hierarchy or Clustering
        A graph, or anything else that :func:`graphsoft.hierarchy` takes; or a result, which is not computed
        again.
    k : int, optional
        How many. None takes as many as :func:`graphsoft.suggest_levels` finds; of a hierarchy it takes the
        coarsest level.
    weight : str or None
        The attribute that holds the weights of edges; see :func:`graphsoft.as_graph`.

    Returns
    -------
    list of set
        Every node is in the one community that it most belongs to. Set q holds the nodes of cluster q.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> club = nx.karate_club_graph()
    >>> [len(each) for each in graphsoft.communities(club, 2)]
    [18, 16]
    """
    nodes, memberships = _found(G, k, weight)
    return _sets(nodes, _likeliest_only(memberships))


def partitions(
    G: Any, levels: int | Sequence[int] | str = "auto", *, weight: str | None = "weight"
) -> list[list[set[Any]]]:
    """Find communities on several levels, as lists of sets of nodes.

    Parameters
    ----------
    G, weight
        See :func:`communities`. A hierarchy has its levels already.
    levels : int, sequence of int, or "auto"
        How many communities each level has: falling numbers, or those that :func:`graphsoft.suggest_levels`
        finds.

    Returns
    -------
    list of list of set
        The finest level first, as networkx lists partitions. Levels are soft: a community need not lie within
        one of the next level, although most do.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> novel = nx.les_miserables_graph()
    >>> [len(each) for each in graphsoft.partitions(novel, [12, 4])]
    [12, 4]
    """
    if _is_result(G):
        if not (isinstance(levels, str) and levels == "auto"):
            problem = f"got {shown(levels)}, but {shown(G)} has its levels"
            raise InputError("levels", problem, "leave it out, or pass the graph")
        _refuse_weight(weight)
    else:
        G = hierarchy(as_graph(G, weight=weight), levels)
    return [_sets(_names(G), _likeliest_only(each)) for each in _levels(G)]


def overlapping(
    G: Any, k: int | None = None, *, threshold: float = SHARE, weight: str | None = "weight"
) -> list[set[Any]]:
    """Find communities that share nodes, as a list of sets.

    Parameters
    ----------
    G, k, weight
        See :func:`communities`.
    threshold : float
        The share from which on a node is in a community, from 0 to 1. A node is always in the community that
        it most belongs to. With 0 it is in all in which it has any share.

    Returns
    -------
    list of set
        Set q holds the nodes of cluster q.

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> club = nx.karate_club_graph()
    >>> one, other = graphsoft.overlapping(club, 2)
    >>> len(one), len(other), sorted(one & other)
    (19, 18, [2, 8, 30])
    """
    nodes, memberships = _found(G, k, weight)
    return _sets(nodes, _above(memberships, threshold))


def write_attributes(G: Any, found: Any, k: int | None = None, *, name: str = "community") -> None:
    """Write communities into the attributes of the nodes of a graph.

    Nodes get their likeliest community as `name`, a whole number, and their share in community q as
    ``name_q``. In networkx only shares above 0 are written; in igraph all vertices have all attributes.
    Attributes that an earlier call wrote under the same name are removed.

    Parameters
    ----------
    G : networkx or igraph graph
        It is changed.
    found : Hierarchy or Clustering
        Of the same nodes. Nodes are matched by name, or by order if `found` has only numbers of rows.
    k : int, optional
        The level with so many clusters; by default the coarsest.
    name : str

    Examples
    --------
    >>> import networkx as nx
    >>> import graphsoft
    >>> club = nx.karate_club_graph()
    >>> graphsoft.write_attributes(club, graphsoft.hierarchy(club, [8, 2]))
    >>> club.nodes[33]["community"], round(club.nodes[33]["community_0"], 2)
    (0, 0.97)
    """
    if not is_network(G):
        raise InputError("G", f"got {shown(G)}", "pass a graph of networkx or igraph")
    if not isinstance(name, str):
        raise InputError("name", f"got {shown(name)}", "use a text")
    memberships = _memberships_in(G, found, k)
    write = _write_networkx if is_networkx(G) else _write_igraph
    write(G, name, likeliest(memberships).tolist(), memberships)


def vertex_clustering(g: igraph.Graph, found: Any, k: int | None = None) -> igraph.VertexClustering:
    """Make a clustering of igraph, in which every vertex is in its likeliest community.

    Parameters
    ----------
    g : igraph graph
    found, k
        See :func:`write_attributes`.

    Returns
    -------
    igraph.VertexClustering
        If edges of `g` have a ``weight``, its modularity counts it.

    Examples
    --------
    >>> import graphsoft
    >>> import igraph
    >>> g = igraph.Graph.Famous("Zachary")
    >>> graphsoft.vertex_clustering(g, graphsoft.hierarchy(g, [2])).sizes()
    [18, 16]
    """
    _check_igraph(g)
    from igraph import VertexClustering

    labels = likeliest(_memberships_in(g, found, k)).tolist()
    weights = {"weights": "weight"} if "weight" in g.es.attributes() else None
    return VertexClustering(g, labels, modularity_params=weights)


def vertex_cover(
    g: igraph.Graph, found: Any, k: int | None = None, *, threshold: float = SHARE
) -> igraph.VertexCover:
    """Make a cover of igraph: communities that share vertices.

    Parameters
    ----------
    g, found, k
        See :func:`vertex_clustering`.
    threshold
        See :func:`overlapping`.

    Returns
    -------
    igraph.VertexCover

    Examples
    --------
    >>> import graphsoft
    >>> import igraph
    >>> g = igraph.Graph.Famous("Zachary")
    >>> graphsoft.vertex_cover(g, graphsoft.hierarchy(g, [2])).sizes()
    [21, 19]
    """
    _check_igraph(g)
    from igraph import VertexCover

    shares = _above(_memberships_in(g, found, k), threshold)
    return VertexCover(g, [sorted(each) for each in _sets(range(g.vcount()), shares)])


def _found(G: Any, k: int | None, weight: str | None) -> tuple[Sequence[Any], sp.csr_array]:
    """Cluster a graph, or look into a result. Return the nodes, and their memberships in k clusters."""
    if _is_result(G):
        _refuse_weight(weight)
        return _names(G), _memberships(G, k)
    graph = as_graph(G, weight=weight)
    if k is None:
        suggested = suggest_levels(graph)
        k = suggested.clusters
        if not suggested.sure:
            warn(f"k: took {k}, although no number stands out; name one if you know better")
    if integer("k", k, 1) > len(graph):
        raise InputError("k", f"got {k} communities for {len(graph)} nodes", f"use at most {len(graph)}")
    found = hierarchy(graph, [k])
    return found.nodes, found[-1].memberships


def _is_result(G: Any) -> bool:
    if isinstance(G, StoredHierarchy):
        raise needs_a_sample("G")
    return isinstance(G, Hierarchy | Clustering)


def _refuse_weight(weight: Any) -> None:
    if weight != "weight":
        problem = f"got {shown(weight)}, but the communities have been found"
        raise InputError("weight", problem, "leave it out, or pass the graph")


def _levels(found: Any) -> list[sp.csr_array]:
    """List the memberships of a result, the finest first."""
    levels = list(found) if isinstance(found, Hierarchy) else [found]
    for level in levels:
        check_memberships(level.memberships, "found")
    return [level.memberships for level in levels]


def _memberships(found: Any, k: int | None) -> sp.csr_array:
    """Take the memberships of a result in k clusters; by default in the fewest."""
    if not _is_result(found):
        raise InputError("found", f"got {shown(found)}", "pass the result of graphsoft.hierarchy or cluster")
    levels = _levels(found)
    sizes = [each.shape[1] for each in levels]
    if k is not None and integer("k", k, 1) not in sizes:
        raise InputError("k", f"got {k}, but {shown(found)} has {sizes} clusters", "use one of these numbers")
    return levels[-1 if k is None else sizes.index(k)]


def _names(found: Any) -> Sequence[Any]:
    """List the names of the points; a clustering that comes from a method itself has none."""
    nodes: Sequence[Any] = found.nodes or range(_levels(found)[0].shape[0])
    return nodes


def _memberships_in(network: Any, found: Any, k: int | None) -> sp.csr_array:
    """Take memberships, with the rows in the order of the nodes of a network."""
    memberships = _memberships(found, k)
    names, known = names_of(network), _names(found)
    if isinstance(known, range) and len(known) == len(names):
        return memberships
    rows, unknown = rows_named(names, known)
    if unknown:
        problem = f"does not know {shown(unknown[0])} and {len(unknown) - 1} other nodes of the graph"
        raise InputError("found", problem, "pass a result of the same graph")
    return memberships[rows]


def _check_igraph(g: Any) -> None:
    if not is_igraph(g):
        raise InputError("g", f"got {shown(g)}", "pass a graph of igraph")


def _write_networkx(G: Any, name: str, labels: list[int], memberships: sp.csr_array) -> None:
    ends = memberships.indptr.tolist()
    clusters, shares = memberships.indices.tolist(), memberships.data.tolist()
    for row, (_, attributes) in enumerate(G.nodes(data=True)):
        for old in _written_before(attributes, name):
            del attributes[old]
        attributes[name] = labels[row]
        for place in range(ends[row], ends[row + 1]):
            if shares[place] > 0:
                attributes[f"{name}_{clusters[place]}"] = shares[place]


def _write_igraph(g: Any, name: str, labels: list[int], memberships: sp.csr_array) -> None:
    for old in _written_before(g.vs.attributes(), name):
        del g.vs[old]
    g.vs[name] = labels
    for cluster in range(memberships.shape[1]):
        g.vs[f"{name}_{cluster}"] = memberships[:, [cluster]].toarray()[:, 0].tolist()


def _written_before(attributes: Iterable[Any], name: str) -> list[str]:
    """List attributes that stand for shares in communities, as ``community_3`` does."""
    begin = f"{name}_"
    return [
        key
        for key in attributes
        if isinstance(key, str) and key.startswith(begin) and key[len(begin) :].isdecimal()
    ]


def _likeliest_only(memberships: sp.csr_array) -> sp.csr_array:
    return one_cluster_each(likeliest(memberships), memberships.shape[1])


def _above(memberships: sp.csr_array, threshold: float) -> sp.csr_array:
    """Keep shares from the threshold on, and the largest of each node."""
    threshold = number("threshold", threshold, minimum=0, maximum=1)
    kept = memberships.copy()
    kept.data = ((kept.data >= threshold) & (kept.data > 0)).astype(np.float64)
    kept = (kept + _likeliest_only(memberships)).tocsr()
    kept.eliminate_zeros()
    return kept


def _sets(nodes: Sequence[Any], belongs: sp.csr_array) -> list[set[Any]]:
    """List the nodes that each column has an entry for."""
    columns = belongs.tocsc()
    return [
        {nodes[row] for row in columns.indices[start:stop].tolist()}
        for start, stop in zip(columns.indptr, columns.indptr[1:], strict=False)
    ]
