"""``progress=True``, the caller's own function, and the log, through public functions."""

import contextlib
import inspect
import io
import logging
import pickle
import signal
import sys

import numpy as np
import pytest

import graphsoft
from graphsoft import InputError
from graphsoft.progress import watched

X = np.random.default_rng(0).normal(size=(60, 3))
W = [[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]
WATCHED = (
    graphsoft.hierarchy, graphsoft.cluster, graphsoft.suggest_levels, graphsoft.propagate,
    graphsoft.stability,
    graphsoft.knn_graph, graphsoft.as_graph, graphsoft.directed_graph,
    graphsoft.methods.cluster_surviving, graphsoft.methods.cluster_tuples, graphsoft.Hierarchy.predict,
    graphsoft.Hierarchy.predict_proba, graphsoft.Hierarchy.transform, graphsoft.Hierarchy.partial_update,
)  # fmt: skip


@pytest.fixture(scope="module")
def h():
    return graphsoft.hierarchy(X, [6, 2])


@pytest.mark.parametrize("function", WATCHED, ids=lambda function: function.__qualname__)
def test_every_function_with_progress_is_watched(function):
    assert hasattr(function, "__wrapped__")
    progress = inspect.signature(function).parameters["progress"]
    assert progress.kind is progress.KEYWORD_ONLY
    assert progress.default is None
    assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 - our own


def calls(h, progress):
    graphsoft.hierarchy(X, [6, 2], progress=progress)
    graphsoft.hierarchy(X, "auto", progress=progress)
    graphsoft.cluster(X, 3, progress=progress)
    graphsoft.suggest_levels(X, progress=progress)
    graphsoft.stability(h, 1, progress=progress)
    graphsoft.propagate(h, {0: "a", 1: "b"}, progress=progress)
    graphsoft.propagate(X, {0: "a", 1: "b"}, progress=progress)
    graphsoft.knn_graph(X, progress=progress)
    graphsoft.as_graph(X, progress=progress)
    graphsoft.directed_graph(W, progress=progress)
    graphsoft.methods.cluster_surviving(X, progress=progress)
    h.predict(X[:2] + 1, progress=progress)
    h.predict_proba(X[:2] + 1, progress=progress)
    h.transform(X[:2] + 1, progress=progress)
    h.partial_update(X[:2] + 1, progress=progress)


@pytest.mark.parametrize("progress", [True, False, None, lambda *_: None])
def test_what_is_no_terminal_gets_nothing(h, capfd, progress):
    calls(h, progress)
    assert capfd.readouterr() == ("", "")


def test_there_may_be_no_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert len(graphsoft.hierarchy(X, [2], progress=True)) == 1


@pytest.mark.parametrize("wrong", [7, "bar"])
def test_what_is_no_progress_is_refused(h, wrong):
    for call in (
        lambda: graphsoft.hierarchy(X, [2], progress=wrong),
        lambda: graphsoft.suggest_levels(X, progress=wrong),
        lambda: h.predict(X, progress=wrong),
        lambda: h.partial_update(X, progress=wrong),
    ):
        with pytest.raises(InputError, match=r"^progress: got .* Remedy: use True, None or a function"):
            call()


def test_the_log_tells_the_stages(caplog):
    with caplog.at_level(logging.INFO, "graphsoft"):
        graphsoft.hierarchy(X, [6, 2])
    said = [record.getMessage() for record in caplog.records if "compiling" not in record.getMessage()]
    assert {record.name for record in caplog.records} == {"graphsoft"}
    assert said[0] == "hierarchy: neighbors, 60 steps"
    assert said[1].startswith("hierarchy: neighbors took 0.")
    assert said[-1].startswith("hierarchy took ")
    begun = [line.split(": ")[1].split(",")[0] for line in said if line.endswith("steps")]
    assert begun[0] == "neighbors"
    assert begun[-1] == "refining"
    assert {"dividing", "polishing"} <= set(begun)


def test_the_log_does_not_keep_the_callers_function_from_its_calls(caplog):
    told, quiet = [], []
    graphsoft.hierarchy(X, [6, 2], progress=lambda *each: quiet.append(each))
    with caplog.at_level(logging.INFO, "graphsoft"):
        graphsoft.hierarchy(X, [6, 2], progress=lambda *each: told.append(each))
    assert told == quiet
    assert caplog.records


def test_a_run_is_watched_once(caplog):
    with caplog.at_level(logging.INFO, "graphsoft"), watched(None, "outside", ()) as outer:
        graphsoft.suggest_levels(X, progress=outer)
    assert {record.getMessage().partition(":")[0].split()[0] for record in caplog.records} == {"outside"}


def test_a_stream_that_is_no_terminal_is_not_asked_for_more(monkeypatch):
    class Stream(io.StringIO):
        def isatty(self):
            return False

    monkeypatch.setattr(sys, "stderr", stream := Stream())
    graphsoft.hierarchy(X, [2], progress=True)
    assert stream.getvalue() == ""


def test_only_public_names_are_listed():
    names = dir(graphsoft)
    assert set(graphsoft.__all__) <= set(names)
    assert not [name for name in names if name.startswith("_") and name != "__version__"]
    assert {"Any", "annotations", "import_module", "TYPE_CHECKING", "levels", "kernels"}.isdisjoint(names)
    assert all(hasattr(graphsoft, name) for name in names)


def test_ctrl_c_that_was_dropped_on_the_way_stops_the_run_at_its_next_report():
    reports = []

    def told(stage, done, total):
        reports.append(stage)
        if len(reports) == 2:
            with contextlib.suppress(KeyboardInterrupt):  # as code in C may do
                signal.raise_signal(signal.SIGINT)

    logging.getLogger("graphsoft").setLevel(logging.INFO)
    try:
        with pytest.raises(KeyboardInterrupt):
            graphsoft.hierarchy(X, [2], progress=told)
    finally:
        logging.getLogger("graphsoft").setLevel(logging.NOTSET)
    assert len(reports) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
