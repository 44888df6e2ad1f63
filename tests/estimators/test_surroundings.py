"""The estimators inside pipelines, searches and data frames, told of by callbacks, and saved."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import graphsoft
from graphsoft import SoftClustering, SoftHierarchy

NEAREST = "precomputed_nearest_neighbors"


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(120, 2)) + np.tile([0, 5, 10], 40)[:, None]


@pytest.fixture(scope="module")
def classes():
    return np.tile([0, 1, 2], 40)


def agreement(model, X, y):
    return adjusted_rand_score(y, model.predict(X))


def same(one, two):
    return abs(one - two).max() == 0


def test_after_a_scaler(X, classes):
    model = make_pipeline(StandardScaler(), SoftHierarchy([9, 3])).fit(X * [1, 1000])
    assert agreement(model, X * [1, 1000], classes) > 0.9
    assert same(model.predict_proba(X * [1, 1000]), model[-1].hierarchy_[-1].memberships)


def test_after_a_search_for_neighbors(X, classes):
    model = make_pipeline(
        KNeighborsTransformer(mode="distance", n_neighbors=10), SoftHierarchy([9, 3], affinity=NEAREST)
    )
    assert (model.fit_predict(X) == model.predict(X)).all()
    held_out = model.fit(X[::2])
    assert agreement(held_out, X[1::2], classes[1::2]) > 0.9


def test_before_a_classifier(X, classes):
    features = make_union(SoftHierarchy([9, 3]), StandardScaler())
    model = make_pipeline(features, MaxAbsScaler(copy=False), LogisticRegression()).fit(X[::2], classes[::2])
    assert model.score(X[1::2], classes[1::2]) > 0.9
    columns = make_column_transformer((SoftClustering(3), [0, 1]))
    assert columns.fit_transform(X).shape == (120, 3)


def test_a_search_over_parameters(X, classes):
    model = make_pipeline(StandardScaler(), SoftClustering())
    grid = {"softclustering__n_clusters": [2, 3], "softclustering__method": ["relation", "k-means"]}
    search = GridSearchCV(model, grid, scoring=agreement, cv=3).fit(X, classes)
    assert search.best_params_["softclustering__n_clusters"] == 3
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("affinity", ["precomputed", NEAREST])
def test_a_search_over_pairs(X, classes, affinity):
    """Both the rows and the columns of the left-out points are left out."""
    pairs = ((X[:, None] - X) ** 2).sum(axis=2) ** 0.5
    pairs = pairs if affinity == NEAREST else np.exp(-pairs)
    search = GridSearchCV(SoftHierarchy(affinity=affinity), {"n_clusters": [2, 3]}, scoring=agreement, cv=3)
    assert search.fit(pairs, classes).best_params_ == {"n_clusters": 3}


def test_output_as_data_frames(X):
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"row {i}" for i in range(120)])
    model = SoftHierarchy([4, 2], sparse_output=False).set_output(transform="pandas").fit(frame)
    table = model.transform(frame)
    assert table.index.equals(frame.index)
    assert list(table.columns) == [f"softhierarchy_{id}" for id in ["0-0", "0-1", "0-2", "0-3", "1-0", "1-1"]]
    with pytest.raises(ValueError, match="sparse"):
        model.set_params(sparse_output=True).transform(frame)


def test_output_as_polars(X):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    with sklearn.config_context(transform_output="polars"):
        table = SoftClustering(2, sparse_output=False).fit_transform(frame)
    assert table.columns == ["softclustering_0-0", "softclustering_0-1"]
    assert table.sum_horizontal().to_numpy() == pytest.approx(1.0)


def test_known_labels_are_routed(X, classes):
    known = np.where(np.arange(120) % 10 == 0, classes, -1)
    with sklearn.config_context(enable_metadata_routing=True):
        clusterer = SoftClustering(3).set_fit_request(known=True)
        model = make_pipeline(StandardScaler(), clusterer).fit(X, known=known)
        search = GridSearchCV(clusterer, {"n_clusters": [3]}, scoring=agreement, cv=3)
        search.fit(X, classes, known=known)
    assert model[-1].hierarchy_.settings.known == tuple((i, classes[i]) for i in range(0, 120, 10))
    assert len(search.best_estimator_.hierarchy_.settings.known) == 12


class Told:
    """A callback that writes down what it is told."""

    max_propagation_depth = None

    def __init__(self):
        self.tasks, self.fitted = [], None

    def setup(self, estimator, context):
        self.tasks.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.fitted = fitted_estimator or self.fitted

    def teardown(self, estimator, context):
        self.tasks.append("teardown")


def test_callbacks(X):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    told = Told()
    model = SoftHierarchy([9, 3]).set_callbacks(told).fit(X)
    assert told.tasks[:2] == ["setup", "fit"]
    assert {"neighbors", "polishing"} <= set(told.tasks)
    assert told.tasks[-1] == "teardown"
    assert (told.fitted.predict(X) == model.labels_).all()
    told = Told()
    make_pipeline(StandardScaler(), SoftClustering(3, method="cp")).set_callbacks(told).fit(X)
    assert "factorizing" in told.tasks
    with pytest.raises(ValueError, match="n_clusters"):
        SoftHierarchy(n_clusters=500).set_callbacks(told := Told()).fit(X)
    assert told.tasks[-1] == "teardown"


@pytest.fixture(scope="module")
def pipelines(X):
    nearest = KNeighborsTransformer(mode="distance", n_neighbors=10)
    return [
        make_pipeline(StandardScaler(), SoftHierarchy([9, 3])).fit(X),
        make_pipeline(nearest, SoftHierarchy([9, 3], affinity=NEAREST)).fit(X),
    ]


def test_pickles(pipelines, X, tmp_path):
    for model in pipelines:
        expected = model.transform(X + 0.1)
        assert same(pickle.loads(pickle.dumps(model)).transform(X + 0.1), expected)  # noqa: S301
        joblib.dump(model, tmp_path / "model.joblib")
        for mode in (None, "r"):
            mapped = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
            assert same(mapped.transform(X + 0.1), expected)
            assert len(mapped[-1].hierarchy_.tree.find("1-0").children) > 0


def test_skops(pipelines, X, tmp_path):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    for model in pipelines:
        io.dump(model, tmp_path / "model.skops")
        trusted = io.get_untrusted_types(file=tmp_path / "model.skops")
        loaded = io.load(tmp_path / "model.skops", trusted=trusted)
        assert same(loaded.transform(X + 0.1), model.transform(X + 0.1))


def test_the_hierarchy_alone_can_be_saved(pipelines, X, tmp_path):
    model = pipelines[0]
    model[-1].hierarchy_.save(tmp_path / "model.graphsoft")
    loaded = graphsoft.load(tmp_path / "model.graphsoft")
    assert (loaded.predict(model[0].transform(X + 0.1)) == model.predict(X + 0.1)).all()
