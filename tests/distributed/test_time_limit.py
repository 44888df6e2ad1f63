"""A run that has no more time stops after the task that it does, and the same call goes on."""

import pytest

import graphsoft
from graphsoft import RunStopped
from graphsoft.distributed.status import status
from graphsoft.distributed.summary import SUMMARY
from shared.runs import LEVELS, digest, nested_clouds

X, _ = nested_clouds(300)


@pytest.mark.parametrize("partitions", [1, 2])
def test_calls_that_have_no_time_get_on_all_the_same(tmp_path, partitions):
    options = {"partitions": partitions, "max_memory": "2GB"}
    done = [0]
    for _ in range(4):
        with pytest.raises(RunStopped, match=r"the time is over\. Remedy: make the same call again"):
            graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", time_limit=1e-9, **options)
        done.append(status(tmp_path / "run").done)
    assert done == sorted(set(done))
    h = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", time_limit=1e6, **options)
    assert status(tmp_path / "run").finished
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "whole", **options)
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")
    again = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", time_limit=1e6, **options)
    assert again.report == h.report
    (tmp_path / "run" / SUMMARY).unlink()  # what is left is to look through the result, as a whole
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", time_limit=1e-9, **options)
    assert status(tmp_path / "run").finished
