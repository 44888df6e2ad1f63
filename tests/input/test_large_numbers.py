"""Whole numbers beyond 2**53: features keep their differences or are refused, weights are rounded."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.input.dense_input import dense_features, dense_matrix
from graphsoft.input.sparse_input import sparse_matrix

LEVELS = [5, 2]
BEYOND = "which is beyond 2\\*\\*53 and would be rounded to float64. Remedy: .*X.astype\\(float\\)"


def small_table():
    """Whole numbers in two groups, which differ by as little as 1."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.integers(0, 50, (30, 2)), rng.integers(500, 560, (30, 2))])


SMALL = small_table()


def objects(convert, offset):
    table = np.empty(SMALL.shape, dtype=object)
    for place, value in np.ndenumerate(SMALL):
        table[place] = convert(int(value)) + convert(offset)
    return table


LARGE = {
    "int64": SMALL + 2**60,
    "big-endian": (SMALL + 2**60).astype(">i8"),
    "int64, negative": SMALL - 2**62,
    "int64, from the lowest": SMALL + np.iinfo(np.int64).min,
    "uint64": (SMALL + 2**60).astype(np.uint64) + np.uint64(2**63),
    "Fortran order": np.asfortranarray(SMALL + 2**60),
    "Python ints": objects(int, 2**60),
    "Python ints beyond 64 bits": objects(int, 2**90),
    "lists": (SMALL + 2**60).tolist(),
    "lists of ints and floats": [[a + 2**60, float(b)] for a, b in SMALL.tolist()],
    "fractions": objects(Fraction, 2**60),
    "decimals": objects(Decimal, 2**60),
    "longdouble": (SMALL + 2**60).astype(np.longdouble),
    "frame": pd.DataFrame(SMALL + 2**60, columns=["a", "b"]),
    "frame of ints and floats": pd.DataFrame({"a": SMALL[:, 0] + 2**60, "b": SMALL[:, 1].astype(float)}),
    "frame of signed and unsigned": pd.DataFrame(
        {"a": SMALL[:, 0] + 2**60, "b": SMALL[:, 1].astype(np.uint64) + np.uint64(2**63)}
    ),
    "nullable frame": pd.DataFrame(SMALL + 2**60).convert_dtypes(),
}
if np.finfo(np.longdouble).nmant <= 52:  # a float64 by another name, as on some systems
    del LARGE["longdouble"]


@pytest.fixture(scope="module")
def expected():
    return graphsoft.hierarchy(SMALL.astype(float), LEVELS, affinity="features")


def same(one, other):
    return one.shape == other.shape and (one != other).nnz == 0


def first_rows(data, count):
    return data.iloc[:count] if hasattr(data, "iloc") else data[:count]


@pytest.mark.parametrize("kind", LARGE)
def test_large_whole_numbers_are_moved_without_rounding(kind, expected):
    data = LARGE[kind]
    h = graphsoft.hierarchy(data, LEVELS)
    assert all(same(one.memberships, other.memberships) for one, other in zip(h, expected, strict=True))
    assert any("moved near 0" in note for note in h.report.notes)
    known = first_rows(data, 7)
    assert same(h.predict_proba(known, 0), h[0].memberships[:7])
    assert same(h.partial_update(known)[0].memberships, expected.partial_update(SMALL[:7])[0].memberships)


@pytest.mark.parametrize("kind", ["int64", "uint64", "Python ints"])
def test_new_points_are_moved_like_the_old_ones(kind, expected):
    h = graphsoft.hierarchy(LARGE[kind], LEVELS)
    offset = int(np.asarray(LARGE[kind])[0, 0]) - int(SMALL[0, 0])
    new = np.array([[3, 700], [-9, 20], [505, 2**40 + 1]])  # also below the old points, and far above
    for convert in (int, Fraction):
        rows = [[convert(int(value) + offset) for value in row] for row in new]
        assert same(h.predict_proba(rows, 0), expected.predict_proba(new, 0))
    grown, other = h.partial_update(rows), expected.partial_update(new)
    assert same(grown[0].memberships, other[0].memberships)
    assert same(grown.predict_proba(rows, 0), grown[0].memberships[60:])
    floats = np.float64(offset) + 2.0**10 * np.arange(3)[:, None] * [1, 1]  # float64 holds these
    assert same(h.predict_proba(floats, 0), expected.predict_proba(floats - offset, 0))
    h.predict_proba(sp.csr_array(floats), 0)


