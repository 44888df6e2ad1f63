"""Tables in csv and tsv: separators, headers of text, names, labels, gaps, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphsoft
from graphsoft.datasets import read
from graphsoft.errors import GraphsoftWarning, InputError

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "A.CSV"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_tables_with_header(file, name, separator, newline):
    rows = ["x y kind", "0.5 -1e3 b", "2 3 a", ""]
    dataset = read(file(name, newline.join(rows).replace(" ", separator)), labels="kind")
    assert dataset.data.tolist() == [[0.5, -1000.0], [2.0, 3.0]]
    assert dataset.labels.tolist() == ["b", "a"]
    assert dataset.names is None


def test_tables_without_header(file):
    path = file("a.csv", "5.1,3.5,setosa\n4.9,3.0,virginica\n")
    dataset = read(path, labels="2")
    assert dataset.data.tolist() == [[5.1, 3.5], [4.9, 3.0]]
    assert dataset.labels.tolist() == ["setosa", "virginica"]
    assert read(file("b.csv", "1,2\n3,4\n")).data.tolist() == [[1, 2], [3, 4]]
    assert read(file("c.csv", "7\n8\n")).data.tolist() == [[7], [8]]
    assert read(file("d.csv", "0,1,2\n3,4,5\n")).data.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("columns", [None, ["a", "b", "c", "d"]])
def test_tables_as_pandas_writes_them(tmp_path, index, columns):
    values = np.random.default_rng(0).normal(size=(5, 4))
    frame = pd.DataFrame(values, columns=columns)
    frame.to_csv(tmp_path / "a.csv", index=index)
    dataset = read(tmp_path / "a.csv")
    assert (dataset.data == values).all()
    assert dataset.names == (("0", "1", "2", "3", "4") if index else None)


def test_classes_among_the_features_are_warned_of(file):
    path = file("a.csv", "x,Class\n1,2\n")
    with pytest.warns(GraphsoftWarning, match=r"column 'Class' is used as a feature") as caught:
        assert read(path).data.tolist() == [[1, 2]]
    assert caught[0].filename == __file__
    assert read(path, labels="Class").data.tolist() == [[1]]


def test_first_column_can_name_the_points(file):
    text = "ID,x,kind\np,1,a\n7,2,b\n"
    dataset = read(file("a.csv", text), labels="kind")
    assert dataset.names == ("p", "7")
    assert dataset.data.tolist() == [[1], [2]]
    assert read(file("a.csv", "x,id\n1,2\n")).names is None  # only the first
    assert read(file("a.csv", "id,x\n1,2\n"), labels="id").names is None


def test_quotes_byte_order_mark_blank_lines_and_spaces(file):
    text = '\ufeff"x, in cm", kind \n"1", "a ""b"""\n\n 2 ,c\n'
    dataset = read(file("a.csv", text), labels="kind")
    assert dataset.data.tolist() == [[1], [2]]
    assert dataset.labels.tolist() == ['a "b"', "c"]


def test_labels_are_integers_only_where_nothing_is_lost(file):
    for column, expected in {
        "1 2 10": [1, 2, 10],
        "01 2 3": ["01", "2", "3"],
        "1 2.0 3": ["1", "2.0", "3"],
    }.items():
        rows = "\n".join(f"0.5,{label}" for label in column.split())
        assert read(file("a.csv", "x,label\n" + rows), labels="label").labels.tolist() == expected
    huge = "9" * 30
    assert read(file("a.csv", f"x,label\n0.5,{huge}"), labels="label").labels.tolist() == [huge]


