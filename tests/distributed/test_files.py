"""Files of arrays: what is written comes back, whole or by sections, or is not taken for it."""

import errno
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

from graphsoft.distributed.files import (
    MARK_BYTES,
    UNMARKED,
    Traffic,
    Unreadable,
    open_arrays,
    rows_in_sections,
    write_arrays,
)

ARRAYS = numbers.arrays(
    st.sampled_from(["f8", "f4", "i8", "i4", "u2", "?", ">i4"]), numbers.array_shapes(min_dims=0, max_side=6)
)


@given(st.dictionaries(st.sampled_from("abc"), ARRAYS), st.data())
def test_arrays_come_back(tmp_path_factory, arrays, data):
    path = tmp_path_factory.mktemp("files") / "x"
    cuts = {
        name: np.array([0, *sorted(data.draw(st.lists(st.integers(0, len(values))))), len(values)])
        for name, values in arrays.items()
        if values.ndim and data.draw(st.booleans())
    }
    size = write_arrays(path, arrays, cuts)
    assert size == path.stat().st_size
    traffic = Traffic()
    with open_arrays(path, traffic) as file:
        assert list(file) == list(arrays)
        for name, values in arrays.items():
            assert name in file
            assert file.shape(name) == values.shape
            np.testing.assert_array_equal(file.array(name), values)
            assert file.array(name).dtype == values.dtype.newbyteorder("<")
        for name, ptr in cuts.items():
            for section in range(len(ptr) - 1):
                expected = arrays[name][ptr[section] : ptr[section + 1]]
                np.testing.assert_array_equal(file.section(name, section), expected)
    assert traffic.read > 0


@given(numbers.arrays("f8", numbers.array_shapes(min_dims=2, max_dims=2, max_side=7)), st.data())
def test_sparse_rows_come_back(tmp_path_factory, dense, data):
    path = tmp_path_factory.mktemp("files") / "x"
    matrix = sp.csr_array(np.nan_to_num(dense))
    inner = sorted(data.draw(st.lists(st.integers(0, len(dense)))))
    ptr = np.array([0, *inner, len(dense)])
    write_arrays(path, *rows_in_sections("m", matrix, ptr))
    with open_arrays(path) as file:
        np.testing.assert_array_equal(file.rows("m").toarray(), matrix.toarray())
        for section in range(len(ptr) - 1):
            expected = matrix[ptr[section] : ptr[section + 1]]
            np.testing.assert_array_equal(file.rows("m", section).toarray(), expected.toarray())
    write_arrays(path, *rows_in_sections("m", matrix))
    with open_arrays(path) as file:
        np.testing.assert_array_equal(file.rows("m").toarray(), matrix.toarray())


def read_all(path):
    with open_arrays(path) as file:
        for name in file:
            file.array(name)


@pytest.mark.parametrize("left", [0, 5, 30, -1])
def test_short_file(tmp_path, left):
    write_arrays(tmp_path / "a", {"a": np.arange(5)})
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:left])
    with pytest.raises(Unreadable, match=r"is not a file of arrays|has a damaged header|ends too early"):
        read_all(tmp_path / "a")


def test_file_with_another_mark(tmp_path):
    write_arrays(tmp_path / "a", {"a": np.arange(5)}, mark=b"m" * MARK_BYTES)
    with open_arrays(tmp_path / "a", mark=b"m" * MARK_BYTES) as file:
        assert file.array("a").tolist() == [0, 1, 2, 3, 4]
    for mark in (UNMARKED, b"n" * MARK_BYTES):
        with (
            pytest.raises(Unreadable, match="is of another run"),
            open_arrays(tmp_path / "a", mark=mark),
        ):
            pass


def test_missing_file(tmp_path):
    with pytest.raises(Unreadable, match="is not there"):
        read_all(tmp_path / "a")


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_disk_that_cannot_be_read(tmp_path, number):
    write_arrays(tmp_path / "a", {"a": np.arange(5)})

    class Broken:
        def seek(self, offset):
            raise OSError(number, "broken")

    expected = Unreadable if number == errno.EIO else PermissionError
    with open_arrays(tmp_path / "a") as file:
        file._file = Broken()
        with pytest.raises(expected, match="broken"):
            file.array("a")


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES])
@pytest.mark.parametrize("call", ["open", "fstat"])
def test_disk_on_which_a_file_cannot_be_opened(tmp_path, monkeypatch, call, number):
    write_arrays(tmp_path / "a", {"a": np.arange(5)})

    def broken(*_, **__):
        raise OSError(number, "broken")

    expected = PermissionError if number == errno.EACCES else Unreadable
    with monkeypatch.context() as patch:
        patch.setattr(*((Path, "open") if call == "open" else (os, "fstat")), broken)
        with pytest.raises(expected, match="broken"):
            read_all(tmp_path / "a")