def test_new_points_that_would_be_rounded_are_refused():
    h = graphsoft.hierarchy(LARGE["int64"], LEVELS)
    with pytest.raises(InputError, match=f"X: holds 1 at row 0, column 1, {BEYOND}"):
        h.predict([[2**60, 1]])
    fitted_to_floats = graphsoft.hierarchy(SMALL.astype(float), LEVELS, affinity="features")
    with pytest.raises(InputError, match=f"holds {2**60 + 1} at row 0, column 0, {BEYOND}"):
        fitted_to_floats.predict([[2**60 + 1, 3]])
    with pytest.raises(InputError, match="X: has 3 columns, where the hierarchy has 2 features"):
        h.predict([[2**60, 2**60, 2**60]])
    with pytest.raises(InputError, match="NaN or infinite"):
        h.predict([[np.inf, 2.0**60]])


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "hamming"])
def test_columns_move_under_every_metric_of_differences(metric):
    found = graphsoft.knn_graph(LARGE["int64"], metric=metric).adjacency
    assert same(found, graphsoft.knn_graph(SMALL, metric=metric).adjacency)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "canberra", "braycurtis"])
def test_other_metrics_refuse_what_would_be_rounded(metric):
    with pytest.raises(InputError, match=BEYOND):
        graphsoft.knn_graph(LARGE["int64"], metric=metric)
    floats = LARGE["int64"].astype(float)  # which are taken as they are
    assert dense_matrix(floats) is floats


def test_what_cannot_be_moved_is_refused():
    wide = np.array([[1], [2], [2**62 + 1], [2**62 + 3]])
    frame = pd.DataFrame({"size": [1.5, 2.5], "id": [0, 2**60 + 1]})
    with pytest.raises(InputError, match=f"X: holds {2**62 + 3} at row 3, column 0, {BEYOND}"):
        graphsoft.knn_graph(wide)
    with pytest.raises(InputError, match=rf"at row 1, column 1 \('id'\), {BEYOND}"):
        graphsoft.knn_graph(frame)
    with pytest.raises(InputError, match=f"X: holds {2**60 + 1} at \\(1, 0\\), {BEYOND}"):
        graphsoft.knn_graph(sp.csr_array([[0], [2**60 + 1], [5]]))
    with pytest.raises(InputError, match=BEYOND):  # the caller's own search may measure in any way
        graphsoft.knn_graph(LARGE["int64"], neighbors=Finder())
    with pytest.raises(InputError, match=BEYOND):
        dense_matrix(LARGE["int64"])


class Finder:
    fit_transform = transform = None

    def __init__(self):
        self.fit_transform = self.transform = lambda X: sp.csr_array((len(X), len(X)))


@pytest.mark.parametrize("method", ["nmf", "gnmf", "spherical-k-means"])
def test_methods_that_depend_on_where_0_is_refuse_moved_columns(method):
    with pytest.raises(InputError, match=r"this method depends on where 0 is\. Remedy: .*astype"):
        graphsoft.cluster(LARGE["int64"], 2, method=method)


@pytest.mark.parametrize("method", ["k-means", "gaussian-mixture", "ward"])
def test_methods_that_do_not_depend_on_it_take_them(method):
    found = graphsoft.cluster(LARGE["int64"], 2, method=method)
    assert same(
        found.memberships, graphsoft.cluster(SMALL, 2, method=method, affinity="features").memberships
    )


