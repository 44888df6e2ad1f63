"""One file that holds arrays and a description of them: a zip archive that can be mapped into memory.

The members are ``manifest.json`` and ``.npy`` files, none of them compressed, so that other programs can read
them, and large arrays need not be read at all. The comment at the end of the archive is a SHA-256 digest of
everything before it. It is compared before anything else is looked at, so that a file that was cut off or has
a wrong bit is refused. There are no pickles, and no member is ever executed or written to disk.

A digest does not protect from a file that somebody made on purpose. So a reader also checks that every member
lies within the file, that none overlap, and that each has the size that its header says. No more memory is
taken than the file is large.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["VERSION", "Container", "read_container", "write_container"]

# Of the format. A reader refuses what is newer.
VERSION = 1
MANIFEST = "manifest.json"
MAGIC = b"graphsoft sha256 "
COMMENT_BYTES = len(MAGIC) + 64
NO_COMMENT = bytes(COMMENT_BYTES)  # nothing else in the directory of an archive looks like this
NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.npy")
# Arrays begin at multiples of this many bytes, so that mapped ones are aligned.
ALIGNMENT = 64
# Larger arrays stay in the file, and are mapped into memory.
MAPPED_BYTES = 1 << 20
CHUNK = 1 << 20
# The directory of an archive is read at once, so it must be small.
MAX_DIRECTORY = 64 << 20
LOCAL_HEADER, END_RECORD = 30, 22
ZIP64_EXTRA = 20
PADDING_ID = 0x4753  # any number that no other program uses
DAMAGED = "save it again, or take another copy"


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds.

    Attributes
    ----------
    kind : str
        What was saved.
    content : dict
        The description.
    arrays : dict of str to ndarray
        Read-only.
    """

    kind: str
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
        Numbers or booleans, under names such as ``"levels/0/mass"``.
    made_by : str
        The version of the library.
    """
    manifest = {"kind": kind, "version": VERSION, "made_by": made_by, "content": content}

    def write(file: IO[bytes]) -> None:
        hashed = _Hashed(file)
        with zipfile.ZipFile(cast(IO[bytes], hashed), "w", zipfile.ZIP_STORED) as archive:
            for name, values in arrays.items():
                _write_array(archive, hashed, f"{name}.npy", values)
            text = json.dumps(manifest, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
            archive.writestr(_entry(MANIFEST), text.encode("ascii"))
            archive.comment = NO_COMMENT
        file.write(MAGIC + hashed.digest.hexdigest().encode("ascii"))

    write_atomic(path, write)


class _Hashed:
    """A file that is written from the first byte to the last, with a digest of what was written.

    The comment is neither written nor hashed: it is where the digest goes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.written = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if view != NO_COMMENT:
            self.file.write(view)
            self.digest.update(view)
            self.written += view.nbytes
        return view.nbytes

    def flush(self) -> None:
        self.file.flush()


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a member. Its time is always the same, so that equal models are equal files."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _write_array(archive: zipfile.ZipFile, hashed: _Hashed, name: str, values: Array) -> None:
    values = np.ascontiguousarray(values)
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(values))
    entry = _entry(name)
    entry.file_size = header.tell() + values.nbytes
    begin = hashed.written + LOCAL_HEADER + len(name) + ZIP64_EXTRA
    padding = -(begin + 4) % ALIGNMENT  # the header of an array is a multiple of it too
    entry.extra = struct.pack("<HH", PADDING_ID, padding) + bytes(padding)
    with archive.open(entry, "w", force_zip64=True) as member:
        member.write(header.getvalue())
        flat = values.reshape(-1).view(np.uint8) if values.size else np.empty(0, np.uint8)
        for start in range(0, len(flat), CHUNK):
            member.write(flat[start : start + CHUNK].data)


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
            return _read(file, source)
        except (
            zipfile.BadZipFile,
            struct.error,
            ValueError,
            KeyError,
            RecursionError,
            OverflowError,
        ) as error:
            if isinstance(error, InputError):
                raise
            raise _damaged(str(source)) from error


def _damaged(path: str) -> InputError:
    return InputError("path", f"{path!r} is damaged", DAMAGED)


def _check_digest(file: IO[bytes], path: str) -> None:
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - COMMENT_BYTES))
    comment = file.read(COMMENT_BYTES)
    if size < COMMENT_BYTES + END_RECORD or not comment.startswith(MAGIC):
        problem = f"{path!r} is not a file saved by graphsoft, or its end is missing"
        raise InputError("path", problem, "give the name of a saved model, or save it again")
    digest, left = hashlib.sha256(), size - COMMENT_BYTES
    file.seek(0)
    while left:
        chunk = file.read(min(CHUNK, left))
        if not chunk:
            raise _damaged(path)
        digest.update(chunk)
        left -= len(chunk)
    if comment != MAGIC + digest.hexdigest().encode("ascii"):
        raise _damaged(path)


def _read(file: IO[bytes], source: Path) -> Container:
    size = file.seek(0, io.SEEK_END)
    file.seek(size - COMMENT_BYTES - END_RECORD)
    if int.from_bytes(file.read(END_RECORD)[12:16], "little") > MAX_DIRECTORY:
        raise _damaged(str(source))
    with zipfile.ZipFile(file) as archive:
        places = _places(file, archive.infolist(), size)
    manifest = _manifest(file, places.pop(MANIFEST), str(source))
    arrays = {name[: -len(".npy")]: _array(file, *place) for name, place in places.items()}
    return Container(manifest["kind"], manifest["content"], arrays)


def _places(file: IO[bytes], entries: list[zipfile.ZipInfo], size: int) -> dict[str, tuple[int, int]]:
    """Find where each member begins, and how long it is; they must lie apart and within the file."""
    places: dict[str, tuple[int, int]] = {}
    end = 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        file.seek(entry.header_offset)
        header = file.read(LOCAL_HEADER)
        name, extra = struct.unpack("<HH", header[26:30])
        begin = entry.header_offset + LOCAL_HEADER + name + extra
        plain = entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
        named = entry.filename == MANIFEST or NAME.fullmatch(entry.filename)
        apart = end <= entry.header_offset and begin + entry.file_size <= size
        if not (plain and named and apart and header.startswith(b"PK\3\4") and not entry.flag_bits & 1):
            raise _damaged(entry.filename)
        if entry.filename in places:
            raise _damaged(entry.filename)
        end = begin + entry.file_size
        places[entry.filename] = begin, entry.file_size
    return places


def _manifest(file: IO[bytes], place: tuple[int, int], path: str) -> dict[str, Any]:
    begin, length = place
    file.seek(begin)
    manifest = json.loads(file.read(length))
    version, maker = manifest["version"], manifest["made_by"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damaged(path)
    if version > VERSION:
        problem = f"{path!r} is of graphsoft {str(maker)[:20]}, in format {version}; this one knows {VERSION}"
        raise InputError("path", problem, "install that version of graphsoft, or a newer one")
    if not isinstance(manifest["kind"], str) or not isinstance(manifest["content"], dict):
        raise _damaged(path)
    return manifest  # type: ignore[no-any-return]


def _array(file: IO[bytes], begin: int, length: int) -> Array:
    file.seek(begin)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("another version of npy")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    offset = file.tell()
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or fortran or min(shape, default=0) < 0:
        raise ValueError("not plain numbers")
    if offset - begin + math.prod(shape) * dtype.itemsize != length:
        raise ValueError("not the size that its header says")
    if length >= MAPPED_BYTES:
        return np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=shape)
    values = np.frombuffer(file.read(length - (offset - begin)), dtype=dtype).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=False)
