"""The command line as a process of its own, from files to files."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz

from graphsoft.cli import command

DATA = Path(__file__).parents[2] / "data"
DIGITS = str(DATA / "digits.csv.gz")
IRIS = str(DATA / "iris.csv")
NOVEL = str(DATA / "les_miserables.graphml")
KARATE = str(DATA / "karate.graphml")


def run(*arguments):
    return command.main([*map(str, arguments)])


def started(*arguments, before=(), stdout=subprocess.PIPE, **environment):
    """Start the command line in a process of its own, perhaps by another program that comes before it."""
    paths = [str(Path(command.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [*before, sys.executable, "-W", "error", "-m", "graphsoft", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out.decode(), err.decode()


def test_digits_from_file_to_files(tmp_path):
    arguments = ["hierarchy", DIGITS, "--levels", "100,20,10", "--labels", "label", "-o"]
    code, out, err = finish(started(*arguments, tmp_path / "one"))
    assert code == 0, err
    assert "1797 points -> 100 -> 20 -> 10 clusters" in out
    report = json.loads((tmp_path / "one" / "report.json").read_text(encoding="utf-8"))
    assert report["scores"][2]["accuracy"] > 0.8
    with open(tmp_path / "one" / "labels.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1797
    for level, size in enumerate((100, 20, 10)):
        memberships = load_npz(tmp_path / "one" / f"memberships-{level}.npz")
        assert memberships.shape == (1797, size)
        np.testing.assert_allclose(memberships.sum(axis=1), 1.0, atol=1e-5)
        labels = [int(row[f"level_{level}"]) for row in rows]
        assert (memberships.toarray()[range(1797), labels] == memberships.max(axis=1).toarray()).all()
    tree = json.loads((tmp_path / "one" / "tree.json").read_text(encoding="utf-8"))
    assert len(tree["children"]) == 10
    assert sum(child["size"] for child in tree["children"]) == 1797

    assert finish(started(*arguments, tmp_path / "two", NUMBA_NUM_THREADS="1"))[:2] == (0, out)
    for name in os.listdir(tmp_path / "one"):
        if name != "report.json":  # it holds seconds
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_runs_into_one_folder_leave_the_files_of_one(tmp_path):
    runs = [
        started("hierarchy", KARATE, "--levels", levels, "-o", tmp_path) for levels in ("9,5,3", "4", "6,2")
    ]
    for code, _, err in map(finish, runs):
        assert code == 0, err
    sizes = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["asked"]["levels"]
    assert sizes in ([9, 5, 3], [4], [6, 2])
    held = {f"memberships-{level}.npz": size for level, size in enumerate(sizes)}
    assert set(os.listdir(tmp_path)) == {*held, "explorer.html", "labels.csv", "report.json", "tree.json"}
    assert {name: load_npz(tmp_path / name).shape[1] for name in held} == held
    tree = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))
    assert len(tree["children"]) == sizes[-1]
    with open(tmp_path / "labels.csv", encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file))
    assert [name for name in columns if name.startswith("level_")] == [
        f"level_{n}" for n in range(len(sizes))
    ]


@pytest.mark.parametrize("name", ["karate.graphml", "les_miserables.graphml", "patterns/blocks.graphml"])
def test_graphs_from_file_to_files(tmp_path, name):
    assert run("hierarchy", DATA / name, "--levels", "9,3", "-o", tmp_path, "--quiet") == 0
    assert load_npz(tmp_path / "memberships-1.npz").shape[1] == 3


@pytest.mark.parametrize("name", sorted(path.name for path in (DATA / "patterns").glob("*.csv")))
def test_patterns(capsys, name):
    assert run("hierarchy", DATA / "patterns" / name, "--levels", "20,2", "--labels", "label") == 0
    assert "scores against the known classes" in capsys.readouterr().out


def test_names_of_edge_lists_come_back(tmp_path):
    (tmp_path / "a.edges").write_text("=A1 名\n名 c\nc =A1\nc d\n", encoding="utf-8")
    assert run("hierarchy", tmp_path / "a.edges", "--levels", "2", "-o", tmp_path / "out", "--quiet") == 0
    with open(tmp_path / "out" / "labels.csv", encoding="utf-8", newline="") as file:
        assert [row["point"] for row in csv.DictReader(file)] == ["'=A1", "名", "c", "d"]


def test_wrong_levels_reach_the_user():
    code, out, err = finish(started("hierarchy", KARATE, "--levels", "3,10"))
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("graphsoft: --levels: ")
    assert "Traceback" not in err


def test_ascii_terminals(tmp_path):
    (tmp_path / "a.csv").write_text(
        "x,kind\n" + "".join(f"{k},名{k % 2}\n" for k in range(8)), encoding="utf-8"
    )
    arguments = ["hierarchy", tmp_path / "a.csv", "--levels", "2", "--labels", "kind", "--neighbors", "3"]
    settings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    code, out, err = finish(started(*arguments, **settings))
    assert code == 0, err
    assert "\\u540d" in out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["cluster", "--help"], ["info", KARATE]])
def test_a_full_disk(arguments):
    with open("/dev/full", "wb") as full:
        process = started(*arguments, stdout=full)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert err.startswith(b"graphsoft: ")
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="the shell of POSIX closes a stream by <&-")
def test_a_closed_input():
    code, _, err = finish(started("info", "-", before=["sh", "-c", 'exec "$0" "$@" <&-']))
    assert code == 1
    assert err.startswith("graphsoft: input: the standard input is closed.")


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_broken_pipe():
    process = started("hierarchy", KARATE, "--levels", "3")
    process.stdout.close()
    assert process.wait(timeout=300) == 141
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
