"""Moves of nodes between groups, from coarse scales to fine ones."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphsoft.engine import moving as fast
from graphsoft.engine.moving import moved_through, next_merge, scales_by_moves
from graphsoft.engine.scales import BATCHES, Layer, Scales, carried, contraction
from graphsoft.engine.ties import MAX_STEPS, structure_keys
from naive import engine
from naive import moving as naive
from shared.shapes import cloud_graph, graph_of
from shared.strategies import graphs, plain, weight_matrices


def clumps_of(layer, labels, homes, fewest):
    """Scales made by moves at the pull of the next merge."""
    return scales_by_moves(layer, labels, next_merge(layer, labels, homes), fewest)


def layer_of(W):
    return Layer.of(graph_of(W) if isinstance(W, np.ndarray) else W)


@st.composite
def groupings(draw, n):
    """Draw homes of nodes, and groups within them; both numbered from 0, none left out."""
    drawn = [draw(st.lists(st.integers(0, most), min_size=n, max_size=n)) for most in (1, 2)]
    homes = np.unique(drawn[0], return_inverse=True)[1]
    labels = np.unique(3 * homes + np.array(drawn[1]), return_inverse=True)[1]
    return labels.astype(np.int32), homes.astype(np.int32)


@st.composite
def contracted(draw, graph):
    """Contract a graph within homes, and group its coarsest nodes within them: scales, labels, homes."""
    each = st.lists(st.integers(0, 1), min_size=len(graph), max_size=len(graph))
    homes = np.unique(draw(each), return_inverse=True)[1].astype(np.int32)
    scales = contraction(layer_of(graph), draw(st.integers(1, 12)), homes)
    above = scales.carried(homes)
    kinds = draw(st.lists(st.integers(0, 2), min_size=len(above), max_size=len(above)))
    labels = np.unique(3 * above + np.array(kinds), return_inverse=True)[1].astype(np.int32)
    return scales, labels, above


@given(graphs(), st.data())
def test_next_merge(graph, data):
    labels, homes = data.draw(groupings(len(graph)))
    found = next_merge(layer_of(graph), labels, homes)
    assert found == pytest.approx(naive.next_merge(graph.adjacency.toarray(), labels, homes), rel=1e-12)


def test_fragments_do_not_set_the_pull():
    W = np.kron(np.eye(2), np.ones((20, 20))) - np.eye(40)
    W[19, 20] = W[20, 19] = 1.0
    W = np.pad(W, (0, 1))
    W[40, :40] = W[:40, 40] = 0.1  # a node that leads everywhere, alone in its group
    labels = np.repeat([0, 1, 2], [20, 20, 1]).astype(np.int32)
    layer, alone = layer_of(W), np.zeros(41, dtype=np.int32)
    masses = np.bincount(labels, W.sum(axis=1))
    assert next_merge(layer, labels, alone) == pytest.approx(1.0 / (masses[0] * masses[1]))
    assert 2.0 / (masses[0] * masses[2]) > 1.0 / (masses[0] * masses[1])
    W[:40, :40] *= np.kron(np.eye(2), np.ones((20, 20)))  # now only the fragment joins them
    masses = np.bincount(labels, W.sum(axis=1))
    assert next_merge(layer_of(W), labels, alone) == pytest.approx(2.0 / (masses[0] * masses[2]))


@given(graphs(max_size=16), st.data())
def test_moves_empty_no_group_and_leave_no_home(graph, data):
    scales, labels, homes = data.draw(contracted(graph))
    found = moved_through(scales, labels, homes)
    assert sorted(set(found.tolist())) == sorted(set(labels.tolist()))
    for group in set(labels.tolist()):
        assert set(scales.spread(homes)[found == group].tolist()) == set(homes[labels == group].tolist())


@given(graphs(max_size=BATCHES), st.data())
def test_nodes_that_move_one_by_one_raise_modularity(graph, data):
    scales, labels, homes = data.draw(contracted(graph))
    pull = next_merge(scales.layers[-1], labels, homes)
    before, after = scales.spread(labels), moved_through(scales, labels, homes)
    W = graph.adjacency.toarray()
    worth = [naive.modularity(W, each, pull) for each in (before, after)]
    assert worth[1] >= worth[0] - 1e-9 * (W.sum() + pull * W.sum() ** 2)


@given(graphs(max_size=BATCHES, weights=plain), st.data())
def test_no_move_is_left_that_empties_no_group(graph, data):
    """Masses change what others gain, so it is called until nothing moves."""
    labels, homes = data.draw(groupings(len(graph)))
    layer, W = layer_of(graph), graph.adjacency.toarray()
    pull = next_merge(layer, labels, homes)
    found, parts = labels, fast._parts_of(layer, labels, carried(homes, labels))
    for _ in range(50):
        before, found = found, fast._moved(layer, parts, pull, 1).copy()
        if np.array_equal(before, found):
            break
    assert np.array_equal(before, found)
    for node in range(len(W)):
        if (found == found[node]).sum() > 1:
            won = naive.gains(W, W.sum(axis=1), found, homes, pull, node)
            assert max(won.values(), default=0) <= 1e-5 * W[node].sum()


def blocks(size, seed=0):
    """Two dense blocks of nodes with some edges between them, and a clump that has more to the second one."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [size, size, 8])
    chance = np.array([[0.4, 0.03, 0.03], [0.03, 0.4, 0.1], [0.03, 0.1, 1.0]])
    upper = np.triu(rng.random((len(truth), len(truth))) < chance[truth][:, truth], 1)
    return (upper + upper.T).astype(float), truth


