"""Names, labels and settings come back from a file with the values and types that they had."""

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from enum import IntEnum
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import InputError
from graphsoft.storage.packing import (
    MAX_DEPTH,
    Packer,
    Unpacker,
    pack_names,
    pack_value,
    unpack_names,
    unpack_value,
)
from graphsoft.storage.records import is_whole, pack_record, unpack_record

numpy_numbers = st.one_of(
    st.booleans().map(np.bool_),
    st.integers(-128, 127).map(np.int8),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(width=16).map(np.float16),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(st.characters()),
    st.binary(),
    st.dates(),
    st.datetimes(timezones=st.one_of(st.none(), st.just(UTC), st.just(timezone(timedelta(minutes=-90))))),
    st.fractions(),
    numpy_numbers,
)
values = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=4).map(tuple), st.frozensets(inner, max_size=4)),
    max_leaves=8,
)


class Color(IntEnum):
    RED = 1


class OwnText(str):
    __slots__ = ()


def through_json(packed):
    return json.loads(json.dumps(packed, allow_nan=False))


def shape_of(value):
    """A value with its types, for comparison: NaN equals itself, and -0.0 is not 0.0."""
    if isinstance(value, tuple):
        return "tuple", [shape_of(each) for each in value]
    if isinstance(value, frozenset):
        return "frozenset", sorted(repr(shape_of(each)) for each in value)
    if isinstance(value, datetime):
        return "datetime", value.isoformat()
    return type(value), repr(value)


@given(values)
def test_values_come_back(value):
    assert shape_of(unpack_value(through_json(pack_value(value, "nodes")))) == shape_of(value)


@given(st.lists(values, max_size=5))
def test_names_come_back(names):
    found = unpack_names(through_json(pack_names(names)))
    assert [shape_of(each) for each in found] == [shape_of(each) for each in names]


@given(st.frozensets(plain, max_size=6), st.randoms())
def test_equal_sets_are_written_alike(members, random):
    shuffled = list(members)
    random.shuffle(shuffled)
    assert pack_value(frozenset(shuffled), "nodes") == pack_value(members, "nodes")


def test_rows_are_not_written_one_by_one():
    assert pack_names(range(10**12)) == {"range": 10**12}
    assert unpack_names({"range": 10**12}) == range(10**12)
    assert unpack_names(pack_names(range(1, 4))) == (1, 2, 3)
    assert unpack_names(pack_names(np.arange(2))) == (0, 1)
    assert unpack_names(pack_names(())) == ()


def test_texts_of_numpy_become_those_of_python():
    names = pack_names([np.str_("a"), np.bytes_(b"b")])
    assert [type(each) for each in unpack_names(names)] == [str, bytes]


