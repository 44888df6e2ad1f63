"""Files that are damaged, lie, or do not fit together are refused, with their names, before long work."""

import io
import os
import socket
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from graphsoft import GraphsoftWarning, InputError
from graphsoft.distributed.edge_files import partitioned_graph
from graphsoft.distributed.row_files import rows_in_files
from shared.hostile import Payload
from shared.tables_in_files import anndata_of, write_parquet, write_part, write_parts

TABLE = np.random.default_rng(3).normal(size=(9, 4))


def refused(path, words, **options):
    with pytest.raises(InputError, match=words) as caught:
        rows_in_files(path, **options)
    return caught.value


def outcome(path):
    try:
        found = rows_in_files(path)
        return "the rows are read" if len(found.rows(0, found.n).shape) == 2 else "something else is read"
    except InputError as error:
        return "the file is named" if path.name in error.problem else str(error)


def header(**changes):
    text = io.BytesIO()
    known = {"descr": "<f8", "fortran_order": False, "shape": (9, 4)} | changes
    np.lib.format.write_array_header_1_0(text, known)
    return text.getvalue()


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    for folder, name in (("rows", "b.npy"), ("stores", "b.h5ad"), ("tables", "b.parquet")):
        Path(folder).mkdir()
        made_unusual(Path(folder, name), kind)
        for path in (folder, Path(folder, name), [Path(folder, name)]):
            refused(path, rf"{folder}/{name}' is a pipe, a socket or a device")
    made_unusual(Path("edges.csv"), kind)
    Path("graph").mkdir()
    made_unusual(Path("graph", "part.npz"), kind)
    for path in ("edges.csv", "graph", ["edges.csv"]):
        with pytest.raises(InputError, match=r"(edges.csv|part.npz)' is no file of which parts"):
            partitioned_graph(path)


def test_pipe_in_a_store_is_refused(tmp_path):
    path = tmp_path / "table.zarr"
    zarr = pytest.importorskip("zarr")
    zarr.save_array(path, TABLE, zarr_format=2)
    chunk = next(each for each in path.iterdir() if each.name[0] != ".")
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(InputError, match="is no ordinary file"):
        rows_in_files(path).identity()
    (path / ".zarray").unlink()
    os.mkfifo(path / ".zarray")
    refused(path, r"no files in .*table\.zarr|0\.0' is a pipe|is of no format")


def made_unusual(path, kind):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(path))


def test_npy_headers_that_lie_are_refused(tmp_path):
    path = tmp_path / "lies.npy"
    data = TABLE.tobytes()
    path.write_bytes(header() + data)
    assert np.array_equal(rows_in_files(path).rows(0, 9), TABLE)
    cases = {
        "1 fewer than its header tells": header() + data[:-1],
        "fewer than its header tells": header(shape=(10**12, 4)) + data,
        "fewer than": header(shape=(10**30, 10**30)) + data,
        "has the shape": header(shape=(-9, -4)) + data,
        r"shape \(36,\)": header(shape=(36,)) + data,
        r"shape \(\)": header(shape=()) + data,
        "has no columns": header(shape=(9, 0)) + data,
        "Python objects": header(descr="|O") + data,
        "complex numbers": header(descr="<c8") + data,
        "records": header(descr=[("a", "<f8")]) + data,
        "text": header(descr="<U2") + data,
        "dtype float128|no npy file": header(descr="<f16") + data,
        "is no npy file": b"\x93NUMPY\x01\x00\xff\xff{" + data,
        "no npy file": b"",
        "npy file": b"PK" + data,
        "no npy": b"\x93NUMPY\x09\x00" + data,
    }
    for words, content in cases.items():
        path.write_bytes(content)
        assert "lies.npy" in refused(path, words).problem


def test_pickles_are_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", np.array([[Payload(), Payload()]], dtype=object), allow_pickle=True)
    refused("a.npy", "Python objects, which are not read")
    assert not os.path.exists("harm")


@pytest.mark.parametrize("form", ["npy", "parquet", "zarr", "h5ad", "h5ad sparse"])
def test_files_that_do_not_fit_are_named(tmp_path, form):
    folder, _ = write_parts(tmp_path / "parts", TABLE, form, cuts=(5,))
    write_part(folder, "part 7", TABLE[:, :3], form)
    error = refused(folder, r"part 7.* has 3 columns, but .*part 0.* has 4")
    assert error.argument == "X"


