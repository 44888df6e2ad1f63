"""Blocks of a graph give what the graph gives as one block, step by step and as a whole."""

from functools import reduce
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsoft.deadline import Deadline
from graphsoft.engine import polishing
from graphsoft.engine.assessing import assess, fit_of
from graphsoft.engine.blocks import OneBlock, joined_in_pairs
from graphsoft.engine.cluster_graph import cluster_graph, cluster_links, graph_of_links
from graphsoft.engine.dividing import Division
from graphsoft.engine.polishing import Log, polish_level, refine
from graphsoft.fitting.descending import _both_linked, _to_hold, descend, fits
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import likeliest, one_cluster_each
from graphsoft.methods import Relation
from shared.blocks import BlocksInMemory, grouped_by
from shared.shapes import cloud_graph, graph_of
from shared.strategies import factored_graphs, memberships, small, weight_matrices

COUNTS = [1, 2, 8]


@st.composite
def parted(draw):
    """A graph, shares, the block of each node, and how many blocks there are; some may be empty."""
    W, S = draw(factored_graphs(clusters=4, weights=small))
    return (*in_parts(W, draw(parts(len(W)))), S)


@st.composite
def parts(draw, n):
    """The block of every node: all its edges may cross."""
    count = draw(st.sampled_from(COUNTS))
    part = draw(st.lists(st.integers(0, count - 1), min_size=n, max_size=n))
    return np.array(part), count


def in_parts(W, split, rounded=False):
    part, count = split
    graph = grouped_by(graph_of(W), part)
    if rounded:
        graph = Graph(graph.adjacency.astype(np.float32), graph.nodes)
    return graph, np.sort(part), count


def both_begun(example, by_block=False):
    """One block and several, both with the same memberships."""
    graph, part, count, S = example
    one, several = OneBlock(graph), BlocksInMemory(graph, part, count, by_block)
    S = sp.csr_array(S)
    return (one, one.begin(S)), (several, several.begin(S))


def bits(memberships):
    return [part.tolist() for part in (memberships.indptr, memberships.indices, memberships.data)]


def assert_same(several, found, expected):
    """The same rows and masses to the last bit, and the same likelihood but for the order of its sum."""
    assert bits(several.whole(found)) == bits(expected.held)
    assert found.mass.tolist() == expected.mass.tolist()
    worth = expected.log_likelihood
    scale = 1e-12 * (1 + abs(several.degree_logs) + several.degrees.sum())
    assert found.log_likelihood == pytest.approx(worth, rel=1e-12, abs=scale, nan_ok=True)


def groups_of(m, count):
    """Cluster q in group q modulo `count`."""
    return one_cluster_each(np.arange(m) % count, count)


@given(parted(), st.integers(1, 3), st.sampled_from([0.0, 1e-3, 0.2]))
def test_steps_on_blocks_are_those_on_the_graph(example, count, min_share):
    groups = groups_of(example[3].shape[1], count)
    steps = [
        (polishing.widened, {}),
        (polishing.widened, {"groups": groups}),
        (polishing.narrowed, {}),
        (polishing.narrowed, {"groups": groups}),
        (polishing.widened_for_upper, {"groups": groups}),
        (polishing.narrowed_upper, {}),
        (polishing.narrowed_upper, {"groups": groups}),
    ]
    (one, begun), (several, begun_in_blocks) = both_begun(example)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "MIN_SHARE", min_share)
        patch.setattr(polishing, "MIN_SHARE_POLISHED", min_share)
        for work, known in steps:
            found = several.step(work, begun_in_blocks, **known)
            assert_same(several, found, one.step(work, begun, **known))


