"""Hashes: 64 bits that depend on all bits that went in."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["hash_rows", "hash_rows_sparse", "mixed"]


@kernel
def mixed(bits: Any) -> Any:
    """Mix 64 bits of an unsigned number, so that changing one of them changes about half of the result."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def _add_word(state: Any, word: Any) -> Any:
    """Take one more word into a multiplicative 64-bit hash."""
    state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@kernel
def hash_rows(words: Array, out: Array) -> None:
    """Hash every row of `words`, uint64 of shape (n, d), into `out`, uint64 of shape (n,)."""
    for row in range(words.shape[0]):
        state = np.uint64(0x243F6A8885A308D3)
        for column in range(words.shape[1]):
            state = _add_word(state, words[row, column])
        out[row] = state


@kernel
def hash_rows_sparse(rows: Rows, out: Array) -> None:
    """Hash the columns and the uint64 values of every CSR row into `out`, uint64 of shape (n,)."""
    ptr, columns, words = rows
    for row in range(out.shape[0]):
        state = np.uint64(0x243F6A8885A308D3)
        for place in range(ptr[row], ptr[row + 1]):
            state = _add_word(_add_word(state, np.uint64(columns[place])), words[place])
        out[row] = state
