"""Bits mixed so that nothing of what went in shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = ["mixed"]


@kernel
def mixed(bits: Any) -> Any:
    """Mix 64 unsigned bits: each of them changes about half of the others."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
