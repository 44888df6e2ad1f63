"""Find groups in directed graphs, and see when the directions of edges matter.

    python examples/directed.py [--output DIR] [--quick]

Two kinds of graphs are drawn, each with four known groups.

Visitors: the members of a group mostly point to each other. Then visitors are added. Each visitor points to
ten members of any groups, and nobody points to a visitor. If directions are forgotten, the edges of the
visitors tie all groups together. A walk that follows directions never comes to a visitor, so
`graphsoft.directed_graph` gives their edges almost no weight, and the groups stay as clear as they were.

Passing on: the members of each group point to those of the next group, and the last group points to the
first. No walk stays in such a group, so neither forgetting directions nor following them finds any. But the
members of a group point to the same others, and `graphsoft.bipartite_graph` sees that: rows of the table are
the nodes that point, columns are the same nodes that are pointed to. It is not the right graph for visitors,
who do not point as any group does.

The script prints and draws the adjusted Rand index of the members' groups, averaged over several draws.
"""

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from papers.sets import page_parser

import graphsoft
from graphsoft import metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

GROUPS, SIZE = 4, 50
MEMBERS = GROUPS * SIZE
INSIDE = 6.0  # mean number of edges from a member to the group that its group points to
VISITORS = [0, 100, 200, 400, 800, 1600]
OTHERS = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0]

WAYS = {
    "directions forgotten": (lambda A: graphsoft.directed_graph(A, teleport=1), "#b5533c", "s"),
    "directed_graph": (graphsoft.directed_graph, "#2f6f8f", "o"),
    "bipartite_graph": (graphsoft.bipartite_graph, "#7a8b3a", "^"),
}


def members(rng, step, others):
    """Draw edges to the group that comes `step` places later, and about `others` edges a node to the rest."""
    group = np.arange(MEMBERS) // SIZE
    to_its_group = (group[:, None] + step) % GROUPS == group
    edges = rng.random((MEMBERS, MEMBERS)) < np.where(to_its_group, INSIDE / SIZE, others / (MEMBERS - SIZE))
    np.fill_diagonal(edges, False)
    return edges.astype(float), group


def with_visitors(rng, count):
    """Draw groups, and `count` visitors who point to ten members each."""
    edges, group = members(rng, step=0, others=2.0)
    whole = np.zeros((MEMBERS + count, MEMBERS + count))
    whole[:MEMBERS, :MEMBERS] = edges
    for visitor in range(MEMBERS, MEMBERS + count):
        whole[visitor, rng.choice(MEMBERS, 10, replace=False)] = 1.0
    return sp.csr_array(whole), group


def passing_on(rng, others):
    """Draw groups of which each points to the next one."""
    edges, group = members(rng, step=1, others=others)
    return sp.csr_array(edges), group


def score(make, values, draws):
    """Average the adjusted Rand index, (ways, values), over graphs that ``make(rng, value)`` draws."""
    found = np.zeros((len(WAYS), len(values), draws))
    for column, value in enumerate(values):
        for draw in range(draws):
            A, group = make(np.random.default_rng(draw), value)
            for row, (way, _, _) in enumerate(WAYS.values()):
                labels = graphsoft.cluster(way(A), GROUPS).labels[:MEMBERS]
                found[row, column, draw] = metrics.adjusted_rand(group, labels)
    return found.mean(axis=2)


def print_scores(title, parameter, values, scores):
    print(f"{title}: adjusted Rand index by {parameter}")
    print(f"{'':22}" + "".join(f"{value:>8g}" for value in values))
    for name, row in zip(WAYS, scores, strict=True):
        print(f"{name:22}" + "".join(f"{each:8.2f}" for each in row))
    print()


def draw(panels, path):
    figure, axes = plt.subplots(1, len(panels), figsize=(10, 3.8), sharey=True, layout="constrained")
    for axis, (title, parameter, values, scores) in zip(axes, panels, strict=True):
        for (name, (_, color, mark)), row in zip(WAYS.items(), scores, strict=True):
            axis.plot(values, row, color=color, marker=mark, label=name)
        axis.set(title=title, xlabel=parameter, ylim=(-0.05, 1.05))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("adjusted Rand index of the groups")
    axes[0].legend(loc="center right", frameon=False)
    figure.savefig(path, dpi=120)
    print(f"drawn to {path}")


def main():
    options = page_parser(__doc__, quick="one draw of each graph").parse_args()
    draws = 1 if options.quick else 5
    panels = []
    for title, parameter, values, make in (
        ("Groups, and visitors that point anywhere", "visitors", VISITORS, with_visitors),
        ("Groups that point to the next", "edges of a node to other groups", OTHERS, passing_on),
    ):
        panels.append((title, parameter, values, score(make, values, draws)))
        print_scores(*panels[-1])
    draw(panels, options.output / "directed.png")


if __name__ == "__main__":
    main()
