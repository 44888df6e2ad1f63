"""Saved models on the command line: new points, descriptions, comparisons, other formats."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import load_npz

import graphsoft
from graphsoft.cli import command
from graphsoft.datasets import read
from graphsoft.errors import InputError

DATA = Path(__file__).parents[2] / "data"
PENGUINS, IRIS, KARATE = (str(DATA / name) for name in ("penguins.csv", "iris.csv", "karate.graphml"))
RAW = "sex,mass,id,bill\n" + "".join(
    f"m,{5000 + 40 * (row % 7) + 3000 * (row % 2)},p{row},{30 + row % 5 + 9 * (row % 2)}.5\n"
    for row in range(40)
)


def run(*arguments):
    return command.main([*map(str, arguments)])


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "penguins.graphsoft"
    assert (
        run("hierarchy", PENGUINS, "--levels", "20,6,3", "--labels", "species", "--save", path, "--quiet")
        == 0
    )
    return path


@pytest.fixture
def raw(tmp_path):
    """A model of columns in other units, of which one is text."""
    (tmp_path / "raw.csv").write_text(RAW)
    arguments = ["--levels", "6,2", "--drop", "sex,id", "--scale", "standardize", "--neighbors", "5"]
    path = tmp_path / "raw.graphsoft"
    assert run("hierarchy", tmp_path / "raw.csv", *arguments, "--save", path, "--quiet") == 0
    return path


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_saved_models_are_those_of_the_library(penguins):
    h = graphsoft.load(penguins)
    again = graphsoft.hierarchy(read(PENGUINS, labels="species").data, [20, 6, 3])
    assert all((one.memberships != two.memberships).nnz == 0 for one, two in zip(h, again, strict=True))
    assert h.features.columns == ("bill_length", "bill_depth", "flipper_length", "body_mass")


def test_old_points_come_out_as_they_were(penguins, capsys):
    h = graphsoft.load(penguins)
    assert run("predict", penguins, PENGUINS) == 0
    rows = rows_of(capsys.readouterr().out)
    for number, level in enumerate(h):
        first = {
            row.tobytes(): label
            for row, label in zip(h.features.values[::-1], level.labels[::-1], strict=True)
        }
        expected = [first[row.tobytes()] for row in h.features.values]
        assert [int(row[f"level_{number}"]) for row in rows] == expected


def test_new_points_are_read_and_scaled_as_the_old_ones(raw, tmp_path, capsys):
    h = graphsoft.load(raw)
    assert len(h.report.scaling) == 2
    assert h.features.columns == ("mass", "bill")
    assert np.allclose(h.features.values.std(axis=0), 1)
    whole = list(csv.reader(RAW.splitlines()))
    order = [3, 2, 0, 1]  # another order of columns, and one more
    lines = [",".join([*(row[at] for at in order), "extra"]) for row in whole]
    (tmp_path / "other.csv").write_text("\n".join(lines) + "\n")
    assert run("predict", raw, tmp_path / "other.csv", "-o", tmp_path / "out.csv") == 0
    rows = rows_of((tmp_path / "out.csv").read_text())
    assert [int(row["level_1"]) for row in rows] == h[1].labels.tolist()
    assert capsys.readouterr() == ("", "")
    assert run("predict", raw, tmp_path / "other.csv", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert [fact["levels"][1]["cluster"] for fact in facts] == [f"1-{label}" for label in h[1].labels]
    assert facts[0]["name"] == 0
    assert all(0 < fact["levels"][0]["p"] <= 1 for fact in facts)


def test_new_points_are_scaled_in_python_too(raw):
    h = graphsoft.load(raw)
    X = np.array([[float(row["mass"]), float(row["bill"])] for row in csv.DictReader(RAW.splitlines())])
    for level in range(2):
        assert h.predict(X, level).tolist() == h[level].labels.tolist()
        assert (h.predict_proba(X, level) != h[level].memberships).nnz == 0
    grown = h.partial_update(X[:3])
    assert (grown.features.values[-3:] == h.features.values[:3]).all()
    assert grown.predict(X).tolist() == grown[-1].labels[: len(X)].tolist()
    assert h.predict(X[:0]).shape == (0,)
    damaged = replace(h, report=replace(h.report, scaling=h.report.scaling[:1]))
    with pytest.raises(InputError, match="scales 1 columns, but the points have 2"):
        damaged.predict(X)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "mass,beak\n1,2\n",
            [],
            "input: there is no column 'bill', which the model was made with. Remedy: give a",
        ),
        ("1,2\n3,4\n", ["--no-header"], "input: there is no column 'mass', which the model was made with."),
        ("mass,bill\n1,x\n", [], "input: column 'bill' holds text"),
        (
            "mass,bill\n1,2\n",
            ["--drop", "mass"],
            "--drop: is of no use, because the model knows its columns.",
        ),
    ],
)
def test_other_columns_are_refused(raw, tmp_path, capsys, text, options, said):
    (tmp_path / "new.csv").write_text(text)
    assert run("predict", raw, tmp_path / "new.csv", *options) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"graphsoft: {said}")


def test_models_without_titles_ask_for_as_many_columns(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(30, 3)) * [1, 5, 9])
    model = tmp_path / "a.graphsoft"
    assert (
        run("hierarchy", tmp_path / "a.npy", "--levels", "3", "--scale", "standardize", "--save", model) == 0
    )
    assert run("predict", model, tmp_path / "a.npy") == 0
    np.save(tmp_path / "b.npy", np.ones((2, 4)))
    capsys.readouterr()
    assert run("predict", model, tmp_path / "b.npy") == 1
    assert "has 4 columns, where the hierarchy has 3 features" in capsys.readouterr().err


@settings(max_examples=10)
@given(st.permutations(["a b 1", "b c 2", "c a 1", "d e 1", "e f 1", "f d 3", "a d 0.5"]))
def test_nodes_of_a_graph_are_known_by_their_names(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("edges")
    (folder / "old.edges").write_text("\n".join(sorted(lines)))
    (folder / "new.edges").write_text("\n".join([*lines, "a g 0.1"]))
    model, placed = folder / "old.graphsoft", folder / "placed.csv"
    assert run("hierarchy", folder / "old.edges", "--levels", "2", "--save", model, "--quiet") == 0
    assert run("predict", model, folder / "new.edges", "-o", placed) == 0
    h = graphsoft.load(model)
    found = {row["point"]: int(row["level_0"]) for row in rows_of(placed.read_text())}
    assert found.pop("g") == found["a"]
    assert found == dict(zip(h.nodes, h[0].labels.tolist(), strict=True))


def test_a_graph_without_a_node_of_the_model_is_refused(tmp_path, capsys):
    (tmp_path / "old.edges").write_text("a b\nb c\n")
    (tmp_path / "new.edges").write_text("a b\nb x\n")
    model = tmp_path / "old.graphsoft"
    assert run("hierarchy", tmp_path / "old.edges", "--levels", "2", "--save", model, "--quiet") == 0
    assert run("predict", model, tmp_path / "new.edges") == 1
    assert "has no node 'c', which the model has" in capsys.readouterr().err


def test_names_of_points_come_back(raw, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("id,mass,bill\n=b,5000,30\n'=b,8000,39\n")
    assert run("predict", raw, tmp_path / "new.csv") == 0
    assert [row["point"] for row in rows_of(capsys.readouterr().out)] == ["'=b", "''=b"]


def test_points_with_names_keep_them_in_the_model(tmp_path, capsys):
    table = "id,x\n" + "".join(f"p{row},{row % 2 * 9 + row / 100}\n" for row in range(20))
    (tmp_path / "a.csv").write_text(table)
    model = tmp_path / "a.graphsoft"
    assert run("hierarchy", tmp_path / "a.csv", "--levels", "2", "--neighbors", "4", "--save", model) == 0
    assert graphsoft.load(model).nodes == tuple(f"p{row}" for row in range(20))
    shuffled = [f"p{row},{'odd' if row % 2 else 'even'}\n" for row in reversed(range(20))]
    (tmp_path / "b.csv").write_text("id,kind\n" + "".join(shuffled))
    capsys.readouterr()
    assert run("compare", model, tmp_path / "b.csv", "--labels", "kind", "--json") == 0
    assert json.loads(capsys.readouterr().out)["adjusted_rand"] == [[1.0]]


def test_descriptions(penguins, capsys):
    assert run("describe", penguins, "--level", "1") == 0
    table = capsys.readouterr().out
    assert "bill_length" in table
    assert len(table.splitlines()) == 7
    assert run("describe", penguins, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [cluster["size"] for cluster in found["clusters"]] == [156, 123, 63]
    assert run("describe", penguins, "--level", "9") == 1
    assert capsys.readouterr().err.startswith(
        "graphsoft: --level: got 9. Remedy: use a whole number from -3 to 2"
    )


def test_comparisons(penguins, tmp_path, capsys):
    other = tmp_path / "flat.graphsoft"
    assert run("cluster", PENGUINS, "-k", "3", "--labels", "species", "--save", other, "--json") == 0
    assert json.loads(capsys.readouterr().out)["scores"]["accuracy"] > 0.9
    assert run("compare", penguins, other, "--json") == 0
    assert json.loads(capsys.readouterr().out)["adjusted_rand"][2][0] > 0.9
    assert run("compare", penguins, penguins) == 0
    assert "1.000" in capsys.readouterr().out
    assert run("compare", penguins, PENGUINS) == 1
    assert capsys.readouterr().err.startswith("graphsoft: --labels: are not named. Remedy: say which")
    assert run("compare", other, penguins) == 1
    assert "holds a clustering, not a hierarchy" in capsys.readouterr().err
    assert run("compare", penguins, IRIS, "--labels", "label") == 1
    assert "has 150 points, and the hierarchy 342" in capsys.readouterr().err


def test_conversions(penguins, tmp_path, capsys):
    for name in ("tree.json", "labels.csv"):
        assert run("convert", penguins, tmp_path / name) == 0
    assert json.loads((tmp_path / "tree.json").read_text())["id"] == "root"
    assert len(rows_of((tmp_path / "labels.csv").read_text())) == 342
    for name in ("tree.graphml", "tree.gexf", "tree.nwk"):
        assert run("convert", penguins, tmp_path / name) == 0, capsys.readouterr().err
    for tree in (nx.read_graphml(tmp_path / "tree.graphml"), nx.read_gexf(tmp_path / "tree.gexf")):
        assert set(tree) == {node.id for node in graphsoft.load(penguins).tree.walk()}
    assert (tmp_path / "tree.nwk").read_text() == graphsoft.load(penguins).to_newick()
    weights = nx.to_numpy_array(nx.read_graphml(KARATE))
    before = KARATE
    for name in ("a.graphsoft", "a.npz", "a.mtx", "a.graphml", "a.edges"):
        assert run("convert", before, tmp_path / name) == 0, capsys.readouterr().err
        before = tmp_path / name
    assert (load_npz(tmp_path / "a.npz").toarray() == weights).all()
    order = [int(name) for name in read(before).names]
    assert (read(before).data.toarray() == weights[np.ix_(order, order)]).all()
    for source, target, said in (
        (
            penguins,
            "a.npz",
            "--output: a hierarchy cannot be written as '.npz'. Remedy: use .json or .nwk or",
        ),
        (
            KARATE,
            "a.xyz",
            "--output: 'a.xyz' ends in '.xyz'. Remedy: use one of .npz, .mtx, .edges, .graphml,",
        ),
        (IRIS, "a.npz", "input: column 'label' holds text"),
        (penguins, penguins, "--output: "),
        (penguins, "no/a.csv", "--output: there is no directory"),
    ):
        capsys.readouterr()
        assert run("convert", source, target if target == penguins else tmp_path / target) == 1
        assert capsys.readouterr().err.startswith(f"graphsoft: {said}")


def test_names_of_the_page_go_into_a_model_and_on(penguins, tmp_path, capsys):
    (tmp_path / "names.json").write_text('{"2-0": "Adélie", "2-1": "Gentoo"}', encoding="utf-8")
    named = tmp_path / "named.graphsoft"
    assert run("convert", penguins, named, "--names", tmp_path / "names.json") == 0
    assert graphsoft.load(named).cluster_names == {"2-0": "Adélie", "2-1": "Gentoo"}
    assert run("predict", named, PENGUINS) == 0
    assert rows_of(capsys.readouterr().out)[0]["name_2"] == "Adélie"
    assert run("explore", named, "-o", tmp_path / "named.html") == 0
    (tmp_path / "wrong.json").write_text('{"9-9": "none"}')
    (tmp_path / "broken.json").write_text("{")
    for names, said in (
        ("wrong.json", "--names: there is no cluster '9-9'"),
        ("broken.json", "--names: "),
        ("missing.json", ""),
    ):
        capsys.readouterr()
        assert run("convert", penguins, tmp_path / "b.graphsoft", "--names", tmp_path / names) == 1
        assert capsys.readouterr().err.startswith(f"graphsoft: {said}")
        assert not (tmp_path / "b.graphsoft").exists()


def test_what_of_a_hierarchy_is_written(penguins, tmp_path, capsys):
    assert run("convert", penguins, tmp_path / "points.graphml", "--of", "points") == 0
    assert len(nx.read_graphml(tmp_path / "points.graphml")) == 342
    assert run("convert", penguins, tmp_path / "clusters.csv", "--of", "clusters") == 0
    assert len(rows_of((tmp_path / "clusters.csv").read_text())) == 29
    for source, target, of, said in (
        (
            penguins,
            "a.json",
            "points",
            "--of: a .json file has no choice of points. Remedy: leave it out, or use",
        ),
        (
            penguins,
            "a.csv",
            "tree",
            "--of: a .csv file has no choice of tree. Remedy: leave it out, or use .graphml",
        ),
        (KARATE, "a.npz", "points", f"--of: '{KARATE}' holds no hierarchy. Remedy: leave it out."),
    ):
        capsys.readouterr()
        assert run("convert", source, tmp_path / target, "--of", of) == 1
        assert capsys.readouterr().err.startswith(f"graphsoft: {said}")


def test_labels_become_parquet(penguins, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert run("convert", penguins, tmp_path / "labels.parquet") == 0
    table = pd.read_parquet(tmp_path / "labels.parquet")
    assert (table["level_2"] == graphsoft.load(penguins)[2].labels).all()


def test_info(penguins, tmp_path, capsys):
    for arguments, said in (
        (
            [penguins],
            ["kind: hierarchy", "levels: 20, 6, 3", "scaled: no", "columns: bill_length, bill_depth"],
        ),
        ([IRIS, "--labels", "label"], ["kind: points", "holds: 150 x 4, 3 classes", "classes: setosa"]),
        ([KARATE], ["kind: a graph", "holds: 34 nodes, 78 edges", "... (34)"]),
    ):
        assert run("info", *arguments) == 0
        out = capsys.readouterr().out
        assert all(words in out for words in said), out
    h = graphsoft.load(penguins)
    h.save(tmp_path / "small.graphsoft", features=False)
    graphsoft.hierarchy(h.graph, [3]).save(tmp_path / "graph.graphsoft")
    made_by = f"made by: graphsoft {graphsoft.__version__}"
    for path, said in (
        (penguins, "features: 4"),
        (tmp_path / "small.graphsoft", "features: left out"),
        (tmp_path / "graph.graphsoft", "features: none, a graph was given"),
    ):
        assert run("info", path) == 0
        lines = capsys.readouterr().out.splitlines()
        assert said in lines
        assert made_by in lines
    assert run("info", penguins, "--json") == 0
    assert json.loads(capsys.readouterr().out)["levels"] == [20, 6, 3]
    (tmp_path / "bad.graphsoft").write_bytes(b"nothing")
    assert run("info", tmp_path / "bad.graphsoft") == 1
    assert "is not a file saved by graphsoft" in capsys.readouterr().err


def test_graphs_and_suggestions_as_json(capsys, tmp_path):
    assert run("graph", IRIS, "--drop", "label", "--json", "-o", tmp_path / "a.graphsoft") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["nodes"] == 150
    assert len(graphsoft.load(tmp_path / "a.graphsoft")) == 150
    assert run("info", tmp_path / "a.graphsoft") == 0
    assert "edges: " + str(facts["edges"]) in capsys.readouterr().out
    assert run("suggest", IRIS, "--drop", "label", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["levels"][-1] == found["clusters"] == 2
    assert run("hierarchy", IRIS, "--labels", "label", "--levels", "6,3", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(level["clusters"]) for level in found["levels"]] == [6, 3]
    assert sum(cluster["size"] for cluster in found["levels"][1]["clusters"]) == 150
    assert found["levels"][1]["scores"]["accuracy"] > 0.8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["cluster", IRIS, "-k", "3", "--labels", "label", "--save", "a.csv"],
            "--save: 'a.csv' does not end in",
        ),
        (["cluster", IRIS, "-k", "3", "--save", "no/a.graphsoft"], "--save: there is no directory 'no'."),
        (["cluster", IRIS, "-k", "3", "-o", IRIS], "--output: "),
        (["cluster", IRIS, "-k", "999", "--labels", "label"], "--clusters: got 999 clusters for 150 points."),
        (["graph", IRIS, "-o", "a.csv"], "--output: 'a.csv' ends in '.csv'."),
    ],
)
def test_outputs_are_checked_before_work(capsys, arguments, said):
    assert run(*arguments) == 1
    assert capsys.readouterr().err.startswith(f"graphsoft: {said}")


def test_explore_writes_a_page_with_labels_of_a_table(penguins, tmp_path, capsys):
    page = tmp_path / "penguins.html"
    asked = ["explore", penguins, "-o", page, "--labels", "species"]
    assert run(*asked) == 1
    assert "--data" in capsys.readouterr().err
    assert run(*asked, "--data", PENGUINS, "--title", "The penguins") == 0
    text = page.read_text(encoding="utf-8")
    assert "<title>The penguins</title>" in text
    assert 'id="member:label"' in text
    assert run("explore", penguins, "-o", tmp_path / "none" / "x.html") == 1
    assert run("explore", PENGUINS, "-o", page) == 1
    assert page.read_text(encoding="utf-8") == text


def test_explore_names_the_option_that_is_wrong(penguins, tmp_path, capsys):
    page, other = tmp_path / "x.html", tmp_path / "other.csv"
    asked = ["explore", penguins, "-o", page, "--texts", "island", "--data"]
    assert run(*asked, PENGUINS) == 1
    assert "--texts: there is no column 'island'" in capsys.readouterr().err
    assert run(*asked, tmp_path / "none.csv") == 1
    assert "--data: there is no file" in capsys.readouterr().err
    assert run("explore", penguins, "-o", "/dev/null") == 1
    assert "--output: '/dev/null' is not an ordinary file" in capsys.readouterr().err
    table = "name,a,species\n" + "".join(f"q{row},{row % 7},x\n" for row in range(20))
    other.write_text(table)
    model = tmp_path / "named.graphsoft"
    assert run("hierarchy", other, "--levels", "2", "--labels", "species", "--save", model, "--quiet") == 0
    other.write_text(table.replace("q", "r"))
    assert run("explore", model, "-o", page, "--data", other, "--labels", "species") == 1
    assert "has other names than the model, such as 'r0'" in capsys.readouterr().err
    other.write_text(table + "q0,1,y\n")
    assert run("explore", model, "-o", page, "--data", other, "--labels", "species") == 1
    assert "--data: has two points of the same name" in capsys.readouterr().err
