"""Results go where scanpy looks for them: categories in `obs`, memberships in `obsm`, the tree in `uns`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.linalg.memberships import entropies, likeliest
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["forget", "holds_hierarchy", "level_key", "write_hierarchy", "write_memberships"]

MAX_LEAVES = 300  # nobody reads a larger dendrogram, and SciPy's recursion would fail for much larger ones


def level_key(key: str, level: int) -> str:
    """Name what belongs to a level.

    Examples
    --------
    >>> level_key("graphsoft", 0)
    'graphsoft_level_0'
    """
    return f"{key}_level_{level}"


def holds_hierarchy(adata: Any, key: str) -> bool:
    """Tell whether a hierarchy was written with this key."""
    return key in adata.uns and "tree" in adata.uns[key]


def forget(adata: Any, key: str) -> None:
    """Remove an earlier result with this key, which may have more levels."""
    if not holds_hierarchy(adata, key):
        return
    params = adata.uns.pop(key)["params"]
    for name in (level_key(key, level) for level in range(len(params["levels"]))):
        for held, kept in ((adata.obs, name), (adata.obs, f"{name}_entropy"), (adata.obsm, name)):
            if kept in held:
                del held[kept]
        adata.uns.pop(f"dendrogram_{name}", None)


def write_hierarchy(adata: Any, key: str, h: Hierarchy, params: dict[str, Any]) -> None:
    """Write all levels, the tree, and what must be known to place new cells."""
    import pandas as pd

    for number, level in enumerate(h):
        name = level_key(key, number)
        ids = write_memberships(adata, name, number, level.memberships)
        if 2 <= len(ids) <= MAX_LEAVES:
            upper = replace(h, levels=h.levels[number:], cluster_names={})
            adata.uns[f"dendrogram_{name}"] = _dendrogram(name, ids, upper.to_linkage(), level.memberships)
    clusters = h.tree.nodes[: sum(h.tree.level_sizes)]
    tree = pd.DataFrame(
        {
            "level": [node.level for node in clusters],
            "parent": [node.parent if node.level < len(h) - 1 else "" for node in clusters],
            "mass": [node.mass for node in clusters],
            "size": [node.size for node in clusters],
        },
        index=pd.Index([node.id for node in clusters], name="id"),
    )
    parents = {f"level_{at}": _matrix(each.parents) for at, each in enumerate(h) if each.parents is not None}
    adata.uns[key] = {"params": params, "tree": tree, "parents": parents}


def write_memberships(adata: Any, name: str, level: int, memberships: sp.csr_array) -> list[str]:
    """Write one level of old or new cells, and return the ids of its clusters."""
    import pandas as pd

    ids = [f"{level}-{cluster}" for cluster in range(memberships.shape[1])]
    adata.obs[name] = pd.Categorical.from_codes(likeliest(memberships), categories=ids)
    adata.obs[f"{name}_entropy"] = entropies(memberships)
    adata.obsm[name] = _matrix(memberships)
    return ids


def _matrix(matrix: sp.csr_array) -> sp.csr_matrix:
    """Copy a result, which is read-only, to the kind of matrix that AnnData objects hold."""
    return sp.csr_matrix(matrix, copy=True)


def _dendrogram(name: str, ids: list[str], linkage: Array, memberships: sp.csr_array) -> dict[str, Any]:
    """Describe a linkage of clusters as ``sc.tl.dendrogram`` does."""
    from scipy.cluster.hierarchy import dendrogram

    drawn = dendrogram(linkage, labels=ids, no_plot=True)
    return {
        "linkage": linkage,
        "groupby": [name],
        "categories_ordered": drawn["ivl"],
        "categories_idx_ordered": drawn["leaves"],
        "dendrogram_info": drawn,
        "correlation_matrix": _correlations(memberships),
    }


def _correlations(memberships: sp.csr_array) -> Array:
    """Correlate the memberships of each two clusters over the cells.

    Examples
    --------
    >>> _correlations(sp.csr_array([[1.0, 0.0], [0.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    means = memberships.mean(axis=0)
    together = (memberships.T @ memberships).toarray() / memberships.shape[0] - np.outer(means, means)
    deviations = np.sqrt(together.diagonal().clip(np.finfo(np.float64).tiny))
    correlations: Array = (together / np.outer(deviations, deviations)).clip(-1.0, 1.0)
    return correlations
