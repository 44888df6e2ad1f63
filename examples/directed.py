"""Find groups in directed graphs, and see when the directions of edges matter.

    python examples/directed.py [--output DIR] [--quick]

Two kinds of graphs are drawn, each with four groups that are known.

Visitors: the members of a group point to each other for the most part. Ever more visitors come, of whom each
points to ten members of any groups, and to whom no one points. Where directions are forgotten, the edges of
the visitors tie all groups together. A walk that follows directions is never led to a visitor, so
`graphsoft.directed_graph` gives their edges next to no weight: the groups stay as clear as they were.

Passing on: the members of every group point to those of the next, the last to the first. No walk stays in
such a group, along no kind of direction, and neither way finds any. Their members point to the same others,
and that is what `graphsoft.bipartite_graph` sees: rows of the table are the nodes as those who point, columns
the same nodes as those who are pointed to. It is not for visitors, who point to others as no group does.

It prints the adjusted Rand index of the members' groups, means over several draws, and draws it.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp

import graphsoft
from graphsoft import metrics

mpl.use("Agg")
import matplotlib.pyplot as plt

GROUPS, SIZE = 4, 50
MEMBERS = GROUPS * SIZE
INSIDE = 6.0  # edges of a member to where its group points
VISITORS = [0, 100, 200, 400, 800, 1600]
OTHERS = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0]

WAYS = {
    "directions forgotten": (lambda A: graphsoft.directed_graph(A, teleport=1), "#b5533c", "s"),
    "directed_graph": (graphsoft.directed_graph, "#2f6f8f", "o"),
    "bipartite_graph": (graphsoft.bipartite_graph, "#7a8b3a", "^"),
}


def members(rng, step, others):
    """Draw edges to the group `step` further on, and some to other groups."""
    group = np.arange(MEMBERS) // SIZE
    aimed = (group[:, None] + step) % GROUPS == group
    edges = rng.random((MEMBERS, MEMBERS)) < np.where(aimed, INSIDE / SIZE, others / (MEMBERS - SIZE))
    np.fill_diagonal(edges, False)
    return edges.astype(float), group


def with_visitors(rng, count):
    """Add nodes of which each points to ten members, and to which none points."""
    edges, group = members(rng, step=0, others=2.0)
    whole = np.zeros((MEMBERS + count, MEMBERS + count))
    whole[:MEMBERS, :MEMBERS] = edges
    for visitor in range(MEMBERS, MEMBERS + count):
        whole[visitor, rng.choice(MEMBERS, 10, replace=False)] = 1.0
    return sp.csr_array(whole), group


def passing_on(rng, others):
    """Draw groups that point to the next."""
    edges, group = members(rng, step=1, others=others)
    return sp.csr_array(edges), group


def score(make, values, draws):
    """Return the mean adjusted Rand index, (ways, values), of graphs that ``make(rng, value)`` draws."""
    found = np.zeros((len(WAYS), len(values), draws))
    for column, value in enumerate(values):
        for draw in range(draws):
            A, group = make(np.random.default_rng(draw), value)
            for row, (way, _, _) in enumerate(WAYS.values()):
                labels = graphsoft.cluster(way(A), GROUPS).labels[:MEMBERS]
                found[row, column, draw] = metrics.adjusted_rand(group, labels)
    return found.mean(axis=2)


def show(title, called, values, scores):
    print(f"{title}: adjusted Rand index by {called}")
    print(f"{'':22}" + "".join(f"{value:>8g}" for value in values))
    for name, row in zip(WAYS, scores, strict=True):
        print(f"{name:22}" + "".join(f"{each:8.2f}" for each in row))
    print()


def draw(panels, path):
    figure, axes = plt.subplots(1, len(panels), figsize=(10, 3.8), sharey=True, layout="constrained")
    for axis, (title, called, values, scores) in zip(axes, panels, strict=True):
        for (name, (_, color, mark)), row in zip(WAYS.items(), scores, strict=True):
            axis.plot(values, row, color=color, marker=mark, label=name)
        axis.set(title=title, xlabel=called, ylim=(-0.05, 1.05))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("adjusted Rand index of the groups")
    axes[0].legend(loc="center right", frameon=False)
    figure.savefig(path, dpi=120)
    print(f"drawn to {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--quick", action="store_true", help="one draw of each graph")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    draws = 1 if given.quick else 5
    panels = []
    for title, called, values, make in (
        ("Groups, and visitors that point anywhere", "visitors", VISITORS, with_visitors),
        ("Groups that point to the next", "edges of a node to other groups", OTHERS, passing_on),
    ):
        panels.append((title, called, values, score(make, values, draws)))
        show(*panels[-1])
    draw(panels, given.output / "directed.png")


if __name__ == "__main__":
    main()
