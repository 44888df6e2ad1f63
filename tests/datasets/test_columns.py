"""Columns that are chosen and dropped, in text, Parquet and h5ad alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.datasets import read
from graphsoft.datasets.asked import Asked
from graphsoft.datasets.columns import lay_out
from graphsoft.errors import InputError

TITLES = ("id", "width", "kind", "height", "depth")
ROWS = [(f"p{row}", row * 1.5, "ab"[row % 2], row * row, -row) for row in range(12)]


@pytest.fixture(scope="module", params=["csv", "tsv", "parquet"])
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("columns") / f"table.{request.param}"
    if request.param == "parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="pyarrow writes Parquet")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table(dict(zip(TITLES, zip(*ROWS, strict=True), strict=True))), path)
    else:
        sign = {"csv": ",", "tsv": "\t"}[request.param]
        path.write_text("".join(sign.join(map(str, row)) + "\n" for row in (TITLES, *ROWS)))
    return path


@given(st.data())
def test_chosen_columns_come_in_their_order(path, data):
    numbers = ["width", "height", "depth"]
    chosen = data.draw(st.lists(st.sampled_from(numbers), unique=True))
    found = read(path, labels="kind", columns=chosen)
    expected = [[row[TITLES.index(title)] for title in chosen] for row in ROWS]
    assert found.columns == tuple(chosen)
    assert found.data.shape == (12, len(chosen))
    assert (found.data == np.array(expected).reshape(12, -1)).all()
    assert found.names == tuple(row[0] for row in ROWS)
    assert found.labels.tolist() == ["a", "b"] * 6


@given(st.sets(st.sampled_from(["width", "height", "depth"]), max_size=2))
def test_dropped_columns_are_not_read(path, dropped):
    found = read(path, drop=["kind", *dropped])
    kept = tuple(title for title in ("width", "height", "depth") if title not in dropped)
    assert found.columns == kept
    alike = read(path, columns=kept)
    assert (found.data == alike.data).all()


def test_names_may_be_dropped(path):
    assert read(path, drop=["id", "kind"]).names is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": "width"}, "columns: got 'width'. Remedy: give a list of titles"),
        ({"columns": [1]}, "columns: got [1]. Remedy: give a list of titles"),
        ({"columns": ["width"], "drop": ["kind"]}, "drop: is given together with columns"),
        ({"drop": ["hight"]}, "drop: there is no column 'hight'. Remedy: choose a column, such as 'height'"),
        ({"columns": ["width", "width"]}, "columns: names a column twice"),
        ({"columns": ["kind"], "labels": "kind"}, "columns: 'kind' is the labels"),
        ({"obsm": "X_pca"}, "obsm: "),
    ],
)
def test_what_cannot_be_is_refused(path, options, said):
    with pytest.raises(InputError) as error:
        read(path, **options)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("name", ["karate.graphml", "a.npy", "a.mtx", "a.edges"])
def test_files_without_titles_have_no_columns(name):
    for option in ("columns", "drop"):
        with pytest.raises(InputError, match=rf"^{option}: \.\w+ files have no columns with titles"):
            read(name, **{option: ["a"]})


def test_a_header_may_be_told_by_the_columns_asked_for(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("2020,2021,2022\n5,7,6\n")
    assert read(path, columns=["2022", "2020"]).data.tolist() == [[6.0, 5.0]]


def test_many_columns_are_found_in_one_pass():
    """Looking through all titles for each column would take minutes."""
    titles = [f"gene {number}" for number in range(100_000)]
    assert lay_out(titles, Asked(columns=titles[::-1])).features == list(range(100_000))[::-1]
    assert lay_out(titles, Asked(drop=titles[1::2])).features == list(range(0, 100_000, 2))


def test_gaps_and_text_of_parquet_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow writes Parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"a": [1, None], "b": ["x", "y"], "c": [1.0, float("nan")]}
    columns |= {"d": [2**60 + 1, 5], "e": [True, False]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    for title, said in (("a", "has a gap in row 1"), ("b", "holds string"), ("c", "holds nan in row 1")):
        with pytest.raises(InputError, match=f"column '{title}' {said}"):
            read(tmp_path / "a.parquet", columns=[title])
    assert read(tmp_path / "a.parquet", columns=["d", "e"]).data.tolist() == [[2**60 + 1, True], [5, False]]
    parquet.write_table(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="holds no points"):
        read(tmp_path / "a.parquet")
