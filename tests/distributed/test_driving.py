"""Whole runs: the same answer in any way of doing them, and that of one machine."""

import shutil
from functools import reduce
from operator import matmul

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import graphsoft
from distributed import Client, LocalCluster
from graphsoft import InputError
from graphsoft.distributed.executors import InThisProcess
from graphsoft.distributed.status import status
from graphsoft.distributed.summary import SUMMARY, read_summary
from shared.runs import LEVELS, digest, nested_clouds
from shared.shuffled import Shuffled

X, CLOUD = nested_clouds()
GIVEN = {"partitions": 4, "max_memory": "2GB"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """The directory of a run that is complete."""
    found = tmp_path_factory.mktemp("complete")
    graphsoft.hierarchy(X, LEVELS, directory=found, **GIVEN)
    return found


@pytest.fixture(scope="module")
def expected(directory):
    return digest(directory)


@pytest.fixture(scope="module")
def one_machine():
    return graphsoft.hierarchy(X, LEVELS)


def test_levels_are_those_of_one_machine(directory, one_machine):
    h = graphsoft.load(directory)
    for level, other in zip(h, one_machine, strict=True):
        assert adjusted_rand_score(np.asarray(level.labels), other.labels) > 0.98
        assert np.isclose(level.report.log_likelihood, other.report.log_likelihood, rtol=1e-3)
        assert level.report.sweeps == other.report.sweeps
    assert adjusted_rand_score(np.asarray(h[0].labels), CLOUD) > 0.9
    assert h.report.nodes == len(X)
    assert abs(h.report.edges - one_machine.report.edges) < 0.01 * one_machine.report.edges
    assert h.report.components == one_machine.report.components


def test_what_must_hold_of_levels_holds(directory):
    h = graphsoft.load(directory)
    everyone = np.arange(len(X))
    finest = h[0].memberships[everyone]
    for number, level in enumerate(h):
        memberships = level.memberships[everyone]
        assert np.allclose(memberships.sum(axis=1), 1, atol=1e-14)
        chained = reduce(matmul, [below.parents for below in h.levels[:number]], finest)
        assert np.allclose(memberships.toarray(), chained.toarray(), atol=1e-12)
        assert np.isclose(level.mass.sum(), h[0].mass.sum(), rtol=1e-12)
        assert np.allclose(level.graph.sum(axis=1), level.mass, rtol=1e-9)
        assert (level.sizes == np.bincount(np.asarray(level.labels), minlength=LEVELS[number])).all()
        assert (level.sizes > 0).all()
    assert h.tree is not None
    kept = {"cells", "graph", "homes", "memberships", "points", "rows"}
    assert {path.name for path in (directory / "parts").iterdir()} == kept
    assert read_summary(directory).plan.lends > 0


def test_what_a_result_can_be_asked(directory, one_machine):
    h = graphsoft.load(directory)
    assert (h.predict(X[:50], 0) == np.asarray(h[0].labels)[:50]).mean() > 0.95
    steps = one_machine[0].memberships.T @ one_machine.graph.adjacency @ one_machine[0].memberships
    assert np.isclose(h.summary.steps.sum(), steps.sum(), rtol=1e-2)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_tasks_is_of_no_influence(tmp_path, expected, seed):
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path, client=Shuffled(seed), **GIVEN)
    assert digest(tmp_path) == expected


def test_two_workers_give_the_same_bits(tmp_path, expected, client):
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path, client=client, **GIVEN)
    assert digest(tmp_path) == expected


def test_one_worker_gives_the_same_bits(tmp_path, expected):
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="2GB"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path, client=client, **GIVEN)
    assert digest(tmp_path) == expected


