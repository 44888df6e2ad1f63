"""How many bytes the content of a file may have: a small file can promise, or expand to, any number."""

from __future__ import annotations

import gzip
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from graphsoft.available import available_memory
from graphsoft.errors import InputError
from graphsoft.input.checks import byte_count

__all__ = ["EXPANDED", "EXPANSION", "ByteLimit", "byte_limit_for"]

# Content may have so many times the bytes of the file, or so many bytes if that is more.
EXPANSION, EXPANDED = 100, 1 << 28


@dataclass(frozen=True)
class ByteLimit:
    """How many bytes the content of a file may have.

    Attributes
    ----------
    name : str
        The name of the file, for errors.
    most : int

    Examples
    --------
    >>> ByteLimit("a.npz", 1000).check(8 * 10**9)
    Traceback (most recent call last):
    graphsoft.errors.InputError: path: 'a.npz' holds 8,000,000,000 bytes when it is read, and 1,000 are \
allowed. Remedy: allow more if you trust the file: max_bytes='9GB', or --max-bytes 9GB.
    """

    name: str
    most: int

    def check(self, size: int) -> None:
        """Refuse content of so many bytes if they are too many, as may be done before there is any."""
        if size <= self.most:
            return
        problem = f"{self.name!r} holds {size:,} bytes when it is read, and {self.most:,} are allowed"
        raise InputError("path", problem, _remedy(size))

    def opened(self, path: Path) -> IO[bytes]:
        """Open a file that may be compressed by gzip, to read as many bytes as are allowed."""
        return io.BufferedReader(_Counted(_decompressed(path), self), buffer_size=1 << 16)


def byte_limit_for(path: Path, max_bytes: int | str | None) -> ByteLimit:
    """Decide how many bytes the content of a file may have: `max_bytes`, or what its size lets expect."""
    if max_bytes is not None:
        return ByteLimit(path.name, byte_count("max_bytes", max_bytes))
    usual = max(EXPANDED, EXPANSION * os.path.getsize(path))
    return ByteLimit(path.name, int(min(usual, available_memory())))


def _decompressed(path: Path) -> io.RawIOBase | io.BufferedIOBase:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    return open(path, "rb", buffering=0)


def _remedy(size: int) -> str:
    enough = f"{size // 10**9 + 1}GB"
    return f"allow more if you trust the file: max_bytes={enough!r}, or --max-bytes {enough}"


class _Counted(io.RawIOBase):
    """A stream that ends with an error where more bytes come than are allowed."""

    def __init__(self, inner: io.RawIOBase | io.BufferedIOBase, limit: ByteLimit) -> None:
        self._inner, self._limit, self._done = inner, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes, of which none is kept here."""
        count = self._inner.readinto(buffer) or 0
        self._done += count
        if self._done > self._limit.most:
            problem = f"{self._limit.name!r} holds more than the {self._limit.most:,} bytes that are allowed"
            raise InputError("path", problem, _remedy(10 * self._limit.most))
        return count

    def close(self) -> None:
        self._inner.close()
        super().close()
