"""Methods that look at features: k-means, mixtures, factorizations and linkage."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.errors import InputError
from graphsoft.methods import (
    GNMF,
    METHODS,
    NMF,
    GaussianMixture,
    KMeans,
    Linkage,
    SphericalKMeans,
    linkage,
)
from graphsoft.methods.nmf import _Smooth
from graphsoft.methods.parts import edge_linkage
from naive.baselines import dissimilarity, mean_log_likelihood, merge, share_of_spread, smooth_loss
from shared.shapes import cloud, cloud_graph, graph_of

ROWS = ["k-means", "spherical-k-means", "gaussian-mixture", "nmf", "regularized-nmf"]
LINKED = ["single-linkage", "complete-linkage", "ward"]
ALL = [*ROWS, *LINKED, "gnmf"]
SPARSE = ["k-means", "spherical-k-means", "nmf", "regularized-nmf", "gnmf", *LINKED]


def groups(labels):
    return {frozenset(np.flatnonzero(labels == q)) for q in set(labels.tolist())}


def together(found):
    """How much any two points share, which does not depend on the order of the clusters."""
    S = found.memberships.toarray()
    return S @ S.T


def texts(n=60, seed=0):
    """Sparse counts of three sets of words."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    often = np.kron(np.eye(3), np.ones(10)) * 2 + 0.05
    return rng.poisson(often[truth]).astype(float), truth


# k-means


def test_the_trace_of_k_means_is_the_share_of_the_spread():
    X = cloud() + 1e4
    found = graphsoft.cluster(X, 4, method="k-means")
    assert found.trace[-1] == pytest.approx(share_of_spread(X, found.labels), rel=1e-6)
    assert found.entropy.max() == 0
    assert "best of 10 starts converged" in found.status
    assert "raise max_sweeps" in graphsoft.cluster(X, 4, method=KMeans(starts=1, max_sweeps=1)).status


def test_more_starts_give_no_worse_results():
    X = np.random.default_rng(1).normal(size=(200, 2))
    for method in (KMeans, SphericalKMeans, NMF):
        one, many = (graphsoft.cluster(X, 8, method=method(starts=n)).trace[-1] for n in (1, 20))
        assert many <= one * (1 + 1e-9)


def test_spherical_k_means_depends_on_directions_only():
    X = cloud() + 1
    found = graphsoft.cluster(X, 4, method="spherical-k-means")
    assert found.trace[-1] == pytest.approx(dissimilarity(X, found.labels), rel=1e-9)
    assert (np.diff(found.trace) <= 1e-12).all()
    longer = X * np.random.default_rng(0).uniform(0.1, 10, size=(len(X), 1))
    np.testing.assert_allclose(
        together(graphsoft.cluster(longer, 4, method="spherical-k-means")), together(found)
    )


def test_rows_of_zeros_belong_to_all_clusters_equally():
    X = np.vstack([np.eye(3), 2 * np.eye(3), np.zeros((2, 3))])
    found = graphsoft.cluster(X, 2, method="spherical-k-means")
    np.testing.assert_allclose(found.memberships.toarray()[-2:], 0.5)
    assert found.entropy[:-2].max() == 0
    nothing = graphsoft.cluster(np.zeros((4, 3)), 2, method="spherical-k-means")
    np.testing.assert_allclose(nothing.memberships.toarray(), 0.5)
    assert nothing.status == "no row has a direction; 1 of 2 clusters are the likeliest of no point"


def test_a_center_without_rows_takes_the_least_similar_row():
    # opposite rows cancel: their sum has no direction
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.9, 0.1], [-0.9, -0.1], [0.0, 1.0]])
    for seed in range(20):
        found = graphsoft.cluster(X, 3, method=SphericalKMeans(starts=1), rng=seed)
        assert (np.diff(found.trace) <= 1e-12).all()
        assert len(set(found.labels.tolist())) == 3


@pytest.mark.parametrize("name", ROWS + LINKED)
def test_as_many_distinct_rows_as_clusters_or_fewer(name):
    X = np.repeat([[1.0, 5.0], [2.0, 3.0], [4.0, 1.0]], 4, axis=0)
    found = graphsoft.cluster(X, 5, method=name)
    assert groups(found.labels) == {frozenset(range(start, start + 4)) for start in (0, 4, 8)}
    empty = "2 of 5 clusters are the likeliest of no point"
    assert found.status == f"one cluster for each of 3 different rows; {empty}"
    assert found.memberships.shape == (12, 5)


