"""The command that works in a directory, and the commands that look at what it leaves there."""

import json
import os
import sys
import types

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import graphsoft
from graphsoft.cli import command
from graphsoft.distributed.edge_files import PartitionedGraph
from shared.shapes import cloud
from shared.stored_twin import stored_twin

POINTS = cloud(60, centers=3)


def run(*arguments):
    return command.main([*map(str, arguments)])


@pytest.fixture
def parts(tmp_path):
    """A table in two files."""
    for number, rows in enumerate((POINTS[:25], POINTS[25:])):
        np.save(tmp_path / f"part-{number}.npy", rows)
    return [tmp_path / "part-0.npy", tmp_path / "part-1.npy"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    h = graphsoft.hierarchy(POINTS, [6, 3], n_neighbors=5).name_clusters({"1-0": "first\x1b"})
    return stored_twin(h, tmp_path_factory.mktemp("twin"), 3, 20)


@pytest.fixture
def library(monkeypatch, stored):
    """Put a stand-in for the library in place; calls end up in the list that is returned."""
    calls = []

    def hierarchy(data, levels, progress=None, **keywords):
        calls.append((data, levels, keywords))
        return stored

    module = types.ModuleType("graphsoft.levels")
    module.hierarchy = hierarchy
    monkeypatch.setitem(sys.modules, "graphsoft.levels", module)
    return calls


def test_only_what_was_asked_for_is_passed_on(library, parts, tmp_path):
    assert run("run", *parts, "--levels", "6,3", "--directory", tmp_path / "d", "--quiet") == 0
    data, levels, keywords = library[0]
    assert (data.n, data.d) == POINTS.shape
    assert levels == [6, 3]
    assert keywords == {"directory": str(tmp_path / "d"), "client": None}
    options = (
        "--neighbors 7 --metric cosine --weights relative --min-children 1 --max-children 4 --partitions 2 "
        "--max-memory 2GB"
    )
    assert run("run", tmp_path, "--levels", "6,3", "--directory", "d", "--quiet", *options.split()) == 0
    assert library[1][0].n == 60
    assert library[1][2] == {
        "directory": "d", "client": None, "n_neighbors": 7, "metric": "cosine", "weights": "relative",
        "min_children": 1, "max_children": 4, "partitions": 2, "max_memory": "2GB",
    }  # fmt: skip


def test_columns_of_tables(library, tmp_path):
    pd.DataFrame(POINTS, columns=["a", "b", "c"]).assign(kind="x").to_parquet(tmp_path / "points.parquet")
    given = ("run", tmp_path / "points.parquet", "--levels", "6,3", "--directory", "d", "--quiet")
    assert run(*given, "--drop", "kind,b") == 0
    assert run(*given, "--columns", "a,c") == 0
    assert library[0][0].columns == library[1][0].columns == ("a", "c")


def test_edges_make_a_graph(library, tmp_path):
    nx.write_edgelist(nx.karate_club_graph(), tmp_path / "karate.edges", data=["weight"])
    given = ("run", tmp_path / "karate.edges", "--edges", "--levels", "6,3", "--directory", "d", "--quiet")
    assert run(*given) == 0
    assert isinstance(library[0][0], PartitionedGraph)
    assert library[0][0].nodes == 34


def test_what_is_printed(library, parts, stored, capsys):
    assert run("run", *parts, "--levels", "6,3", "--directory", "d") == 0
    out, err = capsys.readouterr()
    assert out.startswith("60 points -> 6 -> 3 clusters\nnote: ")
    assert "level 1: 3 clusters, heaviest first\ncluster  size" in out
    assert "first?" in out
    assert "memberships and labels of all points are in d" in err
    assert run("run", *parts, "--levels", "6,3", "--directory", "d", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["points"] == 60
    sizes = {each["cluster"]: each["size"] for each in facts["levels"][1]["clusters"]}
    assert sizes == {f"1-{number}": size for number, size in enumerate(stored[1].sizes)}


def test_what_is_written(library, parts, stored, tmp_path, capsys):
    out = tmp_path / "out"
    given = ("run", *parts, "--levels", "6,3", "--directory", tmp_path / "d", "-o", out, "--quiet")
    for _ in range(2):  # its own files may be replaced
        assert run(*given) == 0
        assert {path.name for path in out.iterdir()} == {
            "explorer.html", "tree.json", "report.json", "labels-0.npy", "labels-1.npy"
        }  # fmt: skip
    for at, level in enumerate(stored):
        assert (np.load(out / f"labels-{at}.npy") == np.asarray(level.labels)).all()
    report = json.loads((out / "report.json").read_text())
    assert report["asked"]["levels"] == [6, 3]
    assert report["report"]["nodes"] == 60
    assert graphsoft.read_json(out / "tree.json").tree == stored.tree
    (out / "report.json").unlink()
    assert run(*given) == 1
    assert "graphsoft did not write it" in capsys.readouterr().err
    assert run(*given, "--force") == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "--levels", "3", "--directory", "d"], 2, "FILES"),
        (["run", "x.npy", "--directory", "d"], 2, "--levels"),
        (["run", "x.npy", "--levels", "3"], 2, "--directory"),
        (["run", "x.npy", "--levels", "3", "--directory", "d", "--workers", "0"], 2, "--workers"),
        (["run", "x.npy", "--levels", "3", "--directory", "d"], 1, "x.npy"),
        (["run", "-", "--levels", "3", "--directory", "d"], 1, "standard input"),
        (["run", "x.edges", "--edges", "--part", "X", "--levels", "3", "--directory", "d"], 1, "--part"),
        (["run", "x.edges", "--edges", "--drop", "X", "--levels", "3", "--directory", "d"], 1, "--drop"),
        (["info", "."], 1, "input: there is no run"),
        (["explore", ".", "-o", "page.html"], 1, "input: '.' has no hierarchy.gs"),
        (["info", "nowhere"], 1, "there is no file 'nowhere'"),
        (["run", "*.npy", "--levels", "3", "--directory", "d"], 1, "patterns are not read"),
        (["explore", ".", "-o", "page.html"], 1, "no hierarchy.gs"),
        (["convert", ".", "tree.json"], 1, "no hierarchy.gs"),
    ],
)
def test_mistakes(arguments, code, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err
    assert not os.listdir(tmp_path)


def test_workers_or_a_scheduler(parts, tmp_path, capsys):
    given = (
        "run",
        *parts,
        "--levels",
        "3",
        "--directory",
        tmp_path / "d",
        "--scheduler",
        "x",
        "--workers",
        "1",
    )
    assert run(*given) == 1
    assert "--workers: " in capsys.readouterr().err


def test_a_real_run_with_a_worker_process(parts, tmp_path, capsys):
    given = ("run", *parts, "--levels", "6,3", "--partitions", "2", "--neighbors", "5")
    assert run(*given, "--directory", tmp_path / "one", "--json", "--quiet") == 0
    alone = json.loads(capsys.readouterr().out)
    options = ("--workers", "1", "--max-memory", "1GB")
    assert run(*given, "--directory", tmp_path / "two", "--json", *options) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["levels"] == alone["levels"]
    assert "dashboard: http://127.0.0.1:" in err
    assert run("info", tmp_path / "two") == 0
    assert "points: 60\nlevels: 6, 3\npartitions: 2\n" in capsys.readouterr().out


def test_a_run_that_was_stopped(parts, tmp_path, monkeypatch, capsys):
    given = ("run", *parts, "--levels", "6,3", "--directory", tmp_path / "d", "--partitions", "1", "--quiet")
    monkeypatch.setattr(
        "graphsoft.distributed.driving.divide", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert run(*given) == 130
    assert capsys.readouterr().err == "graphsoft: interrupted; the same command goes on where it stopped\n"
    assert run("info", tmp_path / "d", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kind"] == "a run"
    assert 0 < facts["done"] <= facts["tasks"]
    assert facts["notes"]
    monkeypatch.undo()
    assert run(*given) == 0
    assert run("info", tmp_path / "d") == 0
    assert "a hierarchy on disk" in capsys.readouterr().out


def test_results_on_disk_are_looked_at(stored, tmp_path, capsys):
    d = stored.directory
    assert run("info", d, "--json") == 0
    assert json.loads(capsys.readouterr().out)["features"] == "3"
    for name in ("tree.json", "tree.nwk", "tree.graphml", "tree.gexf"):
        assert run("convert", d, tmp_path / name) == 0 or name != "tree.json"
    assert graphsoft.read_json(tmp_path / "tree.json").tree == stored.tree
    assert run("convert", d, tmp_path / "model.graphsoft") == 1
    assert "a hierarchy on disk cannot be written as '.graphsoft'" in capsys.readouterr().err
    for name in ("points.csv", "points.parquet"):
        assert run("convert", d, tmp_path / name) == 0
        assert run("convert", d, tmp_path / f"clusters-{name}", "--of", "clusters") == 0
    assert (pd.read_csv(tmp_path / "points.csv")["level_1"] == stored[1].labels).all()
    clusters = pd.read_csv(tmp_path / "clusters-points.csv")
    assert clusters["size"].tolist() == [*stored[0].sizes, *stored[1].sizes]
    (tmp_path / "names.json").write_text('{"0-0": "new"}')
    assert run("convert", d, tmp_path / "named.json", "--names", tmp_path / "names.json") == 0
    assert '"new"' in (tmp_path / "named.json").read_text()
    assert run("explore", d, "-o", tmp_path / "page.html") == 0
    assert (tmp_path / "page.html").stat().st_size > 100_000
    for name in ("describe", "compare"):
        assert run(name, d, *[d] * (name == "compare")) == 1
        err = capsys.readouterr().err
        assert (
            "is not looked at as a whole. Remedy: use graphsoft info or explore, or graphsoft convert" in err
        )
    for name in ("points.graphml", "points.gexf"):
        assert run("convert", d, tmp_path / name, "--of", "points") == 1
        assert "Remedy: leave it out, or use .csv or .parquet." in capsys.readouterr().err


def test_a_folder_where_one_file_is_read(parts, tmp_path, capsys):
    assert run("hierarchy", tmp_path, "--levels", "6,3") == 1
    assert "is no file, but a folder. Remedy: name one file; graphsoft run" in capsys.readouterr().err


def test_new_points_of_a_file(stored, tmp_path, capsys):
    np.savetxt(tmp_path / "new.csv", POINTS[:4], delimiter=",", header="a,b,c", comments="")
    assert run("predict", stored.directory, tmp_path / "new.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["levels"][0]["cluster"] for each in found] == [
        f"0-{label}" for label in stored[0].labels[:4]
    ]


def test_new_points_in_files(stored, parts, tmp_path, capsys):
    given = ("predict", stored.directory, tmp_path / "new", "--directory", tmp_path / "answer")
    (tmp_path / "new").mkdir()
    for part in parts:
        part.rename(tmp_path / "new" / part.name)
    assert run(*given, "-o", tmp_path / "points.csv") == 0
    out, err = capsys.readouterr()
    assert out.startswith("60 points in 6 -> 3 clusters\ncluster  size  name\n")
    assert f"memberships and labels of all points are in {tmp_path / 'answer'}" in err
    table = pd.read_csv(tmp_path / "points.csv")
    assert table.level_0.tolist() == stored[0].labels[:].tolist()
    assert run(*given, "--json", "--quiet") == 0
    facts = json.loads(capsys.readouterr().out)
    assert [each["size"] for each in facts["levels"][1]["clusters"]] == stored[1].sizes.tolist()
    assert run("info", tmp_path / "answer") == 0
    assert "kind: new points on disk\npoints: 60\nlevels: 6, 3\n" in capsys.readouterr().out
    assert run("convert", tmp_path / "answer", tmp_path / "again.csv") == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "points.csv").read_bytes()
    assert run("convert", tmp_path / "answer", tmp_path / "tree.json") == 1
    assert "what holds new points cannot be written as '.json'" in capsys.readouterr().err
    assert run("explore", tmp_path / "answer", "-o", tmp_path / "page.html") == 1
    assert "has no hierarchy.gs" in capsys.readouterr().err


def test_columns_of_new_points_in_tables(tmp_path, capsys):
    frame = pd.DataFrame(POINTS, columns=["a", "b", "c"])
    h = graphsoft.hierarchy(frame, [6, 3], n_neighbors=5)
    model = stored_twin(h, tmp_path / "model", 2, 20)
    frame[["c", "a", "b"]].assign(other="text").to_parquet(tmp_path / "new.parquet")
    given = ("predict", model.directory, tmp_path / "new.parquet", "--directory", tmp_path / "answer")
    assert run(*given, "--quiet") == 0
    assert (graphsoft.load(tmp_path / "answer")[1].labels == model.predict(frame)).all()
    assert run(*given, "--columns", "a,b,c") == 1
    assert "the model knows its columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--directory", "d", "--header"], "--header: has no meaning with --directory"),
        (["--directory", "d", "--format", "csv"], "--format: has no meaning with --directory"),
        (["--workers", "2"], "--workers: has no meaning without --directory"),
        (
            [],
            "input: 'new' is no file, but a folder. Remedy: name one file; graphsoft run, and graphsoft "
            "predict with --directory, read folders.",
        ),
    ],
)
def test_mistakes_with_new_points(stored, arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new").mkdir()
    assert run("predict", stored.directory, "new", *arguments) == 1
    assert words in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["new"]
    assert run("predict", "new", "new", "--directory", "d") == 1
    assert "input: 'new' has no hierarchy.gs" in capsys.readouterr().err
