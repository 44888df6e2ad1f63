"""Forty sentences on four subjects, their embeddings, and their topics."""

import csv
import json
import re
from pathlib import Path

import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

import graphsoft

SENTENCES = Path(__file__).parents[2] / "data" / "sentences.csv"


@pytest.fixture(scope="session")
def texts():
    with open(SENTENCES, encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


@pytest.fixture(scope="session")
def embeddings(texts):
    tfidf = TfidfVectorizer(min_df=2, stop_words="english").fit_transform(texts)
    return TruncatedSVD(10, random_state=0).fit_transform(tfidf)


@pytest.fixture(scope="session")
def vectorizer():
    return CountVectorizer(min_df=2, stop_words="english")


@pytest.fixture(scope="session")
def h(texts, embeddings, vectorizer):
    found = graphsoft.hierarchy(embeddings, [12, 8, 4], n_neighbors=5, metric="cosine")
    counts = vectorizer.fit_transform(texts)
    return found.name_clusters(X=counts, feature_names=vectorizer.get_feature_names_out())


@pytest.fixture
def toponymy(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # do not look for prices on the network
    return pytest.importorskip("toponymy", reason="Toponymy is not installed", exc_type=ImportError)


@pytest.fixture
def language_model(toponymy):
    """What Toponymy asks for names: this one answers with the keywords in the question."""
    from toponymy.llm_wrappers import LLMWrapper

    class Keywords(LLMWrapper):
        supports_system_prompts = False

        def _call_llm(self, prompt, temperature, max_tokens):
            words = re.search(r"Keywords for this group include: (.*)", prompt["combined"])
            name = words[1] if words else "no keywords"
            return json.dumps({"topic_name": name, "topic_specificity": 0.5})

        _call_llm_with_system_prompt = _call_llm

    return Keywords()


class Embedder:
    """Embeds texts by their letters."""

    def encode(self, texts, show_progress_bar=None, **options):
        return HashingVectorizer(n_features=10, analyzer="char").transform(texts).toarray()


@pytest.fixture
def embedder():
    return Embedder()
