"""Layers and tree within Toponymy itself. The language model is the keywords in its prompt."""

import json
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from graphsoft.topics import ToponymyLayers

pytestmark = pytest.mark.filterwarnings("ignore")  # Toponymy and what it imports warn of many things


class Embedder:
    def encode(self, texts, show_progress_bar=None, **options):
        return HashingVectorizer(n_features=10, analyzer="char").transform(texts).toarray()


def keyword_model(llm_wrappers):
    class Keywords(llm_wrappers.LLMWrapper):
        supports_system_prompts = False

        def _call_llm(self, prompt, temperature, max_tokens):
            words = re.search(r"Keywords for this group include: (.*)", prompt["combined"])
            name = words[1] if words else "no keywords"
            return json.dumps({"topic_name": name, "topic_specificity": 0.5})

        _call_llm_with_system_prompt = _call_llm

    return Keywords()


@pytest.fixture
def toponymy(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # do not look for prices on the network
    return pytest.importorskip("toponymy", reason="Toponymy is not installed", exc_type=ImportError)


def test_toponymy_names_the_clusters_of_each_level(toponymy, h, texts, embeddings):
    from toponymy import llm_wrappers

    layers = ToponymyLayers(h)
    model = toponymy.Toponymy(keyword_model(llm_wrappers), Embedder(), clusterer=layers, verbose=False)
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
