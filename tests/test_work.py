"""What a run costs, counted in edges looked at and in bytes; seconds are for the benchmarks."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.engine import merging, sweeps
from graphsoft.engine.coarsening import coarsen

LEVELS = [50, 10]


def points(count):
    rng = np.random.default_rng(0)
    centers = 4 * rng.normal(size=(50, 6))
    return centers[rng.integers(50, size=count)] + rng.normal(size=(count, 6))


@pytest.fixture(scope="module")
def neighbor_graphs():
    """One graph of points, and one of four times as many."""
    return [graphsoft.knn_graph(points(count)) for count in (5_000, 20_000)]


class Edges:
    """How many edges the loops of the engine go over, by loop."""

    def __init__(self, patch):
        self.seen = {"wide": 0, "narrow": 0, "merging": 0}
        for name, kernel in (("wide", "gains"), ("narrow", "sweep")):
            patch.setattr(sweeps, kernel, self.counted(name, getattr(sweeps, kernel)))
        look = merging.Merging._find_partners

        def counted_look(groups_in_the_making, groups):
            self.seen["merging"] += int(groups_in_the_making._groups.entries[groups].sum())
            look(groups_in_the_making, groups)

        patch.setattr(merging.Merging, "_find_partners", counted_look)

    def counted(self, name, kernel):
        def run(model, nodes, *settings_and_piece):
            start, stop = settings_and_piece[-3:-1]
            self.seen[name] += int(np.diff(model.edges.ptr)[nodes[start:stop]].sum())
            return kernel(model, nodes, *settings_and_piece)

        return run


def edges_for_each_stored(graph, levels):
    with pytest.MonkeyPatch.context() as patch:
        edges = Edges(patch)
        graphsoft.hierarchy(graph, levels)
    return {name: seen / graph.adjacency.nnz for name, seen in edges.seen.items()}


def test_passes_over_the_edges_do_not_grow_with_the_points(neighbor_graphs):
    few, many = (edges_for_each_stored(graph, LEVELS) for graph in neighbor_graphs)
    # wide sweeps: 3 on the graph, 1 on each scale, 3 to polish (on the border twice), 2 to assess
    assert many["wide"] < 12
    assert many["narrow"] < 3  # though there are 36 on the graph, and some on each scale
    assert many["merging"] < 12
    for name, passes in many.items():
        assert passes < 1.25 * few[name], name


def test_narrow_sweeps_leave_out_nodes_of_one_cluster(neighbor_graphs):
    graph = neighbor_graphs[0]
    sure = graphsoft.cluster(graph, 50).memberships
    with pytest.MonkeyPatch.context() as patch:
        edges = Edges(patch)
        sweeps.narrow_sweeps(graph, sure, 5, 1e-4, lambda: None)
    torn = np.diff(sure.indptr) > 1
    assert 0 < edges.seen["narrow"] == 5 * np.diff(graph.adjacency.indptr)[torn].sum()
    assert edges.seen["narrow"] < 2 * graph.adjacency.nnz


def test_scales_take_less_than_the_graph(neighbor_graphs):
    graph = neighbor_graphs[1]
    scales = coarsen(graph, 10, dtype=np.float32)
    assert sum(each.graph.adjacency.nnz for each in scales) < graph.adjacency.nnz
    for each in scales:
        parts = each.graph.adjacency
        assert (parts.data.dtype, parts.indices.dtype) == (np.float32, np.int32)


def test_memory_beside_a_graph(neighbor_graphs):
    W = sp.csr_array(neighbor_graphs[1].adjacency)
    graphsoft.hierarchy(W, LEVELS)  # compiles
    tracemalloc.start()
    try:
        graphsoft.hierarchy(W, LEVELS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    held = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    # 1.5 on large graphs; on one so small the arrays of a single piece of work count too
    assert peak < 2 * held
