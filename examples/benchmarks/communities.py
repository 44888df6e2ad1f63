"""Compare graphsoft with its peers on graphs whose communities are known, disjoint and overlapping.

    python examples/benchmarks/communities.py [--sections disjoint overlapping] [--graphs 10]
        [--sizes 1000,5000] [--models split sum] [--cache DIR] [--out table.md]

``disjoint``: LFR graphs of networkx, beside Leiden. Scores are those at the true number of communities k.
Leiden's resolution is searched for k; "Leiden" alone is one run at resolution 1, which does not know k. The
second table is about the numbers found without k. networkx draws more edges between communities than mu
says: their share is the column "crossing". ``--cache`` keeps the graphs; empty it after a change of ``LFR``.

``overlapping``: a degree-corrected block model in which some nodes belong to two communities, beside SLPA and
BigCLAM of cdlib. ``split`` shares out the edges of such a node between both, half each, as overlapping LFR
graphs do. ``sum`` gives it as many in each as other nodes have in one, so that overlaps are denser, as
BigCLAM assumes. A fifth of all edges ignores communities. graphsoft and BigCLAM are given k; SLPA and
graphsoft with ``levels="auto"`` are not. The third table says how many communities were found, and which
share of nodes is in several.

A node counts as a member of its likeliest cluster, and of every one in which its membership is at least 0.25.
That is halfway between what nodes of one community have in others (0) and what those of two have in both
(0.5). "labels" counts the likeliest only.

Intervals hold 95 of 100 bootstrap draws of the graphs, and differences are those on the same graph; the row
"all" draws within every setting. ``disjoint`` needs the ``bench`` extra, and ``overlapping`` needs cdlib.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tables import markdown

import graphsoft
from graphsoft import metrics

MIXING = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
LFR = {
    "tau1": 3.0, "tau2": 1.5, "average_degree": 20, "max_degree": 50, "min_community": 20,
    "max_community": 100,
}  # fmt: skip
LFR_TRIES = 100  # seeds that are tried for one graph
OVERLAPS = (0.1, 0.2, 0.3, 0.4, 0.5)
COMMUNITIES = (10, 30)  # the fewest and the most
DEGREES = (12, 50)  # expected degrees follow a power law between these, with the exponent tau1
UNRELATED = 0.2  # share of edges that ignore communities
MODELS = ("split", "sum")
MEMBER = 0.25  # the smallest membership that counts
PACKAGES = {"disjoint": ("igraph", "leidenalg"), "overlapping": ("cdlib",)}
OURS = "graphsoft"
DRAWS = 10_000  # of the bootstrap

Adjacency = sp.csr_array
Cover = sp.csr_array  # (n, communities): 1 where a node belongs to a community
Labels = NDArray[np.int64]
Values = dict[str, float]  # what was measured on one graph, by the names of columns
Rows = dict[str, list[Values]]  # that of all graphs, by setting


def check_packages(sections: Sequence[str]) -> None:
    """Stop before any long work if a package is absent."""
    for section in sections:
        for package in PACKAGES[section]:
            if importlib.util.find_spec(package) is None:
                sys.exit(f"--sections {section} needs {package}. Remedy: pip install {package}.")


def simple_graph(ends: NDArray[Any], n: int) -> Adjacency:
    """Return the graph that has each of these edges once, without loops."""
    ends = ends[ends[:, 0] != ends[:, 1]]
    half = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return sp.csr_array(((half + half.T) > 0).astype(np.float64))


def top_level(adjacency: Adjacency, levels: Any) -> Any:
    """Return the top level that graphsoft finds."""
    return graphsoft.hierarchy(adjacency, levels, affinity="precomputed")[-1]


def draw_lfr(n: int, mixing: float, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw edges and communities of an LFR graph, with the next seed where networkx finds none."""
    import networkx as nx

    for attempt in range(LFR_TRIES):
        seed = 100_000 * attempt + 1_000 * number + round(100 * mixing)
        try:
            graph = nx.LFR_benchmark_graph(n, mu=mixing, seed=seed, **LFR)
        except nx.ExceededMaxIterations as error:
            print(f"LFR, n {n}, mu {mixing}, seed {seed}: {error}", file=sys.stderr)
            continue
        first = [min(graph.nodes[node]["community"]) for node in range(n)]
        return np.array(graph.edges, dtype=np.int32), np.unique(first, return_inverse=True)[1]
    raise RuntimeError(f"networkx drew no LFR graph with n = {n}, mu = {mixing} in {LFR_TRIES} attempts")


