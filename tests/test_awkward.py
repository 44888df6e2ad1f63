"""Awkward input to the public functions: each case either works and is right, or fails and says why.

The numbers X.. and G.. are those of a comparison of clustering packages.
"""

import warnings
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import GraphsoftWarning, InputError
from shared.awkward import (
    DENSE,
    LEVELS,
    PARTITION,
    SAME,
    VALID,
    A,
    X,
    check,
    outcome,
    same_partition,
    stored,
    with_weight,
)
from shared.door import FORMATS


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def memory_map(folder):
    np.save(folder / "points.npy", X)
    return np.load(folder / "points.npy", mmap_mode="r")


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def with_missing():
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[3, 1] = pd.NA
    return frame


def masked(hide):
    array = np.ma.MaskedArray(X.copy(), mask=np.zeros(X.shape, bool))
    if hide:
        array[3, 1] = np.ma.masked
    return array


class Pretender:
    as_integer_ratio = None


FEATURES = {
    "X00 baseline": (X, SAME),
    "X01 one NaN": (changed(X, (7, 1), np.nan), r"^X: 1 entries are NaN or infinite, .* row 7, column 1\."),
    "X02 one inf": (changed(X, (7, 1), np.inf), r"^X: 1 entries are NaN or infinite, .*inf at row 7"),
    "X03 all-NaN row": (changed(X, 7, np.nan), r"^X: 3 entries are NaN or infinite, .* row 7, column 0\."),
    "X04 all points identical": (np.ones((60, 3)), VALID),
    "X05 each point ten times": (np.repeat(X, 10, axis=0), VALID),
    "X06 n=0": (X[:0], r"0 samples|0 points"),
    "X09 fewer points than neighbors": (X[:6], VALID),
    "X10 d=0": (X[:, :0], r"^X: got 0 features"),
    "X11 one dimension": (X[:, 0], r"^X: has 1 dimension, shape \(60,\)"),
    "X12 three dimensions": (X[:, :, None], r"^X: has 3 dimensions"),
    "X13 int64": (np.rint(X * 1000).astype(np.int64), PARTITION),
    "X14 bool": (X > 4, VALID),
    "X15 uint8": (np.rint((X + 10) * 10).astype(np.uint8), PARTITION),
    "X16 float16": (X.astype(np.float16), PARTITION),
    "X17 float32": (X.astype(np.float32), PARTITION),
    "X18 longdouble": (X.astype(np.longdouble), SAME),
    "X19 object of floats": (X.astype(object), SAME),
    "X20 object with a string": (
        changed(X.astype(object), (7, 1), "a"),
        r"^X: holds 'a', .* row 7, column 1",
    ),
    "X21 strings of numbers": (X.astype(str), r"^X: holds text"),
    "X22 complex": (X * 1j, r"^X: holds complex numbers"),
    "X23 Fortran order": (np.asfortranarray(X), SAME),
    "X24 strided view": (np.repeat(X, 2, axis=0)[::2], SAME),
    "X25 negative strides": (X[::-1].copy()[::-1], SAME),
    "X26 read-only": (read_only(X), SAME),
    "X27 memory map": (memory_map, SAME),
    "X28 big-endian": (X.astype(">f8"), SAME),
    "X29 data frame": (pd.DataFrame(X), SAME),
    "X30 data frame with text": (
        pd.DataFrame(X, columns=["a", "b", "c"]).assign(b="x"),
        r"^X: holds 'x', .* row 0, column 1 \('b'\)",
    ),
    "X31 data frame with pd.NA": (with_missing(), r"^X: holds <NA>, .* row 3, column 1"),
    "X32 lists": (X.tolist(), SAME),
    "X33 scale 2**996": (np.ldexp(X, 996), SAME),
    "X33 scale 1e300": (X * 1e300, PARTITION),
    "X34 scale 2**-1000": (np.ldexp(X, -1000), SAME),
    "X34 scale 1e-300": (X * 1e-300, PARTITION),
    "X35 scale 1e30": (X * 1e30, PARTITION),
    "X36 constant feature": (np.column_stack([X, np.full(60, 7.0)]), PARTITION),
    "X37 masked cells": (masked(True), r"^X: 1 cells are masked, the first at row 3, column 1"),
    "X37 mask without cells": (masked(False), SAME),
    **{f"X38 sparse {form}": (sp.coo_array(X).asformat(form), PARTITION) for form in FORMATS},
    "X38 sparse matrix": (sp.csr_matrix(X), PARTITION),
    "X39 offset 1e8": (X + 1e8, PARTITION),
    "X40 all zeros": (np.zeros((60, 3)), VALID),
    "X40 all zeros, sparse": (sp.csr_array((60, 3)), VALID),
    "X41 dates": (np.rint(X * 1e9).astype("M8[ns]"), r"^X: holds dates"),
    "X42 one far outlier": (np.concatenate([X, [[1e12, 1e12, 1e12]]]), VALID),
    "X43 None inside": (changed(X.astype(object), (7, 1), None), r"^X: holds None, .* row 7, column 1"),
    "time spans": (np.rint(X).astype("m8[s]"), r"^X: holds time spans"),
    "records": (np.zeros((60, 3), dtype=[("a", float)]), r"^X: holds records"),
    "bytes": (X.astype("S8"), r"^X: holds bytes"),
    "ragged lists": ([[1.0, 2.0]] * 5 + [[1.0]], r"^X: cannot be read as an array"),
    "numbers beyond float64": (changed(X.astype(object), (7, 1), 10**400), r"^X: cannot be read as float64"),
    "number in name only": (changed(X.astype(object), (7, 1), Pretender()), r"^X: cannot be read as float64"),
    "fractions": (np.vectorize(Fraction, otypes=[object])(X), SAME),
    "numpy matrix": (np.asmatrix(X), SAME),
    "data frame of sparse columns": (pd.DataFrame.sparse.from_spmatrix(sp.csr_array(X)), SAME),
    "memoryview": (memoryview(X), SAME),
}


