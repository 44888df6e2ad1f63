"""Files that promise, or expand to, far more than they are: bombs are refused before they are read."""

import gzip
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from graphsoft.datasets import byte_limit, read
from graphsoft.errors import InputError

# What content may have in these tests if the file is small, so that they take no time.
EXPANDED = 1 << 20
REMEDY = r"Remedy: allow more if you trust the file: max_bytes='\d+GB', or --max-bytes \d+GB\."


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    assert byte_limit.EXPANDED == 1 << 28
    monkeypatch.setattr(byte_limit, "EXPANDED", EXPANDED)


def refused_without_memory(path, **options):
    """The reader takes a few megabytes, most of them for modules that it imports."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"^path: '{path.name}' holds .*allowed\. {REMEDY}"):
            read(path, **options)
        assert tracemalloc.get_traced_memory()[1] < 16 * EXPANDED
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", ["csv", "tsv", "edges", "txt", "graphml"])
def test_text_that_expands_is_refused(tmp_path, ending):
    path = tmp_path / f"a.{ending}.gz"
    path.write_bytes(gzip.compress(b"\n" * (EXPANDED + 1)))
    assert path.stat().st_size < EXPANDED / 100
    with pytest.raises(InputError, match=rf"^path: '{path.name}' holds more than the .*allowed\. {REMEDY}"):
        read(path)


def test_text_may_have_as_many_bytes_as_are_allowed(tmp_path):
    text = b"0,1\n" * 1000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.csv").write_bytes(text)
    for name in ("a.csv", "a.csv.gz"):
        assert len(read(tmp_path / name, max_bytes=len(text))) == 1000
        with pytest.raises(InputError, match=r"more than the 3,999 bytes"):
            read(tmp_path / name, max_bytes=len(text) - 1)


@pytest.mark.parametrize(
    "header", ["array real general\n25000 25000", "coordinate real general\n1000000000 1000000000 1"]
)
def test_matrix_market_that_promises_too_much(tmp_path, header):
    path = tmp_path / "a.mtx"
    path.write_text(f"%%MatrixMarket matrix {header}\n1 1 1.0\n", encoding="utf-8")
    refused_without_memory(path)


def test_compressed_archives_that_expand(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros(64 * EXPANDED, dtype=np.int8))
    refused_without_memory(tmp_path / "a.npz")
    assert read(tmp_path / "a.npz", max_bytes="65MiB").data.shape == (64 * EXPANDED,)


def test_an_array_that_promises_more_than_there_is(tmp_path):
    path = tmp_path / "a.npz"
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 8), }".ljust(117) + "\n"
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("ascii") + bytes(64)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", raw)
    with pytest.raises(InputError, match=r"X\.npy promises 64,000,000,000 bytes and holds 64"):
        read(path)


@pytest.mark.parametrize("format", ["coo", "dia"])
def test_rows_that_are_only_promised(tmp_path, format):
    matrix = sp.eye_array(3, format=format)
    matrix._shape = (10**10, 3)
    sp.save_npz(tmp_path / "a.npz", matrix)
    refused_without_memory(tmp_path / "a.npz")


def test_parquet_of_equal_rows(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    column = pyarrow.array(np.zeros(4 * EXPANDED, dtype=np.int8))
    parquet.write_table(pyarrow.table({"x": column, "y": column}), path)
    refused_without_memory(path)
    assert read(path, columns=["x"], max_bytes="33.6MB").data.shape == (4 * EXPANDED, 1)


def test_names_that_parquet_stores_once_are_once_in_memory(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {"id": pyarrow.array(["a" * 10_000] * 2000).dictionary_encode(), "x": np.sqrt(np.arange(2000.0))}
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    names = read(tmp_path / "a.parquet").names
    assert len(names) == 2000
    assert len(set(map(id, names))) == 1


def test_h5ad_of_which_nothing_is_stored(tmp_path):
    h5py = pytest.importorskip("h5py")
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "a.h5ad"
    anndata.AnnData(np.ones((4, 2))).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        attributes = dict(file["X"].attrs)
        del file["X"]
        file.create_dataset("X", shape=(10**6, 10**4), dtype="f8", chunks=(100, 100)).attrs.update(attributes)
    refused_without_memory(path)


def test_labels_of_which_one_is_long(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,kind\n" + f"1,{'k' * 30_000}\n" + "1,a\n" * 3000, encoding="utf-8")
    with pytest.raises(InputError, match=r"^path: 'a\.csv' holds 360,120,000 bytes when it is read"):
        read(path, labels="kind")
    assert len(read(path, labels="kind", max_bytes="1GB").labels) == 3001


@pytest.mark.parametrize("wrong", [0, -1, "much", True, 1.5, "9 XB"])
def test_wrong_limits_are_refused(tmp_path, wrong):
    (tmp_path / "a.csv").write_text("1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^max_bytes: got"):
        read(tmp_path / "a.csv", max_bytes=wrong)
