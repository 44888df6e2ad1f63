"""Every compiled loop, and nothing else: arrays in, arrays out, no imports from the rest of the package.

A kernel works on the rows ``start:stop`` that it is given and releases the GIL. It never checks its input,
which ``graphsoft.graph.reading`` has done. ``tests/naive`` has the formula of each kernel in dense algebra.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from graphsoft.aliases import Array

with contextlib.suppress(KeyError, ValueError):
    if int(os.environ["NUMBA_NUM_THREADS"]) < 1:  # then nobody in this process could import numba
        del os.environ["NUMBA_NUM_THREADS"]

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUTargetOptions

from graphsoft.kernels.caching import SafePlaces

__all__ = ["Rows", "compiling", "inlined", "kernel", "read_only", "rows_of", "unsigned"]


if hasattr(os, "register_at_fork"):
    # A fork waits for the compiler: cut off in another thread, it would let the child hang at its first loop.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


class _OptionalCache(FunctionCache):  # type: ignore[misc]
    """Numba's compile cache in safe places, but a cache that cannot be read or written is not an error."""

    _impl_class = SafePlaces

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return super().load_overload(*arguments)
        except Exception:  # a damaged or foreign cache file can raise anything while it is read
            with contextlib.suppress(OSError):
                self.flush()  # so that the next process writes a new one
            return None

    def save_overload(self, *arguments: Any) -> None:
        # saving reads the index first, which again can raise anything
        with contextlib.suppress(Exception):
            super().save_overload(*arguments)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use, without the GIL, and cache it where possible.

    It must not return a named tuple to Python: making one runs Python code, and if Ctrl-C arrives there Numba
    follows a null pointer. Plain tuples of arrays are safe.

    The compiler may regroup sums, which SIMD needs. It must respect NaN and infinity, so full `fastmath`,
    which removes checks for NaN, is not an option.

    A loop must not both write to an array and add up: where arrays lie so close in memory that one may change
    the other, such a loop runs without SIMD, and the last bits of the sum depend on the place.
    """
    return _compiled(function, inline="never")


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` as a part of the kernel that calls it, which takes less time than on its own.

    For a helper that is called in one place: where it is called in several, the first call gets slower.
    """
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], inline: str) -> Callable[..., Any]:
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": {"reassoc", "contract", "nsz", "arcp"},
        "error_model": "numpy",
        "inline": inline,
    }
    if hasattr(CPUTargetOptions, "no_cfunc_wrapper"):  # not documented, so it may go one day
        options["no_cfunc_wrapper"] = True  # the entry for C code takes time to compile, and nothing calls it
    compiled: Any = numba.njit(**options)(function)  # noqa: TID251 - the one place
    with contextlib.suppress(RuntimeError):  # there is no folder where a cache could be written
        compiled._cache = _OptionalCache(function)
    return compiled  # type: ignore[no-any-return]


@contextlib.contextmanager
def compiling(told: Callable[[bool, str], object]) -> Iterator[None]:
    """Tell of loops that are compiled, rather than read from the cache, for as long as the context lasts.

    Parameters
    ----------
    told : callable
        Called as ``told(True, name)`` when the loop of that name begins to be compiled, by whichever thread,
        and as ``told(False, name)`` when no more are.
    """

    class Told(event.Listener):  # type: ignore[misc]
        begun = 0  # one loop may compile others on the way

        def on_start(self, event: Any) -> None:
            self.begun += 1
            told(True, event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            self.begun -= 1
            if self.begun == 0:
                told(False, event.data["dispatcher"].py_func.__name__)

    with event.install_listener("numba:compile", Told()):
        yield


class Rows(NamedTuple):
    """Rows of a CSR matrix, as compiled loops take and return them.

    Attributes
    ----------
    ptr : ndarray of shape (rows + 1,)
        Row i has the entries ``ptr[i]:ptr[i + 1]``. For a slice of a matrix ``ptr[0]`` may be above 0.
    columns, values : ndarrays
        The entries. A row's columns need not be sorted.
    """

    ptr: Array
    columns: Array
    values: Array

    @property
    def entries(self) -> int:
        """How many entries these rows have."""
        return int(self.ptr[-1]) - int(self.ptr[0])


def rows_of(matrix: Any, start: int = 0, stop: int | None = None) -> Rows:
    """Take the rows ``start:stop`` of a CSR matrix, by default all, for a compiled loop to read.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> rows_of(sp.csr_array([[0.0, 2.0], [3.0, 0.0]]), 1).ptr
    array([1, 2], dtype=uint32)
    """
    ptr = matrix.indptr[start : None if stop is None else stop + 1]
    return Rows(read_only(unsigned(ptr)), read_only(unsigned(matrix.indices)), read_only(matrix.data))


def unsigned(indices: Array) -> Array:
    """View int32 indices, none of them negative, as unsigned numbers; wider ones stay as they are.

    For a signed index the compiled loop checks each time whether it counts from the end. Without this check a
    sweep takes a third less time. Indices of 64 bits stay signed, because Numba makes floats of sums of
    signed and unsigned ones.

    Examples
    --------
    >>> unsigned(np.zeros(2, dtype=np.int32)).dtype, unsigned(np.zeros(2, dtype=np.int64)).dtype
    (dtype('uint32'), dtype('int64'))
    """
    return indices.view(np.uint32) if indices.dtype == np.int32 else indices


def read_only(array: Array) -> Array:
    """View an array as one that cannot be written to.

    To Numba arrays that can be written to are of another type. With this view a loop is compiled once,
    whether or not its caller's arrays are frozen.

    Examples
    --------
    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view
