"""Archives with a right digest that somebody made on purpose are refused, and take little memory."""

import pickle
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import graphsoft
from graphsoft import InputError
from graphsoft.storage import container
from shared.hostile import (
    CENTRAL,
    LOCAL,
    MEMORY,
    NUMBERS,
    Payload,
    header,
    outcome,
    places,
    refused,
    unsigned_archive,
)
from shared.saved import END_RECORD, archive_of, npy, signed

NPY = {
    "as it is": header(),  # to see that this way of writing headers is right
    "huge": header(shape="(1000000000000,)"),
    "huge table": header(shape="(4611686018427387904, 4)"),
    "product of 2**64": header(shape="(4294967296, 4294967296)"),
    "more digits than fit": header(shape=f"({'9' * 80},)"),
    "empty but huge": header(shape="(0, 999999999999999999)"),
    "negative": header(shape="(-3,)"),
    "two negative": header(shape="(-1, -3)"),
    "no dimension": header(shape="()"),
    "three dimensions": header(shape="(3, 1, 1)"),
    "float length": header(shape="(3.0,)"),
    "objects": header("'|O'"),
    "text": header("'<U2'"),
    "bytes": header("'|S8'"),
    "complex": header("'<c16'"),
    "long double": header("'<f16'"),
    "dates": header("'<M8[ns]'"),
    "big-endian": header("'>f8'"),
    "records": header("[('a', '<f8')]"),
    "sub-arrays": header("('<f8', (1,))"),
    "by column": header(order="True"),
    "order of another kind": header(order="0"),
    "code": header(order="__import__('os').system('touch harm')"),
    "code as shape": header(shape="(open('harm', 'w'),)"),
    "something before": header(before="#"),
    "something after": header(after="#"),
    "another version": header(version=b"\2\0"),
    "version 3": header(version=b"\3\0"),
    "no header": b"",
    "half a header": header()[:40],
    "no magic": b"\0" * 200,
    "long header": b"\x93NUMPY\1\0" + b"\xff\xff" + b" " * 70000,
}


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("case", NPY)
def test_headers_of_arrays(members, tmp_path, case):
    start, values = NPY[case], np.ones(3).tobytes()
    path = tmp_path / "file"
    path.write_bytes(archive_of({**members, NUMBERS: start + values}))
    found = outcome(path)
    assert isinstance(found, graphsoft.Hierarchy) == (case == "as it is")


@pytest.mark.parametrize("more", [-8, -1, 1, 8, 1 << 20])
def test_arrays_that_are_not_as_large_as_their_headers_say(members, tmp_path, more):
    data = members[NUMBERS]
    data = data[:more] if more < 0 else data + bytes(more)
    refused(tmp_path, archive_of({**members, NUMBERS: data}), "not as large as its header says")


def test_pickles_are_not_read(members, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(Payload())
    refused(tmp_path, data, "not a file saved by graphsoft")
    objects = np.array([Payload()], dtype=object)
    for name in (NUMBERS, "manifest.json"):
        for hostile in (data, npy(objects), header("'|O'", "(1,)") + data):
            refused(tmp_path, archive_of({**members, name: hostile}))
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../levels.npy", "/etc/levels.npy", "levels/../../x.npy", "levels\\x.npy", "C:/x.npy",
        "levels//x.npy", "/x.npy", "levels/", "levels", ".npy", "levels/.npy", "Levels.npy", "lévels.npy",
        "x.npy ", "x.npy\n",
        "x.NPY", "x.npz", "manifest.json.npy/..", "./manifest.json", "\u202emanifest.json",
    ],
)  # fmt: skip
def test_names_of_members(members, tmp_path, name):
    refused(tmp_path, archive_of({**members, name: npy(np.ones(3))}))


