"""Values that JSON does not know, and sparse matrices, on the way into a file and out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown

__all__ = ["Packer", "Unpacker", "pack_names", "pack_value", "unpack_names", "unpack_value"]

PARTS, KINDS = ("data", "indices", "indptr"), ("f", "i", "i")  # of a CSR matrix, and their types
# Values that are written as text, and how they are read again.
WRITTEN: dict[type, Callable[[Any], str]] = {
    float: str,
    bytes: bytes.hex,
    Fraction: str,
    datetime: datetime.isoformat,
    date: date.isoformat,
}
READ: dict[str, Callable[[str], Any]] = {
    "float": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
    "bytes": bytes.fromhex,
    "fraction": Fraction,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
}


def pack_value(value: Any, argument: str) -> Any:
    """Write a value so that JSON can hold it: names of nodes, labels, settings.

    Examples
    --------
    >>> pack_value(("a", 1, None), "nodes")
    {'tuple': ['a', 1, None]}
    >>> pack_value({1}, "nodes")
    Traceback (most recent call last):
    graphsoft.errors.InputError: nodes: {1} cannot be saved, it is a set. Remedy: use texts or numbers.
    """
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind in (tuple, frozenset):
        packed = [pack_value(each, argument) for each in value]
        return {kind.__name__: packed if kind is tuple else sorted(packed, key=repr)}
    if kind not in WRITTEN:
        remedy = "use texts or numbers"
        raise InputError(argument, f"{shown(value)} cannot be saved, it is a {kind.__name__}", remedy)
    return {kind.__name__.lower(): WRITTEN[kind](value)}


def unpack_value(packed: Any) -> Any:
    """Read what `pack_value` wrote.

    Examples
    --------
    >>> unpack_value({"tuple": ["a", {"float": "inf"}]})
    ('a', inf)
    """
    if isinstance(packed, list):
        raise ValueError("a list where a value is expected")
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind in ("tuple", "frozenset"):
        parts = [unpack_value(each) for each in content]
        return tuple(parts) if kind == "tuple" else frozenset(parts)
    return READ[kind](content)


def pack_names(names: Sequence[Any]) -> Any:
    """Write the names of points; row numbers are not written one by one.

    Examples
    --------
    >>> pack_names(range(1000)), pack_names(("a", "b"))
    ({'range': 1000}, ['a', 'b'])
    """
    if names == range(len(names)):
        return {"range": len(names)}
    return [pack_value(name, "nodes") for name in names]


def unpack_names(packed: Any) -> Sequence[Any]:
    """Read what `pack_names` wrote."""
    if isinstance(packed, dict):
        count = packed["range"]
        if type(count) is not int or count < 0:
            raise ValueError("not a number of names")
        return range(count)
    return tuple(unpack_value(name) for name in packed)


class Packer:
    """Collects the arrays of a file; what it returns goes into the description."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def array(self, name: str, values: Array) -> str:
        """Add an array, and return its name."""
        self.arrays[name] = values
        return name

    def matrix(self, name: str, matrix: sp.csr_array) -> dict[str, Any]:
        """Add a CSR matrix."""
        for part in ("data", "indices", "indptr"):
            self.array(f"{name}/{part}", getattr(matrix, part))
        return {"name": name, "shape": list(matrix.shape)}


class Unpacker:
    """Hands out the arrays of a file, by what `Packer` returned."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def array(self, name: Any, kinds: str, dimensions: int = 1) -> Array:
        """Take an array; `kinds` are the letters of the types that it may have."""
        values = self.arrays[name]
        if values.dtype.kind not in kinds or values.ndim != dimensions:
            raise ValueError(f"{name} is not what it should be")
        return values

    def matrix(self, packed: Any) -> sp.csr_array:
        """Take a CSR matrix. Whether its indices are in order is for the caller to check."""
        name, (rows, columns) = packed["name"], packed["shape"]
        parts = [self.array(f"{name}/{part}", kinds) for part, kinds in zip(PARTS, KINDS, strict=True)]
        return sp.csr_array(tuple(parts), shape=(rows, columns))
