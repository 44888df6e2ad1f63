"""Runs in this process: resumed, shuffled, damaged, forgotten, out of room."""

import copy
import errno
import io
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.distributed import files
from graphsoft.distributed.arguments import stage_of
from graphsoft.distributed.executors import DaskFutures, InThisProcess, executor_of
from graphsoft.distributed.files import UNMARKED, Unreadable, open_arrays, write_arrays
from graphsoft.distributed.locking import is_held
from graphsoft.distributed.run import Run
from graphsoft.distributed.status import status
from graphsoft.progress.bar import Bar
from graphsoft.progress.watching import Watch
from shared.shuffled import Shuffled
from shared.toy_stages import PARTS, STAGES, TASKS, executions, make, pass_on, run_stages


def test_order_of_tasks_is_of_no_influence(tmp_path):
    answers = []
    for seed in (None, 1, 2, 3):
        with Run(tmp_path / str(seed), seed and Shuffled(seed)) as run:
            answers.append(run_stages(run))
    assert all(each == answers[0] for each in answers)
    orders = {tuple(executions(tmp_path / str(seed))) for seed in (None, 1, 2, 3)}
    assert len(orders) == 4


def test_resumed_run_does_nothing_twice(tmp_path):
    with Run(tmp_path) as run, pytest.raises(KeyError, match="a bug"):
        run_stages(run, ("raise", "pass-on", 3))
    found = status(tmp_path)
    assert (found.stage, found.stages["pass-on"], found.finished) == ("pass-on", (3, PARTS), False)
    assert "nobody is at work" in str(found)
    seen = []
    with Run(tmp_path, progress=lambda *step: seen.append(step)) as run:
        answer = run_stages(run)
        report = run.report()
    assert sorted(executions(tmp_path)) == sorted(
        [*executions(tmp_path)[: PARTS + 4], *executions(tmp_path)[-4:]]
    )
    assert len(executions(tmp_path)) == TASKS + 1  # the task that raised
    assert seen[:3] == [("make numbers", 0, PARTS), ("make numbers", PARTS, PARTS), ("pass on", 0, PARTS)]
    assert seen[3] == ("pass on", 3, PARTS)
    assert seen[-1] == ("add up", 1, 1)
    assert report["pass-on"]["tasks"] == PARTS
    assert all(each["again"] == 0 for each in report.values())
    with Run(tmp_path) as run:
        assert run_stages(run) == answer
    assert len(executions(tmp_path)) == TASKS + 1


def test_report_counts_bytes(tmp_path):
    with Run(tmp_path) as run:
        run_stages(run)
        report = run.report()
    written = sum(path.stat().st_size for path in tmp_path.glob("parts/make-numbers/*"))
    assert report["make-numbers"]["bytes_written"] == written
    # each task reads the header of each file, a row of its table of sections, and a sixth of the numbers
    whole = report["make-numbers"]["bytes_written"] * PARTS
    numbers, table = 20 * 8 * PARTS, 3 * 8 * PARTS * PARTS
    assert report["pass-on"]["bytes_read"] == whole - (PARTS - 1) * (numbers + table)
    assert report["add-up"]["bytes_read"] == report["pass-on"]["bytes_written"]
    if os.path.exists("/proc/self/status"):
        assert report["add-up"]["peak_memory"] > 2**20


def flipped(path, position):
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << position % 8
    path.write_bytes(content)


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """Make the directory of a run that is complete; returns it, and the answer."""
    folder = tmp_path_factory.mktemp("complete")
    with Run(folder) as run:
        return folder, run_stages(run)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_flipped_byte_is_found_and_its_task_done_again(complete, tmp_path_factory, which, position):
    folder = tmp_path_factory.mktemp("flipped") / "run"
    shutil.copytree(complete[0], folder)
    damaged = sorted(folder.glob("*/*/*"))
    damaged = damaged[which % len(damaged)]
    flipped(damaged, position)
    forgotten = ["done/add-up/*"]
    if damaged.is_relative_to(folder / "parts" / "make-numbers"):
        forgotten.append("done/pass-on/*")  # the tasks that read this file
    asked = [path for pattern in forgotten for path in folder.glob(pattern)]
    for path in asked:
        path.unlink()
    before = len(executions(folder))
    with Run(folder) as run:
        assert run_stages(run) == complete[1]
    again = executions(folder)[before:]
    assert f"{damaged.parts[-2]}-{damaged.stem}" in again
    assert len(again) <= len(asked) + 2  # the task that wrote the file, and the one that noticed it


def test_forgotten_files_are_made_again_when_they_are_needed(tmp_path):
    with Run(tmp_path) as run:
        answer = run_stages(run, forgetful=True)
        assert not (tmp_path / "parts" / "make-numbers").exists()
    for name in ("parts", "done"):
        (tmp_path / name / "pass-on" / "4.arrays").unlink()
    (tmp_path / "done" / "add-up" / "0.arrays").unlink()
    with Run(tmp_path) as run:
        assert run_stages(run, forgetful=True) == answer
        assert run.report()["make-numbers"]["again"] == PARTS
        assert not (tmp_path / "parts" / "make-numbers").exists()