def test_members_twice(members, tmp_path):
    for name in (NUMBERS, "manifest.json"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            data = archive_of([*members.items(), (name, members[name])])
        refused(tmp_path, data)


def test_no_manifest(members, tmp_path):
    refused(tmp_path, archive_of({name: data for name, data in members.items() if name != "manifest.json"}))
    refused(tmp_path, archive_of({}))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("name", [NUMBERS, "manifest.json", "more.npy"])
def test_compressed_members(members, tmp_path, name, method):
    bomb = header(shape=f"({3 << 20},)") + bytes(24 << 20)
    plain = archive_of({**members, name: b""})
    packed = archive_of({**members, name: bomb}, compress_type=method)
    assert len(packed) < len(plain) + (1 << 17)
    del bomb
    path = tmp_path / "file"
    path.write_bytes(packed)
    tracemalloc.start()
    assert isinstance(outcome(path), InputError)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY
    refused(tmp_path, archive_of(members, compress_type=method))


def patched(members, record, offset, form, value, which=0):
    """Change a field of a header, and sign the file again."""
    data = unsigned_archive(members)
    struct.pack_into(form, data, places(data, record)[which] + offset, value)
    return signed(bytes(data))


FIELDS = {
    "encrypted, says the list": (CENTRAL, 8, "<H", 1),
    "encrypted, says the member": (LOCAL, 6, "<H", 1),
    "strongly encrypted": (CENTRAL, 8, "<H", 1 << 6),
    "sizes behind the data": (CENTRAL, 8, "<H", 1 << 3),
    "compressed, says the list": (CENTRAL, 10, "<H", 8),
    "compressed, says the member": (LOCAL, 8, "<H", 8),
    "an unknown method": (CENTRAL, 10, "<H", 99),
    "a future version of zip": (CENTRAL, 6, "<H", 99),
    "a smaller size": (CENTRAL, 24, "<L", 5),
    "a larger compressed size": (CENTRAL, 20, "<L", 10**6),
    "a huge size": (CENTRAL, 24, "<L", 0xFFFFFFFE),
    "a size in a field that is not there": (CENTRAL, 24, "<L", 0xFFFFFFFF),
    "another place": (CENTRAL, 42, "<L", 7),
    "a place outside": (CENTRAL, 42, "<L", 0x7FFFFFFF),
    "a longer name in the member": (LOCAL, 26, "<H", 0xFFFF),
    "longer extra data in the member": (LOCAL, 28, "<H", 0xFFFF),
    "another name in the member": (LOCAL, 30, "<B", ord("x")),
    "no member": (LOCAL, 0, "<L", 0),
    "no entry": (CENTRAL, 0, "<L", 0),
}


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("case", FIELDS)
def test_fields_of_the_archive(members, tmp_path, case, which):
    record, offset, form, value = FIELDS[case]
    refused(tmp_path, patched(members, record, offset, form, value, which))


@pytest.mark.parametrize("offset", [28, 30, 32], ids=["name", "extra data", "comment"])
def test_lengths_in_the_list_of_members(members, tmp_path, offset):
    refused(tmp_path, patched(members, CENTRAL, offset, "<H", 0xFFFF))
    path = tmp_path / "file"
    path.write_bytes(patched(members, CENTRAL, offset, "<H", 0xFFFF, -1))
    outcome(path)  # zipfile takes what is there


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("value", [0, 1, 10**6, 2**31, 0xFFFFFFFF])
@pytest.mark.parametrize("offset", [12, 16], ids=["size", "place"])
def test_a_list_of_members_elsewhere(members, tmp_path, offset, value):
    path = tmp_path / "file"
    path.write_bytes(patched(members, b"PK\5\6", offset, "<L", value, -1))
    outcome(path)  # zipfile finds the list of an archive that something was put before


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("size", [0, 2**31, 2**40, 2**62, 2**63, 2**64 - 1])
@pytest.mark.parametrize("place", [0, 2**40, 2**64 - 1])
def test_a_list_of_members_of_64_bits(members, tmp_path, size, place):
    data = unsigned_archive(members)
    start, end = int.from_bytes(data[-6:-2], "little"), len(data) - END_RECORD
    record = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 9, 9, size, place)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    assert start < end
    refused(tmp_path, signed(bytes(data[:end]) + record + locator + bytes(data[end:])))


def test_sizes_of_64_bits(members, tmp_path):
    for size in (2**40, 2**63, 2**64 - 1):
        data = unsigned_archive(members)
        entry = places(data, CENTRAL)[0]
        name, extra = struct.unpack_from("<HH", data, entry + 28)
        struct.pack_into("<LL", data, entry + 20, 0xFFFFFFFF, 0xFFFFFFFF)
        struct.pack_into("<H", data, entry + 30, extra + 20)
        at = entry + 46 + name
        data[at:at] = struct.pack("<HHQQ", 1, 16, size, size)
        length = struct.unpack_from("<L", data, len(data) - END_RECORD + 12)[0]
        struct.pack_into("<L", data, len(data) - END_RECORD + 12, length + 20)
        refused(tmp_path, signed(bytes(data)), "ends outside")


def test_members_that_overlap(members, tmp_path):
    inner = unsigned_archive({"inner.npy": npy(np.ones(3))})
    begin = inner.find(CENTRAL)
    outer = header(shape="(1000,)") + bytes(inner[:begin]).ljust(8000, b"\0")
    data = unsigned_archive({**members, "outer.npy": outer})
    at = data.find(inner[:begin])
    entry = bytearray(inner[begin : inner.find(b"PK\5\6")])
    struct.pack_into("<L", entry, 42, at)
    end = len(data) - END_RECORD
    count, _, length, place = struct.unpack_from("<HHLL", data, end + 8)
    struct.pack_into("<HHLL", data, end + 8, count + 1, count + 1, length + len(entry), place)
    data[end:end] = entry
    refused(tmp_path, signed(bytes(data)), "overlap")


@pytest.mark.usefixtures("little_memory")
def test_the_same_place_twice(members, tmp_path):
    """The bomb that lists one member many times under many names."""
    data = unsigned_archive(members)
    end = len(data) - END_RECORD
    last = places(data, CENTRAL)[-1]
    entry = bytes(data[last:end])
    count, _, length, place = struct.unpack_from("<HHLL", data, end + 8)
    struct.pack_into("<HHLL", data, end + 8, count + 500, count + 500, length + 500 * len(entry), place)
    data[end:end] = entry * 500
    refused(tmp_path, signed(bytes(data)))


@pytest.mark.parametrize("mapped_bytes", [1 << 20, 1], ids=["read", "mapped"])
def test_random_bytes_with_a_right_digest(members, tmp_path, monkeypatch, mapped_bytes):
    monkeypatch.setattr(container, "MAPPED_BYTES", mapped_bytes)
    data, path, chosen = bytes(unsigned_archive(members)), tmp_path / "file", np.random.default_rng(0)
    headers = [at + k for at in places(data, LOCAL) + places(data, CENTRAL) for k in range(46)]
    loaded = 0
    for round in range(600):
        changed = bytearray(data)
        anywhere = round % 2 == 0
        for _ in range(chosen.integers(1, 4)):
            at = int(chosen.integers(len(data) - 2)) if anywhere else int(chosen.choice(headers))
            changed[at] = chosen.integers(256)
        path.write_bytes(signed(bytes(changed)) if changed[-22:-18] == b"PK\5\6" else bytes(changed))
        loaded += not isinstance(outcome(path), InputError)
    assert 0 < loaded < 600
