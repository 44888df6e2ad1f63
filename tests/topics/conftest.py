"""Forty sentences on four subjects, their embeddings, and their topics."""

import csv
from pathlib import Path

import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

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
