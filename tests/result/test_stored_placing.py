"""New points in files get the memberships that they get in memory, however the files are cut."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import GraphsoftWarning, InputError, RunStopped
from graphsoft.distributed.files import open_arrays
from graphsoft.distributed.plan import mark_of
from graphsoft.distributed.status import status
from graphsoft.linalg.memberships import entropies
from graphsoft.result import stored_placing
from graphsoft.result.stored_labels import StoredLabels
from graphsoft.result.stored_memberships import StoredMemberships
from graphsoft.result.stored_points import StoredPoints
from shared.shapes import cloud
from shared.stored_twin import stored_twin
from shared.stores import h5ad, memmap, zarr_array

X = cloud(120, centers=5).astype(np.float32)
NEW = np.vstack([cloud(60, centers=5, seed=3).astype(np.float32) + np.float32(0.1), X[7:10], X[7:8]])


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    h = graphsoft.hierarchy(X, [8, 3], n_neighbors=6)
    return stored_twin(h, tmp_path_factory.mktemp("twin"), 4, 60, lends=1, sections=3)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So few rows at once that all is cut."""
    monkeypatch.setattr(stored_placing, "chunk_rows_of", lambda row_bytes, memory: 30)


def check(found, stored, X):
    for level in range(len(stored)):
        expected = stored.predict_proba(X, level)
        shares = found[level].memberships
        assert shares.shape == expected.shape
        whole = shares[range(len(shares))]
        assert abs(whole - expected).max() == 0
        assert (np.asarray(found[level].labels) == stored.predict(X, level)).all()
        assert np.allclose(found[level].probability, expected.toarray().max(axis=1), rtol=1e-6)
        assert np.allclose(found[level].entropy, entropies(expected), atol=1e-6)
        assert (
            found[level].sizes.tolist()
            == np.bincount(found[level].labels, minlength=shares.shape[1]).tolist()
        )


def parts(folder, values, cuts, write):
    folder.mkdir()
    for number, some in enumerate(np.split(values, cuts)):
        write(folder / f"part-{number}", some)
    return folder


def npy(path, values):
    np.save(path.with_suffix(".npy"), values)


def parquet(path, values):
    pd.DataFrame(values, columns=[f"x{at}" for at in range(values.shape[1])]).to_parquet(
        path.with_suffix(".parquet")
    )


def as_npy(folder):
    return parts(folder / "new", NEW, [10, 40], npy)


def as_parquet(folder):
    return parts(folder / "new", NEW, [1], parquet)


def as_list(folder):
    return sorted(parts(folder / "new", NEW, [20], npy).iterdir())


def as_h5ad(folder):
    return h5ad(folder / "new.h5ad", NEW)


def as_zarr(folder):
    return zarr_array(folder / "new.zarr", NEW)


def as_memmap(folder):
    return memmap(folder / "new.npy", NEW)


def as_dask(_):
    import dask.array as da

    return da.from_array(NEW, chunks=(25, 2))


def as_rows_in_files(folder):
    return graphsoft.rows_in_files(as_npy(folder))


def as_array(_):
    return NEW


FORMS = (
    as_npy, as_parquet, as_list, as_h5ad, as_zarr, as_memmap, as_dask, as_rows_in_files, as_array,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_any_form_gets_the_memberships_of_rows_in_memory(stored, tmp_path, form):
    (tmp_path / "data").mkdir()
    found = stored.transform(form(tmp_path / "data"), directory=tmp_path / "answer")
    assert isinstance(found, StoredPoints)
    check(found, stored, NEW)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=4)
@given(cuts=st.lists(st.integers(0, len(NEW)), max_size=4), rows=st.integers(12, 70))
def test_cuts_and_chunks_change_nothing(stored, tmp_path_factory, monkeypatch, cuts, rows):
    monkeypatch.setattr(stored_placing, "chunk_rows_of", lambda row_bytes, memory: rows)
    folder = tmp_path_factory.mktemp("cut")
    X = parts(folder / "new", NEW, sorted(cuts), npy)
    check(stored.transform(X, directory=folder / "answer"), stored, NEW)