def test_formats_are_not_mixed(tmp_path):
    folder, _ = write_parts(tmp_path / "parts", TABLE, "npy")
    write_part(folder, "part 7", TABLE, "parquet")
    refused(folder, r"part 7\.parquet' is a parquet file, but .*part 0\.npy' is a npy file")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.txt").write_text("read me")
    refused(tmp_path / "other", "README.txt' is of no format")
    (tmp_path / "other" / "README.txt").rename(tmp_path / "other" / "table.zarr")
    refused(tmp_path / "other", r"table\.zarr' is of no format")


def test_sparse_and_dense_files_are_not_mixed(tmp_path):
    folder, _ = write_parts(tmp_path / "parts", TABLE, "h5ad")
    write_part(folder, "part 7", TABLE, "h5ad sparse")
    refused(folder, "only one of .*part 7.* and .*part 0.* is sparse")


def test_other_names_of_columns_are_refused(tmp_path):
    import pandas as pd

    for name, columns in (("1", "abcd"), ("2", "abce")):
        pd.DataFrame(TABLE, columns=list(columns)).to_parquet(tmp_path / f"{name}.parquet")
    refused(tmp_path, r"2\.parquet' names other columns than .*1\.parquet")
    cells = anndata_of(TABLE, "h5ad")
    cells.write_h5ad(tmp_path / "1.h5ad")
    cells.var_names = list("abcd")
    cells.write_h5ad(tmp_path / "2.h5ad")
    refused([tmp_path / "1.h5ad", tmp_path / "2.h5ad"], r"2\.h5ad' names other columns")


def test_what_is_not_there_is_said(tmp_path):
    error = refused(tmp_path / "nowhere", "there is no file or folder .*nowhere")
    assert "workers" in error.remedy
    refused([tmp_path / "a.npy"], r"there is no file .*a\.npy")
    refused(tmp_path, "there are no files in")
    (tmp_path / "inner").mkdir()
    refused(tmp_path, "there is a folder .*inner' among the files")
    refused([tmp_path / "inner"], "is a folder in a list")
    refused([], "the list of files is empty")
    for wrong in (7, None, [7], "a\0b", ["a\0b"], {"a": 1}):
        assert refused(wrong, "got ").argument == "path"


def test_options_that_have_no_meaning_are_refused(tmp_path):
    folder, _ = write_parts(tmp_path / "npy", TABLE, "npy")
    assert refused(folder, "no meaning for npy", columns=["a"]).argument == "columns"
    assert refused(folder, "no meaning for npy", part="X").argument == "part"
    folder, _ = write_parts(tmp_path / "zarr", TABLE, "zarr")
    refused(folder, "is one array", part="X")
    folder, _ = write_parts(tmp_path / "parquet", TABLE, "parquet")
    for columns in ([], [1], ["column 0", "column 0"]):
        refused(folder, "names of columns, each once", columns=columns)
    assert rows_in_files(folder, columns="column 1").d == 1


@pytest.mark.parametrize("form", ["npy", "npy by column", "parquet", "h5ad", "zarr"])
def test_a_file_that_goes_later_is_named(tmp_path, form):
    folder, _ = write_parts(tmp_path / "parts", TABLE, form, cuts=(5,))
    found = rows_in_files(folder)
    path = found.files[1].path
    os.rename(path, f"{path} was here")
    with pytest.raises(InputError, match=r"there is no file .*part 1") as caught:
        found.rows(0, 9)
    assert "workers" in caught.value.remedy
    assert found.rows(0, 5).shape == (5, 4)


def test_a_file_that_shrinks_later_is_named(tmp_path):
    folder, _ = write_parts(tmp_path / "parts", TABLE, "npy")
    found = rows_in_files(folder)
    path = folder / "part 0.npy"
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(InputError, match=r"part 0.* has changed since it was looked at"):
        found.rows(0, 1)


@pytest.mark.parametrize("form", ["npy", "parquet", "h5ad", "h5ad sparse", "zarr"])
def test_a_file_that_is_written_again_later_is_named(tmp_path, form):
    folder, _ = write_parts(tmp_path / "parts", TABLE, form, cuts=(5,))
    found = rows_in_files(folder)
    before = os.stat(found.files[1].path).st_mtime_ns
    os.utime(found.files[1].path, ns=(before, before + 1))
    with pytest.raises(InputError, match=r"part 1.* has changed since it was looked at"):
        found.rows(0, 9)
    assert found.rows(0, 5).shape == (5, 4)
    os.utime(found.files[1].path, ns=(before, before))
    assert found.rows(0, 9).shape == (9, 4)


