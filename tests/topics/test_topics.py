"""Topics in the shapes of other packages, without those packages."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import graphsoft
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.topics import SoftTopics, ToponymyLayers, label_layers
from shared.shapes import bits


class Layer:
    """What Toponymy's layers are made of."""

    def __init__(self, labels, centroids, layer_id, **options):
        self.labels, self.centroids, self.layer_id, self.options = labels, centroids, layer_id, options


# SoftTopics


@pytest.mark.parametrize("level", [-1, 0, 1])
def test_topics_are_those_of_one_level(embeddings, level):
    topics = SoftTopics([8, 4], level=level, n_neighbors=5).fit(embeddings, y=None)
    h = graphsoft.hierarchy(embeddings, [8, 4], n_neighbors=5, metric="cosine")
    assert bits(topics.hierarchy_) == bits(h)
    np.testing.assert_array_equal(topics.labels_, h[level].labels)
    rows = h[level].memberships.toarray()
    np.testing.assert_array_equal(topics.probabilities_, rows.max(axis=1))
    np.testing.assert_array_equal(topics.predict(embeddings[:7]), topics.labels_[:7])
    dense = SoftTopics([8, 4], level=level, n_neighbors=5, dense_probabilities=True).fit(embeddings)
    np.testing.assert_array_equal(dense.probabilities_, rows)
    copy = pickle.loads(pickle.dumps(topics))  # noqa: S301
    np.testing.assert_array_equal(copy.predict(embeddings), topics.labels_)


def test_options_are_those_of_hierarchy(embeddings):
    topics = SoftTopics([8, 4], metric="euclidean", max_children=2).fit(embeddings)
    assert topics.hierarchy_.settings.metric == "euclidean"
    assert topics.hierarchy_.settings.n_neighbors == 15
    assert max(len(node.children) for node in topics.hierarchy_.tree.nodes[8:-1]) == 2
    with pytest.raises(TypeError, match="neighbours"):
        SoftTopics([4], neighbours=3).fit(embeddings)


def test_settings_can_be_read_changed_and_copied(embeddings):
    levels = [8, 4]
    topics = SoftTopics(levels, level=0, n_neighbors=5, max_children=3).fit(embeddings)
    settings = {
        "levels": levels, "level": 0, "dense_probabilities": False, "n_neighbors": 5, "metric": "cosine",
        "max_children": 3,
    }  # fmt: skip
    assert topics.get_params() == topics.get_params(deep=False) == settings
    copy = clone(topics)  # which compares the settings of both
    assert copy.get_params() == settings
    assert copy.levels is not levels
    assert not hasattr(copy, "hierarchy_")
    np.testing.assert_array_equal(copy.fit(embeddings).labels_, topics.labels_)
    new = {"levels": [4, 2], "level": -1, "metric": "euclidean", "max_children": 2}
    assert copy.set_params(**new) is copy
    assert copy.get_params() == settings | new
    h = graphsoft.hierarchy(embeddings, [4, 2], n_neighbors=5, metric="euclidean", max_children=2)
    assert bits(copy.fit(embeddings).hierarchy_) == bits(h)
    np.testing.assert_array_equal(copy.labels_, h[-1].labels)
    assert topics.get_params() == settings


def test_what_cannot_be_asked_of_topics(embeddings):
    topics = SoftTopics([8, 4])
    assert not hasattr(topics, "labels_")
    with pytest.raises(AttributeError, match="call fit first"):
        topics.predict(embeddings)
    with pytest.raises(InputError, match="level: got 2"):
        SoftTopics([8, 4], level=2).fit(embeddings)


# Toponymy


def test_layers_and_tree_are_those_of_the_hierarchy(h, embeddings):
    clusterer = ToponymyLayers(h)
    layers, tree = clusterer.fit_predict(None, embeddings, Layer, verbose=False)
    assert (layers, tree) == (clusterer.cluster_layers_, clusterer.cluster_tree_)
    assert [layer.layer_id for layer in layers] == [0, 1, 2]
    assert layers[0].options == {"verbose": False}
    for layer, level in zip(layers, h, strict=True):
        np.testing.assert_array_equal(layer.labels, level.labels)
        for cluster, mean in enumerate(layer.centroids):
            np.testing.assert_allclose(mean, embeddings[level.labels == cluster].mean(axis=0))
    under = {(node.level, node.index): node.children for node in h.tree.nodes}
    assert {place: [f"{layer}-{q}" for layer, q in below] for place, below in tree.items()} == {
        place: list(children) for place, children in under.items() if children
    }


def test_a_single_top_cluster_is_under_the_root(embeddings):
    h = graphsoft.hierarchy(embeddings, [3, 1], n_neighbors=5)
    _, tree = ToponymyLayers(h).fit_predict(None, embeddings, Layer)
    assert tree == {(2, 0): [(1, 0)], (1, 0): [(0, 0), (0, 1), (0, 2)]}


