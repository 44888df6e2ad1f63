"""The command line: what it passes on, prints and writes, with a stand-in for the library."""

import json
import os
import runpy
import sys
import types
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz

from graphsoft.cli import command, writing
from graphsoft.cli.summary import score_levels, summarize
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.tree_building import build_tree
from shared.stand_in import StandInLevel, stand_in

DATA = Path(__file__).parents[2] / "data"
DIGITS = str(DATA / "digits.csv.gz")
IRIS = str(DATA / "iris.csv")
NOVEL = str(DATA / "les_miserables.graphml")
KARATE = str(DATA / "karate.graphml")


@pytest.fixture
def library(monkeypatch):
    """Put a stand-in for the library in place; calls end up in the list that is returned."""
    calls = []

    def hierarchy(data, levels, progress=None, **keywords):
        calls.append((data, levels, keywords))
        if progress is not None:
            progress("neighbors", 0, 1)
        count = len(data) if not hasattr(data, "shape") else data.shape[0]
        return stand_in(count, levels)

    module = types.ModuleType("graphsoft.levels")
    module.hierarchy = hierarchy
    monkeypatch.setitem(sys.modules, "graphsoft.levels", module)
    return calls


def run(*arguments):
    return command.main([*map(str, arguments)])


def test_only_what_was_asked_for_is_passed_on(library):
    assert run("hierarchy", IRIS, "--levels", "6,3", "--labels", "label", "--quiet") == 0
    data, levels, keywords = library[0]
    assert data.shape == (150, 4)
    assert levels == [6, 3]
    assert keywords == {"affinity": "features"}
    options = (
        "--neighbors 7 --metric cosine --weights jaccard --affinity precomputed --method relation --no-polish"
    )
    assert run("hierarchy", KARATE, "--levels", "3", "--quiet", *options.split()) == 0
    assert library[1][2] == {
        "n_neighbors": 7,
        "metric": "cosine",
        "weights": "jaccard",
        "affinity": "precomputed",
        "method": "relation",
        "polish": False,
    }


def test_headers_can_be_told(library, tmp_path, capsys):
    path = tmp_path / "years.csv"
    rows = "".join(f"{k % 7},{k % 5},{k % 3}\n" for k in range(30))
    path.write_text("2020,2021,2022\n" + rows.replace(",", ".5,"))
    for options, points in (((), 30), (("--header",), 30), (("--no-header",), 31)):
        assert run("hierarchy", path, "--levels", "3", "-o", tmp_path / "out", *options) == 0
        assert library[-1][0].shape == (points, 3)
        taken = "the header" if points == 30 else "a point: there is no header"
        assert f"note: line 1 was taken as {taken}\n" in capsys.readouterr().out
        report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
        assert report["read"] == [f"line 1 was taken as {taken}"]
        assert report["asked"].get("header") == {0: None, 1: points == 30}[len(options)]
    path.write_text("5,6,7\n" + rows)
    assert run("hierarchy", path, "--levels", "3", "--quiet") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        "graphsoft: warning: line 1 (5, 6, 7) was taken as a point, but may be a header; say"
    )
    assert run("hierarchy", KARATE, "--levels", "3", "--header") == 1
    assert capsys.readouterr().err.startswith("graphsoft: --header: .graphml files have no header")


def test_what_is_printed(library, capsys):
    assert run("hierarchy", IRIS, "--levels", "40,6,3", "--labels", "label") == 0
    out, err = capsys.readouterr()
    assert err == ""  # no terminal, no progress
    expected = """\
150 points -> 40 -> 6 -> 3 clusters
note: line 1 was taken as the header

level 2: 3 clusters, heaviest first
cluster  size  mass   share  certainty  class        pure  main children
2-0        50    50  33.3 %       0.75  setosa      100 %  1-0 1-1
2-1        50    50  33.3 %       0.75  versicolor  100 %  1-2 1-3
2-2        50    50  33.3 %       0.75  virginica   100 %  1-4 1-5

level 1: 6 clusters, heaviest first
cluster  size  mass   share  certainty  class        pure  main children
1-0        25    25  16.7 %       0.75  setosa      100 %  0-0 0-1 0-2 0-4 +3
"""
    assert out.startswith(expected)
    scores = """\
scores against the known classes, which the clustering did not use
level  clusters  accuracy    NMI  adjusted Rand  purity
    2         3     1.000  1.000          1.000   1.000
"""
    assert scores in out
    assert "level 0:" not in out


