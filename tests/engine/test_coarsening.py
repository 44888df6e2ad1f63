"""Contraction of graphs: sums are kept, sizes are met, and merges follow the edges."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from graphsoft.engine import coarsening, merging, scales
from graphsoft.engine.coarsening import contracted, strays
from graphsoft.engine.scales import coarsened
from graphsoft.linalg.csr import inverse_or_zero, joined
from naive import engine as naive
from shared.shapes import cloud_graph, graph_of, ring_of_cliques, through
from shared.strategies import graphs


@given(graphs(), st.integers(1, 12))
def test_contraction_meets_the_size_and_keeps_the_sums(graph, count):
    W, found = graph.adjacency.toarray(), coarsened(graph, count)
    assert len(found.layers[-1]) == min(count, len(graph))
    rounded = {"rtol": 20 * np.finfo(float).eps, "atol": W.size * np.finfo(float).tiny}
    for number, step in enumerate(found.steps, start=1):
        below, above = found.layers[number - 1 : number + 1]
        assert sorted(set(step.tolist())) == list(range(len(above)))
        assert len(step) == len(below)
        group = through(found.cut(number)[0])
        np.testing.assert_allclose(
            above.graph.adjacency.toarray(), naive.contract(W, group, len(above)), **rounded
        )
        masses = naive.indicator(group, len(above)).T @ graph.degrees
        np.testing.assert_allclose(above.graph.degrees, masses, **rounded)


@given(graphs(), st.integers(1, 12))
def test_merges_follow_edges_while_there_are_any(graph, count):
    group = through(coarsened(graph, count))
    components = graph.components
    if components.max() + 1 > count:  # nothing but whole components was put together
        assert all(len(set(group[components == part])) == 1 for part in range(components.max() + 1))
        return
    for number in range(group.max() + 1):
        inside = np.flatnonzero(group == number)
        parts, _ = connected_components(graph.adjacency[inside][:, inside], directed=False)
        assert parts == 1


def test_the_pair_of_largest_score_merges_first():
    W = np.array([[0, 3, 0, 0], [3, 0, 5, 0], [0, 5, 0, 4], [0, 0, 4, 0]], dtype=float)
    group = through(coarsened(graph_of(W), 3))  # not the pair of the largest weight
    assert 3 / (3 * 8) > 4 / (9 * 4) > 5 / (8 * 9)
    assert group.tolist() == [0, 0, 1, 2]


def test_cliques_are_found():
    group = through(coarsened(graph_of(ring_of_cliques()), 4))
    assert group.reshape(4, 5).tolist() == [[number] * 5 for number in group[::5]]
    assert len(set(group)) == 4


def test_a_star_shrinks_by_more_than_a_node_a_round():
    steps = []
    star = np.zeros((500, 500))
    star[0, 1:] = star[1:, 0] = 1
    found = coarsened(graph_of(star), 2, lambda *step: steps.append(step))
    assert len(found.layers[-1]) == 2
    assert len(steps) < 150


def test_progress_rises_to_the_end():
    seen = []
    coarsened(graph_of(ring_of_cliques()), 3, lambda *step: seen.append(step))
    assert seen[-1] == ("coarsening", 17, 17)
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})


@given(graphs(min_size=2), st.data())
def test_contraction_in_small_pieces_gives_the_same_bits(graph, data):
    groups = data.draw(st.integers(1, len(graph)))
    group = np.array(data.draw(st.permutations([i % groups for i in range(len(graph))])))
    whole = contracted(graph, group, groups).adjacency
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarsening, "LOAD", 2)
        patch.setattr(merging, "LOAD", 2)
        cut = contracted(graph, group, groups).adjacency
    for part in ("data", "indices", "indptr"):
        assert getattr(cut, part).tobytes() == getattr(whole, part).tobytes()


def test_lightest_are_grouped_where_no_edge_is_left():
    graph = graph_of(np.diag([5.0, 1, 4, 1, 0, 9]))
    assert through(coarsened(graph, 5)).tolist() == [0, 1, 2, 3, 1, 4]
    assert len(coarsened(graph_of(np.zeros((9, 9))), 1).layers[-1]) == 1


@given(graphs(), st.integers(1, 5))
def test_strays_are_light_components(graph, count):
    W, total = graph.adjacency.toarray(), graph.degrees.sum()
    light = np.zeros(len(graph), dtype=bool)
    for part in range(graph.components.max() + 1):
        inside = graph.components == part
        light[inside] = W[inside].sum() < coarsening.STRAY_MASS * total / count
    few = W[light].sum() <= coarsening.ALL_STRAYS * total
    expected = light if few and (~light).sum() >= count and total > 0 else np.zeros_like(light)
    assert strays(graph, count).tolist() == expected.tolist()


def test_inverse_of_nothing_is_nothing():
    assert inverse_or_zero(np.array([0.0, 4.0, 0.0])).tolist() == [0, 0.25, 0]


def test_no_rows_join_to_no_rows():
    assert joined([], 3).shape == (0, 3)


def test_a_scale_is_kept_each_time_a_quarter_is_left():
    sizes = [len(layer) for layer in coarsened(graph_of(cloud_graph(240)), 6).layers]
    assert len(sizes) == 4
    assert sizes[-1] == 6
    assert all(below >= 0.8 * scales.SHRINK_FACTOR * above for below, above in pairwise(sizes[:-1]))
