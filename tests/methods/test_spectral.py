"""Spectral clustering: eigenvectors, rounding, and the method."""

import inspect
import tracemalloc

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh

import graphsoft
from graphsoft.cuts import cut_and_mass, exact_normalized_cut, normalized_cut
from graphsoft.errors import InputError
from graphsoft.graph.joining import knn_graph
from graphsoft.graph.reading import as_graph
from graphsoft.kernels import rows_of
from graphsoft.kernels.cuts import Clusters, move_nodes
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods import METHODS, Spectral
from graphsoft.methods.parts import eigenvectors, rounding
from graphsoft.methods.parts.eigenvectors import leading_eigenvectors
from naive import spectral as naive
from shared.shapes import cloud, connected, factorized, graph_of, ring_of_cliques
from shared.strategies import extreme, small, weight_matrices

ROUNDINGS = ("ng-jordan-weiss", "normalized-cut")
SPARSE = ("lanczos", "multigrid")


def rng():
    return np.random.default_rng(0)


def same(first, second):
    return graphsoft.metrics.adjusted_rand(first, second) == 1


@pytest.fixture
def sparse(monkeypatch):
    """Use sparse solvers from 40 nodes on, so that tests are quick."""
    monkeypatch.setattr(eigenvectors, "FEW_NODES", 40)


def large():
    """Graphs of a few hundred nodes: some have multiple eigenvalues, one has three components."""
    grid = nx.grid_2d_graph(12, 12)
    return {
        "ring": nx.cycle_graph(200),
        "grid": grid,
        "twins": nx.disjoint_union_all([grid, grid, nx.path_graph(9)]),
        "star": nx.star_graph(200),
        "random": nx.gnp_random_graph(200, 0.06, seed=1),
        "points": knn_graph(cloud(240, centers=6)),
    }


# Eigenvectors


@given(weight_matrices(1, 12), st.data())
@settings(deadline=None)
def test_eigenvectors_of_few_nodes(W, data):
    k = data.draw(st.integers(1, len(W)))
    pairs = leading_eigenvectors(graph_of(W), k, rng())
    V = pairs.vectors
    np.testing.assert_allclose(pairs.values, naive.leading_values(W, k), atol=1e-9)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(naive.normalized(W) @ V, V * pairs.values, atol=1e-9)
    assert (V[np.abs(V).argmax(axis=0), range(k)] > 0).all()


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("solver", SPARSE)
@pytest.mark.parametrize("name", list(large()))
def test_sparse_solvers_find_what_the_dense_one_finds(name, solver):
    graph = as_graph(large()[name])
    pairs = leading_eigenvectors(graph, 6, rng(), solver=solver)
    V, W = pairs.vectors, graph.adjacency.toarray()
    assert pairs.solver == solver
    np.testing.assert_allclose(pairs.values, naive.leading_values(W, 6), atol=1e-7)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-9)
    off = np.linalg.norm(naive.normalized(W) @ V - V * pairs.values, axis=0)
    assert off.max() == pytest.approx(pairs.residual, abs=1e-9)
    assert pairs.residual < 3e-5


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("solver", SPARSE)
@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_weights_of_any_size(solver, factor):
    graph = knn_graph(cloud(240, centers=6))
    scaled = as_graph(graph.adjacency * factor)
    values = leading_eigenvectors(graph, 4, rng(), solver=solver).values
    again = leading_eigenvectors(scaled, 4, rng(), solver=solver)
    np.testing.assert_allclose(again.values, values, atol=1e-8)
    assert np.isfinite(again.vectors).all()


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("solver", SPARSE)
def test_weights_of_all_sizes(solver):
    random, count = rng(), 200
    pairs = sp.coo_array((10.0 ** random.integers(-90, 90, 1200), random.integers(0, count, (2, 1200))))
    graph = as_graph((pairs + pairs.T).tocsr())
    found = leading_eigenvectors(graph, 5, rng(), solver=solver)
    W = graph.adjacency.toarray()
    np.testing.assert_allclose(found.values, naive.leading_values(W, 5), atol=1e-6)


