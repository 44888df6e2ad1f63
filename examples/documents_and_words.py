"""Cluster documents and words at once, in the graph that joins each document to its words.

    python examples/documents_and_words.py [--data DIR] [--output DIR] [--quick]

`graphsoft.bipartite_graph` makes a node of every row and every column of a table. So a cluster holds
documents together with the words that they use, and no second step has to describe it. Relation factorization
of such a graph is the aspect model (probabilistic latent semantic analysis). It starts from groups
that are found in the graph, instead of from random numbers, and a hierarchy comes on top.

For each cluster the script prints the words that characterize it most, each with its probability of belonging
to the cluster, and then the words that are torn between clusters. The picture shows the table with its rows
and columns sorted by cluster.

Without ``--data`` the documents are the forty sentences of ``data/sentences.csv``. With it they are the four
newsgroups of ``DIR/ng4_paper.npz`` (``data, indices, indptr, shape, y, vocab``). Then the script also
compares the adjusted Rand index of the documents with two other ways: the graph of their nearest neighbors by
cosine, and the aspect model from random starts, with the log-likelihood that each run reached.
"""

import csv
import re
from collections import Counter

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.sets import BUNDLED, labeled, page_parser

import graphsoft
from graphsoft import metrics
from graphsoft.methods import Relation

mpl.use("Agg")
import matplotlib.pyplot as plt

# Tables need more sweeps than graphs of nearest neighbors.
METHOD = Relation(rounds=30)
STOP_WORDS = {
    "a", "and", "are", "as", "at", "by", "for", "from",
    "in", "is", "it", "its", "of", "on", "the", "to", "with",
}  # fmt: skip


def sentences():
    """Return counts of words in the sentences, their subjects, and the words."""
    with open(BUNDLED / "sentences.csv", encoding="utf-8", newline="") as file:
        lines = [(row["text"], row["subject"]) for row in csv.DictReader(file)]
    texts = [[word for word in re.findall(r"\w+", text) if word not in STOP_WORDS] for text, _ in lines]
    used = [word for text in texts for word in text]
    words = sorted({word for word in used if used.count(word) > 1})  # a word used once joins no sentences
    number = {word: place for place, word in enumerate(words)}
    uses = [(row, number[word]) for row, text in enumerate(texts) for word in text if word in number]
    counts = sp.coo_array((np.ones(len(uses)), np.transpose(uses)), shape=(len(texts), len(words)))
    return counts.tocsr(), np.array([subject for _, subject in lines]), np.array(words)


def newsgroups(directory):
    """Return tf-idf of words in documents, the newsgroups, and the words."""
    table, classes = labeled(directory, "ng4_paper")
    with np.load(directory / "ng4_paper.npz", allow_pickle=False) as file:
        return table.astype(float), file["classes"][classes], file["vocab"]


def aspect_model(A, count, rng, steps=100):
    """Fit the aspect model from a random start; return its log-likelihood and the best aspect of each row."""
    entries = A.tocoo()
    by_row = sp.csr_array((np.ones(A.nnz), (entries.row, np.arange(A.nnz))), shape=(A.shape[0], A.nnz))
    by_column = sp.csr_array((np.ones(A.nnz), (entries.col, np.arange(A.nnz))), shape=(A.shape[1], A.nnz))
    weight = np.full(count, 1 / count)
    rows, columns = (rng.dirichlet(np.ones(length), count).T for length in A.shape)
    for _ in range(steps):
        joint = rows[entries.row] * columns[entries.col] * weight
        chance = joint.sum(axis=1)
        counts = joint * (entries.data / chance)[:, None]
        mass = counts.sum(axis=0)
        weight, rows, columns = mass / mass.sum(), by_row @ counts / mass, by_column @ counts / mass
    return float(entries.data @ np.log(chance)), (rows * weight).argmax(axis=1)


def log_likelihood(A, memberships):
    """Compute sum A log p(row, column) of memberships in the bipartite graph of A."""
    rows, columns = memberships[: A.shape[0]], memberships[A.shape[0] :]
    given_row, total = A.sum(axis=1), A.sum()
    mass = rows.T @ given_row
    joint = sp.diags_array(given_row) @ rows @ sp.diags_array(1 / mass)
    spread = (sp.diags_array(A.sum(axis=0)) @ columns).T.toarray()
    entries = A.tocoo()
    model = np.einsum("eq,eq->e", joint.tocsr()[entries.row].toarray(), spread[:, entries.col].T) / total
    return float(entries.data @ np.log(np.maximum(model, 1e-300)))