@pytest.mark.parametrize(
    ("metric", "weights", "sparse"),
    [("cosine", "gaussian", True), ("cosine", "relative", False), ("euclidean", "connectivity", True)],
)
def test_metrics_and_weights(tmp_path, metric, weights, sparse):
    old, new = (np.where(values > 0.5, values, 0) for values in (X.astype(float), NEW.astype(float)))
    old, new = (values[(values != 0).any(axis=1)] for values in (old, new))
    kind = sp.csr_array if sparse else np.asarray
    h = graphsoft.hierarchy(kind(old), [6, 2], n_neighbors=5, metric=metric, weights=weights)
    model = stored_twin(h, tmp_path / "model", 4, 20, lends=1)
    check(model.transform(kind(new), directory=tmp_path / "answer"), model, kind(new))


def test_sparse_files_for_dense_points_and_the_other_way_round(tmp_path):
    old, new = (np.where(values > 0.5, values, 0.0) for values in (X.astype(float), NEW.astype(float)))
    for number, (known, asked) in enumerate(((old, sp.csr_array(new)), (sp.csr_array(old), new))):
        h = graphsoft.hierarchy(known, [6, 2], n_neighbors=5)
        model = stored_twin(h, tmp_path / f"model-{number}", 3, 20, lends=1)
        check(model.transform(asked, directory=tmp_path / f"answer-{number}"), model, asked)


def test_predict_and_predict_proba_open_the_same_answers(stored, tmp_path):
    labels = stored.predict(NEW, 0, directory=tmp_path / "answer")
    changed = {path: path.stat().st_mtime_ns for path in (tmp_path / "answer" / "parts").glob("*/*")}
    shares = stored.predict_proba(NEW, 1, directory=tmp_path / "answer")
    assert type(labels) is StoredLabels
    assert type(shares) is StoredMemberships
    assert (labels == stored.predict(NEW, 0)).all()
    assert abs(shares[range(len(NEW))] - stored.predict_proba(NEW, 1)).max() == 0
    for path, time in changed.items():
        assert "check-files" in str(path) or path.stat().st_mtime_ns == time
    assert {path.parent.name for path in changed} == {"memberships"}


def test_rows_without_neighbors_are_counted_once(tmp_path):
    points = np.vstack([X, np.zeros((1, X.shape[1]))])
    with pytest.warns(GraphsoftWarning, match="no direction"):
        h = graphsoft.hierarchy(points, [8, 3], n_neighbors=6, metric="cosine")
    model = stored_twin(h, tmp_path / "model", 3, 20)
    new = NEW.copy()
    new[[3, 30]] = 0
    with pytest.warns(GraphsoftWarning, match="2 rows of X have no neighbors") as told:
        found = model.transform(new, directory=tmp_path / "answer")
    assert len(told) == 1
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        check(found, model, new)


def test_answers_are_opened_named_written_and_pickled(stored, tmp_path):
    named = stored.name_clusters({"1-0": "fruit"})
    found = named.transform(NEW, directory=tmp_path / "answer")
    opened = graphsoft.load(tmp_path / "answer")
    assert repr(opened) == repr(found)
    assert repr(found).startswith("StoredPoints(64 points: 8 -> 3 clusters, in '")
    assert repr(found[0]) == "StoredPointsLevel(64 points in 8 clusters)"
    assert len(found.nodes) == 64
    assert status(tmp_path / "answer").finished
    found.name_clusters({"0-0": "apple"}).save(tmp_path / "copy")
    copy = graphsoft.load(tmp_path / "copy")
    assert copy.cluster_names == {"1-0": "fruit", "0-0": "apple"}
    check(copy, stored, NEW)
    again = stored.transform(NEW, directory=tmp_path / "copy", max_memory="90TB")  # as it was made
    assert again.plan == found.plan
    assert {path.name for path in (tmp_path / "copy" / "parts").iterdir()} == {"memberships"}
    for each in (opened, pickle.loads(pickle.dumps(found))):  # noqa: S301
        assert each.cluster_names == {"1-0": "fruit"}
        check(each, stored, NEW)
    found.to_csv(tmp_path / "points.csv")
    found.to_parquet(tmp_path / "points.parquet")
    for table in (pd.read_csv(tmp_path / "points.csv"), pd.read_parquet(tmp_path / "points.parquet")):
        assert [*table.columns] == [
            "point", "level_0", "probability_0", "entropy_0",
            "level_1", "name_1", "probability_1", "entropy_1",
        ]  # fmt: skip
        assert np.allclose(table.entropy_1, found[1].entropy, rtol=1e-6)
        assert table.level_0.tolist() == stored.predict(NEW, 0).tolist()
        assert [name == "fruit" for name in table.name_1] == (stored.predict(NEW) == 0).tolist()
    shares = found[0].memberships.to_dask()
    assert shares.chunks[0] == (30, 30, 4)
    assert abs(shares.compute() - stored.predict_proba(NEW, 0)).max() == 0
    found[1].labels.to_npy(tmp_path / "labels.npy")
    assert (np.load(tmp_path / "labels.npy") == stored.predict(NEW)).all()
    with pytest.raises(InputError, match=r"has no predictions\.gs"):
        StoredPoints.open(tmp_path)


