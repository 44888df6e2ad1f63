"""Tables of other libraries as NumPy arrays: polars, pyarrow, xarray, PyTorch, CuPy and what else has DLPack.

They are known by what they can do, so none of these libraries is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.large_numbers import EXACT

__all__ = ["array_of", "names_of_columns", "unwrapped"]

ON_CPU = 1  # the number of this device in DLPack
NOT_READ = (BufferError, RuntimeError, TypeError, ValueError)


def unwrapped(data: Any, argument: str) -> Any:
    """Return the array in a container that NumPy cannot read, or not without loss; else `data` itself.

    Parameters
    ----------
    data : object
        Frames are read column by column, so that whole numbers stay whole beside other columns. Tensors and
        arrays of other devices come as they are, by DLPack, and are copied to the CPU if they must be.
    argument : str
        The name to use in errors.

    Examples
    --------
    >>> unwrapped([[1, 2]], "X")
    [[1, 2]]
    """
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "data_vars"):  # xarray.Dataset
        return _of_variables(data, argument)
    if hasattr(data, "get_columns") or hasattr(data, "itercolumns"):  # polars; pyarrow
        columns = data.get_columns() if hasattr(data, "get_columns") else data.itercolumns()
        names = names_of_columns(data) or ()
        read = [_of_column(column, name, argument) for column, name in zip(columns, names, strict=True)]
        return _side_by_side(read, len(data))
    if hasattr(data, "collect_schema"):  # polars.LazyFrame
        raise InputError(argument, f"is a {type(data).__name__}, not yet computed", "pass X.collect()")
    if hasattr(data, "dims") and hasattr(data, "to_numpy"):  # xarray.DataArray
        return data.to_numpy()
    if hasattr(data, "__dlpack__") and not hasattr(data, "to_numpy"):
        return _by_dlpack(data, argument)
    if hasattr(data, "__cuda_array_interface__"):
        problem = f"is a {type(data).__name__} on a graphics card"
        raise InputError(argument, problem, "copy it first, for example with X.get() or X.copy_to_host()")
    return data


def array_of(values: Any, argument: str, remedy: str) -> Array:
    """Read anything as an array; an object of the caller's own may raise any error.

    Examples
    --------
    >>> array_of([[1], [2, 3]], "labels", "give one for each point")
    Traceback (most recent call last):
    graphsoft.errors.InputError: labels: got [[1], [2, 3]]. Remedy: give one for each point.
    """
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(argument, f"got {shown(values)}", remedy) from error


def names_of_columns(data: Any) -> Sequence[Any] | None:
    """Return what a table calls its columns; None if it has no names for them.

    Examples
    --------
    >>> import pandas as pd
    >>> names_of_columns(pd.DataFrame({"height": [1.0]})), names_of_columns([[1.0]])
    (['height'], None)
    """
    if hasattr(data, "data_vars"):
        return list(data.data_vars)
    if hasattr(data, "column_names"):
        return list(data.column_names)
    if hasattr(data, "dims") and hasattr(data, "coords"):
        known = len(data.dims) == 2 and data.dims[1] in data.coords
        return data.coords[data.dims[1]].to_numpy().tolist() if known else None
    columns = getattr(data, "columns", None)
    return None if columns is None else list(columns)


def _of_column(column: Any, name: Any, argument: str) -> Array:
    array = np.asarray(column)
    if array.dtype.kind in "mM":  # which would become whole numbers beside other columns
        problem = f"holds dates or time spans in column {name!r}"
        raise InputError(argument, problem, "convert them to real numbers first, or drop them")
    if array.ndim == 1:
        return array
    lists = np.empty(len(array), dtype=object)  # a list in every cell, refused with its place later
    lists[:] = list(array)
    return lists


def _of_variables(data: Any, argument: str) -> Array:
    shapes = {name: variable.dims for name, variable in data.data_vars.items()}
    if len(set(shapes.values())) > 1 or any(len(dims) != 1 for dims in shapes.values()):
        named = ", ".join(f"{name!r} {dims}" for name, dims in list(shapes.items())[:3])
        problem = f"has variables that are not columns of one table: {named}"
        raise InputError(argument, problem, "pass one of them, or X.to_dataarray('feature').T")
    columns = [_of_column(variable, name, argument) for name, variable in data.data_vars.items()]
    return _side_by_side(columns, len(columns[0]) if columns else 0)


def _side_by_side(columns: Sequence[Array], rows: int) -> Array:
    """Put columns into one array, of objects where another type would round or hide what they hold."""
    if not columns:
        return np.empty((rows, 0))
    kinds = {column.dtype.kind for column in columns}
    if not kinds <= set("biuf"):
        return np.stack([column.astype(object) for column in columns], axis=1)
    rounding = np.result_type(*columns).kind == "f"
    if rounding and any(column.dtype.kind in "iu" and _beyond(column) for column in columns):
        return np.stack([column.astype(object) for column in columns], axis=1)
    return np.stack(columns, axis=1)


def _beyond(column: Array) -> bool:
    return bool(((column >= EXACT) | (column <= -EXACT)).any())


def _by_dlpack(data: Any, argument: str) -> Array:
    try:
        data = data.detach() if hasattr(data, "detach") else data  # a tensor that records gradients
        if data.__dlpack_device__()[0] == ON_CPU:
            return np.from_dlpack(data)
        return np.from_dlpack(data, device="cpu")
    except NOT_READ as error:
        reason = str(error).split(". ")[0].strip().rstrip(".")
        remedy = "make it a dense array of float32 or float64 on the CPU, such as X.cpu().float()"
        raise InputError(argument, f"cannot be read as an array ({reason})", remedy) from error
