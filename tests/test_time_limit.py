"""`time_limit` of `graphsoft.hierarchy`: the best so far, valid, and a report that says so."""

import json

import networkx as nx
import numpy as np
import pytest

import graphsoft
from graphsoft import deadline
from graphsoft.cli.command import main
from graphsoft.errors import InputError
from shared.clocks import Clock
from shared.shapes import cloud, cloud_graph

ENOUGH = 1e6
METHODS = ["relation", graphsoft.Relation(support="dense"), graphsoft.Relation(rounds=3)]


def inputs():
    return {
        "points": cloud(300),
        "graph": nx.from_numpy_array(cloud_graph(120, centers=5)),
        "in pieces": nx.disjoint_union_all([nx.complete_graph(n) for n in (30, 20, 10, 4, 1)]),
        "copies": np.repeat(cloud(60), 3, axis=0),
    }


def bits(h):
    """All numbers of the levels."""
    parts = [each for level in h for each in (level.memberships, level.graph, level.parents)]
    arrays = [array for part in parts if part is not None for array in (part.data, part.indices, part.indptr)]
    return [array.tobytes() for array in arrays]


def check_levels(h, sizes):
    assert [len(level.mass) for level in h] == sizes
    for below, level in zip([None, *h], h, strict=False):
        assert np.allclose(level.memberships.sum(axis=1), 1.0)
        assert len(np.unique(level.labels)) == len(level.mass)
        if below is not None:
            assert np.allclose(below.parents.sum(axis=1), 1.0)
            assert np.allclose((below.memberships @ below.parents - level.memberships).toarray(), 0.0)


@pytest.mark.parametrize("name", inputs())
@pytest.mark.parametrize("sizes", [[20, 8, 3], [5], [20, 19]])
def test_without_any_time_levels_are_as_they_should_be(name, sizes):
    h = graphsoft.hierarchy(inputs()[name], sizes, time_limit=1e-9)
    check_levels(h, sizes)
    for level in h.report.levels:
        assert (level.stopped, level.sweeps, level.trace) == (True, 0, ())
        assert level.status == "divided, stopped by time_limit after 0 sweeps"
    assert "stopped by time_limit" in str(h.report)


@pytest.mark.parametrize("name", inputs())
@pytest.mark.parametrize("method", METHODS)
def test_enough_time_changes_no_bit(name, method):
    given = inputs()[name]
    without = graphsoft.hierarchy(given, [20, 8, 3], method=method)
    within = graphsoft.hierarchy(given, [20, 8, 3], method=method, time_limit=ENOUGH)
    assert bits(within) == bits(without)
    assert not any(level.stopped for level in within.report.levels)
    assert [level.report.status for level in within] == [level.report.status for level in without]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [[12], [30, 8, 3]])
def test_wherever_time_ends_levels_are_as_they_should_be(monkeypatch, method, sizes):
    graph = graphsoft.knn_graph(cloud(300))
    likelihoods, sweeps = [], []
    for looks in range(1, 100):
        monkeypatch.setattr(deadline, "time", Clock())
        h = graphsoft.hierarchy(graph, sizes, method=method, time_limit=looks)
        check_levels(h, sizes)
        sweeps.append(sum(level.sweeps for level in h.report.levels))
        likelihoods.append(h[0].report.log_likelihood)
        for level in h.report.levels:
            assert level.stopped == (f"stopped by time_limit after {level.sweeps} sweeps" in level.status)
        if not any(level.stopped for level in h.report.levels):
            break
    assert looks > 5  # it was stopped in many places
    assert sweeps == sorted(sweeps)
    assert likelihoods[-1] > likelihoods[0]
    assert bits(h) == bits(graphsoft.hierarchy(graph, sizes, method=method))


def test_the_clock_is_looked_at_between_sweeps_only(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(deadline, "time", clock)
    graphsoft.hierarchy(cloud(300), [30, 8, 3], time_limit=ENOUGH)
    few = clock.now
    graphsoft.hierarchy(cloud(900), [30, 8, 3], time_limit=ENOUGH)
    assert clock.now - few == few < 100


@pytest.mark.parametrize("value", [0, -1, "3", True, float("nan"), float("inf"), [3]])
def test_limits_that_are_no_time_are_refused(value):
    with pytest.raises(InputError, match=r"time_limit: got .*above 0"):
        graphsoft.hierarchy(cloud(), [4], time_limit=value)


@pytest.mark.parametrize("options", [{"polish": False}, {"method": "ward"}, {"method": ["cp", "relation"]}])
def test_methods_that_cannot_keep_to_it_are_refused(options):
    with pytest.raises(InputError, match=r"time_limit: got 5, but only polished relation factorization"):
        graphsoft.hierarchy(cloud(), [9, 4], time_limit=5, **options)


def test_what_was_stopped_is_saved(tmp_path):
    h = graphsoft.hierarchy(cloud(), [9, 3], time_limit=1e-9)
    h.save(tmp_path / "model")
    assert graphsoft.load(tmp_path / "model").report == h.report


def test_the_command_line_and_the_estimator_pass_it_on(tmp_path, capsys):
    folder = tmp_path / "out"
    command = [
        "hierarchy",
        "data/iris.csv",
        "--levels",
        "9,3",
        "--drop",
        "label",
        "--quiet",
        "-o",
        str(folder),
    ]
    assert main([*command, "--time-limit", "1e-9"]) == 0
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert [level["stopped"] for level in report["report"]["levels"]] == [True, True]
    assert main([*command, "--time-limit", "0"]) == 1
    assert "graphsoft: --time-limit: got 0" in capsys.readouterr().err
    model = graphsoft.SoftHierarchy([9, 3], time_limit=1e-9).fit(cloud())
    assert all(level.stopped for level in model.hierarchy_.report.levels)
