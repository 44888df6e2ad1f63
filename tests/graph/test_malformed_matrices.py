"""Sparse matrices with damaged insides are refused, never followed; whole ones of any kind are read."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import InputError
from graphsoft.graph.reading import as_graph
from graphsoft.input.sparse_input import sparse_matrix
from shared.door import FORMATS, check_canonical, raises, weighted


def break_something(matrix, rng):
    """Damage the insides of a sparse matrix."""
    names = {
        "csr": ["data", "indices", "indptr"],
        "csc": ["data", "indices", "indptr"],
        "bsr": ["data", "indices", "indptr"],
        "coo": ["data", "row", "col"],
        "dia": ["data", "offsets"],
        "lil": ["data", "rows"],
        "dok": [],
    }[matrix.format]
    kind = rng.integers(9)
    if kind == 0 or not names:
        sides = [int(side) for side in rng.integers(0, 20, 2)]
        matrix._shape = tuple(sides)
        if not names:
            matrix._dict[int(rng.integers(-30, 30)), int(rng.integers(-30, 30))] = float(rng.normal())
        return
    name = names[rng.integers(len(names))]
    array = np.array(getattr(matrix, name))
    flat = array.reshape(-1)
    place = int(rng.integers(max(1, len(flat))))
    odd = [-1, 0, 1, 11, 12, 13, 200, 2**31 - 1, -(2**31), 2**40, -(2**62)]
    if matrix.format == "lil":
        lists = getattr(matrix, name)
        row = lists[place]
        if kind % 3 == 0:
            row.append(odd[rng.integers(len(odd))])
        elif row and kind % 3 == 1:
            row[int(rng.integers(len(row)))] = [odd[rng.integers(len(odd))], 1.5, "x", None][rng.integers(4)]
        elif row:
            row.pop()
        return
    if kind == 1:
        array = array[: rng.integers(len(array) + 1)]
    elif kind == 2:
        array = np.concatenate([array, array[: rng.integers(1, 5)]])
    elif kind == 3:
        array = array.astype(
            [np.float32, np.float64, np.int64, np.uint64, np.int8, complex, bool][rng.integers(7)]
        )
    elif kind == 4:
        array = array.reshape(1, *array.shape)
    elif kind == 5 and len(flat):
        flat[place] = [np.nan, np.inf, -1.0][rng.integers(3)] if name == "data" else odd[rng.integers(8)]
    elif kind == 6:
        rng.shuffle(array)
    elif name != "data" and len(flat):
        array = array.astype(np.int64)
        array.reshape(-1)[place] = odd[rng.integers(len(odd))]
    if name in ("row", "col"):
        coords = list(matrix.coords)
        coords[name == "col"] = array
        matrix.coords = tuple(coords)
    else:
        setattr(matrix, name, array)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("affinity", ["precomputed", "features"])
def test_damaged_matrices_never_crash(form, affinity):
    rng = np.random.default_rng(FORMATS.index(form))
    A = weighted()
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, when this test casts NaN
        for _ in range(700):
            matrix = getattr(sp, form + "_array")(A)
            for _ in range(rng.integers(1, 3)):
                break_something(matrix, rng)
            try:
                if affinity == "features":
                    checked = sparse_matrix(matrix)
                    assert checked.has_canonical_format
                    assert np.isfinite(checked.data).all()
                    checked @ np.ones(checked.shape[1])
                else:
                    check_canonical(as_graph(matrix, affinity=affinity))
            except InputError as error:
                refused += "Remedy" in str(error)
    assert refused > 100


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("indices", [1, 0, 9], r"indices\[2\] is 9, outside 0..2"),
        ("indices", [1, -1, 2], r"indices\[1\] is -1"),
        ("indices", [1, 0], "there are 2 indices and 3 values"),
        ("indices", [1.0, 0.0, 2.0], "indices has dtype float64"),
        ("indptr", [0, 2, 1, 3], "indptr falls from 2 to 1"),
        ("indptr", [1, 2, 2, 3], "indptr starts with 1"),
        ("indptr", [0, 1, 3], "indptr has 3 entries"),
        ("indptr", [0, 1, 2, 2], "indptr ends with 2, but there are 3"),
        ("indptr", [[0, 1, 2, 3]], "indptr has 2 dimensions"),
        ("indptr", np.array([0, 1, 2, 2**63], dtype=np.uint64), "indptr holds 9223372036854775808"),
        ("data", [[1.0, 1.0, 1.0]], "values have 2 dimensions"),
        ("data", [1.0, 1.0], "there are 3 indices and 2 values"),
        ("_shape", (2, 3), "the shape asks for 3"),
        ("_shape", (3, 2), "outside 0..1"),
        ("_shape", (-3, 3), "its shape is"),
    ],
)
def test_malformed_csr_is_named(part, value, words):
    matrix = sp.csr_array(([1.0, 1.0, 1.0], [1, 0, 2], [0, 1, 2, 3]), shape=(3, 3))
    setattr(matrix, part, np.array(value) if part != "_shape" else value)
    for affinity in ("auto", "precomputed", "features"):
        if affinity == "auto" or part != "_shape":
            raises(words, matrix, affinity="features" if part == "_shape" else affinity)


def test_other_malformed_formats():
    bsr = sp.bsr_array(np.eye(4), blocksize=(2, 2))
    bsr.data = bsr.data[:, :, :0]
    raises("the blocks have shape", bsr)
    bsr = sp.bsr_array(np.eye(4), blocksize=(2, 2))
    bsr._shape = (5, 5)
    raises("do not tile", bsr)
    dia = sp.dia_array(np.eye(4) + np.eye(4, k=1))
    dia.offsets = np.array([1, 1])
    raises("same offset", dia)
    dia.offsets = np.array([1])
    raises("1 offsets, but", dia)
    lil = sp.lil_array(np.eye(3))
    lil.rows[0] = 7
    raises("lists of columns", lil)
    dok = sp.dok_array(np.eye(3))
    dok._dict["a"] = 1.0
    raises("not pairs", dok)

    class Strange(sp.csr_array):
        format = "strange"

    raises("unknown sparse format", Strange(np.eye(3)))


@given(
    st.integers(1, 15),
    st.sampled_from(FORMATS),
    st.sampled_from([bool, np.int8, np.uint16, np.int64, np.float32, np.float64, np.longdouble]),
    st.floats(0, 1),
    st.integers(0, 10_000),
)
def test_any_sparse_graph(n, form, dtype, density, seed):
    A = weighted(n, seed, density) % 100
    A[np.diag_indices(n)] = np.random.default_rng(seed).integers(0, 2, n)
    A = A.astype(dtype)
    data = getattr(sp, form + "_array")(A)
    graph = as_graph(data)
    check_canonical(graph)
    np.testing.assert_array_equal(graph.adjacency.toarray(), A.astype(float))
    assert graph.degrees.sum() == A.astype(float).sum()
    assert graph.components.max() + 1 == nx.number_connected_components(nx.from_numpy_array(A.astype(float)))


def test_extreme_weights_are_seen_wherever_they_stand(monkeypatch):
    from graphsoft.graph import adjacency

    monkeypatch.setattr(adjacency, "BLOCK", 3)
    W = np.kron(np.eye(4), [[0.0, 1.0], [1.0, 0.0]])
    W[6, 7] = W[7, 6] = 2.0**300
    assert as_graph(sp.csr_array(W)).notes[-1] == "weights multiplied by 2**-300"
