"""Headers of numbers: years, ids and wavelengths are titles, points are points, and doubt is said."""

import csv
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.datasets import read
from graphsoft.datasets.headers import ROWS_COMPARED, judge_first_line
from graphsoft.errors import GraphsoftWarning, InputError

HEADER, POINT = "line 1 was taken as the header", "line 1 was taken as a point: there is no header"
MEASURED = np.random.default_rng(0).normal(size=(60, 3)).round(3)
COUNTED = np.random.default_rng(0).integers(1500, 2500, size=(60, 3))
SMALL = np.random.default_rng(0).integers(1, 6, size=(60, 3))


@pytest.fixture
def table(file):
    """Write a first line and rows below it."""

    def write(first, rows, name="table.csv"):
        lines = [first, *(",".join(map(str, row)) for row in np.asarray(rows).tolist())]
        return file(name, "\n".join(lines) + "\n")

    return write


@pytest.mark.parametrize(
    "first",
    [
        "2020,2021,2022",  # years
        "2022,2020,2024",  # not in order
        "1001,1007,1013",  # ids
        "0,1,2",  # columns counted
        "400.5,401.0,401.5",  # wavelengths
        '"2020","2021","2022"',
        " 2020 , 2021 , 2022",
    ],
)
def test_titles_that_are_numbers(table, first):
    found = read(table(first, MEASURED))
    assert (found.data == MEASURED).all()
    assert found.notes == (HEADER,)


def test_titles_that_are_numbers_have_names(table):
    rows = np.column_stack([np.arange(60), MEASURED[:, :2]])
    found = read(table("id,2020,2021", rows))
    assert found.names == tuple(map(str, np.arange(60.0)))
    assert found.notes == (HEADER, "column 'id' was taken as names of the points")
    rows = np.column_stack([MEASURED, np.arange(60) % 4]).astype(object)
    found = read(table("2019,2020,2021,2022", rows), labels="2022")
    assert found.data.shape == (60, 3)
    assert len(found.labels) == 60
    frame = pd.DataFrame(MEASURED, index=[f"p{k}" for k in range(60)], columns=[2020, 2021, 2022])
    path = table("", []).with_name("frame.csv")
    frame.to_csv(path)
    assert read(path).names == tuple(frame.index)
    assert (read(path).data == MEASURED).all()


def test_points_are_no_titles(table):
    for rows in (MEASURED, SMALL, COUNTED, np.sort(COUNTED, axis=0), np.arange(180).reshape(60, 3)):
        first = ",".join(map(str, rows[0].tolist()))
        found = read(table(first, rows[1:]))
        assert (found.data == rows).all()
        assert found.notes == (POINT,)
    assert read(table("1,2,3", SMALL)).notes == (POINT,), "other rows rise in equal steps too"
    assert read(table("3,3,5", MEASURED)).notes == (POINT,), "titles are all different"
    twice = [["5.1", "3", "a"], ["4", "3.5", "b"], ["4.5", "2.5", "a"]] * 9
    assert read(table("2020,2021,a", twice), labels="2").data.shape == (28, 2), "a is a class, not a title"
    assert read(table("2020,1.5", MEASURED[:, :2])).notes == (POINT,)


@pytest.mark.parametrize(
    ("first", "rows"),
    [
        ("2020,2021,2022", COUNTED),  # evenly spaced among whole numbers like them
        ("1500,1600,1700", COUNTED),
        ("3,1,2", MEASURED),  # whole above fractions
        ("9000.5,8000.5,7000.5", MEASURED),  # far away
    ],
)
def test_doubt_is_said(table, first, rows):
    path = table(first, rows)
    with pytest.warns(GraphsoftWarning, match=r"^line 1 \(.*\) was taken as a point, but may be a header"):
        found = read(path)
    assert found.data.shape == (61, 3)
    assert found.notes == (POINT,)
    assert read(path, header=False).data.shape == (61, 3)
    assert (read(path, header=True).data == rows).all()


def test_counted_columns_in_doubt_are_titles(table):
    path = table("0,1,2,3", np.column_stack([SMALL, SMALL[:, 0]]))
    with pytest.warns(GraphsoftWarning, match="was taken as a header, but may be a point; say header=True"):
        assert read(path).data.shape == (60, 4)
    assert read(path, header=False).data.shape == (61, 4)


def test_what_is_said_counts(table):
    path = table("x,2021,2022", MEASURED)
    assert (read(path).data == MEASURED).all()
    with pytest.raises(InputError, match=r"^path: column '0' holds text \('x' on line 1\)"):
        read(path, header=False)
    found = read(table("1.5,0.5,2.5", MEASURED), header=True)
    assert (found.data == MEASURED).all()
    assert found.notes == (HEADER,)
    with pytest.raises(InputError, match=r"^path: .* holds no points"):
        read(table("1,2,3", []), header=True)
    with pytest.raises(InputError, match=r"^labels: there is no column '2020'.*'0', '1', '2'"):
        read(table("2020,2021,2022", MEASURED), labels="2020", header=False)
    assert read(table("7.5,1.5,2020", MEASURED), labels="2020").data.shape == (60, 2), "labels name a title"


@pytest.mark.parametrize("header", ["yes", 1, 0, "True", []])
def test_header_is_true_false_or_none(table, header):
    with pytest.raises(InputError, match=r"^header: got .* use True, False or None"):
        read(table("x,y,z", MEASURED), header=header)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.mtx", "a.edges", "a.graphml"])
def test_other_files_have_no_header(file, name):
    with pytest.raises(InputError, match=r"^header: \.\w+ files have no header"):
        read(file(name, "x"), header=True)


def test_few_rows_say_little(file):
    for text in ("1,2\n3,4\n", "0,1,2\n3,4,5\n", "7\n8\n", "5.1,3.5,4\n4.9,3,2\n"):
        assert len(read(file("few.csv", text))) == 2


def test_lines_before_the_first(file):
    rows = "\n".join(",".join(map(str, row)) for row in MEASURED.tolist())
    found = read(file("late.csv", "\n\n2020,2021,2022\n" + rows))
    assert (found.data == MEASURED).all()
    assert found.notes == ("line 3 was taken as the header",)


def test_only_some_rows_are_compared():
    rows = [["0.5", "1.5", "2.5"], ["0.1", "1.1", "3.1"]] * ROWS_COMPARED
    assert judge_first_line(["2020", "2021", "2022"], rows) == (True, True)


# what a table says of itself does not depend on how it is written

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=20), st.booleans())
def test_every_line_is_a_point_or_the_header(tmp_path_factory, rows, header):
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("x", "y", "z"), *rows] if header else rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphsoftWarning)
        found = read(path)
    assert (found.notes == (HEADER,)) or (found.notes == (POINT,) and not header)
    points = rows if header or found.notes == (POINT,) else rows[1:]
    np.testing.assert_array_equal(found.data, np.array(points))