@pytest.fixture(scope="module")
def expected():
    return graphsoft.hierarchy(X, LEVELS), graphsoft.hierarchy(A, LEVELS)


@pytest.mark.parametrize("case", FEATURES)
def test_features(case, expected, tmp_path):
    data, wanted = FEATURES[case]
    outcome(data(tmp_path) if callable(data) else data, wanted, expected[0])


def test_the_baseline_is_right(expected):
    truth = np.repeat(np.arange(3), 20)
    assert same_partition(expected[0][-1].labels, truth)
    assert same_partition(expected[1][-1].labels, truth)


def test_few_points():  # X07, X08
    for count in (1, 2, 3, 4):
        for levels in ([count], list(range(count, 0, -1)), [1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GraphsoftWarning)
                check(graphsoft.hierarchy(X[:count], levels), count, levels)
    with pytest.warns(GraphsoftWarning, match="n_neighbors: 10 is more than the 5 other points"):
        graphsoft.hierarchy(X[:6], [2])


def test_copies_get_equal_rows():
    copies = np.repeat(X, 10, axis=0)
    for level in graphsoft.hierarchy(copies, LEVELS):
        M = level.memberships.toarray()
        np.testing.assert_array_equal(M, np.repeat(M[::10], 10, axis=0))


def weights(values):
    return stored(data=np.asarray(values))


def bordered(extra):
    """The graph with isolated vertices."""
    return sp.block_diag([A, sp.csr_array((extra, extra))], format="csr")


def star(leaves):
    ends = np.arange(1, leaves + 1)
    rows, columns = np.r_[np.zeros(leaves, int), ends], np.r_[ends, np.zeros(leaves, int)]
    return sp.csr_array((np.ones(2 * leaves), (rows, columns)), shape=(leaves + 1, leaves + 1))


def path(count):
    return sp.diags_array([np.ones(count - 1), np.ones(count - 1)], offsets=[-1, 1]).tocsr()


def unsorted():
    matrix = A.copy()
    for row in range(60):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        matrix.indices[part], matrix.data[part] = matrix.indices[part][::-1], matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def doubled():
    parts = (np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), A.indptr * 2)
    return sp.csr_array(parts, shape=A.shape)


def explicit_zeros():
    coo = A.tocoo()
    rows, columns = np.r_[coo.row, 0, 59], np.r_[coo.col, 59, 0]
    return sp.coo_array((np.r_[coo.data, 0, 0], (rows, columns)), shape=A.shape).tocsr()


