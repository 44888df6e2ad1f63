"""A hierarchy beside another clustering; `compare` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphsoft.input.memberships import check_memberships
from graphsoft.methods import Clustering
from graphsoft.result.comparison import Comparison, NamedClusters, as_named_clusters, compared
from graphsoft.result.levels_in_order import LevelsInOrder
from graphsoft.result.stored_answers import needs_a_sample

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["compare"]


def compare(h: Hierarchy, other: Any) -> Comparison:
    """Compare this hierarchy with another clustering of the same points.

    Parameters
    ----------
    other : Hierarchy, Level, Clustering, mapping, list of sets, labels or memberships
        If both have names of points, these are matched. A mapping, or a pandas Series indexed by names,
        has a label for each name. Sets of names are communities as networkx has them. Labels,
        memberships, levels and igraph's clusterings have a row for each point, in the order of `nodes`.

    Returns
    -------
    Comparison
        ``adjusted_rand`` and ``nmi`` for each pair of levels. ``matches`` says which clusters are found
        again, which are split and which are merged. ``print`` shows it.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> club = nx.karate_club_graph()
    >>> h = graphsoft.hierarchy(club, levels=[4, 2])
    >>> found = h.compare(nx.get_node_attributes(club, "club"))
    >>> found.adjusted_rand.round(2).tolist()
    [[0.46], [0.88]]
    >>> [(match.id, match.best, round(match.overlap, 2)) for match in found.matches[1]]
    [('1-0', 'Officer', 0.86), ('1-1', 'Mr. Hi', 0.85)]
    """
    mine = NamedClusters.of_levels([h._memberships(at) for at in range(len(h))], h.nodes)
    if isinstance(other, type(h)):
        levels = [other._memberships(at) for at in range(len(other))]
        theirs = NamedClusters.of_levels(levels, other.nodes)
    elif isinstance(other, LevelsInOrder):
        raise needs_a_sample("other")
    elif isinstance(other, Clustering):
        check_memberships(other.memberships, "other")
        theirs = NamedClusters.of_levels([other.memberships], other.nodes or range(len(other.labels)))
    else:
        theirs = as_named_clusters(other, h.nodes)
    return compared(mine, theirs)
