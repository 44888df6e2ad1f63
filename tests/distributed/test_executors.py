"""Executors that lose tasks, workers and the scheduler; and what Dask is told."""

import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from dask.utils import key_split

import graphsoft
from distributed import Client, LocalCluster
from graphsoft.distributed import doing
from graphsoft.distributed.executors import Ended, InThisProcess, Workers, executor_of
from graphsoft.distributed.run import Run
from graphsoft.parallel import thread_count, threads_limited
from shared.toy_stages import PARTS, TASKS, executions, make, run_stages

TESTS = Path(__file__).parents[1]


class Scripted(InThisProcess):
    """Does tasks in this process, but what happens to some tries is said beforehand."""

    def __init__(self, happens, there=2):
        super().__init__()
        self._happens, self._there, self._ends = happens, there, []
        self.died, self.keys, self.cancelled, self.most = 0, [], [], 0

    def submit(self, task, key):
        name, part, _ = key
        stage = name.rpartition("-")[0]
        number = self.tries(stage).count(part)
        self.keys.append(key)
        open_keys = [each for each in self.keys if each not in self.cancelled]
        self.most = max(self.most, sum(each[:2] == key[:2] for each in open_keys))
        outcome = self._happens.get((stage, part, number))
        if outcome == "killed":
            self.died += 4
            self._ends.append(Ended(key, RuntimeError("four workers"), killed=True))
        elif outcome != "lost":
            super().submit(task, key)

    def ended(self, seconds):
        ends, self._ends = self._ends, []
        ends = ends or super().ended(seconds)
        if not ends:
            time.sleep(0.01)
        return ends

    def cancel(self, keys):
        self.cancelled.extend(keys)
        super().cancel(keys)

    def workers(self):
        return Workers(self._there, self.died, 4)

    def tries(self, stage):
        """List the parts of a stage that were submitted."""
        return [part for name, part, _ in self.keys if name.rpartition("-")[0] == stage]


@pytest.fixture
def answer(tmp_path):
    with Run(tmp_path / "undisturbed") as run:
        return run_stages(run)


def test_second_try_of_a_task_that_takes_too_long(tmp_path, answer, monkeypatch):
    monkeypatch.setattr(doing, "FLOOR", 0.05)
    executor = Scripted({("pass-on", 3, 0): "lost", ("pass-on", 3, 1): "lost", ("pass-on", 5, 0): "lost"})
    with Run(tmp_path / "run", executor) as run:
        assert run_stages(run) == answer
        assert run.report()["pass-on"]["again"] == 3
    assert len(executor.tries("pass-on")) == PARTS + 3
    assert sorted(key[1] for key in executor.cancelled) == [3, 3, 5]


def test_tries_do_not_end(tmp_path, answer, monkeypatch):
    monkeypatch.setattr(doing, "FLOOR", 0.002)
    happens = {("pass-on", 3, number): "lost" for number in range(doing.TRIES + 2)}
    executor = Scripted(happens)
    with Run(tmp_path / "run", executor) as run:
        assert run_stages(run) == answer
    assert executor.tries("pass-on").count(3) == doing.TRIES + 3
    # no more of them at the same time
    assert len(executor.cancelled) == doing.TRIES + 2
    assert executor.most == doing.TRIES


def test_tasks_of_an_earlier_run_tell_what_takes_too_long(tmp_path, answer, monkeypatch):
    monkeypatch.setattr(doing, "FLOOR", 0.05)
    with Run(tmp_path / "run") as run:
        run_stages(run)
    for name in ("parts/pass-on/3", "done/pass-on/3", "done/add-up/0"):
        (tmp_path / "run" / f"{name}.arrays").unlink()
    executor = Scripted({("pass-on", 3, 0): "lost"})
    with Run(tmp_path / "run", executor) as run:
        assert run_stages(run) == answer
    assert executor.tries("pass-on") == [3, 3]


