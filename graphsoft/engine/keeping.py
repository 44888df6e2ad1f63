"""Every cluster keeps a point: one that belongs to it more than to any other.

This is so on polished levels, and in flat clusterings by relation factorization.

Where soft memberships leave a cluster without one, a node that was divided into it is held there. It then
belongs to this cluster more than to all others together.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.engine.polishing import with_rows
from graphsoft.linalg.indexing import put, taken
from graphsoft.linalg.memberships import likeliest, one_cluster_each, rows_to_one

__all__ = ["candidates", "clusters_won", "held", "nodes_to_hold", "with_every_cluster"]

# A node that is held has this share of the cluster. With all of it no edge to a node of other clusters would
# be explained. With more than half it has the group of this cluster too, whatever groups its others have.
HELD = 2 / 3


def nodes_to_hold(memberships: sp.csr_array, labels: Array) -> Array:
    """Find a node for each cluster that is the likeliest of none: of its own nodes the one of largest share.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
    labels : ndarray of int, shape (n,)
        The cluster that every node was divided into. One without nodes is left out.

    Examples
    --------
    >>> shares = sp.csr_array([[1.0, 0.0], [0.6, 0.4], [0.7, 0.3]])
    >>> nodes_to_hold(shares, np.array([0, 1, 1])).tolist()
    [1]
    """
    return candidates(memberships, labels, clusters_won(memberships))


def clusters_won(memberships: sp.csr_array) -> Array:
    """Tell of each cluster whether it is the likeliest of a node."""
    won = np.zeros(memberships.shape[1], dtype=bool)
    put(won, likeliest(memberships), True)
    return won


def candidates(memberships: sp.csr_array, labels: Array, won: Array) -> Array:
    """Find the node of largest share in each cluster that is not won, among those divided into it."""
    nodes = np.flatnonzero(~taken(won, labels))
    if not len(nodes):
        return nodes
    shares = np.asarray(memberships[nodes, labels[nodes]]).ravel()
    nodes = nodes[np.lexsort((-shares, labels[nodes]))]
    return np.sort(nodes[np.unique(labels[nodes], return_index=True)[1]])


def held(memberships: sp.csr_array, labels: Array, nodes: Array) -> sp.csr_array:
    """Let these nodes belong to the clusters that they were divided into by `HELD`, or more if they do.

    The other clusters of a node keep what they have among each other.

    Examples
    --------
    >>> shares = sp.csr_array([[0.75, 0.25, 0.0], [0.0, 0.2, 0.8]])
    >>> held(shares, np.array([2, 2]), np.array([0, 1])).toarray().round(2)
    array([[0.25, 0.08, 0.67],
           [0.  , 0.2 , 0.8 ]])
    """
    own = one_cluster_each(labels[nodes], memberships.shape[1])
    before = memberships[nodes]
    share = np.asarray(before.multiply(own).sum(axis=1)).ravel()
    # of p of its own and 1 - p of others, a part t goes to its own: t + (1 - t) p = HELD
    moved = np.clip((HELD - share) / np.maximum(1.0 - share, 1.0 - HELD), 0.0, 1.0)
    found = (sp.diags_array(1.0 - moved) @ before + sp.diags_array(moved) @ own).tocsr()
    found.sort_indices()  # whatever order the rows had, which depends on the blocks
    return with_rows(memberships, (nodes, rows_to_one(found)))


def with_every_cluster(memberships: sp.csr_array, labels: Array) -> sp.csr_array:
    """Hold nodes until every cluster that has nodes in `labels` is the likeliest of one.

    A node that is held may have been the last of another cluster, which then holds one of its own.
    """
    while len(nodes := nodes_to_hold(memberships, labels)):
        memberships = held(memberships, labels, nodes)
    return memberships