def describe(A, level, subjects, words):
    """Print the documents of each cluster, and the words that characterize it."""
    documents = A.shape[0]
    shares = level.memberships[documents:].toarray()
    counts = A.sum(axis=0)[:, None] * shares  # of each word in each cluster
    for cluster in range(shares.shape[1]):
        inside = subjects[level.labels[:documents] == cluster]
        most = ", ".join(f"{number} {name}" for name, number in Counter(inside.tolist()).most_common(2))
        top = np.argsort(-counts[:, cluster] * shares[:, cluster], kind="stable")[:8]
        print(f"cluster {cluster}: {len(inside)} documents ({most})")
        print("  " + ", ".join(f"{words[word]} {shares[word, cluster]:.2f}" for word in top))
    uses = np.diff(A.tocsc().indptr)
    entropy = level.entropy[documents:] * (uses > 2)
    torn = [word for word in np.argsort(-entropy, kind="stable")[:5] if entropy[word] > 0.1]
    print("torn between clusters: " + ", ".join(str(word) for word in words[torn]) + "\n")


def compare(A, subjects, found, quick):
    """Print how well the documents' clusters agree with their subjects, beside two other ways."""
    count, n = found.memberships.shape[1], A.shape[0]
    lines = [("documents and words", found.labels[:n], log_likelihood(A, found.memberships))]
    near = graphsoft.hierarchy(A, [100, 20, count], metric="cosine")[-1]
    lines.append(("nearest documents by cosine, [100, 20, 4]", near.labels, None))
    for seed in range(2 if quick else 5):
        reached, labels = aspect_model(A, count, np.random.default_rng(seed), 30 if quick else 100)
        lines.append((f"aspect model, random start {seed}", labels, reached))
    for name, labels, reached in lines:
        likelihood = "" if reached is None else f", log-likelihood {reached:.0f}"
        print(f"{name:42} ARI {metrics.adjusted_rand(subjects, labels):.3f}{likelihood}")


def draw(A, level, words, path):
    """Draw the table as it came, and sorted by cluster."""
    n, labels = A.shape[0], level.labels
    order = [np.lexsort((-level.memberships[part].max(axis=1).toarray().ravel(), labels[part]))
             for part in (slice(0, n), slice(n, None))]  # fmt: skip
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    dot = min(4.0, 60 / np.sqrt(A.nnz / 10))
    for axis, (rows, columns), title in zip(
        axes, (map(np.arange, A.shape), order), ("as it came", "sorted by cluster"), strict=True
    ):
        place_row, place_column = np.argsort(rows), np.argsort(columns)
        entries = A.tocoo()
        axis.plot(place_column[entries.col], place_row[entries.row], "s", ms=dot, color="#2f6f8f", mec="none")
        axis.set(title=title, xlabel="words", ylabel="documents", xlim=(-1, A.shape[1]), ylim=(n, -1))
    for part, line in ((slice(0, n), axes[1].axhline), (slice(n, None), axes[1].axvline)):
        for edge in np.cumsum(np.bincount(labels[part], minlength=len(level.mass)))[:-1]:
            line(edge - 0.5, color="#b5533c", lw=1)
    if len(words) <= 100:
        axes[0].set_xticks(np.arange(len(words)), words, rotation=90, fontsize=6)
        axes[1].set_xticks(np.arange(len(words)), words[order[1]], rotation=90, fontsize=6)
    figure.savefig(path, dpi=130)
    print(f"drawn to {path}")


def main():
    options = page_parser(__doc__, data="folder of ng4_paper.npz", quick="fewer random starts").parse_args()
    A, subjects, words = sentences() if options.data is None else newsgroups(options.data)
    graph = graphsoft.bipartite_graph(A, [("document", row) for row in range(A.shape[0])], words)
    level = graphsoft.hierarchy(graph, [4], method=METHOD)[-1]
    describe(A, level, subjects, words)
    if options.data is None:
        found = metrics.adjusted_rand(subjects, level.labels[: A.shape[0]])
        print(f"documents against their subjects: adjusted Rand index {found:.2f}")
    else:
        compare(A, subjects, level, options.quick)
    draw(A, level, words, options.output / "documents_and_words.png")


if __name__ == "__main__":
    main()