@pytest.mark.parametrize(
    "data",
    [
        np.array([[2**60], [2**61], [-(2**62)]]),
        np.array([[2**63]], dtype=np.uint64),
        np.array([[np.iinfo(np.int64).min]]),
        np.array([[2**53, -(2**53)]]),
        np.array([[10**30, 2.0**70, Fraction(1, 3)]], dtype=object)[:, 1:],
        [[2**60, 0.5]],
        pd.DataFrame({"a": [2**60], "b": [0.5]}),
        np.array([[1e300, -1e-300]], dtype=np.longdouble),
    ],
)
def test_numbers_that_float64_holds_stay_as_they_are(data):
    values, origin = dense_features(data, may_move=True)
    assert origin is None
    assert np.array_equal(values, np.asarray(data).astype(np.float64))
    assert np.array_equal(dense_matrix(data), values)


def test_only_columns_that_would_be_rounded_are_moved():
    values, origin = dense_features(np.column_stack([SMALL, SMALL + 2**60, 1024 * SMALL]), may_move=True)
    assert [number != 0 for number in origin] == [False, False, True, True, False, False]
    assert np.array_equal(values[:, [0, 1]], SMALL)
    assert np.array_equal(values[:, [2, 3]], SMALL - SMALL.min(axis=0))


def test_a_longdouble_is_rounded_where_no_two_numbers_become_one():
    data = (np.arange(9) / np.longdouble(7) * 1e30)[:, None]
    values, origin = dense_features(data, may_move=True)
    assert origin is None
    assert np.array_equal(values, data.astype(np.float64))


whole = st.integers(-(2**63), 2**63 - 1)
near = st.tuples(whole, st.lists(st.integers(0, 2**55), min_size=1, max_size=5)).map(
    lambda drawn: [min(drawn[0] + step, 2**63 - 1) for step in drawn[1]]
)


@given(st.one_of(near, st.lists(whole, min_size=1, max_size=5)), st.booleans())
def test_differences_are_exact_or_refused(column, as_objects):
    data = np.array(column, dtype=object if as_objects else np.int64)[:, None]
    try:
        values, origin = dense_features(data, may_move=True)
    except InputError:
        lowest = min(column)
        assert any(int(float(value)) != value for value in column)
        assert any(int(float(value - lowest)) != value - lowest for value in column)
    else:
        offset = 0 if origin is None else origin[0]
        assert [int(value) for value in values[:, 0]] == [value - offset for value in column]
        again, _ = dense_features(data, origin=(offset,))
        assert np.array_equal(again, values)


def test_large_numbers_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("graphsoft.input.mapped.SMALL", 100)
    monkeypatch.setattr("graphsoft.parallel.ELEMENTS_PER_BLOCK", 20)
    (SMALL + 2**60).tofile(tmp_path / "X")
    data = np.memmap(tmp_path / "X", dtype=np.int64, mode="r", shape=SMALL.shape)
    values, origin = dense_features(data, may_move=True)
    assert origin == tuple((SMALL.min(axis=0) + 2**60).tolist())
    assert np.array_equal(values, SMALL - SMALL.min(axis=0))
    assert graphsoft.input.mapped.is_mapped(values)


def test_weights_are_rounded():
    weights = 2**60 + np.arange(36).reshape(6, 6)
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    expected = graphsoft.as_graph(weights / 2.0**60, affinity="precomputed").adjacency
    for data in (weights, weights.astype(object), sp.csr_array(weights)):
        found = graphsoft.as_graph(data, affinity="precomputed").adjacency
        np.testing.assert_allclose((found / found.max()).toarray(), (expected / expected.max()).toarray())
        graphsoft.directed_graph(data)
        graphsoft.bipartite_graph(data)
    assert sparse_matrix(sp.csr_array(weights), rounded=True).max() == 2.0**60
    h = graphsoft.hierarchy(sp.csr_array(weights), [2])
    assert h.predict(weights[:1]).shape == (1,)
