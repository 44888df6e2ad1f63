"""Rows in files: the same as the table in memory, however it is cut and whatever is read of it."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import InputError
from graphsoft.distributed import npy_rows, store_rows
from graphsoft.distributed.locking import held
from graphsoft.distributed.row_files import rows_in_files
from graphsoft.distributed.sources import Source, chosen_rows
from graphsoft.graph.features import checked_features
from shared.tables_in_files import DENSE, FORMATS, SPARSE, write_part, write_parts

RANDOM = np.random.default_rng(5)
TABLE = RANDOM.normal(size=(23, 5)).astype(np.float32)
HOLES = np.where(RANDOM.random((23, 5)) < 0.4, TABLE, np.float32(0))
TYPES = ("f2", "f4", "f8", ">f4", "i1", "u2", "i4", "i8", "u8", "?")


def table_of(form):
    return HOLES if form in SPARSE else TABLE


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.fixture(params=FORMATS)
def files(request, tmp_path):
    form = request.param
    folder, part = write_parts(tmp_path / "a folder", table_of(form), form, cuts=(4, 4, 15))
    return form, rows_in_files(folder, part=part)


def test_every_slice_is_that_of_the_table_in_memory(files):
    form, found = files
    table = table_of(form)
    assert isinstance(found, Source)
    assert (found.n, found.d, found.sparse) == (*table.shape, form in SPARSE)
    assert found.dtype == (np.float64 if found.sparse else np.float32)
    for start in range(0, 24, 3):
        for stop in range(start, 24, 2):
            rows = found.rows(start, stop)
            assert rows.shape == (stop - start, 5)
            assert rows.dtype == found.dtype
            assert np.array_equal(dense(rows), table[start:stop])
            if found.sparse:
                assert isinstance(rows, sp.csr_array)
                assert rows.has_canonical_format
            else:
                assert rows.flags.c_contiguous
    for start, stop in ((-1, 2), (3, 2), (0, 24)):
        with pytest.raises(IndexError):
            found.rows(start, stop)


def test_chosen_rows_are_those_of_the_table(files):
    form, found = files
    for chosen in ([], [0], [22], [3, 4, 5], [0, 7, 14, 22], range(23)):
        rows = np.array(chosen, dtype=np.int64)
        assert np.array_equal(dense(chosen_rows(found, rows)), table_of(form)[rows])


def test_a_copy_of_a_source_by_pickle_reads_the_same(files):
    _, found = files
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again == found
    assert np.array_equal(dense(again.rows(2, 19)), dense(found.rows(2, 19)))


def test_identities_are_plain_and_change_with_the_files(files, tmp_path):
    form, found = files
    before = found.identity()
    assert json.loads(json.dumps(before)) == before == found.identity()
    if form.startswith(("npy", "parquet", "lists")):
        name = found.files[-1].path.rpartition("/")[2].rpartition(".")[0]
        write_part(tmp_path / "a folder", name, TABLE[:8] + 1, form)
        assert found.identity() != before


@pytest.mark.parametrize("form", DENSE)
@pytest.mark.parametrize("kind", TYPES)
def test_types_become_floats_as_in_memory(tmp_path, form, kind):
    if form in ("parquet", "lists") and kind.startswith(">"):
        pytest.skip("Arrow has no such type")
    table = RANDOM.integers(0, 2 if kind == "?" else 100, size=(7, 3)).astype(kind)
    folder, part = write_parts(tmp_path / "parts", table, form, cuts=(3,))
    expected = checked_features(table, "cosine").values
    found = rows_in_files(folder, part=part)
    assert found.rows(0, 7).dtype == found.dtype == expected.dtype
    assert found.rows(0, 7).dtype.isnative
    assert np.array_equal(found.rows(0, 7), expected)


@pytest.mark.parametrize("form", ["npy", "parquet", "lists", "zarr", "h5ad"])
def test_whole_numbers_beyond_float64_are_refused_and_not_rounded(tmp_path, form):
    table = np.array([[1], [2], [2**53], [2**60]])
    folder, _ = write_parts(tmp_path / "fine", table, form, cuts=(1,))
    assert np.array_equal(rows_in_files(folder).rows(0, 4), table)
    table[3] += 1
    folder, _ = write_parts(tmp_path / "rounded", table, form, cuts=(1,))
    with pytest.raises(InputError, match=r"1152921504606846977 in row 2.*2\*\*53") as caught:
        rows_in_files(folder).rows(0, 4)
    assert "part 1" in caught.value.problem


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_with_file_and_rows(tmp_path, form, bad):
    table = table_of(form).copy()
    table[[9, 11], 2] = bad
    folder, part = write_parts(tmp_path / "parts", table, form, cuts=(8,))
    found = rows_in_files(folder, part=part)
    assert np.array_equal(dense(found.rows(0, 9)), table[:9])
    with pytest.raises(InputError, match=r"part 1.* in row 1, column 2"):
        found.rows(5, 20)
    if form == "npy":
        with pytest.raises(InputError, match="and such numbers in row 3 too"):
            found.rows(5, 20)
    with pytest.raises(InputError, match="in row 3, column 2"):
        chosen_rows(found, np.array([11]))


@settings(max_examples=25)
@given(st.data())
def test_no_cutting_changes_what_is_read(tmp_path_factory, data):
    form = data.draw(st.sampled_from(["npy", "npy by column", "parquet", "lists", "zarr"]))
    rows = data.draw(st.integers(1, 12))
    table = np.random.default_rng(rows).normal(size=(rows, data.draw(st.integers(1, 4))))
    cuts = data.draw(st.lists(st.integers(0, rows), max_size=4))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, rows), st.integers(0, rows))))
    chosen = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(npy_rows, "PIECE", data.draw(st.sampled_from([1, 40, 1 << 22])))
        patch.setattr(npy_rows, "NEAR", data.draw(st.sampled_from([1, 40, 1 << 22])))
        folder, _ = write_parts(tmp_path_factory.mktemp("cut") / "parts", table, form, cuts)
        found = rows_in_files(folder)
        assert np.array_equal(found.rows(start, stop), table[start:stop])
        assert np.array_equal(chosen_rows(found, chosen), table[chosen])


@settings(max_examples=10)
@given(st.data())
def test_no_cutting_changes_sparse_rows(tmp_path_factory, data):
    form = data.draw(st.sampled_from(SPARSE))
    cuts = data.draw(st.lists(st.integers(0, 23), max_size=3))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 23), st.integers(0, 23))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_rows, "ENTRIES", data.draw(st.sampled_from([1, 7, 1 << 20])))
        folder, _ = write_parts(tmp_path_factory.mktemp("cut") / "parts", HOLES, form, cuts)
        assert np.array_equal(rows_in_files(folder).rows(start, stop).toarray(), HOLES[start:stop])


def test_files_come_in_natural_order_and_hidden_ones_are_left_out(tmp_path):
    for number in (1, 2, 10):
        np.save(tmp_path / f"part-{number}.npy", np.full((1, 1), number))
    (tmp_path / ".part-3.npy.tmp").write_bytes(b"half")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    assert graphsoft.rows_in_files(tmp_path).rows(0, 3).ravel().tolist() == [1, 2, 10]
    paths = [tmp_path / f"part-{number}.npy" for number in (10, 1)]
    assert rows_in_files(paths).rows(0, 2).ravel().tolist() == [10, 1]
    assert rows_in_files(str(paths[0])).n == 1


def test_parts_without_rows_count_nothing(tmp_path):
    folder, _ = write_parts(tmp_path / "parts", TABLE, "npy", cuts=(0, 5, 5, 23))
    assert np.array_equal(rows_in_files(folder).rows(0, 23), TABLE)
    folder, _ = write_parts(tmp_path / "none", TABLE[:0], "npy", cuts=(0,))
    with pytest.raises(InputError, match="no rows"):
        rows_in_files(folder)


def test_lists_of_numbers_in_parts_without_rows(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, lists in enumerate(([], [[1.0, 2.0]], [], [[3.0, 4.0], [5.0, 6.0]])):
        table = pa.table({"v": pa.array(lists, pa.list_(pa.float32()))})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    found = rows_in_files(tmp_path, columns=["v"])
    assert found.columns is None
    assert found.rows(0, 3).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_files_of_several_types_become_the_wider_one(tmp_path):
    for number, kind in enumerate(("f2", "i2", "f4")):
        np.save(tmp_path / f"{number}.npy", np.full((2, 1), number, dtype=kind))
    assert rows_in_files(tmp_path).dtype == np.float32
    np.save(tmp_path / "3.npy", np.full((2, 1), 3, dtype=np.int32))
    found = rows_in_files(tmp_path)
    assert found.dtype == found.rows(0, 2).dtype == np.float64
    assert found.rows(0, 8).ravel().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_sparse_matrices_of_old_anndata_are_read(tmp_path):
    import h5py

    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["h5sparse_format"] = np.bytes_("csr")
        group.attrs["h5sparse_shape"] = HOLES.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(sp.csr_array(HOLES), name)
    assert np.array_equal(rows_in_files(tmp_path / "old.h5ad").rows(2, 9).toarray(), HOLES[2:9])


def test_the_repr_tells_what_is_there(tmp_path):
    folder, _ = write_parts(tmp_path / "parts", TABLE, "npy", cuts=(5,))
    assert repr(rows_in_files(folder)) == "RowsInFiles(23 rows x 5 features of float32 in 2 npy files)"
    folder, _ = write_parts(tmp_path / "sparse", HOLES, "h5ad sparse")
    assert repr(rows_in_files(folder)) == (
        "RowsInFiles(23 rows x 5 sparse features of float64 in 1 h5ad file)"
    )


def test_columns_of_parquet_are_chosen_by_name(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(TABLE[:, :3], columns=["a", "b c", "d.e"], index=[f"row {k}" for k in range(23)])
    frame["text"] = "x"
    frame.to_parquet(tmp_path / "1.parquet")
    frame[frame.columns[::-1]].to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match="'text', not numbers"):
        rows_in_files(tmp_path)
    found = rows_in_files(tmp_path, columns=["d.e", "a"])
    assert found.columns == ("d.e", "a")
    assert np.array_equal(found.rows(20, 30), np.concatenate([TABLE[20:], TABLE[:7]])[:, [2, 0]])
    frame.drop(columns="text").to_parquet(tmp_path / "1.parquet")
    assert rows_in_files(tmp_path / "1.parquet").columns == ("a", "b c", "d.e")
    with pytest.raises(InputError, match=r"columns: .*1\.parquet' has no column 'z'.*'a', 'b c'"):
        rows_in_files(tmp_path, columns=["z"])


def test_columns_are_left_out(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(TABLE[:, :3], columns=["a", "b", "c"], index=[f"row {k}" for k in range(23)])
    frame.assign(text="x", when="y").to_parquet(tmp_path / "1.parquet")
    frame[["b", "c", "a"]].assign(text="x", when="y").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"drop=\[\.\.\.\]\), or --drop"):
        rows_in_files(tmp_path)
    found = rows_in_files(tmp_path, drop=["text", "when"])
    assert found.columns == ("a", "b", "c")
    assert np.array_equal(found.rows(0, 46), np.vstack([TABLE[:, :3]] * 2))
    assert rows_in_files(tmp_path, drop=["text", "when", "b"]).columns == ("a", "c")
    for wrong, words in (
        ({"drop": ["z"]}, r"drop: .*1\.parquet' has no column 'z'"),
        ({"drop": ["a"], "columns": ["b"]}, "drop: is given together with columns"),
        ({"drop": ["a", "b", "c", "text", "when"]}, "has no columns"),
        ({"drop": [1]}, r"drop: got \[1\]"),
    ):
        with pytest.raises(InputError, match=words):
            rows_in_files(tmp_path, **wrong)
    np.save(tmp_path / "table.npy", TABLE)
    with pytest.raises(InputError, match="drop: has no meaning for npy files"):
        rows_in_files(tmp_path / "table.npy", drop=["a"])


def test_names_of_variables_are_the_columns(tmp_path):
    import anndata

    cells = anndata.AnnData(TABLE, layers={"counts": sp.csr_matrix(HOLES)})
    cells.var_names = [f"gene {k}" for k in range(5)]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    cells.write_zarr(tmp_path / "cells.zarr")
    for path in (tmp_path / "cells.h5ad", tmp_path / "cells.zarr"):
        assert rows_in_files(path).columns == tuple(cells.var_names)
        counts = rows_in_files(path, part="layers/counts")
        assert counts.columns == tuple(cells.var_names)
        assert np.array_equal(counts.rows(3, 20).toarray(), HOLES[3:20])
        with pytest.raises(InputError, match=r"no 'obsm/X_pca'.*choose one of 'X', 'layers/counts'"):
            rows_in_files(path, part="obsm/X_pca")


def test_a_file_that_this_program_holds_open(tmp_path):
    import h5py

    folder, _ = write_parts(tmp_path / "one", TABLE, "h5ad")
    (path,) = folder.iterdir()
    with h5py.File(path, "a"), pytest.raises(InputError, match="Remedy: close it where it is open"):
        rows_in_files(path)
    assert rows_in_files(path).n == len(TABLE)


def test_directories_of_runs_are_not_among_the_files(tmp_path):
    np.save(tmp_path / "part.npy", np.eye(3))
    with held(tmp_path / "run"):
        assert rows_in_files(tmp_path).n == 3
    assert rows_in_files(tmp_path).n == 3
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="there is a folder"):
        rows_in_files(tmp_path)


@pytest.mark.parametrize("titles", ["source target", "DST weight src", "from to", "u v weight"])
def test_tables_of_edges_are_no_points(tmp_path, titles):
    titles = titles.split()
    edges = pd.DataFrame({title: RANDOM.integers(0, 9, 20) for title in titles})
    for number in range(2):
        edges.to_parquet(tmp_path / f"{number}.parquet")
    for path in (tmp_path, tmp_path / "0.parquet"):
        with pytest.raises(InputError, match=r"^X: .*has columns of edges only.*partitioned_graph"):
            rows_in_files(path)
    assert rows_in_files(tmp_path, columns=titles).d == len(titles)


def test_features_that_are_called_as_ends_of_edges_are_features(tmp_path):
    wind = pd.DataFrame({"u": TABLE[:, 0], "v": TABLE[:, 1]})
    for number, some in enumerate((wind, wind.astype(int).assign(speed=1))):
        some.to_parquet(tmp_path / f"{number}.parquet")
        assert rows_in_files(tmp_path / f"{number}.parquet").columns == tuple(some.columns)


@pytest.mark.parametrize("name", ["edges.csv", "graph.npz"])
def test_files_of_edges_are_told_where_they_go(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"X: .*no format.*npy, parquet.*graphsoft\.partitioned_graph"):
        rows_in_files(tmp_path)


def test_names_of_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("part.npy", TABLE)
    for path in ("", [""], ["part.npy", ""]):
        with pytest.raises(InputError, match=r"path: got "):
            rows_in_files(path)
    (tmp_path / "gone.npy").symlink_to(tmp_path / "nowhere.npy")
    with pytest.raises(InputError, match=r"X: there is no file .*gone\.npy': it is a link"):
        rows_in_files(tmp_path)
    write_part(tmp_path, "rows", TABLE, "parquet")
    with pytest.raises(InputError, match="columns: got 3"):
        rows_in_files("rows.parquet", columns=3)