@pytest.mark.parametrize(
    "value",
    [
        {1},
        [1],
        object(),
        1j,
        Color.RED,
        OwnText("a"),
        np.datetime64("2020-01-01"),
        np.timedelta64(1, "s"),
        np.complex128(1),
        datetime(2020, 1, 1, tzinfo=ZoneInfo("UTC")),
        ("a", ("b", [1])),
        frozenset([("a", Color.RED)]),
        10**20000,
        Fraction(1, 10**20000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value):
    with pytest.raises(InputError, match=r"^nodes: .* cannot be saved, it is .*\. Remedy: use texts or "):
        pack_value(value, "nodes")


def test_values_deep_within_each_other_are_refused():
    value = ()
    for _ in range(MAX_DEPTH):
        deepest, value = value, (value,)
    assert unpack_value(pack_value(deepest, "nodes")) == deepest
    with pytest.raises(InputError, match="too large"):
        pack_value((value,), "nodes")


@pytest.mark.parametrize(
    "packed",
    [
        [],
        {},
        {"tuple": 5},
        {"tuple": [], "float": "nan"},
        {"tuple": [[]]},
        {"float": "1e5"},
        {"float": ["nan"]},
        {"float64": "1"},
        {"float64": [1, 2]},
        {"float64": {"float64": 1.0}},
        {"int8": 1000},
        {"complex128": 1},
        {"int": "ff" * 20_000},
        {"int": 5},
        {"fraction": "1e1000000000"},
        {"fraction": [1]},
        {"fraction": [1.0, 2]},
        {"fraction": [1, 0]},
        {"bytes": "x"},
        {"bytes": 5},
        {"date": "yesterday"},
        {"datetime": 5},
        {"frozenset": [{"list": []}]},
        {"eval": "1"},
    ],
    ids=str,
)
def test_other_descriptions_are_refused(packed):
    with pytest.raises((ValueError, TypeError, KeyError, ArithmeticError)):
        unpack_value(packed)


@pytest.mark.parametrize("packed", [5, "ab", {"range": -1}, {"range": 2.0}, {"range": True}, {"rows": 2}])
def test_other_names_are_refused(packed):
    with pytest.raises((ValueError, KeyError)):
        unpack_names(packed)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_matrices_keep_their_types(kind):
    matrix = sp.csr_array(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, -0.0]]))
    matrix.indices, matrix.indptr = matrix.indices.astype(kind), matrix.indptr.astype(kind)
    packer = Packer()
    found = Unpacker(packer.arrays).matrix(through_json(packer.matrix("name", matrix)))
    assert found.indices.dtype == found.indptr.dtype == kind
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    "change",
    [
        {"indptr": np.array([0, 10**6, 3], dtype=np.int32)},
        {"indptr": np.array([0, 2, 1], dtype=np.int32)},
        {"indptr": np.array([1, 2, 3], dtype=np.int32)},
        {"indptr": np.array([-1, 2, 3], dtype=np.int32)},
        {"indptr": np.array([0, 3], dtype=np.int32)},
        {"indptr": np.zeros(0, dtype=np.int32)},
        {"indptr": np.array([0, 2, 3], dtype=np.int64)},
        {"indptr": np.array([0.0, 2.0, 3.0])},
        {"indices": np.array([0, 1, 2], dtype=np.int32)},
        {"indices": np.array([0, 1, -1], dtype=np.int32)},
        {"indices": np.array([0, 1], dtype=np.int32)},
        {"indices": np.array([0, 1, 1], dtype=np.int8), "indptr": np.array([0, 2, 3], dtype=np.int8)},
        {"indices": np.array([[0, 1, 1]], dtype=np.int32)},
        {"data": np.ones(4)},
        {"data": np.array([1, 1, 1])},
        {"data": np.array([1.0, np.nan, 1.0])},
        {"data": np.array([1.0, np.inf, 1.0])},
    ],
    ids=str,
)
def test_matrices_whose_parts_do_not_fit_are_refused(change):
    packer = Packer()
    packed = packer.matrix("name", sp.csr_array([[1.0, 2.0], [0.0, 3.0]]))
    arrays = packer.arrays | {f"name/{part}": values for part, values in change.items()}
    with pytest.raises((ValueError, IndexError)):
        Unpacker(arrays).matrix(packed)


def test_records_are_checked_both_ways():
    checks = {"start": is_whole, "stop": is_whole}
    with pytest.raises(InputError, match=r"^h: has 'a' as stop\. Remedy: "):
        pack_record(slice(0, "a"), checks, "h")
    assert unpack_record({"start": 1, "other": 2}, checks) == {"start": 1}
    for wrong in (True, 1.0, None, "1"):
        with pytest.raises(ValueError, match="start"):
            unpack_record({"start": wrong}, checks)


def test_signed_zeros_and_large_numbers():
    assert math.copysign(1.0, unpack_value(through_json(pack_value(-0.0, "nodes")))) == -1.0
    for value in (2**63, -(2**63), 2**64, 10**5000, date(1, 1, 1)):
        assert unpack_value(through_json(pack_value(value, "nodes"))) == value
