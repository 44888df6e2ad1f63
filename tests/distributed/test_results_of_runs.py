"""What a real run leaves in its directory is read as it should be, and fits together."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import GraphsoftWarning
from graphsoft.linalg.memberships import likeliest
from graphsoft.result.steps import steps_between
from shared.shapes import cloud

POINTS = np.vstack([cloud(300, centers=6), cloud(300, centers=6)[:20]]).astype(np.float32)  # 20 are copies


@pytest.fixture(scope="module", params=["one partition", "partitions", "sparse", "graph"])
def run(request, tmp_path_factory):
    """The result of a run, and the points if there are any."""
    directory = tmp_path_factory.mktemp("run")
    partitions = 1 if request.param == "one partition" else 3
    if request.param == "graph":
        edges = nx.planted_partition_graph(6, 20, 0.6, 0.02, seed=1)
        nx.write_edgelist(edges, directory / "graph.edges", data=False)
        X = graphsoft.partitioned_graph(directory / "graph.edges")
        return graphsoft.hierarchy(X, [6, 2], directory=directory / "run", partitions=partitions), None
    X, metric = POINTS, "euclidean"
    if request.param == "sparse":
        X, metric = sp.csr_array(np.where(POINTS > 0, POINTS, 0)), "cosine"
        X = X[np.diff(X.indptr) > 0]
    options = {"n_neighbors": 6, "metric": metric, "partitions": partitions}
    return graphsoft.hierarchy(X, [8, 3], directory=directory / "run", **options), X


def test_labels_are_the_likeliest_clusters(run):
    h, _ = run
    for level in h:
        shares = level.memberships[range(len(level.labels))]
        assert np.allclose(shares.sum(axis=1), 1.0)
        labels = np.asarray(level.labels)
        assert (likeliest(shares) == labels).all()
        assert (np.bincount(labels, minlength=shares.shape[1]) == level.sizes).all()
        seen = np.concatenate([rows for rows, _ in level.memberships.blocks()])
        assert sorted(seen.tolist()) == [*range(len(labels))]


def test_levels_fit_each_other(run):
    h, _ = run
    below, above = (level.memberships[range(h.plan.rows)] for level in h)
    assert abs(below @ h[0].parents - above).max() < 1e-12
    assert np.allclose(h[0].parents.T @ h[0].mass, h[1].mass)
    assert np.allclose(h[0].graph.sum(axis=1), h[0].mass)
    degrees = 0.0
    for part in h.plan.parts:
        with h.files.open("graph", part) as file:
            degrees += file.array("degrees").sum()
    assert h[0].mass.sum() == pytest.approx(degrees)
    assert h.tree.level_sizes == h.plan.levels
    assert h.to_linkage().shape == (h.plan.levels[0] - 1, 4)


def test_old_rows_are_found_again(run):
    h, X = run
    if X is None:
        return
    for level in (0, 1):
        found = h.predict_proba(X, level)
        assert abs(found - h[level].memberships[range(h.plan.rows)]).max() == 0


def test_old_rows_are_found_again_in_a_directory(run, tmp_path):
    h, X = run
    if X is None:
        with pytest.raises(graphsoft.InputError, match="is of a graph"):
            h.transform(POINTS, directory=tmp_path / "answers")
        return
    found = h.transform(X, directory=tmp_path / "answers", max_memory="2GB")
    for one, other in zip(found, h, strict=True):
        assert (
            abs(one.memberships[range(len(found.nodes))] - other.memberships[range(h.plan.rows)]).max() == 0
        )
        assert (np.asarray(one.labels) == np.asarray(other.labels)).all()
        assert (one.sizes == other.sizes).all()


@pytest.mark.parametrize("partitions", [1, 3])
def test_new_points_are_weighed_by_the_scale_of_the_run(tmp_path, partitions):
    constant = np.repeat(np.arange(1.0, 81.0)[:, None], 3, axis=1)  # rows without direction, so neighbors
    X, new = np.vstack([cloud(120, centers=4), constant]), cloud(32, centers=4, seed=5)
    options = {"n_neighbors": 5, "metric": "correlation", "weights": "gaussian"}
    with pytest.warns(GraphsoftWarning, match="no direction"):
        h = graphsoft.hierarchy(X, [90, 3], directory=tmp_path / "run", partitions=partitions, **options)
    scales, bare, every = [], [], []
    for part in h.plan.parts:
        joined = np.diff(h.files.edges(part)[0].indptr) > 0
        scales += h.files.scales(part)[joined].tolist()
        every += h.files.scales(part).tolist()
        first = h.files.first_rows(part)
        bare += [(first[place], part, place) for place in np.flatnonzero(~joined)]
    assert h.summary.least_scale == min(every)
    assert h.summary.bare == min(bare)[1:]
    assert h.files.typical_scale() == pytest.approx(np.median(scales), rel=1e-15)
    if partitions == 1:
        with pytest.warns(GraphsoftWarning, match="no direction"):
            whole = graphsoft.hierarchy(X, [90, 3], **options)
        assert np.allclose(h.predict_proba(new).toarray(), whole.predict_proba(new).toarray())


def test_saved_and_sampled(run, tmp_path):
    h, X = run
    h.name_clusters({"1-0": "first"}).save(tmp_path / "copy")
    copy = graphsoft.load(tmp_path / "copy")
    assert copy.cluster_names == {"1-0": "first"}
    assert (np.asarray(copy[0].labels) == np.asarray(h[0].labels)).all()
    sample = copy.sample(h.plan.rows)
    assert sample.report.nodes == h.plan.rows
    assert sample[0].memberships.shape == (h.plan.rows, h.plan.levels[0])
    if X is None:
        assert sample.graph.adjacency.nnz == 2 * h.report.edges
        assert np.allclose(sample[0].mass, h[0].mass)
        assert abs(steps_between(sample.graph, sample[0].memberships) - h.summary.steps).max() < 1e-5
        assert np.allclose(sample.to_linkage(), h.to_linkage())
    else:
        assert (copy.predict(X[:5]) == h.predict(X[:5])).all()
    assert copy.sample(40).describe()
    assert copy.explore(max_points=30).content.head["points"] == h.plan.rows
    assert str(graphsoft.load(h.directory).report) == str(h.report)
