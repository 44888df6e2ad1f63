"""Points become a graph in blocks: a single one is that of a single machine, and several fit each other."""

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsoft import knn_graph
from graphsoft.distributed.cells import choose_cells
from graphsoft.distributed.edges import build_blocks
from graphsoft.distributed.joining import first_row, join
from graphsoft.distributed.routing import route
from graphsoft.distributed.run import Run
from graphsoft.engine.coarsening import without_copies
from graphsoft.engine.ordering import weight_type
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.graph.graph import Graph
from graphsoft.neighbors.weights import WEIGHTS, edge_weights, spread_over_copies, symmetric
from shared.opens import counted_opens
from shared.routed import RowsInMemory, assembled, joined_in_blocks, plan_of, read


def clouds(count=400, seed=0, features=3, dtype=np.float64):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(8, features)) * 4
    return (centers[random.integers(8, size=count)] + random.normal(size=(count, features))).astype(dtype)


def with_copies(values, seed=1):
    """Repeat some rows, one of them often."""
    random = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(len(values)), random.integers(0, 30, 60), np.full(25, 7)])
    return values[random.permutation(rows)]


SETS = {
    "plane": clouds(features=2),
    "float32": clouds(features=12, dtype=np.float32),
    "copies": with_copies(clouds()),
    "grid": np.random.default_rng(3).integers(0, 9, (300, 2)).astype(np.float64),
}


def check_single(folder, values, weights, metric="euclidean", n_neighbors=6):
    plan = plan_of(values, n_neighbors=n_neighbors, weights=weights, metric=metric, chunk_rows=64)
    run, _ = joined_in_blocks(folder, values, plan)
    graph, node = without_copies(knn_graph(values, n_neighbors, metric, weights))
    expected = graph.adjacency.copy()
    expected.sort_indices()
    block, rows = read(run, "graph", 0), read(run, "rows", 0)
    assert block["weights"].dtype == weight_type(expected.data)
    np.testing.assert_array_equal(block["ptr"], expected.indptr)
    np.testing.assert_array_equal(block["columns"], expected.indices)
    np.testing.assert_array_equal(block["weights"], expected.data.astype(block["weights"].dtype))
    np.testing.assert_array_equal(block["degrees"], Graph(expected, range(len(node))).degrees)
    np.testing.assert_array_equal(rows["rows"], np.arange(plan.rows))
    np.testing.assert_array_equal(rows["node"], node)
    assert len(block["halo_part"]) == len(block["sent"]) == 0


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", SETS)
def test_one_partition_is_the_single_machine(tmp_path, name, weights):
    check_single(tmp_path, SETS[name], weights)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("partitions", [2, 5])
def test_all_lent_everywhere_is_the_single_machine_too(tmp_path, weights, partitions):
    values = SETS["copies"]
    plan = plan_of(values, partitions, lends=200, n_neighbors=6, weights=weights)
    run, _ = joined_in_blocks(tmp_path, values, plan)
    found, degrees, node = assembled(run, plan)
    graph, expected = without_copies(knn_graph(values, 6, weights=weights))
    np.testing.assert_array_equal(node, expected)
    single = graph.adjacency.copy()
    single.sort_indices()
    np.testing.assert_array_equal(found.toarray(), single.toarray().astype(np.float32))
    np.testing.assert_allclose(degrees, graph.degrees, rtol=1e-13)


