"""See what the levels of a hierarchy look at: which walk, of how many steps, each of them resembles.

    python examples/walks.py [--data DIR] [--output DIR] [--quick]

"Soft Clustering on Graphs" reads a graph as a random walk, and a level of its hierarchy as a walk of several
steps. By proposition 3.1 level l is the walk of t = 2^l steps, where `h[0]` is level 1. But where all levels
factorize exactly, the algebra says t = l, and the first table confirms that.

Real graphs do not factorize exactly. For each level, the other tables show the t whose walk is nearest to the
walk by way of the level's clusters, and the distance between the two. The distance is the total variation,
averaged over sampled points: the part of the walks from a point that would have to end elsewhere. It is 0 for
equal walks and 1 for walks that never meet.

The levels are fitted in three ways. "published" fits each level to the cluster graph below it. "polished"
then improves it on the graph of the points. "alone" makes it the only level of a hierarchy, with nothing
below. The last one shows that the length of the walk depends on the number of clusters, not on the number of
the level.

There are two pictures. One is the paper's figure: how similar the points of a pattern are to one of them,
after 2 and 64 steps and on every level. The other shows the distances for all t.

``DIR`` holds sets such as ``usps_1234.npz`` (``X``) and ``ng4_paper.npz`` (``data, indices, indptr, shape``).
Without ``--data`` the graphs are those that come with the project.
"""

import matplotlib as mpl
import networkx as nx
import numpy as np
import scipy.sparse as sp
from papers.sets import bundled, labeled, page_parser

import graphsoft
from graphsoft.patterns import make_pattern
from graphsoft.result.walks import EquivalentAdjacency

mpl.use("Agg")
import matplotlib.pyplot as plt

# metric and sizes of levels for the files in DIR
SETS = {
    "usps_1234": ("euclidean", [100, 20, 10, 4]),
    "ng4_paper": ("cosine", [100, 20, 4]),
    "uci_satimage": ("euclidean", [100, 20, 6]),
    "sc_worm_neuron_pca50": ("euclidean", [100, 20, 10]),
}
TIMES = np.unique(np.round(2.0 ** np.arange(0, 12.5, 0.5)).astype(int))  # 1 to 4096
SAMPLED = 100


def read_graphs(directory, quick):
    """Yield names, graphs, and the sizes of the levels."""
    yield "digits", graphsoft.knn_graph(bundled("digits.csv.gz").data), [100, 20, 10]
    if not quick:
        yield "Les Misérables", graphsoft.as_graph(nx.les_miserables_graph()), [20, 10, 4]
    for name, (metric, levels) in SETS.items() if directory else ():
        X, _ = labeled(directory, name)
        yield name, graphsoft.knn_graph(X, metric=metric), levels


def exact_levels():
    """Print how far levels that factorize exactly are from walks of l and of 2^l steps."""
    rng = np.random.default_rng(0)
    B = rng.random((30, 5)) ** 3
    W = B / B.sum(axis=0) @ B.T
    graph, degrees = graphsoft.as_graph(W, affinity="precomputed"), W.sum(axis=1)
    down, up = B / degrees[:, None], (B / B.sum(axis=0)).T
    print("## 30 points that factorize exactly: B_2 = B_1^T, B_3 = B_1\n")
    print("level   from t = l   from t = 2^l")
    for level, S in enumerate([down, down @ up, down @ up @ down], start=1):
        walk = EquivalentAdjacency(sp.csr_array(S), degrees).toarray() / degrees[:, None]
        far = [
            distance(walk, graphsoft.multistep(graph, t).toarray() / degrees[:, None])
            for t in (level, 2**level)
        ]
        print(f"{level:5d} {far[0]:12.3f} {far[1]:14.3f}")
    print()


def distance(one, other):
    """Average the total variation between the rows of two transition matrices."""
    return 0.5 * np.abs(one - other).sum(axis=1).mean()


def transitions(operator, nodes):
    """Return the chances that walks from some nodes end at each node, one row for each start."""
    units = np.zeros((operator.shape[0], len(nodes)))
    units[nodes, np.arange(len(nodes))] = 1.0
    return (operator @ units).T / operator.degrees[nodes, None]