def test_forgotten_files_that_a_later_stage_needs_are_forgotten_again(tmp_path):
    with Run(tmp_path) as run:
        answer = run_stages(run, forgetful=True)
    (tmp_path / "parts" / "pass-on" / "4.arrays").unlink()  # the record stays: nobody knows
    (tmp_path / "done" / "add-up" / "0.arrays").unlink()
    with Run(tmp_path) as run:
        assert run_stages(run, forgetful=True) == answer
        assert not (tmp_path / "parts" / "make-numbers").exists()


def test_file_that_cannot_be_kept(tmp_path, monkeypatch):
    written = files.write_arrays

    def forgetting(path, arrays, cuts=None, mark=UNMARKED):
        size = written(path, arrays, cuts, mark)
        if path.parts[-3:] == ("parts", "make-numbers", "2.arrays"):
            path.unlink()
        return size

    monkeypatch.setattr("graphsoft.distributed.tasks.write_arrays", forgetting)
    with (
        Run(tmp_path) as run,
        pytest.raises(
            graphsoft.RunStopped, match=r"make-numbers, part 2: .* though written 5 times.*disk is sound"
        ),
    ):
        run_stages(run)


def test_full_disk(tmp_path, monkeypatch):
    written, left = files.write_arrays, 9

    def filling(path, arrays, cuts=None, mark=UNMARKED):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return written(path, arrays, cuts, mark)

    with monkeypatch.context() as patch, Run(tmp_path) as run:
        patch.setattr("graphsoft.distributed.tasks.write_arrays", filling)
        with pytest.raises(graphsoft.RunStopped, match=r"make-numbers, part 4: the disk is full .*make room"):
            run_stages(run)
    with Run(tmp_path) as run:
        run_stages(run)
    assert len(executions(tmp_path)) == TASKS + 1


@contextmanager
def small_disk(folder):
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only root can make a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_really_full_disk(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(120_000))
        with Run(disk / "run") as run, pytest.raises(graphsoft.RunStopped, match="the disk is full"):
            run_stages(run)
        done = status(disk / "run").done
        assert 0 < done < TASKS
        ballast.unlink()
        with Run(disk / "run") as run:
            answer = run_stages(run)
        assert len(executions(disk / "run")) <= TASKS + 1
    with Run(tmp_path / "other") as run:
        assert run_stages(run) == answer


def test_second_run_in_a_directory_is_refused(tmp_path):
    assert is_held(tmp_path) is False
    with Run(tmp_path):
        assert is_held(tmp_path)
        with pytest.raises(graphsoft.InputError, match=f"directory: another run .*process {os.getpid()} of"):
            Run(tmp_path).__enter__()
        assert is_held(tmp_path)
    with Run(tmp_path):
        pass


def test_directory_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(graphsoft.InputError, match=r"directory: .*cannot be written to"):
        Run(tmp_path / "file").__enter__()


def test_leftovers_of_killed_processes_are_swept(tmp_path):
    with Run(tmp_path) as run:
        answer = run_stages(run)
    (tmp_path / "given").mkdir()
    left = [tmp_path / folder / ".0.arrays.12345678.tmp" for folder in ("parts/add-up", "given")]
    for path in left:
        path.touch()
    with Run(tmp_path) as run:
        assert not any(path.exists() for path in left)
        assert run_stages(run) == answer


def test_stage_done_here(tmp_path):
    class Elsewhere(InThisProcess):
        def submit(self, task, key):
            submitted.append(key[0].rsplit("-", 1)[0])
            super().submit(task, key)

    submitted = []
    with Run(tmp_path, Elsewhere()) as run:
        run.stage("make-numbers", make, range(PARTS), here=True, seed=3)
        assert submitted == []
        (tmp_path / "parts" / "make-numbers" / "1.arrays").unlink()
        run.stage("pass-on", pass_on, range(PARTS))
        assert submitted == ["pass-on"] * (PARTS + 1)
        assert executions(tmp_path).count("make-numbers-1") == 2


def test_file_that_two_tasks_find_damaged_is_made_once(client, tmp_path):
    for name, executor in {"here": Shuffled(1), "dask": executor_of(client)}.items():
        with Run(tmp_path / name, executor) as run:
            run.stage("make-numbers", make, range(PARTS), seed=3)
            flipped(tmp_path / name / "parts" / "make-numbers" / "1.arrays", 9)
            run.stage("pass-on", pass_on, range(PARTS))
            assert run.report()["make-numbers"]["again"] == 1
            assert executions(tmp_path / name).count("make-numbers-1") == 2


