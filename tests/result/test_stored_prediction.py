"""New points that look into few partitions only, compared with a slow and obvious search in the same ones."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import GraphsoftWarning, InputError
from graphsoft.distributed.cell_search import seen_rows
from graphsoft.neighbors.nearest import PRODUCT_REACH
from graphsoft.result import stored_prediction
from naive.prediction import step_among
from shared.shapes import cloud
from shared.stored_twin import stored_twin

X = cloud(90, centers=5)
NEW = cloud(25, centers=5, seed=3) + 0.1


def naive_partitions(stored, x):
    """The partitions of the nearest cells, each once."""
    cells = stored.files.cells
    far = np.linalg.norm(cells.centroids - seen_rows(x[None], cells.metric), axis=1)
    return {int(cells.partition[cell]) for cell in np.argsort(far, kind="stable")[: 1 + stored.plan.lends]}


def naive_memberships(h, stored, x, level):
    scale, candidates = np.empty(len(X)), []
    visited = naive_partitions(stored, x)
    for part in stored.plan.parts:
        first = stored.files.first_rows(part)
        scale[first] = stored.files.scales(part)
        candidates += first.tolist() * (part in visited)
    step = step_among(X, candidates, x, h.settings.n_neighbors, scale, h.settings.metric, h.settings.weights)
    return step @ h[level].memberships.toarray()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("weights", ["local-scaling", "gaussian", "connectivity", "relative"])
@pytest.mark.parametrize("lends", [0, 1, 3])
def test_few_partitions_are_looked_into(tmp_path, metric, weights, lends):
    h = graphsoft.hierarchy(X, [8, 3], n_neighbors=6, metric=metric, weights=weights)
    stored = stored_twin(h, tmp_path, 5, 20, lends=lends)
    assert max(len(naive_partitions(stored, x)) for x in NEW) <= 1 + lends
    for level in (0, 1):
        expected = [naive_memberships(h, stored, x, level) for x in NEW]
        assert np.allclose(stored.predict_proba(NEW, level).toarray(), expected, atol=1e-12)


def test_walks_in_large_partitions_find_what_looking_at_all_finds(tmp_path, monkeypatch):
    h = graphsoft.hierarchy(cloud(400, centers=4, d=10), [6, 2], n_neighbors=8)
    stored, new = stored_twin(h, tmp_path, 2, 100), cloud(40, centers=4, d=10, seed=5)
    expected = stored.predict_proba(new)
    asked = []
    paths = stored_prediction._paths
    monkeypatch.setattr(stored_prediction, "PRODUCT_REACH", 0)
    monkeypatch.setattr("graphsoft.neighbors.nearest.PRODUCT_REACH", 0)
    monkeypatch.setattr(stored_prediction, "_paths", lambda *given: asked.append(paths(*given)) or asked[-1])
    found = stored.predict_proba(new)
    assert PRODUCT_REACH > 0
    assert None not in asked
    assert abs(found - expected).max() < 1e-12


def test_absurd_numbers_of_neighbors_and_lends_take_no_memory(tmp_path):
    h = graphsoft.hierarchy(cloud(60, centers=3), [8, 3], n_neighbors=6)
    found = []
    for number in (60, 10**12):
        asked = replace(h, settings=replace(h.settings, n_neighbors=number))
        found.append(stored_twin(asked, tmp_path / str(number), lends=number).predict_proba(NEW).toarray())
    np.testing.assert_array_equal(*found)


def test_partitions_are_read_once_each(tmp_path, monkeypatch):
    h = graphsoft.hierarchy(X, [8, 3], n_neighbors=6)
    stored = stored_twin(h, tmp_path, 5, 20, lends=1)
    read, features = [], type(stored.files).features
    monkeypatch.setattr(
        type(stored.files), "features", lambda files, part: read.append(part) or features(files, part)
    )
    steps = []
    stored.predict(NEW, progress=lambda stage, done, total: steps.append((stage, done, total)))
    assert len(read) == len(set(read))
    assert steps[-1][1] == steps[-1][2]
    del read[:]
    stored.predict(NEW[:1])
    assert len(read) <= 2


def test_rows_do_not_depend_on_each_other(tmp_path):
    h = graphsoft.hierarchy(X, [8, 3], n_neighbors=6)
    stored = stored_twin(h, tmp_path, 5, 20, lends=1)
    both = stored.predict_proba(np.vstack([NEW, X]), 0)
    alone = sp.vstack([stored.predict_proba(row[None], 0) for row in np.vstack([NEW, X])])
    assert abs(both - alone).max() < 1e-12
    assert abs(both[len(NEW) :] - h[0].memberships).max() == 0


def test_rows_without_a_direction_go_where_such_points_are(tmp_path):
    points = np.vstack([X, np.zeros((1, X.shape[1]))])
    with pytest.warns(GraphsoftWarning, match="no direction"):
        h = graphsoft.hierarchy(points, [8, 3], n_neighbors=6, metric="cosine")
    stored = stored_twin(h, tmp_path / "one", 3, 20)
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        found = stored.predict_proba(np.zeros((2, X.shape[1])), 0)
    assert abs(found - h[0].memberships[[90, 90]]).max() == 0
    h = graphsoft.hierarchy(X, [8, 3], n_neighbors=6, metric="cosine")
    stored = stored_twin(h, tmp_path / "other", 3, 20)
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        found = stored.predict_proba(np.zeros((1, X.shape[1])), 1)
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        assert abs(found - h.predict_proba(np.zeros((1, X.shape[1])), 1)).max() < 1e-12


def test_what_is_known_of_all_points_is_not_looked_for_again(tmp_path, monkeypatch):
    tiny = np.repeat(np.arange(20.0)[:, None], 2, axis=1)
    points = np.vstack([X, np.zeros((1, X.shape[1]))])
    with pytest.warns(GraphsoftWarning, match="no direction"):
        h = graphsoft.hierarchy(points, [8, 3], n_neighbors=6, metric="cosine")
    bare = stored_twin(h, tmp_path / "bare", 3, 20)
    near = stored_twin(
        graphsoft.hierarchy(tiny, [3], n_neighbors=1, metric="chebyshev"), tmp_path / "near", 4, 5, lends=0
    )
    read, files = [], type(near.files)
    scales = files.scales
    monkeypatch.setattr(files, "scales", lambda self, part: read.append(part) or scales(self, part))
    monkeypatch.setattr(files, "edges", None)
    near.predict_proba(tiny[:1] + np.array([5e-324, 0.0]))
    assert len(read) == 1
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        bare.predict_proba(points[-1:] * 0)


def test_distances_of_zero_between_different_rows(tmp_path):
    tiny = np.repeat(np.arange(20.0)[:, None], 2, axis=1)
    h = graphsoft.hierarchy(tiny, [3], n_neighbors=1, metric="chebyshev")
    stored = stored_twin(h, tmp_path, 2, 5)
    new = tiny[:3] + np.array([5e-324, 0.0])
    assert abs(stored.predict_proba(new) - h.predict_proba(new)).max() < 1e-12


def test_shared_neighbors_are_not_known(tmp_path):
    h = graphsoft.hierarchy(X, [8], weights="jaccard")
    with pytest.raises(InputError, match="lists of neighbors are not kept"):
        stored_twin(h, tmp_path).predict(X)


def test_columns_of_a_data_frame_are_compared(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"c{number}" for number in range(X.shape[1])])
    h = graphsoft.hierarchy(frame, [8, 3], n_neighbors=6)
    stored = stored_twin(h, tmp_path)
    assert (stored.predict(frame) == h.predict(frame)).all()
    other = frame[frame.columns[::-1]]
    with pytest.raises(
        InputError, match=r"in another order\. Remedy: pass frame\[list\(h\.summary\.columns\)\]"
    ):
        stored.predict(other)
    assert (stored.predict(other[list(stored.summary.columns)]) == h.predict(frame)).all()
