"""Dask arrays and data frames: blocks are written where they are computed, once, and read as one table."""

import os
import time
import weakref

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsoft import InputError, RunStopped
from graphsoft.deadline import Deadline
from graphsoft.distributed import given_by_dask
from graphsoft.distributed.sources import chosen_rows, source_of

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

TABLE = np.random.default_rng(2).normal(size=(40, 6)).astype(np.float32)


@pytest.fixture
def written(monkeypatch):
    """Count the blocks that are computed and written in this process."""
    paths = []
    write = given_by_dask._write_block

    def counted(block, path, *known):
        paths.append(path)
        return write(block, path, *known)

    monkeypatch.setattr(given_by_dask, "_write_block", counted)
    return paths


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        memory_limit="1GB",
        worker_dashboard_address=None,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def same(source, table):
    assert (source.n, source.d) == table.shape
    for start, stop in ((0, 40), (3, 19), (12, 13), (39, 40), (7, 7)):
        assert np.array_equal(source.rows(start, stop), table[start:stop])
    assert np.array_equal(chosen_rows(source, np.arange(0, 40, 7)), table[::7])
    return True


def chunked(rows, columns=(6,)):
    return da.from_array(TABLE, chunks=(rows, columns))


def test_blocks_are_written_once(tmp_path, written):
    source = source_of(chunked((7, 20, 13)), tmp_path)
    assert same(source, TABLE)
    assert source.dtype == np.float32
    assert len(written) == 3
    again = source_of(chunked((7, 20, 13)), tmp_path)
    assert again == source
    assert again.identity() == source.identity()
    assert len(written) == 3
    (tmp_path / "given" / "1.arrays").unlink()
    assert source_of(chunked((7, 20, 13)), tmp_path).identity() == source.identity()
    assert written[3:] == [str(tmp_path / "given" / "1.arrays")]
    assert same(source, TABLE)


def test_the_same_blocks_under_another_name_are_known_again(tmp_path, written):
    X = da.concatenate([da.from_array(TABLE[:15], name="one"), da.from_array(TABLE[15:], name="two")])
    source = source_of(X, tmp_path)
    X = da.concatenate([da.from_array(TABLE[:15], name="three"), da.from_array(TABLE[15:], name="four")])
    assert source_of(X, tmp_path).identity() == source.identity()
    for other in (X + 1, chunked((20, 20)), chunked((10, 30)), chunked((40,))):
        with pytest.raises(InputError, match="of a hierarchy of other data"):
            source_of(other, tmp_path)
    assert same(source, TABLE)


def test_a_call_that_was_stopped_goes_on(tmp_path, written):
    def broken(block, block_info=None):
        if broken.now and block_info[0]["chunk-location"][0] == 2:
            raise OSError("the disk is away")
        return block

    broken.now = True
    X = da.map_blocks(broken, chunked((10, 10, 10, 10)), dtype=np.float32, name="now and then")
    with pytest.raises(OSError, match="the disk is away"):
        source_of(X, tmp_path)
    done = {path.name for path in (tmp_path / "given").glob("*.arrays")}
    assert "2.arrays" not in done
    broken.now = False
    del written[:]
    assert same(source_of(X, tmp_path), TABLE)
    assert len(written) == 4 - len(done)


def test_blocks_of_columns_are_joined(tmp_path):
    assert same(source_of(chunked((15, 25), (4, 2)), tmp_path), TABLE)


def test_numbers_of_rows_need_not_be_known(tmp_path):
    X = chunked((10, 5, 25))
    chosen = TABLE[:, 0] > 0.3
    found = source_of(X[X[:, 0] > 0.3], tmp_path)
    assert np.array_equal(found.rows(0, found.n), TABLE[chosen])
    none = source_of(X[(X[:, 0] > 0.3) & (da.arange(40, chunks=X.chunks[0]) > 20)], tmp_path / "b")
    assert np.array_equal(none.rows(0, none.n), TABLE[20:][chosen[20:] & (np.arange(20, 40) > 20)])
    with pytest.raises(InputError, match="no rows"):
        source_of(X[X[:, 0] > 300], tmp_path / "c")


def test_unknown_rows_in_blocks_of_columns(tmp_path):
    X = chunked((10, 5, 25), (4, 2))
    found = source_of(X[X[:, 0] > 0.3], tmp_path)
    assert np.array_equal(found.rows(0, found.n), TABLE[TABLE[:, 0] > 0.3])


def test_few_blocks_are_in_memory_at_once(tmp_path):
    alive = set()
    most = []

    def made(block_info=None):
        number = block_info[None]["chunk-location"][0]
        values = np.full((10, 4), number)
        alive.add(number)
        most.append(len(alive))
        weakref.finalize(values, alive.discard, number)
        return values

    X = da.map_blocks(made, chunks=((10,) * 50, (4,)), dtype=int, meta=np.empty((0, 0), dtype=int))
    source = source_of(X, tmp_path)
    assert source.rows(0, 500)[:, 0].tolist() == np.repeat(np.arange(50), 10).tolist()
    assert len(most) == 50
    assert max(most) <= 2 * given_by_dask.MOST_BLOCKS