def test_a_damaged_file_is_made_again(stored, tmp_path):
    stored.transform(NEW, directory=tmp_path / "answer")
    path = tmp_path / "answer" / "parts" / "memberships" / "1.arrays"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    with pytest.raises(InputError, match="make the same call again"):
        graphsoft.load(tmp_path / "answer")[1].entropy[40]
    check(stored.transform(NEW, directory=tmp_path / "answer"), stored, NEW)
    assert path.read_bytes() == whole


def test_a_hierarchy_that_is_gone(stored, tmp_path):
    stored.save(tmp_path / "model")
    h = graphsoft.load(tmp_path / "model")
    (tmp_path / "model" / "hierarchy.gs").unlink()
    with pytest.raises(InputError, match=r"there is no result in .* where all workers reach it"):
        h.predict(NEW, directory=tmp_path / "answer")


def test_a_stopped_run_is_taken_up(stored, tmp_path, monkeypatch):
    done = []

    def stop(stage, number, total):
        done.append((stage, number))
        if stage == "take steps" and number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stored.transform(NEW, directory=tmp_path / "answer", progress=stop)
    with pytest.raises(InputError, match=r"has no hierarchy\.gs"):
        graphsoft.load(tmp_path / "answer")
    found = []
    monkeypatch.setattr(stored_placing, "route_rows", lambda *_, **__: found.append(1))
    check(stored.transform(NEW, directory=tmp_path / "answer"), stored, NEW)
    assert not found


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda h, at: h.predict(at / "new"), "directory: is needed for new points in files"),
        (lambda h, at: h.predict([str(at / "new")]), "directory: is needed for new points in files"),
        (lambda h, at: h.predict(NEW, client=object()), "client: has no meaning without directory="),
        (lambda h, at: h.predict(NEW, max_memory=10**9), "max_memory: has no meaning without"),
        (lambda h, at: h.predict(NEW, directory=h.directory), "directory: .* holds a hierarchy"),
        (lambda h, at: h.predict(NEW[:, :2], directory=at / "run"), "X: has 2 columns, where"),
        (lambda h, at: h.predict(at / "new", directory=at / "new"), "directory: .* holds the data too"),
        (lambda h, at: h.predict(NEW, directory=5), "directory: got 5"),
        (lambda h, at: h.predict(NEW, directory=at / "run", max_memory="1MB"), "max_memory: a process may"),
        (lambda h, at: h.predict(NEW, directory=at / "run", client=5), "client: "),
        (lambda h, at: h.predict(NEW, 2, directory=at / "run"), "level: "),
    ],
)
def test_what_is_refused(stored, tmp_path, ask, match):
    parts(tmp_path / "new", NEW, [5], npy)
    with pytest.raises(InputError, match=match):
        ask(stored, tmp_path)
    assert not list(tmp_path.glob("run/parts/*"))


def test_other_points_in_the_same_directory_are_refused(stored, tmp_path):
    stored.predict(NEW, directory=tmp_path)
    with pytest.raises(InputError, match="other"):
        stored.predict(NEW[1:], directory=tmp_path)


def test_hierarchies_that_know_no_new_points(tmp_path):
    h = graphsoft.hierarchy(X, [8], weights="jaccard")
    with pytest.raises(InputError, match="lists of neighbors are not kept"):
        stored_twin(h, tmp_path / "model").predict(NEW, directory=tmp_path / "answer")
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])])
    model = stored_twin(graphsoft.hierarchy(frame, [8], n_neighbors=6), tmp_path / "named")
    with pytest.raises(InputError, match="in another order"):
        model.predict(frame[frame.columns[::-1]], directory=tmp_path / "answer")


