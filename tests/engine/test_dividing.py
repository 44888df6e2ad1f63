"""Division of graphs into groups, and of these into smaller ones."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine import coarsening, dividing, drawing, moving
from graphsoft.engine.coarsening import strays
from graphsoft.engine.dividing import Division
from graphsoft.engine.scales import coarsened
from graphsoft.engine.ties import MAX_STEPS, structure_keys
from naive import engine
from naive import moving as naive
from shared.shapes import cloud_graph, graph_of
from shared.strategies import graphs, plain, weight_matrices


@pytest.fixture(params=["as it is", "on many scales", "without draws"])
def sizes(request, monkeypatch):
    """Let small graphs go through all that large graphs go through."""
    set_sizes(monkeypatch, request.param)


def set_sizes(patch, kind):
    """Change how few nodes are few."""
    few = {"as it is": {}, "on many scales": (2, 6, 12, 2, 8, 2), "without draws": (2, 3, 3, 3, 5, 1)}[kind]
    names = ["NODES_EACH", "FEWEST_NODES", "MOST_NODES", "LEAST_EACH", "MAX_NODES", "MAX_NODES_EACH"]
    for name, size in zip(names, few, strict=bool(few)):
        patch.setattr(dividing, name, size)
    patch.setattr(drawing, "DRAWS", 6)


kinds = st.sampled_from(["as it is", "on many scales", "without draws"])


def divisions(W, counts):
    division = Division(graph_of(W) if isinstance(W, np.ndarray) else W, divisions=len(counts))
    return [division.into(count).tolist() for count in counts]


def assert_divides(graph, counts):
    """Check the number of groups, that they are nested and numbered, and where strays are."""
    homes, found = [0] * len(graph), divisions(graph, counts)
    for count, labels in zip(counts, found, strict=True):
        assert sorted(set(labels)) == list(range(count))
        assert naive.is_nested(labels, homes)
        stray = strays(graph, count, np.array(homes))
        heads = sorted({(labels[i], homes[i]) for i in range(len(graph))})
        assert [home for _, home in heads] == sorted(home for _, home in heads)
        inside = np.flatnonzero(~stray)
        masses = np.bincount(np.array(labels)[inside], graph.degrees[inside], minlength=count)
        for (group, home), (other, next_home) in pairwise(heads):
            assert home != next_home or masses[group] >= masses[other] * (1 - 1e-9)
        for i in np.flatnonzero(stray):
            assert labels[i] == min(group for group, home in heads if home == homes[i])
        homes = labels
    return found


@settings(max_examples=150)
@given(graphs(max_size=24), kinds, st.data())
def test_any_graph_is_divided_into_any_number_of_groups(graph, kind, data):
    counts = sorted(data.draw(st.lists(st.integers(1, len(graph)), min_size=1, max_size=5)))
    with pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, kind)
        found = assert_divides(graph, counts)
        assert divisions(graph, counts) == found


def parts(*graphs):
    """Put graphs side by side."""
    return graph_of(nx.to_numpy_array(nx.disjoint_union_all(graphs)))


def path(weights):
    """Put nodes in a row, with these weights between them."""
    W = np.diag(weights, 1)
    return graph_of(W + W.T)


AWKWARD = {
    "a node": parts(nx.empty_graph(1)),
    "no edges": parts(nx.empty_graph(23)),
    "a star": parts(nx.star_graph(25)),
    "stars": parts(*[nx.star_graph(4)] * 5),
    "a path": parts(nx.path_graph(30)),
    "pairs": parts(*[nx.path_graph(2)] * 12),
    "a clique": parts(nx.complete_graph(21)),
    "cliques, a pair and single nodes": parts(
        nx.complete_graph(9), nx.complete_graph(9), nx.path_graph(2), nx.empty_graph(5)
    ),
    "a tree": parts(nx.balanced_tree(2, 4)),
    "both sides": parts(nx.complete_bipartite_graph(3, 20)),
    "weights far apart": path(10.0 ** np.arange(-40, 40, 4)),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_are_divided_into_one_two_and_so_on_up_to_single_nodes(name, sizes):
    graph = AWKWARD[name]
    assert_divides(graph, range(1, len(graph) + 1))
    assert_divides(graph, sorted({1, len(graph) // 3 + 1, len(graph)}))


def test_the_first_division_does_not_depend_on_later_ones(sizes):
    W = cloud_graph(90, 2)
    division = Division(graph_of(W), divisions=3)
    first = division.into(4)
    before = first.tolist()
    division.into(9)
    division.into(40)
    assert first.tolist() == before == divisions(W, [4])[0]


def test_a_division_into_as_many_groups_changes_nothing(sizes):
    for graph in (graph_of(cloud_graph(90, 2)), *AWKWARD.values()):
        count = min(5, len(graph))
        first, second, third = divisions(graph, [count] * 3)
        assert first == second == third


# Strays


@given(graphs(weights=plain), st.integers(1, 8))
def test_strays(graph, count):
    W = graph.adjacency.toarray()
    bars = coarsening.STRAY_MASS, coarsening.COUNTED_MASS, coarsening.ALL_STRAYS
    assert strays(graph, count).tolist() == naive.strays(W, graph.components, count, *bars).tolist()


@given(graphs(weights=plain), st.integers(1, 8), st.data())
def test_every_home_keeps_a_node_that_is_no_stray(graph, count, data):
    homes = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(graph), max_size=len(graph))))
    anywhere, found = strays(graph, count), strays(graph, count, homes)
    kept = {home for home in homes.tolist() if not anywhere[homes == home].all()}
    assert found.tolist() == [bool(anywhere[i]) and homes[i] in kept for i in range(len(graph))]


def test_as_many_components_as_groups_are_the_groups(sizes):
    # a group of three points is lighter than a tenth of an average group
    graph = parts(nx.cycle_graph(150), nx.cycle_graph(120), *[nx.cycle_graph(3)] * 4)
    assert graph.degrees[graph.components == 2].sum() < 0.1 * graph.degrees.sum() / 6
    (labels,) = divisions(graph, [6])
    assert naive.same_partition(labels, graph.components)
    # for any other number they are strays
    for count in (2, 3, 5, 7):
        (labels,) = divisions(graph, [count])
        assert {labels[i] for i in range(270, 282)} == {0}


def test_islands_that_are_most_of_a_graph_are_no_strays():
    # the largest component is heavy enough for a group, and all others together are three times as heavy
    graph = parts(nx.cycle_graph(50), *[nx.cycle_graph(3)] * 50)
    labels = np.array(divisions(graph, [4])[0])
    assert np.bincount(labels).max() < 70  # not all islands join one group, which would have more than 150
    assert [len(set(labels[graph.components == part])) for part in range(51)] == [1] * 51


def test_no_groups_are_made_up_of_strays(sizes):
    clique = nx.complete_graph(30)
    for rest in ([nx.empty_graph(2)], [nx.empty_graph(1)] * 2, [nx.path_graph(2), nx.path_graph(3)]):
        graph = parts(clique, *rest)
        (labels,) = divisions(graph, [2])
        assert set(labels[:30]) == {0, 1}
        assert set(labels[30:]) == {0}


def test_strays_become_groups_when_groups_are_small_enough(sizes):
    graph = parts(nx.complete_graph(12), nx.path_graph(2), nx.empty_graph(1))
    for counts in ([2, 14], [3, 12, 14]):
        assert_divides(graph, counts)
    labels = divisions(graph, [1, 15])[1]
    assert sorted(labels) == list(range(15))


# What is found


def planted(groups, size, inside, outside, seed):
    graph = nx.planted_partition_graph(groups, size, inside, outside, seed=seed)
    return nx.to_numpy_array(graph), np.repeat(np.arange(groups), size)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(4, 30, 0.4, 0.05), (10, 25, 0.5, 0.03), (2, 200, 0.1, 0.02)])
def test_planted_groups_are_found(shape, seed):
    W, truth = planted(*shape, seed)
    (labels,) = divisions(W, [shape[0]])
    assert naive.agreement(np.array(labels), truth, np.ones(len(W))) > 0.9


def test_planted_groups_are_found_through_scales(monkeypatch):
    for name, size in [("NODES_EACH", 4), ("FEWEST_NODES", 20), ("MOST_NODES", 60), ("MAX_NODES", 50)]:
        monkeypatch.setattr(dividing, name, size)
    W, truth = planted(6, 40, 0.4, 0.03, 0)
    (labels,) = divisions(W, [6])
    assert naive.agreement(np.array(labels), truth, np.ones(len(W))) > 0.9


def test_groups_within_groups_are_found():
    rng, groups = np.random.default_rng(0), np.arange(270) // 30
    chance = np.where(np.equal.outer(groups // 3, groups // 3), 0.1, 0.01)
    chance[np.equal.outer(groups, groups)] = 0.5
    upper = np.triu(rng.random((270, 270)) < chance, 1)
    coarse, fine = divisions((upper + upper.T).astype(float), [3, 9])
    assert naive.same_partition(coarse, groups // 3)
    assert naive.agreement(np.array(fine), groups, np.ones(270)) > 0.9


def test_clear_groups_of_unequal_size_are_found():
    graph = parts(nx.complete_graph(40), nx.complete_graph(15), nx.complete_graph(6), nx.complete_graph(25))
    W = graph.adjacency.toarray()
    truth = graph.components
    W[[0, 40, 55, 61], [40, 55, 61, 0]] = W[[40, 55, 61, 0], [0, 40, 55, 61]] = 0.1
    (labels,) = divisions(W, [4])
    assert naive.same_partition(labels, truth)
    assert [labels[i] for i in (0, 61, 40, 55)] == [0, 1, 2, 3]  # from the heaviest


# What does not matter


@settings(max_examples=50)
@given(weight_matrices(2, 14, plain), kinds, st.data())
def test_the_order_of_nodes_that_do_not_look_alike_does_not_matter(W, kind, data):
    assume(len(set(engine.refined(W, MAX_STEPS))) == len(W))
    order = data.draw(st.permutations(range(len(W))))
    counts = sorted(data.draw(st.lists(st.integers(1, len(W)), min_size=1, max_size=4)))
    with pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, kind)
        first, second = divisions(W, counts), divisions(W[order][:, order], counts)
    for one, other in zip(first, second, strict=True):
        assert [one[i] for i in order] == other  # the numbers too


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_more_nodes_does_not_matter(seed, sizes):
    rng = np.random.default_rng(seed)
    for W in (cloud_graph(150, seed), planted(5, 30, 0.3, 0.05, seed)[0]):
        assert len(set(structure_keys(graph_of(W).adjacency).tolist())) == len(W)
        order = rng.permutation(len(W))
        first, second = divisions(W, [3, 12, 50]), divisions(W[order][:, order], [3, 12, 50])
        for one, other in zip(first, second, strict=True):
            assert np.array(one)[order].tolist() == other


def test_the_same_groups_on_any_number_of_threads_and_with_any_unit(monkeypatch, sizes):
    W, found = cloud_graph(200, 3, centers=5), []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(divisions(W, [4, 11, 60]))
        found.append(divisions(W / 1024, [4, 11, 60]))
    assert all(each == found[0] for each in found)


def test_progress_rises_to_the_end(sizes):
    seen = []
    division = Division(graph_of(cloud_graph(90, 2)), 3, lambda *step: seen.append(step))
    for count in (3, 12, 90):
        division.into(count)
    done = [(number, total) for stage, number, total in seen if stage == "dividing"]
    assert done[-1][0] == done[-1][1]
    assert len({total for _, total in done}) == 1
    assert [number for number, _ in done] == sorted({number for number, _ in done})


@pytest.mark.parametrize("exponent", [-60, -40, 40])
def test_the_scale_of_the_weights_does_not_matter(exponent):
    weights = np.random.default_rng(0).random(299) + 0.01
    path = sp.csr_array(sp.diags([weights, weights], [1, -1]))
    for one, other in zip(
        graphsoft.hierarchy(path, [20, 4]), graphsoft.hierarchy(path * 2.0**exponent, [20, 4]), strict=True
    ):
        assert one.memberships.data.tobytes() == other.memberships.data.tobytes()


def test_a_first_division_that_needs_no_contraction_binds_the_second():
    ring = nx.cycle_graph(5)
    parts = nx.disjoint_union_all([ring, *[nx.empty_graph(10)] * 40])
    W = nx.to_numpy_array(parts)
    W[:5, :5] *= 100.0
    for part in range(40):
        first = 5 + 10 * part
        W[range(first, first + 9), range(first + 1, first + 10)] = 0.01
    W = np.maximum(W, W.T) + np.diag(np.r_[np.zeros(5), np.full(400, 0.14)])
    division = Division(graph_of(W))
    above, below = division.into(5), division.into(10)
    assert all(len(set(above[below == group])) == 1 for group in range(10))


def test_parts_that_look_alike_take_no_longer_than_others():
    # the two ends of each pair look alike, choose at once, and would change places for ever
    with pytest.MonkeyPatch.context() as patch:
        scales, seen = moving.scales_by_moves, []

        def counted(*arguments):
            found = scales(*arguments)
            seen.append(len(found.layers))
            return found

        patch.setattr(dividing, "scales_by_moves", counted)
        graphsoft.hierarchy(sp.csr_array(sp.kron(sp.eye(3004), [[0.0, 1.0], [1.0, 0.0]])), [751])
    assert max(seen) < 10


@settings(max_examples=50)
@given(graphs(min_size=4, max_size=16), st.data())
def test_a_contracted_graph_is_divided_as_any_other(graph, data):
    scales = coarsened(graph, data.draw(st.integers(2, len(graph) - 1)))
    small = scales.layers[-1].graph  # with a diagonal
    counts = sorted(data.draw(st.lists(st.integers(1, len(small)), min_size=1, max_size=3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "DRAWS", 6)
        found = assert_divides(small, counts)
        for edges in (None, 0.0, 1e9):
            division = Division(small, len(counts), edges=edges)
            again = [division.into(count).tolist() for count in counts]
            assert edges is not None or again == found
            for labels, homes in zip(again, [[0] * len(small), *again], strict=False):
                assert naive.is_nested(labels, homes)


def test_draws_know_how_many_edges_were_contracted(monkeypatch):
    graph, told = graph_of(cloud_graph(60)), []

    def grouping(weights, homes, edges, count):
        told.append(edges)
        return drawing.median_grouping(weights, homes, edges, count)

    monkeypatch.setattr(dividing, "median_grouping", grouping)
    small = coarsened(graph, 30).layers[-1].graph
    own, real = small.adjacency.nnz / 2, graph.adjacency.nnz / 2
    for edges in (None, own, real):
        Division(small, edges=edges).into(5)
    assert told == [own, own, real]
    assert own < real
