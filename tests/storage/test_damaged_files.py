"""Files that were cut off or have wrong bits are refused, whatever it is that is wrong."""

import os

import numpy as np
import pytest

import graphsoft
from graphsoft import InputError
from graphsoft.storage import container

FLIPS = 2000


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model"
    X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    graphsoft.hierarchy(X, levels=[2], n_neighbors=2).save(path)
    return path


def refused(path):
    with pytest.raises(InputError) as caught:
        graphsoft.load(path)
    assert caught.value.argument == "path"
    assert str(path) in caught.value.problem
    assert caught.value.remedy


def flip(path, bit):
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def test_every_truncation_is_refused(path):
    for length in range(path.stat().st_size - 1, -1, -1):
        os.truncate(path, length)
        refused(path)


def test_files_with_something_more_are_refused(path):
    data = path.read_bytes()
    for changed in (data + b"\0", b"\0" + data, data + data, data[: len(data) // 2] + data, data[1:]):
        path.write_bytes(changed)
        refused(path)


def test_flipped_bits_are_refused(path):
    bits = np.random.default_rng(0).choice(8 * path.stat().st_size, FLIPS, replace=False)
    for bit in bits.tolist():
        flip(path, bit)
        refused(path)
        flip(path, bit)
    graphsoft.load(path)


def test_flipped_bits_of_the_digest_are_refused(path):
    size = path.stat().st_size
    for bit in range(8 * (size - container.COMMENT_BYTES), 8 * size):
        flip(path, bit)
        refused(path)
        flip(path, bit)
    graphsoft.load(path)


def test_exchanged_blocks_are_refused(path):
    data = path.read_bytes()
    one, two = slice(512, 1024), slice(1024, 1536)
    changed = bytearray(data)
    changed[one], changed[two] = data[two], data[one]
    path.write_bytes(changed)
    refused(path)
