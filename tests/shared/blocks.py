"""Graphs in blocks for tests: in memory, split in any way, and steps on a graph that is one block."""

import pickle
from functools import reduce

import numpy as np
import scipy.sparse as sp

from graphsoft.engine.blocks import Block, OneBlock, Seen, State, Stepped, floor_of


def stepped(graph, S, work, *others, **known):
    """The memberships of a graph after a step, and the log-likelihood before it."""
    blocks = OneBlock(graph)
    state = blocks.step(work, blocks.begin(sp.csr_array(S)), others, **known)
    return state.held, state.log_likelihood


def grouped_by(graph, part):
    """The graph with its nodes in the order of their blocks, as one block has them."""
    order = np.argsort(part, kind="stable")
    moved = graph.adjacency[order].tocsr()
    places = np.argsort(order).astype(moved.indices.dtype)
    columns, ptr, data = places[moved.indices], moved.indptr, moved.data.copy()
    for i in range(len(order)):  # edges in the order of blocks, and of places in them
        row = slice(ptr[i], ptr[i + 1])
        by_place = np.argsort(columns[row])
        columns[row], data[row] = columns[row][by_place], data[row][by_place]
    return type(graph)(sp.csr_array((data, columns, ptr), shape=moved.shape), range(len(order)))


class BlocksInMemory:
    """The obvious twin of blocks in files: block p has the nodes of part p, in rising order.

    Parameters
    ----------
    graph : Graph
        With its nodes in the order of the blocks; see `grouped_by`.
    part : ndarray of shape (n,)
        The block of each node, which rises.
    count : int
        Blocks, of which some may be empty.
    by_block : bool
        Whether masses are summed in each block, and then over blocks, as in files; otherwise over all nodes,
        as in a single block, to the same bits.
    """

    def __init__(self, graph, part, count, by_block=False):
        self.blocks, self.own, self.shown = [], [], []
        self.by_block, self.degrees, self.count = by_block, graph.degrees, count
        self.gone = []
        for p in range(count):
            own = np.flatnonzero(part == p)
            edges = graph.adjacency[own]
            halo = np.array(sorted(set(edges.indices.tolist()) - set(own.tolist())), dtype=int)
            place = {int(node): at for at, node in enumerate([*own, *halo])}
            columns = np.array([place[int(node)] for node in edges.indices], dtype=np.int32)
            shape = (len(own), len(own) + len(halo))
            edges = sp.csr_array((edges.data, columns, edges.indptr), shape=shape)
            self.blocks.append(Block(edges, graph.degrees[own], p))
            self.own.append(own)
            self.shown.append(np.append(own, halo))
        self.floor = floor_of(float(graph.degrees.sum()))
        self.degree_logs = OneBlock(graph).degree_logs

    def begin(self, memberships):
        return self._state([memberships[own] for own in self.own], np.nan)

    def step(self, work, state, others=(), **known):
        work, known = pickle.loads(pickle.dumps((work, known)))  # noqa: S301 - as processes are sent them
        found = [work(*each, **known) for each in self._seen(state, others)]
        assert all(isinstance(each, Stepped) for each in found)
        worth = 0.0
        for each in found:
            worth += each.log_likelihood
        return self._state([each.memberships for each in found], worth + 2.0 * self.degree_logs)

    def look(self, work, join, state, others=(), **known):
        return reduce(join, [work(*each, **known) for each in self._seen(state, others)])

    def forget(self, state):
        assert all(each is not state for each in self.gone), "a state is forgotten twice"
        self.gone.append(state)

    def whole(self, state):
        """The memberships of all nodes."""
        return sp.vstack(state.held, format="csr")

    def _state(self, rows, worth):
        for block, each in zip(self.blocks, rows, strict=True):
            assert each.shape[0] == len(block)
        if self.by_block:
            mass = np.zeros(rows[0].shape[1])
            for block, each in zip(self.blocks, rows, strict=True):
                mass += each.T @ block.degrees
        else:
            mass = sp.vstack(rows, format="csr").T @ self.degrees
        return State(mass, worth, rows)

    def _seen(self, state, others):
        for each in (state, *others):
            assert all(gone is not each for gone in self.gone), "a state is looked at after it was forgotten"
        whole = self.whole(state)
        for p, block in enumerate(self.blocks):
            seen = Seen(block, whole[self.shown[p]], state.mass, self.floor)
            yield seen, *(other.held[p] for other in others)
