"""Directories with files that are not of the run: of other runs, of other programs, and hostile ones."""

import errno
import shutil
from pathlib import Path

import pytest

import graphsoft
from graphsoft.distributed import files, plan
from graphsoft.distributed.executors import InThisProcess
from graphsoft.distributed.run import Run, planned_stages
from graphsoft.distributed.status import status
from graphsoft.storage import container
from graphsoft.storage.atomic import write_whole
from shared.runs import LEVELS, digest, nested_clouds
from shared.toy_stages import PARTS, executions, make, run_stages

X, _ = nested_clouds(300)
OTHER, _ = nested_clouds(300, seed=1)
GIVEN = {"partitions": 2, "max_memory": "2GB"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The directories of two runs with other data."""
    found = tmp_path_factory.mktemp("runs")
    graphsoft.hierarchy(X, LEVELS, directory=found / "one", **GIVEN)
    graphsoft.hierarchy(OTHER, LEVELS, directory=found / "other", **GIVEN)
    return found


def test_a_saved_copy_is_of_its_own_data(runs, tmp_path):
    graphsoft.load(runs / "one").save(tmp_path / "copy")
    with pytest.raises(graphsoft.InputError, match=r"directory: .* another plan: levels"):
        graphsoft.hierarchy(X, [9, 3], directory=tmp_path / "copy", **GIVEN)
    with pytest.raises(graphsoft.InputError, match=r"directory: .* another plan: the data are others"):
        graphsoft.hierarchy(OTHER, LEVELS, directory=tmp_path / "copy", **GIVEN)
    again = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "copy", **GIVEN)
    assert again.to_json() == graphsoft.load(runs / "one").to_json()


def test_a_lost_plan_is_taken_from_the_result(runs, tmp_path):
    shutil.copytree(runs / "one", tmp_path / "run")
    (tmp_path / "run" / "plan.json").unlink()
    shutil.rmtree(tmp_path / "run" / "given")
    with pytest.raises(graphsoft.InputError, match=r"directory: .* another plan: the data are others"):
        graphsoft.hierarchy(OTHER, LEVELS, directory=tmp_path / "run", **GIVEN)
    (tmp_path / "run" / "plan.json").unlink()
    again = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert again.to_json() == graphsoft.load(runs / "one").to_json()


def test_a_damaged_plan_is_made_again(runs, tmp_path):
    shutil.copytree(runs / "one", tmp_path / "run")
    path = tmp_path / "run" / "plan.json"
    content = path.read_bytes()
    for summary in (True, False):  # a finished run, and one that goes on
        path.write_bytes(content.replace(b'"rows": 300', b'"rows": 310'))
        if not summary:
            (tmp_path / "run" / "hierarchy.gs").unlink()
        again = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
        assert again.to_json() == graphsoft.load(runs / "one").to_json()
        assert path.read_bytes() == content


def test_work_whose_plan_is_lost_is_gone_on_with_or_made_again(runs, tmp_path):
    for data, name in ((X, "one"), (OTHER, "other")):
        run, stages = tmp_path / name, []
        shutil.copytree(runs / "one", run)
        (run / "plan.json").unlink()
        (run / "hierarchy.gs").unlink()
        shutil.rmtree(run / "given")
        graphsoft.hierarchy(
            data, LEVELS, directory=run, progress=lambda *step, to=stages: to.append(step), **GIVEN
        )
        assert digest(run) == digest(runs / name)
        begun = {stage for stage, done, total in stages if 0 < done < total or total == 1}
        assert ("find neighbors" in begun) == (name == "other")


def test_the_result_of_another_run_is_made_again(runs, tmp_path):
    shutil.copytree(runs / "one", tmp_path / "run")
    shutil.copy(runs / "other" / "hierarchy.gs", tmp_path / "run")
    again = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert again.to_json() == graphsoft.load(runs / "one").to_json()
    assert digest(tmp_path / "run") == digest(runs / "one")


def test_files_of_another_run_are_not_believed(runs, tmp_path):
    shutil.copytree(runs / "one", tmp_path / "run")
    for folder in ("parts", "done"):
        shutil.copytree(runs / "other" / folder, tmp_path / "run" / folder, dirs_exist_ok=True)
    with pytest.raises(graphsoft.InputError, match=r"directory: .* is of another run.*the same call again"):
        graphsoft.load(tmp_path / "run")[0].labels[:3]
    again = graphsoft.hierarchy(X, LEVELS, directory=tmp_path / "run", **GIVEN)
    assert again.to_json() == graphsoft.load(runs / "one").to_json()
    assert digest(tmp_path / "run") == digest(runs / "one")


def test_late_task_of_an_earlier_run(tmp_path):
    class Keeping(InThisProcess):
        def submit(self, task, key):
            tasks.append(task)
            super().submit(task, key)

    def late(stage, done, total):
        if (stage, done) == ("pass on", 0):
            for task in tasks[:PARTS]:
                task()

    tasks, answers = [], []
    for name, earlier in (("alone", False), ("after", True)):
        if earlier:
            with Run(tmp_path / name, Keeping()) as run:
                run.bind(b"an earlier plan ")
                run.stage("make-numbers", make, range(PARTS), seed=4)
        with Run(tmp_path / name, progress=late if earlier else None) as run:
            run.bind(b"the plan of now ")
            answers.append(run_stages(run))
    assert answers[0] == answers[1]
    assert len(tasks) == PARTS
    # the earlier run, its tasks that were late, and twice those of this run, whose files were lost by these
    assert executions(tmp_path / "after").count("make-numbers-0") == 4
    with Run(tmp_path / "after") as run:
        run.bind(b"the plan of now ")
        assert run_stages(run) == answers[0]


def test_files_of_others_stay(tmp_path):
    (tmp_path / "mail" / "drafts").mkdir(parents=True)
    theirs = [tmp_path / "mail" / "drafts" / ".letter.tmp", tmp_path / "lock"]
    for path in theirs:
        path.write_text("of somebody")
    with Run(tmp_path) as run:
        run_stages(run)
    assert [path.read_text() for path in theirs] == ["of somebody"] * 2


@pytest.mark.parametrize(
    "stages",
    ["[]", '{"a": 1e999}', '{"a": -1}', '{"a": "9"}', '{"../..": 1}', '{"a\\u0000": 1}', "[" * 10**5,
     '{"' + "a" * 10**5 + '": 1}'],
)  # fmt: skip
def test_list_of_stages_changed_by_hand(tmp_path, stages):
    (tmp_path / "stages.json").write_text(f'{{"stages": {stages}}}')
    assert planned_stages(tmp_path) == {}
    with Run(tmp_path) as run:
        answer = run_stages(run)
    (tmp_path / "done" / "add-up" / "copy of 1.arrays").touch()
    with Run(tmp_path) as run:
        assert run_stages(run) == answer
    assert status(tmp_path).stage is None


@pytest.mark.parametrize("name", ["done", "parts", "given"])
def test_file_where_a_folder_should_be(tmp_path, name):
    (tmp_path / name).touch()
    (tmp_path / "stages.json").touch()  # of a run, among whose files are those of others
    with pytest.raises(graphsoft.InputError, match=rf"directory: .*{name}.* cannot be used: Not a directory"):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path, **GIVEN)


def test_folder_where_a_file_should_be(tmp_path):
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(graphsoft.InputError, match=r"directory: .* cannot be used: Is a directory"):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path, **GIVEN)


def test_name_that_is_too_long(tmp_path):
    with pytest.raises(graphsoft.InputError, match=r"directory: .* cannot be written to: File name too long"):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path / ("a" * 300), **GIVEN)


@pytest.mark.parametrize("full", ["0.arrays", "plan.json", "hierarchy.gs"])
def test_disk_that_is_full_between_tasks(monkeypatch, tmp_path, full):
    def write(path, writer):
        if Path(path).name == full and Path(path).parent in (tmp_path, tmp_path / "given"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_whole(path, writer)

    for module, name in ((files, "write_whole"), (plan, "write_atomic"), (container, "write_atomic")):
        monkeypatch.setattr(module, name, write)
    with pytest.raises(graphsoft.RunStopped, match=rf"^{full}: the disk is full .*make room"):
        graphsoft.hierarchy(X, LEVELS, directory=tmp_path, **GIVEN)
    monkeypatch.undo()
    graphsoft.hierarchy(X, LEVELS, directory=tmp_path, **GIVEN)
