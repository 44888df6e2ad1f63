"""Data frames, CSV and Parquet: the same rows, whoever reads them, and what is done about formulas."""

import csv
import os
import re
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.formats.frames import as_frame, columns_to_csv, columns_to_parquet

STRANGE = [
    "a,b",
    'q"',
    "名",
    "-4.5",
    "a\nb",
    "a\rb",
    "a\r\nb",
    "\x85",
    "",
    " a ",
    "NA",
    "nan",
    "'",
    "\ufeff",
    "\0",
    "'=b",
]
WHOLE = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def novel():
    return graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])


def as_lists(frame, library):
    if library == "pyarrow":
        return frame.to_pydict()
    return {name: frame[name].to_list() for name in frame.columns}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_points_have_label_probability_and_entropy_of_each_level(library, novel):
    pytest.importorskip(library)
    columns = as_lists(novel.to_frame(library=library), library)
    names = [f"{what}_{level}" for level in (0, 1) for what in ("level", "probability", "entropy")]
    assert list(columns) == ["point", *names]
    assert columns["point"] == list(novel.nodes)
    for number, level in enumerate(novel):
        assert columns[f"level_{number}"] == level.labels.tolist()
        assert columns[f"probability_{number}"] == level.memberships.max(axis=1).toarray().ravel().tolist()
        assert columns[f"entropy_{number}"] == level.entropy.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_clusters_have_what_describe_and_the_tree_say(library, novel):
    pytest.importorskip(library)
    columns = as_lists(novel.to_frame("clusters", library=library, names={"1-0": "Paris"}), library)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    nodes = [node for node in novel.tree.nodes if node.id != "root"]
    described = [*novel.describe(0), *novel.describe(1)]
    heights = dict(novel.to_networkx().nodes(data="height"))
    for row, node, one in zip(rows, nodes, described, strict=True):
        assert (row["id"], row["level"], row["number"]) == (node.id, node.level, node.index)
        assert row["name"] == ("Paris" if node.id == "1-0" else node.id)
        assert (row["parent"], row["probability"]) == (node.parents[0] if node.level == 0 else ("", 1.0))
        assert (row["size"], row["mass"], row["height"]) == (node.size, one.mass, heights[node.id])
        assert (row["certainty"], row["conductance"]) == (one.certainty, one.conductance)


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def without_quote(text):
    """What the documentation says: drop one quote before what looks like a formula."""
    return text[1:] if re.match(r"'+[=+\-@\t\r\0]", text) else text


@given(st.lists(WHOLE | st.sampled_from(["=1+1", "'=1", "''=1", "-1", "-x", "@a", "'", "'-1"]), min_size=1))
def test_texts_come_back_from_csv(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    columns_to_csv({"point": names, "level_0": np.arange(len(names))}, path)
    rows = read_rows(path)[1:]
    assert [without_quote(row[0]) for row in rows] == names
    assert [int(row[1]) for row in rows] == list(range(len(names)))
    number = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
    assert not [
        row[0] for row in rows if row[0][:1] in "=+-@\t\r\0" and row[0] and not number.fullmatch(row[0])
    ]


def test_other_libraries_read_the_csv(tmp_path):
    path = tmp_path / "x.csv"
    names = [name for name in STRANGE if name != "\0"]  # where some versions of pandas end a text
    columns_to_csv({"point": names, "level_0": list(range(len(names)))}, path)
    expected = ["''=b" if name == "'=b" else name for name in names]
    assert pd.read_csv(path, keep_default_na=False, dtype={"point": str})["point"].tolist() == expected
    polars = pytest.importorskip("polars")
    assert polars.read_csv(path, schema_overrides={"point": polars.String})["point"].to_list() == expected


def test_numbers_come_back_from_csv_to_the_last_bit(novel, tmp_path):
    for of in ("points", "clusters"):
        novel.to_csv(tmp_path / "x.csv", of)
        frame = novel.to_frame(of)
        header, *rows = read_rows(tmp_path / "x.csv")
        assert header == frame.columns.tolist()
        for name, column in zip(header, zip(*rows, strict=True), strict=True):
            kind = frame[name].dtype.type if frame[name].dtype.kind in "if" else str
            assert [kind(cell) for cell in column] == frame[name].tolist()


@given(st.lists(WHOLE, min_size=1))
def test_texts_come_back_from_parquet(tmp_path_factory, names):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    columns_to_parquet({"point": names}, path)
    assert parquet.read_table(path)["point"].to_pylist() == names


def test_other_libraries_read_the_parquet(novel, tmp_path):
    pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    for of in ("points", "clusters"):
        novel.to_parquet(tmp_path / "x.parquet", of)
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / "x.parquet"), novel.to_frame(of), check_exact=True
        )
        assert polars.read_parquet(tmp_path / "x.parquet").equals(novel.to_frame(of, library="polars"))


def test_half_characters_are_refused_and_the_old_file_stays(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x"
    path.write_text("old")
    for write in (columns_to_csv, columns_to_parquet):
        with pytest.raises(InputError, match=r"^names: .*a file of text cannot hold"):
            write({"point": ["a", "\ud800"]}, path)
    with pytest.raises(ValueError, match="zip"):
        columns_to_csv({"point": ["a"], "level_0": [0, 1]}, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (range(3), [0, 1, 2]),
        ([(0, 1), "a", 7], ["(0, 1)", "a", "7"]),
        ([1, 2.5], ["1", "2.5"]),
        ([np.int64(1), np.int64(2)], [1, 2]),
        ([2**70, 1], [str(2**70), "1"]),
        ([True, 2], ["True", "2"]),
    ],
)
def test_names_of_any_kind_become_numbers_or_texts(names, expected, tmp_path):
    polars = pytest.importorskip("polars")
    assert as_frame({"point": names}, "polars")["point"].to_list() == expected
    assert as_frame({"point": names})["point"].tolist() == list(names)
    columns_to_parquet({"point": names}, tmp_path / "x.parquet")
    assert polars.read_parquet(tmp_path / "x.parquet")["point"].to_list() == expected
    columns_to_csv({"point": names}, tmp_path / "x.csv")
    assert [row[0] for row in read_rows(tmp_path / "x.csv")[1:]] == [str(each) for each in expected]


def test_arguments_are_checked(novel):
    with pytest.raises(InputError, match=r"^library: got 'dask'"):
        novel.to_frame(library="dask")
    with pytest.raises(InputError, match=r"^of: got 'tree'"):
        novel.to_frame("tree")


def test_what_is_missing_says_what_to_install(monkeypatch, novel, tmp_path):
    for name in ("polars", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install polars"):
        novel.to_frame(library="polars")
    with pytest.raises(ImportError, match=r"Parquet needs pyarrow.*graphsoft\[frames\]"):
        novel.to_parquet(tmp_path / "x.parquet")