def test_long_top_levels_are_cut(library, capsys):
    assert run("hierarchy", NOVEL, "--levels", "40") == 0
    out, _ = capsys.readouterr()
    assert out.endswith("\n... and 10 more\n")
    assert len(out.splitlines()) == 1 + 1 + 1 + 1 + 30 + 1
    assert "class" not in out


def test_summary_of_empty_clusters():
    h = stand_in(3, [3])
    h.levels[0] = StandInLevel(h[0].memberships, np.array([0, 0, 2]), h[0].entropy, np.zeros(3))
    h.tree = build_tree([], [np.zeros(3)], [np.array([2, 0, 1])])
    lines = summarize(h, np.array(["a", "b\x1b", "b\x1b"]))
    assert lines[4].split() == ["0-0", "2", "0", "-", "0.75", "a", "50", "%"]
    assert lines[5].split() == ["0-1", "0", "0", "-", "-"]
    assert lines[6].split()[-3:] == ["b?", "100", "%"]


def test_files(library, tmp_path):
    out = tmp_path / "deep" / "out"
    assert run("hierarchy", KARATE, "--levels", "6,3", "--labels", "club", "-o", out, "--quiet") == 0
    assert sorted(os.listdir(out)) == [
        "explorer.html",
        "labels.csv",
        "memberships-0.npz",
        "memberships-1.npz",
        "report.json",
        "tree.json",
    ]
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert report["program"] == "graphsoft"
    asked = {"input": KARATE, "levels": [6, 3], "directed": False, "affinity": "precomputed"}
    assert report["asked"] == asked
    assert report["report"] == {"gap": None, "trace": [-2.0, -1.0], "notes": [], "scaling": [], "part": ""}
    assert [sorted(level) for level in report["scores"]] == [
        ["accuracy", "adjusted_rand", "nmi", "purity"]
    ] * 2
    assert json.loads((out / "tree.json").read_text(encoding="utf-8"))["id"] == "root"
    assert load_npz(out / "memberships-1.npz").shape == (34, 3)


def test_a_second_run_replaces_the_first_whole(library, tmp_path):
    (tmp_path / "memberships-new.npz").write_text("not ours")
    assert run("hierarchy", KARATE, "--levels", "9,6,3", "-o", tmp_path, "--quiet") == 0
    assert run("hierarchy", KARATE, "--levels", "5", "-o", tmp_path, "--quiet") == 0
    assert sorted(os.listdir(tmp_path)) == [
        "explorer.html",
        "labels.csv",
        "memberships-0.npz",
        "memberships-new.npz",
        "report.json",
        "tree.json",
    ]


@pytest.mark.parametrize("report", [None, "not json", "[1]", '{"program": "other"}'])
def test_files_of_others_are_not_overwritten(library, tmp_path, capsys, report):
    (tmp_path / "labels.csv").write_text("mine")
    if report is not None:
        (tmp_path / "report.json").write_text(report)
    assert run("hierarchy", KARATE, "--levels", "3", "-o", tmp_path) == 1
    assert not library
    assert "--output: " in (err := capsys.readouterr().err)
    assert "--force" in err
    assert (tmp_path / "labels.csv").read_text() == "mine"
    assert run("hierarchy", KARATE, "--levels", "3", "-o", tmp_path, "--force", "--quiet") == 0
    assert (tmp_path / "labels.csv").read_text() != "mine"


def test_the_graph_may_choose_the_levels(tmp_path, capsys):
    assert run("hierarchy", NOVEL, "--levels", "auto", "-o", tmp_path) == 0
    assert "note: levels chosen: " in capsys.readouterr().out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["asked"]["levels"] == "auto"
    sizes = [level["clusters"] for level in report["report"]["levels"]]
    assert sorted(tmp_path.glob("memberships-*.npz")) == [
        tmp_path / f"memberships-{level}.npz" for level in range(len(sizes))
    ]


def test_directions_are_followed_where_that_is_asked_for(tmp_path, capsys):
    edges = tmp_path / "ring.edges"
    edges.write_text("a b\nb c\nc a\nc d\nd e\ne f\nf d\nf a\n")
    assert run("hierarchy", edges, "--levels", "2", "--directed", "-o", tmp_path / "out") == 0
    assert "note: flow of a walk" in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["asked"]["directed"] is True
    assert run("hierarchy", tmp_path / "out" / "labels.csv", "--levels", "2", "--directed") == 1


