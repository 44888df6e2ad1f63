"""Where the points of clusters are on the level above; `flow` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import frozen_rows, rows_to_one
from graphsoft.result.intact import check_levels

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["ended", "flow", "upper_level", "walked"]


def flow(h: Hierarchy, level: int) -> sp.csr_array:
    """Find where the points of each cluster are on the level above.

    A walk goes from a cluster to one of its points, and from there to a cluster of the level above:
    ``p(above | cluster) = sum_i p(point i | cluster) p(above | point i)``.

    Parameters
    ----------
    level : int
        Any but the top level. Negative numbers count from the top.

    Returns
    -------
    csr_array of shape (m, m_above)
        Rows sum to one. If each is multiplied by the `mass` of its cluster, columns sum to the masses above.

    Notes
    -----
    Most clusters have one parent, even if some of their points are torn between clusters of the level above.
    `parents` are the step that makes the memberships above from those below; the flow says where points end.
    A cluster without mass has its parents here.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> h[0].parents[[3]].toarray().round(2)
    array([[0.93, 0.03, 0.04, 0.  ]])
    >>> h.flow(0)[[3]].toarray().round(2)
    array([[0.75, 0.1 , 0.12, 0.02]])
    """
    check_levels(h.levels, len(h.graph))
    upper = upper_level(h, level)
    below = h.levels[upper - 1]
    return ended(walked(below.memberships, below.degrees, h.levels[upper].memberships), below.parents)


def upper_level(h: Hierarchy | StoredHierarchy, level: int) -> int:
    """Return the number of the level above one, which must not be the top level."""
    below = h._level(level)
    if below == len(h) - 1:
        raise InputError("level", f"got {below}, the top level", "name a level that has another one above it")
    return below + 1


def walked(below: sp.csr_array, degrees: Array, above: sp.csr_array) -> sp.csr_array:
    """Add up the walks of some points: from clusters below, in proportion to the degrees, to those above.

    Examples
    --------
    >>> walked(sp.csr_array([[1.0], [1.0]]), np.array([2.0, 1.0]), sp.csr_array([[1.0], [1.0]])).toarray()
    array([[3.]])
    """
    weights = above.data * np.repeat(degrees, np.diff(above.indptr))
    weighted = sp.csr_array((weights, above.indices, above.indptr), shape=above.shape)
    return sp.csr_array(below.T.tocsr() @ weighted)


def ended(walks: sp.csr_array, parents: sp.csr_array) -> sp.csr_array:
    """Make chances of walks; a cluster that none begins in has its parents."""
    still = sp.diags_array((np.asarray(walks.sum(axis=1)).ravel() == 0).astype(np.float64))
    return frozen_rows(rows_to_one(sp.csr_array(walks + still @ parents)))
