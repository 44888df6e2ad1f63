"""Completely positive factorization of tuples: updates, whole runs, and arguments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import CompletelyPositive, Sample, cluster_tuples
from graphsoft.methods.tuples import _listed, _rows
from naive import completely_positive as naive
from shared.row_updates import by_rows, compare
from shared.shapes import graph_of
from shared.strategies import small, weight_matrices

few = settings(max_examples=40)


@st.composite
def tensors(draw):
    n, order = draw(st.integers(4, 6)), draw(st.integers(2, 4))
    tuples = draw(
        st.lists(
            st.lists(st.integers(0, n - 1), min_size=order, max_size=order, unique=True),
            min_size=1,
            max_size=9,
        )
    )
    tensor = {tuple(sorted(each)): draw(st.sampled_from([0.2, 0.5, 1.0])) for each in tuples}
    G = np.random.default_rng(draw(st.integers(0, 99))).random((n, draw(st.integers(1, 3))))
    G[0, 0] *= draw(st.sampled_from([0.0, 1.0, 1e5]))
    return tensor, G, order


@pytest.mark.parametrize("known_only", [False, True])
@given(problem=tensors())
@few
def test_updates_of_tuples_lower_the_energy(problem, known_only):
    tensor, G, order = problem
    target = _listed(_rows(list(tensor)), np.array([tensor[t] for t in sorted_as_rows(tensor)]), len(G))
    energy = naive.tuple_energy(tensor, G, order, known_only)
    slow = naive.tuple_updates(tensor, G, order, known_only)
    compare(slow, by_rows(target, G, known_only), energy, target.squared)


def sorted_as_rows(tensor):
    return [tuple(row) for row in _rows(list(tensor)).tolist()]


@pytest.mark.parametrize("order", [3, 4])
def test_sums_of_every_degree_are_computed_again_if_one_point_holds_almost_all(order):
    tensor = {(0, 1, 2, 3)[:order]: 0.2}
    G = np.array([[6e4, 1e3], [0.3, 0.2], [0.04, 5.0], [0.02, 0.1], [0.5, 0.01]])
    target = _listed(_rows(list(tensor)), np.array([0.2]), len(G))
    slow = list(naive.tuple_updates(tensor, G, order, known_only=False))
    for s, (found, _) in enumerate(by_rows(target, G, known_only=False)):
        np.testing.assert_allclose(found, slow[2 * s + 1][0], rtol=1e-9)


def lines(n=12, seed=0):
    """All triples of points on two crossing lines, how well each triple lies on one line, and the lines."""
    from itertools import combinations

    t = np.linspace(-1, 1, n)
    X = np.concatenate([np.column_stack([t, t]), np.column_stack([t, -t])])
    X += np.random.default_rng(seed).normal(0, 0.005, X.shape)
    triples = np.array(list(combinations(range(2 * n), 3)))
    flat = [np.linalg.svd(X[each] - X[each].mean(axis=0))[1][1] for each in triples]
    return triples, np.exp(-((np.array(flat) / 0.02) ** 2)), np.repeat([0, 1], n)


@pytest.mark.parametrize("unstored", ["zero", "unknown"])
def test_triples_find_lines_that_pairs_cannot(unstored):
    triples, affinity, truth = lines()
    found = cluster_tuples(triples, 2, affinity, unstored=unstored)
    assert graphsoft.metrics.accuracy(truth, found.labels) == 1
    assert (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize("unstored", ["zero", "unknown"])
@given(W=weight_matrices(4, 10, small))
@few
def test_tuples_of_two_give_the_same_as_pairs(W, unstored):
    np.fill_diagonal(W, 0)
    W[np.arange(len(W)), (np.arange(len(W)) + 1) % len(W)] += 1  # a ring, so that no node is isolated
    W[(np.arange(len(W)) + 1) % len(W), np.arange(len(W))] += 1
    W /= W.max()  # as both do; otherwise rounding would decide between equally good contractions
    i, j = np.nonzero(np.triu(W))
    found = cluster_tuples(np.column_stack([j, i]), 3, W[i, j], unstored=unstored)
    pairs = CompletelyPositive("none", unstored).cluster(Sample(graph_of(W)), 3, np.random.default_rng(0))
    np.testing.assert_allclose(found.memberships.toarray(), pairs.memberships.toarray(), atol=1e-9)
    np.testing.assert_allclose(found.trace, pairs.trace, rtol=1e-9, atol=1e-12)


@given(tensors(), st.integers(0, 9))
@few
def test_the_order_of_tuples_and_points_does_not_matter(problem, seed):
    tensor, _, _ = problem
    random = np.random.default_rng(seed)
    rows = [random.permutation(t) for t in tensor]
    order = random.permutation(len(rows))
    one = cluster_tuples(list(tensor), 2, list(tensor.values()), points=6)
    other = cluster_tuples([rows[at] for at in order], 2, np.array(list(tensor.values()))[order], points=6)
    np.testing.assert_allclose(one.memberships.toarray(), other.memberships.toarray(), atol=1e-9)


def test_points_in_no_tuple_belong_to_all_clusters_equally():
    found = cluster_tuples([(0, 1, 2), (3, 4, 6)], 2, points=8)
    S = found.memberships.toarray()
    assert S.shape == (8, 2)
    assert (S[[5, 7]] == 0.5).all()
    assert found.status.endswith("2 points are in no tuple")
    assert len(set(found.labels[[0, 1, 2]])) == len(set(found.labels[[3, 4, 6]])) == 1
    assert found.labels[0] != found.labels[3]


def test_extreme_affinities_of_tuples():
    found = cluster_tuples([(0, 1, 2), (2, 3, 4), (4, 5, 0)], 2, [1e-90, 1.0, 1e90])
    assert np.isfinite(found.memberships.data).all()
    assert (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize(
    ("tuples", "keywords", "words"),
    [
        ([], {}, r"tuples: got \[\]"),
        (5, {}, "tuples: got 5"),
        ([(0, 1, 2), (0, 1)], {}, r"tuples: got \[\(0, 1, 2\), \(0, 1\)\]"),
        ([(0,)], {}, r"tuples: got \[\(0,\)\]"),
        ([(0.5, 1.0)], {}, "tuples: got"),
        ([("a", "b")], {}, "tuples: got"),
        ([(0, 1, 0)], {}, r"tuples: name a point twice in \(0, 0, 1\)"),
        ([(0, -1, 2)], {}, "tuples: hold the point -1"),
        ([(0, 1), (1, 0)], {}, r"tuples: hold \(0, 1\) more than once"),
        ([(0, 1, 7)], {"points": 5}, "tuples: name point 7 of 5 points"),
        ([(0, 1)], {"k": 3}, "k: got 3 clusters for 2 points"),
        ([(0, 1)], {"k": 0}, "k: got 0"),
        ([(0, 1)], {"affinity": [1, 2]}, r"affinity: got \[1, 2\] for 1 tuples"),
        ([(0, 1)], {"affinity": [-1.0]}, "affinity: got"),
        ([(0, 1)], {"affinity": [0.0]}, "affinity: got"),
        ([(0, 1)], {"affinity": [np.nan]}, "affinity: got"),
        ([(0, 1)], {"affinity": ["high"]}, "affinity: got"),
        ([(0, 1)], {"affinity": [10**400]}, "affinity: got"),
        ([(0, 1)], {"points": 10**400}, "points: asks for"),
        ([(0, 2**40)], {}, "tuples: asks for 1099511627777 points"),
        ([(0, 1, 10**9)], {}, "tuples: name point 1000000000, but only 3 points in all.*points=1000000001"),
        ([(0, 1)], {"unstored": "maybe"}, "unstored: got 'maybe'"),
        ([(0, 1)], {"start": "none"}, "start: got 'none'"),
        ([(0, 1)], {"tolerance": 0}, "tolerance: got 0"),
        ([(0, 1)], {"max_sweeps": 0}, "max_sweeps: got 0"),
        ([(0, 1)], {"points": 0}, "points: got 0"),
        ([(0, 1)], {"progress": 1}, "progress: got 1"),
        ([(0, 1)], {"rng": "seed"}, "rng: got 'seed'"),
    ],
)
def test_bad_tuples_are_refused(tuples, keywords, words):
    keywords = {"k": 1, **keywords}
    with pytest.raises(InputError, match=words):
        cluster_tuples(tuples, **keywords)