def check_blocks(run, plan, records):
    """Blocks fit each other, to the last bit."""
    found, degrees, _ = assembled(run, plan)
    assert (found != found.T).nnz == 0
    np.testing.assert_allclose(degrees, np.asarray(found.sum(axis=1)).ravel(), rtol=1e-5)
    blocks = [read(run, "graph", part) for part in plan.parts]
    node = [read(run, "rows", part)["node"] for part in plan.parts]
    copies = [np.bincount(node[part], minlength=len(blocks[part]["degrees"])) for part in plan.parts]
    for part, (block, record) in enumerate(zip(blocks, records, strict=True)):
        count = len(block["degrees"])
        key = block["halo_part"] * 10**6 + block["halo_place"].astype(np.int64)
        assert (np.diff(key) > 0).all()
        assert (block["halo_part"] != part).all()
        np.testing.assert_array_equal(block["copies"], copies[part])
        order = np.append(part * 10**6 + np.arange(count), key)[block["columns"]]
        nodes = np.repeat(np.arange(count), np.diff(block["ptr"]))
        assert (np.diff(nodes * 10**9 + order) > 0).all()
        crossing = block["columns"][block["columns"] >= count]
        np.testing.assert_array_equal(np.unique(crossing), count + np.arange(len(key)))
        with run.where("graph", part).open("graph", part) as file:
            for other in plan.parts:
                theirs = blocks[other]
                expected = theirs["halo_place"][theirs["halo_part"] == part]
                np.testing.assert_array_equal(file.section("sent", other), expected)
        positive = block["degrees"][block["degrees"] > 0]
        counted = {
            "nodes": count, "entries": len(block["columns"]), "crossing": len(crossing), "halo": len(key),
        }  # fmt: skip
        assert {name: int(record[name]) for name in counted} == counted
        assert record["weight"] == pytest.approx(block["degrees"].sum())
        assert record["degree_logs"] == pytest.approx((positive * np.log(positive)).sum())


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("partitions", [4, 8])
def test_blocks_fit_each_other(tmp_path, weights, partitions):
    values = SETS["copies"]
    plan = plan_of(values, partitions, lends=2, n_neighbors=6, weights=weights)
    run, records = joined_in_blocks(tmp_path, values, plan)
    check_blocks(run, plan, records)
    assert sum(int(record["crossing"]) for record in records) > 0
    rows = [len(read(run, "rows", part)["rows"]) for part in plan.parts]
    assert max(rows) < 2.5 * len(values) / partitions


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", ["copies", "grid", "float32"])
def test_weights_follow_from_the_lists_as_on_one_machine(tmp_path, name, weights):
    """Also where partitions find other neighbors than one machine does."""
    values = SETS[name]
    plan = plan_of(values, 5, lends=1, n_neighbors=6, weights=weights)
    run, source = Run(tmp_path), RowsInMemory(values)
    choose_cells(run, source, plan)
    askers = join(run, plan, route(run, source, plan))
    lists = [read(run, "merge-neighbors", part) for part in plan.parts]
    build_blocks(run, plan, askers)
    found, degrees, node = assembled(run, plan)
    first, keys, distances = (
        np.concatenate([each[n] for each in lists]) for n in ("first", "keys", "distances")
    )
    order = np.argsort(first)
    indices = np.where(keys >= 0, np.searchsorted(first[order], first_row(keys)), -1)[order]
    matrix = symmetric(indices, edge_weights(indices, distances[order], weights), "union")
    matrix = spread_over_copies(matrix, indices, node)
    expected, _ = without_copies(Graph(matrix, range(len(values)), duplicates=node))
    np.testing.assert_array_equal(found.toarray(), expected.adjacency.toarray().astype(np.float32))
    np.testing.assert_allclose(degrees, expected.degrees, rtol=1e-13)


def content(run, plan):
    places = [(stage, part) for part in plan.parts for stage in ("rows", "points", "graph")]
    files = {place: read(run, *place) for place in [*places, ("cells", 0)]}
    return {(*place, name): values for place, file in files.items() for name, values in file.items()}


def test_chunks_and_the_order_of_tasks_change_nothing(tmp_path, monkeypatch):
    values = SETS["copies"]
    contents = []
    for rows in (1000, 64, 7):
        plan = plan_of(values, 4, lends=2, n_neighbors=6, chunk_rows=rows, weights="gaussian")
        if rows == 64:
            monkeypatch.setattr(Run, "stage", backwards(Run.stage))
        contents.append(content(joined_in_blocks(tmp_path / str(rows), values, plan)[0], plan))
    for other in contents[1:]:
        assert other.keys() == contents[0].keys()
        for name, expected in contents[0].items():
            assert other[name].dtype == expected.dtype
            np.testing.assert_array_equal(other[name], expected, err_msg=str(name))


def backwards(stage):
    def from_the_last(run, name, work, parts, **known):
        return stage(run, name, work, list(parts)[::-1], **known)[::-1]

    return from_the_last


