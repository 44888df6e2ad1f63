"""Pictures of points: files as they are, and sheets that a slow decoder reads back."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import InputError
from graphsoft.explorer import images
from graphsoft.explorer.images import checked_images, png
from graphsoft.explorer.packing import Members, unpacked

JPEG, WEBP = b"\xff\xd8\xff rest", b"RIFF1234WEBP rest"
PNG = png(np.zeros((1, 1, 1), dtype=np.uint8))


def decoded(file):
    """Read a PNG without filters, as `png` writes them."""
    assert file.startswith(b"\x89PNG\r\n\x1a\n")
    at, parts = 8, {}
    while at < len(file):
        (length,) = struct.unpack(">I", file[at : at + 4])
        kind, body = file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        assert struct.unpack(">I", file[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        parts[kind] = body
        at += 12 + length
    width, height, depth, color, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert depth == 8
    assert [*parts] == [b"IHDR", b"IDAT", b"IEND"]
    channels = {0: 1, 2: 3, 6: 4}[color]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3, 4]))
def test_png_files_come_back(height, width, channels):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)
    assert np.array_equal(decoded(png(pixels)), pixels)


@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_every_picture_is_at_its_place_in_a_sheet(count, channels, monkeypatch):
    monkeypatch.setattr(images, "SHEET", 12)  # so that there are several sheets
    pixels = np.random.default_rng(0).integers(0, 256, (count, 4, 3, *channels), dtype=np.uint8)
    members, points = Members(), np.arange(count)[::-1]
    head, notes = checked_images(pixels, count).add_to(members, points)
    assert not notes
    for place, point in enumerate(points):
        sheet, inside = divmod(place, head["columns"] * head["rows"])
        row, column = divmod(inside, head["columns"])
        whole = decoded(unpacked(members, f"image/{sheet}"))
        part = whole[row * 4 : row * 4 + 4, column * 3 : column * 3 + 3]
        assert np.array_equal(part, pixels[point].reshape(4, 3, -1))
    assert f"image/{head['sheets'] - 1}" in members.table
    assert f"image/{head['sheets']}" not in members.table


def test_floats_and_flags_become_pixels():
    assert checked_images(np.array([[[0.0, 0.5, 1.0]]]), 1).pixels.ravel().tolist() == [0, 128, 255]
    assert checked_images([[[True, False]]], 1).pixels.ravel().tolist() == [255, 0]


def test_files_are_kept_as_they_are():
    members = Members()
    files = [PNG, JPEG, None, WEBP]
    head, notes = checked_images(files, 4).add_to(members, np.array([0, 2, 3]))
    assert (head, notes) == ({"form": "files"}, [])
    assert unpacked(members, "image_size").tolist() == [len(PNG), 0, len(WEBP)]
    assert unpacked(members, "image/0") == PNG + WEBP


def test_where_all_are_too_large_some_are_left_out(monkeypatch):
    monkeypatch.setattr(images.evenly_kept, "__defaults__", (2 * len(JPEG),))
    members = Members()
    _, notes = checked_images([JPEG] * 4, 4).add_to(members, np.arange(4))
    assert notes == ["2 of 4 pictures are in this page"]
    assert unpacked(members, "image/0") == JPEG + JPEG


@pytest.mark.parametrize(
    "value",
    [
        [b"GIF89a"],
        [b"<svg onload=alert(1)>"],
        [PNG, PNG],
        "picture.png",
        7,
        np.zeros((1, 8)),
        np.zeros((2, 8, 8)),
        np.zeros((1, 8, 8, 2)),
        np.zeros((1, 0, 8)),
        np.full((1, 8, 8), 2.0),
        np.full((1, 8, 8), np.nan),
        np.zeros((1, 8, 8), dtype=np.int64),
        np.zeros((1, 2000, 1)),
        [np.zeros((8, 8)), np.zeros((9, 9))],
    ],
)
def test_other_pictures_are_refused(value):
    with pytest.raises(InputError, match="images"):
        checked_images(value, 1)