def test_children_can_be_limited(library, capsys):
    assert run("hierarchy", KARATE, "--levels", "6,3", "--max-children", "2", "--quiet") == 0
    assert library[0][2]["max_children"] == 2
    assert run("hierarchy", KARATE, "--levels", "6,3", "--max-children", "x") == 2
    assert "'--max-children': 'x' is not a valid integer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv", "--levels", "3"], "graphsoft: input: there is no file 'nothing.csv'. Remedy: check"),
        ([IRIS, "--levels", "3", "--labels", "lable"], "graphsoft: --labels: there is no column 'lable'."),
        ([KARATE, "--levels", "3", "-o", IRIS], "graphsoft: --output: "),
        (["a\x1b[2J.csv", "--levels", "3"], r"graphsoft: input: there is no file 'a\x1b[2J.csv'."),
    ],
)
def test_wrong_input_is_one_line_and_code_1(library, capsys, arguments, message):
    assert run("hierarchy", *arguments) == 1
    out, err = capsys.readouterr()
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert out == ""
    assert not library


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            InputError("n_neighbors", "got 0", "give at least 1"),
            1,
            "--neighbors: got 0. Remedy: give at least 1.",
        ),
        (InputError("X", "row 3 holds NaN", "drop it"), 1, "input: row 3 holds NaN. Remedy: drop it."),
        (OSError(28, "No space left on device"), 1, "[Errno 28] No space left on device"),
        (MemoryError(), 1, "out of memory. Remedy: fewer points, fewer neighbors, or a larger machine."),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_of_the_library(library, monkeypatch, capsys, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(sys.modules["graphsoft.levels"], "hierarchy", fail)
    assert run("hierarchy", KARATE, "--levels", "3") == code
    assert capsys.readouterr().err == f"graphsoft: {message}\n"


def test_warnings_are_one_line(library, monkeypatch, capsys):
    inner = sys.modules["graphsoft.levels"].hierarchy

    def warn(*arguments, **keywords):
        warnings.warn("3 rows are empty\x07", GraphsoftWarning, stacklevel=2)
        return inner(*arguments, **keywords)

    monkeypatch.setattr(sys.modules["graphsoft.levels"], "hierarchy", warn)
    assert run("hierarchy", KARATE, "--levels", "3", "--quiet") == 0
    assert capsys.readouterr() == ("", "graphsoft: warning: 3 rows are empty?\n")


def test_plain_knows_what_reports_hold():
    mixed = {
        1: np.int64(3),
        "set": {2},
        "path": Path("a"),
        "on": True,
        "none": None,
        "bits": np.array([True]),
    }
    assert writing.plain(mixed) == {"1": 3, "set": [2], "path": "a", "on": True, "none": None, "bits": [True]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hierarchy"], "Missing argument 'INPUT'. See graphsoft hierarchy --help."),
        (
            ["hierarchy", IRIS],
            "Missing option '--levels'. Write numbers of clusters, such as 100,20,10, or auto. See",
        ),
        (["nothing"], "No such command 'nothing'. See graphsoft --help."),
        (["--nothing"], "No such option"),
        (
            ["hierarchy", IRIS, "--neighbors", "x"],
            "Invalid value for '--neighbors': 'x' is not a valid integer",
        ),
        (
            ["hierarchy", IRIS, "--levels", "3,\x1b"],
            "Invalid value for '--levels': '3,\\x1b' is",
        ),
        (
            ["hierarchy", IRIS, "--levels", "3", "--columns", ""],
            "Invalid value for '--columns'",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(capsys, arguments, said):
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"graphsoft: {said}")


def test_no_command_shows_the_help(capsys):
    assert run() == 2
    assert "Commands:" in capsys.readouterr().err
    assert run("--help") == 0
    assert "Commands:" in capsys.readouterr().out


def test_version(capsys, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "1.2.3")
    assert run("--version") == 0
    assert capsys.readouterr().out == "graphsoft 1.2.3\n"

    def absent(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", absent)
    assert run("--version") == 0
    assert capsys.readouterr().out == "graphsoft unknown\n"


def test_python_dash_m(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["graphsoft", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("graphsoft", run_name="__main__")
    assert capsys.readouterr().out.startswith("graphsoft ")


def test_scores_of_levels():
    scores = score_levels(stand_in(6, [3, 2]), ["a", "a", "a", "b", "b", "b"])
    assert scores[1] == {"accuracy": 1.0, "nmi": pytest.approx(1.0), "adjusted_rand": 1.0, "purity": 1.0}
    assert scores[0]["accuracy"] == pytest.approx(4 / 6)
