"""Short texts as TF-IDF of their words: which graphs give clusters that can be used.

    python examples/benchmarks/short_texts.py --packages DIR [--sets debian,wordnet] [--no-peers]

The texts are those of ``make_sets.py``, by the packages in ``DIR``, which are downloaded where they are not
there yet. ``debian`` are short descriptions of Debian packages by section, from ``apt-cache dumpavail``.

Texts without a word that another text has are left out, because no graph of words can place them; one row
shows what happens if they stay. The tables:

- the sets: how many words a text has, how many texts share one with fewer than ten others, and the most
  edges of one text
- the share of all texts in the largest cluster, by the number of top clusters. One cluster more or less can
  halve it, so only differences that hold for most numbers count.
- for every graph, and other ways to cluster: the share with ten top clusters, and the scores of a top level
  of as many clusters as classes; first set by set, then means as in ``defaults.py``

Leiden sees the largest component of the graph, and is NaN where it cannot reach the number of clusters.
``--no-peers`` runs graphsoft alone, without the ``bench`` extra.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import make_sets
import numpy as np
import scipy.sparse as sp
from defaults import DEFAULT, Labels, Results, Scores, compared, top_scores
from numpy.typing import NDArray
from tables import markdown

import graphsoft
from graphsoft import metrics

FEW, FINE = 10, 100  # clusters of the top level and of the one below, for the share of the largest cluster
COUNTS = (6, 8, 9, 10, 11, 12, 14, 16, 20, 25, 30)  # of top clusters, for the share by their number
SHARE, NMI_OF_FEW = f"share of {FEW}", f"NMI of {FEW}"
SCORES = (SHARE, NMI_OF_FEW, "share of k", "ARI", "NMI")

Cluster = Callable[[int], Labels | None]  # from the number of clusters; none if that cannot be reached


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts, and the class of each."""

    name: str
    texts: tuple[str, ...]
    classes: Labels


# texts


def debian(packages: make_sets.Packages) -> make_sets.Groups:
    """Short descriptions of Debian packages, by section."""
    shown = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    groups: make_sets.Groups = {}
    for block in shown.split("\n\n"):
        description = re.search(r"(?m)^Description(?:-en)?: (.+)$", block)
        section = re.search(r"(?m)^Section: (.+)$", block)
        if description and section:
            groups.setdefault(section[1].rpartition("/")[2], []).append(description[1])
    return groups


def first_lines(packages: make_sets.Packages) -> make_sets.Groups:
    """First lines of docstrings of Python's standard library, by module or package."""
    groups = make_sets.docstrings(packages)
    return {module: [text.strip().partition("\n")[0] for text in texts] for module, texts in groups.items()}


# name: what reads the texts, and how many a class has at least and at most
SETS: dict[str, tuple[Callable[[make_sets.Packages], make_sets.Groups], int, int]] = {
    "debian": (debian, 60, 250),
    "docstrings": (first_lines, 40, 250),
    **{
        name: make_sets.TEXTS[f"text_{name}"]
        for name in ("emoji", "unicode", "wordnet", "fortunes", "bible", "foldoc", "manual")
    },
}


def read_texts(name: str, packages: make_sets.Packages) -> Texts:
    """Read the texts of a set."""
    reader, least, most = SETS[name]
    texts, classes = make_sets.drawn(reader(packages), least, most)
    return Texts(name, tuple(texts), classes)


@cache
def counted(item: Texts, kind: str = "words") -> Any:
    """Return TF-IDF of words, or of groups of 3 to 5 letters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    options: dict[str, dict[str, Any]] = {
        "words": {"stop_words": "english"},
        "rarer words": {"stop_words": "english", "max_df": 0.05},
        "letters": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    }
    return TfidfVectorizer(sublinear_tf=True, min_df=2, **options[kind]).fit_transform(item.texts)


@cache
def reduced(item: Texts, kind: str, dimensions: int) -> Any:
    """Return the leading singular directions of TF-IDF, at unit length."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    table = counted(item, kind)
    return normalize(TruncatedSVD(min(dimensions, table.shape[1] - 1), random_state=0).fit_transform(table))


def placed(item: Texts) -> Texts:
    """Return only the texts that have a word that another text has too."""
    kept = np.diff(counted(item).indptr) > 0
    texts = tuple(text for text, there in zip(item.texts, kept, strict=True) if there)
    return Texts(item.name, texts, item.classes[kept])


# graphs


def of_words(item: Texts, kind: str = "words", **options: Any) -> graphsoft.Graph:
    """Join texts by the cosine of their TF-IDF."""
    return graphsoft.knn_graph(counted(item, kind), metric="cosine", **options)


def of_directions(item: Texts, kind: str, dimensions: int, n_neighbors: int) -> graphsoft.Graph:
    """Join texts by the cosine of the leading singular directions of TF-IDF."""
    return graphsoft.knn_graph(reduced(item, kind, dimensions), n_neighbors, metric="cosine")


