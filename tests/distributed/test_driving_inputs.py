"""The same rows in any form give the same result."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import graphsoft
from shared.runs import LEVELS, digest, nested_clouds
from shared.stores import h5ad, memmap, zarr_array

X, _ = nested_clouds(400)
GIVEN = {"partitions": 2, "max_memory": "2GB"}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    graphsoft.hierarchy(X, LEVELS, directory=folder, **GIVEN)
    return digest(folder)


def as_memmap(folder):
    return memmap(folder / "rows.npy", X)


def as_parquet(folder):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    for number, some in enumerate(np.array_split(np.arange(len(X)), 3)):
        frame.iloc[some].to_parquet(folder / f"part-{number}.parquet")
    return [folder / f"part-{number}.parquet" for number in range(3)]


def as_dask(folder):
    import dask.array as da

    return da.from_array(X, chunks=(150, 3))


def as_h5ad(folder):
    return h5ad(folder / "rows.h5ad", X)


def as_zarr(folder):
    return zarr_array(folder / "rows.zarr", X)


def as_path(folder):
    np.save(folder / "rows.npy", X)
    return str(folder / "rows.npy")


@pytest.mark.parametrize("form", [as_memmap, as_parquet, as_dask, as_h5ad, as_zarr, as_path])
def test_forms(tmp_path, expected, form):
    (tmp_path / "input").mkdir()
    given = form(tmp_path / "input")
    h = graphsoft.hierarchy(given, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert digest(tmp_path / "run") == expected
    again = graphsoft.hierarchy(given, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert again.report == h.report


def hidden(path):
    path.rename(f"{path} was here")
    return lambda: Path(f"{path} was here").rename(path)


def written_again(path):
    before = path.stat().st_mtime_ns
    os.utime(path, ns=(before, before + 1))
    return lambda: os.utime(path, ns=(before, before))


def as_edges(folder):
    upper = sp.triu(graphsoft.knn_graph(X).adjacency).tocoo()
    for name, some in (("a", slice(0, 500)), ("b", slice(500, None))):
        kept = {"row": upper.row[some], "col": upper.col[some], "data": upper.data[some]}
        np.savez(folder / f"{name}.npz", **kept, shape=upper.shape)
    return graphsoft.partitioned_graph(folder)


@pytest.mark.parametrize(
    ("form", "lost", "moment", "problem"),
    [
        (as_path, "input/rows.npy", ("route rows", 0), "there is no file"),
        (as_parquet, "input/part-1.parquet", ("route rows", 0), "there is no file"),
        (as_h5ad, "input/rows.h5ad", ("route rows", 0), "there is no file"),
        (as_zarr, "input/rows.zarr", ("route rows", 0), "there is no file"),
        (as_dask, "run/given/1.arrays", ("route rows", 0), "is not there"),
        (as_edges, "input/b.npz", ("read edges", 1), "is not there any more"),
    ],
)
@pytest.mark.parametrize("lose", [hidden, written_again])
def test_a_file_that_a_task_does_not_find_costs_nothing(tmp_path, form, lost, moment, problem, lose):
    if (form, lose) == (as_dask, written_again):
        pytest.skip("a file that the run wrote itself is known by its content")
    (tmp_path / "input").mkdir()
    given, undo = form(tmp_path / "input"), []

    def progress(name, done, total):
        if (name, done) == moment and not undo:
            undo.append(lose(tmp_path / lost))

    with pytest.raises(graphsoft.RunStopped, match=problem if lose is hidden else "has changed") as stopped:
        graphsoft.hierarchy(given, LEVELS, directory=tmp_path / "run", progress=progress, **GIVEN)
    assert stopped.value.stage.replace("-", " ") == moment[0]
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "done").rglob("*.arrays")}
    assert done
    undo[0]()
    graphsoft.hierarchy(given, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert all(path.stat().st_mtime_ns == time for path, time in done.items())


def test_a_dask_array_and_workers(tmp_path, expected, client):
    graphsoft.hierarchy(as_dask(tmp_path), LEVELS, directory=tmp_path, client=client, **GIVEN)
    assert digest(tmp_path) == expected


def test_sparse_rows(tmp_path):
    rows = sp.csr_array(np.where(X > 1, X, 0)[(X > 1).any(axis=1)])
    h = graphsoft.hierarchy(rows, LEVELS, directory=tmp_path, metric="cosine", **GIVEN)
    one = graphsoft.hierarchy(rows, LEVELS, metric="cosine")
    assert np.isclose(h[-1].report.trace[0], one[-1].report.trace[0], rtol=0.01)
    assert h.summary.plan.sparse


def test_texts_of_which_one_cluster_has_most_are_warned_of(tmp_path):
    topic = np.repeat([0, 1, 2, 3], [240, 20, 20, 20])
    random = np.random.default_rng(0)
    words = (random.random((300, 40)) < np.where(np.arange(40) // 10 == topic[:, None], 0.6, 0.02)) * 1.0
    rows = sp.csr_array(words * random.random((300, 40)))
    options = {"metric": "cosine", "levels": (12, 4)}
    with pytest.warns(graphsoft.GraphsoftWarning, match="at the top, holds .* of all points"):
        graphsoft.hierarchy(rows, **options)
    with pytest.warns(graphsoft.GraphsoftWarning, match="at the top, holds .* of all points"):
        graphsoft.hierarchy(rows, directory=tmp_path, partitions=1, **options)