@pytest.mark.parametrize("files", [1, 7, 8])
def test_how_the_input_is_cut_is_of_no_influence(tmp_path, expected, files):
    folder = tmp_path / "input"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(X, files)):
        np.save(folder / f"part-{number}.npy", rows)
    graphsoft.hierarchy(folder, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert digest(tmp_path / "run") == expected


STAGES = [
    "cells", "find-neighbors", "merge-neighbors", "points", "weigh-edges", "graph", "group", "central",
    "divided", "begin-sweeps", "sweep-003-narrowed-upper", "sweep-006-widened", "memberships", "send-home",
    "homes", "check-files",
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_goes_on_from_any_stage(tmp_path, directory, expected, stage):
    shutil.copytree(directory, tmp_path / "run")
    records = sorted((tmp_path / "run" / "done" / stage).iterdir())
    records[0].unlink()
    shutil.rmtree(tmp_path / "run" / "parts" / stage, ignore_errors=True)
    (tmp_path / "run" / SUMMARY).unlink()
    h = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert digest(tmp_path / "run") == expected
    assert len(h) == 2


class Stops(InThisProcess):
    """Stops after so many tasks, as somebody's Ctrl-C would."""

    def __init__(self, tasks):
        super().__init__()
        self.left = tasks

    def ended(self, seconds):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().ended(seconds)


def test_a_run_that_is_stopped_again_and_again_comes_to_its_end(tmp_path, expected):
    calls = 0
    while not (tmp_path / SUMMARY).exists():
        calls += 1
        try:
            graphsoft.hierarchy(X, LEVELS, directory=tmp_path, client=Stops(25), **GIVEN)
        except KeyboardInterrupt:
            continue
    assert calls > 3
    assert digest(tmp_path) == expected


def test_what_earlier_calls_have_done_survives_a_refusal(tmp_path, expected, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path, client=Stops(60), **GIVEN)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}

    def blind(*_):  # as a worker would be that does not have the storage
        raise InputError("X", "there is no file", "let all workers see it")

    with monkeypatch.context() as patch:
        patch.setattr("graphsoft.distributed.driving.divide", blind)
        with pytest.raises(InputError, match="let all workers see it"):
            graphsoft.hierarchy(X, LEVELS, directory=tmp_path, **GIVEN)
    assert before <= set(tmp_path.rglob("*"))
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path, **GIVEN)
    assert digest(tmp_path) == expected


def test_another_version_reads_a_result_and_does_not_go_on_with_a_run(tmp_path, directory, expected):
    shutil.copytree(directory, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.arrays")}
    h = graphsoft.load(tmp_path / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda name: "99.0")
        assert (graphsoft.load(tmp_path / "run")[0].labels == h[0].labels).all()
        h.save(tmp_path / "copy")
        for finished in (True, False):
            with pytest.raises(
                InputError, match=r"was begun by graphsoft .*, and this is 99\.0.*graphsoft\.load"
            ):
                graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
            if finished:
                (tmp_path / "run" / SUMMARY).unlink()
        with pytest.raises(InputError, match=r"was begun by graphsoft .*, and this is 99\.0"):
            graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "copy", **GIVEN)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.arrays")} == before
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert digest(tmp_path / "run") == expected


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("stage", ["cells", "rows", "points", "graph", "memberships", "homes", SUMMARY])
def test_what_was_damaged_is_made_again(tmp_path, directory, expected, stage, finished):
    shutil.copytree(directory, tmp_path / "run")
    path = tmp_path / "run" / SUMMARY
    if not finished:
        path.unlink()
    if stage != SUMMARY:
        path = sorted((tmp_path / "run" / "parts" / stage).iterdir())[-1]
    if path.exists():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes(content)
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert digest(tmp_path / "run") == expected


