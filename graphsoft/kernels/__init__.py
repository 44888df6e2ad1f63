"""Every compiled loop, and nothing else: arrays in, arrays out, no imports from the package.

A kernel works on the rows ``start:stop`` that it is given, releases the GIL, and never checks its input:
``graphsoft.graph`` has done so before. ``tests/naive.py`` says in dense algebra what each one computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache

__all__ = ["kernel"]


class _OptionalCache(FunctionCache):  # type: ignore[misc]
    """Numba's compile cache, except that a cache that cannot be read or written is no error."""

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return super().load_overload(*arguments)
        except Exception:  # a torn or foreign cache file can raise anything while it is read
            return None

    def save_overload(self, *arguments: Any) -> None:
        try:
            super().save_overload(*arguments)
        except OSError:
            return


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use: no GIL, no `fastmath` (it would delete NaN checks), cached if possible.

    Only the freedom to regroup sums of equal-signed terms is given to the compiler, which SIMD needs.
    """
    options = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz", "arcp"}, "error_model": "numpy"}
    compiled: Any = numba.njit(**options)(function)  # noqa: TID251 - the one place
    try:
        compiled._cache = _OptionalCache(function)
    except RuntimeError:  # no place at all where a cache could be written
        pass
    return compiled  # type: ignore[no-any-return]
