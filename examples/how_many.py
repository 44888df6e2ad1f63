"""Count clusters: the number of classes beside the suggested number of clusters, for many sets.

    python examples/how_many.py [--data DIR] [--peers] [--draw NAME] [--output DIR]

There is no true number of clusters, and labels are one opinion: the ten digits are written in more than ten
ways, and two kinds of iris look alike. So the table shows three more candidates beside the suggestion, in the
order of their scores. A question mark means that data without clusters often reach such a score too. The
column ``paid`` has the number of clusters that survive a price on each, as in the discussion of "Soft
Clustering on Graphs" with its beta of 0.7. It is computed for up to 2000 points only, because it looks at all
clusters for each edge. ``--peers`` adds the number of clusters with the greatest modularity, by Leiden, and
the number that HDBSCAN finds in the features (HDBSCAN leaves some points out as noise).

The last lines say how far each way is off: the mean of |log(found / classes)|, where 0.69 is a factor of two.
The mean is taken over one half of the sets (the first, the third and so on), over the other half, and over
all.

``how_many.png`` shows for one set what speaks for each number of clusters. ``DIR`` holds labeled sets as for
``examples/benchmarks/quality.py``. Without ``--data`` the sets are those that come with the project.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.sets import BUNDLED, labeled_sets, page_parser

import graphsoft
from graphsoft.datasets import read

mpl.use("Agg")
import matplotlib.pyplot as plt

SURE = 1.5  # points without clusters seldom reach this score
MAX_PAID = 2000  # points


def bundled_sets():
    """Yield name, data and classes of the sets that come with the project."""
    names = ["digits.csv.gz", "iris.csv", "karate.graphml"]
    names += [f"patterns/{path.name}" for path in sorted((BUNDLED / "patterns").iterdir())]
    labels = {"karate.graphml": "club", "patterns/blocks.graphml": "block"}
    for name in names:
        found = read(BUNDLED / name, labels=labels.get(name, "label"))
        yield Path(name).name.split(".")[0], found.data, found.labels


def graph_of(name, data):
    """Take a graph as it is, and join points to their nearest neighbors."""
    if sp.issparse(data) and not name.startswith("graph_"):
        return graphsoft.knn_graph(data, metric="cosine")
    return graphsoft.as_graph(data, affinity="precomputed" if sp.issparse(data) else "auto")


def by_peers(data, graph):
    """Count the clusters of the greatest modularity, and those of HDBSCAN."""
    import igraph
    import leidenalg
    from sklearn.cluster import HDBSCAN

    edges = sp.triu(graph.adjacency, 1).tocoo()
    network = igraph.Graph(len(graph), list(zip(*(ends.tolist() for ends in edges.coords), strict=True)))
    partition = leidenalg.find_partition(
        network, leidenalg.ModularityVertexPartition, weights=edges.data, seed=0
    )
    found = {"Leiden": len(partition)}
    if isinstance(data, np.ndarray):
        found["HDBSCAN"] = max(1, int(HDBSCAN(copy=True).fit_predict(data).max()) + 1)
    return found


def count(name, data, classes, peers):
    """Count the clusters of one set in every way, and print a row."""
    graph = graph_of(name, data)
    suggestion = graphsoft.suggest_levels(graph)
    best = suggestion.best(4)
    chosen = next((each for each in suggestion.candidates if each.clusters == suggestion.clusters), None)
    found = {"found": suggestion.clusters, "or": [each.clusters for each in best if each is not chosen][:3]}
    if len(graph) <= MAX_PAID:
        found["paid"] = graphsoft.methods.cluster_surviving(graph).memberships.shape[1]
    if peers:
        found |= by_peers(data, graph)
    score, stability = (chosen.score, chosen.stability) if chosen else (0.0, 1.0)
    unsure = "?" if score < SURE else " "
    row = f"{name:22} {len(graph):6} {classes:7} {found['found']:6}{unsure} {found['or']!s:14} "
    row += f"{score:5.2f} {stability:9.2f}"
    print(row + "".join(f"{found.get(each, ''):>8}" for each in ("paid", "Leiden", "HDBSCAN")))
    return suggestion, {each: number for each, number in found.items() if each != "or"}


def sum_up(classes, found):
    """Print how far each way to count is off."""
    print("\nmean of |log(found / classes)|      sets   one half  the other   all   exact  within a quarter")
    for way in ("found", "paid", "Leiden", "HDBSCAN"):
        known = [(at, row[way]) for at, row in enumerate(found) if way in row]
        if not known:
            continue
        off = np.array([abs(np.log(number / classes[at])) for at, number in known])
        even = np.array([at % 2 == 0 for at, _ in known])
        halves = [f"{off[half].mean():.2f}" if half.any() else "-" for half in (even, ~even)]
        exact, near = np.count_nonzero(off < 1e-9), np.count_nonzero(off <= np.log(1.25) + 1e-9)
        print(f"{way:34} {len(off):5} {halves[0]:>10} {halves[1]:>10} {off.mean():5.2f} {exact:7} {near:17}")


def draw(name, suggestion, classes, path):
    """Draw what speaks for each number of clusters."""
    sizes = [each.clusters for each in suggestion.candidates if each.clusters <= 60]
    rows = [
        ("score", "score: fall times\nroot of clusters"),
        ("stability", "stability\n(adjusted Rand index)"),
        ("held_out", "held-out edges: nats\nabove degrees alone"),
    ]
    figure, axes = plt.subplots(3, 1, figsize=(7.5, 7), sharex=True, layout="constrained")
    for axis, (attribute, title) in zip(axes, rows, strict=True):
        values = [getattr(each, attribute) for each in suggestion.candidates[: len(sizes)]]
        if attribute == "score":
            axis.bar(sizes, values, color="0.6", width=0.7)
            axis.axhline(SURE, color="0.3", linewidth=0.8, linestyle=":")
            axis.annotate("also reached without clusters", (60, SURE), ha="right", va="bottom", fontsize=8)
        else:
            axis.plot(sizes, values, color="0.3", marker=".", markersize=4)
        axis.axvline(suggestion.clusters, color="C0", linewidth=1.5, label=f"found: {suggestion.clusters}")
        axis.axvline(classes, color="C1", linewidth=1.5, linestyle="--", label=f"classes: {classes}")
        axis.set_ylabel(title)
    axes[0].legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 1))
    axes[0].set_title(f"{name}: levels {', '.join(map(str, suggestion.levels))}")
    axes[-1].set_xlabel("clusters")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    """Print the table, and draw one set."""
    parser = page_parser(__doc__, data="folder of labeled sets")
    parser.add_argument("--peers", action="store_true", help="add Leiden and HDBSCAN; needs '.[bench]'")
    parser.add_argument("--draw", metavar="NAME", help="the set to draw; the first one by default")
    options = parser.parse_args()

    ways = "    paid" + ("  Leiden HDBSCAN" if options.peers else "")
    print(f"{'set':22} points classes  found  or             score stability{ways}")
    classes, found, drawn = [], [], None
    for name, data, labels in labeled_sets(options.data) if options.data else bundled_sets():
        classes.append(len(np.unique(labels)))
        suggestion, row = count(name, data, classes[-1], options.peers)
        found.append(row)
        if suggestion.candidates and (name == options.draw or (options.draw is None and drawn is None)):
            drawn = (name, suggestion, classes[-1])
    sum_up(classes, found)
    if drawn:
        draw(*drawn, options.output / "how_many.png")
        print(f"\n{drawn[0]}: {drawn[1]}")


if __name__ == "__main__":
    main()
