"""The public function `tl.predict`: clusters of new cells, by those of a reference."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from graphsoft.errors import InputError
from graphsoft.graph.features import checked_features
from graphsoft.graph.joining import joined_to_nearest
from graphsoft.input.checks import choice, integer
from graphsoft.input.memberships import check_memberships
from graphsoft.neighbors.nearest import METRICS
from graphsoft.result.prediction import fallback_memberships, new_memberships, reference_of
from graphsoft.tl.cells import (
    METRIC,
    N_NEIGHBORS,
    check_cells,
    check_variables,
    check_writable,
    naming,
    place_of,
    points_in,
    projected,
)
from graphsoft.tl.writing import forget, holds_hierarchy, level_key, write_memberships

__all__ = ["predict"]

WEIGHTS = "local-scaling"  # as in `graphsoft.knn_graph`


def predict(
    adata: Any,
    reference: Any,
    *,
    key_added: str = "graphsoft",
    use_rep: str | None = None,
    copy: bool = False,
) -> Any:
    """Find the clusters of new cells.

    Every new cell takes one step to its nearest cells of the reference, and goes on from there to their
    clusters.

    Parameters
    ----------
    adata : AnnData
        The new cells. They may be none of the reference's or some of them, and may be backed by a file.
    reference : AnnData
        Cells with a hierarchy by :func:`graphsoft.tl.hierarchy`; it may have been saved and read again.
    key_added : str
        The key of this hierarchy. What is written has the same key.
    use_rep : str, optional
        The ``obsm`` in which cells are compared, or ``"X"``; both must have it, and it must mean the same in
        both. By default it is that in which the reference's graph was made. Where this is a PCA, new cells
        are projected from X by the loadings of the reference, so prepare X like that of the reference.
    copy : bool
        Change a copy, and return it.

    Returns
    -------
    None or AnnData
        With the ``obs`` and ``obsm`` that :func:`graphsoft.tl.hierarchy` writes.

    Examples
    --------
    >>> import graphsoft
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> cells = AnnData(np.r_[0.0:20.0, 80.0:90.0][:, None])
    >>> graphsoft.tl.hierarchy(cells, levels=[2], use_rep="X")
    >>> new = AnnData(np.array([[7.5], [84.5]]))
    >>> graphsoft.tl.predict(new, cells)
    >>> new.obs["graphsoft_level_0"].tolist()
    ['0-0', '0-1']
    """
    check_cells("adata", adata)
    check_cells("reference", reference)
    check_writable(adata, copy)
    params, memberships, parents = _found_in(reference, key_added)
    metric = choice("reference", params.get("metric", METRIC), METRICS)
    n_neighbors = integer("reference", params.get("n_neighbors", N_NEIGHBORS), 1)
    old, new, place = _points(adata, reference, params, use_rep)
    with naming(f"reference.{place}"):
        features = checked_features(old, metric)
        graph = joined_to_nearest(features, n_neighbors, WEIGHTS, "union", None, None)
    known = reference_of(graph, features, n_neighbors, WEIGHTS, memberships[0])
    with naming(f"adata.{place}"):
        step = known.step(known.rows(new))
    fallbacks = fallback_memberships(graph, memberships, parents)
    adata = adata.copy() if copy else adata
    forget(adata, key_added)
    for level, (shares, fallback) in enumerate(zip(memberships, fallbacks, strict=True)):
        name = level_key(key_added, level)
        write_memberships(adata, name, level, new_memberships(step, shares, fallback))
        if f"{name}_colors" in reference.uns:
            adata.uns[f"{name}_colors"] = reference.uns[f"{name}_colors"]
    return adata if copy else None


def _found_in(reference: Any, key: str) -> tuple[dict[str, Any], list[sp.csr_array], list[sp.csr_array]]:
    """Read parameters, memberships and parents of what was found in the reference."""
    if not holds_hierarchy(reference, key):
        remedy = "run graphsoft.tl.hierarchy(reference, levels) first, or pass the key that it was given"
        raise InputError("key_added", f"there is no hierarchy reference.uns[{key!r}]", remedy)
    params, parents = reference.uns[key]["params"], reference.uns[key]["parents"]
    memberships = []
    for name in (level_key(key, level) for level in range(len(params["levels"]))):
        if name not in reference.obsm:
            problem = f"has no obsm[{name!r}], which belongs to its uns[{key!r}]"
            raise InputError("reference", problem, "run graphsoft.tl.hierarchy(reference, levels) again")
        memberships.append(sp.csr_array(reference.obsm[name]))
        check_memberships(memberships[-1], "reference")
    return params, memberships, [sp.csr_array(parents[f"level_{at}"]) for at in range(len(memberships) - 1)]


def _points(adata: Any, reference: Any, params: dict[str, Any], use_rep: str | None) -> tuple[Any, Any, str]:
    """Find old and new cells in one space; return them with the name of the place."""
    if use_rep is None and "use_rep" not in params:
        problem = f"is missing: it is not known of what reference.obsp[{params.get('graph')!r}] was made"
        remedy = "name an obsm that both have, such as use_rep='X_pca', or tell sc.pp.neighbors its use_rep"
        raise InputError("use_rep", problem, remedy)
    key = use_rep or params["use_rep"]
    columns = None if use_rep else params.get("n_pcs")
    place = place_of(key)
    if key == "X":
        check_variables(adata, reference)
    old = points_in(reference, "reference", key, columns)
    new = None if use_rep else projected(adata, reference, key)
    if new is None:
        return old, points_in(adata, "adata", key, columns), place
    return old, new[:, :columns], place
