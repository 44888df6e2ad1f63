"""Arrays in npz archives, none of which is believed to be what it says."""

from __future__ import annotations

import math
import zipfile
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.byte_limit import ByteLimit

__all__ = ["array_in", "arrays_of", "npy_header"]

ENDING = ".npy"


def npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the shape of an npy file, whether it is stored column by column, and its type.

    Raises
    ------
    ValueError
        If this is no header.
    """
    try:
        version = np.lib.format.read_magic(stream)
        # version 3 differs from 2 in the letters of names only, and records are refused
        later = np.lib.format.read_array_header_2_0
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else later
        shape, by_column, dtype = read(stream)
    except (SyntaxError, TokenError, TypeError, OverflowError, EOFError, KeyError, RecursionError) as error:
        raise ValueError(f"its header cannot be read ({error})") from None
    return shape, by_column, dtype


def arrays_of(archive: zipfile.ZipFile, limit: ByteLimit) -> dict[str, zipfile.ZipInfo]:
    """List the arrays of an archive by their names, if all of them together are allowed.

    An archive may list one member many times.
    """
    entries = archive.infolist()
    limit.check(sum(entry.file_size for entry in entries))
    return {
        entry.filename.removesuffix(ENDING): entry for entry in entries if entry.filename.endswith(ENDING)
    }


def array_in(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """Read an array, if its header promises as many bytes as there are."""
    with archive.open(entry) as stream:
        shape, _, dtype = npy_header(stream)
        promised, there = math.prod(shape) * dtype.itemsize, entry.file_size - stream.tell()
    if dtype.hasobject:
        raise ValueError(f"{entry.filename} holds objects of Python, which are never read")
    if promised != there or min(shape, default=0) < 0:
        raise ValueError(f"{entry.filename} promises {promised:,} bytes and holds {there:,}")
    with archive.open(entry) as stream:
        found: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return found
