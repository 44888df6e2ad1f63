"""Small and deep trees, and trees read back from JSON."""

import numpy as np
from scipy.sparse import csr_array

from graphsoft.tree import build_tree


def small_tree(mass=1.0):
    parents = csr_array(np.array([[0.75, 0.25], [0.0, 1.0], [1.0, 0.0]]))
    return build_tree([parents], [[mass, 2.0, 3.0], [3.75, 2.25]], [[1, 2, 3], [4, 2]])


def caterpillar(levels):
    step = csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    return build_tree([step] * (levels - 1), [[1.0, 1.0]] * levels, [[1, 1]] * levels)


def nodes_of(parsed):
    """All nodes of parsed JSON, parents first."""
    waiting, found = [parsed], []
    while waiting:
        found.append(waiting.pop())
        waiting.extend(reversed(found[-1].get("children", [])))
    return found
