"""Values that JSON does not know, and sparse matrices, on the way into a file and out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from fractions import Fraction
from types import NoneType
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown

__all__ = ["Packer", "Unpacker", "pack_names", "pack_value", "unpack_names", "unpack_value"]

# Whole numbers up to this one are written as they are, larger ones in hexadecimal.
LARGEST_PLAIN = 2**63 - 1
# Python is slow with very large numbers, and follows tuples within tuples only so far.
MAX_BITS, MAX_DEPTH = 40_000, 20
# NumPy's numbers keep their types, because they are shown in another way than Python's.
NUMPY: dict[str, Any] = {
    name: np.dtype(name).type
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64",
    )
}  # fmt: skip


def pack_value(value: Any, argument: str, depth: int = 0) -> Any:
    """Write a value so that JSON can hold it: names of nodes, labels, settings.

    Examples
    --------
    >>> pack_value(("a", 1, None), "nodes"), pack_value(np.float32(0.5), "nodes")
    ({'tuple': ['a', 1, None]}, {'float32': 0.5})
    >>> pack_value({1}, "nodes")
    Traceback (most recent call last):
    graphsoft.errors.InputError: nodes: {1} cannot be saved, it is a set. Remedy: use texts or numbers.
    """
    if isinstance(value, np.str_ | np.bytes_):
        value = value.item()
    kind = type(value)
    if kind in (NoneType, bool, str):
        return value
    if kind is int and value.bit_length() <= MAX_BITS:
        return value if abs(value) <= LARGEST_PLAIN else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    return _pack_other(value, argument, depth)


def _pack_other(value: Any, argument: str, depth: int) -> Any:
    """Write a value that has no form of its own in JSON: its type, and what it is made of."""
    kind = type(value)
    if isinstance(value, np.generic) and value.dtype.name in NUMPY:
        return {value.dtype.name: pack_value(value.item(), argument)}
    if kind is Fraction:
        return {"fraction": [pack_value(part, argument) for part in value.as_integer_ratio()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is date or (kind is datetime and type(value.tzinfo) in (NoneType, timezone)):
        return {kind.__name__: value.isoformat()}
    if kind in (tuple, frozenset) and depth < MAX_DEPTH:
        parts = [pack_value(each, argument, depth + 1) for each in value]
        return {kind.__name__: parts if kind is tuple else sorted(parts, key=repr)}
    problem = f"{shown(value)} cannot be saved, it is a {kind.__name__}"
    if kind in (tuple, frozenset, int):
        problem = f"{shown(value)} cannot be saved, it is too large"
    raise InputError(argument, problem, "use texts or numbers")


def unpack_value(packed: Any, depth: int = 0) -> Any:
    """Read what `pack_value` wrote.

    Examples
    --------
    >>> unpack_value({"tuple": ["a", {"float": "inf"}]})
    ('a', inf)
    """
    if type(packed) in (NoneType, bool, int, float, str):
        return packed
    if type(packed) is not dict or depth > MAX_DEPTH:
        raise ValueError("not a value that graphsoft would write")
    ((kind, content),) = packed.items()
    if kind in NUMPY:
        number = unpack_value(content)
        if type(number) not in (bool, int, float):
            raise ValueError("not a number")
        return NUMPY[kind](number)
    if kind == "fraction":
        top, bottom = (_whole(unpack_value(part)) for part in content)
        return Fraction(top, bottom)
    if kind in ("tuple", "frozenset"):
        parts = [unpack_value(each, depth + 1) for each in content]
        return tuple(parts) if kind == "tuple" else frozenset(parts)
    return READ[kind](content)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


def _hexadecimal(text: str) -> int:
    if len(text) > MAX_BITS // 4 + len("-0x"):
        raise ValueError("a number that is too large")
    return int(text, 16)


# How values are read again that are written as text.
READ: dict[str, Callable[[str], Any]] = {
    "int": _hexadecimal,
    "float": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
    "bytes": bytes.fromhex,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
}


def pack_names(names: Sequence[Any]) -> Any:
    """Write the names of points; row numbers are not written one by one.

    Examples
    --------
    >>> pack_names(range(1000)), pack_names(("a", "b"))
    ({'range': 1000}, ['a', 'b'])
    """
    if isinstance(names, range) and names == range(len(names)):
        return {"range": len(names)}
    return [pack_value(name, "nodes") for name in names]


def unpack_names(packed: Any) -> Sequence[Any]:
    """Read what `pack_names` wrote."""
    if isinstance(packed, dict):
        count = _whole(packed["range"])
        if count < 0:
            raise ValueError("not a number of names")
        return range(count)
    if not isinstance(packed, list):
        raise ValueError("not a list of names")
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
        return {"name": name, "shape": [int(length) for length in matrix.shape]}


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
        """Take a CSR matrix of finite numbers, whose indices lie within it."""
        name, (rows, columns) = packed["name"], map(_whole, packed["shape"])
        data = self.array(f"{name}/data", "f")
        indices, indptr = (self.array(f"{name}/{part}", "i") for part in ("indices", "indptr"))
        # SciPy and compiled loops follow indices wherever they lead
        if not _is_in_order(indices, indptr, rows, columns) or len(data) != len(indices):
            raise ValueError(f"{name} has indices outside of it")
        if not np.isfinite(data).all():
            raise ValueError(f"{name} is not finite")
        matrix = sp.csr_array((data, indices, indptr), shape=(rows, columns))
        # SciPy makes indices of 64 bits narrower, but the matrix is to be as it was
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return matrix


def _is_in_order(indices: Array, indptr: Array, rows: int, columns: int) -> bool:
    """Tell whether the indices of a CSR matrix lie within it, and are of one type that SciPy knows."""
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        return False
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    if not (indptr[1:] >= indptr[:-1]).all():
        return False
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < columns)
