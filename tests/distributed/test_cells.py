"""Cells, the probe of them, and how rows are dealt to partitions."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsoft.distributed import cells
from graphsoft.distributed.cell_search import Cells, seen_rows
from graphsoft.distributed.cells import choose_cells, lends_needed
from graphsoft.distributed.joining import first_row, join, partition_of
from graphsoft.distributed.probing import found_by_lending
from graphsoft.distributed.routing import route
from graphsoft.distributed.run import Run
from graphsoft.errors import GraphsoftWarning
from naive.routed import lists_by_partitions
from shared.routed import RowsInMemory, plan_of, read

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("GRAPHSOFT_DATA", ROOT.parent / "shared" / "data"))


def clouds(count=6000, features=8, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(30, features)) * 1.5
    return centers[random.integers(30, size=count)] + random.normal(size=(count, features))


def nested(count=6000, features=16, seed=0):
    """Clouds in clouds in clouds."""
    random = np.random.default_rng(seed)
    places = np.zeros((1, features))
    for size, spread in ((5, 4.0), (4, 2.0), (5, 1.0)):
        places = np.repeat(places, size, axis=0)
        places = places + random.normal(size=places.shape) * spread
    chosen = places[random.integers(len(places), size=count)]
    return (chosen + random.normal(size=(count, features)) * 0.6).astype(np.float32)


def images():
    path = DATA / "usps.npz"
    if not path.exists():
        pytest.skip("no images here")
    with np.load(path) as file:
        return file["X"][:5000].astype(np.float32)


def exact_recall(values, keys_of_nodes, first, k):
    """Which part of the exact neighbors of some nodes is listed."""
    probes = np.arange(0, len(first), max(1, len(first) // 300))
    hits = total = 0
    for node in probes:
        distances = ((values.astype(np.float64) - values[first[node]].astype(np.float64)) ** 2).sum(axis=1)
        distances[distances == 0] = np.inf
        near = np.argsort(distances, kind="stable")[:k]
        hits += np.isin(near, first_row(keys_of_nodes[node])).sum()
        total += k
    return hits / total


@pytest.mark.parametrize("make", [clouds, nested, images])
@pytest.mark.parametrize("partitions", [4, 8])
def test_the_probe_tells_what_is_found(tmp_path, make, partitions):
    values = make()
    plan = plan_of(values, partitions, chunk_rows=1500)
    run, source = Run(tmp_path), RowsInMemory(values)
    lends, recall = lends_needed(run, source, plan)
    assert 1 <= lends <= 8
    assert recall >= 0.99
    plan = replace(plan, lends=lends)
    join(run, plan, route(run, source, plan))
    lists = [read(run, "merge-neighbors", part) for part in plan.parts]
    first, keys = (np.concatenate([each[name] for each in lists]) for name in ("first", "keys"))
    assert len(first) == len(np.unique(first)) == len(np.unique(values, axis=0))
    found = exact_recall(values, keys, first, plan.n_neighbors)
    assert found >= recall - 0.02
    assert found >= 0.95
    loads = [len(read(run, "rows", part)["rows"]) for part in plan.parts]
    assert max(loads) <= 1.3 * len(values) / partitions


@pytest.mark.parametrize("make", [clouds, nested])
def test_many_cells_are_found_in_steps_as_well(tmp_path, monkeypatch, make):
    values, found = make(), []
    for name, many in (("at once", 1024), ("in steps", 16)):
        monkeypatch.setattr(cells, "MANY_CELLS", many)
        monkeypatch.setattr(cells, "FEWER_EACH", cells.CELLS_EACH)  # as many of them
        monkeypatch.setattr(cells, "MOST_LINKED", 2 * many)
        plan = plan_of(values, 8, chunk_rows=1500)
        run, source = Run(tmp_path / name), RowsInMemory(values)
        choose_cells(run, source, plan)
        sizes, recall = route(run, source, replace(plan, lends=1)), found_by_lending(run, source, plan)
        chosen = Cells.read(run.where("cells", 0), "euclidean")
        assert len(np.unique(chosen.centroids, axis=0)) == len(chosen.centroids) >= 100
        assert (np.bincount(chosen.partition, minlength=8) > 0).all()
        own = sizes.own[:, 0]
        assert own.max() <= 1.3 * own.mean()
        found.append(recall)
    np.testing.assert_allclose(found[1], found[0], atol=0.03)


def test_one_partition_needs_no_lending(tmp_path):
    values = clouds(100)
    assert lends_needed(Run(tmp_path), RowsInMemory(values), plan_of(values)) == (0, 1.0)


def test_the_bound_is_that_of_all_rows(tmp_path):
    """With every row a probe, the bound follows from distances and cells alone."""
    values = clouds(400)
    plan = plan_of(values, 4, chunk_rows=90, n_neighbors=5)
    run, source = Run(tmp_path), RowsInMemory(values)
    choose_cells(run, source, plan)
    recall = found_by_lending(run, source, plan)
    distances = ((values[:, None] - values) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :5]
    for lends in (1, 2, 8):
        parts = Cells.read(run.where("cells", 0), "euclidean").partitions_of(values, lends)
        sets = [set(row[row >= 0].tolist()) for row in parts]
        met = [bool(sets[row] & sets[other]) for row in range(400) for other in near[row]]
        assert recall[lends - 1] == pytest.approx(np.mean(met))


def test_a_shapeless_cloud_warns(tmp_path):
    values = np.random.default_rng(0).normal(size=(3000, 60))
    with pytest.warns(GraphsoftWarning, match="of the nearest neighbors can be found"):
        lends, recall = lends_needed(
            Run(tmp_path), RowsInMemory(values), plan_of(values, 60, chunk_rows=1000)
        )
    assert lends == 8
    assert recall < 0.97


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize("width", [5, 1500])
def test_identical_rows_come_to_the_same_cells(metric, width):
    """However many rows there are beside them, and under metrics of directions their multiples too."""
    random = np.random.default_rng(0)
    values = random.integers(0, 9, (50, width)).astype(np.float64)
    factor = 1.0 if metric == "euclidean" else 2.0 if metric == "correlation" else 3.0
    both = np.concatenate([values, factor * values[::-1]])
    seen = seen_rows(both, metric)
    np.testing.assert_array_equal(seen[:50], seen[:49:-1])
    np.testing.assert_array_equal(seen[:7], seen_rows(both[:7], metric))
    if metric != "correlation":
        np.testing.assert_allclose(seen, seen_rows(sp.csr_array(both), metric), atol=1e-12)
    cells = Cells(seen[:20], np.arange(20), metric)
    parts = cells.partitions_of(both, 4)
    np.testing.assert_array_equal(parts[:50], parts[:49:-1])
    for row in (3, 77):
        np.testing.assert_array_equal(cells.partitions_of(both[row : row + 1], 4), parts[row : row + 1])


def test_cells_are_the_nearest():
    values = clouds(500)
    cells = Cells(values[:40], np.repeat(np.arange(8), 5), "euclidean")
    distances = ((values[:, None] - values[:40]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        cells.nearest(values, 5), np.argsort(distances, axis=1, kind="stable")[:, :5]
    )


def test_a_cell_that_is_too_full_is_split(tmp_path):
    """Half of all rows are in one dense spot."""
    random = np.random.default_rng(0)
    spot = random.normal(size=(3000, 4)) * 1e-3
    values = np.concatenate([spot, random.normal(size=(3000, 4)) * 5])
    plan = plan_of(values, 8, chunk_rows=2000)
    run, source = Run(tmp_path), RowsInMemory(values)
    choose_cells(run, source, plan)
    parts = Cells.read(run.where("cells", 0), "euclidean").partitions_of(values, 0)[:, 0]
    assert np.bincount(parts, minlength=8).max() <= 1.3 * len(values) / 8


def test_rows_without_direction_are_dealt_to_all_partitions(tmp_path):
    values = clouds(800)
    values[::2] = 0.0
    plan = plan_of(values, 4, lends=1, metric="cosine")
    run, source = Run(tmp_path), RowsInMemory(values)
    choose_cells(run, source, plan)
    with pytest.warns(GraphsoftWarning, match="400 rows have no direction"):
        own = route(run, source, plan).own[:, 0]
    assert own.sum() == 800
    assert own.max() < 260


def test_no_row_has_a_direction(tmp_path):
    values = np.zeros((30, 3))
    plan = plan_of(values, 4, metric="cosine", chunk_rows=10)
    assert lends_needed(Run(tmp_path), RowsInMemory(values), plan) == (1, 1.0)


def test_identical_rows_take_no_room(tmp_path):
    """Half of all rows are one place, which is one row of a partition in each chunk."""
    values = clouds(2000)
    values[::2] = 1.0
    plan = plan_of(values, 4, lends=1)
    run, source = Run(tmp_path), RowsInMemory(values)
    choose_cells(run, source, plan)
    sizes = route(run, source, plan)
    own = sizes.own[:, 0]
    assert own.sum() == 1000 + 20
    assert own.max() <= 1.3 * own.mean()
    join(run, plan, sizes)
    rows = [read(run, "rows", part) for part in plan.parts]
    np.testing.assert_array_equal(np.sort(np.concatenate([each["rows"] for each in rows])), np.arange(2000))
    assert all((np.diff(each["rows"]) > 0).all() for each in rows)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=60),
    st.integers(1, 5),
    st.integers(2, 5),
    st.integers(0, 3),
)
def test_lists_are_the_nearest_of_all_that_partitions_see(rows, n_neighbors, partitions, lends):
    values = np.array(rows, dtype=np.float64)
    plan = plan_of(values, partitions, lends=lends, n_neighbors=n_neighbors, chunk_rows=13)
    with TemporaryDirectory() as folder:
        run, source = Run(Path(folder)), RowsInMemory(values)
        choose_cells(run, source, plan)
        parts = Cells.read(run.where("cells", 0), "euclidean").partitions_of(values, lends)
        join(run, plan, route(run, source, plan))
        lists = [read(run, "merge-neighbors", part) for part in plan.parts]
    seen_by = [set(row[row >= 0].tolist()) for row in parts]
    expected = lists_by_partitions(rows, seen_by, n_neighbors)
    for part, found in enumerate(lists):
        for number, keys, distances in zip(found["first"], found["keys"], found["distances"], strict=True):
            pairs = expected.pop(int(number))
            assert parts[number, 0] == part
            assert first_row(keys[keys >= 0]).tolist() == [other for _, other in pairs]
            assert partition_of(keys[keys >= 0]).tolist() == [parts[other, 0] for _, other in pairs]
            np.testing.assert_allclose(distances[: len(pairs)], [distance for distance, _ in pairs])
            assert np.isinf(distances[len(pairs) :]).all()
    assert not expected