def test_clusters_without_points_are_left_out_and_their_children_move_up(embeddings):
    h = graphsoft.hierarchy(embeddings, [3, 2], n_neighbors=5)
    # all points are in cluster 1 of the top level, but two finer clusters have cluster 0 as their parent
    top = sp.csr_array(np.tile([0.4, 0.6], (len(embeddings), 1)))
    parents = sp.csr_array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])
    odd = replace(h, levels=(replace(h[0], parents=parents), replace(h[1], memberships=top)))
    clusterer = ToponymyLayers(odd)
    layers, tree = clusterer.fit_predict(None, embeddings, Layer)
    assert layers[1].labels.tolist() == [0] * len(embeddings)
    assert len(layers[1].centroids) == 1
    assert tree == {(2, 0): [(0, 0), (0, 2), (1, 0)], (1, 0): [(0, 1)]}
    named = clusterer.named([["a", "b", "c"], ["all"]])
    assert named.cluster_names == {"0-0": "a", "0-1": "b", "0-2": "c", "1-1": "all"}


def test_embeddings_must_be_of_the_same_points(h, embeddings):
    for wrong in (embeddings[:-1], embeddings[0], 3):
        with pytest.raises(InputError, match="embedding_vectors: has shape"):
            ToponymyLayers(h).fit(None, wrong, Layer)


def test_names_must_be_as_many_as_the_clusters(h):
    names = [[f"{layer}-{at}" for at in range(count)] for layer, count in enumerate((12, 8, 4))]
    assert ToponymyLayers(h).named(names).cluster_names["1-7"] == "1-7"
    for wrong, given in [
        (names[:-1], [12, 8]),
        ([*names, ["all"]], [12, 8, 4, 1]),
        ([names[0], names[1][:-1], names[2]], [12, 7, 4]),
        ([*names[:2], [*names[2], "more"]], [12, 8, 5]),
        ([], []),
    ]:
        with pytest.raises(InputError) as caught:
            ToponymyLayers(h).named(wrong)
        assert str(caught.value) == (
            f"topic_names: has {given} names, layer by layer, for [12, 8, 4] clusters. "
            "Remedy: pass the topic_names_ of the Toponymy that has these layers as its clusterer."
        )


# DataMapPlot


def test_labels_are_names_finest_level_first(h):
    layers = label_layers(h)
    assert len(layers) == 3
    for number, (layer, level) in enumerate(zip(layers, h, strict=True)):
        assert len(set(layer)) == len(set(level.labels))
        for name, cluster in zip(layer, level.labels, strict=True):
            assert name.startswith(h.cluster_names[f"{number}-{cluster}"])
    plain = replace(h, cluster_names={})
    assert label_layers(plain)[2].tolist() == [f"2-{cluster}" for cluster in h[2].labels]


def test_a_name_that_comes_twice_gets_the_ids(h):
    named = h.name_clusters({"2-0": "sea", "2-1": "sea", "2-2": "sky", "2-3": "soil"})
    assert set(label_layers(named)[2]) == {"sea (2-0)", "sea (2-1)", "sky", "soil"}


# the whole way, and short texts


def test_names_are_words_of_the_subjects(h):
    top = [h.cluster_names[f"2-{cluster}"].split(", ") for cluster in range(4)]
    for words in (
        {"boat", "tide"},
        {"soil", "spring"},
        {"light", "moon", "stars"},
        {"salt", "butter", "pan"},
    ):
        assert any(words & set(each) for each in top)
    assert len(str(h.tree).splitlines()) == 1 + 4 + 8 + 12


PAIRS = [("sea", "boat"), ("sky", "star"), ("soil", "rain")]
SHORT = [f"{one} {two} {word}" for one, two in PAIRS for word in ("old", "new", "far", "near", "big", "red")]
ALONE = [f"word{number}" for number in range(30)]


@pytest.mark.parametrize(
    ("levels", "remedy"),
    [([3], "clusters at the top$"), ([9, 3], r"limit them: max_children=6$")],
)
def test_one_large_cluster_of_short_texts_gives_a_warning(levels, remedy):
    X = TfidfVectorizer().fit_transform(SHORT + ALONE)
    with pytest.warns(GraphsoftWarning, match=r"of 3 at the top, holds \d\d% of all points.*" + remedy):
        graphsoft.hierarchy(X, levels, metric="cosine", n_neighbors=5)


def test_there_is_no_such_warning_where_the_remedy_was_taken():
    X = TfidfVectorizer(min_df=2).fit_transform(SHORT + ALONE)
    told = X[np.diff(X.indptr) > 0]
    assert np.bincount(graphsoft.hierarchy(told, [3], metric="cosine", n_neighbors=5)[0].labels).max() == 6
    graphsoft.hierarchy(X.toarray()[:, :2] + 1.0, [3], n_neighbors=5)  # these are no words
    graphsoft.hierarchy(X[:18], [2], metric="cosine", n_neighbors=5)  # of two, one holds half or more
