"""Taking and setting entries by narrow indices is what NumPy's own indexing does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphsoft.linalg import indexing
from graphsoft.linalg.indexing import put, taken

WIDTHS = st.sampled_from([np.int32, np.uint32, np.int64, np.uint16, np.intp])


@st.composite
def indexed(draw):
    shape = draw(hnp.array_shapes(max_dims=2, max_side=9))
    values = draw(hnp.arrays(draw(st.sampled_from([np.float64, np.int32, np.bool_])), shape))
    index = draw(st.lists(st.integers(0, shape[0] - 1), max_size=30))
    return values, np.array(index, dtype=draw(WIDTHS))


@given(indexed(), st.integers(1, 40))
def test_taken_is_what_indexing_gives(given, at_once):
    values, index = given
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "AT_ONCE", at_once)
        found, expected = taken(values, index), values[index]
    assert (found.dtype, found.tobytes(), found.shape) == (expected.dtype, expected.tobytes(), expected.shape)


@given(indexed(), st.booleans())
def test_put_is_what_assignment_does(given, scalar):
    values, index = given
    values = values.ravel()
    new = values.dtype.type(1) if scalar else np.arange(len(index)).astype(values.dtype)
    expected = values.copy()
    expected[index] = new
    put(values, index, new)
    assert values.tobytes() == expected.tobytes()


def test_what_lies_outside_is_refused():
    with pytest.raises(IndexError):
        taken(np.zeros(3), np.array([3], dtype=np.int32))
