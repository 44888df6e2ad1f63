"""What a run costs, counted in edges looked at and in bytes; seconds are for the benchmarks."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.engine import dividing, merging, sweeps, ties
from graphsoft.engine.blocks import OneBlock
from graphsoft.engine.scales import coarsened

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
    """How many edges, or groups in a round of merging, the loops of the engine go over, by loop."""

    def __init__(self, patch):
        self.seen = {"wide": 0, "narrow": 0, "merging": 0, "groups": 0, "keys": 0}
        for name, kernel in (("wide", "gains"), ("narrow", "sweep")):
            patch.setattr(sweeps, kernel, self.counted(name, getattr(sweeps, kernel)))
        find, merge, hash_one_step = (
            merging.Merging._find_partners, merging.Merging.merge_best, ties._one_step_further,
        )  # fmt: skip

        def counted_find(state, groups):
            self.seen["merging"] += int(state._groups.entries[groups].sum())
            find(state, groups)

        def counted_merge(state, max_merges):
            self.seen["groups"] += len(state.alive)
            return merge(state, max_merges)

        def counted_hash(rows, *rest):
            self.seen["keys"] += len(rows.values)
            return hash_one_step(rows, *rest)

        patch.setattr(merging.Merging, "_find_partners", counted_find)
        patch.setattr(merging.Merging, "merge_best", counted_merge)
        patch.setattr(ties, "_one_step_further", counted_hash)

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
        edges, blocks, seen = Edges(patch), OneBlock(graph), []
        for _ in range(5):
            torn = np.diff(sure.indptr) > 1
            seen.append(np.diff(graph.adjacency.indptr)[torn].sum())
            sure = sweeps.narrow_sweep(blocks.seen(blocks.begin(sure)), 1e-4)
    assert 0 < edges.seen["narrow"] == sum(seen)
    assert edges.seen["narrow"] <= 5 * seen[0] < 2 * graph.adjacency.nnz


def test_scales_take_less_than_the_graph(neighbor_graphs):
    graph = neighbor_graphs[1]
    coarser = coarsened(graph, 10).layers[1:]
    assert sum(each.graph.adjacency.nnz for each in coarser) < graph.adjacency.nnz
    assert all(each.graph.adjacency.indices.dtype == np.int32 for each in coarser)


def test_products_grow_with_the_levels_and_not_with_their_square(monkeypatch):
    """Of groups and parents; 400 levels of 2,000 points took 80,000 of each."""
    inner, products = sp.csr_array.__matmul__, []

    def counted(one, other):
        products.append(other)
        return inner(one, other)

    graph = graphsoft.knn_graph(np.random.default_rng(0).normal(size=(120, 2)))
    counts = {}
    for levels in (20, 80):
        with monkeypatch.context() as patched:
            patched.setattr(sp.csr_array, "__matmul__", counted)
            graphsoft.hierarchy(graph, range(levels + 2, 2, -1))
        counts[levels] = len(products)
        products.clear()
    assert counts[80] < 6 * counts[20]


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
    # 1.5 on large graphs; on one so small the arrays of a single piece of work count too, and so do the
    # weights of the small graph that is drawn again and again, which take as much for any graph
    assert peak < 2 * held + 4 * 4 * dividing.MOST_NODES**2


def edges(first, second):
    """The graph of these edges, all of weight 1."""
    first, second = np.ravel(first), np.ravel(second)
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = sp.coo_array((np.ones(2 * len(first)), ends)).tocsr()
    graph.data[:] = 1  # of edges that were drawn twice
    return graph


def random_graph(n):
    rng = np.random.default_rng(0)
    ends = rng.integers(n, size=(2, 5 * n))
    return edges(*ends[:, ends[0] != ends[1]])


def path(n):
    return edges(np.arange(n - 1), np.arange(1, n))


def ring(n):
    return edges(np.arange(n), np.roll(np.arange(n), -1))


def grid(n):
    place = np.arange(n).reshape(50, -1)
    across = place[:, :-1], place[:, 1:]
    along = place[:-1], place[1:]
    return edges(*(np.append(one, other) for one, other in zip(across, along, strict=True)))


def roads(n):
    """A grid of crossings without a fifth of its streets, each of which is a path of five nodes."""
    streets = sp.triu(grid(n // 10)).tocoo()
    kept = np.random.default_rng(0).random(streets.nnz) < 0.8
    first, second = streets.row[kept], streets.col[kept]
    between = n // 10 + np.arange(5 * len(first)).reshape(5, -1)
    nodes = np.vstack([first, between, second])
    return edges(nodes[:-1], nodes[1:])


def tree(n, children=2):
    return edges(np.arange(1, n), np.arange(n - 1) // children)


def wide_tree(n):
    return tree(n, 60)


def star(n):
    return tree(n, n)


def complete_bipartite(n):
    side = int((5 * n) ** 0.5)
    return edges(*np.divmod(np.arange(side * side), side) + np.array([[0], [side]]))


def bipartite_of_few_and_many(n):
    return edges(*np.divmod(np.arange(5 * n), n) + np.array([[0], [5]]))


def falling_path(n):
    """No weights are equal, but each node wants the one before it."""
    graph = path(n).tocoo()
    graph.data = 1 + np.minimum(*graph.coords) / n
    return graph.tocsr()


def line(n):
    return graphsoft.knn_graph(np.arange(float(n))[:, None]).adjacency


@pytest.fixture(scope="module")
def cost_of_random():
    return sum(edges_for_each_stored(graphsoft.as_graph(random_graph(4000)), LEVELS).values())


@pytest.mark.parametrize(
    "family",
    [
        path, ring, grid, roads, tree, wide_tree, star, complete_bipartite, bipartite_of_few_and_many,
        falling_path, line,
    ],
)  # fmt: skip
def test_equal_weights_cost_what_others_cost(family, cost_of_random):
    few, many = (
        sum(edges_for_each_stored(graphsoft.as_graph(family(n), affinity="precomputed"), LEVELS).values())
        for n in (1000, 4000)
    )
    assert many < cost_of_random
    assert many < 1.5 * few
