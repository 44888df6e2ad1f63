"""One file that holds arrays and a description of them: a zip archive that can be mapped into memory.

The members are ``.npy`` files and ``manifest.json``, none of them compressed, so that other programs can read
them, and large arrays need not be read at all. The comment at the end of the archive is a SHA-256 digest of
everything before it. It is compared before anything else is looked at, so that a file that was cut off or has
a wrong bit is refused. There are no pickles, and no member is ever executed or written to disk.

A digest does not protect from a file that somebody made on purpose. So a reader also checks that every member
lies within the file, that none overlap, and that each has the size that its header says. What is read takes
memory in proportion to the size of the file, whatever the file says.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import lzma
import math
import mmap
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.interrupts import ctrl_c_comes_out
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = [
    "DAMAGED",
    "UNSOUND",
    "UNSOUND_ARCHIVE",
    "VERSION",
    "Container",
    "cause_of",
    "read_container",
    "write_container",
]

# The version of the format. A reader refuses a newer one, so anything that readers of this version would
# misunderstand needs a higher number. Only the digest, and kind, version and made_by in the manifest, must
# stay as they are.
VERSION = 1
MANIFEST = "manifest.json"
MAGIC = b"graphsoft sha256 "
COMMENT_BYTES = len(MAGIC) + 64
# The names of arrays, and the beginning of their members.
NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.npy")
NPY_MAGIC = b"\x93NUMPY\1\0"
NPY_HEADER = re.compile(
    rb"\{'descr': '(<[iuf][248]|\|[biu]1)', 'fortran_order': False, "
    rb"'shape': \((\d{1,18}),(?: (\d{1,18}))?\), \} *\n"
)
# Arrays begin at multiples of this many bytes, so that mapped ones are aligned.
ALIGNMENT = 64
# Larger arrays stay in the file, and are mapped into memory.
MAPPED_BYTES = 1 << 20
CHUNK = 1 << 20
# Of a zip archive: the lengths of the records that we look at, and a number for our own field of a header.
LOCAL_HEADER, END_RECORD, ZIP64_FIELD, PADDING_FIELD = 30, 22, 20, 0x4753
DAMAGED = "save it again, or take another copy"
# What can go wrong while a file is read that somebody made by hand.
UNSOUND = (
    ArithmeticError, AttributeError, LookupError, NotImplementedError, RecursionError, TypeError, ValueError,
    struct.error, zipfile.BadZipFile,
)  # fmt: skip
# The same of an archive, which may be compressed, cut off or encrypted.
UNSOUND_ARCHIVE = (*UNSOUND, EOFError, OSError, RuntimeError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds.

    Attributes
    ----------
    kind : str
        What was saved.
    made_by : str
        The version of the library that wrote it.
    content : dict
        The description.
    arrays : dict of str to ndarray
        Read-only.
    """

    kind: str
    made_by: str
    content: dict[str, Any]
    arrays: dict[str, Array]


