"""Anything that holds rows becomes a source that reads the same rows in any process."""

import json
import os
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import InputError
from graphsoft.distributed import given as given_rows
from graphsoft.distributed.row_files import rows_in_files
from graphsoft.distributed.sources import Source, chosen_rows, source_of
from graphsoft.errors import Unreachable
from graphsoft.graph.features import checked_features
from shared.tables_in_files import FORMATS, SPARSE, write_parquet, write_parts

RANDOM = np.random.default_rng(8)
TABLE = RANDOM.normal(size=(31, 6)).astype(np.float32)
HOLES = np.where(RANDOM.random((31, 6)) < 0.4, TABLE, np.float32(0))
IN_MEMORY = {
    "float32": TABLE,
    "float64": TABLE.astype(float),
    "float16": TABLE.astype(np.float16),
    "int64": RANDOM.integers(-9, 9, size=(31, 6)),
    "bool": HOLES > 0,
    "by column": np.asfortranarray(TABLE),
    "every other": TABLE[::2, 1:4],
    "lists": TABLE.tolist(),
    "frame": pd.DataFrame(TABLE, columns=list("abcdef")),
    "objects": TABLE.astype(object),
    "csr": sp.csr_array(HOLES),
    "coo": sp.coo_matrix(HOLES),
    "csc of ints": sp.csc_array((HOLES * 9).astype(np.int64)),
}


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.fixture
def small(monkeypatch):
    """Make files of few rows, and sections of fewer."""
    monkeypatch.setattr(given_rows, "FILE", 90)
    monkeypatch.setattr(given_rows, "PIECE", 40)


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "given").iterdir()}


def same(source, expected):
    """Compare every slice, and some chosen rows, with the table."""
    values = dense(expected)
    assert (source.n, source.d) == values.shape
    assert source.sparse == sp.issparse(expected)
    assert source.dtype == expected.dtype
    for start in range(0, source.n, 5):
        for stop in range(start, source.n + 1, 3):
            rows = source.rows(start, stop)
            assert rows.dtype == expected.dtype
            assert np.array_equal(dense(rows), values[start:stop])
    chosen = np.arange(0, source.n, 4)
    assert np.array_equal(dense(chosen_rows(source, chosen)), values[chosen])
    return True


@pytest.mark.parametrize("name", IN_MEMORY)
def test_data_in_memory_are_written_once_and_read_as_they_are_checked(tmp_path, small, name):
    X = IN_MEMORY[name]
    source = source_of(X, tmp_path)
    assert isinstance(source, Source)
    assert same(source, checked_features(X, "euclidean").values)
    travelled = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert same(travelled, checked_features(X, "euclidean").values)
    assert source.columns == (tuple("abcdef") if name == "frame" else None)
    before = stamps(tmp_path)
    assert len(before) > 3
    again = source_of(X, tmp_path)
    assert again == source
    assert again.identity() == source.identity() == json.loads(json.dumps(source.identity()))
    assert stamps(tmp_path) == before


def test_other_data_in_the_same_directory_are_refused(tmp_path, small):
    source_of(TABLE, tmp_path)
    changed = TABLE.copy()
    changed[17, 3] += 1
    for X in (changed, TABLE[:20], TABLE.astype(float), sp.csr_array(TABLE)):
        with pytest.raises(InputError, match=r"directory: .* of a hierarchy of other data"):
            source_of(X, tmp_path)
    assert source_of(changed, tmp_path / "b").identity() != source_of(TABLE, tmp_path).identity()


def outcome(source, table):
    try:
        return "the same rows" if np.array_equal(dense(source.rows(0, 31)), table) else "other rows"
    except InputError as error:
        return (
            "the file is named" if "1.arrays' " in error.problem and "call again" in error.remedy else error
        )


