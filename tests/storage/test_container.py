"""The file itself: what others see in it, where its arrays lie, and that equal content is equal bytes."""

import io
import json
import mmap
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from graphsoft.errors import InputError
from graphsoft.input.mapped import is_mapped
from graphsoft.storage import container
from graphsoft.storage.container import VERSION, read_container, write_container
from shared.saved import members_of

ARRAYS = {
    "empty": np.zeros(0),
    "empty/table": np.zeros((0, 3)),
    "flags": np.array([True, False]),
    "bytes": np.zeros(container.COMMENT_BYTES, dtype=np.uint8),  # as many zeros as the place of the digest
    "numbers/half": np.arange(3, dtype=np.float16),
    "numbers/single": np.array([-0.0, np.inf, np.nan], dtype=np.float32),
    "numbers/large_endian": np.arange(4, dtype=">f8"),
    "numbers/by_column": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "numbers/every_second": np.arange(9)[::2],
    "numbers/unsigned": np.array([2**64 - 1], dtype=np.uint64),
}
CONTENT = {"name": "ä\ud800", "list": [1, 2.5, None, True, {"a": -0.0}]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a file"
    write_container(path, "test", CONTENT, ARRAYS, "1.2.3")
    return path


def mapping_of(array):
    while not isinstance(array, mmap.mmap):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array


@pytest.mark.parametrize("mapped_bytes", [0, 1 << 20])
def test_everything_comes_back(path, monkeypatch, mapped_bytes):
    monkeypatch.setattr(container, "MAPPED_BYTES", mapped_bytes)
    found = read_container(path)
    assert (found.kind, found.made_by, found.content) == ("test", "1.2.3", CONTENT)
    assert list(found.arrays) == list(ARRAYS)
    for name, values in found.arrays.items():
        expected = np.ascontiguousarray(ARRAYS[name])
        assert type(values) is np.ndarray
        assert values.dtype == expected.dtype.newbyteorder("=")
        assert values.flags.aligned
        assert values.flags.c_contiguous
        assert not values.flags.writeable
        assert values.shape == expected.shape
        assert values.tobytes() == expected.astype(expected.dtype.newbyteorder("=")).tobytes()
        assert is_mapped(values) == (mapped_bytes == 0)


def test_equal_content_is_equal_bytes(path, tmp_path):
    before = path.read_bytes()
    copies = {name: values.copy() for name, values in ARRAYS.items()}
    write_container(path, "test", json.loads(json.dumps(CONTENT)), copies, "1.2.3")
    assert path.read_bytes() == before
    write_container(path, "test", CONTENT, ARRAYS | {"flags": np.array([True, True])}, "1.2.3")
    assert path.read_bytes() != before


def test_arrays_begin_at_multiples_of_a_cache_line(path):
    data = path.read_bytes()
    for entry in zipfile.ZipFile(path).infolist():
        if entry.filename.endswith(".npy"):
            name, extra = data[entry.header_offset + 26 :][:2], data[entry.header_offset + 28 :][:2]
            begin = 30 + sum(int.from_bytes(each, "little") for each in (name, extra))
            assert (entry.header_offset + begin) % container.ALIGNMENT == 0
            length = int.from_bytes(data[entry.header_offset + begin + 8 :][:2], "little")
            assert (10 + length) % container.ALIGNMENT == 0


def test_plain_zipfile_and_numpy_open_it(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest == {"kind": "test", "version": VERSION, "made_by": "1.2.3", "content": CONTENT}
    for name, data in members_of(path).items():
        if name.endswith(".npy"):
            found = np.load(io.BytesIO(data), allow_pickle=False)
            np.testing.assert_array_equal(found, ARRAYS[name.removesuffix(".npy")])
    np.testing.assert_array_equal(np.load(path)["numbers/half"], ARRAYS["numbers/half"])
    done = subprocess.run([sys.executable, "-m", "zipfile", "-t", path], capture_output=True, check=True)
    assert b"Done testing" in done.stdout


def test_large_arrays_share_one_mapping(tmp_path):
    large = np.random.default_rng(0).random((2, container.MAPPED_BYTES // 8))
    path = tmp_path / "large"
    write_container(path, "test", {}, {"one": large[0], "two": large[1], "few": large[0, :5]}, "")
    found = read_container(path).arrays
    assert [is_mapped(found[name]) for name in ("one", "two", "few")] == [True, True, False]
    assert mapping_of(found["one"]) is mapping_of(found["two"])
    np.testing.assert_array_equal(found["one"], large[0])
    np.testing.assert_array_equal(found["two"], large[1])
    assert path.stat().st_size < large.nbytes + 5000


def test_an_array_whose_place_is_not_aligned_is_read(tmp_path, monkeypatch):
    path = tmp_path / "other"
    monkeypatch.setattr(container, "ALIGNMENT", 1)
    write_container(path, "test", {}, {"one": np.arange(5.0)}, "")
    monkeypatch.setattr(container, "ALIGNMENT", 64)
    monkeypatch.setattr(container, "MAPPED_BYTES", 0)
    found = read_container(path).arrays["one"]
    assert found.flags.aligned
    assert not is_mapped(found)


@pytest.mark.parametrize(
    "values", [np.array([object()]), np.zeros(2, dtype=complex), np.zeros((1, 1, 1)), np.array(["a"])]
)
def test_other_arrays_are_not_written(path, values):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="cannot be saved"):
        write_container(path, "test", {}, {"one": values}, "")
    assert path.read_bytes() == before


def test_what_is_no_file_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "missing", tmp_path / "nul\0", "", tmp_path / "a" / "b"):
        with pytest.raises(InputError, match=r"^path: there is no file .*Remedy: give the name of a saved"):
            read_container(place)


@pytest.mark.parametrize("data", [b"", b"PK\5\6" + bytes(18), b"\x80\x04K\x01.", b"a" * 5000])
def test_other_files_are_refused(tmp_path, data):
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"^path: .*other' is not a file saved by graphsoft, or its end is"):
        read_container(path)
