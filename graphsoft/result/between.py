"""Points between two clusters; `between` is a method of hierarchies, in memory and on disk, which `h` is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphsoft.errors import InputError
from graphsoft.result.description import TornPoints

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["between"]


def between(h: Hierarchy | StoredHierarchy, a: str, b: str, count: int = 10) -> TornPoints:
    """Find the points that are the most torn between two clusters of a level.

    Parameters
    ----------
    a, b : str
        Ids in the tree, such as ``"2-7"``.
    count : int
        At most so many points are listed. All of them have a share in both clusters.

    Returns
    -------
    TornPoints
        ``points, nodes, shares``. Points come first whose smaller share in the two is largest.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> print(h.between("1-0", "1-1", count=2))
    point      1-0   1-1
    Marius    0.66  0.34
    Gavroche  0.15  0.85
    """
    (level, one), (above, other) = _place(h, "a", a), _place(h, "b", b)
    if level != above:
        raise InputError("b", f"{b!r} is not on the level of {a!r}", "name two clusters of one level")
    points, shares = h._torn_between(level, one, other, count)
    nodes = h.nodes
    return TornPoints((a, b), points, tuple(nodes[point] for point in points), shares)


def _place(h: Hierarchy | StoredHierarchy, argument: str, id: Any) -> tuple[int, int]:
    """Find the level and the number of a cluster by its id."""
    try:
        node = h.tree.find(id)
    except InputError as error:
        named = isinstance(id, str) and id[:1].isdigit()
        remedy = error.remedy if named else "name a cluster by its level and its number, as '0-3'"
        raise InputError(argument, error.problem, remedy) from None
    if node.level == len(h):
        raise InputError(argument, f"{id!r} is above all levels", "name a cluster, as '0-3'")
    return node.level, node.index
