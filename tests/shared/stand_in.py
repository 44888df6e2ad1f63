"""A hierarchy made by hand, for tests of the command line that need faults on purpose, or only shapes."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from graphsoft.tree import build_tree


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


class StandIn(list):
    """Cuts the rows into runs of equal length, and these again."""

    def __init__(self, count, sizes):
        parents = []
        for level, size in enumerate(sizes):
            labels = np.arange(count) * size // count
            likeliest = csr_array((np.full(count, 0.75), (np.arange(count), labels)), shape=(count, size))
            others = csr_array(
                (np.full(count, 0.25), (np.arange(count), (labels + 1) % size)), shape=(count, size)
            )
            memberships = csr_array(likeliest + others)
            mass = np.bincount(labels, minlength=size).astype(float)
            self.append(StandInLevel(memberships, labels, np.full(count, 0.5), mass))
            if level:
                below = sizes[level - 1]
                up = np.arange(below) * size // below
                parents.append(csr_array((np.ones(below), (np.arange(below), up)), shape=(below, size)))
        self.nodes = range(count)
        self.report = StandInReport(float("nan"), np.array([-2.0, -1.0]))
        masses = [level.mass for level in self]
        self.tree = build_tree(parents, masses, [mass.astype(int) for mass in masses])
