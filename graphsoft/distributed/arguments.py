"""Large arguments of tasks: each is written to a file once, and tasks are told where it is."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.files import value_in_sections
from graphsoft.distributed.tasks import Where

__all__ = ["keep", "stage_of"]

# Arguments of more bytes are not sent with every task.
LARGE = 1 << 12


def stage_of(value: Any) -> str | None:
    """Name the stage that keeps an argument, after what it holds; None if it is small, or no array.

    Examples
    --------
    >>> stage_of(np.zeros(3)), stage_of(np.zeros(3000))
    (None, 'known-2b66b4ed6c1999f4')

    Raises
    ------
    TypeError
        For a sparse matrix that is none of CSR: the arrays of others mean something else.
    """
    sparse = sp.issparse(value)
    if sparse and value.format != "csr":
        raise TypeError(f"tasks are given sparse matrices in CSR, not in {value.format}")
    if not (sparse or isinstance(value, np.ndarray)):
        return None
    arrays = [value.indptr, value.indices, value.data] if sparse else [value]
    if sum(array.nbytes for array in arrays) <= LARGE:
        return None
    digest = hashlib.sha256(str((value.shape, value.dtype.str)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"known-{digest.hexdigest()[:16]}"


def keep(where: Where, *, value: Any) -> None:
    """Write an argument of later tasks to a file."""
    where.write(value_in_sections("value", value)[0])
