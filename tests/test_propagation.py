"""Learning from few labels: against dense solutions of the same systems, and the documented properties."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

import graphsoft
from graphsoft.datasets import read
from graphsoft.engine.cluster_graph import cluster_graph
from graphsoft.errors import InputError
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.graph.reading import as_graph
from graphsoft.propagation import conjugate_gradients
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.level import Level
from naive import engine
from naive import propagation as naive
from shared.shapes import cloud, graph_of
from shared.strategies import factored_graphs, plain, weight_matrices

stops = st.floats(0.05, 0.95)


@st.composite
def labels_of(draw, n):
    """Classes 0 to k - 1 of some points, each with at least one; -1 for the other points."""
    y = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    y[draw(st.integers(0, n - 1))] = 0
    return np.unique([-1, *y], return_inverse=True)[1][1:] - 1


@st.composite
def labeled_graphs(draw, weights=plain):
    W = draw(weight_matrices(weights=weights))
    return W, draw(labels_of(len(W)))


@st.composite
def labeled_levels(draw):
    """Weights without isolated points, memberships, and labels."""
    W, S = draw(factored_graphs(weights=plain))
    assume((W.sum(axis=1) > 0).all())
    return W, S, draw(labels_of(len(W)))


def with_level(W, S):
    """A hierarchy of one level."""
    graph, memberships = graph_of(W), sp.csr_array(S)
    clusters = cluster_graph(memberships, graph.degrees)
    fitted = FittedLevel(memberships, clusters, None, "made by hand", 0, (), 0.0)
    return Hierarchy((Level.of(graph, fitted, None),), graph, None, None)


def same(found, wanted):
    np.testing.assert_allclose(found.probabilities, wanted, rtol=0, atol=1e-6)


@given(labeled_graphs(), stops)
def test_the_two_naive_copies_agree(case, stop):
    W, y = case
    Y = naive.starts(W, y)
    np.testing.assert_allclose(naive.visits_step_by_step(W, Y, stop), naive.visits(W, Y, stop), rtol=1e-8)


@given(labeled_graphs(), stops, st.integers(1, 6))
def test_on_a_graph_it_gives_the_dense_solution(case, stop, steps):
    W, y = case
    found = graphsoft.propagate(graph_of(W), y, stop=stop, steps=steps)
    same(found, naive.probabilities(W, y, stop, engine.walk(W, steps)))


@given(labeled_levels(), stops, st.integers(1, 6))
def test_on_a_level_it_gives_the_dense_solution_for_its_equivalent_adjacency(case, stop, steps):
    W, S, y = case
    dense, h = engine.equivalent(engine.factor(W, S)), with_level(W, S)
    found = graphsoft.propagate(h, y, level=0, stop=stop, steps=steps)
    same(found, naive.probabilities(dense, y, stop, engine.walk(dense, steps)))
    same(graphsoft.propagate(h, y, stop=stop), naive.probabilities(W, y, stop))


@given(st.integers(0, 100), stops)
def test_an_exact_level_gives_the_same_as_the_graph(seed, stop):
    rng = np.random.default_rng(seed)
    B = rng.random((15, 4)) ** 3 + 0.01
    W = engine.equivalent(B)
    h = with_level(W, B / B.sum(axis=1, keepdims=True))
    y = {0: "a", 4: "b", 5: "b", 9: "c"}
    same(graphsoft.propagate(h, y, level=0, stop=stop), graphsoft.propagate(h, y, stop=stop).probabilities)


@given(labeled_graphs(), stops, st.integers(1, 300))
def test_probabilities_sum_to_one_and_labels_are_kept(case, stop, steps):
    W, y = case
    found = graphsoft.propagate(graph_of(W), y, stop=stop, steps=steps)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-12)
    assert found.probabilities.min() >= 0
    np.testing.assert_array_equal(found.labeled, np.flatnonzero(y != -1))
    np.testing.assert_array_equal(found.labels[found.labeled], y[y != -1])
    for array in (found.probabilities, found.classes, found.labeled, found.labels):
        assert not array.flags.writeable


@given(labeled_levels(), st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(case, random):
    W, S, y = case
    order = np.array(random.sample(range(len(W)), len(W)))
    one, other = with_level(W, S), with_level(W[np.ix_(order, order)], S[order])
    for level in (None, 0):
        found = graphsoft.propagate(one, y, level=level)
        again = graphsoft.propagate(other, y[order], level=level)
        np.testing.assert_allclose(again.probabilities, found.probabilities[order], atol=1e-6)


@given(labeled_graphs())
def test_the_names_of_classes_do_not_matter(case):
    W, y = case
    found = graphsoft.propagate(graph_of(W), y)
    named = graphsoft.propagate(graph_of(W), [None if c == -1 else "zyx"[c] for c in y])
    k = len(found.classes)
    assert named.classes.tolist() == sorted("zyx"[:k])
    np.testing.assert_allclose(named.probabilities, found.probabilities[:, ::-1], atol=1e-12)


def test_unreached_points_get_the_frequencies_of_the_labels():
    graph = nx.disjoint_union_all([nx.complete_graph(4), nx.path_graph(3), nx.empty_graph(2)])
    found = graphsoft.propagate(graph, {0: 7, 1: 7, 2: 3, 7: 7})
    assert found.classes.tolist() == [3, 7]
    np.testing.assert_allclose(found.probabilities[[4, 5, 6, 8]], [[0.25, 0.75]] * 4)
    assert found.probabilities[7].tolist() == [0, 1]  # labeled and isolated
    np.testing.assert_allclose(found.probabilities[3], [0.5, 0.5], atol=1e-9)  # classes weigh alike
    none = graphsoft.propagate(nx.empty_graph(3), {0: "a"})
    assert none.labels.tolist() == ["a"] * 3
    assert none.iterations == 0


def test_isolated_points_learn_from_the_clusters_they_share():
    S = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5], [1, 0]])
    W = np.kron(np.eye(3), [[0, 1], [1, 0]])
    W[4:, 4:] = 0
    found = graphsoft.propagate(with_level(W, S), [-1, 0, 1, -1, -1, -1], level=0)
    np.testing.assert_allclose(
        found.probabilities[[0, 3, 4, 5]], [[1, 0], [0, 1], [0.5, 0.5], [1, 0]], atol=1e-9
    )


def test_a_cluster_without_weight_tells_nothing_of_classes():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1.0
    found = graphsoft.propagate(with_level(W, np.eye(4)[[0, 0, 2, 3]][:, [0, 2, 3]]), [0, -1, 1, -1], level=0)
    np.testing.assert_allclose(found.probabilities[[1, 3]], [[1, 0], [0.5, 0.5]], atol=1e-9)
    for steps in (1, 5):
        again = graphsoft.propagate(with_level(W, np.ones((4, 1))), [0, -1, 1, -1], level=0, steps=steps)
        np.testing.assert_allclose(again.probabilities[[1, 3]], 0.5)


def test_far_from_all_labels_probabilities_are_even():
    n = 4000
    found = graphsoft.propagate(nx.path_graph(n), {0: 0, n - 1: 1})
    P = found.probabilities
    np.testing.assert_allclose(P, P[::-1, ::-1], atol=1e-6)
    assert (np.diff(P[:, 0]) <= 1e-6).all()
    assert P[50, 0] > 0.99
    np.testing.assert_allclose(P[n // 2], 0.5, atol=1e-6)


def test_one_class_or_all_points_labeled_or_a_single_point():
    assert graphsoft.propagate(nx.path_graph(4), {2: "only"}).probabilities.tolist() == [[1.0]] * 4
    found = graphsoft.propagate(nx.path_graph(3), [2, 1, 2])
    assert found.probabilities.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert graphsoft.propagate(nx.empty_graph(1), [5]).labels.tolist() == [5]


def test_labels_are_accepted_in_many_forms():
    graph = nx.path_graph(4)
    wanted = graphsoft.propagate(graph, {0: 1, 3: 2}).probabilities
    forms = [
        [1, -1, -1, 2],
        (1, None, None, 2),
        np.array([1, -1, -1, 2], dtype=np.int8),
        [1.0, np.nan, -1, 2.0],
        np.array([1, np.nan, np.nan, 2]),
        np.array([1, None, -1, 2], dtype=object),
        pd.Series([1, None, None, 2]),
        pd.Series([1, pd.NA, pd.NA, 2], dtype="Int64"),
        pd.Series(["1", None, None, "2"]).astype("category"),
        ["1", -1, None, "2"],
        {3: 2, 0: 1},
        {np.int64(3): "2", 0: "1"},
        {0: -1, 3: 2},  # in a mapping, -1 is a label like any other
    ]
    for form in forms:
        np.testing.assert_array_equal(graphsoft.propagate(graph, form).probabilities, wanted)
    letters = nx.relabel_nodes(graph, dict(enumerate("dcba")))
    np.testing.assert_array_equal(graphsoft.propagate(letters, {"a": 2, "d": 1}).probabilities, wanted)
    assert graphsoft.propagate(graph, {0: True, 3: False}).classes.tolist() == [False, True]


def test_the_walk_of_a_level_has_the_graph_of_its_clusters():
    h = graphsoft.hierarchy(cloud(100), levels=[12, 4])
    for level in h:
        np.testing.assert_allclose(
            level.equivalent_adjacency.clusters.adjacency.toarray(), level.graph.toarray(), atol=1e-9
        )


def test_identical_points_get_identical_probabilities():
    X = np.concatenate([cloud(60, d=2)] * 3)
    labels = dict(zip([0, 13, 25, 37, 49], "abcde", strict=True))
    h = graphsoft.hierarchy(X, levels=[20, 5])
    for level in (None, 0, 1):
        P = graphsoft.propagate(h, labels, level=level, steps=2).probabilities.reshape(3, 60, -1)
        np.testing.assert_array_equal(P[1], P[2])
        others = np.setdiff1d(np.arange(60), list(labels))
        np.testing.assert_array_equal(P[0, others], P[1, others])


def test_identical_points_are_solved_as_one_node():
    X = [[0.0], [0.0], [1.0], [2.0], [2.0], [2.0]]
    graph = graphsoft.knn_graph(X, 2)
    member = np.eye(3)[[0, 0, 1, 2, 2, 2]]
    W = member.T @ graph.adjacency.toarray() @ member
    F = naive.visits(W, np.array([[0.5, 0], [0, 0], [0.5, 1]]), 0.02)  # class 0 has a label at both ends
    F /= F.sum(axis=1, keepdims=True)
    found = graphsoft.propagate(graph, {0: 0, 3: 1, 4: 0})
    np.testing.assert_allclose(found.probabilities[[1, 2, 5]], F, atol=1e-8)
    assert found.labels[[0, 3, 4]].tolist() == [0, 1, 0]


def test_two_labels_a_class_suffice_on_digits():
    digits = read(Path(__file__).parent.parent / "data" / "digits.csv.gz", labels="label")
    truth, h = np.asarray(digits.labels), graphsoft.hierarchy(digits.data, levels=[100, 20])
    rng = np.random.default_rng(0)
    known = np.concatenate(
        [rng.choice(np.flatnonzero(truth == c), 2, replace=False) for c in np.unique(truth)]
    )
    others = np.setdiff1d(np.arange(len(truth)), known)
    for level in (None, 0, 1):
        found = graphsoft.propagate(h, dict(zip(known.tolist(), truth[known], strict=True)), level=level)
        assert (found.labels[others] == truth[others]).mean() > 0.85


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    graph = graphsoft.knn_graph(cloud(3000, d=3))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(graphsoft.propagate(graph, {0: 1, 1000: 2, 2000: 3}).probabilities.tobytes())
    assert found[0] == found[1]


def test_progress_rises_to_its_end():
    calls = []
    graphsoft.propagate(nx.path_graph(50), {0: 1, 49: 2}, progress=lambda *each: calls.append(each))
    assert len(calls) > 5
    assert {(stage, total) for stage, _, total in calls} == {("learning from labels", 100)}
    done = [each[1] for each in calls]
    assert done == sorted(done)
    assert done[-1] == 100


@pytest.mark.parametrize("stop", [1e-4, 1e-3, 0.5, 0.999])
def test_the_residual_is_as_small_as_documented(stop):
    graph = as_graph(nx.path_graph(300))
    found = graphsoft.propagate(graph, {0: 0, 299: 1, 150: 0}, stop=stop)
    assert found.residual <= max(1e-12, 1e-15 / stop)
    dense = naive.probabilities(graph.adjacency.toarray(), [0, *[-1] * 149, 0, *[-1] * 148, 1], stop)
    near = slice(None) if stop < 0.01 else [1, 2, 149, 151, 298]
    np.testing.assert_allclose(found.probabilities[near], dense[near], atol=1e-4)


@given(st.integers(0, 1000), st.integers(1, 8), st.integers(1, 3))
def test_conjugate_gradients_solve(seed, n, k):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    M = Q @ np.diag(rng.uniform(0.01, 2, n)) @ Q.T
    right = rng.normal(size=(n, k))
    right[:, rng.random(k) < 0.3] = 0
    x, steps, residual = conjugate_gradients(lambda v: M @ v, right, 1e-11, 0.01)
    assert residual <= 1e-11
    assert steps <= 10 * n
    np.testing.assert_allclose(M @ x, right, atol=1e-9)


def test_invalid_arguments_are_refused():
    graph = nx.path_graph(3)
    h = graphsoft.hierarchy(graph, levels=[2])
    unfit = (5, None, "abc", {1, 2, 3}, iter([1, 1, 1]), np.array(1), sp.csr_array((3, 1)), np.ones((3, 1)))
    for wrong in (*unfit, [1, 2], {}, [-1, None, np.nan], [[1], [2], [3]]):
        with pytest.raises(InputError, match="y_partial"):
            graphsoft.propagate(graph, wrong)
    for wrong in ([1, "a", -1], {0: 1, 1: "a"}, {0: (1, 2)}, {0: {}, 1: {}}, {0: 1 + 1j, 1: [1]}):
        with pytest.raises(InputError, match="y_partial: holds"):
            graphsoft.propagate(graph, wrong)
    with pytest.raises(InputError, match="y_partial: names no point: 3"):
        graphsoft.propagate(graph, {3: 1})
    for missing in (None, np.nan):
        with pytest.raises(InputError, match="y_partial: has no label for 1"):
            graphsoft.propagate(graph, {0: 1, 1: missing})
    with pytest.raises(InputError, match="level: got 0 without a hierarchy"):
        graphsoft.propagate(graph, {0: 1}, level=0)
    for wrong in (1, -2, 0.0, "0", True):
        with pytest.raises(InputError, match="level"):
            graphsoft.propagate(h, {0: 1}, level=wrong)
    for wrong in (0, 1.5, None):
        with pytest.raises(InputError, match="steps"):
            graphsoft.propagate(graph, {0: 1}, steps=wrong)
    for wrong in (0, 1, 1e-5, np.nan, "0.1", None):
        with pytest.raises(InputError, match="stop"):
            graphsoft.propagate(graph, {0: 1}, stop=wrong)
    with pytest.raises(InputError, match="progress"):
        graphsoft.propagate(graph, {0: 1}, progress=3)


def test_large_labels_stay_different():
    labels = {0: 2**63, 1: 2**63 + 1, 5: -3}
    assert graphsoft.propagate(nx.path_graph(6), labels).classes.tolist() == [-3, 2**63, 2**63 + 1]
