"""The estimators do what the functions do, and say what is wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import graphsoft
from graphsoft import InputError, SoftClustering, SoftHierarchy
from graphsoft.linalg.memberships import likeliest
from graphsoft.methods import METHODS, Relation
from graphsoft.neighbors.weights import WEIGHTS

NEAREST = "precomputed_nearest_neighbors"
few_points = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-3, 3).map(float)
)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(120, 3)) + np.repeat([0, 4, 8], 40)[:, None]


@pytest.fixture(scope="module")
def new():
    return np.random.default_rng(1).normal(size=(30, 3)) + np.repeat([0, 4, 8], 10)[:, None]


def apart(one, two):
    return abs(one - two).max()


@pytest.mark.parametrize("method", METHODS)
def test_a_clustering_is_that_of_the_function(X, method):
    model, found = SoftClustering(3, method=method).fit(X), graphsoft.cluster(X, 3, method)
    memberships = found.memberships
    if "graph" not in METHODS[method].reads(len(X), True):
        # without a graph the heaviest cluster is that of the most points, not of the most weight
        shared = (model.hierarchy_[0].memberships.T @ memberships).toarray()
        memberships = memberships[:, linear_sum_assignment(-shared)[1]]
    assert (model.labels_ == likeliest(memberships)).all()
    assert apart(model.hierarchy_[0].memberships, memberships) < 1e-12
    assert (model.predict(X) == model.labels_).all()
    assert model.get_feature_names_out()[-1] == "softclustering_0-2"


@pytest.mark.parametrize("levels", [[12, 3], 5, "auto"])
def test_a_hierarchy_is_that_of_the_function(X, new, levels):
    model, h = SoftHierarchy(levels).fit(X), graphsoft.hierarchy(X, levels)
    assert (model.labels_ == h[-1].labels).all()
    assert apart(model.transform(new), h.transform(new)) == 0
    assert apart(model.predict_proba(new), h.predict_proba(new)) == 0
    assert (model.predict(new) == h.predict(new)).all()


def test_the_level_that_answers(X, new):
    model = SoftHierarchy([12, 3], level=0).fit(X)
    assert (model.labels_ == model.hierarchy_[0].labels).all()
    assert model.predict_proba(new).shape == (30, 12)
    assert model.transform(new).shape == (30, 15)
    names = model.get_feature_names_out()
    assert [names[0], names[11], names[12]] == [
        "softhierarchy_0-0",
        "softhierarchy_0-11",
        "softhierarchy_1-0",
    ]


def test_without_levels_there_is_one_of_n_clusters(X):
    model = SoftHierarchy(n_clusters=4).fit(X)
    assert [level.mass.size for level in model.hierarchy_] == [4]


@pytest.mark.filterwarnings("ignore::graphsoft.GraphsoftWarning")
@given(few_points, st.data())
def test_fitted_points_keep_their_memberships(X, data):
    distinct = len(np.unique(X, axis=0))  # with more clusters equal points are set apart
    sizes = sorted(data.draw(st.sets(st.integers(1, distinct), min_size=1, max_size=3)), reverse=True)
    model = SoftHierarchy(sizes, n_neighbors=3)
    first = model.fit_transform(X)
    assert apart(first, sp.hstack([level.memberships for level in model.hierarchy_])) == 0
    assert apart(model.transform(X), first) == 0
    assert (model.predict(X) == model.labels_).all()
    assert (model.fit_predict(X) == model.labels_).all()
    other = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert apart(other.transform(X + 0.25), model.transform(X + 0.25)) == 0
    dense = clone(model).set_params(sparse_output=False).fit(X)
    assert (dense.transform(X) == first.toarray()).all()
    assert (dense.predict_proba(X) == model.predict_proba(X).toarray()).all()


def test_sparse_features(X, new):
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        model = SoftHierarchy([6, 3], metric="cosine").fit(form(X))
        assert (model.predict(form(new)) == model.predict(new)).all()


def test_results_can_be_changed(X, new):
    model = SoftHierarchy([12, 3]).fit(X)
    for result in (model.labels_, model.predict(new), model.transform(X).data, model.predict_proba(new).data):
        result[0] = 0


def test_data_frames(X, new):
    names = [f"row {number}" for number in range(len(X))]
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=names)
    model = SoftHierarchy([6, 3]).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.hierarchy_.features.columns == ("a", "b", "c")
    assert list(model.hierarchy_.nodes) == names
    assert (
        model.predict(pd.DataFrame(new, columns=["a", "b", "c"])) == SoftHierarchy([6, 3]).fit(X).predict(new)
    ).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def test_random_state(X):
    def labels(state):
        return SoftClustering(9, method="k-means", random_state=state).fit(X).labels_

    assert (labels(3) == labels(3)).all()
    assert (labels(None) == labels(None)).all()
    assert (labels(np.random.RandomState(3)) == labels(np.random.RandomState(3))).all()
    state = np.random.RandomState(3)
    assert any((labels(state) != labels(state)).any() for _ in range(5))
    assert labels(np.random.default_rng(3)).shape == (120,)


def test_weights_between_all_points(X):
    graph = graphsoft.knn_graph(X).adjacency
    model = SoftHierarchy([6, 3], affinity="precomputed").fit(graph)
    assert (model.predict(graph) == model.labels_).all()
    assert model.predict(np.ones((1, 120))).shape == (1,)
    full = SoftHierarchy([6, 3], affinity="precomputed").fit(graph.toarray())
    assert (full.labels_ == model.labels_).all()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_given_distances_are_as_good_as_features(X, new, weights):
    finder = KNeighborsTransformer(mode="distance", n_neighbors=10)
    by_distances = SoftHierarchy([12, 3], affinity=NEAREST, weights=weights).fit(finder.fit_transform(X))
    by_features = SoftHierarchy([12, 3], weights=weights).fit(X)
    assert apart(by_distances.hierarchy_.graph.adjacency, by_features.hierarchy_.graph.adjacency) < 1e-12
    assert (by_distances.labels_ == by_features.labels_).all()
    assert apart(by_distances.transform(finder.transform(new)), by_features.transform(new)) < 1e-9
    assert (by_distances.predict(finder.transform(X)) == by_distances.labels_).all()


@given(few_points, st.integers(1, 5), st.data())
def test_points_at_no_distance_are_the_same(X, n_neighbors, data):
    X = np.unique(X, axis=0)
    count = data.draw(st.integers(1, len(X)))
    model = SoftHierarchy(n_clusters=count, affinity=NEAREST, n_neighbors=n_neighbors).fit(cdist(X, X))
    assert apart(model.transform(cdist(X, X)), model.hierarchy_[0].memberships) == 0
    first = model.transform(np.zeros((1, len(X))))  # of several at no distance the first counts
    assert apart(first, model.hierarchy_[0].memberships[[0]]) == 0


def test_all_distances_and_those_to_some(X, new):
    distances, others = cdist(X, X), cdist(new, X)
    dense = SoftHierarchy([6, 3], affinity=NEAREST).fit(distances)
    assert (dense.labels_ == SoftHierarchy([6, 3]).fit(X).labels_).all()
    assert apart(dense.transform(others), SoftHierarchy([6, 3]).fit(X).transform(new)) < 1e-9
    ball = RadiusNeighborsTransformer(mode="distance", radius=1.5)
    some = SoftHierarchy([6, 3], affinity=NEAREST).fit(ball.fit_transform(X))
    assert (some.predict(ball.transform(X)) == some.labels_).all()
    with pytest.warns(graphsoft.GraphsoftWarning, match="1 rows of X have no neighbors"):
        some.predict(ball.transform(np.full((1, 3), 100.0)))


def test_known_labels(X):
    known = np.full(120, -1)
    known[[0, 1, 2, 50]] = [0, 0, 0, 1]
    model = SoftHierarchy([6, 3]).fit(X, known=known)
    assert model.hierarchy_.report.levels[0].pairs_known == 6
    assert apart(model.transform(X), graphsoft.hierarchy(X, [6, 3], known=known).transform(X)) == 0


def test_settings_of_methods_are_kept(X):
    model = clone(SoftClustering(3, method=Relation(rounds=3)))
    assert model.fit(X).hierarchy_.settings.methods == (Relation(rounds=3),)


@pytest.mark.parametrize(
    ("parameters", "argument"),
    [
        ({"n_clusters": 121}, "n_clusters"),
        ({"n_clusters": 2.5}, "n_clusters"),
        ({"levels": [3, 3]}, "levels"),
        ({"levels": [200, 3]}, "levels"),
        ({"levels": "many"}, "levels"),
        ({"levels": [6, 3], "level": 2}, "level"),
        ({"level": -2}, "level"),
        ({"affinity": "rbf"}, "affinity"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"metric": "far"}, "metric"),
        ({"weights": "heavy"}, "weights"),
        ({"method": "louvain"}, "method"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_wrong_parameters(X, parameters, argument):
    with pytest.raises(InputError) as caught:
        SoftHierarchy(**parameters).fit(X)
    assert caught.value.argument == argument


def test_a_level_that_auto_does_not_find(X):
    with pytest.raises(InputError, match="level: got 99"):
        SoftHierarchy("auto", level=99).fit(X)


def test_wrong_affinities(X):
    lists = KNeighborsTransformer(n_neighbors=5).fit_transform(X)
    with pytest.raises(InputError, match="affinity: got 'precomputed', but X holds distances"):
        SoftHierarchy(affinity="precomputed").fit(lists)
    with pytest.raises(InputError, match="not square"):
        SoftHierarchy(affinity=NEAREST).fit(abs(X))
    for affinity in ("precomputed", NEAREST):
        with pytest.raises(ValueError, match="Negative values"):
            SoftHierarchy(affinity=affinity).fit(-cdist(X, X))
    with pytest.raises(InputError, match="ward looks at features"):
        SoftClustering(3, method="ward", affinity=NEAREST).fit(lists)
