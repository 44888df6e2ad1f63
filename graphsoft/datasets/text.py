"""Text in files: opening it, and telling numbers, gaps and labels."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from graphsoft.datasets.byte_limit import ByteLimit

__all__ = ["GAPS", "as_labels", "is_number", "open_text"]

# Fields that say that a value is missing.
GAPS = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})


def open_text(path: Path, limit: ByteLimit) -> TextIO:
    """Open a text file, which may be compressed, and skip its byte order mark."""
    return io.TextIOWrapper(limit.opened(path), encoding="utf-8-sig", newline="")


def is_number(field: str) -> bool:
    """Tell whether a field is a number, finite or not.

    Examples
    --------
    >>> [is_number(field) for field in ("1e3", "-.5", "nan", "1_0", "x")]
    [True, True, True, False, False]
    """
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # float() reads 1_0 as ten


def as_labels(known: Sequence[Any], limit: ByteLimit) -> NDArray[Any]:
    """Return integers if every label is written as one, else text.

    Examples
    --------
    >>> limit = ByteLimit("a.csv", 1000)
    >>> as_labels(["1", "10"], limit).tolist(), as_labels(["01", "10"], limit).tolist()
    ([1, 10], ['01', '10'])
    """
    texts = [str(label) for label in known]
    longest = max(map(len, texts), default=0)
    limit.check(4 * len(texts) * longest)  # in an array all are as long as this
    text = np.array(texts)
    try:
        numbers = text.astype(np.int64)
    except (ValueError, OverflowError):
        return text
    return numbers if (numbers.astype(text.dtype) == text).all() else text