@pytest.mark.usefixtures("sparse")
def test_the_solver_is_chosen_by_the_graph():
    found = {name: leading_eigenvectors(as_graph(graph), 3, rng()).solver for name, graph in large().items()}
    assert found["points"] == found["ring"] == found["grid"] == "multigrid"
    assert found["random"] == found["star"] == "lanczos"
    assert found["twins"] == "components"
    assert leading_eigenvectors(as_graph(nx.cycle_graph(40)), 3, rng()).solver == "dense"


@pytest.mark.usefixtures("sparse")
def test_a_solver_that_fails_is_replaced(monkeypatch):
    graph = as_graph(nx.cycle_graph(200))
    truth = naive.leading_values(graph.adjacency.toarray(), 5)
    monkeypatch.setattr(eigenvectors, "LANCZOS_RESTARTS", 1)
    pairs = leading_eigenvectors(graph, 5, rng(), solver="lanczos")
    assert pairs.solver == "multigrid, for lanczos did not converge"
    np.testing.assert_allclose(pairs.values, truth, atol=1e-9)
    monkeypatch.setattr(eigenvectors, "MULTIGRID_STEPS", 1)
    pairs = leading_eigenvectors(graph, 5, rng(), solver="multigrid")
    assert pairs.solver == "multigrid, not converged"
    assert pairs.values.sum() <= truth.sum()
    monkeypatch.setattr(eigenvectors, "LANCZOS_RESTARTS", 1000)
    pairs = leading_eigenvectors(graph, 5, rng(), solver="multigrid")
    assert pairs.solver == "lanczos, for multigrid did not converge"
    np.testing.assert_allclose(pairs.values, truth, atol=1e-9)


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("failure", [ValueError("rank"), None])
def test_lobpcg_that_breaks_down_is_replaced(monkeypatch, failure):
    def broken(operator, start, **settings_):
        if failure is not None:
            raise failure
        return None, np.full_like(start, np.nan)

    monkeypatch.setattr("scipy.sparse.linalg.lobpcg", broken)
    pairs = leading_eigenvectors(as_graph(nx.grid_2d_graph(12, 12)), 4, rng(), solver="multigrid")
    assert pairs.solver == "lanczos, for multigrid did not converge"


@pytest.mark.usefixtures("sparse")
def test_the_multigrid_cycle_is_symmetric_and_positive():
    graph = as_graph(nx.grid_2d_graph(14, 14))
    walk = eigenvectors.Walk(graph, 3)
    grid = eigenvectors.Multigrid(walk, None)
    M = grid.solved(np.eye(len(graph)))
    np.testing.assert_allclose(M, M.T, atol=1e-9)
    assert np.linalg.eigvalsh(M).min() > 0
    A = (1 + grid.gap) * np.eye(len(graph)) - naive.normalized(graph.adjacency.toarray())
    together = np.sort(np.linalg.eigvals(walk.without_known(M @ A)).real)[1:]  # without the known one
    alone = np.sort(np.linalg.eigvalsh(A))[1:]
    assert together[-1] / together[0] < 8 < 20 < alone[-1] / alone[0]


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("solver", SPARSE)
def test_the_same_bits_on_any_number_of_threads(monkeypatch, solver):
    graph, bits = as_graph(nx.grid_2d_graph(15, 15)), set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        bits.add(leading_eigenvectors(graph, 5, rng(), solver=solver).vectors.tobytes())
    assert len(bits) == 1


def test_nothing_is_as_large_as_all_pairs():
    graph = knn_graph(cloud(3000, centers=6))
    for solver in SPARSE:
        tracemalloc.start()
        leading_eigenvectors(graph, 5, rng(), solver=solver)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 30e6  # 3000 x 3000 numbers are 72e6 bytes


# Rounding


def test_the_ideal_case():
    """With as many components as clusters, the unit rows are that many orthogonal points."""
    W = np.kron(np.eye(3), np.ones((5, 5)))
    rows = rounding.unit_rows(leading_eigenvectors(graph_of(W), 3, rng()).vectors @ turned(3))
    products = rows @ rows.T
    np.testing.assert_allclose(products, (W > 0).astype(float), atol=1e-12)
    labels = np.repeat([0, 1, 2], 5)
    for found in (rounding.by_kmeans(rows, rng()), rounding.by_rotation(rows), rounding.by_pivots(rows)):
        assert same(labels, found)