@pytest.mark.parametrize("sizes", [LEVELS, (9, 5, 2), (7,)])
def test_progress_and_status_tell_how_far_a_run_is(tmp_path, sizes):
    told = []

    def progress(stage, done, total):
        told.append((stage, done, total))
        assert 0 <= done <= total

    with pytest.raises(KeyboardInterrupt):
        graphsoft.hierarchy(X, sizes, directory=tmp_path, client=Stops(60), progress=progress, **GIVEN)
    before = status(tmp_path)
    assert not before.finished
    own = sum(
        done for name, (done, _) in before.stages.items() if name.endswith("-summed") or name[:6] == "known-"
    )
    assert 40 <= before.done <= 60 + own  # tasks that this process does itself are not counted by the client
    graphsoft.hierarchy(X, sizes, directory=tmp_path, progress=progress, **GIVEN)
    after = status(tmp_path)
    assert after.finished
    assert after.done == after.tasks  # all stages that were expected came
    assert [stage for stage, done, total in told if done == total][-1] == "check files"


def test_a_complete_run_is_only_looked_through(directory):
    before = sorted(directory.rglob("*"))
    h = graphsoft.hierarchy(X, LEVELS, directory=directory, client=Stops(GIVEN["partitions"]))
    assert [len(level.mass) for level in h] == list(LEVELS)
    assert sorted(directory.rglob("*")) == before


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"partitions": 3}, "partitions"),
        ({"levels": (12, 3)}, "levels"),
        ({"n_neighbors": 9}, "n_neighbors"),
        ({"weights": "gaussian"}, "weights"),
        ({"method": graphsoft.Relation(rounds=2)}, "rounds"),
        ({"min_children": 2}, "min_children"),
        ({"X": X + 1}, "other data"),
        ({"max_memory": "1GB"}, "max_memory"),
    ],
)
def test_another_call_is_refused_in_the_same_directory(directory, changed, named):
    with pytest.raises(InputError, match=named):
        graphsoft.hierarchy(**({"X": X, "levels": LEVELS, "directory": directory} | changed))


def test_copies_of_points_are_one_node(tmp_path):
    random = np.random.default_rng(5)
    rows = random.integers(0, 300, 700)
    few = X[:300].copy()
    h = graphsoft.hierarchy(few[rows], LEVELS, directory=tmp_path, partitions=3)
    one = graphsoft.hierarchy(few[rows], LEVELS)
    memberships = h[0].memberships[np.arange(700)].toarray()
    for point in np.unique(rows):
        assert (memberships[rows == point] == memberships[rows == point][0]).all()
    assert any("distinct points" in note for note in h.report.notes)
    assert h[0].sizes.sum() == 700
    assert adjusted_rand_score(np.asarray(h[0].labels), one[0].labels) > 0.9
    assert np.isclose(h[0].mass.sum(), one[0].mass.sum(), rtol=1e-2)


@pytest.fixture
def hungry(monkeypatch):
    """Searching needs the more memory, the more other partitions see each point."""

    def needed(plan, row_bytes=None):
        return {"find-neighbors": 1e9 * (1 + plan.lends) / plan.partitions}

    monkeypatch.setattr("graphsoft.distributed.planning.points_bytes", needed)
    monkeypatch.setattr("graphsoft.distributed.driving.LENDS", 0)


def test_more_partitions_are_made_if_more_of_them_must_see_each_point(tmp_path, hungry):
    asked = {"max_memory": "600MB"}
    h = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "open", **asked)
    assert h.plan.partitions > 3
    assert 1e9 * (1 + h.plan.lends) / h.plan.partitions <= 0.75 * 6e8
    fixed = {**asked, "partitions": h.plan.partitions}
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "given", **fixed)
    assert digest(tmp_path / "open") == digest(tmp_path / "given")


def test_a_partition_that_becomes_too_large_is_refused_with_the_number_to_use(tmp_path, hungry):
    with pytest.raises(InputError, match=r"partitions: got 3, .* use at least [4-9]"):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path, max_memory="600MB", partitions=3)
    assert not (tmp_path / "done" / "route-rows").exists()


