"""What is known of each point, memberships as npz and columns for tables, and columns for the clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz

from graphsoft.aliases import Array
from graphsoft.input.memberships import SoftClusters
from graphsoft.linalg.memberships import largest_shares
from graphsoft.storage.atomic import PathLike, write_atomic
from graphsoft.tree import Tree

__all__ = ["cluster_columns", "memberships_to_npz", "point_columns"]


def memberships_to_npz(memberships: csr_array, path: PathLike) -> None:
    """Write one level's memberships so that ``scipy.sparse.load_npz`` reads them.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
    path : path-like
        Should end in ``.npz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy.sparse import csr_array, load_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "memberships.npz")
    ...     memberships_to_npz(csr_array([[0.5, 0.5], [0.0, 1.0]]), path)
    ...     load_npz(path).toarray()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    write_atomic(path, lambda file: save_npz(file, memberships))


def point_columns(
    names: Sequence[Any], levels: Sequence[SoftClusters], cluster_names: Mapping[str, str] | None = None
) -> dict[str, Sequence[Any]]:
    """List the name of every point, and its likeliest cluster, the probability of that and the entropy.

    Cluster 17 of level 0 is the tree's node ``"0-17"``. Entropies are in nats.

    Parameters
    ----------
    names : sequence of n
    levels : sequence of SoftClusters
        Finest first.
    cluster_names : mapping of str to str, optional
        Names of clusters, by their ids. A level of which any has a name gets a column of them, with ids for
        the others.

    Examples
    --------
    >>> from graphsoft.methods import Clustering
    >>> found = Clustering(csr_array([[0.0, 1.0], [1.0, 0.0]]), (), "by hand")
    >>> for title, column in point_columns(["a", "b"], [found]).items():
    ...     print(title, list(column))
    point ['a', 'b']
    level_0 [np.int32(1), np.int32(0)]
    probability_0 [np.float64(1.0), np.float64(1.0)]
    entropy_0 [np.float64(0.0), np.float64(0.0)]
    """
    columns: dict[str, Any] = {"point": list(names)}
    for number, level in enumerate(levels):
        columns[f"level_{number}"] = level.labels
        ids = [f"{number}-{cluster}" for cluster in range(level.memberships.shape[1])]
        if cluster_names and not cluster_names.keys().isdisjoint(ids):
            called = [cluster_names.get(id, id) for id in ids]
            columns[f"name_{number}"] = [called[label] for label in level.labels]
        columns[f"probability_{number}"] = largest_shares(level.memberships)
        columns[f"entropy_{number}"] = level.entropy
    return columns


def cluster_columns(
    tree: Tree, masses: Sequence[Array], heights: Mapping[str, float], names: Mapping[str, str]
) -> dict[str, Any]:
    """List what the tree says of all clusters, level by level.

    Parameters
    ----------
    tree : Tree
    masses : sequence of ndarray of shape (m,)
        Of the clusters of each level.
    heights : mapping of str to float
        Of each cluster, by its id.
    names : mapping of str to str
    """
    nodes = [node for node in tree.nodes if node.level < len(masses)]
    with np.errstate(invalid="ignore"):  # of a graph without edges
        shares = [mass / mass.sum() for mass in masses]
    above = [node.parents[0] if node.level < len(masses) - 1 else ("", 1.0) for node in nodes]
    return {
        "id": [node.id for node in nodes],
        "name": [names.get(node.id, node.id) for node in nodes],
        "level": np.array([node.level for node in nodes]),
        "number": np.array([node.index for node in nodes]),
        "parent": [parent for parent, _ in above],
        "probability": np.array([chance for _, chance in above]),
        "size": np.array([node.size for node in nodes]),
        "mass": np.concatenate(list(masses)),
        "share": np.concatenate(shares),
        "height": np.array([heights[node.id] for node in nodes]),
    }