def turned(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(k, k)))[0]


@pytest.mark.parametrize(
    "rounds", [rounding.by_rotation, rounding.by_pivots, lambda V: rounding.by_kmeans(V, rng())]
)
def test_rotating_the_eigenvectors_changes_nothing(rounds):
    V = leading_eigenvectors(knn_graph(cloud(200, centers=4)), 4, rng()).vectors
    for seed in range(3):
        assert same(rounds(V), rounds(V @ turned(4, seed)))


def test_rows_of_any_length_become_unit_rows():
    rows = rounding.unit_rows(np.array([[3e-200, 4e-200], [0.0, 0.0], [3e200, -4e200]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0], [0.6, -0.8]])


def test_every_rotation_comes_nearer_to_indicators(monkeypatch):
    rows = rounding.unit_rows(rng().normal(size=(60, 4)))
    gaps = []
    for steps in range(1, 12):
        monkeypatch.setattr(rounding, "MAX_ROTATIONS", steps)
        E = naive.indicators(rounding.by_rotation(rows), 4)
        left, _, right = np.linalg.svd(E.T @ rows)
        gaps.append(np.linalg.norm(rows @ (left @ right).T - E))
    assert (np.diff(gaps) <= 1e-9).all()
    assert gaps[-1] < gaps[0]


def test_empty_clusters_get_a_node():
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert rounding.filled(np.array([2, 2, 2, 2]), rows).tolist() == [2, 1, 0, 2]
    assert rounding.filled(np.array([0, 1, 2, 0]), rows).tolist() == [0, 1, 2, 0]


def after_moves(graph, labels, k, start, stop):
    """The labels after the nodes from start to stop were moved."""
    cut, mass = cut_and_mass(graph, one_cluster_each(labels, k))
    after, members = labels.copy(), np.bincount(labels, minlength=k)
    clusters = Clusters(after, mass, cut, members)
    move_nodes(rows_of(graph.adjacency), graph.degrees, clusters, start, stop, 1e-12)
    np.testing.assert_allclose(
        [cut, mass], cut_and_mass(graph, one_cluster_each(after, k)), rtol=1e-6, atol=1e-9
    )
    assert members.tolist() == np.bincount(after, minlength=k).tolist()
    return after


@given(weight_matrices(2, 10, small), st.data())
@settings(deadline=None)
def test_every_move_is_the_best_along_an_edge(W, data):
    n, k = len(W), data.draw(st.integers(1, min(4, len(W))))
    graph = graph_of(W)
    labels = np.array(
        [*range(k), *data.draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))]
    )
    labels = labels.astype(np.int32)
    for i in range(n):
        before = naive.normalized_cut(W, naive.indicators(labels, k))
        _, lowest = naive.best_move(W, labels, k, i)
        labels = after_moves(graph, labels, k, i, i + 1)
        after = naive.normalized_cut(W, naive.indicators(labels, k))
        assert after <= before + 1e-12
        assert after == pytest.approx(lowest, abs=1e-9)


@given(weight_matrices(3, 10, extreme), st.data())
@settings(deadline=None, max_examples=50)
def test_sweeps_lower_the_cut_for_any_weights(W, data):
    n, k = len(W), 2
    labels = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    values = []
    for after, value in rounding.improved(graph_of(W), labels, k):
        values.append(value)
        assert value == normalized_cut(graph_of(W), after)
        assert set(after.tolist()) == {0, 1}
    assert np.isfinite(values).all()
    assert (np.diff(values) < 0).all()


# The method


@pytest.mark.parametrize("rounds", ROUNDINGS)
def test_trace_memberships_and_status(rounds):
    graph = knn_graph(cloud(120, centers=4))
    found = factorized(Spectral(rounds), graph, 4)
    assert found.trace[-1] == pytest.approx(normalized_cut(graph, found.labels))
    assert found.trace[-1] == pytest.approx(normalized_cut(graph, found.memberships))
    assert (found.memberships.data == 1).all()
    bound = 4 - naive.leading_values(graph.adjacency.toarray(), 4).sum()
    assert bound <= found.trace[-1]
    assert f"no partition below {bound:.4g}; eigenvectors: dense" in found.status
    assert found.sweeps == len(found.trace) - 1