@pytest.mark.parametrize("X", [TABLE, sp.csr_array(HOLES)], ids=["dense", "sparse"])
def test_damaged_and_missing_files_are_named_and_written_again(tmp_path, small, X):
    source = source_of(X, tmp_path)
    before = source.identity()
    path = tmp_path / "given" / "1.arrays"
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(InputError, match=r"1\.arrays' is not there.*all workers"):
        source.rows(0, 31)
    assert source_of(X, tmp_path) == source
    assert path.read_bytes() == content
    for place in [*range(0, len(content), 50), len(content) - 1]:
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert outcome(source, dense(X)) in ("the same rows", "the file is named")
        assert source_of(X, tmp_path).identity() == before
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.where(TABLE[20, 2] == TABLE, np.nan, TABLE), "nan in row 20, column 2"),
        (sp.csr_array(np.where(TABLE[20, 2] == TABLE, np.inf, TABLE)), "inf"),
        (np.full((3, 1), 2**60 + 1), r"1152921504606846977 in row 0.*2\*\*53"),
        (np.zeros((0, 3)), "0 samples"),
        (np.zeros((3, 0)), "0 features"),
        (np.zeros(3), "1 dimension"),
        (np.array([["a", "b"]]), "holds text"),
        ("nowhere.npy", "there is no file"),
        (["nowhere.npy"], "there is no file"),
        (7, "X: "),
        (None, "X: "),
        (graphsoft.as_graph(sp.csr_array(np.ones((3, 3)))), "is a graph in memory"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(tmp_path, X, words):
    with pytest.raises(InputError, match=words):
        source_of(X, tmp_path)
    assert not (tmp_path / "given").exists()


def test_open_stores_are_refused_with_what_to_pass(tmp_path):
    import zarr

    with h5py.File(tmp_path / "a.h5", "w") as file, pytest.raises(InputError, match="rows_in_files"):
        source_of(file.create_dataset("X", data=TABLE), tmp_path)
    with pytest.raises(InputError, match="rows_in_files"):
        source_of(zarr.array(TABLE), tmp_path)


@pytest.mark.parametrize("form", FORMATS)
def test_files_are_read_where_they_are(tmp_path, form):
    table = HOLES if form in SPARSE else TABLE
    folder, part = write_parts(tmp_path / "in parts", table, form, cuts=(4, 11))
    found = rows_in_files(folder, part=part)
    for X in (found, folder, str(folder), [file.path for file in found.files]):
        if part is None or X is found:
            source = source_of(X, tmp_path / "run")
            assert same(source, sp.csr_array(table).astype(float) if form in SPARSE else table)
            assert source.identity() == found.identity()
            assert source.columns == found.columns
    assert {path.suffix for path in (tmp_path / "run" / "given").iterdir()} == {".json"}
    assert source_of(source, tmp_path / "run") is source


def test_a_source_is_small_however_many_files_and_columns_it_has(tmp_path):
    folder, _ = write_parts(tmp_path / "parts", RANDOM.normal(size=(50, 300)), "parquet", cuts=range(1, 50))
    source = source_of(folder, tmp_path)
    assert len(pickle.dumps(source)) < 1000
    assert len(source.columns) == 300
    listed = next((tmp_path / "given").glob("source-*.json"))
    assert listed.stat().st_size < 300 * 20 + 50 * 200
    os.rename(listed, tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"directory: there is no file.*workers"):
        source_of_another_process(source)


def source_of_another_process(source):
    from graphsoft.distributed import noted_source

    noted_source._read.cache_clear()
    return source.rows(0, 1)


def damages(content):
    """Damage a text everywhere: a bit of it, a digit, and what is cut off."""
    for place in range(0, len(content), 7):
        yield content[:place]
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_a_damaged_list_of_files_is_never_read_and_made_again(tmp_path):
    for number in (1, 3):
        np.save(tmp_path / f"{number}.npy", TABLE + number)
    source = source_of([tmp_path / "1.npy"], tmp_path)
    (path,) = (tmp_path / "given").iterdir()
    content = path.read_bytes()
    for damaged in (content.replace(b"1.npy", b"3.npy"), b"", b"[" * 10**5, *damages(content)):
        path.write_bytes(damaged)
        with pytest.raises(Unreachable, match=r"directory: .*source-.*json' is damaged.*call again"):
            source_of_another_process(source)
        assert source_of([tmp_path / "1.npy"], tmp_path) == source
        assert path.read_bytes() == content
        assert np.array_equal(source_of_another_process(source), TABLE[:1] + 1)


def test_damage_to_what_is_known_of_the_data_is_repaired(tmp_path):
    source = source_of(TABLE, tmp_path)
    path = tmp_path / "given" / "about.json"
    content = path.read_bytes()
    for damaged in (b"", b"[]", b"[" * 10**5, *damages(content)):
        path.write_bytes(damaged)
        assert source_of(TABLE, tmp_path) == source
        assert path.read_bytes() == content


@pytest.mark.parametrize("kind", ["f4", "f2", ">i4"])
def test_memmaps_are_read_from_their_own_files(tmp_path, kind):
    table = (TABLE * 9).astype(kind)
    np.save(tmp_path / "a.npy", table)
    table.tofile(tmp_path / "raw")
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    raw = np.memmap(tmp_path / "raw", dtype=kind, mode="r+", offset=24 * table.itemsize, shape=(27, 6))
    views = [(mapped, table), (mapped[5:], table[5:]), (np.asarray(mapped)[3:20], table[3:20])]
    views += [(raw, table[4:]), (raw[2:][3:9], table[9:15])]
    for number, (X, expected) in enumerate(views):
        source = source_of(X, tmp_path / f"run {number}")
        assert same(source, checked_features(expected, "euclidean").values)
        assert not list((tmp_path / f"run {number}" / "given").glob("*.arrays"))
    raw[0] = 7
    assert source_of(raw, tmp_path / "changed").rows(0, 1).tolist() == [[7.0] * 6]


def test_views_of_memmaps_that_are_no_rows_of_a_file_are_copied(tmp_path, small):
    np.save(tmp_path / "a.npy", TABLE)
    np.save(tmp_path / "by column.npy", np.asfortranarray(TABLE))
    mapped, private = (np.load(tmp_path / "a.npy", mmap_mode=mode) for mode in ("r", "c"))
    private[3] = 5
    by_column = np.load(tmp_path / "by column.npy", mmap_mode="r")
    views = [mapped[::2], mapped[:, 1:3], mapped[::-1], mapped.T, private, by_column]
    for number, X in enumerate(views):
        source = source_of(X, tmp_path / f"run {number}")
        assert same(source, np.array(X))
        assert list((tmp_path / f"run {number}" / "given").glob("*.arrays"))
    np.save(tmp_path / "b.npy", TABLE + 1)
    os.replace(tmp_path / "b.npy", tmp_path / "a.npy")
    assert same(source_of(mapped, tmp_path / "replaced"), TABLE)


@settings(max_examples=20)
@given(st.data())
def test_no_size_of_files_and_sections_changes_what_is_read(tmp_path_factory, data):
    rows = data.draw(st.integers(1, 20))
    table = np.where(RANDOM.random((rows, 3)) < 0.5, RANDOM.normal(size=(rows, 3)), 0.0)
    X = sp.csr_array(table) if data.draw(st.booleans()) else table
    start, stop = sorted(data.draw(st.tuples(st.integers(0, rows), st.integers(0, rows))))
    chosen = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FILE", "PIECE"):
            patch.setattr(given_rows, name, data.draw(st.sampled_from([1, 60, 200, 1 << 20])))
        source = source_of(X, tmp_path_factory.mktemp("run"))
        assert np.array_equal(dense(source.rows(start, stop)), table[start:stop])
        assert np.array_equal(dense(chosen_rows(source, chosen)), table[chosen])


class Numbers:
    """A source of another kind, which knows nothing but slices."""

    n, d, sparse, columns, dtype = 1000, 1, False, None, np.dtype(float)

    def rows(self, start, stop):
        return np.arange(start, stop, dtype=float)[:, None]

    def identity(self):
        return {}


def test_rows_are_chosen_from_any_source(tmp_path):
    source = source_of(Numbers(), tmp_path)
    for rows in ([], [5], [0, 63, 64, 500, 501, 999]):
        assert chosen_rows(source, np.array(rows, dtype=np.int64)).ravel().tolist() == rows


READS = """if True:
    import pickle, sys
    import numpy as np
    from graphsoft.distributed.sources import chosen_rows
    def memory(name):
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) >> 10
    source = pickle.load(open(sys.argv[1], "rb"))
    source.rows(0, 1)
    before = memory("VmRSS")
    total, stop = 0, source.n - 3
    for row in range(3, stop, 2000):
        total += source.rows(row, min(row + 2000, stop)).sum(dtype=float)
    sample = chosen_rows(source, np.arange(0, source.n, 97))
    print(memory("VmHWM") - before, total, len(sample))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="tells no peak of memory")
@pytest.mark.parametrize("form", ["npy", "memmap", "given", "h5ad", "parquet"])
def test_reading_a_large_file_takes_memory_for_a_slice_only(tmp_path, form):
    table = np.arange(100_000 * 512, dtype=np.float32).reshape(-1, 512) % 1000
    path = tmp_path / "large.npy"
    if form == "h5ad":
        path = tmp_path / "large.h5ad"
        with h5py.File(path, "w") as file:
            file.create_dataset("X", data=table, chunks=(500, 512))
    elif form == "parquet":
        path = tmp_path / "large.parquet"
        table = table[:, :128]
        write_parquet(path, table, lists=True, rows=10_000)
    elif form != "given":
        np.save(path, table)
    X = table if form == "given" else np.load(path, mmap_mode="r") if form == "memmap" else path
    (tmp_path / "source").write_bytes(pickle.dumps(source_of(X, tmp_path / "run")))
    run = [sys.executable, "-c", READS, str(tmp_path / "source")]
    found = subprocess.run(run, check=True, capture_output=True, text=True, timeout=300).stdout.split()
    assert float(found[1]) == table[3:-3].sum(dtype=float)
    assert int(found[2]) == len(range(0, len(table), 97))
    assert int(found[0]) < 60  # MB, where the files have 200, but for that of parquet with 50
