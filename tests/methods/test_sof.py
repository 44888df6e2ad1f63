"""Soft-cluster factorization: its formulas, its penalties, and whole runs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.graph.features import Features
from graphsoft.graph.pairwise import all_pairs
from graphsoft.methods import Sample, SoF
from graphsoft.methods.sof import PAIRS, STAGES, _Problem, _proper, _with_known_pairs
from naive import sof as naive_sof
from shared.shapes import cloud, cloud_graph, factorized, graph_of, ring_of_cliques
from shared.strategies import extreme, graphs, weight_matrices

CHANCES = ["relative", "absolute"]


def chances_of(W, chances):
    """The probabilities that are factorized for a graph with these weights."""
    P = W / W.max()
    if chances == "relative":
        return naive_sof.divided(P)
    if (np.diag(P) > 0).all():
        P = naive_sof.divided_by_loops(P)
    return P - np.diag(np.diag(P)) + np.eye(len(P))


def dense(problem):
    return problem.chances.toarray() + np.diag(problem.own)


def problem_of(W, chances):
    graph = graph_of(W)  # scales extreme weights
    return _Problem.of(graph, graph.adjacency.data.max(), chances == "relative", float(chances == "absolute"))


@st.composite
def factors(draw, n):
    """Any numbers, also negative ones."""
    k = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(st.integers(-4, 8), min_size=k, max_size=k), min_size=n, max_size=n))
    return np.array(rows) / 8.0


# The formulas


@pytest.mark.parametrize("chances", CHANCES)
@given(W=weight_matrices())
def test_chances(chances, W):
    if not W.any():
        return
    np.testing.assert_allclose(dense(problem_of(W, chances)), chances_of(W, chances), rtol=1e-9, atol=1e-290)


def test_chances_of_all_pairs():
    X = cloud(30)
    graph = all_pairs(Features(X), "relative", 10)
    P = np.exp(-naive_sof.relative_distances(X, 10))
    np.testing.assert_allclose(dense(_Problem.of(graph, 1.0, False, 1.0)), P, rtol=1e-6)
    np.testing.assert_allclose(dense(_Problem.of(graph, 1.0, True, 1.0)), naive_sof.divided(P), rtol=1e-6)


@pytest.mark.parametrize("chances", CHANCES)
@given(
    W=weight_matrices(weights=st.floats(0.1, 10)), data=st.data(), penalty=st.sampled_from([0.01, 1.0, 100.0])
)
def test_squares_penalties_and_gradient(chances, W, data, penalty):
    if not W.any():
        return
    P, F = chances_of(W, chances), data.draw(factors(len(W)))
    if not F.any():
        return
    problem = problem_of(W, chances)
    alpha = naive_sof.best_alpha(P, F) if chances == "relative" else 1.0
    scale = 1 + (F @ F.T).max() ** 2 * len(P) ** 2 * max(1, alpha**2)
    value, slope = problem.penalized(penalty, 2.0)(F)
    assert value == pytest.approx(naive_sof.penalized(P, F, penalty, 2.0, alpha), rel=1e-9, abs=1e-12 * scale)
    np.testing.assert_allclose(
        slope, naive_sof.gradient(P, F, penalty, 2.0, alpha), rtol=1e-9, atol=1e-12 * scale
    )
    error = naive_sof.squares(P, F, alpha) / (P**2).sum()
    assert problem.error(F) == pytest.approx(error, rel=1e-9, abs=1e-12 * scale)


@given(data=st.data())
def test_proper_memberships(data):
    F = data.draw(factors(5))
    np.testing.assert_allclose(_proper(F), naive_sof.proper(F), rtol=1e-12)


def test_the_gradient_matches_finite_differences():
    W, rng = cloud_graph(), np.random.default_rng(0)
    F, way = rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
    for chances in CHANCES:
        function = problem_of(W, chances).penalized(0.3, 1.0)
        difference = (function(F + 1e-6 * way)[0] - function(F - 1e-6 * way)[0]) / 2e-6
        assert (function(F)[1] * way).sum() == pytest.approx(difference, rel=1e-6)


# Whole runs


@pytest.mark.parametrize("chances", CHANCES)
@pytest.mark.parametrize("start", ["contraction", "random"])
@given(graph=graphs(min_size=3, weights=extreme), data=st.data())
@settings(max_examples=40)
def test_any_graph_is_factorized(chances, start, graph, data):
    k = data.draw(st.integers(2, len(graph)))
    found = factorized(SoF(chances=chances, start=start, max_steps=20), graph, k)
    S = found.memberships
    assert S.shape == (len(graph), k)
    assert (S.data > 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-9)
    assert np.isfinite(found.trace).all()
    assert (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize("chances", CHANCES)
def test_the_trace_is_the_unexplained_share_of_the_squares(chances):
    W = cloud_graph()
    P = chances_of(W, chances)
    found = factorized(SoF(chances=chances), graph_of(W), 6)
    S = found.memberships.toarray()
    alpha = naive_sof.best_alpha(P, S) if chances == "relative" else 1.0
    assert len(found.trace) == STAGES + 1
    assert found.trace[-1] < found.trace[0]
    assert found.trace[-1] == pytest.approx(naive_sof.squares(P, S, alpha) / (P**2).sum(), rel=1e-4)


@pytest.mark.parametrize("chances", CHANCES)
def test_projected_gradient_steps_find_nothing_better(chances):
    """The penalties lead to memberships that small changes cannot improve."""
    W = cloud_graph()
    P = chances_of(W, chances)
    S = factorized(SoF(chances=chances, max_steps=1000), graph_of(W), 6).memberships.toarray()
    alpha = naive_sof.best_alpha(P, S) if chances == "relative" else 1.0
    before = naive_sof.squares(P, S, alpha)
    _, after = naive_sof.descended(P, S, 30, chances == "relative")
    assert before - after < 2e-3 * (P**2).sum()


def test_relative_chances_do_not_depend_on_units():
    W = cloud_graph()
    S = factorized(SoF(), graph_of(W), 6).memberships.toarray()
    for factor in (2.0**-290, 2.0**290):
        again = factorized(SoF(), graph_of(W * factor), 6).memberships.toarray()
        np.testing.assert_allclose(again, S, atol=1e-6)


def test_few_points_with_features_are_factorized_in_pairs():
    assert SoF().reads(2000, True) == {"features", "graph"}
    assert SoF(start="random").reads(2000, True) == {"features"}
    assert (
        SoF().reads(2001, True) == SoF().reads(10, False) == SoF(pairs="graph").reads(10, True) == {"graph"}
    )
    assert SoF(pairs="all").reads(5000, False) == {"features", "graph"}
    X = cloud()
    whole = graphsoft.cluster(X, 5, method="sof").memberships
    pairs = graphsoft.cluster(X, 5, method=SoF(pairs="all")).memberships
    assert (whole != pairs).nnz == 0
    graph = graphsoft.cluster(X, 5, method=SoF(pairs="graph")).memberships
    again = graphsoft.cluster(graphsoft.knn_graph(X), 5, method="sof").memberships
    assert (graph != again).nnz == 0
    assert np.abs((graph - whole).toarray()).max() > 0.01


def test_a_graph_of_clusters():
    h = graphsoft.hierarchy(graph_of(ring_of_cliques(cliques=8)), [8, 4], method=["relation", "sof"])
    S = h[1].memberships.toarray()
    assert (S.max(axis=1) > 0.5).all()
    assert set(np.bincount(h[1].labels, minlength=4)) == {10}
    absolute = SoF(chances="absolute", pairs="graph")
    assert len(graphsoft.hierarchy(cloud_graph(), [20, 5], affinity="features", method=absolute)) == 2


def test_clusters_with_mean_features_are_clustered_by_their_graph():
    X = cloud(400)
    levels = [graphsoft.hierarchy(X, [20, 5], method=["relation", SoF(pairs=pairs)]) for pairs in PAIRS]
    auto, whole, graph = (h[1].memberships.toarray() for h in levels)
    assert (auto == graph).all()
    assert np.abs(whole - graph).max() > 0.01


@pytest.mark.parametrize("pairs", ["all", "graph"])
def test_known_pairs(pairs):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [3, 0], [6, 0]], 20, axis=0)
    middle, right = range(20, 40), range(40, 60)
    together = [(i, i + 20) for i in middle] + [(i, (i - 19) % 20 + 40) for i in middle]
    apart = [(i, j) for i in range(20) for j in middle]
    found = graphsoft.cluster(X, 2, method=SoF(pairs=pairs), must_link=together, cannot_link=apart)
    labels = found.labels
    assert (labels[list(middle)] == labels[20]).all()
    assert (labels[list(right)] == labels[20]).mean() > 0.9
    assert (labels[:20] != labels[20]).all()


def test_chances_of_known_pairs():
    W = np.array([[0, 4, 2], [4, 0, 0], [2, 0, 0.0]])
    side = sp.csr_array([[0, 0, -1], [0, 0, 1], [-1, 1, 0.0]])
    informed = _with_known_pairs(graph_of(W), 4.0, side)
    assert informed.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert informed.adjacency.nnz == 4


@pytest.mark.parametrize("chances", CHANCES)
def test_all_pairs_known_to_be_apart(chances):
    graph = graph_of(np.ones((4, 4)) - np.eye(4))
    side = sp.csr_array(np.eye(4) - np.ones((4, 4)))
    found = SoF(chances=chances).cluster(Sample(graph, None, side), 2, np.random.default_rng(0))
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
    assert (found.status == "no pair has a chance: not fitted") == (chances == "relative")


def test_the_status_asks_for_more_steps():
    found = factorized(SoF(max_steps=2), graph_of(cloud_graph()), 6)
    assert found.status.startswith("stopped at ")
    assert found.status.endswith("a step: raise max_steps")
    assert found.sweeps <= 2 * STAGES
    assert factorized(SoF(max_steps=1000), graph_of(cloud_graph()), 6).status.startswith("converged after ")


def test_progress():
    calls = []
    SoF().cluster(
        Sample(graph_of(cloud_graph())), 6, np.random.default_rng(0), lambda *call: calls.append(call)
    )
    assert {call[0] for call in calls} == {"fitting memberships"}
    done = [call[1] for call in calls]
    assert done == sorted(done)
    assert done[-1] <= calls[-1][2] == STAGES * SoF().max_steps


@pytest.mark.parametrize(
    ("argument", "value"),
    [("neighbors", 0), ("pairs", "some"), ("chances", 1), ("start", "k-means"), ("max_steps", True)],
)
def test_bad_settings(argument, value):
    with pytest.raises(InputError, match=f"{argument}: got "):
        SoF(**{argument: value})
