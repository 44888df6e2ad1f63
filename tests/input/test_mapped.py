"""Features in a file: the same bits as in memory, and little memory."""

import tracemalloc

import numpy as np
import pytest

import graphsoft
from graphsoft import GraphsoftWarning, parallel
from graphsoft.graph.reading import read_input
from graphsoft.input import mapped
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.mapped import allocate, is_mapped, stack_rows, take_rows
from graphsoft.neighbors import exact
from graphsoft.neighbors.nearest import nearest_among, nearest_neighbors
from graphsoft.neighbors.points import Points, first_copies


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(mapped, "SMALL", 1000)


@pytest.fixture
def file_of(tmp_path):
    def write(values, mode="r", name="X"):
        path = tmp_path / name
        np.ascontiguousarray(values).tofile(path)
        return np.memmap(path, dtype=values.dtype, mode=mode, shape=values.shape)

    return write


def cloud(n, d, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(8, d))[rng.integers(8, size=n)] + 0.5 * rng.normal(size=(n, d))
    return points.astype(np.float32)


def same(one, other):
    return one.shape == other.shape and (one != other).nnz == 0


def test_arrays_in_files_are_recognized(file_of):
    X = file_of(cloud(50, 8))
    for view in (X, np.asarray(X), X[3:], X.T, np.asarray(X).view(np.uint32), X.reshape(-1)[::2]):
        assert is_mapped(view)
    for other in (np.array(X), X + 1, X[[1, 2]].copy(), None, 3.0, [1.0]):
        assert not is_mapped(other)
    made = allocate(X, (100, 8), np.float64)
    assert is_mapped(made)
    made[:] = 3.0
    assert made.flags.writeable
    assert (made == 3.0).all()
    assert not is_mapped(allocate(X, (10, 2), np.float32))  # too small to be worth a file
    assert not is_mapped(allocate(np.array(X), (100, 8), np.float64))


def test_rows_are_copied_to_a_file(file_of):
    X = file_of(cloud(60, 9))
    rows = np.random.default_rng(1).permutation(60)[:40]
    one, two = take_rows(X, rows), stack_rows(X, X[:5].astype(np.float64))
    assert is_mapped(one)
    assert is_mapped(two)
    np.testing.assert_array_equal(one, np.array(X)[rows])
    np.testing.assert_array_equal(two, np.vstack([X, X[:5]]).astype(np.float64))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8, np.float16, ">f4"])
def test_every_type_of_number_can_be_read(kind, file_of):
    values = np.round(10 * np.abs(cloud(70, 8))).astype(kind)
    for X in (file_of(values), file_of(values, mode="c"), file_of(values)[:, ::2]):
        found = dense_matrix(X)
        np.testing.assert_array_equal(found, np.asarray(X, dtype=found.dtype))
        assert found.dtype == dense_matrix(np.array(X)).dtype
        assert is_mapped(found)


def test_not_finite_numbers_in_a_file_are_refused(file_of):
    values = cloud(70, 8)
    values[40, 3] = np.nan
    with pytest.raises(graphsoft.InputError, match="row 40, column 3"):
        dense_matrix(file_of(values))
    huge = np.full((40, 40), 1e300, dtype=np.longdouble)
    assert dense_matrix(file_of(huge, name="long")).dtype == np.float64


def test_square_files_are_compared_with_their_transpose(file_of):
    X = cloud(40, 40)
    assert not read_input(file_of(X), "auto", "euclidean", "relative").notes
    with pytest.warns(GraphsoftWarning, match="X is symmetric"):
        read_input(file_of(X + X.T, name="both"), "auto", "euclidean", "relative")


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
@pytest.mark.parametrize("scale", [1.0, 2.0**-120])
@pytest.mark.parametrize("d", [3, 24])
def test_files_and_memory_give_the_same_bits(metric, scale, d, file_of):
    X, new = cloud(300, d) * np.float32(scale), cloud(30, d, seed=1) * np.float32(scale)
    X[17], X[40] = X[3], X[3]
    new[0] = X[3]
    one = graphsoft.hierarchy(X, [12, 4], metric=metric)
    other = graphsoft.hierarchy(file_of(X), [12, 4], metric=metric)
    assert is_mapped(other.features.values)
    assert same(one.graph.adjacency, other.graph.adjacency)
    assert same(one[0].memberships, other[0].memberships)
    new_file = file_of(new, name="new")
    assert same(one.predict_proba(new, 0), other.predict_proba(new_file, 0))
    one, other = one.partial_update(new), other.partial_update(new_file)
    assert is_mapped(other.features.values)
    assert same(one.graph.adjacency, other.graph.adjacency)


def test_float32_copies_for_the_search_are_in_a_file_too(file_of):
    X = cloud(400, 12)
    one, other = (Points.of(each) for each in (X, np.asarray(file_of(X))))
    found = exact.as_float32(other, exact.center(other))
    assert is_mapped(found)
    np.testing.assert_array_equal(found, exact.as_float32(one, exact.center(one)))


def peak_memory(work):
    """The most memory that NumPy held at a time during `work`."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
def test_memory_is_small_against_the_file(metric, file_of, monkeypatch):
    for module in (parallel, exact):
        monkeypatch.setattr(module, "ELEMENTS_PER_BLOCK", 1 << 15)
    X = cloud(2000, 1000)
    X[::100] = X[0]  # so that distinct rows are copied
    X, small = file_of(X), file_of(X[:, :200], name="small")
    graphsoft.knn_graph(small, 5, metric=metric)  # compiled
    for_file = peak_memory(lambda: graphsoft.knn_graph(X, 5, metric=metric))
    assert for_file < X.nbytes / 3
    copy = np.array(X)
    for_copy = peak_memory(lambda: graphsoft.knn_graph(copy, 5, metric=metric))
    assert for_copy > X.nbytes / 2  # so the measurement would notice


def test_predictions_take_little_memory_too(file_of, monkeypatch):
    for module in (parallel, exact):
        monkeypatch.setattr(module, "ELEMENTS_PER_BLOCK", 1 << 15)
    X = file_of(cloud(2000, 1000))
    h = graphsoft.hierarchy(X, [20, 5], n_neighbors=5)
    for count in (4, 100):
        new = cloud(count, 1000, seed=2)
        h.predict(new)
        vars(h).pop("_reference")
        assert peak_memory(lambda rows=new: h.predict(rows)) < X.nbytes / 3


def test_the_search_itself_leaves_the_file_as_it_is(file_of):
    values = cloud(200, 12)
    X = file_of(values, mode="r+")
    points = Points.of(np.asarray(X))
    nearest_neighbors(points, 4)
    first_copies(points)
    nearest_among(points, points.alongside(values[:20] + 1), 3)
    np.testing.assert_array_equal(X, values)
