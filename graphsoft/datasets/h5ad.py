"""The reader of h5ad files, by anndata: of such a file only the parts that are needed are read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from graphsoft.datasets.asked import Asked
from graphsoft.datasets.byte_limit import ByteLimit
from graphsoft.datasets.columns import column_called, columns_called
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.text import as_labels
from graphsoft.errors import InputError, imported
from graphsoft.input.sparse_input import matrix_of_parts

__all__ = ["read_h5ad"]

INSTALL = "'graphsoft[anndata]'"


def read_h5ad(path: Path, asked: Asked) -> Dataset:
    """Read one part of an AnnData: X, an array of obsm, or a graph of obsp."""
    read_elem = imported("anndata.io", "h5ad", INSTALL).read_elem
    part = "X" if asked.obsm is None and asked.obsp is None else "obsm" if asked.obsp is None else "obsp"
    with imported("h5py", "h5ad", INSTALL).File(path) as file:
        if "obs" not in file or part not in file:
            raise InputError(
                "path", f"{path.name!r} has no obs or no {part}", "give a file that anndata wrote"
            )
        found = file[part] if part == "X" else _chosen(file[part], part, asked.obsm or asked.obsp)
        needed = [found, file["obs"], *([file["var"]] if part == "X" else [])]
        asked.limit.check(sum(map(_bytes_of, needed)))
        data = _matrix(found, asked.limit) if _is_sparse(found) else read_elem(found)
        obs = read_elem(file["obs"])
        columns = tuple(map(str, read_elem(file["var"]).index)) if part == "X" else None
    if part == "obsp":
        if asked.columns is not None or asked.drop is not None:
            raise InputError("columns", "are not there in a graph", "leave them out")
        return Dataset(csr_array(data), _labels(obs, asked), tuple(obs.index), "precomputed")
    data = csr_array(data) if issparse(data) else np.asarray(data)
    data, columns = _columns(data, columns, asked)
    return Dataset(data, _labels(obs, asked), tuple(obs.index), "features", columns=columns)


def _chosen(group: Any, part: str, key: str | None) -> Any:
    if key not in group:
        held = ", ".join(map(repr, group)) or "none"
        raise InputError(part, f"there is no {key!r}", f"choose one of those in the file: {held}")
    return group[key]


def _bytes_of(element: Any) -> int:
    """Count what all arrays of an element hold; HDF5 stores none of it where it is the same throughout."""
    if hasattr(element, "nbytes"):
        return int(element.nbytes)
    found: list[int] = []
    element.visititems(lambda _, each: found.append(int(getattr(each, "nbytes", 0))))
    return sum(found)


def _is_sparse(element: Any) -> bool:
    return element.attrs.get("encoding-type") in ("csr_matrix", "csc_matrix")


def _matrix(group: Any, limit: ByteLimit) -> csr_array:
    """Make a matrix of its parts, which may say anything."""
    arrays = {name: group[name][()] for name in ("data", "indices", "indptr")}
    shape = tuple(int(length) for length in group.attrs["shape"])
    limit.check(8 * shape[0])  # a pointer for each row
    format = group.attrs["encoding-type"].removesuffix("_matrix")
    return matrix_of_parts(SimpleNamespace(format=format, shape=shape, **arrays), "path")


def _labels(obs: Any, asked: Asked) -> Any:
    if asked.labels is None:
        return None
    known = obs.iloc[:, column_called(asked.labels, list(obs.columns), "labels")]
    return as_labels(known.tolist(), asked.limit)


def _columns(data: Any, titles: tuple[str, ...] | None, asked: Asked) -> tuple[Any, tuple[str, ...] | None]:
    """Choose columns by the names of the variables; arrays of obsm have none."""
    argument = "columns" if asked.columns is not None else "drop"
    wanted = getattr(asked, argument)
    if wanted is None:
        return data, titles
    if titles is None:
        raise InputError(argument, "has no meaning for obsm, whose columns have no titles", "leave it out")
    numbers = columns_called(wanted, titles, argument)
    if argument == "drop":
        left_out = set(numbers)
        numbers = [number for number in range(len(titles)) if number not in left_out]
    if not numbers and argument == "drop":
        raise InputError(argument, "leaves no columns", "keep at least one")
    return data[:, numbers], tuple(titles[number] for number in numbers)