def over_degrees(item: Texts, power: float) -> graphsoft.Graph:
    """Divide the weights of edges by a power of the degrees of both ends."""
    adjacency = of_words(item).adjacency
    degrees = np.asarray(adjacency.sum(axis=1))
    scale = sp.diags_array(np.where(degrees > 0, degrees, 1.0) ** -power)
    divided = sp.csr_array(scale @ adjacency @ scale)
    return graphsoft.as_graph((divided + divided.T) / (2 * divided.max()), affinity="precomputed")


def by_distances(distances: NDArray[np.float64], n_neighbors: int = 10) -> graphsoft.Graph:
    """Join the nearest by finite distances of all pairs; local scaling."""
    near = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    lengths = np.take_along_axis(distances, near, axis=1)
    there = np.isfinite(lengths)
    scales = np.max(lengths, axis=1, initial=0.0, where=there)
    scales[scales == 0] = scales[scales > 0].min()
    weights = np.maximum(np.exp(-np.square(lengths) / (scales[:, None] * scales[near])), 2.0**-52)
    rows = np.repeat(np.arange(len(near)), n_neighbors)[there.ravel()]
    listed = sp.csr_array((weights[there], (rows, near[there])), shape=distances.shape)
    return graphsoft.as_graph(listed.maximum(listed.T), affinity="precomputed")


def fewer_hubs(item: Texts, way: str) -> graphsoft.Graph:
    """Join texts that share a word, by distances under which no text is near to very many."""
    from scipy.stats import norm

    similar = (counted(item) @ counted(item).T).toarray()
    distances = np.maximum(1 - similar, 0.0)
    if way == "mutual proximity":
        mean, spread = distances.mean(axis=1), distances.std(axis=1)
        farther = norm.sf((distances - mean[:, None]) / spread[:, None])
        changed = 1 - farther * farther.T
    else:
        np.fill_diagonal(distances, np.inf)
        near = np.partition(distances, 10, axis=1)[:, :10].mean(axis=1)
        near[near == 0] = near[near > 0].min()
        changed = distances / np.sqrt(near[:, None] * near)
    changed[similar <= 0] = np.inf
    np.fill_diagonal(changed, np.inf)
    return by_distances(changed)


def ways_to_join() -> dict[str, Callable[[Texts], graphsoft.Graph]]:
    """Return the ways to make a graph of texts."""
    ways: dict[str, Callable[[Texts], graphsoft.Graph]] = {DEFAULT: of_words}
    for count in (5, 15, 30, 50, 100):
        ways[f"{count} neighbors"] = partial(of_words, n_neighbors=count)
    for count in (10, 30):
        for weights in ("relative", "gaussian", "connectivity", "jaccard"):
            ways[f"{weights}, {count}"] = partial(of_words, weights=weights, n_neighbors=count)
        for symmetrize in ("mutual", "average"):
            ways[f"{symmetrize}, {count}"] = partial(of_words, symmetrize=symmetrize, n_neighbors=count)
    for power in (0.5, 1.0):
        ways[f"divided by degrees^{power}"] = partial(over_degrees, power=power)
    for way in ("mutual proximity", "scaled distances"):
        ways[way] = partial(fewer_hubs, way=way)
    ways["words in at most 5 % of texts"] = partial(of_words, kind="rarer words")
    for kind, dimensions in ("words", 50), ("words", 100), ("words", 200), ("words", 300), ("letters", 200):
        for count in (10, 30, 50):
            name = f"{dimensions} directions of {kind}, {count}"
            ways[name] = partial(of_directions, kind=kind, dimensions=dimensions, n_neighbors=count)
    for count in (10, 30, 50):
        ways[f"letters, {count}"] = partial(of_words, kind="letters", n_neighbors=count)
    return ways


# clusters and scores


def by_hierarchy(graph: graphsoft.Graph, **limits: Any) -> Callable[[int], Labels]:
    """Return what finds the top level of a hierarchy; limits hold only for few clusters."""

    def labels(k: int) -> Labels:
        levels = [FINE, k] if k < FINE else [k]
        return graphsoft.hierarchy(graph, levels, **(limits if k == FEW else {}))[-1].labels

    return labels


def by_peer(name: str, graph: Any, features: Any) -> Cluster:
    """Return what runs a peer."""
    import peers  # only here: they need the `bench` extra

    def labels(k: int) -> Labels | None:
        found = peers.run(name, graph, features, k)
        return found if len(np.unique(found)) == k else None

    return labels


def share_of_largest(labels: Labels) -> float:
    """Return the share of all texts in the largest cluster.

    >>> share_of_largest(np.array([0, 1, 1, 1]))
    0.75
    """
    return float(np.bincount(labels).max() / len(labels))


def scored(classes: Labels, cluster: Cluster) -> Scores:
    """Score labels for as many clusters as classes, and for few; NaN without labels."""
    found, few = cluster(len(np.unique(classes))), cluster(FEW)
    if found is None or few is None:
        return dict.fromkeys(SCORES, np.nan)
    return {
        SHARE: share_of_largest(few),
        NMI_OF_FEW: metrics.nmi(classes, few),
        "share of k": share_of_largest(found),
        **top_scores(classes, found),
    }


