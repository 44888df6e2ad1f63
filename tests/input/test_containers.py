"""Tables of other libraries go in as they are: the same numbers, the same names, and dates are no numbers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.input.dense_input import dense_features, frame_columns

NUMBERS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
NUMBERS[20:] += 5
NAMES = ("a", "b", "c")


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def as_pyarrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


def as_batch(columns):
    return pytest.importorskip("pyarrow").record_batch(columns)


def as_dataset(columns):
    return pytest.importorskip("xarray").Dataset({name: ("n", column) for name, column in columns.items()})


def as_data_array(columns):
    xarray = pytest.importorskip("xarray")
    return xarray.DataArray(np.stack([*columns.values()], axis=1), dims=["n", "d"], coords={"d": [*columns]})


FRAMES = [pd.DataFrame, as_polars, as_pyarrow, as_batch, as_dataset]
tables = pytest.mark.parametrize("make", [*FRAMES, as_data_array])
frames = pytest.mark.parametrize("make", FRAMES)


class Device:
    """Numbers that NumPy gets by DLPack only, as those of CuPy; `number` says where they are."""

    def __init__(self, tensor, number):
        self.tensor, self.number = tensor, number
        self.asked = None

    def __dlpack_device__(self):
        return (self.number, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked = dl_device
        if self.number != 1 and dl_device != (1, 0):
            raise BufferError("the memory of a graphics card cannot be read here")
        return self.tensor.__dlpack__()


@tables
def test_tables_give_the_same_hierarchy_as_their_numbers(make):
    table = make(dict(zip(NAMES, NUMBERS.T, strict=True)))
    h = graphsoft.hierarchy(table, levels=[4, 2])
    same = graphsoft.hierarchy(NUMBERS, levels=[4, 2])
    assert (h[0].memberships != same[0].memberships).nnz == 0
    assert h.features.columns == NAMES
    assert {name for name, _ in h.distinctive(1).scores[0]} <= set(NAMES)
    np.testing.assert_array_equal(h.predict(table), h[-1].labels)


@frames
@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.floats(-10, 10)), min_size=1, max_size=5))
def test_whole_numbers_are_never_rounded(make, rows):
    whole, real = map(list, zip(*rows, strict=True))
    columns = {"whole": np.array(whole), "real": np.array(real)}
    held = all(int(float(each)) == each for each in whole)
    if held:
        assert dense_features(make(columns))[0].tolist() == [[float(w), r] for w, r in rows]
    else:
        with pytest.raises(InputError, match="column 0 \\('whole'\\), which is beyond"):
            dense_features(make(columns))


@frames
@pytest.mark.parametrize("unit", ["datetime64[ns]", "timedelta64[ns]"])
def test_dates_are_no_numbers(make, unit):
    for columns in ({"when": np.array([1, 2]).astype(unit)}, {"x": [1, 2], "when": np.array([1, 2], unit)}):
        with pytest.raises(InputError, match=r"^X: .*(date|[Tt]ime)"):
            dense_features(make(columns))


@frames
def test_texts_and_missing_numbers_are_refused_with_their_place(make):
    with pytest.raises(
        InputError, match=r"holds 'x', which is not a real number, at row 0, column 1 \('b'\)"
    ):
        dense_features(make({"a": np.array([1, 2]), "b": np.array(["x", "y"], dtype=object)}))
    with pytest.raises(InputError, match=r"NaN or infinite, the first is nan at row 1, column 0 \('a'\)"):
        dense_features(make({"a": np.array([1, np.nan]), "b": np.array([1, 2])}))


def test_a_column_of_lists_says_what_to_do():
    lists = [[1.0, 2.0], [3.0, 4.0]]
    polars = pytest.importorskip("polars")
    as_lists, as_arrays = polars.Series(lists), polars.Series(lists, dtype=polars.Array(polars.Float64, 2))
    for table in (pd.DataFrame({"a": lists}), as_polars({"a": as_lists}), as_polars({"a": as_arrays})):
        with pytest.raises(InputError, match=r"np\.stack\(X\[name\]\.to_list\(\)\)"):
            dense_features(table)
        assert dense_features(np.stack(table["a"].to_list()))[0].tolist() == lists


def test_what_is_no_table_yet_says_what_to_do():
    with pytest.raises(InputError, match=r"LazyFrame, not yet computed\. Remedy: pass X\.collect\(\)"):
        dense_features(as_polars({"a": [1.0, 2.0]}).lazy())
    xarray = pytest.importorskip("xarray")
    for other in (("m", [1.0, 2.0]), (("n", "m"), [[1.0, 2.0]] * 3)):
        with pytest.raises(InputError, match="variables that are not columns of one table"):
            dense_features(xarray.Dataset({"a": ("n", [1.0, 2.0, 3.0]), "b": other}))
    with pytest.raises(InputError, match="0 samples"):
        dense_features(xarray.Dataset())
    unnamed = xarray.DataArray(NUMBERS)
    assert frame_columns(unnamed) is None
    assert dense_features(unnamed)[0] is unnamed.data or np.shares_memory(dense_features(unnamed)[0], NUMBERS)


def test_tensors_are_read_where_they_are():
    torch = pytest.importorskip("torch")
    plain = torch.tensor(NUMBERS)
    for tensor in (plain, torch.tensor(NUMBERS, requires_grad=True), plain.clone().requires_grad_() * 1):
        values = dense_features(tensor)[0]
        np.testing.assert_array_equal(values, NUMBERS)
        assert values.ctypes.data == tensor.data_ptr()  # not copied
    assert dense_features(plain.to(torch.float16))[0].dtype == np.float32
    assert dense_features(plain.T)[0].shape == (3, 40)
    for tensor in (plain.to(torch.bfloat16), plain.to_sparse(), plain.to("meta")):
        with pytest.raises(InputError, match=r"X: cannot be read as an array .*X\.cpu\(\)\.float\(\)"):
            dense_features(tensor)


def test_large_whole_numbers_of_a_tensor_are_not_rounded():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"beyond 2\*\*53"):
        dense_features(torch.tensor([[2**60 + 1], [2**60 + 2]]))


def test_numbers_on_a_graphics_card_are_copied_if_they_can_be():
    torch = pytest.importorskip("torch")
    here, there = Device(torch.tensor(NUMBERS), 1), Device(torch.tensor(NUMBERS), 2)
    np.testing.assert_array_equal(dense_features(here)[0], NUMBERS)
    np.testing.assert_array_equal(dense_features(there)[0], NUMBERS)
    assert there.asked == (1, 0)  # memory of the CPU

    older = type("Older", (), {"__cuda_array_interface__": {}})
    with pytest.raises(InputError, match=r"is a Older on a graphics card\. Remedy: copy it first"):
        dense_features(older())


@pytest.mark.parametrize(
    "make", [pd.Series, lambda v: as_polars({"x": v})["x"], lambda v: as_pyarrow({"x": v})["x"]]
)
def test_known_labels_may_be_a_column(make):
    labels = [0] * 2 + [None] * 18 + [1] * 2 + [None] * 18
    h = graphsoft.hierarchy(NUMBERS, levels=[4, 2], known=make(labels))
    same = graphsoft.hierarchy(NUMBERS, levels=[4, 2], known=labels)
    assert (h[0].memberships != same[0].memberships).nnz == 0