def long_indices():
    matrix = A.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def frozen():
    matrix = A.copy()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def mixed_weights(one, two):
    even = (np.repeat(np.arange(60), np.diff(A.indptr)) + A.indices) % 2 == 0
    return weights(np.where(even, one, two))


TWICE = sp.block_diag([A, A], format="csr")

GRAPHS = {
    "G00 baseline": (A, SAME),
    "G01 one NaN weight": (with_weight(np.nan), r"^X: 2 entries are NaN or infinite, .* at \(0, \d+\)"),
    "G02 one inf weight": (with_weight(np.inf), r"^X: 2 entries are NaN or infinite, .* at \(0, \d+\)"),
    "G03 one negative weight": (with_weight(-1.0), r"^X: 2 weights are negative, the first is -1 at \(0,"),
    "G04 all weights negative": (-A, r"^X: \d+ weights are negative"),
    "G05 upper triangle only": (sp.triu(A, format="csr"), r"^X: is not symmetric: .* A\.maximum\(A\.T\)"),
    "G06 self-loops": (A + sp.eye_array(60), PARTITION),
    "G07 isolated vertices": (bordered(10), VALID),
    "G08 two copies": (TWICE, VALID),
    "G09 no edges": (sp.csr_array((150, 150)), VALID),
    "G10 n=0": (sp.csr_array((0, 0)), r"0 samples|0 points"),
    "G13 star": (star(1000), VALID),
    "G14 weights times 2**990": (weights(np.ldexp(A.data, 990)), SAME),
    "G14 weights times 1e300": (weights(A.data * 1e300), PARTITION),
    "G15 weights times 2**-1000": (weights(np.ldexp(A.data, -1000)), SAME),
    "G15 weights times 1e-300": (weights(A.data * 1e-300), PARTITION),
    "G16 denormal weights": (weights(A.data * 5e-324), SAME),
    "G17 1e300 and 1e-300": (mixed_weights(1e300, 1e-300), r"^X: has weights between 1e-300 and 1e\+300"),
    "G17 1e150 and 1e-150": (mixed_weights(1e150, 1e-150), VALID),
    "G17 1 and 1e-300": (mixed_weights(1.0, 1e-300), VALID),
    "G18 unsorted": (unsorted(), SAME),
    "G19 repeated entries": (doubled(), SAME),
    "G20 int64 indices": (long_indices(), SAME),
    "G21 explicit zeros": (explicit_zeros(), SAME),
    **{f"G22 {form}_array": (A.asformat(form), SAME) for form in FORMATS},
    **{f"G25 {form}_matrix": (getattr(sp, form + "_matrix")(A), SAME) for form in FORMATS},
    "G27 dense": (DENSE, SAME),
    "G28 int64": (weights(A.data.astype(np.int64)), SAME),
    "G29 bool": (weights(np.ones(A.nnz, bool)), PARTITION),
    "G30 float32": (weights(A.data.astype(np.float32)), SAME),
    "G31 uint8": (weights(A.data.astype(np.uint8)), SAME),
    "G32 longdouble": (weights(A.data.astype(np.longdouble)), SAME),
    "G33 complex": (weights(A.data * 1j), r"^X: holds values of dtype complex128"),
    "G34 object, dense": (DENSE.astype(object), SAME),
    "G34 object, sparse": (weights(A.data.astype(object)), SAME),
    "G35 not square": (A[:, :50], r"^X: is a graph of shape \(60, 50\), which is not square"),
    "G35 not square, dense": (DENSE[:, :50], r"^X: is a graph of shape \(60, 50\)"),
    "G36 column beyond the end": (
        stored(indices=changed(A.indices, 9, 60)),
        r"^X: is a malformed sparse matrix: indices\[9\] is 60, outside 0\.\.59",
    ),
    "G37 negative column": (stored(indices=changed(A.indices, 9, -1)), r"^X: .* indices\[9\] is -1"),
    "G38 falling indptr": (
        stored(indptr=changed(A.indptr, 9, 400)),
        r"^X: is a malformed sparse matrix: indptr",
    ),
    "G39 read-only": (frozen(), SAME),
    "G40 complete": (sp.csr_array(np.ones((60, 60)) - np.eye(60)), VALID),
    "G41 big-endian": (weights(A.data.astype(">f8")), SAME),
    "G42 path": (path(3000), VALID),
    "G43 data frame": (pd.DataFrame(DENSE), SAME),
    "G44 directions disagree": (with_weight(3.0, both=False), r"^X: is not symmetric: the weight of \(0, "),
    "G45 strings": (DENSE.astype(str), r"^X: holds text"),
    "strings, sparse": (weights(A.data.astype(str)), r"^X: holds values of dtype <U"),
    "huge star": (star(100_000), VALID),
    "large complete graph": (sp.csr_array(np.ones((1000, 1000)) - np.eye(1000)), VALID),
    "many isolated vertices": (sp.csr_array((100_000, 100_000)), VALID),
    "self-loops only": (sp.eye_array(60, format="csr"), VALID),
    "many self-loops": (sp.eye_array(100_000, format="csr"), VALID),
    "one self-loop": (sp.csr_array(([1.0], ([7], [7])), shape=(60, 60)), VALID),
    "one edge": (sp.csr_array(([1.0, 1.0], ([7, 9], [9, 7])), shape=(60, 60)), VALID),
    "pairs": (sp.block_diag([np.ones((2, 2)) - np.eye(2)] * 30, format="csr"), VALID),
    "data longer than indptr says": (stored(data=np.r_[A.data, 1.0]), r"^X: is a malformed sparse matrix"),
    "indptr too short": (stored(indptr=A.indptr[:-1]), r"^X: .* indptr has 60 entries"),
    "indptr beyond the end": (stored(indptr=changed(A.indptr, -1, 2**30)), r"^X: .* indptr ends with"),
    "float indices": (stored(indices=A.indices + 0.5), r"^X: .* indices has dtype float64"),
    "one dimension": (sp.coo_array(np.ones(60)), r"^X: is a sparse array of shape \(60,\)"),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_graphs(case, expected):
    data, wanted = GRAPHS[case]
    outcome(data, wanted, expected[1], affinity="precomputed")
    square = sp.issparse(data) and len(data.shape) == 2 and data.shape[0] == data.shape[1]
    if square:
        outcome(data, wanted, expected[1])


def test_small_graphs():  # G11, G12
    for matrix in ([[0.0]], [[1.0]], [[0.0, 2.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]):
        data = sp.csr_array(np.array(matrix))
        count = len(matrix)
        check(graphsoft.hierarchy(data, count), count, [count])
        check(graphsoft.hierarchy(data, 1), count, [1])


def test_components_do_not_leak():
    graph = nx.karate_club_graph()
    for level in graphsoft.hierarchy(nx.disjoint_union(graph, graph), [6, 2]):
        M = level.memberships.toarray()
        assert not (M[:34].any(axis=0) & M[34:].any(axis=0)).any()


def test_input_is_left_alone():
    matrix = unsorted()
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    graphsoft.hierarchy(matrix, LEVELS)
    for part, copy in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(part, copy)
        assert part.flags.writeable
    points = X.copy()
    graphsoft.hierarchy(points, LEVELS)
    np.testing.assert_array_equal(points, X)
    assert points.flags.writeable


def test_damaged_sparse_matrices_are_no_danger():
    rng = np.random.default_rng(5)
    odd = [-1, -(2**31), 60, 2**31 - 1, 2**20]
    for _ in range(150):
        matrix = A.copy()
        name = ("data", "indices", "indptr")[rng.integers(3)]
        part = getattr(matrix, name)
        if rng.random() < 0.3:
            setattr(matrix, name, part[: rng.integers(len(part))])
        elif name == "data":
            part[rng.integers(len(part))] = [np.nan, np.inf, -1.0][rng.integers(3)]
        else:
            part[rng.integers(len(part))] = odd[rng.integers(len(odd))]
        for affinity in ("auto", "features"):
            try:
                h = graphsoft.hierarchy(matrix, LEVELS, affinity=affinity)
            except InputError as error:
                assert str(error).startswith("X: ")  # noqa: PT017 - either outcome is right
            else:
                check(h, 60, LEVELS)