@given(parted(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_polishing_in_blocks_is_polishing_the_graph(example, count, sweeps, held):
    m = example[3].shape[1]
    groups, above = groups_of(m, count), groups_of(m, held)
    for restored in (None, above):
        (one, begun), (several, begun_in_blocks) = both_begun(example)
        expected, before = polish_level(one, begun, groups, sweeps, above=restored)
        found, before_in_blocks = polish_level(several, begun_in_blocks, groups, sweeps, above=restored)
        assert_same(several, found, expected)
        scale = 1e-12 * (1 + abs(one.degree_logs) + several.degrees.sum())
        assert before_in_blocks == pytest.approx(before, rel=1e-12, abs=scale)
        assert len(several.gone) == sweeps + 1  # all but the first state and the last
        if restored is not None:
            kept = (several.whole(found) @ above).toarray()
            np.testing.assert_allclose(kept, (begun.held @ above).toarray(), rtol=1e-12)


@given(parted(), st.integers(0, 2), st.integers(0, 3), st.booleans())
def test_refining_in_blocks_is_refining_the_graph(example, rounds, sweeps, grouped):
    groups = groups_of(example[3].shape[1], 2) if grouped else None
    (one, begun), (several, begun_in_blocks) = both_begun(example)
    logs = [Log("refining", rounds * (sweeps + 1), None) for _ in range(2)]
    expected = refine(one, begun, rounds, sweeps, logs[0], groups)
    found = refine(several, begun_in_blocks, rounds, sweeps, logs[1], groups)
    assert_same(several, found, expected)
    assert logs[0].sweeps == logs[1].sweeps == rounds * (sweeps + 1)
    assert len(several.gone) == max(0, rounds * (sweeps + 1) - 1)


@given(weight_matrices(weights=small), st.data())
def test_blocks_of_rounded_weights_are_those_of_the_graph(W, data):
    graph, part, count = in_parts(W, data.draw(parts(len(W))), rounded=True)
    S = data.draw(memberships(len(W), 3))
    (one, begun), (several, begun_in_blocks) = both_begun((graph, part, count, S))
    logs = [Log("refining", 4, None) for _ in range(2)]
    expected = refine(one, begun, 1, 3, logs[0])
    assert_same(several, refine(several, begun_in_blocks, 1, 3, logs[1]), expected)


@given(parted())
def test_masses_may_be_summed_block_by_block(example):
    (one, begun), (several, begun_in_blocks) = both_begun(example, by_block=True)
    np.testing.assert_allclose(begun_in_blocks.mass, begun.mass, rtol=1e-12)
    expected, found = one.step(polishing.widened, begun), several.step(polishing.widened, begun_in_blocks)
    scale = 1e-12 * (1 + abs(one.degree_logs) + several.degrees.sum())
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12, abs=scale)


@given(parted(), st.integers(1, 3))
def test_the_fit_of_any_level_is_that_of_the_graph(example, count):
    graph, *_, S = example
    P = np.random.default_rng(count).dirichlet(np.ones(count), size=S.shape[1])
    _, (several, begun) = both_begun(example)
    for found, expected in (
        (fit_of(several, begun), assess(graph, sp.csr_array(S))),
        (fit_of(several, begun, sp.csr_array(P)), assess(graph, sp.csr_array(S @ P))),
    ):
        scale = 1e-11 * (1 + abs(several.degree_logs) + several.degrees.sum())
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-11, abs=scale)
        assert found.gap == pytest.approx(expected.gap, rel=1e-9, abs=1e-9)


def paired(items):
    """Items joined level by level; the last of an odd number waits."""
    while len(items) > 1:
        items = ["".join(("(", *items[at : at + 2], ")")) if at + 1 < len(items) else items[at]
                 for at in range(0, len(items), 2)]  # fmt: skip
    return items[0]


@given(st.integers(1, 200), st.integers(0, 6))
def test_branches_can_be_joined_elsewhere(count, power):
    items = [f"{number}," for number in range(count)]
    branches = [items[at : at + 2**power] for at in range(0, count, 2**power)]
    joined = [joined_in_pairs(branch, lambda one, other: f"({one}{other})") for branch in branches]
    assert joined_in_pairs(joined, lambda one, other: f"({one}{other})") == paired(items)


@given(parted())
def test_cluster_graphs_are_sums_over_blocks(example):
    graph, part, count, S = example
    links = [cluster_links(sp.csr_array(S[part == p]), graph.degrees[part == p]) for p in range(count)]
    found = graph_of_links(joined_in_pairs(links, lambda one, other: (one + other).tocsr()))
    expected = cluster_graph(sp.csr_array(S), graph.degrees)
    np.testing.assert_allclose(found.adjacency.toarray(), expected.adjacency.toarray(), rtol=1e-12)


def divided_levels(graph, sizes):
    """The finest cluster of each node, and the groups of each level's clusters."""
    division = Division(graph, len(sizes))
    labels = [division.into(size) for size in reversed(sizes)][::-1]
    groups = []
    for below, above, size, upper in zip(labels, labels[1:], sizes, sizes[1:], strict=False):
        of = np.zeros(size, dtype=np.int64)  # one that no node is in has any group
        of[below] = above
        groups.append(one_cluster_each(of, upper))
    return one_cluster_each(labels[0], sizes[0]), groups


