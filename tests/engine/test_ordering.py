"""The order in which the engine works, and the type of its weights."""

import numpy as np
import pytest

import graphsoft
from graphsoft.engine.assessing import assess
from graphsoft.engine.ordering import in_clumps
from graphsoft.methods import Relation, Sample
from shared.shapes import graph_of, ring_of_cliques


def test_neighbors_are_put_near_each_other_once():
    W = ring_of_cliques(8, 6)
    shuffled = np.random.default_rng(0).permutation(len(W))
    graph = graph_of(W[shuffled][:, shuffled])
    near = in_clumps(graph)
    assert sorted(near.nodes.tolist()) == near.places[near.nodes].tolist() == list(range(len(W)))
    parts = near.graph.adjacency
    assert parts.dtype == np.float32
    np.testing.assert_allclose(parts.toarray(), graph.adjacency.toarray()[near.nodes][:, near.nodes])
    np.testing.assert_array_equal(near.degrees, graph.degrees[near.nodes])

    def apart(matrix):
        entries = matrix.tocoo()
        return np.abs(entries.row - entries.col).mean()

    assert apart(parts) < apart(graph.adjacency) / 2
    # as it is given, or in that order: the same but for rounding
    moved = Sample(near.graph, ordered=True, given_degrees=near.degrees)
    there = Relation().cluster(moved, 8, np.random.default_rng(0)).memberships
    here = Relation().cluster(Sample(graph), 8, np.random.default_rng(0)).memberships
    np.testing.assert_array_equal(here.toarray(), there[near.places].toarray())


def test_weights_that_float32_cannot_hold_still_count():
    for tiny in (1e-30, 1e-44, 1e-60):
        W = np.kron(np.eye(2), 1 - np.eye(4))
        W[3, 4] = W[4, 3] = 1e-3
        W = np.pad(W, (0, 1))
        W[8, [0, 1, 5]] = W[[0, 1, 5], 8] = tiny, tiny, 3 * tiny
        for turn in (slice(None), slice(None, None, -1)):
            graph = graph_of(W[turn][:, turn])
            h = graphsoft.hierarchy(graph, [2], method=graphsoft.methods.Relation(rounds=3))
            labels = h[0].labels[turn]
            assert labels[8] == labels[5] != labels[0]
            assert h.report.levels[0].kkt_gap == pytest.approx(assess(graph, h[0].memberships).gap)