def test_a_hundred_thousand_rows(file):
    values = np.arange(1, 800_001).reshape(100_000, 8)
    text = "\n".join(",".join(map(str, row)) for row in values.tolist())
    dataset = read(file("a.csv.gz", text))
    assert (dataset.data == values).all()


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("", None, r"^path: 'a.csv' is empty"),
        ("\n\n", None, r"^path: 'a.csv' is empty"),
        ("x,y\n", None, r"^path: 'a.csv' holds no points"),
        ("x,y\n1,2\n3\n", None, r"^path: line 3 has 1 fields, the first has 2"),
        (
            "x,y\n1,2\n3,abc\n",
            None,
            r"^path: column 'y' holds text \('abc' on line 3\).*labels= or --labels.*--drop",
        ),
        ("x,kind\n1,a\n3,b\n", None, r"^path: column 'kind' holds text \('a' on line 2\)\. Remedy: name it"),
        (
            'x,kind,gap,y,other\n1,a,,"2,5",b\n',
            None,
            r"^path: column 'kind' holds text \('a' on line 2\), and so do 'other'\. Remedy",
        ),
        ("x;y\n1;2,5\n", None, r"^path: column 'y' holds a decimal comma \('2,5' on line 2\).*decimal point"),
        ("1,2\n\n3,\n", None, r"^path: column '1' has a gap \(''\) on line 3"),
        ("1,NA\n3,4\n", None, r"^path: column '1' has a gap \('NA'\) on line 1"),
        ("x,y\n1,nan\n3,4\n", None, r"^path: column 'y' has a gap \('nan'\) on line 2"),
        (
            "x,y\n1,-inf\n3,4\n",
            None,
            r"^path: column 'y' holds a number that is not finite",
        ),
        ("x,y,label\n1,2,a\n", "lable", r"^labels: there is no column 'lable'.*'label'"),
        ("x,y,kind\n1,2,a\n", "zzz", r"^labels: there is no column 'zzz'.*'x', 'y', 'kind'"),
        ("1,2,a\n", "7", r"^labels: there is no column '7'.*'0', '1', '2'"),
        ("label\na\nb\n", "label", r"^path: the columns are \['label'\], none of them a feature"),
        ('x,y\n1,"' + "a" * 200_000 + '"\n', None, r"^path: 'a.csv' cannot be read as csv: field larger"),
        (b"x,y\n1,\xff\n", None, r"^path: 'a.csv' cannot be read as csv: 'utf-8'.*save it in UTF-8"),
    ],
)
def test_wrong_tables_are_explained(file, text, labels, message):
    with pytest.raises(InputError, match=message):
        read(file("a.csv", text), labels=labels)


def test_huge_finite_numbers_are_no_gap(file):
    assert read(file("a.csv", "x,y\n1e308,1e308\n")).data.tolist() == [[1e308, 1e308]]


def test_whole_numbers_beyond_2_to_the_53_keep_their_last_digits(file):
    start = 1_700_000_000_000_000_000  # nanoseconds
    rows = "".join(f"{start + row + 1000 * (row > 7)}, {row % 2}.5\n" for row in range(16))
    table = read(file("times.csv", "t,x\n" + rows)).data
    assert [int(value) - start for value in table[:, 0]] == [*range(8), *range(1008, 1016)]
    assert table[:, 1].tolist() == [0.5, 1.5] * 8
    h = graphsoft.hierarchy(table, [2], n_neighbors=3)
    assert h.graph.duplicates is None
    assert h[0].labels.tolist() == [0] * 8 + [1] * 8
    later = read(file("later.csv", f"t,x\n{start + 3},1.5\n{start + 1010},0.5\n")).data
    assert h.predict(later).tolist() == [0, 1]


def test_only_whole_numbers_that_would_be_rounded_are_no_floats(file):
    text = "x,y\n9007199254740992,1e300\n1152921504606846976,1.7000000000000001e18\n-5,9007199254740993.0\n"
    assert read(file("exact.csv", text)).data.dtype == np.float64
    signed = read(file("signed.csv", "x,y\n-9007199254740993,0.5\n+9007199254740993,1\n")).data
    assert signed.tolist() == [[-(2**53) - 1, 0.5], [2**53 + 1, 1.0]]


@pytest.mark.parametrize("title", ["id", "Name", "index", "doc_id", ""])
def test_a_first_column_may_name_the_points(file, title):
    found = read(file("named.csv", f"{title},x,y\n7,1.0,2.0\n8,2.0,1.0\n"))
    assert found.data.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert found.names == ("7", "8")


def test_a_column_that_counts_the_rows_is_warned_of(file):
    rows = "".join(f"{row},{row % 3},{row + 5}\n" for row in range(9))
    with pytest.warns(GraphsoftWarning, match="column 'no' counts the rows"):
        read(file("counted.csv", "x,y,no\n" + rows.replace("0,0", "3,0", 1)))
    read(file("nameless.csv", rows))


def test_names_that_repeat_are_warned_of(file):
    with pytest.warns(GraphsoftWarning, match="column 'site_id' was taken as names of the points, and some"):
        read(file("repeated.csv", "site_id,x\n7,1.0\n7,2.0\n"))
    assert read(file("classes.csv", "class_id,x\n7,1.0\n7,2.5\n")).names is None