def assert_same_levels(several, found, one, expected):
    np.testing.assert_array_equal(several.whole(found.finest).indptr, expected.finest.held.indptr)
    np.testing.assert_array_equal(several.whole(found.finest).indices, expected.finest.held.indices)
    np.testing.assert_allclose(several.whole(found.finest).data, expected.finest.held.data, rtol=1e-9)
    for level, parents in enumerate(expected.parents):
        np.testing.assert_allclose(found.parents[level].toarray(), parents.toarray(), rtol=1e-9)
    for level, clusters in enumerate(expected.graphs):
        there = found.graphs[level].adjacency.toarray()
        np.testing.assert_allclose(there, clusters.adjacency.toarray(), rtol=1e-9)
    for course, like in zip(found.courses, expected.courses, strict=True):
        assert (course.status, course.sweeps, course.stopped) == (like.status, like.sweeps, like.stopped)
        np.testing.assert_allclose(course.trace, like.trace, rtol=1e-9)
    for fit, like in zip(fits(several, found), fits(one, expected), strict=True):
        assert fit.log_likelihood == pytest.approx(like.log_likelihood, rel=1e-9)
        assert fit.gap == pytest.approx(like.gap, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("sizes", [[12], [12, 4], [30, 12, 3], [50, 45, 20, 5]])
def test_levels_made_in_blocks_are_those_of_the_graph(sizes, count, by_block):
    W = cloud_graph(n=120, seed=3)
    loops = np.diag(np.where(np.arange(len(W)) % 7 == 0, 0.5, 0.0))
    part = np.random.default_rng(0).integers(max(1, count - 1), size=len(W))  # the last block of 8 is empty
    graph = grouped_by(graph_of(W + loops), part)
    divided, groups = divided_levels(graph, sizes)
    one, several = OneBlock(graph), BlocksInMemory(graph, np.sort(part), count, by_block)
    steps = [[], []]
    expected = descend(one, one.begin(divided), groups, Relation(), lambda *step: steps[0].append(step))
    begun = several.begin(divided)
    found = descend(several, begun, groups, Relation(), lambda *step: steps[1].append(step))
    assert_same_levels(several, found, one, expected)
    assert steps[0] == steps[1]
    assert not any(each is begun or each is found.finest for each in several.gone)


@given(weight_matrices(min_size=6, weights=small), st.data(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_levels_of_any_graph_are_made_in_blocks(W, data, seed):
    noise = np.random.default_rng(seed).uniform(1, 2, size=W.shape)  # rounding is to decide nothing
    graph, part, count = in_parts(W * (noise + noise.T), data.draw(parts(len(W))))
    divided, groups = divided_levels(graph, [5, 3, 2])
    one, several = OneBlock(graph), BlocksInMemory(graph, part, count)
    expected = descend(one, one.begin(divided), groups, Relation())
    assert_same_levels(several, descend(several, several.begin(divided), groups, Relation()), one, expected)


def test_every_cluster_keeps_a_point_in_some_block():
    graph = graph_of(np.ones((24, 24)) - np.eye(24))
    labels = np.arange(24) % 12
    divided, groups = one_cluster_each(labels, 12), [groups_of(12, 5), groups_of(5, 2)]
    for count in COUNTS:
        part = np.sort(np.arange(24) % count)
        several = BlocksInMemory(graph, part, count)
        found = descend(several, several.begin(divided), groups, Relation())
        shares = several.whole(found.finest)
        for parents in [None, *found.parents]:
            shares = shares if parents is None else shares @ parents
            assert len(np.unique(likeliest(shares.tocsr()))) == shares.shape[1]


def told(number, won, *nodes):
    """What a block tells: the clusters won, and place, share, finest cluster and cluster of some nodes."""
    columns = np.array(nodes, dtype=float).reshape(-1, 4).T
    places, finest, labels = (columns[at].astype(int) for at in (0, 2, 3))
    return {
        "won": np.array(won), "places": places, "shares": columns[1], "finest": finest, "labels": labels,
        "blocks": np.full(len(places), number), "links": sp.csr_array((3, 3)),
    }  # fmt: skip


def test_the_node_of_largest_share_is_held_and_of_equal_ones_the_first():
    nobody = [False, False, False]
    blocks = [
        told(0, nobody, (7, 0.25, 4, 0), (3, 0.5, 5, 1)),
        told(1, [False, False, True], (6, 0.5, 3, 0), (1, 0.5, 8, 1)),
        told(2, nobody, (2, 0.5, 2, 0), (0, 0.9, 9, 2)),
    ]
    for order in permutations(blocks):
        found = [(each.block, each.place, each.finest) for each in _to_hold(reduce(_both_linked, order))]
        assert found == [(1, 6, 3), (0, 3, 5)]
    assert _to_hold(_both_linked(told(0, nobody), told(1, nobody))) == []


def test_levels_stay_divided_without_time():
    graph = graph_of(cloud_graph())
    divided, groups = divided_levels(graph, [9, 3])
    several = BlocksInMemory(graph, np.sort(np.arange(len(graph)) % 3), 3)
    found = descend(several, several.begin(divided), groups, Relation(), deadline=Deadline.after(0))
    assert bits(several.whole(found.finest)) == bits(divided)
    assert [course.stopped for course in found.courses] == [True, True]
    assert found.courses[0].status == "divided, stopped by time_limit after 0 sweeps"
