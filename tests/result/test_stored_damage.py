"""Files of a result on disk that are damaged, missing, or of another result: a clear error."""

import shutil

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import InputError
from graphsoft.distributed.files import open_arrays, write_arrays
from graphsoft.distributed.plan import mark_of
from shared.shapes import cloud
from shared.stored_twin import stored_twin

ASK = {
    "memberships": lambda h: h[1].memberships.part(1),
    "rows": lambda h: h[1].memberships.row_numbers(1),
    "homes": lambda h: (
        [(level.labels[12], level.probability[12], level.entropy[12]) for level in h],
        h[0].memberships[[12]],
    ),
    "points": lambda h: h.sample(60),
    "cells": lambda h: h.predict(np.zeros((2, 3))),
    "graph": lambda h: h.files.edges(1),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    h = graphsoft.hierarchy(cloud(60, centers=4), [6, 3], n_neighbors=5)
    return stored_twin(h, tmp_path_factory.mktemp("twin"), 3, 11, sections=5)


@pytest.fixture
def stored(whole, tmp_path):
    shutil.copytree(whole.directory, tmp_path / "copy")
    return graphsoft.load(tmp_path / "copy")


def refuses(stored, stage):
    with pytest.raises(InputError) as caught:
        ASK[stage](stored)
    error = caught.value
    assert error.argument == "directory"
    assert stage in error.problem
    assert "make the same call again" in error.remedy
    return error.problem


def path_of(stored, stage):
    return stored.files.file(stage, 0 if stage == "cells" else 1)


@pytest.mark.parametrize("stage", ASK)
def test_missing_and_cut_files(stored, stage):
    path = path_of(stored, stage)
    data = path.read_bytes()
    for cut in (0, 5, 30, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        refuses(stored, stage)
    path.unlink()
    assert "is not there" in refuses(stored, stage)
    with pytest.raises(InputError, match="is not there"):
        stored.save(stored.directory.parent / "again")
    assert not (stored.directory.parent / "again").exists()


@pytest.mark.parametrize("stage", ASK)
def test_flipped_bytes_are_noticed_or_were_not_read(whole, stored, stage):
    path = path_of(stored, stage)
    data = bytearray(path.read_bytes())
    noticed = 0
    for place in range(0, len(data), 61):
        data[place] ^= 4
        path.write_bytes(data)
        try:
            ASK[stage](stored)
        except InputError as error:
            noticed += stage in str(error)
        data[place] ^= 4
    assert noticed


@pytest.mark.parametrize("stage", ASK)
def test_damaged_files_are_not_copied(stored, stage):
    path = path_of(stored, stage)
    data = bytearray(path.read_bytes())
    copy = stored.directory.parent / "again"
    for place in range(0, len(data), max(1, len(data) // 9)):
        data[place] ^= 4
        path.write_bytes(data)
        with pytest.raises(InputError, match=stage):
            stored.save(copy)
        assert not copy.exists()
        data[place] ^= 4
    path.write_bytes(data)
    stored.save(copy)
    assert (copy / path.relative_to(stored.directory)).read_bytes() == data


def with_array(stored, path, name, change):
    mark = mark_of(stored.plan)
    with open_arrays(path, mark=mark) as file:
        arrays = {each: file.array(each) for each in file}
        cuts = {each: file.cut(each) for each in file if file.has_sections(each)}
    length = arrays[name].shape[:1]
    arrays[name] = change(arrays[name])
    write_arrays(path, arrays, cuts if arrays[name].shape[:1] == length else None, mark)


@pytest.mark.parametrize(
    ("stage", "name", "change"),
    [
        ("memberships", "memberships/columns", lambda values: values + 6),
        ("memberships", "memberships/columns", lambda values: -1 - values),
        ("memberships", "memberships/counts", lambda values: -values),
        ("memberships", "memberships/counts", lambda values: values * 0 + np.iinfo(np.int32).max),
        ("memberships", "memberships/counts", lambda values: values[::-1] - 1),
        ("memberships", "memberships/values", lambda values: values * 2),
        ("memberships", "memberships/values", lambda values: values * np.nan),
        ("memberships", "memberships/values", lambda values: values.astype(np.int32)),
        ("memberships", "memberships/width", lambda values: values + 1),
        ("memberships", "memberships/width", lambda values: values - 100),
        ("rows", "rows", lambda values: values[::-1]),
        ("rows", "rows", lambda values: values + 60),
        ("rows", "rows", lambda values: values - 60),
        ("rows", "rows", lambda values: values[1:]),
        ("rows", "rows", lambda values: values.astype(np.float64)),
        ("rows", "node", lambda values: values - 30),
        ("homes", "part", lambda values: values + 3),
        ("homes", "part", lambda values: values - 3),
        ("homes", "place", lambda values: values - 60),
        ("homes", "labels-0", lambda values: values + 6),
        ("homes", "labels-0", lambda values: values[1:]),
        ("homes", "probability-0", lambda values: values * 0),
        ("homes", "probability-0", lambda values: values + 1),
        ("homes", "probability-1", lambda values: values * np.nan),
        ("homes", "probability-1", lambda values: values[1:]),
        ("homes", "entropy-0", lambda values: values - 9),
        ("homes", "entropy-1", lambda values: values + np.inf),
        ("homes", "entropy-1", lambda values: values.astype(np.int32)),
        ("points", "features", lambda values: values[:, 1:]),
        ("points", "features", lambda values: values * np.inf),
        ("points", "features", lambda values: values.astype(np.int64)),
        ("cells", "centroids", lambda values: values[1:]),
        ("cells", "centroids", lambda values: values * np.nan),
        ("cells", "partition", lambda values: values + 3),
        ("cells", "partition", lambda values: values - 1),
        ("graph", "columns", lambda values: values + 1000),
        ("graph", "ptr", lambda values: values[::-1]),
        ("graph", "weights", lambda values: values[1:]),
        ("graph", "halo_part", lambda values: values[1:]),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply")
def test_other_arrays_are_refused(stored, stage, name, change):
    with_array(stored, path_of(stored, stage), name, change)
    refuses(stored, stage)


@pytest.mark.parametrize("change", [lambda scale: scale * 0, lambda scale: scale * np.nan, np.atleast_1d])
def test_other_typical_scales_are_refused(stored, change):
    with_array(stored, stored.files.file("graph", 0), "typical", change)
    with pytest.raises(InputError, match="damaged"):
        stored.files.typical_scale()


@pytest.mark.parametrize("wrong", [lambda counts: -counts - 1, lambda counts: counts[::-1] - 9])
def test_rows_are_not_taken_out_of_what_is_no_matrix(stored, wrong):
    with_array(stored, path_of(stored, "memberships"), "memberships/counts", wrong)
    with pytest.raises(InputError, match=r"directory: .*memberships.* is damaged"):
        stored[0].memberships[:]


@pytest.mark.parametrize("stage", ["rows", "homes"])
def test_nodes_that_are_not_there_are_refused(stored, stage):
    name = {"rows": "node", "homes": "place"}[stage]
    with_array(stored, path_of(stored, stage), name, lambda values: values + 1000)
    with pytest.raises(InputError, match="no such rows"):
        _ = stored[0].memberships.part(1) if stage == "rows" else stored[0].memberships[[12]]


def test_points_that_are_not_there_are_refused(stored):
    with_array(stored, path_of(stored, "homes"), "place", lambda values: values + 1000)
    with pytest.raises(InputError, match=r"directory: .*points.* has no node"):
        stored.sample(30)


def test_a_result_of_a_graph_needs_no_features(tmp_path):
    weights = sp.random_array((30, 30), density=0.2, rng=np.random.default_rng(0)).tocsr()
    h = graphsoft.hierarchy(weights + weights.T, [3], affinity="precomputed")
    stored = stored_twin(h, tmp_path / "twin", 2, 7)
    assert not list((tmp_path / "twin" / "parts").glob("points"))
    stored.save(tmp_path / "copy")
    assert len(graphsoft.load(tmp_path / "copy").sample(10).nodes) == 10
