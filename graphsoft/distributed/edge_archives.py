"""Edges in npz archives: row, col and data of any origin, or sparse matrices as SciPy saves them.

Members are read as streams, a slice at a time, so that compressed ones need no more memory than others.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import IO, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.archives import npy_header
from graphsoft.datasets.byte_limit import EXPANDED, EXPANSION
from graphsoft.distributed.edge_parts import CHUNK, EdgeFile, Edges, checked, refused
from graphsoft.errors import InputError
from graphsoft.storage.container import UNSOUND_ARCHIVE

__all__ = ["looked_at_archive", "read_archive"]

AGAIN = "save it again, with numpy.savez or scipy.sparse.save_npz"


class Member:
    """An array of one dimension in an archive, read from the front to the back."""

    def __init__(self, file: EdgeFile, archive: zipfile.ZipFile, name: str) -> None:
        self._file, self._name = file, name
        found = archive.getinfo(f"{name}.npy")
        self.stream: IO[bytes] = archive.open(found)
        self.shape, _, self.dtype = npy_header(self.stream)
        self._start = self.stream.tell()
        self.length = int(np.prod(self.shape, dtype=np.int64))
        if len(self.shape) > 1 or self.dtype.kind not in "biufS" or self.dtype.itemsize == 0:
            raise refused(file, f"has {name!r} of shape {self.shape} and dtype {self.dtype}", AGAIN)
        stored = found.compress_type == zipfile.ZIP_STORED
        whole = self.length * self.dtype.itemsize == found.file_size - self._start
        if not whole or (stored and found.compress_size != found.file_size):
            raise refused(file, f"does not hold the {self.length} numbers that {name!r} promises", AGAIN)

    def read(self, start: int, stop: int) -> Array:
        """Read the numbers `start` to `stop`."""
        self.stream.seek(self._start + start * self.dtype.itemsize)
        raw = self.stream.read((stop - start) * self.dtype.itemsize)
        values = np.frombuffer(raw, dtype=self.dtype)
        if len(values) < stop - start:
            raise refused(self._file, f"ends too early in {self._name!r}", AGAIN)
        return values


def looked_at_archive(file: EdgeFile, columns: Sequence[str] | None) -> EdgeFile:
    """Look at the members: their names, their types, their lengths; and at the pointers of a matrix."""
    if columns is not None:
        raise InputError("columns", f"is of no use for {file.name!r}", "call its arrays row, col and data")
    try:
        with zipfile.ZipFile(file.path) as archive:
            _refuse_bombs(file, archive)
            return _found(file, archive)
    except InputError:
        raise
    except UNSOUND_ARCHIVE as error:
        raise refused(file, f"is no archive of arrays: {str(error)[:80]}", AGAIN) from None


def _refuse_bombs(file: EdgeFile, archive: zipfile.ZipFile) -> None:
    """Refuse an archive that would become absurdly large, or whose members lie outside it."""
    members = archive.infolist()
    expanded = sum(member.file_size for member in members)
    if expanded > max(EXPANDED, EXPANSION * file.size):
        raise refused(file, f"would become {expanded} bytes of {file.size}", "save it without compression")
    if any(member.header_offset + member.compress_size > file.size for member in members):
        raise refused(file, "is shorter than it says", AGAIN)


def _found(file: EdgeFile, archive: zipfile.ZipFile) -> EdgeFile:
    held = {name.removesuffix(".npy") for name in archive.namelist()}
    kind = bytes(Member(file, archive, "format").read(0, 1)[0]).decode() if "format" in held else ""
    compressed = {"indptr", "indices", "data", "shape"} <= held and kind in ("", "csr")
    if not compressed and (not {"row", "col"} <= held or kind not in ("", "coo")):
        said = f"a matrix of format {kind!r}" if kind else f"the arrays {', '.join(sorted(held)) or 'none'}"
        raise refused(file, f"holds {said}", "save row, col and data, or a matrix of SciPy as coo or csr")
    names: tuple[str, ...] = ("indptr", "indices") if compressed else ("row", "col")
    names += ("data",) if "data" in held else ()
    members = {name: Member(file, archive, name) for name in names}
    for name in names[:2]:
        if members[name].dtype.kind not in "iu":
            raise refused(file, f"has {members[name].dtype} in {name!r}", "number the nodes 0, 1, 2, ...")
    side = _side(file, archive) if "shape" in held else 0
    lengths = {name: members[name].length for name in names if name != "indptr"}
    if len(set(lengths.values())) > 1:
        raise refused(file, f"has arrays of different lengths {lengths}", AGAIN)
    if compressed:
        _check_pointers(file, members["indptr"], side, lengths["indices"])
    count = lengths[names[1]]
    return replace(file, layout=names, end=count, weighted="data" in names, nodes=side)


def _side(file: EdgeFile, archive: zipfile.ZipFile) -> int:
    """Read the shape of a matrix, which must be square."""
    member = Member(file, archive, "shape")
    shape = member.read(0, min(member.length, 3)).tolist()
    if len(shape) != 2 or shape[0] != shape[1] or not isinstance(shape[0], int) or shape[0] < 1:
        raise refused(
            file, f"has the shape {tuple(shape)}", "save a square matrix, with all nodes in every part"
        )
    return int(shape[0])


def _check_pointers(file: EdgeFile, pointers: Member, side: int, entries: int) -> None:
    """Refuse pointers that do not rise from 0 to the number of entries."""
    last = 0
    right = pointers.length == side + 1
    for start in range(0, pointers.length if right else 0, CHUNK):
        some = pointers.read(start, min(start + CHUNK, pointers.length)).astype(np.int64)
        right = (
            right and int(some[0]) >= last and not (np.diff(some) < 0).any() and (start > 0 or some[0] == 0)
        )
        last = int(some[-1])
    if not right or last != entries:
        raise refused(file, "has pointers that do not fit its entries", AGAIN)


def read_archive(file: EdgeFile, start: int, stop: int, nodes: int | None) -> Iterator[Edges]:
    """Read the entries `start` to `stop`."""
    names = [str(name) for name in file.layout]
    try:
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(file.path))
            members = [Member(file, archive, name) for name in names]
            for member in members:
                stack.enter_context(member.stream)
            pieces = _of_pointers if names[0] == "indptr" else _of_columns
            for begin, source, *others in pieces(members, start, stop):
                weight = others[1] if len(others) == 2 else None
                edges = Edges(source, others[0], weight, partial(_row, begin))
                yield checked(file, edges, nodes)
    except InputError:
        raise
    except UNSOUND_ARCHIVE as error:
        raise refused(file, f"is damaged: {str(error)[:80]}", AGAIN) from None


def _row(begin: int, at: int) -> str:
    return f"row {begin + at}"


def _of_columns(members: list[Member], start: int, stop: int) -> Iterator[tuple[Any, ...]]:
    for begin in range(start, stop, CHUNK):
        end = min(begin + CHUNK, stop)
        yield begin, *(member.read(begin, end) for member in members)


def _of_pointers(members: list[Member], start: int, stop: int) -> Iterator[tuple[Any, ...]]:
    """Read entries of a csr matrix, with their rows by the pointers, which are read from the first one on."""
    pointers, *others = members
    for row in range(0, pointers.length - 1, CHUNK):
        ptr = pointers.read(row, min(row + CHUNK + 1, pointers.length)).astype(np.int64)
        for begin in range(max(int(ptr[0]), start), min(int(ptr[-1]), stop), CHUNK):
            end = min(begin + CHUNK, int(ptr[-1]), stop)
            rows = row + np.searchsorted(ptr, np.arange(begin, end), side="right") - 1
            yield begin, rows, *(member.read(begin, end) for member in others)
