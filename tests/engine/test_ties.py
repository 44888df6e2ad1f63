"""Equal scores: what decides between them, and that the order of the nodes does not where it need not."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine import ties
from graphsoft.engine.merging import Merging
from graphsoft.engine.scales import coarsened
from graphsoft.engine.ties import first_of, in_order, structure_keys
from naive import engine as naive
from shared.shapes import cloud_graph, graph_of, through
from shared.strategies import graphs, plain, weight_matrices


def same_partition(one, other):
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def classes(labels):
    return np.unique(labels, return_inverse=True)[1]


@given(weight_matrices(weights=plain))
def test_keys_tell_apart_what_does_not_look_alike(W):
    keys = structure_keys(sp.csr_array(W))
    assert same_partition(classes(keys), np.array(naive.refined(W, ties.MAX_STEPS)))


@given(graphs(), st.data())
def test_keys_go_with_their_nodes(graph, data):
    order = data.draw(st.permutations(range(len(graph))))
    W = graph.adjacency.toarray()
    keys = structure_keys(graph.adjacency)
    assert (structure_keys(sp.csr_array(W[order][:, order])) == keys[order]).all()
    assert (structure_keys(sp.csr_array(W / 512)) == keys).all()


def test_keys_end_some_steps_away():
    # a path with one loop, which only the nodes near it can tell
    n, loop = 200, 30
    W = np.diag(np.ones(n - 1), 1)
    W = W + W.T
    W[loop, loop] = 1
    keys = structure_keys(sp.csr_array(W))
    near = np.abs(np.arange(n) - loop) < ties.MAX_STEPS
    near[: ties.MAX_STEPS] = near[-ties.MAX_STEPS :] = True  # near an end
    assert len(set(keys[~near].tolist())) == 1
    assert not set(keys[near].tolist()) & set(keys[~near].tolist())


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3)), st.data())
def test_the_first_of_some_are_those_of_a_sorted_list(rows, data):
    wanted = data.draw(st.integers(0, len(rows)))
    columns = np.array(rows, dtype=int).reshape(-1, 3).T
    sortings = [lambda at, column=column: column[at] for column in (*columns, np.arange(len(rows)))]
    expected = sorted(range(len(rows)), key=lambda place: (*rows[place], place))
    assert in_order(len(rows), *sortings).tolist() == expected
    assert sorted(first_of(len(rows), wanted, *sortings).tolist()) == sorted(expected[:wanted])


def partitions(W, counts):
    """The groups of each scale, from one contraction to the next."""
    for count in counts:
        yield through(coarsened(graph_of(W), count))


@given(weight_matrices(2, 12, plain), st.data())
def test_the_order_of_nodes_that_do_not_look_alike_does_not_matter(W, data):
    assume(len(set(naive.refined(W, ties.MAX_STEPS))) == len(W))
    order = data.draw(st.permutations(range(len(W))))
    counts = range(1, len(W))
    for one, other in zip(partitions(W, counts), partitions(W[order][:, order], counts), strict=True):
        assert same_partition(one[order], other)


def unweighted(seed, n=60):
    """Three blocks of nodes, without weights."""
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 3, n)
    upper = np.triu(rng.random((n, n)) < np.where(block[:, None] == block, 0.35, 0.03), 1)
    return (upper + upper.T).astype(float)


@pytest.mark.parametrize("make", [lambda seed: cloud_graph(60, seed), unweighted])
@given(seed=st.integers(0, 99))
def test_the_order_does_not_matter_for_a_hierarchy(make, seed):
    W = make(seed)
    assume(len(set(naive.refined(W, ties.MAX_STEPS))) == len(W))
    order = np.random.default_rng(seed).permutation(60)
    first = graphsoft.hierarchy(graph_of(W), [12, 4])
    second = graphsoft.hierarchy(graph_of(W[order][:, order]), [12, 4])
    for one, other in zip(first, second, strict=True):
        # shares, whatever the numbers of the clusters; labels may differ where two shares are equal
        mine, theirs = one.memberships.toarray()[order], other.memberships.toarray()
        np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-9)


@given(weight_matrices(2, 12, plain))
def test_groups_that_want_each_other_are_there_while_any_edges_are(W):
    """Pairs are in one order for all groups, so the first one of all is mutual."""
    graph = graph_of(W)
    state = Merging(graph.adjacency, graph.degrees, structure_keys(graph.adjacency))
    while True:
        best = state._partners.best
        wanting = state.alive[best[state.alive] >= 0]
        assert (best[best[wanting]] == wanting).any() or not len(wanting)
        if not state.merge_best(1):
            break


def test_sums_in_another_order_are_equal():
    # each of two pairs of neighbors has weights 0.1, 0.2 and 0.3 in another order: their sums differ in a bit
    W = np.zeros((9, 9))
    for hub, leaves in [(0, (1, 2, 3)), (4, (5, 6, 7))]:
        for leaf, weight in zip(leaves, (0.1, 0.2, 0.3) if hub else (0.3, 0.2, 0.1), strict=True):
            W[hub, leaf] = W[leaf, hub] = weight
    W[0, 8] = W[8, 0] = W[4, 8] = W[8, 4] = 0.7
    assert len(set(W.sum(axis=1)[[0, 4]].tolist())) == 2
    keys = structure_keys(sp.csr_array(W))
    assert keys[0] == keys[4]