def lfr_graph(n: int, mixing: float, number: int, cache: Path | None) -> tuple[Adjacency, Labels]:
    """Return an LFR graph and its communities, from the cache if they are there."""
    path = cache / f"lfr-{n}-{mixing}-{number}.npz" if cache else None
    if path and path.exists():
        with np.load(path, allow_pickle=False) as file:
            edges, communities = file["edges"], file["communities"]
    else:
        edges, communities = draw_lfr(n, mixing, number)
        if path:
            np.savez_compressed(path, edges=edges, communities=communities)
    return simple_graph(edges, n), communities.astype(np.int64)


def leiden_searched(adjacency: Adjacency, count: int) -> Labels:
    """Leiden, with its resolution searched for a number of clusters."""
    import peers

    return peers.leiden(adjacency, None, count)


def leiden_once(adjacency: Adjacency, count: int) -> Labels:
    """Leiden, one run with modularity; it is not told how many clusters there are."""
    import igraph
    import leidenalg

    edges = np.column_stack(sp.coo_array(sp.triu(adjacency)).coords)
    network = igraph.Graph(adjacency.shape[0], edges.tolist())
    partition = leidenalg.find_partition(network, leidenalg.ModularityVertexPartition, seed=0)
    return np.asarray(partition.membership, dtype=np.int64)


LABELINGS: dict[str, Callable[[Adjacency, int], Labels]] = {
    OURS: lambda adjacency, count: top_level(adjacency, [count]).labels,
    "Leiden at k": leiden_searched,
    "Leiden": leiden_once,
}


def disjoint_values(adjacency: Adjacency, communities: Labels) -> Values:
    """Score everything on one graph."""
    count = len(np.unique(communities))
    rows, columns = adjacency.nonzero()
    values = {"k": float(count), "crossing": float(np.mean(communities[rows] != communities[columns]))}
    for name, labeling in LABELINGS.items():
        start = time.perf_counter()
        labels = labeling(adjacency, count)
        values[f"seconds {name}"] = time.perf_counter() - start
        values[f"NMI {name}"] = metrics.nmi(communities, labels, normalizer="mean")
        values[f"ARI {name}"] = metrics.adjusted_rand(communities, labels)
        values[f"found {name}"] = len(np.unique(labels))
    start = time.perf_counter()
    values["found auto"] = graphsoft.suggest_levels(adjacency, affinity="precomputed").clusters
    values["seconds auto"] = time.perf_counter() - start
    for name in (*LABELINGS, "auto"):
        values[f"error {name}"] = abs(values[f"found {name}"] - count) / count
    return values


def disjoint(options: argparse.Namespace) -> str:
    """Write the tables of disjoint communities."""
    scores = ["crossing", "k"]
    for score in ("NMI", "ARI"):
        mine, at_k = f"{score} {OURS}", f"{score} Leiden at k"
        scores += [mine, at_k, f"{mine} - {at_k}", f"{score} Leiden"]
    counts = ["k", "found auto", "found Leiden", "error auto", "error Leiden", "error auto - error Leiden"]
    parts = []
    for n in options.sizes or (1000, 5000):
        rows: Rows = {}
        for mixing in MIXING:
            graphs = (lfr_graph(n, mixing, number, options.cache) for number in range(options.graphs or 10))
            rows[f"{mixing}"] = [disjoint_values(*each) for each in graphs]
            print(f"LFR, n {n}, mu {mixing}: done", file=sys.stderr)
        missed = [sum(each[f"error {name}"] > 0 for each in all_of(rows)) for name in LABELINGS]
        note = (
            f"Of {len(all_of(rows))} graphs, {OURS} has another number of clusters than k on {missed[0]}, "
            f"and Leiden searched to k on {missed[1]}."
        )
        parts += [f"## LFR graphs, {n} nodes", table("mu", rows, scores), note, table("mu", rows, counts)]
        parts.append(seconds_line(rows, [*LABELINGS, "auto"]))
    return "\n\n".join(parts)


