"""A hierarchy made by hand, for tests of the command line that need faults on purpose, or only shapes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from graphsoft.tree_building import build_tree


@dataclass(frozen=True)
class StandInLevel:
    memberships: csr_array
    labels: np.ndarray
    entropy: np.ndarray
    mass: np.ndarray


@dataclass(frozen=True)
class StandInReport:
    gap: float
    trace: np.ndarray
    notes: tuple = ()
    scaling: tuple = ()
    part: str = ""


@dataclass(frozen=True)
class StandInGraph:
    nodes: Any

    def __len__(self):
        return len(self.nodes)


@dataclass
class StandIn:
    levels: list
    tree: Any
    graph: StandInGraph
    report: StandInReport
    features: None = None

    def __getitem__(self, index):
        return self.levels[index]

    def __len__(self):
        return len(self.levels)

    @property
    def nodes(self):
        return self.graph.nodes

    def explore(self, path, **_):
        path.write_text("<!doctype html>", encoding="utf-8")


def stand_in(count, sizes):
    """Cut the rows into runs of equal length, and these again."""
    levels, parents = [], []
    for level, size in enumerate(sizes):
        labels = np.arange(count) * size // count
        likeliest = csr_array((np.full(count, 0.75), (np.arange(count), labels)), shape=(count, size))
        others = csr_array(
            (np.full(count, 0.25), (np.arange(count), (labels + 1) % size)), shape=(count, size)
        )
        memberships = csr_array(likeliest + others)
        mass = np.bincount(labels, minlength=size).astype(float)
        levels.append(StandInLevel(memberships, labels, np.full(count, 0.5), mass))
        if level:
            below = sizes[level - 1]
            up = np.arange(below) * size // below
            parents.append(csr_array((np.ones(below), (np.arange(below), up)), shape=(below, size)))
    masses = [level.mass for level in levels]
    tree = build_tree(parents, masses, [mass.astype(int) for mass in masses])
    report = StandInReport(float("nan"), np.array([-2.0, -1.0]))
    return StandIn(levels, tree, StandInGraph(range(count)), report)