def test_parquet_with_columns_in_another_order(tmp_path):
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])])
    h = stored_twin(graphsoft.hierarchy(frame, [8], n_neighbors=6), tmp_path / "model")
    path = tmp_path / "other.parquet"
    frame[frame.columns[::-1]].to_parquet(path)
    with pytest.raises(InputError, match=r"rows_in_files\(path, columns=h\.summary\.columns\)"):
        h.predict(path, directory=tmp_path / "answer")
    rows = graphsoft.rows_in_files(path, columns=h.summary.columns)
    assert (h.predict(rows, directory=tmp_path / "answer") == h.predict(frame)).all()


def test_a_partition_is_read_for_as_many_rows_as_a_chunk_has(stored, tmp_path, monkeypatch):
    read, points = [], stored_placing.OldPoints
    monkeypatch.setattr(stored_placing, "chunk_rows_of", lambda row_bytes, memory: 16)
    monkeypatch.setattr(
        points, "of", classmethod(lambda cls, files, part, of=points.of: read.append(part) or of(files, part))
    )
    stored.predict(NEW, directory=tmp_path)
    visits = 2 * len(NEW)
    assert len(read) <= 2 * visits / 16 + stored.plan.partitions


@pytest.mark.parametrize("wrong", ["too wide", "not a number"])
@pytest.mark.parametrize("form", ["array", "file"])
def test_a_refused_call_leaves_the_directory_to_the_corrected_one(stored, tmp_path, form, wrong):
    bad = (
        np.hstack([NEW, NEW])
        if wrong == "too wide"
        else np.where(np.arange(len(NEW))[:, None] == 40, np.nan, NEW)
    )
    for number, rows in enumerate((bad, NEW)):
        given = rows if form == "array" else as_file(tmp_path / f"{number}.npy", rows)
        if number == 0:
            with pytest.raises(InputError, match="X: "):
                stored.transform(given, directory=tmp_path / "answer")
            assert {path.name for path in (tmp_path / "answer").rglob("*")} <= {"lock"}
        else:
            check(stored.transform(given, directory=tmp_path / "answer"), stored, NEW)


def as_file(path, rows):
    np.save(path, rows)
    return path


def test_a_hierarchy_is_not_written_over_answers(stored, tmp_path):
    found = stored.transform(NEW, directory=tmp_path / "answer")
    found.save(tmp_path / "copy")
    for folder in ("answer", "copy"):
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / folder).rglob("*") if path.is_file()}
        with pytest.raises(InputError, match=r"directory: .* holds points that were put into the clusters"):
            graphsoft.hierarchy(X, [8, 3], directory=tmp_path / folder)
        after = {path: path.stat().st_mtime_ns for path in (tmp_path / folder).rglob("*") if path.is_file()}
        assert after == before


def test_a_hierarchy_that_is_not_found_costs_nothing(stored, tmp_path):
    stored.save(tmp_path / "model")
    model, hidden = graphsoft.load(tmp_path / "model"), []

    def progress(stage, done, total):
        if (stage, done) == ("find neighbors", 1) and not hidden:
            hidden.append((tmp_path / "model" / "parts" / "points").rename(tmp_path / "points"))

    with pytest.raises(RunStopped, match=r"find-neighbors, part \d: .*model.* is not there"):
        model.transform(NEW, directory=tmp_path / "answer", progress=progress)
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "answer" / "done").rglob("*.arrays")}
    assert len(done) > 3
    hidden[0].rename(tmp_path / "model" / "parts" / "points")
    check(model.transform(NEW, directory=tmp_path / "answer"), stored, NEW)
    assert all(path.stat().st_mtime_ns == time for path, time in done.items())


def test_records_of_chunks_are_numbers(stored, tmp_path):
    plan = stored.transform(NEW, directory=tmp_path / "answer").plan
    for path in (tmp_path / "answer" / "done").rglob("*.arrays"):
        if path.parent.name != "memberships-summed":  # one for all chunks
            with open_arrays(path, mark=mark_of(plan)) as file:
                assert {file.shape(name) for name in file} == {()}