def mixed_graph(n: int, overlap: float, model: str, seed: int) -> tuple[Adjacency, Cover]:
    """Draw a graph in which the share `overlap` of all nodes belongs to two communities."""
    random = np.random.default_rng([seed, n, round(100 * overlap)])
    count = int(random.integers(COMMUNITIES[0], COMMUNITIES[1] + 1))
    sizes = random.uniform(1.0, 3.0, count)
    members = np.zeros((n, count))
    twofold = random.permutation(n) < round(overlap * n)
    for node in range(n):
        chosen = random.choice(count, 1 + int(twofold[node]), replace=False, p=sizes / sizes.sum())
        members[node, chosen] = 1.0
    degrees = np.arange(DEGREES[0], DEGREES[1] + 1)
    chances = degrees ** -LFR["tau1"]
    inside = random.choice(degrees, n, p=chances / chances.sum())[:, None] * members
    if model == "split":
        inside /= members.sum(axis=1, keepdims=True)
    # An edge belongs to a community, which draws both of its ends, or to none: the last column.
    weights = np.column_stack([(1 - UNRELATED) * inside, UNRELATED * inside.sum(axis=1)])
    masses = weights.sum(axis=0)
    ends = [
        random.choice(n, (random.poisson(mass / 2), 2), p=column / mass)
        for column, mass in zip(weights.T, masses, strict=True)
    ]
    return simple_graph(np.concatenate(ends), n), sp.csr_array(members)


def counted(memberships: Any) -> Cover:
    """Return which memberships count: the largest of every node, and all of at least `MEMBER`."""
    dense = memberships.toarray()
    return sp.csr_array(((dense >= MEMBER) | (dense == dense.max(axis=1, keepdims=True))).astype(float))


def cover_of(communities: Sequence[Sequence[int]], n: int) -> Cover:
    """Write lists of nodes as a matrix."""
    columns = np.repeat(np.arange(len(communities)), [len(each) for each in communities])
    nodes = np.concatenate([[], *communities]).astype(np.int64)
    return sp.csr_array((np.ones(len(nodes)), (nodes, columns)), shape=(n, len(communities)))


def lists_of(cover: Cover) -> list[list[int]]:
    """Write a matrix as lists of nodes, without empty ones."""
    columns = sp.csc_array(cover)
    nodes = np.split(columns.indices, columns.indptr[1:-1])
    return [each.tolist() for each in nodes if len(each)]


def omega(first: Cover, second: Cover) -> float:
    """Return the omega index, as cdlib does, which goes through all pairs in Python.

    >>> cover = cover_of([[0, 1, 2], [2, 3]], 4)
    >>> omega(cover, cover), round(omega(cover, cover_of([[0, 1], [2, 3]], 4)), 3)
    (1.0, 0.4)
    """
    n = first.shape[0]
    pairs = n * (n - 1) / 2
    shared = [sp.csr_array(sp.triu(cover @ cover.T, 1)) for cover in (first, second)]
    most = 1 + max(first.shape[1], second.shape[1])
    chances = [np.bincount(each.data.astype(np.int64), minlength=most) / pairs for each in shared]
    for each in chances:
        each[0] = 1.0 - each[1:].sum()
    observed = 1.0 - np.count_nonzero((shared[0] - shared[1]).data) / pairs
    expected = float(chances[0] @ chances[1])
    return 1.0 if expected == 1.0 else float((observed - expected) / (1.0 - expected))


def onmi(first: Cover, second: Cover, network: Any) -> float:
    """Return the overlapping NMI of McDaid, Greene and Hurley, as cdlib computes it."""
    cdlib = import_cdlib()
    covers = [cdlib.NodeClustering(lists_of(each), network, overlap=True) for each in (first, second)]
    return float(cdlib.evaluation.overlapping_normalized_mutual_information_MGH(*covers).score)


def import_cdlib() -> Any:
    """Import cdlib, which prints what else it could use."""
    with contextlib.redirect_stdout(sys.stderr):
        import cdlib.algorithms
        import cdlib.evaluation
    return cdlib


def from_cdlib(name: str, count_as: str = "", **settings: Any) -> Callable[[Adjacency, int], Cover]:
    """Return a function that runs an algorithm of cdlib; these draw NumPy's global random numbers."""

    def found(adjacency: Adjacency, count: int) -> Cover:
        import networkx as nx

        algorithm = getattr(import_cdlib().algorithms, name)
        np.random.seed(0)  # noqa: NPY002
        given = settings | ({count_as: count} if count_as else {})
        communities = algorithm(nx.from_scipy_sparse_array(adjacency), **given).communities
        return cover_of(communities, adjacency.shape[0])

    return found


# SLPA with the defaults of cdlib, and with the 100 rounds of its authors.
PEERS = {
    "SLPA": from_cdlib("slpa"),
    "SLPA, 100 rounds": from_cdlib("slpa", t=100, r=0.05),
    "BigCLAM": from_cdlib("big_clam", "dimensions", affiliation_method="threshold"),
}
COVERS: dict[str, Callable[[Adjacency, int], Cover]] = {
    OURS: lambda adjacency, count: counted(top_level(adjacency, [count]).memberships),
    "labels": lambda adjacency, count: sp.csr_array(np.eye(count)[top_level(adjacency, [count]).labels]),
    "two levels": lambda adjacency, count: counted(top_level(adjacency, [3 * count, count]).memberships),
    "auto": lambda adjacency, count: counted(top_level(adjacency, "auto").memberships),
    **PEERS,
}