@pytest.mark.parametrize("rounds", ROUNDINGS)
@given(W=weight_matrices(3, 9, small), data=st.data())
@settings(max_examples=25, deadline=None)
def test_cuts_are_at_least_the_lowest_possible(rounds, W, data):
    graph, k = graph_of(connected(W)), data.draw(st.integers(2, 3))
    found = factorized(Spectral(rounds), graph, k)
    if len(graph) > k:
        assert set(found.labels.tolist()) == set(range(k))
        assert found.trace[-1] >= exact_normalized_cut(graph, k)[1] - 1e-9


@pytest.mark.parametrize("rounds", ROUNDINGS)
@given(W=weight_matrices(3, 12, extreme), data=st.data())
@settings(max_examples=25, deadline=None)
def test_weights_of_any_size_are_clustered(rounds, W, data):
    k = data.draw(st.integers(2, len(W)))
    found = factorized(Spectral(rounds), graph_of(W), k)
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
    assert np.isfinite(found.trace).all()


def test_moves_are_counted_and_bounded():
    graph = as_graph(nx.gnp_random_graph(200, 0.05, seed=2))
    whole = factorized(Spectral("normalized-cut"), graph, 6)
    assert whole.sweeps > 1
    one = factorized(Spectral("normalized-cut", max_sweeps=1), graph, 6)
    assert one.trace == whole.trace[:2]
    assert one.status.startswith("stopped at 1 sweeps, still falling by")
    assert "raise max_sweeps" in one.status
    none = factorized(Spectral("normalized-cut", max_sweeps=0), graph, 6)
    assert none.trace == whole.trace[:1]
    assert "raise" not in none.status


def test_more_components_than_clusters_are_grouped_whole():
    sizes = [30, 20, 12, 11]
    graph = as_graph(nx.disjoint_union_all([nx.complete_graph(size) for size in sizes]))
    found = factorized(METHODS["spectral"], graph, 3)
    assert same(np.repeat([0, 1, 2, 2], sizes), found.labels)
    assert found.trace == (0.0,)
    assert found.status == "4 components, nothing cut"


def test_clusters_within_components():
    W = np.zeros((40, 40))
    W[:20, :20] = W[20:, 20:] = ring_of_cliques(4, 5)
    for name in ("spectral", "normalized-cut"):
        found = factorized(METHODS[name], graph_of(W), 8)
        assert same(np.repeat(range(8), 5), found.labels)


@pytest.mark.usefixtures("sparse")
def test_progress():
    calls = []
    graph = knn_graph(cloud(240, centers=6))
    for solver in SPARSE:
        method = Spectral("normalized-cut", solver=solver)
        graphsoft.cluster(graph, 6, method, progress=lambda *what: calls.append(what))
    stages = {stage for stage, _, _ in calls}
    assert {"eigenvectors: products", "eigenvectors: steps", "moving nodes"} <= stages
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.parametrize(
    ("settings_", "argument"),
    [({"rounding": "up"}, "rounding"), ({"solver": "magic"}, "solver"), ({"max_sweeps": -1}, "max_sweeps")],
)
def test_bad_settings(settings_, argument):
    with pytest.raises(InputError, match=f"{argument}: got"):
        Spectral(**settings_)


@pytest.mark.parametrize("graph", [nx.star_graph(1199), nx.complete_bipartite_graph(3, 1200)])
def test_degenerate_eigenvalues_give_the_same_answer_twice(graph):
    if "rng" not in inspect.signature(eigsh).parameters:
        pytest.skip("before SciPy 1.17 eigsh keeps a random state of its own")
    for k in (2, 5):
        first, second = (graphsoft.cluster(graph, k, method="normalized-cut").labels for _ in range(2))
        assert first.tolist() == second.tolist()
