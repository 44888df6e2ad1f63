"""Where the points of clusters are on the level above; `flow` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError
from graphsoft.linalg.memberships import frozen_rows, rows_to_one
from graphsoft.result.intact import check_levels

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["flow"]


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
    level = h._level(level)
    if level == len(h) - 1:
        raise InputError("level", f"got {level}, the top level", "name a level that has another one above it")
    below, above = h.levels[level], h.levels[level + 1].memberships
    weights = above.data * np.repeat(below.degrees, np.diff(above.indptr))
    weighted = sp.csr_array((weights, above.indices, above.indptr), shape=above.shape)
    walks = below.memberships.T.tocsr() @ weighted
    still = sp.diags_array((np.asarray(walks.sum(axis=1)).ravel() == 0).astype(np.float64))
    return frozen_rows(rows_to_one(sp.csr_array(walks + still @ below.parents)))