@pytest.mark.parametrize("seed", range(5))
def test_a_clump_in_the_wrong_group_comes_home(seed):
    W, truth = blocks(30, seed)
    layer, homes = layer_of(W), np.zeros(len(W), dtype=np.int32)
    start, home = (truth == 1).astype(np.int32), (truth > 0).astype(np.int32)
    pull = next_merge(layer, start, homes)
    assert naive.modularity(W, home, pull) > naive.modularity(W, start, pull)
    assert moved_through(Scales.of(layer), start, homes).tolist() == start.tolist()  # not node by node
    for scales in (contraction(layer, 10, start), clumps_of(layer, start, homes, 3)):
        found = moved_through(scales, scales.carried(start), scales.carried(homes))
        assert found.tolist() == home.tolist()


def test_the_last_node_of_a_group_stays():
    # two cliques, and a group of two nodes, each with a tie to one of them
    W = np.kron(np.eye(2), np.ones((5, 5)) - np.eye(5))
    W = np.pad(W, (0, 2))
    W[[10, 0, 11, 5], [0, 10, 5, 11]] = 1
    found = moved_through(Scales.of(layer_of(W)), np.repeat([0, 1, 2], [5, 5, 2]), np.zeros(12, dtype=int))
    assert found[:10].tolist() == [0] * 5 + [1] * 5
    assert sorted(found[10:].tolist()) in ([0, 2], [1, 2])


def test_clumps_are_not_fewer_than_wanted():
    W, truth = blocks(30)
    start, homes = (truth == 1).astype(np.int32), np.zeros(len(truth), dtype=np.int32)
    assert len(clumps_of(layer_of(W), start, homes, 2).layers[-1]) <= 3
    for fewest in (4, 7, 60):
        assert len(clumps_of(layer_of(W), start, homes, fewest).layers[-1]) >= fewest


@given(graphs(max_size=16), st.integers(1, 9), st.data())
def test_clumps_lie_within_groups_and_are_not_too_few(graph, fewest, data):
    labels, homes = data.draw(groupings(len(graph)))
    scales = clumps_of(layer_of(graph), labels, homes, fewest)
    clumps = scales.spread(np.arange(len(scales.layers[-1])))
    assert naive.is_nested(clumps, labels)
    assert len(scales.layers[-1]) >= min(fewest, len(graph))
    sizes = [len(layer) for layer in scales.layers]
    assert sizes == sorted(set(sizes), reverse=True)


def test_moves_of_many_nodes_at_once_lose_little():
    for seed in range(5):
        W = cloud_graph(300, seed, centers=10)
        layer = layer_of(W)
        homes = np.zeros(300, dtype=np.int32)
        scales = contraction(layer, 10, homes)
        labels = np.arange(10, dtype=np.int32)
        pull = next_merge(scales.layers[-1], labels, np.zeros(10, dtype=np.int32))
        found = moved_through(scales, labels, np.zeros(10, dtype=np.int32))
        worth = [naive.modularity(W, each, pull) for each in (scales.spread(labels), found)]
        assert worth[1] >= worth[0] - 1e-3 * W.sum()


def test_the_same_result_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(fast, "LOAD", 20)
    W = cloud_graph(400, 1, centers=8)
    homes, found = (np.arange(400) % 2).astype(np.int32), []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        scales = contraction(layer_of(W), 20, homes)
        labels = moved_through(scales, np.arange(20, dtype=np.int32), scales.carried(homes))
        clumps = clumps_of(scales.layers[0], labels, homes, 40)
        found.append([labels.tolist(), [step.tolist() for step in clumps.steps]])
    assert found[0] == found[1] == found[2]
    assert len(found[0][1]) > 0


def improved(W, homes, count):
    """Contract within homes to a number of groups, and move nodes through the scales, and through clumps."""
    layer = layer_of(W)
    scales = contraction(layer, count, homes)
    coarse = np.arange(len(scales.layers[-1]), dtype=np.int32)
    labels = moved_through(scales, coarse, scales.carried(homes))
    yield labels
    clumps = clumps_of(layer, labels, homes, 2 * count)
    yield clumps.spread(np.arange(len(clumps.layers[-1])))
    yield moved_through(clumps, clumps.carried(labels), clumps.carried(homes))


def assert_order_does_not_matter(W, homes, count, order):
    first, second = improved(W, homes, count), improved(W[order][:, order], homes[order], count)
    for one, other in zip(first, second, strict=True):
        assert naive.same_partition(one[order], other)


@given(weight_matrices(2, 14, plain), st.data())
def test_the_order_of_nodes_that_do_not_look_alike_does_not_matter(W, data):
    assume(len(set(engine.refined(W, MAX_STEPS))) == len(W))
    order = np.array(data.draw(st.permutations(range(len(W)))))
    homes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(W), max_size=len(W))))
    homes = np.unique(homes, return_inverse=True)[1].astype(np.int32)
    for count in range(1, len(W)):
        assert_order_does_not_matter(W, homes, count, order)


@pytest.mark.parametrize("make", [lambda seed: blocks(30, seed)[0], lambda seed: cloud_graph(120, seed)])
@settings(max_examples=10)
@given(seed=st.integers(0, 99))
def test_the_order_of_more_nodes_does_not_matter(make, seed):
    W, rng = make(seed), np.random.default_rng(seed)
    assume(len(set(structure_keys(graph_of(W).adjacency).tolist())) == len(W))
    order, homes = rng.permutation(len(W)), np.zeros(len(W), dtype=np.int32)
    for count in (2, 3, 6, 12):
        assert_order_does_not_matter(W, homes, count, order)
        assert_order_does_not_matter(W, (np.arange(len(W)) % 2).astype(np.int32), count, order)
