"""What an AnnData object holds: the graph of its cells, and where the cells lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, imported, shown

__all__ = [
    "METRIC",
    "N_NEIGHBORS",
    "check_cells",
    "check_variables",
    "check_writable",
    "choose_graph",
    "naming",
    "place_of",
    "points_in",
    "projected",
]

# Where scanpy's neighbors lie unless told otherwise: in its components, whose loadings have the second name,
# or in X if it has few variables.
COMPONENTS, FEW_VARIABLES = {"pca": "pca", "X_pca": "PCs"}, 50
N_NEIGHBORS, METRIC = 10, "euclidean"  # where cells are joined here
# So many cells tell how the reference was centered. Fast solvers leave late components inexact.
PROBES, INEXACT = 1000, 0.2
# Cells that are projected at a time.
CELLS_PER_BLOCK = 10_000


def check_cells(argument: str, given: Any) -> None:
    """Refuse anything but an AnnData object."""
    if not isinstance(given, imported("anndata", "graphsoft.tl", "'graphsoft[anndata]'").AnnData):
        remedy = "pass an AnnData object, or call graphsoft.hierarchy"
        raise InputError(argument, f"got {shown(given)}", remedy)


def check_writable(adata: Any, copy: bool) -> None:
    """Refuse, before the long work, what anndata could only do with another file."""
    if adata.isbacked and (copy or adata.is_view):
        problem = "is a view of a file" if adata.is_view else "is backed by a file, and copy=True"
        raise InputError("adata", problem, "pass adata.to_memory()")


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Call X by the place in the AnnData object that it comes from.

    Examples
    --------
    >>> with naming("adata.obsp['distances']"):
    ...     raise InputError("X", "is not symmetric", "pass connectivities")
    Traceback (most recent call last):
    graphsoft.errors.InputError: adata.obsp['distances']: is not symmetric. Remedy: pass connectivities.
    """
    try:
        yield
    except InputError as error:
        argument = place if error.argument == "X" else error.argument
        raise InputError(argument, error.problem, error.remedy) from error


def choose_graph(adata: Any, neighbors_key: str | None, obsp: str | None) -> tuple[str, dict[str, Any]]:
    """Choose a graph as scanpy does.

    Returns
    -------
    str
        Its key in ``adata.obsp``.
    dict
        Of what it was made, as far as that is known: `use_rep`, `n_pcs`, `n_neighbors`, `metric`.
    """
    if obsp is not None:
        if neighbors_key is not None:
            raise InputError("obsp", "is given together with neighbors_key", "leave out one of them")
        if obsp not in adata.obsp:
            raise InputError("obsp", f"there is no adata.obsp[{obsp!r}]", _listed("name", adata.obsp))
        return obsp, {}
    if neighbors_key is not None and neighbors_key not in adata.uns:
        remedy = f"run sc.pp.neighbors(adata, key_added={neighbors_key!r})"
        raise InputError("neighbors_key", f"there is no adata.uns[{neighbors_key!r}]", remedy)
    found = adata.uns.get(neighbors_key or "neighbors", {})
    key = found.get("connectivities_key", "connectivities")
    if key not in adata.obsp:
        remedy = "run sc.pp.neighbors(adata), or pass use_rep='X_pca'"
        raise InputError("adata", f"has no graph of neighbors in obsp[{key!r}]", remedy)
    return key, _made_of(adata, found["params"]) if "params" in found else {}


def _made_of(adata: Any, params: Any) -> dict[str, Any]:
    """Read from scanpy's parameters of neighbors where they were sought; what is not said is its default."""
    made = {
        "n_neighbors": int(np.ravel(params["n_neighbors"])[0]),  # older files hold it in an array
        "metric": str(params.get("metric", "euclidean")),
    }
    components = None if params.get("n_pcs") is None else int(params["n_pcs"])
    found = [key for key in COMPONENTS if key in adata.obsm]
    if "use_rep" in params:
        made["use_rep"] = str(params["use_rep"])
    elif components == 0 or adata.n_vars <= FEW_VARIABLES:
        made["use_rep"] = "X"
    elif len(found) == 1:  # of two, versions of scanpy take different ones
        made["use_rep"] = found[0]
    return made if components is None or made.get("use_rep") == "X" else made | {"n_pcs": components}


def place_of(key: str) -> str:
    """Say where points lie in an AnnData object.

    Examples
    --------
    >>> place_of("X"), place_of("X_pca")
    ('X', "obsm['X_pca']")
    """
    return "X" if key == "X" else f"obsm[{key!r}]"


def points_in(adata: Any, argument: str, key: str, columns: int | None = None) -> Any:
    """Take the rows of ``adata.obsm[key]``, or of X."""
    if key == "X":
        return adata[:].X if adata.isbacked else adata.X
    if key not in adata.obsm:
        problem = f"there is no obsm[{key!r}] in {argument}"
        raise InputError("use_rep", problem, _listed("name 'X' or", adata.obsm))
    return adata.obsm[key] if columns is None else adata.obsm[key][:, :columns]


def _listed(verb: str, keys: Any) -> str:
    return f"{verb} one of {', '.join(map(repr, keys))}" if len(keys) else "compute it first"


def projected(adata: Any, reference: Any, key: str) -> Array | None:
    """Project new cells to the components of the reference, or return None if it has no loadings of them.

    Components that new cells have of their own are other ones. How the reference was centered shows in its
    own components, also if it is only a part of the cells that these were found in.
    """
    name = COMPONENTS.get(key, key)
    if name not in reference.varm:
        return None
    check_variables(adata, reference)
    # older versions of scanpy wrote NaN for variables that were left out
    # products of other layouts may have other last bits, and files come back in another one
    loadings = np.nan_to_num(np.ascontiguousarray(reference.varm[name]))
    known = np.asarray(points_in(reference, "reference", key)[:PROBES])
    shifts = _products(reference, len(known), loadings) - known
    center = shifts.mean(axis=0)
    if not np.linalg.norm(shifts - center) <= INEXACT * np.linalg.norm(known):
        problem = f"its obsm[{key!r}] is not what its varm[{name!r}] makes of its X, which was changed since"
        raise InputError("reference", problem, "keep the X of the PCA, or pass use_rep= of what both have")
    scores: Array = (_products(adata, adata.n_obs, loadings) - center).astype(known.dtype)
    return scores


def check_variables(adata: Any, reference: Any) -> None:
    """Refuse new cells with other variables, or with the same in another order."""
    if not adata.var_names.equals(reference.var_names):
        remedy = "pass adata[:, reference.var_names], or use_rep= of what both have"
        raise InputError("adata", "does not have the variables of the reference in the same order", remedy)


def _products(adata: Any, cells: int, loadings: Array) -> Array:
    """Multiply the first rows of X, which may be on disk, block by block."""
    blocks = [np.empty((0, loadings.shape[1]))]
    for start in range(0, cells, CELLS_PER_BLOCK):
        rows = adata[start : min(start + CELLS_PER_BLOCK, cells)].X
        rows = rows if sp.issparse(rows) else np.ascontiguousarray(rows)
        blocks.append(np.asarray(rows @ loadings))
    return np.concatenate(blocks)
