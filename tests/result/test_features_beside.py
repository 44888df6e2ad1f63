"""A graph with features beside it: the clusters are the graph's, and new points come as features."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import kneighbors_graph

import graphsoft
from graphsoft.errors import GraphsoftWarning, InputError
from shared.new_points import LEVELS, fitted, halves, same


def both(n=70, seed=0, **options):
    """Fit a graph with features beside it, and find the clusters of new points."""
    old, new = halves(n, seed=seed)
    graph = graphsoft.knn_graph(old, 10)
    return graph, old, new, graphsoft.hierarchy(graph, LEVELS, features=old, **options)


@settings(max_examples=30)
@given(st.integers(0, 100), st.sampled_from(["local-scaling", "connectivity", "relative"]))
def test_new_points_are_placed_as_if_the_features_had_been_given(seed, weights):
    old, new = halves(60, seed=seed)
    plain = fitted(old, weights=weights)
    beside = graphsoft.hierarchy(plain.graph, LEVELS, features=old, weights=weights)
    for level in range(2):
        assert same(beside.predict_proba(new, level), plain.predict_proba(new, level))
    assert same(beside.transform(old), plain.transform(old))


def test_the_clusters_are_those_of_the_graph():
    graph, old, _, h = both()
    alone = graphsoft.hierarchy(graph, LEVELS)
    assert all(same(a.memberships, b.memberships) for a, b in zip(h, alone, strict=True))
    assert same(h.predict_proba(old), alone[-1].memberships)


@settings(max_examples=30)
@given(st.integers(0, 50))
def test_the_graph_may_be_any_other(seed):
    """Also one whose edges have nothing to do with the features: old points keep their memberships."""
    rng = np.random.default_rng(seed)
    graph = sp.random_array((40, 40), density=0.2, rng=rng)
    h = graphsoft.hierarchy((graph + graph.T).tocsr(), [6, 2], features=rng.normal(size=(40, 3)))
    assert same(h.transform(h.features.values), sp.hstack([level.memberships for level in h]).tocsr())
    new = h.predict_proba(rng.normal(size=(5, 3)), 0)
    np.testing.assert_allclose(new.sum(axis=1), 1.0)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_neighbors_of_scikit_learn(mode):
    old, new = halves()
    graph = kneighbors_graph(old, 10, mode=mode)
    graph = graph.maximum(graph.T) if mode == "connectivity" else graph
    h = graphsoft.hierarchy(graph, LEVELS, features=old)
    assert np.mean(h.predict(new) == fitted(old).predict(new)) > 0.8
    assert h.predict(old).tolist() == h[-1].labels.tolist()


def test_the_metric_counts():
    _, old, _, h = both(metric="cosine")
    assert same(h.predict_proba(4 * old), h[-1].memberships)  # only directions count
    assert h.features.metric == "cosine"


def test_features_describe_the_clusters():
    *_, h = both()
    assert h.describe()[0].features
    assert h.distinctive().scores[0]
    assert graphsoft.stability(h, rounds=2)


def test_saved_and_loaded(tmp_path):
    _, _, new, h = both()
    h.save(tmp_path / "model")
    loaded = graphsoft.load(tmp_path / "model")
    assert loaded.features.beside
    assert same(loaded.transform(new), h.transform(new))


def test_the_graph_does_not_grow_by_features():
    _, _, new, h = both()
    with pytest.raises(InputError, match="the graph was not made of features"):
        h.partial_update(new)


@pytest.mark.parametrize(
    ("X", "features", "problem"),
    [
        (nx.path_graph(4), [[1.0], [2.0]], "has 2 rows for 4 points"),
        (nx.path_graph(2), [[1.0], [np.nan]], "features: "),
        ([[1.0], [2.0], [4.0]], [[1.0], [2.0], [4.0]], "are given twice"),
        (nx.path_graph(2), nx.path_graph(2), "is a graph"),
    ],
)
def test_wrong_features_are_refused(X, features, problem):
    with pytest.raises(InputError, match=problem) as caught:
        graphsoft.hierarchy(X, [2], features=features, n_neighbors=1)
    assert caught.value.argument == "features"


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_rows_of_a_frame_go_to_the_points_of_their_names(seed):
    """Networks list their nodes in the order of their edges, and tables in another."""
    old, new = halves(80)
    order = np.random.default_rng(seed).permutation(len(old))
    names = [f"n{row}" for row in range(len(old))]
    frame = pd.DataFrame(old, index=names)
    graph = graphsoft.knn_graph(old, 10)
    network = nx.relabel_nodes(nx.from_scipy_sparse_array(graph.adjacency), dict(enumerate(names)))
    h = graphsoft.hierarchy(network, LEVELS, features=frame)
    other = graphsoft.hierarchy(network, LEVELS, features=frame.iloc[order])
    assert same(other.predict_proba(new), h.predict_proba(new))
    assert h.distinctive(X=frame.iloc[order]).scores == h.distinctive().scores
    assert h.describe(X=frame.iloc[order])[0].features == h.describe()[0].features


def test_rows_of_other_points_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0]}, index=["c", "b", "d"])
    network = nx.path_graph(["a", "b", "c"])
    with pytest.raises(InputError, match="features: has rows of other points, and none of 'a'"):
        graphsoft.hierarchy(network, [2], features=frame)
    with pytest.raises(InputError, match="X: has rows of other points, and none of 'a'"):
        graphsoft.hierarchy(network, [2]).distinctive(X=frame)
    unlike = frame.set_axis(["x", "y", "z"])  # names of something else
    assert graphsoft.hierarchy(network, [2], features=unlike).features.values[:, 0].tolist() == [1, 2, 4]


def test_points_without_neighbors_get_a_warning():
    h = graphsoft.hierarchy(nx.path_graph(4), [2], features=np.eye(4), metric="cosine", n_neighbors=2)
    with pytest.warns(GraphsoftWarning, match="have no neighbors"):
        assert h.predict_proba([[-1.0, 0, 0, 0]]).sum() == 1.0
