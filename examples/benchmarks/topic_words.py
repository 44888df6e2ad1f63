"""Which words name a topic best: those by rates, by c-TF-IDF, or by the difference of means.

    python examples/benchmarks/topic_words.py --data DIR --packages DIR [--topics 20] [--sets text_foldoc,...]

The sets are the texts of ``make_sets.py``: ``DIR`` of ``--data`` holds their embeddings, ``DIR`` of
``--packages`` the packages that the texts come from. The embeddings are clustered. Half of the texts choose
ten words for each topic, by each statistic of ``h.distinctive``, and the other half judge them:

- specific: of the texts that have the word, how many are in its topic (mean over all words);
- covered: how many texts of a topic have one of its ten words;
- found: how many texts are in the topic of whose words they have the most, ties shared;
- coherent: how often two words of a topic come together, as normalized pointwise mutual information;
- distinct: different words among all those listed;
- stop words: of all those listed, where the vectorizer has not left them out.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import make_sets
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import graphsoft
from graphsoft.datasets import read
from graphsoft.result.feature_scores import MEANINGS, best_features

WORDS = 10
SCORES = ("specific", "covered", "found", "coherent", "distinct", "stop words")


def judged(words: list[list[int]], has: sp.csr_array, labels: NDArray[np.int32]) -> dict[str, float]:
    """Judge the words of each topic by texts: which words they have, and their topics."""
    topics, texts = len(words), has.shape[0]
    listed = sp.csr_array(
        (
            np.ones(sum(map(len, words))),
            (np.concatenate(words), np.repeat(np.arange(topics), [*map(len, words)])),
        ),
        shape=(has.shape[1], topics),
    )
    hits = (has @ listed).toarray()
    own = hits[np.arange(texts), labels]
    best = hits.max(axis=1)
    found = (own == best) * (best > 0) / (hits == best[:, None]).sum(axis=1)
    inside = sp.csr_array((np.ones(texts), (labels, np.arange(texts))), shape=(topics, texts)) @ has
    all_of = np.asarray(has.sum(axis=0)).ravel()
    specific = [
        inside[topic, word] / all_of[word] for topic in range(topics) for word in words[topic] if all_of[word]
    ]
    return {
        "specific": float(np.mean(specific)),
        "covered": float(np.mean(own > 0)),
        "found": float(found.mean()),
        "coherent": coherence(words, has),
        "distinct": len({word for row in words for word in row}) / sum(map(len, words)),
    }


def coherence(words: list[list[int]], has: sp.csr_array) -> float:
    """Compute how often two words of a topic come together, on average; -1 if never, 1 if always."""
    together = sp.csr_array(has.T @ has) / has.shape[0]
    alone = together.diagonal()
    scores = []
    for one, other in (pair for row in words for pair in combinations(row, 2)):
        both = together[one, other]
        sure = both in (0.0, 1.0)
        scores.append(2 * both - 1 if sure else np.log(both / alone[one] / alone[other]) / -np.log(both))
    return float(np.mean(scores))


def compare(
    name: str, packages: make_sets.Packages, folder: Path, topics: int
) -> dict[str, dict[str, float]]:
    """Judge every statistic on one set, with counts of words and with tf-idf."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer

    reader, least, most = make_sets.TEXTS[name]
    texts, _ = make_sets.drawn(reader(packages), least, most)
    points = read(folder / f"{name}.npz", labels="y").data
    level = graphsoft.hierarchy(points, [topics], metric="cosine", n_neighbors=15)[0]
    choose, judge = np.arange(0, len(texts), 2), np.arange(1, len(texts), 2)
    found = {}
    for kind, stop_words in (("counts, stop words kept", None), ("counts", "english")):
        vectorizer = CountVectorizer(min_df=3, stop_words=stop_words)
        counts = sp.csr_array(vectorizer.fit_transform(texts), dtype=float)
        tables = {kind: counts}
        if stop_words:
            tables["tf-idf"] = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
        stops = np.isin(vectorizer.get_feature_names_out(), [*ENGLISH_STOP_WORDS])
        has = sp.csr_array(counts[judge] > 0, dtype=float)
        for table, values in tables.items():
            for statistic in MEANINGS:
                best = best_features(values[choose], level.memberships[choose], statistic, WORDS)
                words = [[word for word, score in each if score > 0] for each in best]
                scores = judged(words, has, level.labels[judge])
                scores["stop words"] = float(np.mean([stops[word] for each in words for word in each]))
                found[f"{table}: {statistic}"] = scores
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the embeddings")
    parser.add_argument("--packages", type=Path, required=True, help="folder for the packages of the texts")
    parser.add_argument("--topics", type=int, default=20, help="how many topics")
    parser.add_argument("--sets", default=",".join(make_sets.TEXTS), help="names, comma-separated")
    options = parser.parse_args()
    packages = make_sets.Packages(options.packages)
    found = [compare(name, packages, options.data, options.topics) for name in options.sets.split(",")]
    print("| table: statistic | " + " | ".join(SCORES) + " |\n|---|" + "---|" * len(SCORES))
    for row in found[0]:
        means = [np.mean([each[row][score] for each in found]) for score in SCORES]
        print(f"| {row} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    main()
