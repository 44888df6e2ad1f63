"""Known pairs and known labels: how they become a matrix of pairs, and which are refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.input import constraints
from graphsoft.input.constraints import listed_labels, matrix_of_pairs


@st.composite
def labeled(draw, max_size=9):
    """Labels of points, -1 where unknown, and some pairs of points that agree with them."""
    labels = draw(st.lists(st.integers(-1, 3), min_size=2, max_size=max_size))
    pairs = draw(st.lists(st.tuples(*[st.integers(0, len(labels) - 1)] * 2), max_size=9))
    pairs = [(i, j) for i, j in pairs if i != j and labels[i] != -1 and labels[j] != -1]
    together = [(i, j) for i, j in pairs if labels[i] == labels[j]]
    apart = [(i, j) for i, j in pairs if labels[i] != labels[j]]
    return labels, together, apart


def naive(n, together, apart):
    R = np.zeros((n, n))
    for i, j in together:
        R[i, j] = R[j, i] = 1
    for i, j in apart:
        R[i, j] = R[j, i] = -1
    return R


def dense(found, n):
    return np.zeros((n, n)) if found is None else found.toarray()


@given(labeled())
def test_pairs_become_entries(drawn):
    labels, together, apart = drawn
    found = matrix_of_pairs(range(len(labels)), together, apart)
    assert (dense(found, len(labels)) == naive(len(labels), together, apart)).all()
    assert (found is None) == (not together and not apart)


@given(labeled())
def test_labels_become_all_their_pairs(drawn):
    labels, together, apart = drawn
    n = len(labels)
    R = np.zeros((n, n))
    for i, j in np.ndindex(n, n):
        if i != j and labels[i] != -1 and labels[j] != -1:
            R[i, j] = 1 if labels[i] == labels[j] else -1
    assert (dense(matrix_of_pairs(range(n), known=labels), n) == R).all()
    listed = {i: str(label) for i, label in enumerate(labels) if label != -1}
    assert (dense(matrix_of_pairs(range(n), known=listed), n) == R).all()
    # pairs that agree with the labels add nothing
    assert (dense(matrix_of_pairs(range(n), together, apart, labels), n) == R).all()


@given(labeled())
def test_names_stand_for_rows(drawn):
    labels, together, apart = drawn
    names = [f"node {i}" for i in range(len(labels))]
    named = [[(names[i], names[j]) for i, j in pairs] for pairs in (together, apart)]
    found = matrix_of_pairs(names, *named, known=dict(zip(names, labels, strict=True)))
    again = matrix_of_pairs(range(len(labels)), together, apart, dict(enumerate(labels)))
    assert (dense(found, len(labels)) == dense(again, len(labels))).all()


def test_the_matrix_is_symmetric_and_sparse():
    found = matrix_of_pairs(range(10_000), must_link=[(0, 9999), (9999, 0)], cannot_link=iter([(1, 2)]))
    assert found.nnz == 4
    assert (found != found.T).nnz == 0
    assert found.diagonal().sum() == 0


@pytest.mark.parametrize(
    "keywords",
    [
        {"must_link": [("a", "b")], "cannot_link": [("b", "a")]},
        {"cannot_link": [("a", "b")], "known": {"a": 1, "b": 1}},
    ],
)
def test_errors_name_contradictory_pairs(keywords):
    with pytest.raises(InputError, match=r"cannot_link: holds 'a' and 'b', which .* puts together"):
        matrix_of_pairs(["a", "b", "c"], **keywords)


def test_errors_name_pairs_that_contradict_labels():
    with pytest.raises(InputError, match="must_link: holds 0 and 2, which known puts apart"):
        matrix_of_pairs(range(3), must_link=[(2, 0)], known=[0, -1, 1])


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"must_link": 3}, "must_link: got 3"),
        ({"must_link": [3]}, r"must_link: got \[3\]"),
        ({"must_link": [(0, 1, 2)]}, r"must_link: holds \(0, 1, 2\)"),
        ({"must_link": [(1, 1)]}, "must_link: joins 1 to itself"),
        ({"cannot_link": [(0, 3)]}, "cannot_link: names no point: 3. Remedy: use rows 0 to 2"),
        ({"cannot_link": [(0, -1)]}, "cannot_link: names no point: -1"),
        ({"cannot_link": [(0, 1.0)]}, r"cannot_link: names no point: 1\.0"),
        ({"cannot_link": [(0, True)]}, "cannot_link: names no point: True"),
        ({"known": [0, 1]}, r"known: got \[0, 1\] for 3 points"),
        ({"known": "abc"}, "known: got 'abc' for 3 points"),
        ({"known": 3}, "known: got 3 for 3 points"),
        ({"known": np.zeros((3, 1))}, r"known: got shape \(3, 1\) for 3 points"),
        ({"known": {5: 1}}, "known: names no point: 5"),
        ({"known": {0: [1]}}, r"known: got \{0: \[1\]\}"),
        ({"known": [[0, 1], [2], [3]]}, r"known: got \[\[0, 1\]"),
    ],
)
def test_unreadable_pairs_and_labels_are_refused(keywords, words):
    with pytest.raises(InputError, match=words):
        matrix_of_pairs(range(3), **keywords)


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match=r"must_link: names no point: 'z'\. Remedy: use the names of the"):
        matrix_of_pairs(["a", "b"], must_link=[("a", "z")])
    with pytest.raises(InputError, match=r"must_link: names no point: \[\]"):
        matrix_of_pairs(["a", "b"], must_link=[("a", [])])


@pytest.mark.parametrize("label", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_of_named_points_are_refused(label):
    with pytest.raises(InputError, match="known: has no label for 2"):
        matrix_of_pairs(range(3), known={0: 1, 2: label})


@pytest.mark.parametrize(
    "known",
    [
        ["x", None, "y", "x"],
        np.array([5.0, np.nan, 6.0, 5.0]),
        pd.Series(["x", pd.NA, "y", "x"], index=list("abcd")),
        pd.Series([5.0, None, 6.0, 5.0]),
        (7, -1, "y", 7),
        pd.Series([2**60, None, 2**60 + 1, 2**60], dtype="Int64"),
        pd.Categorical([3, None, 7, 3]),
        [1, np.ma.masked, 2, 1],
        {"a": 1, "b": None, "c": 2, "d": 1}.values(),
        [("x", 1), None, ("x", 2), ("x", 1)],
    ],
)
def test_labels_of_all_points_may_be_of_any_kind(known):
    expected = matrix_of_pairs(range(4), known=[5, -1, 6, 5])
    assert (matrix_of_pairs(range(4), known=known) != expected).nnz == 0
    assert [name for name, _ in listed_labels(range(4), known)] == [0, 2, 3]


def test_masked_labels_are_unknown():
    known = np.ma.masked_array([1, 1, 2, 1], mask=[0, 0, 0, 1])
    assert listed_labels(range(4), known) == ((0, 1), (1, 1), (2, 2))
    plain = matrix_of_pairs(range(4), known=[1, 1, 2, -1])
    assert (matrix_of_pairs(range(4), known=known) != plain).nnz == 0


def test_too_many_labels_are_refused(monkeypatch):
    monkeypatch.setattr(constraints, "MAX_LABELS", 3)
    assert matrix_of_pairs(range(5), known=[0, 0, 1, -1, -1]).nnz == 6
    with pytest.raises(InputError, match=r"known: labels 4 points.*at most 3"):
        matrix_of_pairs(range(5), known=[0, 0, 1, 1, -1])


def test_no_pairs_give_none():
    assert matrix_of_pairs(range(3)) is None
    assert matrix_of_pairs(range(3), [], [], [-1, -1, 2]) is None


def test_the_index_of_a_series_names_points():
    labels = pd.Series({"z": 1.0, "x": 2.0, "y": np.nan})
    assert listed_labels(("x", "y", "z"), labels) == (("x", 2.0), ("z", 1.0))
    assert listed_labels(("x", "y", "z"), labels[["z"]]) == (("z", 1.0),)
    assert listed_labels(("u", "v", "w"), labels) == (("u", 1.0), ("v", 2.0))
    assert listed_labels(range(3), pd.Series([4, 5, 6], index=[2, 1, 0])) == ((0, 4), (1, 5), (2, 6))


@pytest.mark.parametrize("labels", [np.array(["a", -1, "b"]), np.array(["a", "b", np.nan])])
def test_a_warning_says_that_missing_labels_became_texts(labels):
    with pytest.warns(GraphsoftWarning, match="known: the text '(-1|nan)' is taken as a label"):
        matrix_of_pairs(range(3), known=labels)
