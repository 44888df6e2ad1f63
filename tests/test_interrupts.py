"""Ctrl-C comes out of public functions, whatever code in C makes of it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer

import graphsoft
from graphsoft.interrupts import ctrl_c_comes_out, raise_if_dropped
from graphsoft.neighbors import nearest
from graphsoft.parallel import map_blocks
from graphsoft.storage.atomic import write_atomic

X = np.abs(np.random.default_rng(0).normal(size=(300, 4)))
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def dropped():
    """Get Ctrl-C where it is dropped, as some code in C does."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def made_another_error():
    """Get Ctrl-C as Numba passes it on from a loop that just returns."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise SystemError("returned a result with an exception set") from error


class Finder(KNeighborsTransformer):
    """A search of the caller's own, in which Ctrl-C comes."""

    def __init__(self, get=dropped):
        super().__init__(mode="distance", n_neighbors=15)
        self.get = get

    def fit_transform(self, X):
        self.get()
        return super().fit_transform(X)


@pytest.mark.parametrize("get", [dropped, made_another_error])
@pytest.mark.parametrize("call", [
    lambda finder: graphsoft.hierarchy(X, [9, 3], neighbors=finder),
    lambda finder: graphsoft.cluster(X, 3, neighbors=finder),
    lambda finder: graphsoft.knn_graph(X, neighbors=finder),
    lambda finder: graphsoft.suggest_levels(X, neighbors=finder),
])  # fmt: skip
def test_ctrl_c_comes_out_of_a_search_of_the_callers_own(call, get):
    with pytest.raises(KeyboardInterrupt):
        call(Finder(get))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    raise_if_dropped()  # nothing is left of it
    assert len(graphsoft.hierarchy(X, [9, 3])) == 2


def test_ctrl_c_that_pynndescent_makes_another_error_comes_out(monkeypatch):
    monkeypatch.setattr(nearest, "PAIR_WORK", 0)
    monkeypatch.setattr(nearest, "_descend", lambda *arguments: made_another_error())
    with pytest.raises(KeyboardInterrupt):
        graphsoft.knn_graph(np.hstack([X, X, X]), metric="manhattan")


@ctrl_c_comes_out()
def broken():
    raise SystemError("of its own")


def test_other_errors_stay_what_they_are():
    with pytest.raises(SystemError, match="of its own"):
        broken()


def test_loops_stop_where_ctrl_c_was_dropped(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    done = []

    def piece(start, stop):
        done.append(start)
        if start == 3:
            dropped()

    def all_pieces():
        with ctrl_c_comes_out():
            list(map_blocks(piece, 1000, 1))

    with pytest.raises(KeyboardInterrupt):
        all_pieces()
    assert len(done) == 4


@pytest.mark.parametrize("after", [list, [].pop])
def test_files_are_written_and_read_no_further(tmp_path, after):
    def writer(file):
        dropped()
        after()

    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", writer)


def test_what_the_caller_does_with_ctrl_c_is_left_alone():
    got = []
    old = signal.signal(signal.SIGINT, lambda number, frame: got.append(number))
    try:
        with ctrl_c_comes_out():
            signal.raise_signal(signal.SIGINT)
        assert got == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, old)


def test_other_threads_leave_signals_alone():
    ended = []

    def elsewhere():
        with ctrl_c_comes_out():
            ended.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert ended == [signal.default_int_handler]


def test_calls_within_calls_note_it_for_the_outermost():
    def call():
        with ctrl_c_comes_out():
            with ctrl_c_comes_out():
                dropped()
            raise_if_dropped()

    with pytest.raises(KeyboardInterrupt):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["graph", "predict", "save", "normalized-cut", "pynndescent"])
def test_ctrl_c_at_some_moments_of_a_phase(phase):
    script = Path(__file__).parents[1] / "examples" / "benchmarks" / "interrupts.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, "--one", phase, "--moments", "10"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["ends"]) <= {"interrupted", "finished"}
    assert found["ends"].count("interrupted") > 0
    assert found["same"]
