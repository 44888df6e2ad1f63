"""Columns in standard deviations, and a warning where columns of a table spread very differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from graphsoft.aliases import Array
from graphsoft.errors import InputError, warn

__all__ = ["Scaling", "warn_of_spreads"]

# How many times as widely one column may spread as another, before there is a warning.
MAX_RATIO = 1000.0


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from each column, and what it is then divided by.

    Attributes
    ----------
    means, deviations : tuple of float
        A column of one value has the deviation 1.

    Examples
    --------
    >>> found = Scaling.of(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> found
    Scaling(means=(2.0, 7.0), deviations=(1.0, 1.0))
    >>> found.applied(np.array([[4.0, 7.5]]))
    array([[2. , 0.5]])
    """

    means: tuple[float, ...]
    deviations: tuple[float, ...]

    @classmethod
    def of(cls, data: Any) -> Scaling:
        """Measure the columns of a dense table."""
        values = _dense(data)
        spreads = _spreads(values)
        return cls(tuple(values.mean(axis=0).tolist()), tuple(np.where(spreads > 0, spreads, 1.0).tolist()))

    def applied(self, data: Any) -> Array:
        """Scale a table with these columns."""
        return np.asarray((_dense(data) - np.array(self.means)) / np.array(self.deviations))


def _dense(data: Any) -> Array:
    if issparse(data) or not hasattr(data, "shape") or len(data.shape) != 2:
        raise InputError("scale", "needs a dense table of points", "leave it out")
    if data.dtype == object:
        problem = "cannot be used with whole numbers beyond 2**53"
        raise InputError("scale", problem, "write them in a larger unit, or drop their columns")
    if data.dtype.kind not in "biuf":
        raise InputError("scale", f"needs numbers, not {data.dtype}", "drop other columns")
    values = np.asarray(data, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("X", "holds numbers that are not finite", "fill the gaps, or leave out their rows")
    return values


def _spreads(values: Array) -> Array:
    """Compute the standard deviations; those of columns of one value are 0 in spite of rounding."""
    constant = values.min(axis=0) == values.max(axis=0)
    with np.errstate(over="ignore"):  # numbers that are too large are refused later
        return np.where(constant, 0.0, values.std(axis=0))


def warn_of_spreads(titles: Sequence[str], data: Any) -> None:
    """Warn if one column spreads so much more widely than another that distances hardly depend on the other.

    Examples
    --------
    >>> warn_of_spreads(["age", "height"], np.array([[1.0, 9.0], [2.0, 7.0]]))
    """
    if issparse(data) or data.dtype == object or not data.shape[0]:
        return
    spreads = _spreads(np.asarray(data, dtype=np.float64))
    varying = np.flatnonzero((spreads > 0) & np.isfinite(spreads))
    if len(varying) < 2:
        return
    widest, narrowest = (int(varying[pick(spreads[varying])]) for pick in (np.argmax, np.argmin))
    ratio = spreads[widest] / spreads[narrowest]
    if ratio > MAX_RATIO:
        warn(
            f"column {titles[widest]!r} spreads {ratio:,.0f} times as widely as {titles[narrowest]!r}, which "
            "hardly counts beside it; --scale standardize makes all columns count alike, --scale none keeps "
            "them as they are"
        )