def test_files_of_others_are_not_made_again(tmp_path):
    def read_another(where, path):
        with open_arrays(Path(path)):
            pass

    for part, path in enumerate((tmp_path / "parts" / "unknown" / "0.arrays", tmp_path.parent / "0.arrays")):
        with Run(tmp_path) as run, pytest.raises(Unreadable, match="is not there"):
            run.stage(f"read-{part}", read_another, [0], path=str(path))


@pytest.mark.parametrize("here", [False, True])
def test_bugs_come_through(tmp_path, here):
    def divide(where):
        return {"quotient": 1 // where.part}

    def connect(where):
        raise ConnectionRefusedError("nobody answers")

    with Run(tmp_path) as run:
        with pytest.raises(ZeroDivisionError):
            run.stage("divide", divide, [0], here=here)
        with pytest.raises(ConnectionRefusedError, match="nobody answers"):
            run.stage("connect", connect, [0], here=here)


def test_file_systems_without_locks(tmp_path, monkeypatch):
    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("graphsoft.distributed.locking.fcntl.flock", refuse)
    with Run(tmp_path):
        assert is_held(tmp_path) is None
        run = Run(tmp_path)
        run.expect({"make-numbers": 1})
        assert "at work" not in str(status(tmp_path))


def test_names_of_stages(tmp_path):
    run = Run(tmp_path)
    run.stage("make-numbers", make, range(PARTS), seed=3)
    for name in ("make-numbers", "Make", "make_numbers", "../make", ""):
        with pytest.raises(ValueError, match="no name of a stage"):
            run.stage(name, make, [0], seed=3)


def test_expected_stages(tmp_path):
    run = Run(tmp_path)
    with pytest.raises(graphsoft.InputError, match=r"there is no run in .*Remedy: give the directory"):
        status(tmp_path)
    run.expect({"make-numbers": PARTS, "pass-on": PARTS, "add-up": 1})
    run.stage("make-numbers", make, range(PARTS), seed=3)
    found = status(tmp_path)
    assert list(found.stages) == list(STAGES)
    assert (found.done, found.tasks, found.stage) == (PARTS, TASKS, "pass-on")
    assert "1 of 3 stages, 6 of 13 tasks" in str(found)
    assert "stands at pass-on, 0 of 6 parts" in str(found)
    (tmp_path / "hierarchy.gs").touch()
    assert str(status(tmp_path)).endswith("finished")


@pytest.mark.parametrize("resumed", [False, True])
def test_one_bar_for_all_stages(tmp_path, resumed):
    if resumed:
        with Run(tmp_path) as run:
            run_stages(run)
    parts, watch = [], Watch("hierarchy", ["neighbors"])
    watch.bar = Bar(watch.run, io.StringIO())
    watch.bar.step = lambda stage, done: parts.append(watch.run.part)
    try:
        with Run(tmp_path, progress=watch) as run:
            run.expect({"make-numbers": PARTS, "pass-on": PARTS, "add-up": 1})
            run_stages(run)
    finally:
        watch.bar.close()
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert 1 / 3 in parts


def test_interrupted_run_goes_on(tmp_path):
    def interrupt(stage, done, total):
        if (stage, done) == ("pass on", 2):
            raise KeyboardInterrupt

    with Run(tmp_path, progress=interrupt) as run, pytest.raises(KeyboardInterrupt):
        run_stages(run)
    assert not is_held(tmp_path)
    with Run(tmp_path) as run:
        run_stages(run)
    assert len(executions(tmp_path)) == TASKS


def test_executor_of(client):
    assert isinstance(executor_of(None), InThisProcess)
    assert isinstance(executor_of(client), DaskFutures)
    executor = InThisProcess()
    assert executor_of(executor) is executor
    for wrong in (3, "tcp://localhost:8786", InThisProcess):
        with pytest.raises(graphsoft.InputError, match=r"client: got .*give a distributed.Client"):
            executor_of(wrong)


def test_run_stopped():
    # it is copied as it is pickled
    error = graphsoft.RunStopped("sweep", [1], "went wrong", "call again")
    assert str(copy.copy(error)) == str(error)
    assert str(error) == "sweep, part 1: went wrong. Remedy: call again."
    many = graphsoft.RunStopped("sweep", range(2000), "went wrong", "call again")
    assert str(many).startswith("sweep, parts 0, 1, 2, 3, 4 and 1,995 more: went wrong")


def test_sections_are_all_of_an_array(tmp_path):
    with pytest.raises(ValueError, match="sections of 'a' are not all"):
        write_arrays(tmp_path / "a", {"a": np.arange(5)}, {"a": np.array([0, 4])})
    with pytest.raises(TypeError, match="cannot be stored"):
        write_arrays(tmp_path / "a", {"a": np.array(["text"])})


def test_matrices_that_are_not_in_csr_are_no_arguments():
    """In CSC the same arrays are another matrix."""
    assert stage_of(sp.csr_array(np.eye(1000))) is not None
    with pytest.raises(TypeError, match="not in csc"):
        stage_of(sp.csc_array(np.eye(1000)))