def run(whole: Texts, with_peers: bool) -> dict[str, Scores]:
    """Score every graph of a set of texts, and what else may help."""
    item = placed(whole)
    found = {name: scored(item.classes, by_hierarchy(way(item))) for name, way in ways_to_join().items()}
    found["texts without words stay"] = scored(whole.classes, by_hierarchy(of_words(whole)))
    graphs = {count: of_words(item, n_neighbors=count) for count in (10, 30)}
    most, least = 2 * FINE // FEW, 4
    for count, graph in graphs.items():
        found[f"max_children={most}, {count}"] = scored(item.classes, by_hierarchy(graph, max_children=most))
        found[f"min_children={least}, {count}"] = scored(
            item.classes, by_hierarchy(graph, min_children=least)
        )
    both = by_hierarchy(graphsoft.bipartite_graph(counted(item)))
    found["texts and words in one graph"] = scored(item.classes, lambda k: both(k)[: len(item.classes)])
    if with_peers:
        for count, graph in graphs.items():
            adjacency, inside = largest_component(graph)
            found[f"Leiden, {count}"] = scored(item.classes[inside], by_peer("leiden", adjacency, None))
        by_means = by_peer("kmeans", None, reduced(item, "words", 100))
        found["k-means, 100 directions"] = scored(item.classes, by_means)
    return found


def largest_component(graph: graphsoft.Graph) -> tuple[Any, NDArray[np.bool_]]:
    """Return the largest component of a graph, and which points are in it."""
    from scipy.sparse.csgraph import connected_components

    number = connected_components(graph.adjacency)[1]
    inside = number == np.bincount(number).argmax()
    return graph.adjacency[inside][:, inside], inside


# tables


def facts(item: Texts) -> list[str]:
    """Write what a set is like."""
    table = counted(item)
    words = np.diff(table.indptr)
    others = np.diff((table @ table.T).tocsr().indptr)
    degrees = np.diff(of_words(item).adjacency.indptr)
    numbers = [len(words), len(np.unique(item.classes)), np.median(words)]
    numbers += [(words == 0).sum(), (others <= 10).sum(), degrees.max()]
    return [item.name, *(f"{number:.0f}" for number in numbers)]


def shares_by_count(item: Texts) -> list[list[str]]:
    """Write the share of the largest of so many clusters, on a few graphs."""
    graphs = [("local-scaling", count) for count in (10, 15, 30, 50)]
    lines = []
    for weights, neighbors in (*graphs, ("connectivity", 10), ("gaussian", 30)):
        labels = by_hierarchy(of_words(item, weights=weights, n_neighbors=neighbors))
        shares = [share_of_largest(labels(count)) for count in COUNTS]
        cells = [f"{share:.2f}" for share in (*shares, np.mean(shares))]
        lines.append([item.name, f"{weights}, {neighbors}", *cells])
    return lines


def set_by_set(results: Results) -> str:
    """Write the share at few clusters, the ARI and the NMI of every setting on every set."""
    lines = []
    for setting in next(iter(results.values())):
        each = [found[setting] for found in results.values()]
        cells = [f"{scores[SHARE]:.2f} / {scores['ARI']:.3f} / {scores['NMI']:.3f}" for scores in each]
        lines.append([setting, *cells])
    return markdown(["setting", *results], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, required=True, help="folder for packages")
    parser.add_argument("--sets", default="", help=f"of {','.join(SETS)}; all by default")
    parser.add_argument("--no-peers", action="store_true", help="run graphsoft alone")
    arguments = parser.parse_args()
    names = [name for name in arguments.sets.split(",") if name] or [*SETS]
    if unknown := sorted({*names} - {*SETS}):
        parser.error(f"--sets: there is no {', '.join(unknown)}; there are {', '.join(SETS)}")
    warnings.simplefilter("ignore")
    packages = make_sets.Packages(arguments.packages)
    results: Results = {}
    about, shares = [], []
    for name in names:
        start = time.perf_counter()
        item = read_texts(name, packages)
        about.append(facts(item))
        results[name] = run(item, not arguments.no_peers)
        shares += shares_by_count(placed(item))
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    header = ["set", "texts", "classes", "words, median", "no shared word", "fewer than 10 others"]
    tables = [
        f"## Short texts: {len(results)} sets",
        markdown([*header, "most edges"], about),
        "## Short texts: share of the largest cluster, by the number of top clusters",
        markdown(["set", "graph", *map(str, COUNTS), "mean"], shares),
        f"## Short texts, each set: share of the largest of {FEW} clusters / ARI / NMI",
        set_by_set(results),
        "## Short texts, means",
        compared(results, SCORES),
    ]
    print("\n\n".join(tables))


if __name__ == "__main__":
    main()
