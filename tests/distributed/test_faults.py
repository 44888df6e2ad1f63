"""Workers and clients that are killed or stopped: the same bits, and hardly a task done twice."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import graphsoft
from distributed import Client, LocalCluster, Status
from graphsoft.distributed import doing, executors
from graphsoft.distributed.executors import executor_of
from graphsoft.distributed.run import Run
from graphsoft.distributed.status import status
from graphsoft.distributed.tasks import Task, Where
from graphsoft.version import installed_version
from shared.toy_stages import PARTS, STAGES, TASKS, executions, make, run_stages
from shared.worker_processes import alive, ended

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    with Run(tmp_path_factory.mktemp("undisturbed")) as run:
        return run_stages(run)


def test_one_and_two_workers_give_the_same_bits_as_this_process(client, tmp_path, answer):
    with Run(tmp_path / "two", executor_of(client)) as run:
        assert run_stages(run) == answer
        assert len(executions(run.directory)) == TASKS
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as one,
        Run(tmp_path / "one", executor_of(one)) as run,
    ):
        assert run_stages(run) == answer


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("moment", ["before", "in", "after", "recorded"])
def test_killed_worker(client, tmp_path, answer, moment, stage):
    alive(client)
    with Run(tmp_path, executor_of(client)) as run:
        assert run_stages(run, (moment, stage, 0)) == answer
    assert not list(tmp_path.glob("*/*/.*"))
    assert len(executions(tmp_path)) <= TASKS + 1
    assert (tmp_path / f"trouble-{moment}").exists()


def test_task_that_kills_its_workers(tmp_path, answer):
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
        Run(tmp_path, executor_of(client)) as run,
    ):
        cluster.scheduler.allowed_failures = 0
        with pytest.raises(
            graphsoft.RunStopped, match=r"pass-on, part 2: its workers died.*memory"
        ) as raised:
            run_stages(run, ("always", "pass-on", 2))
        assert raised.value.parts == [2]
        assert executions(tmp_path).count("pass-on-2") == doing.KILLS
    (tmp_path / "trouble").unlink()
    with Run(tmp_path) as run:
        assert run_stages(run) == answer


def test_stopped_worker(client, tmp_path, answer, monkeypatch):
    monkeypatch.setattr(doing, "FLOOR", 1.0)
    alive(client)
    try:
        with Run(tmp_path, executor_of(client)) as run:
            assert run_stages(run, ("stop", "make-numbers", 1)) == answer
            assert run.report()["make-numbers"]["again"] >= 1
    finally:
        with suppress(FileNotFoundError):
            os.kill(int((tmp_path / "stopped").read_text()), signal.SIGCONT)


def test_worker_that_is_silent_gets_no_tasks(client, tmp_path, answer, monkeypatch):
    monkeypatch.setattr(executors, "QUIET", 3.0)
    monkeypatch.setattr(executors, "BEATS", 1)
    alive(client)
    stopped = next(iter(client.cluster.workers.values())).pid
    os.kill(stopped, signal.SIGSTOP)
    try:
        executor, until = executor_of(client), time.monotonic() + 60
        while executor.workers().silent != 1:
            assert time.monotonic() < until
            time.sleep(0.05)
        for part in range(PARTS):
            executor.submit(
                Task(Where(str(tmp_path), "make-numbers", part), make, {"seed": 3}), ("a", part, 1)
            )
        ended, until = [], time.monotonic() + 40
        while len(ended) < PARTS:  # those that the silent one had got would not end
            assert time.monotonic() < until
            ended += executor.ended(1.0)
        with Run(tmp_path, executor) as run:
            assert run_stages(run) == answer
    finally:
        os.kill(stopped, signal.SIGCONT)
    until = time.monotonic() + 60
    while executor.workers().silent:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_no_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "DESERTED", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
        Run(tmp_path, executor_of(client)) as run,
        pytest.raises(graphsoft.RunStopped, match=r"make-numbers, parts 0, 1, .*no worker .*start workers"),
    ):
        run_stages(run)


def test_workers_that_are_paused(client, tmp_path, answer, monkeypatch):
    monkeypatch.setattr(doing, "DESERTED", 0.5)
    alive(client)

    def limit(memory, dask_worker):
        dask_worker.memory_manager.memory_limit = memory
        return dask_worker.status.name

    until = time.monotonic() + 30
    while set(client.run(limit, 1000).values()) != {"paused"}:
        assert time.monotonic() < until
        time.sleep(0.05)
    try:
        with (
            Run(tmp_path, executor_of(client)) as run,
            pytest.raises(graphsoft.RunStopped, match=r"make-numbers.*no worker that takes tasks.*paused"),
        ):
            run_stages(run)
    finally:
        client.run(limit, 2 * 10**9)
    with Run(tmp_path, executor_of(client)) as run:
        assert run_stages(run) == answer


@contextmanager
def worker_with_another_disk(cluster, folder):
    """Start a worker for which a folder is another one, and empty."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("only root can mount a disk for one process")
    dask = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    mounting = f"mount -t tmpfs none {folder} && exec {shlex.join(dask)} --nthreads 1 --no-nanny"
    process = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", f"{mounting} --no-dashboard --memory-limit 2GB"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def test_worker_that_sees_another_disk(tmp_path, answer):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
        worker_with_another_disk(cluster, tmp_path),
    ):
        client.wait_for_workers(1, timeout=60)
        with (
            Run(tmp_path / "run", executor_of(client)) as run,
            pytest.raises(
                graphsoft.RunStopped, match=r"part \d: there is no directory .*run' on the machine"
            ),
        ):
            run_stages(run)
    with Run(tmp_path / "run") as run:
        assert run_stages(run) == answer