# A mixture


def test_the_trace_of_the_mixture_is_its_likelihood():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[:150] = X[:150] @ [[2.0, 0.0], [1.5, 0.3]]
    X[150:, 1] += 4
    found = graphsoft.cluster(X, 2, method="gaussian-mixture")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    S = found.memberships.toarray()
    means = [np.average(Z, axis=0, weights=share) for share in S.T]
    covariances = [np.cov(Z.T, aweights=share, bias=True) for share in S.T]
    likelihood = mean_log_likelihood(Z, S.mean(axis=0), means, covariances)
    assert -found.trace[-1] == pytest.approx(likelihood, abs=1e-4)
    assert (np.diff(found.trace) <= 1e-9).all()
    assert graphsoft.metrics.accuracy(np.arange(300) // 150, found.labels) > 0.97
    assert 0 < found.entropy.mean() < 0.2
    assert "raise max_sweeps" in graphsoft.cluster(X, 2, method=GaussianMixture(max_sweeps=2)).status


def test_units_and_repeated_features_do_not_harm_the_mixture():
    X = cloud()
    found = together(graphsoft.cluster(X, 3, method="gaussian-mixture"))
    units = together(graphsoft.cluster(X * [1e-60, 1.0, 1e60], 3, method="gaussian-mixture"))
    np.testing.assert_allclose(units, found, atol=1e-6)
    repeated = graphsoft.cluster(np.hstack([X, X]), 3, method="gaussian-mixture")
    assert np.isfinite(repeated.memberships.data).all()
    assert (np.diff(repeated.trace) <= 1e-4).all()


# Factorizations


def test_factorization_finds_exact_factors():
    rng = np.random.default_rng(0)
    V, U = (
        rng.dirichlet(np.full(3, 0.1), size=50),
        rng.uniform(size=(8, 3)) * (rng.uniform(size=(8, 3)) < 0.5),
    )
    found = graphsoft.cluster(V @ U.T, 3, method=NMF(max_sweeps=5000))
    assert found.trace[-1] < 1e-6
    assert graphsoft.metrics.accuracy(V.argmax(axis=1), found.labels) > 0.9
    penalized = graphsoft.cluster(V @ U.T, 3, method="regularized-nmf")
    assert penalized.trace[-1] > 0.01  # it includes the penalty


def test_factorization_shifts_only_columns_with_negative_values():
    X = cloud() + 30.0
    X[:, 0] -= X[:, 0].min()
    found = together(graphsoft.cluster(X, 3, method="nmf"))
    lower = X - [7.0, 0.0, 0.0]
    np.testing.assert_allclose(together(graphsoft.cluster(lower, 3, method="nmf")), found, atol=1e-6)


@pytest.mark.parametrize("name", ["nmf", "regularized-nmf", "gnmf"])
def test_sparse_rows_with_negative_values_are_refused(name):
    X = sp.csr_array(np.array([[0.0, -1.0], [2.0, 0.0], [1.0, 1.0]]))
    with pytest.raises(InputError, match="is sparse and has entries below 0"):
        graphsoft.cluster(X, 2, method=name, n_neighbors=2)


@pytest.mark.parametrize("smoothness", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_update_of_smooth_factorization_lowers_the_loss(smoothness, sparse):
    W = cloud_graph()
    X = np.random.default_rng(0).uniform(size=(60, 7)) * (
        np.random.default_rng(1).uniform(size=(60, 7)) < 0.6
    )
    shares = np.random.default_rng(2).dirichlet(np.ones(4), size=60)
    state = _Smooth(sp.csr_array(X) if sparse else X, graph_of(W), smoothness, shares)

    def loss():
        unit = np.sqrt(np.square(X).sum() / len(X))
        return smooth_loss(X, W, state.V * unit, state.U, smoothness)

    before = loss()
    assert state.loss() == pytest.approx(before)
    for _ in range(5):
        for update in (state.update_coordinates, state.update_basis):
            update()
            now = loss()
            assert now <= before * (1 + 1e-12)
            assert state.loss() == pytest.approx(now)
            before = now
        np.testing.assert_allclose(np.linalg.norm(state.U, axis=0), 1)


def test_the_status_of_smooth_factorization_says_how_it_stopped():
    X = cloud() + 20
    found = graphsoft.cluster(X, 4, method=GNMF(max_sweeps=3))
    assert found.sweeps == 3
    assert "still falling by" in found.status
    ended = graphsoft.cluster(X, 4, method=GNMF(max_sweeps=2000))
    assert ended.status == f"converged after {ended.sweeps} sweeps"


# Linkage


@pytest.mark.parametrize("kind", ["single", "complete", "ward"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_linkage_follows_its_definition(kind, metric):
    rng = np.random.default_rng(5)
    for count in (2, 3, 7):
        X = rng.normal(size=(14, 3))
        order = {"euclidean": 2, "manhattan": 1}[metric]
        expected = merge(X, kind, count, lambda one, other, order=order: np.linalg.norm(one - other, order))
        found = graphsoft.cluster(X, count, method=Linkage(kind), metric=metric)
        assert groups(found.labels) == expected
        assert found.trace == ()


@pytest.mark.parametrize("kind", ["single", "complete", "ward"])
def test_linkage_along_a_graph(kind, monkeypatch):
    monkeypatch.setattr(linkage, "MAX_POINTS", 50)
    X = np.vstack([cloud(60, seed=seed, centers=1) + 40 * np.eye(3)[seed] for seed in range(3)])
    assert Linkage(kind).reads(len(X), featured=True) == {"features", "graph"}
    found = graphsoft.cluster(X, 3, method=Linkage(kind))
    assert groups(found.labels) == {frozenset(range(start, start + 60)) for start in (0, 60, 120)}
    assert "edges of the graph" in found.status
    # the three clouds are three components, which must be connected for fewer clusters
    assert len(groups(graphsoft.cluster(X, 2, method=Linkage(kind)).labels)) == 2


def test_sparse_rows_are_merged_along_a_graph(monkeypatch):
    monkeypatch.setattr(linkage, "MAX_POINTS", 50)
    truth = np.arange(90) // 30
    X = np.repeat(np.eye(3), 4, axis=1)[truth] * np.random.default_rng(0).uniform(9, 10, size=(90, 12))
    found = graphsoft.cluster(sp.csr_array(X), 3, method="single-linkage")
    assert graphsoft.metrics.accuracy(truth, found.labels) == 1
    with pytest.raises(InputError, match="has 90 sparse rows, and Ward linkage would make them dense"):
        graphsoft.cluster(sp.csr_array(X), 3, method="ward")


@pytest.mark.parametrize("kind", ["single", "complete", "ward"])
@pytest.mark.parametrize("seed", range(3))
def test_linkage_along_a_complete_graph_equals_that_of_all_pairs(kind, seed, monkeypatch):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    whole = graphsoft.cluster(X, 6, method=Linkage(kind), n_neighbors=39)
    monkeypatch.setattr(linkage, "MAX_POINTS", 30)
    along = graphsoft.cluster(X, 6, method=Linkage(kind), n_neighbors=39)
    assert groups(along.labels) == groups(whole.labels)


@pytest.mark.parametrize("kind", ["single", "complete"])
def test_linkage_along_a_graph_follows_its_definition(kind, monkeypatch):
    monkeypatch.setattr(linkage, "MAX_POINTS", 10)
    X = np.random.default_rng(1).normal(size=(25, 2))
    edges = graphsoft.knn_graph(X, 5).adjacency.toarray() > 0
    none = np.inf if kind == "single" else -np.inf  # pairs without an edge do not count
    lengths = np.where(edges, np.linalg.norm(X[:, None] - X, axis=2), none)
    number = np.arange(25)[:, None].astype(float)

    def distance(one, other):
        return lengths[int(one[0]), int(other[0])]

    for count in (2, 5, 12):
        found = graphsoft.cluster(X, count, method=Linkage(kind), n_neighbors=5)
        assert groups(found.labels) == merge(number, kind, count, distance)


def test_linkage_refuses_what_it_cannot_compute(monkeypatch):
    monkeypatch.setattr(linkage, "MAX_POINTS", 50)
    monkeypatch.setattr(edge_linkage, "MAX_COMPONENTS", 50)
    with pytest.raises(InputError, match="metric: got 'canberra' for 80 points"):
        graphsoft.cluster(cloud(), 3, method="complete-linkage", metric="canberra")
    far = np.repeat(np.arange(60.0)[:, None] * 100, 2, axis=0) + np.tile([[0.0], [1.0]], (60, 1))
    with pytest.raises(InputError, match="falls into 60 components"):
        graphsoft.cluster(far, 20, method="single-linkage", n_neighbors=1)


def test_zero_rows_have_no_direction_in_linkage():
    X = np.vstack([np.eye(3), np.eye(3) * 2 + 0.1, np.zeros((1, 3))])
    found = graphsoft.cluster(X, 4, method="complete-linkage", metric="cosine")
    assert groups(found.labels) == {frozenset({0, 3}), frozenset({1, 4}), frozenset({2, 5}), frozenset({6})}


# All methods


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_equals_dense(name):
    X, truth = texts()
    metric = "cosine" if name == "single-linkage" else "euclidean"
    dense = graphsoft.cluster(X, 3, method=name, metric=metric)
    sparse = graphsoft.cluster(sp.csr_array(X), 3, method=name, metric=metric)
    np.testing.assert_allclose(together(sparse), together(dense), atol=1e-6)
    np.testing.assert_allclose(sparse.trace, dense.trace, rtol=1e-6)
    if name != "single-linkage":
        assert graphsoft.metrics.accuracy(truth, dense.labels) == 1


def test_sparse_rows_too_large_for_dense_ones_are_refused():
    X = sp.csr_array(([1.0, 2.0, 3.0], ([0, 1, 2], [0, 1, 999])), shape=(3, 1001))
    with pytest.raises(
        InputError, match="has 1001 features, and each cluster needs a covariance for every two"
    ):
        graphsoft.cluster(X, 2, method="gaussian-mixture")
    tall = sp.csr_array((np.arange(1.0, 4.0), ([0, 1, 2], [0, 1, 2])), shape=(70_000, 1000))
    with pytest.raises(InputError, match="a mixture would make its 70000 x 1000 cells dense"):
        graphsoft.cluster(tall, 2, method="gaussian-mixture")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("unit", [1e-90, 1e90, 1e-300])
def test_units_do_not_matter(name, unit):
    X = cloud(40) + 20
    found = graphsoft.cluster(X, 4, method=name)
    scaled = graphsoft.cluster(X * unit, 4, method=name)
    np.testing.assert_allclose(together(scaled), together(found), atol=1e-6)
    np.testing.assert_allclose(scaled.trace, found.trace, rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_features_of_very_different_scale(name):
    X = cloud(40)
    X[:, 0] *= 1e150
    X[:, 1] *= 1e-150
    found = graphsoft.cluster(X, 4, method=name)
    assert np.isfinite(found.memberships.data).all()
    assert np.isfinite(found.trace).all()


@pytest.mark.parametrize("name", ["spherical-k-means", "nmf", "gnmf"])
def test_progress(name):
    seen = []
    X = np.random.default_rng(0).uniform(size=(80, 4))
    graphsoft.cluster(
        X, 5, method=name, progress=lambda stage, done, total: seen.append((stage, done, total))
    )
    stages = [(done, total) for stage, done, total in seen if "factorization" in stage or "k-means" in stage]
    assert stages[0][0] == 1
    assert all(done <= total for done, total in stages)


@pytest.mark.parametrize("name", ["k-means", "spherical-k-means", "gaussian-mixture", "nmf"])
def test_the_same_seed_gives_the_same_result(name):
    X = np.random.default_rng(0).uniform(size=(80, 4))
    first, second = (graphsoft.cluster(X, 5, method=name, rng=7) for _ in range(2))
    assert first.memberships.data.tobytes() == second.memberships.data.tobytes()


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        (lambda: KMeans(starts=0), "starts"),
        (lambda: SphericalKMeans(max_sweeps=1.5), "max_sweeps"),
        (lambda: GaussianMixture(starts=True), "starts"),
        (lambda: NMF(penalty=-1), "penalty"),
        (lambda: NMF(penalty=float("nan")), "penalty"),
        (lambda: GNMF(smoothness="much"), "smoothness"),
        (lambda: GNMF(start="middle"), "start"),
        (lambda: Linkage("average"), "kind"),
    ],
)
def test_bad_settings_are_refused(settings, argument):
    with pytest.raises(InputError, match=f"{argument}: got"):
        settings()


def test_the_rows_in_the_table():
    assert METHODS["ward"] == Linkage("ward")
    assert METHODS["nmf"].penalty == 0 < METHODS["regularized-nmf"].penalty


@pytest.mark.parametrize("settings", [NMF(penalty=Fraction(1, 2)), GNMF(smoothness=Fraction(1, 2))])
def test_fractions_are_numbers(settings):
    found = graphsoft.cluster(np.abs(cloud(30)) + 1, 3, method=settings)
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