def distances(h, nodes):
    """Return the distance of every level to the walk of every time, (levels, times)."""
    levels = [transitions(level.equivalent_adjacency, nodes) for level in h]
    far, last, rows = np.zeros((len(h), len(TIMES))), 0, None
    with np.errstate(divide="ignore"):
        inverse = np.where(h.graph.degrees > 0, 1.0 / h.graph.degrees, 0.0)
    for at, t in enumerate(TIMES.tolist()):
        steps = graphsoft.multistep(h.graph, t - last)
        # continue from where the walk of the last time ended
        rows = transitions(steps, nodes) if rows is None else (steps @ (inverse[:, None] * rows.T)).T
        last = t
        far[:, at] = [distance(level, rows) for level in levels]
    return far


def print_table(name, h, far):
    """Print which walk every level resembles, and how far it is from the walks of l and 2^l steps."""
    print(f"## {name}: {h}\n")
    print("                         nearest t, and distance       at t = l    at t = 2^l")
    for row, level in enumerate(h):
        for kind, each in far.items():
            best, number = each[row].argmin(), 1 if kind == "alone" else row + 1  # the l of l and 2^l
            expected = [each[row, np.flatnonzero(t == TIMES)[0]] for t in (number, 2**number)]
            print(
                f"level {number}, {len(level.mass):4d} clusters {kind:>10}: t = {TIMES[best]:4d}, "
                f"{each[row, best]:.2f} {expected[0]:14.2f} {expected[1]:13.2f}"
            )
    print()


def draw_similarity(path):
    """Draw how similar the points of a pattern are to one of them, by short and long walks and by levels."""
    points, _ = make_pattern("bridge", rng=2)
    h = graphsoft.hierarchy(points, levels=[30, 8, 2])
    node = int(np.argmin(np.abs(points - [-1.7, 0.3]).sum(axis=1)))
    figure, panels = plt.subplots(2, 3, figsize=(11.5, 5.2), layout="constrained")
    graphsoft.plots.map(h, -1, panels[0, 0])
    for steps, panel in zip((2, 64), panels[0, 1:], strict=True):
        graphsoft.plots.walk(h, node, panel, steps=steps)
    for level, panel in enumerate(panels[1]):
        graphsoft.plots.walk(h, node, panel, level=level)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_distances(results, path):
    """Draw the distance of every level to walks of all times."""
    columns = min(len(results), 3)
    rows = -(-len(results) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.6 * columns, 3.4 * rows), squeeze=False, sharey=True, layout="constrained"
    )
    for panel in axes.flat[len(results) :]:
        panel.axis("off")
    for panel, (name, (h, far)) in zip(axes.flat, results.items(), strict=False):
        colors = plt.cm.viridis(np.linspace(0, 0.85, len(h)))
        for row, (level, color) in enumerate(zip(h, colors, strict=True)):
            label = f"level {row + 1}, {len(level.mass)} clusters"
            panel.plot(TIMES, far["polished"][row], color=color, label=label)
            panel.plot(TIMES, far["published"][row], color=color, ls=":", lw=1.4)
            best = far["polished"][row].argmin()
            panel.plot(TIMES[best], far["polished"][row, best], "o", color=color, ms=5)
        panel.set_xscale("log", base=2)
        panel.set_xticks(
            [1, 4, 16, 64, 256, 1024, 4096], ["1", "4", "16", "64", "256", "1024", "4096"], fontsize=8
        )
        panel.set_ylim(0, 1)
        panel.set_title(name, fontsize=10)
        panel.legend(fontsize=8, frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_xlabel("steps t of the walk on the graph")
    for panel in axes[:, 0]:
        panel.set_ylabel("total variation distance")
    figure.suptitle(
        "How far the walk by way of a level is from t steps (dotted: published, line: polished)", fontsize=11
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = page_parser(__doc__, data="folder of the sets", quick="one graph of those in the project only")
    options = parser.parse_args()
    draw_similarity(options.output / "walks.png")
    exact_levels()
    results = {}
    for name, graph, sizes in read_graphs(options.data, options.quick):
        nodes = np.random.default_rng(0).permutation(np.flatnonzero(graph.degrees))[:SAMPLED]
        h = graphsoft.hierarchy(graph, sizes)
        far = {
            "published": distances(graphsoft.hierarchy(graph, sizes, polish=False), nodes),
            "polished": distances(h, nodes),
            "alone": np.concatenate([distances(graphsoft.hierarchy(graph, [size]), nodes) for size in sizes]),
        }
        print_table(name, h, far)
        results[name] = (h, far)
    draw_distances(results, options.output / "walks_distances.png")
    print(f"pictures: {options.output / 'walks.png'}, {options.output / 'walks_distances.png'}")


if __name__ == "__main__":
    main()