def test_workers_of_another_version(client, tmp_path, answer):
    def named(version):
        from graphsoft.distributed import tasks

        tasks.installed_version = lambda: version

    alive(client)
    client.run(named, "0.0.7")
    try:
        with (
            Run(tmp_path, executor_of(client)) as run,
            pytest.raises(
                graphsoft.RunStopped, match=r"make-numbers, part \d: .* has graphsoft 0\.0\.7, and the run "
            ),
        ):
            run_stages(run)
    finally:
        client.run(named, installed_version())
    assert not executions(tmp_path)
    with Run(tmp_path, executor_of(client)) as run:
        assert run_stages(run) == answer


def test_ctrl_c(client, tmp_path, answer):
    alive(client)

    def interrupt(stage, done, total):
        if (stage, done) == ("pass on", 1):
            raise KeyboardInterrupt

    with (
        Run(tmp_path, executor_of(client), interrupt) as run,
        pytest.raises(KeyboardInterrupt),
    ):
        run_stages(run, ("slow", "any", "any"))
    # the same cluster, in which tasks of the interrupted run may still be running
    with Run(tmp_path, executor_of(client)) as run:
        assert run_stages(run) == answer
    # two for each worker were submitted when the first run ended, and may have been begun and not recorded
    assert len(executions(tmp_path)) <= TASKS + 2 * len(client.nthreads())


def test_cluster_that_is_gone(tmp_path):
    with LocalCluster(n_workers=1, dashboard_address="127.0.0.1:0") as cluster:
        client = Client(cluster, set_as_default=False)
        executor = executor_of(client)
        client.close()
        with (
            Run(tmp_path, executor) as run,
            pytest.raises(graphsoft.RunStopped, match="cannot be reached"),
        ):
            run_stages(run)


def test_work_that_raises(client, tmp_path):
    alive(client)
    with Run(tmp_path, executor_of(client)) as run, pytest.raises(KeyError, match="a bug"):
        run_stages(run, ("raise", "pass-on", 3))
    until = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(client.processing().values())


CLIENT = """if True:
    import sys
    sys.path[:0] = {paths!r}
    from pathlib import Path
    from distributed import Client, LocalCluster
    from graphsoft.distributed.executors import executor_of
    from graphsoft.distributed.run import Run
    from shared.toy_stages import run_stages

    if __name__ == "__main__":
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
            print(*(nanny.pid for nanny in cluster.workers.values()), flush=True)
            with Client(cluster) as client, Run(Path(sys.argv[1]), executor_of(client)) as run:
                run_stages(run, ("slow", "any", "any"))
"""


def test_killed_client(tmp_path, answer):
    script, folder = tmp_path / "client.py", tmp_path / "run"
    script.write_text(CLIENT.format(paths=[str(TESTS), str(TESTS.parent)]))
    kills = (2, PARTS + 2, TASKS - 1)
    for wanted in kills:
        killed = subprocess.Popen([sys.executable, script, folder], stdout=subprocess.PIPE, text=True)
        workers = [int(each) for each in killed.stdout.readline().split()]
        until = time.monotonic() + 60
        while not folder.exists() or len(list(folder.glob("done/*/[0-9]*"))) < wanted:
            assert killed.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        assert status(folder).worked_on
        killed.kill()
        killed.communicate()
        ended(workers)
        found = status(folder)
        assert not found.worked_on
        assert found.done >= wanted
    with Run(folder) as run:
        assert run_stages(run) == answer
        assert not list(folder.glob("*/*/.*"))
    assert len(executions(folder)) <= TASKS + 2 * len(kills)  # so many tasks run at the same time


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_times(client, tmp_path, answer, seed):
    alive(client)
    random = np.random.default_rng(seed)
    over, kills = threading.Event(), []

    def kill():
        while not over.wait(0.2 + random.exponential(1.0)):
            nannies = list(client.cluster.workers.values())
            # a worker that dies before its nanny knows that it runs is not started again
            running = [nanny.pid for nanny in nannies if nanny.status == Status.running and nanny.pid]
            if len(running) == len(nannies):
                kills.append(int(random.choice(running)))
                os.kill(kills[-1], signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        with Run(tmp_path, executor_of(client)) as run:
            assert run_stages(run, ("slow", "any", "any")) == answer
    finally:
        over.set()
        killing.join()
    assert kills
    assert len(executions(tmp_path)) <= TASKS + len(kills)