def test_data_frames_bring_their_columns(tmp_path):
    frame = pd.DataFrame(TABLE, columns=list("abcdef"))
    source = source_of(dd.from_pandas(frame, npartitions=3), tmp_path)
    assert same(source, TABLE)
    assert source.columns == tuple("abcdef")
    large = pd.DataFrame({"a": [2**60 + 1, 1], "b": [0.5, 1.0]})
    with pytest.raises(InputError, match=r"beyond 2\*\*53.* of block 0"):
        source_of(dd.from_pandas(large, npartitions=1), tmp_path / "b")
    with pytest.raises(InputError, match="which is not a real number"):
        source_of(dd.from_pandas(frame.assign(text="x"), npartitions=2), tmp_path / "c")


def test_sparse_blocks(tmp_path):
    holes = np.where(TABLE > 0, TABLE, 0)
    X = da.from_array(holes, chunks=(15, 6)).map_blocks(sp.csr_array)
    source = source_of(X, tmp_path)
    assert source.sparse
    assert np.array_equal(source.rows(3, 40).toarray(), holes[3:])


def test_what_blocks_hold_is_checked(tmp_path):
    bad = TABLE.copy()
    bad[25, 3] = np.nan
    with pytest.raises(InputError, match=r"nan in row 5, column 3 of block 2.*drop or fill"):
        source_of(da.from_array(bad, chunks=(10, 6)), tmp_path / "a")
    with pytest.raises(InputError, match="Dask array with 1 dimension"):
        source_of(da.from_array(TABLE[0]), tmp_path / "b")
    for wrong in (dask.delayed(TABLE), db.from_sequence([1, 2])):
        with pytest.raises(InputError, match=f"is a {type(wrong).__name__} of Dask"):
            source_of(wrong, tmp_path / "b")
    with pytest.raises(InputError, match="complex numbers"):
        source_of(da.from_array(TABLE * 1j), tmp_path / "c")


@settings(max_examples=15)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.sampled_from(["i4", "f4", "f8", "?"]))
def test_no_cutting_into_blocks_changes_what_is_read(tmp_path_factory, rows, kind):
    table = (TABLE[: sum(rows)] > 0).astype(kind)
    X = da.from_array(table, chunks=(tuple(rows), 4))
    source = source_of(X, tmp_path_factory.mktemp("run"))
    found = source.rows(0, source.n)
    assert found.dtype == (np.float32 if kind in ("f4", "?") else np.float64)
    assert np.array_equal(found, table)


def test_a_cluster_computes_and_writes_the_blocks(tmp_path, client, written):
    source = source_of(chunked((7, 20, 13), (4, 2)), tmp_path, client)
    assert same(source, TABLE)
    assert not written  # by this process
    assert source_of(chunked((7, 20, 13), (4, 2)), tmp_path, client) == source
    assert source_of(chunked((7, 20, 13), (4, 2)), tmp_path) == source
    assert np.array_equal(client.submit(source.rows, 5, 25).result(), TABLE[5:25])
    bad = TABLE.copy()
    bad[25, 3] = np.inf
    with pytest.raises(InputError, match="inf in row 5, column 3 of block 2"):
        source_of(da.from_array(bad, chunks=(10, 6)), tmp_path / "bad", client)


def test_a_directory_that_workers_do_not_share_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(given_by_dask, "_compute", lambda tasks, client, deadline: None)
    with pytest.raises(
        InputError, match=r"directory: .*0\.arrays', which a worker wrote, is not there.*workers"
    ):
        source_of(chunked((40,)), tmp_path)


@pytest.mark.parametrize("on", ["threads", "cluster"])
def test_blocks_that_have_no_time_get_on_all_the_same(tmp_path, client, on):
    def slow(block):
        time.sleep(0.3)
        return block

    X = chunked((4,) * 10).map_blocks(slow, dtype=np.float32)
    done = [0]
    for _ in range(2):
        with pytest.raises(RunStopped, match=r"write-blocks: the time is over\. Remedy: make the same call"):
            source_of(X, tmp_path, client if on == "cluster" else None, Deadline.after(0))
        done.append(len(list((tmp_path / "given").glob("*.arrays"))))
    assert 0 < done[1] < done[2] < 10
    assert same(source_of(X, tmp_path, client if on == "cluster" else None), TABLE)


def test_a_block_that_kills_its_workers_is_told(tmp_path, client):
    X = chunked((20, 20)).map_blocks(lambda block: os._exit(1), meta=TABLE[:0])
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises(RunStopped, match=r"write-blocks: the worker of a block died.*more memory"),
    ):
        source_of(X, tmp_path, client)