AWKWARD = {
    "identical": np.ones((50, 3)),
    "two places": np.repeat([[0.0, 1.0], [5.0, 2.0]], 40, axis=0),
    "few": np.arange(5.0)[:, None],
    "two rows": np.array([[0.0], [1.0]]),
    "one row": np.array([[3.0]]),
    "far": np.random.default_rng(0).normal(size=(60, 2)) * 1e200,
    "one far": np.append(np.random.default_rng(0).normal(size=(60, 2)), [[1e150, 0.0]], axis=0),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_points(tmp_path, name):
    values = AWKWARD[name]
    for partitions in (1, 7):
        plan = plan_of(values, partitions, lends=3, chunk_rows=9)
        run, records = joined_in_blocks(tmp_path / str(partitions), values, plan)
        check_blocks(run, plan, records)
        if partitions == 1 and len(values) > 10:
            check_single(tmp_path / "single", values, "local-scaling")


def counts_of_words(rows=300, words=40, seed=0):
    """Sparse counts; some rows are multiples of others, and some are empty."""
    random = np.random.default_rng(seed)
    topics = random.random((6, words)) ** 6
    made = random.poisson(3 * topics[random.integers(6, size=rows)])
    made[10:20] = 2 * made[20:30]
    made[30:33] = 0
    return sp.csr_array(made.astype(np.float64))


@pytest.mark.parametrize("weights", ["local-scaling", "jaccard"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_counts_of_words(tmp_path, form, metric, weights):
    values = counts_of_words()
    if form == "dense":
        values = values.toarray().astype(np.float32)
    warned = pytest.warns(GraphsoftWarning, match="no direction")
    with nullcontext() if metric == "euclidean" else warned:
        check_single(tmp_path / "1", values, weights, metric)
    plan = plan_of(values, 4, lends=200, n_neighbors=6, weights=weights, metric=metric)
    warned = pytest.warns(GraphsoftWarning, match="3 rows have no direction")
    with nullcontext() if metric == "euclidean" else warned:
        run, records = joined_in_blocks(tmp_path / "4", values, plan)
        single = knn_graph(values, 6, metric, weights)
    check_blocks(run, plan, records)
    found, _, node = assembled(run, plan)
    graph, expected = without_copies(single)
    np.testing.assert_array_equal(node, expected)
    np.testing.assert_array_equal(found.toarray(), graph.adjacency.toarray().astype(np.float32))
    if form == "sparse":
        points = [read(run, "points", part) for part in plan.parts]
        assert sum(len(each["features/counts"]) for each in points) == len(graph)


@pytest.mark.parametrize("metric", ["correlation", "manhattan", "chebyshev", "canberra"])
def test_other_metrics(tmp_path, metric):
    values = SETS["copies"] + 10
    check_single(tmp_path / "1", values, "local-scaling", metric)
    plan = plan_of(values, 4, lends=2, n_neighbors=6, metric=metric)
    if metric == "canberra":
        with pytest.raises(InputError, match="metric: got 'canberra'"):
            joined_in_blocks(tmp_path / "4", values, plan)
    else:
        run, records = joined_in_blocks(tmp_path / "4", values, plan)
        check_blocks(run, plan, records)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40),
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from(WEIGHTS),
)
def test_grids_with_many_ties(rows, n_neighbors, partitions, weights):
    """With all rows lent, ties are broken as on a single machine: by the number of the row."""
    values = np.array(rows, dtype=np.float64)
    plan = plan_of(values, partitions, lends=200, n_neighbors=n_neighbors, weights=weights, chunk_rows=7)
    with TemporaryDirectory() as folder:
        run, records = joined_in_blocks(Path(folder), values, plan)
        check_blocks(run, plan, records)
        found, degrees, node = assembled(run, plan)
    found_at_most = min(n_neighbors, max(1, len(values) - 1))
    graph, expected = without_copies(knn_graph(values, found_at_most, weights=weights))
    np.testing.assert_array_equal(node, expected)
    np.testing.assert_array_equal(found.toarray(), graph.adjacency.toarray().astype(np.float32))
    np.testing.assert_allclose(degrees, graph.degrees, rtol=1e-13)


def test_a_damaged_file_is_written_again(tmp_path):
    values = SETS["copies"]
    plan = plan_of(values, 3, lends=1, n_neighbors=6)
    run, _ = joined_in_blocks(tmp_path, values, plan)
    before = content(run, plan)
    for stage in ("graph", "points", "rows"):
        run.where(stage, 1).file(stage, 1).unlink()
        run.where(stage, 1).record().unlink()
    joined_in_blocks(tmp_path, values, plan)
    after = content(run, plan)
    for name, expected in before.items():
        np.testing.assert_array_equal(after[name], expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_every_pair_of_a_chunk_and_a_partition_is_opened_once(tmp_path, monkeypatch, sparse):
    values, opens = SETS["copies"], counted_opens(monkeypatch)
    values = sp.csr_array(values) if sparse else values
    plan = plan_of(values, 4, lends=1, n_neighbors=6)
    joined_in_blocks(tmp_path, values, plan)
    pairs = len(plan.chunks) * plan.partitions
    assert len(plan.chunks) > 1
    assert opens["find-neighbors", "route-rows"] == opens["points", "route-rows"] == pairs
