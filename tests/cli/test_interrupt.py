"""The command line in a terminal: its bar, Ctrl-C, and what a killed run leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from graphsoft.cli import command
from shared.terminals import left_on_screen, plain, shown_in_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals and signals of POSIX")

ROOT = Path(command.__file__).parents[2]
PENGUINS = ROOT / "data" / "penguins.csv"
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
# A signal may come while Python reads a module, and that file is then left to the garbage collector.
PROGRAM = [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-m", "graphsoft"]


def in_terminal(*arguments, **options):
    return shown_in_terminal([*PROGRAM, *arguments], environment=ENVIRONMENT, **options)


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """Enough points that a stage cannot be over before a signal arrives."""
    path = tmp_path_factory.mktemp("points") / "points.npy"
    np.save(path, np.random.default_rng(0).normal(size=(60_000, 16)))
    return path


def test_one_bar_over_the_whole_run(tmp_path):
    out = tmp_path / "out"
    code, shown = in_terminal("hierarchy", PENGUINS, "--levels", "9,3", "--labels", "species", "-o", out)
    assert code == 0, shown
    assert shown.count("\x1b[?25l") == 1
    lines = left_on_screen(shown)
    assert lines[0] == "342 points -> 9 -> 3 clusters"
    assert lines[-1].startswith("explorer.html, tree.json, labels.csv, memberships and report.json are in")
    assert not any("%" in line and "━" in line for line in lines)


def test_quiet_draws_nothing(tmp_path):
    code, shown = in_terminal("hierarchy", PENGUINS, "--levels", "3", "--labels", "species", "--quiet")
    assert (code, plain(shown).strip()) == (0, "")


def test_a_pipe_gets_the_table_and_the_terminal_the_bar():
    with open(os.devnull, "w") as nowhere:
        code, shown = in_terminal(
            "hierarchy", PENGUINS, "--levels", "3", "--labels", "species", stdout=nowhere
        )
    assert code == 0
    assert "━" in shown
    assert left_on_screen(shown) == []


def test_ctrl_c_leaves_one_clean_line(points, tmp_path):
    code, shown = in_terminal(
        "hierarchy", points, "--levels", "100,20,10", "-o", tmp_path / "out", interrupt="neighbors"
    )
    assert code == 130
    assert left_on_screen(shown) == ["graphsoft: interrupted"]
    assert shown.endswith("graphsoft: interrupted\r\n")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs dask and distributed")
def test_ctrl_c_with_workers_leaves_one_clean_line(points, tmp_path):
    code, shown = in_terminal(
        "run", points, "--levels", "100,20,10", "--directory", tmp_path / "run", "--partitions", "4",
        "--workers", "2", interrupt="find neighbors",
    )  # fmt: skip
    assert code == 130
    assert [line for line in left_on_screen(shown) if not line.startswith("dashboard: ")] == [
        "graphsoft: interrupted; the same command goes on where it stopped"
    ]


def test_ctrl_c_without_a_terminal(points):
    process = subprocess.Popen(
        [*PROGRAM, "hierarchy", points, "--levels", "100"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip
    time.sleep(2.5)  # it has begun by then, and is not over
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out, err) == (130, b"", b"graphsoft: interrupted\n")


def test_a_folder_that_a_killed_run_left_is_swept(tmp_path, capsys):
    left = tmp_path / ".graphsoft-0123abcd.tmp"
    left.mkdir()
    (left / "tree.json").write_text("half")
    (tmp_path / "labels.csv").write_text("of the killed run")  # which had begun to move its files
    assert (
        command.main(
            ["hierarchy", str(PENGUINS), "--labels", "species", "--levels", "3", "-o", str(tmp_path)]
        )
        == 0
    )
    assert sorted(os.listdir(tmp_path)) == [
        "explorer.html", "labels.csv", "memberships-0.npz", "report.json", "tree.json",
    ]  # fmt: skip
    assert json.loads((tmp_path / "report.json").read_text())["asked"]["levels"] == [3]
    capsys.readouterr()
