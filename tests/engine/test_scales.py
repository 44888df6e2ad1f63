"""Scales of a graph: sizes and homes are kept to, weights are sums, and parts of scales fit together."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.engine.scales import (
    BATCHES,
    Layer,
    Scales,
    carried,
    coarsened,
    contraction,
    merged_along_edges,
    nested_steps,
)
from naive import engine, moving
from shared.shapes import cloud_graph, graph_of, ring_of_cliques
from shared.strategies import graphs, plain


def labels_of(n, count=3):
    """Some labels, numbered from 0, none left out."""
    each = st.lists(st.integers(0, count - 1), min_size=n, max_size=n)
    return each.map(lambda drawn: np.unique(drawn, return_inverse=True)[1].astype(np.int32))


@st.composite
def scaled(draw, weights=plain, max_size=12):
    """A graph on up to four scales, whose nodes are any groups of those below."""
    scales = Scales.of(Layer.of(draw(graphs(max_size=max_size, weights=weights))))
    for _ in range(draw(st.integers(0, 3))):
        n = len(scales.layers[-1])
        scales = scales.extended(draw(labels_of(n, n)))
    return scales


def wholes(scales):
    """For each scale the node of every finest one."""
    whole = np.arange(len(scales.layers[0]))
    return [whole] + [whole := step[whole] for step in scales.steps]


def same(one, other):
    """Whether scales have the same nodes, edges and keys."""
    assert [step.tolist() for step in one.steps] == [step.tolist() for step in other.steps]
    for mine, theirs in zip(one.layers, other.layers, strict=True):
        assert mine.keys.tolist() == theirs.keys.tolist()
        np.testing.assert_array_equal(mine.graph.adjacency.toarray(), theirs.graph.adjacency.toarray())
    return True


def assert_sums(scales):
    """Check that each scale has the summed weights, degrees and keys of the finest."""
    layer = scales.layers[0]
    W = layer.graph.adjacency.toarray()
    for above, whole in zip(scales.layers, wholes(scales), strict=True):
        assert sorted(set(whole.tolist())) == list(range(len(above)))
        S = engine.indicator(whole, len(above))
        np.testing.assert_allclose(above.graph.adjacency.toarray(), engine.contract(W, whole, len(above)))
        np.testing.assert_allclose(above.graph.degrees, S.T @ layer.graph.degrees)
        sums = [sum(layer.keys[whole == q].tolist()) % 2**64 for q in range(len(above))]
        assert above.keys.tolist() == sums


@given(scaled(weights=None))
def test_a_scale_sums_up_the_graph(scales):
    assert_sums(scales)


@given(graphs(), st.integers(1, 9), st.data())
def test_contraction_reaches_its_size_and_keeps_homes_apart(graph, fewest, data):
    homes = data.draw(labels_of(len(graph)))
    scales = contraction(Layer.of(graph), fewest, homes)
    assert len(scales.layers[-1]) == min(len(graph), max(fewest, homes.max() + 1))
    assert_sums(scales)
    assert moving.is_nested(wholes(scales)[-1], homes)
    for below, above in pairwise(scales.layers):
        assert len(above) < len(below)


@given(graphs(), st.integers(1, 9), st.data())
def test_merging_along_edges_keeps_components_and_uses_given_degrees(graph, fewest, data):
    more = data.draw(st.lists(st.integers(0, 9), min_size=len(graph), max_size=len(graph)))
    layer = Layer.of(graph)
    group = merged_along_edges(Layer(graph, layer.keys, graph.degrees + np.array(more)), fewest)
    components = int(graph.components.max()) + 1
    assert group.max() + 1 == min(len(graph), max(fewest, components))
    assert moving.is_nested(group, graph.components)
    first = np.unique(group, return_index=True)[1]
    assert (np.diff(first) > 0).all()  # numbered by the lowest nodes
    if not any(more) and fewest >= components:
        coarse = coarsened(graph, fewest)
        assert moving.same_partition(group, wholes(coarse)[-1])


def test_degrees_that_are_given_decide_which_pair_merges():
    graph = graph_of(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    for heavy, expected in (([9, 9, 1, 1], [0, 1, 2, 2]), ([1, 1, 9, 9], [0, 0, 1, 2])):
        layer = Layer(graph, Layer.of(graph).keys, np.array(heavy, dtype=float))
        assert merged_along_edges(layer, 3).tolist() == expected


def test_merges_follow_edges_within_homes_while_there_are_any():
    graph = graph_of(ring_of_cliques(cliques=6))
    found = wholes(contraction(Layer.of(graph), 6, np.zeros(30, dtype=np.int32)))[-1]
    assert moving.same_partition(found, np.arange(30) // 5)
    homes = (np.arange(30) % 5 == 0).astype(np.int32)  # one node of each clique is not with the others
    found = wholes(contraction(Layer.of(graph), 12, homes))[-1]
    assert moving.same_partition(found, np.arange(30) // 5 + 6 * homes)
    # no edge is left within homes, and these nodes are the lightest
    found = wholes(contraction(Layer.of(graph), 9, homes))[-1]
    assert moving.same_partition(found[homes == 0], np.repeat(np.arange(6), 4))


@pytest.mark.parametrize("fewest", [1, 7, 40])
def test_contraction_goes_down_by_about_a_quarter(fewest):
    scales = contraction(Layer.of(graph_of(cloud_graph(240))), fewest, np.zeros(240, dtype=int))
    sizes = [len(layer) for layer in scales.layers]
    assert sizes[-1] == fewest
    assert all(5 * above >= below >= above for below, above in pairwise(sizes))
    assert len(sizes) <= 6


def test_without_edges_light_nodes_of_a_home_merge():
    graph = graph_of(np.diag([5.0, 1, 4, 1, 9, 7]))
    one = np.zeros(6, dtype=np.int32)
    assert moving.same_partition(wholes(contraction(Layer.of(graph), 5, one))[-1], [0, 1, 2, 1, 3, 4])
    homes = np.array([0, 0, 0, 1, 0, 0], dtype=np.int32)
    assert moving.same_partition(wholes(contraction(Layer.of(graph), 5, homes))[-1], [0, 1, 1, 2, 3, 4])
    assert moving.same_partition(wholes(contraction(Layer.of(graph), 1, homes))[-1], homes)
    assert len(contraction(Layer.of(graph_of(np.zeros((300, 300)))), 7, np.zeros(300, int)).layers[-1]) == 7


def test_progress_rises_to_the_end():
    seen = []
    graph = graph_of(ring_of_cliques())
    contraction(Layer.of(graph), 3, np.zeros(20, dtype=int), lambda *step: seen.append(step))
    assert seen[-1] == ("coarsening", 17, 17)
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})


@given(scaled(), st.data())
def test_steps_of_some_nodes_within_their_groups(scales, data):
    n = len(scales.layers[0])
    nodes = np.array(sorted(data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))))
    labels = data.draw(labels_of(len(nodes)))
    found, steps = np.arange(len(nodes)), nested_steps(scales.steps, nodes, labels)
    assert len(steps) == len(scales.steps)
    for whole, step in zip(wholes(scales)[1:], steps, strict=True):
        assert len(step) == found.max() + 1
        found = step[found]
        assert sorted(set(found.tolist())) == list(range(found.max() + 1))
        assert moving.same_partition(found, [*zip(whole[nodes].tolist(), labels.tolist(), strict=True)])


@given(scaled(), st.data())
def test_within_groups(scales, data):
    labels = data.draw(labels_of(len(scales.layers[0])))
    split = scales.within(labels)
    assert_sums(split)
    for whole, found in zip(wholes(scales), wholes(split), strict=True):
        assert moving.same_partition(found, [*zip(whole.tolist(), labels.tolist(), strict=True)])
    assert split.spread(split.carried(labels)).tolist() == labels.tolist()


@given(scaled(), st.data())
def test_parts_of_scales_fit_together(scales, data):
    at = data.draw(st.integers(0, len(scales.steps)))
    below, above = scales.cut(at)
    assert below.layers[-1] is above.layers[0]
    assert (len(below.steps), len(above.steps)) == (at, len(scales.steps) - at)
    assert same(below.joined(above), scales)
    values = data.draw(labels_of(len(scales.layers[-1]), 4))
    finest = scales.spread(values)
    assert finest.tolist() == values[wholes(scales)[-1]].tolist()
    assert finest.tolist() == below.spread(above.spread(values)).tolist()
    assert scales.carried(finest).tolist() == values.tolist()
    assert above.carried(below.carried(finest)).tolist() == values.tolist()
    if scales.steps:
        assert carried(finest, scales.steps[0]).tolist() == scales.cut(1)[1].spread(values).tolist()


@given(graphs(max_size=30, weights=plain))
def test_each_node_is_in_one_batch(graph):
    layer = Layer.of(graph)
    assert len(layer.batches) == min(BATCHES, len(layer))
    assert sorted(np.concatenate(layer.batches).tolist()) == list(range(len(layer)))
    for batch in layer.batches:
        assert batch.tolist() == sorted(batch.tolist())
    assert (np.diff(layer.keys[layer.order].astype(float)) >= 0).all()
    for batch, following in pairwise(layer.batches):
        assert layer.keys[batch].max() <= layer.keys[following].min()
