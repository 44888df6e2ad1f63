"""Objects of the caller's that find neighbors: what they return, in every public function."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsTransformer

import graphsoft
from graphsoft import InputError
from graphsoft.neighbors.external import found_among, found_within
from naive import neighbors as naive


class Finder:
    """A finder that finds all points within a distance, in a matrix as awkward as it may be."""

    def __init__(self, max_size=np.inf, change=lambda matrix: matrix, itself=True):
        self.max_size, self.change, self.itself = max_size, change, itself

    def fit_transform(self, X):
        self.X = X.toarray() if sp.issparse(X) else np.array(X)
        return self.transform(X, fitting=True)

    def transform(self, Y, fitting=False):
        Y = Y.toarray() if sp.issparse(Y) else Y
        apart = np.sqrt(np.square(Y[:, None] - self.X).sum(axis=2))
        near = apart <= self.max_size
        if fitting and not self.itself:
            np.fill_diagonal(near, False)
        rows, columns = np.nonzero(near)
        turn = np.random.default_rng(0).permutation(len(rows))
        rows, columns = rows[turn], columns[turn]
        matrix = sp.coo_matrix((apart[rows, columns], (rows, columns)), shape=apart.shape)
        return self.change(matrix)


def cloud(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def same(one, other):
    return one.shape == other.shape and (one != other).nnz == 0


def with_index(matrix, index):
    """The matrix with another index in the first place, such as the -1 of faiss for a missing neighbor."""
    matrix = matrix.tocsr()
    matrix.indices[0] = index
    return matrix


def test_the_smaller_of_two_entries_counts():
    twice = sp.coo_array(([4.0, 3.0, 3.0, 5.0], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))

    class Given:
        transform = staticmethod(lambda X: twice)

    assert found_among(Given, np.zeros((2, 1)), 2, 1)[1].tolist() == [[3.0], [3.0]]


def close(one, other):
    return np.array_equal(one.indices, other.indices) and np.allclose(one.data, other.data, rtol=1e-9)


@given(st.integers(2, 30), st.integers(1, 8), st.booleans(), st.integers(0, 999))
def test_lists_are_the_nearest_of_what_is_stored(n, k, itself, seed):
    rng = np.random.default_rng(seed)
    stored = rng.random((n, n)) < 0.4
    apart = rng.integers(0, 4, size=(n, n)).astype(float)
    if not itself:
        np.fill_diagonal(stored, False)
    rows, columns = np.nonzero(stored)
    turn = rng.permutation(len(rows))
    matrix = sp.csr_array(sp.coo_array((apart[stored][turn], (rows[turn], columns[turn])), shape=(n, n)))

    class Given:
        fit_transform = transform = staticmethod(lambda X: matrix)

    for own in (True, False):
        if own and len(rows) and (apart[stored] == 1).all() and np.diag(stored).all():
            continue  # taken for connectivity
        indices, distances = found_among(Given, np.zeros((n, 1)), n, k, own)
        for i in range(n):
            pairs = sorted((apart[i, j], j) for j in range(n) if stored[i, j] and (i != j or not own))[:k]
            assert [j for j in indices[i] if j >= 0] == [j for _, j in pairs]
            assert distances[i, : len(pairs)].tolist() == [d for d, _ in pairs]
            assert (indices[i, len(pairs) :] == -1).all()
            assert np.isinf(distances[i, len(pairs) :]).all()
        if own:
            assert np.array_equal(found_within(Given, np.zeros((n, 1)), k)[0], indices)


@pytest.mark.parametrize("weights", ["local-scaling", "relative", "gaussian", "connectivity", "jaccard"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("finder", [Finder(), KNeighborsTransformer(mode="distance", n_neighbors=6)])
def test_a_finder_that_is_exact_changes_nothing(finder, kind, weights):
    X, Y = cloud(60), cloud(9, seed=1)
    X[7], X[30] = X[3], X[3]
    Y[0] = X[3]
    X, Y = kind(X), kind(Y)
    one, other = (
        graphsoft.hierarchy(X, [8, 3], n_neighbors=6, weights=weights, neighbors=each)
        for each in (None, finder)
    )
    assert close(one.graph.adjacency, other.graph.adjacency)
    np.testing.assert_array_equal(one[0].labels, other[0].labels)
    expected, found = one.predict_proba(Y, 0), other.predict_proba(Y, 0)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-6)
    assert same(found[:1], other[0].memberships[3:4])


@pytest.mark.parametrize("X", [cloud(40), np.repeat(cloud(8), 5, axis=0)])
def test_every_public_function_takes_a_finder(X):
    alike = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    finder = Finder(2.0)
    for call in (
        lambda: graphsoft.knn_graph(X, neighbors=finder).adjacency,
        lambda: graphsoft.as_graph(X, neighbors=finder).adjacency,
        lambda: graphsoft.cluster(X, 3, neighbors=finder).memberships,
        lambda: graphsoft.hierarchy(X, 3, neighbors=finder)[0].memberships,
        lambda: graphsoft.methods.cluster_surviving(X, neighbors=finder).memberships,
    ):
        found = call()
        assert finder.X.shape[0] == len(np.unique(X, axis=0))
        if found.shape[1] < len(X):
            for group in range(alike.max() + 1):
                rows = found[alike == group].toarray()
                assert (rows == rows[0]).all()
    assert graphsoft.suggest_levels(X, neighbors=finder).clusters >= 1
    graph = graphsoft.knn_graph(X, neighbors=finder)
    assert "distances by Finder" in graph.notes[0]


def test_a_finder_may_find_too_few_neighbors_or_none():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [30.0], [31.0]])
    finder = Finder(1.5, itself=False)
    graph = graphsoft.knn_graph(X, 4, neighbors=finder, weights="connectivity")
    expected = np.zeros((6, 6))
    for i, j in ((0, 1), (1, 2), (4, 5)):
        expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert "1 nodes without edges" in graph.notes
    h = graphsoft.hierarchy(X, 2, n_neighbors=4, neighbors=finder)
    with pytest.warns(graphsoft.GraphsoftWarning, match="1 rows of X have no neighbors"):
        found = h.predict_proba([[1.4], [30.5], [-70.0]])
    np.testing.assert_array_equal(found[:2].toarray(), h[0].memberships[[1, 4]].toarray())
    alone = graphsoft.knn_graph(np.eye(3), 2, neighbors=Finder(0.0))
    assert alone.adjacency.nnz == 0


def test_order_of_the_points_does_not_matter():
    X = cloud(50)
    order = np.random.default_rng(3).permutation(50)
    one, other = (graphsoft.knn_graph(rows, neighbors=Finder(1.8)).adjacency for rows in (X, X[order]))
    np.testing.assert_allclose(one[order][:, order].toarray(), other.toarray(), rtol=1e-12)


def test_one_distinct_point_needs_no_search():
    h = graphsoft.hierarchy(np.ones((4, 2)), 1, n_neighbors=3, neighbors=Finder())
    assert h.predict([[1.0, 1.0], [2.0, 5.0]]).tolist() == [0, 0]
    assert h.partial_update([[1.0, 1.0], [2.0, 5.0]])[0].labels.tolist() == [0] * 6


def test_a_hierarchy_grows_with_its_finder():
    X = np.concatenate([cloud(30), cloud(30, seed=1) + 9])
    new = np.concatenate([cloud(6, seed=2), cloud(6, seed=3) + 9, X[:2]])
    h = graphsoft.hierarchy(X, [6, 2], neighbors=Finder())
    grown = h.partial_update(new)
    edges = grown.graph.adjacency[60:72]
    assert same(grown.graph.adjacency[:60, :60], h.graph.adjacency)
    assert edges[:, 60:72].nnz == 0  # new ones are not joined among each other, but to old ones
    lists = naive.neighbors(np.concatenate([X, new[:12]]), 60)
    for row in range(12):
        old = [j for _, j in lists[60 + row] if j < 60][:10]
        assert np.array_equal(np.flatnonzero(edges[[row]].toarray()[0][:60]), np.sort(old))
    truth = np.concatenate([grown[1].labels[:60], np.repeat(h[1].labels[[0, 30]], 6), h[1].labels[:2]])
    np.testing.assert_array_equal(grown[1].labels, truth)
    assert same(grown.predict_proba(new[:3]), grown[1].memberships[60:63])  # those it knows itself
    again = grown.partial_update(cloud(3, seed=5))
    assert len(again.graph) == 77
    np.testing.assert_array_equal(again[1].labels[74:], h[1].labels[[0, 0, 0]])


def test_the_hierarchy_keeps_the_finder_itself():
    finder = KNeighborsTransformer(mode="distance", n_neighbors=5)
    h = graphsoft.hierarchy(cloud(40), 3, n_neighbors=5, neighbors=finder)
    assert h.features.neighbors is finder
    finder.fit(cloud(30))
    with pytest.raises(InputError, match=r"neighbors: transform returns shape \(40, 30\).*fitted again"):
        h.predict(cloud(2, seed=1))


def test_float32_distances_need_not_be_symmetric():
    def lopsided(matrix):
        data = np.float32(matrix.data * (1 + 1e-3 * (matrix.row > matrix.col)))
        return sp.coo_matrix((data, (matrix.row, matrix.col)), shape=matrix.shape)

    finder = Finder(2.0, change=lopsided)
    graph = graphsoft.knn_graph(cloud(50), neighbors=finder)
    assert same(graph.adjacency, graph.adjacency.T.tocsr())
    exact = graphsoft.knn_graph(cloud(50), neighbors=Finder(2.0))
    np.testing.assert_allclose(graph.adjacency.toarray(), exact.adjacency.toarray(), atol=0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.toarray(), "fit_transform returns ndarray.*SciPy sparse"),
        (lambda m: m.tocsr()[:, :5], r"fit_transform returns shape \(20, 5\) instead of \(20, 20\)"),
        (lambda m: -m, "negative distances, such as -"),
        (lambda m: m * np.nan, "are NaN or infinite, the first is nan"),
        (lambda m: m * np.inf, "are NaN or infinite"),
        (lambda m: with_index(m, -1), r"malformed.*indices\[0\] is -1"),
        (lambda m: with_index(m, 20), r"malformed.*indices\[0\] is 20"),
        (lambda m: m * 1j, "dtype complex"),
        (lambda m: sp.csr_array(np.ones(m.shape)), "nothing but ones.*mode='distance'"),
    ],
)
def test_the_matrix_of_a_finder_is_checked(change, words):
    with pytest.raises(InputError, match=f"^neighbors: .*{words}"), np.errstate(invalid="ignore"):
        graphsoft.hierarchy(cloud(20), 3, neighbors=Finder(change=change))


def test_connectivity_is_no_distance():
    with pytest.raises(InputError, match=r"neighbors: .*mode='distance'"):
        graphsoft.knn_graph(cloud(20), neighbors=KNeighborsTransformer(mode="connectivity", n_neighbors=4))


def test_bad_arguments():
    X = cloud(20)
    for neighbors in ("brute", 5, Finder, object()):
        with pytest.raises(InputError, match=r"^neighbors: got .*KNeighborsTransformer"):
            graphsoft.knn_graph(X, neighbors=neighbors)
    for call in (graphsoft.knn_graph, graphsoft.as_graph, graphsoft.suggest_levels):
        with pytest.raises(InputError, match=r"^metric: got 'cosine'.*set it in neighbors"):
            call(X, metric="cosine", neighbors=Finder())
    graph = graphsoft.knn_graph(X)
    for call in (graphsoft.as_graph, lambda G, **how: graphsoft.hierarchy(G, 2, **how)):
        for given_graph in (graph, graph.adjacency):
            with pytest.raises(InputError, match=r"^neighbors: is of no use where X is a graph"):
                call(given_graph, neighbors=Finder())
