"""Layers and tree within Toponymy itself."""

import numpy as np
import pytest

from graphsoft.topics import ToponymyLayers

pytestmark = pytest.mark.filterwarnings("ignore")  # Toponymy and what it imports warn of many things


def test_toponymy_names_the_clusters_of_each_level(toponymy, language_model, embedder, h, texts, embeddings):
    layers = ToponymyLayers(h)
    model = toponymy.Toponymy(language_model, embedder, clusterer=layers, verbose=False)
    model.fit(texts, embeddings, embeddings)
    assert model.cluster_tree_ is layers.cluster_tree_
    assert [len(names) for names in model.topic_names_] == [12, 8, 4]
    assert model.topic_sizes_ == [np.bincount(level.labels).tolist() for level in h]
    assert all(isinstance(layer, toponymy.ClusterLayerText) for layer in model.cluster_layers_)
    named = layers.named(model.topic_names_)
    for node in named.tree.nodes[:-1]:
        assert named.cluster_names[node.id] == model.topic_names_[node.level][node.index]
    assert any("boat" in name for name in model.topic_names_[-1])
    assert str(model.topic_tree_).startswith("Topic tree")