def overlapping_values(adjacency: Adjacency, truth: Cover) -> Values:
    """Score everything on one graph."""
    import networkx as nx

    network = nx.from_scipy_sparse_array(adjacency)
    values = {"k": float(truth.shape[1]), "several": float(np.mean(truth.sum(axis=1) > 1))}
    for name, method in COVERS.items():
        start = time.perf_counter()
        cover = method(adjacency, truth.shape[1])
        values[f"seconds {name}"] = time.perf_counter() - start
        values[f"omega {name}"] = omega(truth, cover)
        values[f"ONMI {name}"] = onmi(truth, cover, network)
        values[f"found {name}"] = float(np.count_nonzero(cover.sum(axis=0)))
        values[f"several {name}"] = float(np.mean(cover.sum(axis=1) > 1))
    return values


def overlapping(options: argparse.Namespace) -> str:
    """Write the tables of overlapping communities."""
    names = [OURS, "auto", *PEERS]
    counts = ["k", *(f"found {name}" for name in names), *(f"several {name}" for name in names)]
    parts = []
    for n, model in itertools.product(options.sizes or (1000, 3000), options.models):
        rows: Rows = {}
        for overlap in OVERLAPS:
            graphs = (mixed_graph(n, overlap, model, seed) for seed in range(options.graphs or 5))
            rows[f"{overlap}"] = [overlapping_values(*each) for each in graphs]
            print(f"{model}, n {n}, overlap {overlap}: done", file=sys.stderr)
        parts.append(f"## Overlapping communities ({model}), {n} nodes")
        for score in ("omega", "ONMI"):
            leads = [f"{score} {OURS} - {score} {peer}" for peer in PEERS]
            parts.append(table("overlap", rows, [*(f"{score} {name}" for name in COVERS), *leads]))
        parts += [table("overlap", rows, counts), seconds_line(rows, list(COVERS))]
    return "\n\n".join(parts)


def all_of(rows: Rows) -> list[Values]:
    """Return what was measured on all graphs of all settings."""
    return [values for row in rows.values() for values in row]


def cell(column: str, settings: Sequence[list[Values]]) -> str:
    """Write the mean of a column, or of a difference "a - b" with its interval."""
    mine, minus, other = column.partition(" - ")
    if not minus:
        mean = np.mean([values[column] for row in settings for values in row])
        return f"{mean:.1f}" if column.startswith(("found", "k")) else f"{mean:.3f}"
    random = np.random.default_rng(0)
    differences = np.array([[values[mine] - values[other] for values in row] for row in settings])
    draws = [random.choice(each, (DRAWS, len(each))).mean(axis=1) for each in differences]
    low, high = np.percentile(np.mean(draws, axis=0), [2.5, 97.5])
    return f"{differences.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def table(label: str, rows: Rows, columns: Sequence[str]) -> str:
    """Write a row for every setting, and one for all of them together."""
    settings = {name: [row] for name, row in rows.items()} | {"all": list(rows.values())}
    lines = [[name, *(cell(column, held) for column in columns)] for name, held in settings.items()]
    # "NMI a - NMI b" is headed "NMI a - b"
    header = [re.sub(r"^(\w+) (.*) - \1 ", r"\1 \2 - ", column) for column in columns]
    return markdown([label, *header], lines)


def seconds_line(rows: Rows, names: Sequence[str]) -> str:
    """Write how long everything took on average."""
    means = [f"{name} {np.mean([each[f'seconds {name}'] for each in all_of(rows)]):.2f}" for name in names]
    return "Seconds for a graph: " + "; ".join(means) + "."


SECTIONS = {"disjoint": disjoint, "overlapping": overlapping}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="both")
    parser.add_argument("--graphs", type=int, help="for every setting: 10, or 5 if overlapping")
    parser.add_argument("--sizes", default="", help="nodes: 1000,5000, or 1000,3000 if overlapping")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="if overlapping: both")
    parser.add_argument("--cache", type=Path, help="a folder for LFR graphs")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    options = parser.parse_args()
    check_packages(options.sections)
    options.sizes = [int(each) for each in options.sizes.split(",") if each]
    if options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    # compile before anything is timed
    top_level(graphsoft.patterns.block_graph(0, blocks=5, size=20), "auto")
    text = "\n\n".join(SECTIONS[name](options) for name in options.sections) + "\n"
    print(text, end="")
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
