"""Small and deep trees, and trees read back from JSON."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

from graphsoft.tree import Node, Tree
from graphsoft.tree_building import build_tree


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


def make_tree(parents, mass=None):
    """Tree of dense parent matrices; masses and sizes are counted upwards if there is no mass."""
    masses = [np.ones(len(parents[0])) if mass is None else np.asarray(mass, dtype=float)]
    for matrix in parents:
        masses.append(masses[-1] @ matrix)
    sizes = [np.ceil(mass).astype(int) for mass in masses]
    return build_tree([csr_array(np.asarray(matrix)) for matrix in parents], masses, sizes)


@st.composite
def parent_chains(draw):
    """Row-stochastic matrices, one above the other, with many ties and zeros."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=5))
    chain = []
    for low, high in itertools.pairwise(sizes):
        row = st.lists(st.integers(0, 3), min_size=high, max_size=high).filter(any)
        matrix = np.array([draw(row) for _ in range(low)], dtype=float)
        chain.append(matrix / matrix.sum(axis=1, keepdims=True))
    return chain


def chain(length):
    """A tree in which every node has one child, as deep as it is large."""
    ids = [f"{level}-0" for level in range(length)]
    above = [*ids[1:], None]
    below = [(), *((id,) for id in ids[:-1])]
    nodes = [
        Node(id, level, 0, 1.0, 1, above[level], below[level], ((above[level], 1.0),) if above[level] else ())
        for level, id in enumerate(ids)
    ]
    return Tree(tuple(nodes), (1,) * length)
