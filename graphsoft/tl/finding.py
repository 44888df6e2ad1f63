"""The public function `tl.hierarchy`: clusters of the cells of an AnnData object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.errors import InputError
from graphsoft.levels import hierarchy as find_hierarchy
from graphsoft.tl.cells import (
    METRIC,
    N_NEIGHBORS,
    check_cells,
    check_writable,
    choose_graph,
    naming,
    place_of,
    points_in,
)
from graphsoft.tl.writing import forget, holds_hierarchy, write_hierarchy

__all__ = ["hierarchy"]


def hierarchy(
    adata: Any,
    levels: int | Sequence[int] | str,
    *,
    key_added: str = "graphsoft",
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
    copy: bool = False,
) -> Any:
    """Find a hierarchy of soft clusters of cells.

    Parameters
    ----------
    adata : AnnData
        Cells with a graph, as ``sc.pp.neighbors`` makes it. It may be backed by a file.
    levels : int, sequence of int, or "auto"
        How many clusters each level has, as in :func:`graphsoft.hierarchy`.
    key_added : str
        The keys of everything that is written begin with it.
    neighbors_key : str, optional
        The ``key_added`` of ``sc.pp.neighbors``.
    obsp : str, optional
        Take the graph ``adata.obsp[obsp]`` instead.
    use_rep : str, optional
        Take no graph that is there, but join cells to their 10 nearest in ``adata.obsm[use_rep]``, or in
        ``"X"``.
    copy : bool
        Change a copy, and return it.

    Returns
    -------
    None or AnnData
        For each level n, of which 0 is the finest, and ``key_added="graphsoft"``:

        - ``obs["graphsoft_level_n"]``: the likeliest clusters, categorical; ids such as ``"0-17"``
        - ``obs["graphsoft_level_n_entropy"]``: how torn each cell is, in nats
        - ``obsm["graphsoft_level_n"]``: ``p(cluster | cell)``, sparse; the rows sum to one
        - ``uns["dendrogram_graphsoft_level_n"]``: what ``sc.pl.dendrogram`` and other plots draw, for
          levels of 2 to 300 clusters

        ``uns["graphsoft"]`` holds ``params``; ``tree``, a data frame of the clusters with their likeliest
        parents; and ``parents``, for each level but the top one ``p(parent | cluster)``.

    See Also
    --------
    graphsoft.tl.predict : clusters of new cells.

    Examples
    --------
    >>> import graphsoft
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> cells = AnnData(np.r_[0.0:20.0, 80.0:90.0][:, None])
    >>> graphsoft.tl.hierarchy(cells, levels=[2], use_rep="X")
    >>> cells.obs["graphsoft_level_0"].value_counts().to_dict()
    {'0-0': 20, '0-1': 10}
    """
    check_cells("adata", adata)
    check_writable(adata, copy)
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise InputError("key_added", f"got {key_added!r}", "pass a text without '/'")
    if key_added in adata.uns and not holds_hierarchy(adata, key_added):
        raise InputError("key_added", f"adata.uns[{key_added!r}] holds something else", "choose another")
    if use_rep is not None:
        if obsp is not None or neighbors_key is not None:
            other = "neighbors_key" if obsp is None else "obsp"
            raise InputError("use_rep", f"is given together with {other}", "leave out one of them")
        data, place = points_in(adata, "adata", use_rep), f"adata.{place_of(use_rep)}"
        made_of, affinity = {"use_rep": use_rep, "n_neighbors": N_NEIGHBORS, "metric": METRIC}, "features"
    else:
        key, made_of = choose_graph(adata, neighbors_key, obsp)
        data, place = adata.obsp[key], f"adata.obsp[{key!r}]"
        made_of, affinity = {"graph": key, **made_of}, "precomputed"
    with naming(place):
        found = find_hierarchy(data, levels, affinity=affinity, n_neighbors=N_NEIGHBORS, metric=METRIC)
    adata = adata.copy() if copy else adata
    forget(adata, key_added)
    write_hierarchy(adata, key_added, found, {"levels": np.array(found.settings.levels), **made_of})
    return adata if copy else None
