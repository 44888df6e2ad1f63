"""What is refused before any work."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import InputError
from shared.runs import LEVELS, nested_clouds

X, _ = nested_clouds()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"levels": "auto"}, "levels: got 'auto'.* list falling numbers"),
        ({"levels": (2000, 4)}, "levels"),
        ({"method": "ward"}, "method"),
        ({"polish": False}, "method"),
        ({"method": graphsoft.Relation(support="dense")}, "method"),
        ({"method": [graphsoft.Relation(rounds=2), "relation"]}, "method"),
        ({"must_link": [(0, 1)]}, "must_link"),
        ({"cannot_link": [(0, 1)]}, "cannot_link"),
        ({"known": {0: 1}}, "known"),
        ({"neighbors": object()}, "neighbors"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": 10, "polish": False}, "time_limit"),
        ({"features": X}, "features"),
        ({"names": list(range(len(X)))}, "names: .* labels are in the order of the input"),
        ({"affinity": "precomputed"}, "affinity"),
        ({"affinity": "edges"}, "affinity"),
        ({"rng": 0}, "rng"),
        ({"partitions": 0}, "partitions"),
        ({"partitions": len(X) + 1}, "partitions"),
        ({"metric": "hamming", "partitions": 2}, "metric"),
        ({"X": sp.csr_array(X), "metric": "manhattan"}, "metric"),
        ({"X": sp.csr_array(X), "metric": "correlation", "partitions": 3}, "metric"),
        ({"max_memory": "much"}, "max_memory"),
        ({"max_memory": "10MB"}, "max_memory"),
        ({"client": "tcp://somewhere"}, "client"),
        ({"directory": ""}, "directory"),
        ({"directory": 3}, "directory"),
    ],
)
def test_what_is_not_possible_is_refused_at_once(tmp_path, changed, named):
    with pytest.raises(InputError, match=named):
        graphsoft.hierarchy(**({"X": X, "levels": LEVELS, "directory": tmp_path / "run"} | changed))
    left = {path.name for path in tmp_path.glob("run/*")}
    assert left <= {"lock"}  # so that it can be called again without the fault


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_sparse_graph_is_refused_and_goes_in_by_a_file(tmp_path, metric):
    weights = graphsoft.knn_graph(X).adjacency
    for given in (weights, weights.tocoo(), sp.csc_matrix(weights)):
        with pytest.raises(InputError, match=r"^X: is a square .*save_npz.*partitioned_graph.*'features'"):
            graphsoft.hierarchy(given, LEVELS, directory=tmp_path / "run", metric=metric)
    assert not (tmp_path / "run").exists()
    sp.save_npz(tmp_path / "graph.npz", weights)
    graph = graphsoft.partitioned_graph(tmp_path / "graph.npz")
    h = graphsoft.hierarchy(graph, LEVELS, directory=tmp_path / "run", partitions=1)
    one = graphsoft.hierarchy(weights, LEVELS)
    assert np.isclose(h[0].report.log_likelihood, one[0].report.log_likelihood, rtol=1e-3)


def test_a_square_sparse_matrix_holds_features_if_that_is_said(tmp_path):
    rows = sp.csr_array(np.abs(X[:300]) @ np.random.default_rng(0).random((6, 300)))
    given = {"directory": tmp_path, "metric": "cosine", "partitions": 1}
    h = graphsoft.hierarchy(rows, LEVELS, affinity="features", **given)
    assert (h.summary.plan.kind, h.summary.plan.features) == ("points", 300)
    again = graphsoft.hierarchy(rows, LEVELS, affinity="features", **given)
    assert again.report == h.report


@pytest.mark.parametrize(("memory", "chunks"), [("2GB", 1), ("340MB", 2)])
def test_too_few_distinct_points_leave_the_directory_to_the_corrected_call(tmp_path, memory, chunks):
    few, stages = np.repeat(nested_clouds(7, 1000)[0], 200, axis=0), {}
    given = {"directory": tmp_path, "max_memory": memory, "n_neighbors": 2}
    given["progress"] = lambda stage, done, total: stages.update({stage: total})
    for _ in range(2):
        with pytest.raises(InputError, match=r"levels: asks for 8 clusters, and no more than 7 points are d"):
            graphsoft.hierarchy(few, (8, 2), **given)
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    assert stages["route rows"] == chunks
    # rows of different chunks are compared first where their neighbors are sought
    assert list(stages)[-1] == ("route rows summed" if chunks == 1 else "find neighbors")
    assert graphsoft.hierarchy(few, (7, 2), **given)[0].sizes.tolist() == [200] * 7


def test_wrong_rows_leave_the_directory_to_the_right_ones(tmp_path):
    wrong = X.copy()
    wrong[700, 2] = np.nan
    data, run = tmp_path / "rows.npy", tmp_path / "run"
    for _ in range(2):
        np.save(data, wrong)
        with pytest.raises(InputError, match=r"X: .*nan in row 700, column 2"):
            graphsoft.hierarchy(data, LEVELS, directory=run)
        assert [path.name for path in run.iterdir()] == ["lock"]
    np.save(data, X)
    graphsoft.hierarchy(data, LEVELS, directory=run)


def test_refused_calls_delete_nothing_of_a_result_or_of_others(tmp_path):
    theirs = [
        tmp_path / each for each in ("given/letter.json", "parts/mail/letter.arrays", "done/letter.txt")
    ]
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path)
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    before = sorted(tmp_path.rglob("*"))
    for other in ({"X": X[:800]}, {"levels": (13, 4)}, {"levels": (2000, 2)}, {"partitions": 9000}):
        with pytest.raises(InputError):
            graphsoft.hierarchy(**({"X": X, "levels": LEVELS, "directory": tmp_path} | other))
    assert sorted(tmp_path.rglob("*")) == before
    assert all(path.exists() for path in theirs)
    graphsoft.load(tmp_path).save(tmp_path / "copy")
    before = sorted((tmp_path / "copy").rglob("*"))
    for _ in range(2):
        with pytest.raises(InputError, match="the data are others"):
            graphsoft.hierarchy(X[:800], LEVELS, directory=tmp_path / "copy")
    after = {path.name for path in (tmp_path / "copy").rglob("*")}
    assert after == {path.name for path in before} | {"lock", "plan.json"}


@pytest.mark.parametrize("argument", ["client", "max_memory", "partitions"])
def test_a_directory_is_needed_for(argument):
    with pytest.raises(InputError, match="directory"):
        graphsoft.hierarchy(X, LEVELS, **{argument: 3})


def test_files_need_a_directory(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(InputError, match="directory"):
        graphsoft.hierarchy(graphsoft.rows_in_files(tmp_path), LEVELS)
    for path in (tmp_path, tmp_path / "rows.npy", str(tmp_path), [tmp_path / "rows.npy"]):
        with pytest.raises(InputError, match=r"^directory: is needed to read"):
            graphsoft.hierarchy(path, LEVELS)


def test_the_directory_holds_no_data(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    rows = graphsoft.rows_in_files(tmp_path)
    for data in (tmp_path, str(tmp_path / "rows.npy"), [tmp_path / "rows.npy"], rows):
        with pytest.raises(InputError, match=r"^directory: .* holds the data too"):
            graphsoft.hierarchy(data, LEVELS, directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


def test_the_directory_holds_no_data_under_another_name(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "rows.npy", X)
    (tmp_path / "link").symlink_to(data)
    for given in (data, data / "rows.npy", tmp_path / "link"):
        for directory in (f"{data}/../data", tmp_path / "link", data):
            with pytest.raises(InputError, match=r"^directory: .* holds the data too"):
                graphsoft.hierarchy(given, LEVELS, directory=directory)
    assert [path.name for path in data.iterdir()] == ["rows.npy"]
    (data / "lock").touch()
    assert graphsoft.rows_in_files(data).n == len(X)


def test_a_directory_with_other_things_stays_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").touch()
    (tmp_path / "parts").mkdir()
    with pytest.raises(InputError, match=r"^directory: .* holds other things and no run.*name a new one"):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.tex", "parts"}


def test_partitions_of_few_rows_are_warned_of(tmp_path):
    with pytest.warns(
        graphsoft.GraphsoftWarning, match=r"partitions: 40 for 300 rows .* fewer than 10"
    ) as told:
        graphsoft.hierarchy(X[:300], LEVELS, directory=tmp_path, partitions=40)
    assert len(told) == 1


@pytest.mark.parametrize("given", [[], ()])
def test_an_empty_list_of_files(tmp_path, given):
    with pytest.raises(InputError, match=r"^X: the list of files is empty"):
        graphsoft.hierarchy(given, LEVELS, directory=tmp_path)


def test_one_method_is_said_to_be_possible(tmp_path):
    for method in ("leiden", "ward", ["relation", "leiden"]):
        with pytest.raises(InputError, match=r"^method: .*Remedy: use method='relation'") as caught:
            graphsoft.hierarchy(X, LEVELS, directory=tmp_path, method=method)
        assert "ward'," not in str(caught.value)