def test_file_that_was_made_again_meanwhile_is_not_made_once_more(tmp_path, answer):
    class HoldingBack(InThisProcess):
        """Tells late that a task of the stage that reads found a file damaged."""

        held = ()

        def ended(self, seconds):
            ends = super().ended(seconds)
            stage, part, _ = ends[0].key
            if stage.startswith("pass-on") and part == 1 and ends[0].error is not None:
                self.held, ends = ends, []
            elif stage.startswith("make-numbers"):
                ends, self.held = [*ends, *self.held], ()
            return ends

        def workers(self):
            return Workers(1, 0, PARTS)

    with Run(tmp_path / "run", HoldingBack()) as run:
        run.stage("make-numbers", make, range(PARTS), seed=3)
    (tmp_path / "run" / "parts" / "make-numbers" / "1.arrays").unlink()
    with Run(tmp_path / "run", HoldingBack()) as run:
        assert run_stages(run) == answer
        assert run.report()["make-numbers"]["again"] == 1
    assert executions(tmp_path / "run").count("make-numbers-1") == 2


def test_no_second_try_where_there_is_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "DESERTED", 0.3)
    monkeypatch.setattr(doing, "FLOOR", 0.0)
    executor = Scripted({("pass-on", 3, 0): "lost"}, there=0)
    with (
        Run(tmp_path, executor) as run,
        pytest.raises(
            graphsoft.RunStopped, match=r"pass-on, part 3: there has been no worker that takes tasks"
        ),
    ):
        run_stages(run)
    assert executor.tries("pass-on") == list(range(PARTS))
    assert [key[1] for key in executor.cancelled] == [3]


@pytest.mark.parametrize(
    ("waited", "stage", "parts"),
    # a worker has nothing to do where there are fewer tasks than workers
    [("SPARE", "add-up", range(1)), ("UNKNOWN", "make-numbers", range(PARTS))],
)
def test_task_without_an_example_is_tried_again(tmp_path, answer, monkeypatch, waited, stage, parts):
    monkeypatch.setattr(doing, "FLOOR", 0.0)
    monkeypatch.setattr(doing, waited, 0.3)
    executor = Scripted({(stage, part, 0): "lost" for part in parts})
    with Run(tmp_path / "run", executor) as run:
        assert run_stages(run) == answer
    assert all(executor.tries(stage).count(part) >= 2 for part in parts)


def test_killed_task_is_tried_again_alone(tmp_path, answer):
    happens = {("pass-on", part, number): "killed" for part in (1, 2) for number in range(doing.KILLS - 1)}
    executor = Scripted(happens)
    with Run(tmp_path / "run", executor) as run:
        assert run_stages(run) == answer
    tries = executor.tries("pass-on")
    assert tries.count(1) == tries.count(2) == doing.KILLS
    assert len(executions(tmp_path / "run")) == TASKS


def test_task_that_is_killed_too_often(tmp_path):
    executor = Scripted({("pass-on", 4, number): "killed" for number in range(9)})
    with (
        Run(tmp_path, executor) as run,
        pytest.raises(graphsoft.RunStopped, match=r"pass-on, part 4: its workers died.*four workers.*memory"),
    ):
        run_stages(run)
    assert executor.tries("pass-on").count(4) == doing.KILLS


def no_memory(where):
    raise MemoryError("Unable to allocate 8 GiB")


@pytest.mark.parametrize("here", [True, False])
def test_task_that_has_not_enough_memory(tmp_path, here):
    words = r"too-large, part 4: there was not enough memory.*8 GiB.*more memory"
    with Run(tmp_path) as run, pytest.raises(graphsoft.RunStopped, match=words):
        run.stage("too-large", no_memory, [4], here=here)


def test_workers_that_are_all_silent(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "DESERTED", 0.3)

    class Silent(Scripted):
        def workers(self):
            return Workers(there=2, died=0, room=4, silent=2)

    executor = Silent({("make-numbers", part, 0): "lost" for part in range(PARTS)})
    with (
        Run(tmp_path, executor) as run,
        pytest.raises(graphsoft.RunStopped, match=r"there has been no worker that takes tasks for 0 s"),
    ):
        run_stages(run)


def test_workers_that_die_faster_than_tasks_end(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "DESERTED", 0.3)

    class Dying(Scripted):
        def ended(self, seconds):
            self.died += 1
            return super().ended(seconds)

    executor = Dying({("make-numbers", part, 0): "lost" for part in range(PARTS)})
    with (
        Run(tmp_path, executor) as run,
        pytest.raises(
            graphsoft.RunStopped, match=r"parts 0, .*: \d+ workers died in 0 s, and no task has ended"
        ),
    ):
        run_stages(run)


def test_scheduler_that_is_gone(tmp_path):
    class Gone(Scripted):
        def workers(self):
            raise ConnectionError("nobody answers")

    with (
        Run(tmp_path, Gone({})) as run,
        pytest.raises(graphsoft.RunStopped, match=r"nobody answers.*start a cluster, and call again"),
    ):
        run_stages(run)