@pytest.mark.parametrize("form", ["parquet", "h5ad", "h5ad sparse"])
def test_damaged_files_end_in_a_clear_error(tmp_path, form):
    """A changed byte is either not noticed by the format, or ends in an error that names the file."""
    folder, _ = write_parts(tmp_path / "parts", TABLE, form)
    path = next(folder.iterdir())
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 10)):
        path.write_bytes(content[:length])
        with pytest.raises(InputError) as caught:
            rows_in_files(path).rows(0, 9)
        assert path.name in caught.value.problem
    for place in range(0, len(content), max(1, len(content) // 60)):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        assert outcome(path) in ("the rows are read", "the file is named")


def test_gaps_and_texts_in_parquet_are_refused(tmp_path):
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": pd.array([1, 2, None, 4], dtype="Int64"), "b": [1.0, 2, 3, 4]}).to_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet' has a gap in row 2 of column 'a'"):
        rows_in_files(path).rows(1, 4)
    pq.write_table(pa.table({"v": pa.array([[1.0, 2.0], [3.0], [4.0, 5.0]])}), path)
    with pytest.raises(InputError, match="list of 1 numbers in row 1 of column 'v'"):
        rows_in_files(path).rows(0, 3)
    pq.write_table(pa.table({"v": pa.array([[1.0, 2.0], [3.0, None]])}), path)
    with pytest.raises(InputError, match="gap in row 1 of column 'v'"):
        rows_in_files(path).rows(0, 2)
    pq.write_table(pa.table({"v": pa.array([[1.0, 2.0], [3.0, 5.0]])}), path)
    assert rows_in_files(path).rows(1, 2).tolist() == [[3.0, 5.0]]
    for table, words in (
        ({"v": pa.array([["a"]])}, "holds string in column 'v'"),
        ({"v": pa.array([[]], pa.list_(pa.float32()))}, "no numbers in column 'v'"),
        ({"v": pa.array([[1.0]]), "w": [1.0]}, "in column 'v', not numbers"),
        ({}, "no columns"),
    ):
        pq.write_table(pa.table(table), path)
        refused(path, words)
    write_parquet(path, TABLE)
    pq.write_table(pa.table([[1.0], [2.0]], names=["a", "a"]), path)
    refused(path, "two columns of the same name")
    pq.write_table(pa.table({"label": [1.0], "x": [2.0]}), path)
    with pytest.warns(GraphsoftWarning, match="column 'label' is used as a feature"):
        rows_in_files(path)


def test_matrices_that_cannot_be_read_by_rows_are_refused(tmp_path):
    import anndata
    import pandas as pd

    path = tmp_path / "a.h5ad"
    graph = sp.csr_matrix(np.ones((9, 9)))
    frame = pd.DataFrame({"x": np.arange(9.0)}, index=[str(k) for k in range(9)])
    cells = anndata.AnnData(sp.csc_matrix(TABLE), obsp={"g": graph}, obsm={"frame": frame})
    cells.write_h5ad(path)
    assert "tocsr" in refused(path, "stored by columns").remedy
    refused(path, "is a graph", part="obsp/g")
    refused(path, "'obsm/frame' .*is a dataframe", part="obsm/frame")
    refused(path, "'obs' .*is a dataframe", part="obs")


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("indptr", 1, 1000, "indptr does not fit"),
        ("indptr", 0, -1, "indptr does not fit"),
        ("indices", 0, 77, "columns beyond 3"),
        ("indices", 0, -1, "columns beyond 3"),
    ],
)
def test_malformed_sparse_matrices_are_refused(tmp_path, name, place, value, words):
    import h5py

    path = tmp_path / "a.h5ad"
    anndata_of(TABLE, "h5ad sparse").write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file["X"][name][place] = value
    with pytest.raises(InputError, match=words):
        rows_in_files(path).rows(0, 9)
    with h5py.File(path, "r+") as file:
        file["X"].attrs["shape"] = (10, 4)
    refused(path, "malformed sparse matrix")
