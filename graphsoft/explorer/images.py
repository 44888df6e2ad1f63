"""Pictures of points: files as they are, or arrays of pixels, which become sheets of many pictures each."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.explorer.packing import Members
from graphsoft.input.constraints import is_missing

__all__ = ["Images", "checked_images", "png"]

MAX_BYTES = 10_000_000  # of all files, or of all pixels, in a page
SHEET = 4_096  # pixels on a side, which every browser can decode
SIDE = 1_024  # of one picture
REMEDY = "give PNG, JPEG or WebP files as bytes, or an array of shape (n, height, width[, 3 or 4])"


class Images(Protocol):
    """Pictures of all points."""

    def add_to(self, members: Members, points: Array) -> tuple[dict[str, Any], list[str]]:
        """Add the pictures of some points; returns what the head says of them, and what was left out."""


@dataclass(frozen=True)
class Files:
    """Pictures as the bytes of files; an empty one is missing."""

    files: Sequence[bytes]

    def add_to(self, members: Members, points: Array) -> tuple[dict[str, Any], list[str]]:
        """Add the files of these points one after another, and how long each is."""
        files = [self.files[point] for point in points.tolist()]
        kept = evenly_kept([len(file) for file in files])
        files = [file if there else b"" for file, there in zip(files, kept, strict=True)]
        members.add_array("image_size", np.array([len(file) for file in files], dtype=np.uint32))
        members.add_bytes("image/0", b"".join(files))
        return {"form": "files"}, _note(kept)


@dataclass(frozen=True, eq=False)
class Pixels:
    """Pictures as uint8 of shape (n, height, width, channels), where channels are 1, 3 or 4."""

    pixels: Array

    def add_to(self, members: Members, points: Array) -> tuple[dict[str, Any], list[str]]:
        """Add sheets of the pictures of these points, row by row."""
        _, height, width, channels = self.pixels.shape
        kept = evenly_kept([height * width * channels] * len(points))
        columns, rows = max(SHEET // width, 1), max(SHEET // height, 1)
        columns = min(columns, max(int(np.ceil(np.sqrt(len(points)))), 1))
        sheets = range(0, len(points), columns * rows)
        for sheet, start in enumerate(sheets):
            some = slice(start, start + columns * rows)
            pictures = self.pixels[points[some]] * kept[some, None, None, None].astype(np.uint8)
            members.add_bytes(f"image/{sheet}", png(_laid_out(pictures, columns)))
        facts = {"width": width, "height": height, "columns": columns, "rows": rows, "sheets": len(sheets)}
        return {"form": "sheets", **facts}, _note(kept)


def checked_images(images: Any, count: int) -> Images:
    """Check a picture for each of `count` points.

    Examples
    --------
    >>> checked_images(np.zeros((2, 8, 8)), 2).pixels.shape
    (2, 8, 8, 1)
    """
    if not hasattr(images, "dtype"):
        if isinstance(images, (str, bytes, bytearray, Set, Mapping)) or not isinstance(images, Iterable):
            raise InputError("images", f"got {shown(images)}", REMEDY)
        images = [None if is_missing(image) else image for image in images]
        if all(isinstance(image, (bytes, bytearray, type(None))) for image in images):
            return _checked_files([bytes(image or b"") for image in images], count)
    try:
        array = np.asanyarray(images)  # with the mask, if there is one
    except ValueError as error:
        raise InputError(
            "images", f"cannot be read as one array ({error})", "let all have one size"
        ) from error
    return Pixels(_checked_pixels(array, count))


def png(pixels: Array) -> bytes:
    r"""Write uint8 pixels of shape (height, width, 1, 3 or 4) as a PNG file.

    Examples
    --------
    >>> png(np.zeros((1, 1, 1), dtype=np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width, channels = pixels.shape
    color = {1: 0, 3: 2, 4: 6}[channels]
    rows = np.zeros((height, 1 + width * channels), dtype=np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )


def evenly_kept(sizes: Sequence[int], limit: int = MAX_BYTES) -> Array:
    """Choose which of many to keep, evenly, so that together they are about as large as allowed.

    Examples
    --------
    >>> evenly_kept([4, 4, 4, 4], limit=8).tolist()
    [True, False, True, False]
    """
    part = min(limit / max(sum(sizes), 1), 1.0)
    steps = np.floor(np.arange(len(sizes) + 1) * part + 0.5)
    return np.asarray(np.diff(steps) > 0) if part < 1.0 else np.ones(len(sizes), dtype=bool)


def _note(kept: Array) -> list[str]:
    return [] if kept.all() else [f"{int(kept.sum()):,} of {len(kept):,} pictures are in this page"]


def _laid_out(pictures: Array, columns: int) -> Array:
    """Put pictures side by side, row after row."""
    count, height, width, channels = pictures.shape
    rows = -(-count // columns)
    sheet = np.zeros((rows * columns, height, width, channels), dtype=np.uint8)
    sheet[:count] = pictures
    sheet = sheet.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return np.ascontiguousarray(sheet.reshape(rows * height, columns * width, channels))


def _checked_files(files: list[bytes], count: int) -> Files:
    if len(files) != count:
        raise InputError("images", f"got {len(files)} for {count} points", "give one for each point")
    for place, file in enumerate(files):
        known = file.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")) or (
            file[:4] == b"RIFF" and file[8:12] == b"WEBP"
        )
        if file and not known:
            raise InputError("images", f"image {place} begins with {shown(file[:8])}", REMEDY)
    return Files(files)


def _checked_pixels(array: Array, count: int) -> Array:
    if np.ma.is_masked(array):
        raise InputError("images", "have masked pixels", "fill them first")
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or array.shape[3] not in (1, 3, 4) or 0 in array.shape:
        raise InputError("images", f"got shape {array.shape}", REMEDY)
    if len(array) != count:
        raise InputError("images", f"got {len(array)} for {count} points", "give one for each point")
    if max(array.shape[1:3]) > SIDE:
        problem = f"are {array.shape[2]} x {array.shape[1]} pixels"
        raise InputError("images", problem, f"make them at most {SIDE} on a side")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind == "f":
        if not (array.min() >= 0 and array.max() <= 1):  # NaN too
            problem = f"has numbers from {array.min():g} to {array.max():g}"
            raise InputError("images", problem, "let floats be from 0 to 1, or give uint8")
        return np.asarray(np.rint(array * 255).astype(np.uint8))
    if array.dtype == bool:
        return array.astype(np.uint8) * np.uint8(255)
    raise InputError("images", f"has dtype {array.dtype}", "give uint8 from 0 to 255, or floats from 0 to 1")