def test_stages_that_wait_for_each_other(tmp_path):
    def reads_its_own(where):
        with where.open("odd", 0):
            pass

    with Run(tmp_path) as run, pytest.raises(RuntimeError, match="wait for each other"):
        run.stage("odd", reads_its_own, [0])


def test_scheduler_of_dask_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "DESERTED", 2.0)
    place = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen(
        [*command, "--no-dashboard", "--scheduler-file", str(place)],
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
    )
    try:
        until = time.monotonic() + 60
        while not place.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        with Client(scheduler_file=str(place), set_as_default=False, timeout=1) as client:
            killing = threading.Timer(0.5, scheduler.kill)
            killing.start()
            with (
                Run(tmp_path / "run", executor_of(client)) as run,
                pytest.raises(graphsoft.RunStopped, match="make-numbers"),
            ):
                run_stages(run)
            killing.join()
    finally:
        scheduler.kill()
        scheduler.wait()


def count_threads(where):
    begun = time.monotonic()
    time.sleep(0.05)
    return {"threads": thread_count(), "begun": begun, "ended": time.monotonic()}


def test_a_worker_does_one_task_at_a_time_with_all_its_threads(tmp_path):
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=3, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        Run(tmp_path, executor_of(client)) as run,
    ):
        records = run.stage("count-threads", count_threads, range(6))
    assert [int(each["threads"]) for each in records] == [3] * 6
    times = sorted((float(each["begun"]), float(each["ended"])) for each in records)
    assert all(before[1] <= after[0] for before, after in pairwise(times))


def test_limit_of_threads_is_of_one_thread():
    seen = []
    usual = thread_count()
    with threads_limited(usual + 1):
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
        assert thread_count() == usual + 1
    assert seen == [usual]
    assert thread_count() == usual


def test_keys_are_grouped_by_stage(tmp_path):
    executor = Scripted({})
    with Run(tmp_path, executor) as run:
        run_stages(run)
    assert {key_split(key) for key in executor.keys} == {"make-numbers", "pass-on", "add-up"}
    assert len(set(executor.keys)) == TASKS
    other = Scripted({})
    with Run(tmp_path / "other", other) as run:
        run_stages(run)
    assert not set(executor.keys) & set(other.keys)


def test_asynchronous_client_is_refused(client):
    async def choose():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            with pytest.raises(graphsoft.InputError, match="client: is asynchronous"):
                executor_of(other)

    client.sync(choose)


X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [9], [18]], 20, axis=0)
GIVEN = {"levels": (6, 3), "max_memory": "2GB"}


@pytest.fixture(params=["array", "Dask array"])
def data(request):
    return X if request.param == "array" else da.from_array(X, chunks=(20, 3))


def test_a_run_without_workers_keeps_to_its_time(tmp_path, data):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        begun = time.monotonic()
        with pytest.raises(
            graphsoft.RunStopped, match=r"no worker that takes tasks for \d+ s.*start workers"
        ):
            graphsoft.hierarchy(data, directory=tmp_path, client=client, time_limit=1, **GIVEN)
        assert time.monotonic() - begun < 30


def test_a_closed_client_is_refused(tmp_path, data):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        pass
    for given in ({}, {"max_memory": "2GB"}):
        with pytest.raises(graphsoft.InputError, match=r"client: is closed\. Remedy: make a new one"):
            graphsoft.hierarchy(data, (6, 3), directory=tmp_path / "run", client=client, **given)
    assert not (tmp_path / "run").exists()


def test_a_worker_without_graphsoft_is_named(tmp_path, data):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        without = ["--preload", "import sys; sys.modules['graphsoft'] = None"]  # so it cannot be imported
        worker = subprocess.Popen(
            [*command, "--no-nanny", "--no-dashboard", "--nthreads", "1", *without],
            stderr=subprocess.DEVNULL,
        )
        try:
            client.wait_for_workers(1, timeout=60)
            (address,) = client.scheduler_info()["workers"]
            words = rf"the worker at {address} cannot import graphsoft.*install graphsoft where"
            with pytest.raises(graphsoft.RunStopped, match=words):
                graphsoft.hierarchy(data, directory=tmp_path, client=client, **GIVEN)
        finally:
            worker.kill()
            worker.wait()
