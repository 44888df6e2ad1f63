"""Records of plain values, field by field, on the way into a file and out of it.

Fields are checked in both directions: what could not be read again is not written, and what somebody wrote
into a file by hand is not believed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphsoft.errors import InputError, shown
from graphsoft.storage.packing import pack_value, unpack_value

__all__ = [
    "are_number_pairs",
    "are_numbers",
    "are_pairs",
    "are_texts",
    "are_whole",
    "is_flag",
    "is_number",
    "is_number_or_none",
    "is_text",
    "is_whole",
    "is_whole_or_none",
    "pack_record",
    "unpack_record",
]

Checks = Mapping[str, Callable[[Any], bool]]  # for each field, whether a value fits


def pack_record(record: Any, checks: Checks, argument: str) -> dict[str, Any]:
    """Describe these fields of a record, and refuse values that do not fit.

    Examples
    --------
    >>> pack_record(slice(0, 5), {"start": is_whole, "stop": is_whole}, "h")
    {'start': 0, 'stop': 5}
    """
    packed = {}
    for name, fits in checks.items():
        value = getattr(record, name)
        if not fits(value):
            remedy = "leave results as they were, or find them again"
            raise InputError(argument, f"has {shown(value)} as {name}", remedy)
        packed[name] = pack_value(value, name)
    return packed


def unpack_record(packed: dict[str, Any], checks: Checks) -> dict[str, Any]:
    """Read the fields that `pack_record` wrote; those that an older version did not know are left out.

    Examples
    --------
    >>> unpack_record({"start": 0}, {"start": is_whole, "stop": is_whole})
    {'start': 0}
    """
    values = {name: unpack_value(packed[name]) for name in checks if name in packed}
    for name, value in values.items():
        if not checks[name](value):
            raise ValueError(f"{name} is not what it should be")
    return values


def is_text(value: Any) -> bool:
    """Tell whether a value is a text."""
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    """Tell whether a value is true or false."""
    return isinstance(value, bool | np.bool_)


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, numbers.Integral) and not is_flag(value)


def is_whole_or_none(value: Any) -> bool:
    """Tell whether a value is a whole number or None."""
    return value is None or is_whole(value)


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number, perhaps infinite or NaN."""
    return isinstance(value, float | np.floating) or is_whole(value)


def is_number_or_none(value: Any) -> bool:
    """Tell whether a value is a real number or None."""
    return value is None or is_number(value)


def are_texts(values: Any) -> bool:
    """Tell whether a value is a tuple of texts."""
    return isinstance(values, tuple) and all(map(is_text, values))


def are_whole(values: Any) -> bool:
    """Tell whether a value is a tuple of whole numbers."""
    return isinstance(values, tuple) and all(map(is_whole, values))


def are_numbers(values: Any) -> bool:
    """Tell whether a value is a tuple of real numbers."""
    return isinstance(values, tuple) and all(map(is_number, values))


def are_pairs(values: Any) -> bool:
    """Tell whether a value is a tuple of pairs."""
    return isinstance(values, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in values)


def are_number_pairs(values: Any) -> bool:
    """Tell whether a value is a tuple of pairs of numbers."""
    return are_pairs(values) and all(are_numbers(pair) for pair in values)