AWKWARD = {
    "one row": (np.ones((1, 2)), (1,), 1),
    "identical rows": (np.ones((20, 3)), (1,), 3),
    "two points, copied": (np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0), (2, 1), 3),
    "as many partitions as rows": (X[:12], (3, 2), 12),
    "islands": (np.concatenate([X[:15, :2] + 100 * i for i in range(30)]), (12, 4), 4),
    "an outlier": (np.concatenate([X[:60, :2], [[1e6, 1e6]]]), (6, 2), 4),
    "whole numbers": (np.random.default_rng(0).integers(0, 5, (100, 3)), (6, 2), 3),
    "sparse": (sp.csr_array(np.where(np.abs(X[:200]) > 1, X[:200], 0)), (6, 2), 3),
}


@pytest.mark.filterwarnings("ignore:partitions:graphsoft.GraphsoftWarning")  # of few rows
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_points(tmp_path, name):
    rows, levels, partitions = AWKWARD[name]
    n = rows.shape[0]
    h = graphsoft.hierarchy(
        rows, levels, n_neighbors=min(10, max(1, n - 1)), directory=tmp_path, partitions=partitions
    )
    one = graphsoft.hierarchy(rows, levels, n_neighbors=min(10, max(1, n - 1)))
    for level, other in zip(h, one, strict=True):
        memberships = level.memberships[np.arange(n)]
        assert np.allclose(memberships.sum(axis=1), 1)
        assert level.sizes.sum() == n
        assert len(np.unique(np.asarray(level.labels))) == len(np.unique(other.labels))
    assert h.report.components >= one.report.components


def test_more_clusters_than_distinct_points_are_refused(tmp_path):
    rows = np.repeat(X[:3], 40, axis=0)
    with pytest.raises(InputError, match="asks for 5 clusters, and no more than 3 points are distinct"):
        graphsoft.hierarchy(rows, (5, 2), n_neighbors=2, directory=tmp_path, partitions=2)


def test_more_neighbors_than_points_are_warned_of(tmp_path):
    with pytest.warns(graphsoft.GraphsoftWarning, match="n_neighbors: 10 is more than the 7"):
        graphsoft.hierarchy(X[:8], (3, 2), directory=tmp_path)


def test_options_for_points_mean_nothing_to_graphs(tmp_path):
    given = edge_files(tmp_path / "edges", graphsoft.knn_graph(X[:100]), 2)
    with pytest.warns(graphsoft.GraphsoftWarning, match="n_neighbors=5"):
        graphsoft.hierarchy(given, (3, 2), n_neighbors=5, directory=tmp_path / "run")


def edge_files(folder, graph, files):
    """Write the edges of a graph to so many files."""
    upper = sp.triu(graph.adjacency).tocoo()
    folder.mkdir()
    order = np.random.default_rng(0).permutation(upper.nnz)
    for number, some in enumerate(np.array_split(order, files)):
        np.savez(
            folder / f"part-{number}.npz", row=upper.row[some], col=upper.col[some], data=upper.data[some],
            shape=np.array(upper.shape),
        )  # fmt: skip
    return graphsoft.partitioned_graph(folder, nodes=len(graph))


@pytest.mark.parametrize("partitions", [1, 3])
def test_graphs_in_files(tmp_path, one_machine, partitions):
    graph = graphsoft.knn_graph(X)
    given = edge_files(tmp_path / "edges", graph, 5)
    h = graphsoft.hierarchy(given, LEVELS, directory=tmp_path / "run", partitions=partitions)
    for level, other in zip(h, one_machine, strict=True):
        assert adjusted_rand_score(np.asarray(level.labels), other.labels) > 0.98
        assert np.isclose(level.report.log_likelihood, other.report.log_likelihood, rtol=1e-4)
    assert h.report.edges == one_machine.report.edges


def test_limits_of_children_are_kept(tmp_path):
    h = graphsoft.hierarchy(X, LEVELS, directory=tmp_path, partitions=3, min_children=2, max_children=4)
    children = np.bincount(h[0].parents.toarray().argmax(axis=1), minlength=LEVELS[1])
    assert children.min() >= 2
    assert children.max() <= 4
