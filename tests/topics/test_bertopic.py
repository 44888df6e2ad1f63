"""Topics within BERTopic itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from graphsoft.result.feature_scores import best_features
from graphsoft.topics import SoftTopics

pytestmark = pytest.mark.filterwarnings("ignore")  # BERTopic and what it imports warn of many things


@pytest.fixture
def fit(texts, embeddings, vectorizer):
    bertopic = pytest.importorskip("bertopic", reason="BERTopic is not installed", exc_type=ImportError)
    from bertopic.dimensionality import BaseDimensionalityReduction

    def fit(topics):
        model = bertopic.BERTopic(
            embedding_model=None, umap_model=BaseDimensionalityReduction(), hdbscan_model=topics,
            vectorizer_model=vectorizer,
        )  # fmt: skip
        return model, *model.fit_transform(texts, embeddings)

    return fit


def test_topics_of_bertopic_are_clusters(fit, texts, embeddings):
    model, topics, probabilities = fit(SoftTopics([8, 4], n_neighbors=5))
    ours = model.hdbscan_model
    # BERTopic numbers topics by their size
    numbers = model.topic_mapper_.get_mappings()
    assert topics == [numbers[label] for label in ours.labels_]
    np.testing.assert_array_equal(
        probabilities, ours.hierarchy_[-1].memberships.max(axis=1).toarray().ravel()
    )
    assert model.get_topic_info()["Count"].sum() == len(texts)
    assert -1 not in topics
    found, _ = model.transform(texts[:9], embeddings[:9])
    assert [int(topic) for topic in found] == topics[:9]
    assert len(model.hierarchical_topics(texts)) == 3


def test_probabilities_of_all_topics_are_numbered_as_the_topics(fit):
    _, topics, probabilities = fit(SoftTopics([8, 4], n_neighbors=5, dense_probabilities=True))
    assert probabilities.shape == (40, 4)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), topics)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_settings_are_listed_and_copied_by_bertopic(fit, texts, embeddings):
    model, topics, _ = fit(SoftTopics([8, 4], n_neighbors=5))
    assert "hdbscan_model=SoftTopics(...)" in str(model)
    assert model.get_params(deep=True)["hdbscan_model__levels"] == [8, 4]
    copy = clone(model)
    assert not hasattr(copy.hdbscan_model, "hierarchy_")
    assert copy.fit_transform(texts, embeddings)[0] == topics


def test_class_tf_idf_is_that_of_bertopic(fit, texts, vectorizer):
    """BERTopic rounds the mean number of words down, so scores differ a little."""
    model, topics, _ = fit(SoftTopics([4], n_neighbors=5))
    counts = vectorizer.transform(texts)
    hard = sp.csr_array(np.eye(4)[topics])
    best = best_features(sp.csr_array(counts), hard, "c-tf-idf", 100)
    theirs = model.c_tf_idf_.toarray()
    for topic, scores in enumerate(best):
        ours = np.zeros(theirs.shape[1])
        ours[[column for column, _ in scores]] = [score for _, score in scores]
        np.testing.assert_allclose(ours, theirs[topic], rtol=0.03)