def test_writing_does_not_look_at_other_files(tmp_path, monkeypatch):
    def listed(*_):
        raise AssertionError("the folder was listed")

    monkeypatch.setattr("os.scandir", listed)
    monkeypatch.setattr("os.listdir", listed)
    write_arrays(tmp_path / "a", {"a": np.arange(5)})
    read_all(tmp_path / "a")


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_two_machines_that_write_one_file_where_each_has_locks_of_its_own(tmp_path, monkeypatch):
    sync = os.fsync

    def meanwhile(handle):
        monkeypatch.setattr("os.fsync", sync)
        write_arrays(tmp_path / "a", {"a": np.arange(5)})
        sync(handle)

    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    monkeypatch.setattr("os.fsync", meanwhile)
    write_arrays(tmp_path / "a", {"a": np.arange(5)})
    read_all(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]


@given(st.integers(0, 10**4), st.integers(0, 7))
def test_every_flipped_bit_is_found(tmp_path_factory, position, bit):
    path = tmp_path_factory.mktemp("files") / "x"
    write_arrays(path, {"a": np.arange(9.0), "b": np.arange(7)}, {"b": np.array([0, 3, 7])})
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(Unreadable):
        read_all(path)


def test_what_is_read_of_a_section_does_not_depend_on_how_many_others_there_are(tmp_path):
    reads = []
    for sections in (2, 2000):
        path = tmp_path / str(sections)
        cut = np.append(0, np.full(sections, 5)).cumsum()
        write_arrays(path, {"a": np.arange(cut[-1])}, {"a": cut})
        traffic = Traffic()
        with open_arrays(path, traffic) as file:
            opened = traffic.read
            assert file.section("a", 1).tolist() == [5, 6, 7, 8, 9]
            reads.append(traffic.read - opened)
            with pytest.raises(Unreadable, match="no section"):
                file.section("a", sections)
    assert reads == [3 * 8 + 5 * 8] * 2


@given(st.integers(0, 10**4), st.integers(0, 7))
def test_every_flipped_bit_of_a_section_and_of_its_row_in_the_table_is_found(tmp_path_factory, position, bit):
    path = tmp_path_factory.mktemp("files") / "x"
    whole, cut = np.arange(7), np.array([0, 3, 3, 7])
    write_arrays(path, {"b": whole}, {"b": cut})
    content = bytearray(path.read_bytes())
    begins = len(content) - 3 * 24 - whole.nbytes
    content[begins + position % (len(content) - begins)] ^= 1 << bit
    path.write_bytes(content)
    found = []
    with open_arrays(path) as file:
        for section in range(3):
            try:
                assert file.section("b", section).tolist() == whole[cut[section] : cut[section + 1]].tolist()
            except Unreadable:
                found.append(section)
    assert len(found) == 1


BY_HAND = [
    "[]", "null", "3", "[" * 10**5, "{", '{"a": 5}', '{"a": ["O", [3], 0, 0]}', '{"a": ["|V8", [3], 0, 0]}',
    '{"a": ["<i4", [-1], 0, 0]}', '{"a": ["<i4", [1e400], 0, 0]}', '{"a": ["<i4", [1000000000000000], 0, 0]}',
    '{"a": ["<i4", [1], -1000000, 0]}', '{"a": ["<i4", [1], 1' + "0" * 30 + ", 0]}",
    '{"a": ["<i4", "b", 0, 0]}',
    '{"a": [[["b", "i4"]], [1], 0, 0]}',
]  # fmt: skip


@pytest.mark.parametrize("header", BY_HAND)
def test_header_made_by_hand(tmp_path, header):
    text = header.encode()
    (tmp_path / "a").write_bytes(
        struct.pack("<8s16sQI", b"gsparts2", UNMARKED, len(text), zlib.crc32(text)) + text
    )
    with pytest.raises(Unreadable), open_arrays(tmp_path / "a") as file:
        file.array("a")


TABLES = ['["<i8", [3], 4, 0]', '["<i8", [1, 2], 4, 0]', '["<f8", [1, 3], 4, 0]', '["<i8", [], 4, 0]']


@pytest.mark.parametrize("table", TABLES)
def test_table_of_sections_made_by_hand(tmp_path, table):
    text = ('{"a": ["<i4", [1], 0, null], "a/sections": ' + table + "}").encode()
    content = struct.pack("<8sQI", b"gsparts1", len(text), zlib.crc32(text)) + text + b"\0" * 64
    (tmp_path / "a").write_bytes(content)
    for ask in (lambda file: file.section("a", 0), lambda file: file.array("a"), lambda file: file.cut("a")):
        with pytest.raises(Unreadable), open_arrays(tmp_path / "a") as file:
            ask(file)
