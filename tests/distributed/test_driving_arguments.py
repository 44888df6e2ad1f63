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
    assert not (tmp_path / "run" / "done").exists()
    assert not (tmp_path / "run" / "plan.json").exists()  # so that it can be called again without the fault


@pytest.mark.parametrize("argument", ["client", "max_memory", "partitions"])
def test_a_directory_is_needed_for(argument):
    with pytest.raises(InputError, match="directory"):
        graphsoft.hierarchy(X, LEVELS, **{argument: 3})


def test_files_need_a_directory(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(InputError, match="directory"):
        graphsoft.hierarchy(graphsoft.rows_in_files(tmp_path), LEVELS)
    for path in (tmp_path, tmp_path / "rows.npy", str(tmp_path)):
        with pytest.raises(InputError, match=r"^directory: is needed to read"):
            graphsoft.hierarchy(path, LEVELS)


def test_the_directory_holds_no_data(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    rows = graphsoft.rows_in_files(tmp_path)
    for data in (tmp_path, str(tmp_path / "rows.npy"), [tmp_path / "rows.npy"], rows):
        with pytest.raises(InputError, match=r"^directory: .* holds the data too"):
            graphsoft.hierarchy(data, LEVELS, directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]
