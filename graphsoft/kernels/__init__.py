"""Every compiled loop, and nothing else: arrays in, arrays out, no imports from the package.

A kernel works on the rows ``start:stop`` that it is given, releases the GIL, and never checks its input:
``graphsoft.graph.reading`` has done so before. ``tests/naive`` says in dense algebra what each one computes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.caching import FunctionCache

from graphsoft.aliases import Array

__all__ = ["Rows", "kernel", "rows_of", "unsigned"]


class _OptionalCache(FunctionCache):  # type: ignore[misc]
    """Numba's compile cache, except that a cache that cannot be read or written is no error."""

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return super().load_overload(*arguments)
        except Exception:  # a torn or foreign cache file can raise anything while it is read
            with contextlib.suppress(OSError):
                self.flush()  # so that the next run finds a whole one
            return None

    def save_overload(self, *arguments: Any) -> None:
        # saving reads the index first, which can again raise anything
        with contextlib.suppress(Exception):
            super().save_overload(*arguments)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use, without the GIL, cached where possible.

    The compiler may regroup sums, which SIMD needs, but must respect NaN and infinity: full `fastmath`
    deletes NaN checks.
    """
    options = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz", "arcp"}, "error_model": "numpy"}
    compiled: Any = numba.njit(**options)(function)  # noqa: TID251 - the one place
    with contextlib.suppress(RuntimeError):  # no place at all where a cache could be written
        compiled._cache = _OptionalCache(function)
    return compiled  # type: ignore[no-any-return]


def unsigned(indices: Array) -> Array:
    """See int32 indices, of which none is negative, as unsigned numbers; wider ones stay as they are.

    Wherever an index could be negative, the compiled loop asks whether it counts from the end: without that a
    sweep takes a third less time. Wider ones would become floats beside signed numbers.

    Examples
    --------
    >>> unsigned(np.zeros(2, dtype=np.int32)).dtype, unsigned(np.zeros(2, dtype=np.int64)).dtype
    (dtype('uint32'), dtype('int64'))
    """
    return indices.view(np.uint32) if indices.dtype == np.int32 else indices


class Rows(NamedTuple):
    """The rows of a CSR matrix, or some that begin at ``ptr[0]``, as compiled loops take them."""

    ptr: Array
    columns: Array
    values: Array


def rows_of(matrix: Any) -> Rows:
    """Take a CSR matrix apart for a compiled loop; its indices become unsigned, see `unsigned`."""
    return Rows(unsigned(matrix.indptr), unsigned(matrix.indices), matrix.data)