def write_container(
    path: PathLike, kind: str, content: Mapping[str, Any], arrays: Mapping[str, Array], made_by: str
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : path-like
    kind : str
    content : mapping
        Anything that JSON can hold.
    arrays : mapping of str to ndarray
        Numbers or booleans, in one or two dimensions, under names such as ``"levels/0/mass"``.
    made_by : str
        The version of the library.
    """
    manifest = {"kind": kind, "version": VERSION, "made_by": made_by, "content": content}
    text = json.dumps(manifest, ensure_ascii=True, allow_nan=False, separators=(",", ":"))

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, values in arrays.items():
                _write_array(archive, file.tell(), f"{name}.npy", values)
            archive.writestr(_entry(MANIFEST), text.encode("ascii"))
            archive.comment = bytes(COMMENT_BYTES)
        digest = _digest(file, file.seek(-COMMENT_BYTES, io.SEEK_END))
        file.seek(-COMMENT_BYTES, io.SEEK_END)
        file.write(MAGIC + digest)
        _check_written(file)

    write_atomic(path, write)


def _check_written(file: IO[bytes]) -> None:
    """Refuse an archive that no reader would take: zipfile writes others where it believes it cannot seek."""
    try:
        size = file.seek(0, io.SEEK_END)
        for entry in _entries(file):
            _place(file, entry, size)
    except UNSOUND as error:
        raise OSError(errno.EIO, f"what was written cannot be read again: {cause_of(error)}") from error


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a member; time and system are always the same, so that equal models are equal files."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # Unix, wherever it is written
    return entry


def _write_array(archive: zipfile.ZipFile, place: int, name: str, values: Array) -> None:
    """Add an array to an archive that ends at `place` so far."""
    values = np.ascontiguousarray(values)
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    header = _npy_header(values)
    entry = _entry(name)
    # the member begins behind its own header, its name, and two more fields with headers of 4 bytes
    padding = -(place + LOCAL_HEADER + len(name) + 4 + ZIP64_FIELD) % ALIGNMENT
    entry.extra = struct.pack("<HH", PADDING_FIELD, padding) + bytes(padding)
    with archive.open(entry, "w", force_zip64=True) as member:
        member.write(header)
        flat = values.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), CHUNK):
            member.write(flat[start : start + CHUNK].data)


def _npy_header(values: Array) -> bytes:
    """Write what stands before the numbers in an ``.npy`` file, a multiple of `ALIGNMENT` in length.

    Examples
    --------
    >>> _npy_header(np.zeros((3, 2)))[10:69]
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"
    """
    text = f"{{'descr': {values.dtype.str!r}, 'fortran_order': False, 'shape': {values.shape}, }}"
    begin = len(NPY_MAGIC) + 2
    line = text.encode("ascii") + b" " * (-(begin + len(text) + 1) % ALIGNMENT) + b"\n"
    if not NPY_HEADER.fullmatch(line):
        raise TypeError(f"arrays of dtype {values.dtype} and shape {values.shape} cannot be saved")
    return NPY_MAGIC + struct.pack("<H", len(line)) + line


@ctrl_c_comes_out()
def read_container(path: PathLike) -> Container:
    """Read a file that `write_container` wrote; large arrays are mapped into memory.

    Raises
    ------
    InputError
        If it is another file, was damaged, or was made by a newer version.
    """
    source = Path(path)
    if not source.is_file():
        raise InputError("path", f"there is no file {str(source)!r}", "give the name of a saved model")
    with source.open("rb") as file:
        _check_digest(file, str(source))
        try:
            return _read(file, str(source))
        except InputError:
            raise
        except UNSOUND as error:
            raise InputError("path", f"{str(source)!r} is damaged: {cause_of(error)}", DAMAGED) from error


def cause_of(error: Exception) -> str:
    """Say in a few words what was wrong with a file."""
    if isinstance(error, InputError):
        return error.problem
    return str(error)[:100] if type(error) is ValueError else shown(error)


def _check_digest(file: IO[bytes], path: str) -> None:
    size = file.seek(0, io.SEEK_END)
    end = max(0, size - COMMENT_BYTES)
    file.seek(end)
    comment = file.read(COMMENT_BYTES)
    if end < END_RECORD or not comment.startswith(MAGIC):
        problem = f"{path!r} is not a file saved by graphsoft, or its end is missing"
        raise InputError("path", problem, "give the name of a saved model, or save it again")
    if comment != MAGIC + _digest(file, end):
        raise InputError("path", f"{path!r} is damaged: its digest is another one", DAMAGED)


def _digest(file: IO[bytes], length: int) -> bytes:
    """Compute the digest of the first `length` bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    for start in range(0, length, CHUNK):
        digest.update(file.read(min(CHUNK, length - start)))
    return digest.hexdigest().encode("ascii")


def _read(file: IO[bytes], path: str) -> Container:
    size = file.seek(0, io.SEEK_END)
    entries = _entries(file)
    (described,) = [entry for entry in entries if entry.filename == MANIFEST]
    manifest = _manifest(file, *_place(file, described, size))
    kind, version, made_by = manifest["kind"], manifest["version"], manifest["made_by"]
    if type(kind) is not str or type(made_by) is not str or type(version) is not int or version < 1:
        raise ValueError("not a manifest")
    if version > VERSION:
        newer = f"is of graphsoft {made_by[:20]!r}, in format {shown(version)}; this one knows {VERSION}"
        raise InputError("path", f"{path!r} {newer}", "install that version of graphsoft, or a newer one")
    if not isinstance(manifest["content"], dict):
        raise ValueError("not a manifest")
    return Container(kind, made_by, manifest["content"], _arrays(file, entries, size))


def _entries(file: IO[bytes]) -> list[zipfile.ZipInfo]:
    """List the members of an archive in the order in which they lie in it."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except OSError as error:  # some versions of Python look for the list before the beginning of the file
        raise ValueError("no list of members") from error
    return sorted(entries, key=lambda entry: entry.header_offset)


def _place(file: IO[bytes], entry: zipfile.ZipInfo, size: int) -> tuple[int, int]:
    """Find where a member begins, and how long it is; it must be as we write them, and within the file."""
    if not 0 <= entry.header_offset < size:
        raise ValueError("a member outside the file")
    name = entry.filename.encode("ascii")
    file.seek(entry.header_offset)
    header, own_name = file.read(LOCAL_HEADER), file.read(len(name))
    signature, flags, method, name_length, extra_length = struct.unpack("<4s2xHH16xHH", header)
    if (signature, flags, method, own_name) != (b"PK\3\4", 0, zipfile.ZIP_STORED, name):
        raise ValueError("a member that graphsoft would not write")
    if entry.flag_bits or entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        raise ValueError("a compressed or encrypted member")
    begin = entry.header_offset + LOCAL_HEADER + name_length + extra_length
    if name_length != len(name) or begin + entry.file_size > size:
        raise ValueError("a member that ends outside the file")
    return begin, entry.file_size


def _manifest(file: IO[bytes], begin: int, length: int) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    file.seek(begin)
    manifest = json.loads(file.read(length), parse_constant=refuse)
    if not isinstance(manifest, dict):
        raise ValueError("not a manifest")
    return manifest


def _arrays(file: IO[bytes], entries: list[zipfile.ZipInfo], size: int) -> dict[str, Array]:
    """Read the arrays; those that stay in the file share one mapping."""
    arrays: dict[str, Array] = {}
    mapping: mmap.mmap | None = None
    end = 0
    for entry in entries:
        begin, length = _place(file, entry, size)
        if entry.header_offset < end:
            raise ValueError("members that overlap")
        end = begin + length
        if entry.filename == MANIFEST:
            continue
        name = entry.filename.removesuffix(".npy")
        if name in arrays or not NAME.fullmatch(entry.filename):
            raise ValueError("a member with a name that graphsoft would not give")
        shape, dtype, offset = _read_npy_header(file, begin, length)
        if length >= MAPPED_BYTES and offset % ALIGNMENT == 0:
            mapping = mapping or mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            values = np.frombuffer(mapping, dtype, math.prod(shape), offset)
        else:
            values = np.frombuffer(file.read(end - offset), dtype)
        values = values.reshape(shape).astype(dtype.newbyteorder("="), copy=False)
        values.flags.writeable = False
        arrays[name] = values
    return arrays


def _read_npy_header(file: IO[bytes], begin: int, length: int) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Read what shape and type the numbers of a member have, and where they begin; `file` is then there.

    NumPy's own reader takes headers for Python, and accepts more than we write.
    """
    file.seek(begin)
    start = file.read(len(NPY_MAGIC) + 2)
    line = file.read(int.from_bytes(start[-2:], "little"))
    found = NPY_HEADER.fullmatch(line)
    if not start.startswith(NPY_MAGIC) or found is None:
        raise ValueError("an array with a header that graphsoft would not write")
    kind, *lengths = found.groups()
    shape = tuple(int(each) for each in lengths if each is not None)
    dtype, offset = np.dtype(kind.decode("ascii")), begin + len(start) + len(line)
    if offset + math.prod(shape) * dtype.itemsize != begin + length:
        raise ValueError("an array that is not as large as its header says")
    return shape, dtype, offset
