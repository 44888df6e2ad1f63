"""Descriptions of clusters, torn points and distinctive features against their definitions."""

import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.result.description import described, margins, torn_between
from graphsoft.result.distinctive import distinctive
from graphsoft.result.steps import best_in_rows
from naive import description as naive
from shared.shapes import cloud, graph_of, ring_of_cliques
from shared.strategies import factored_graphs, small


def close(found, expected, scale=1.0):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * scale)


def rows_of(S):
    return sp.csr_array(S)


# points


@given(factored_graphs())
def test_a_margin_is_the_largest_membership_minus_the_second(case):
    _, S = case
    close(margins(rows_of(S)), [naive.margin(row) for row in S])


@given(factored_graphs(), st.integers(1, 12), st.data())
def test_torn_points_are_ranked_by_the_smaller_of_two_memberships(case, count, data):
    _, S = case
    m = S.shape[1]
    if m == 1:
        return
    a, b = data.draw(st.lists(st.integers(0, m - 1), min_size=2, max_size=2, unique=True))
    points, shares = torn_between(rows_of(S), a, b, count)
    assert points.tolist() == naive.torn(S, a, b, count)
    np.testing.assert_array_equal(shares, S[points][:, [a, b]])


def test_a_point_with_some_of_both_clusters_is_more_torn_than_one_with_little_of_one():
    points, _ = torn_between(rows_of(np.array([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6], [0.2, 0.3, 0.5]])), 0, 1, 9)
    assert points.tolist() == [1, 2, 0]


def test_torn_points_are_found_by_ids_of_clusters_and_have_names():
    graph = nx.relabel_nodes(nx.barbell_graph(5, 3), dict(enumerate("abcdefghijklm")))
    h = graphsoft.hierarchy(graph, levels=[4, 2])
    found = h.between("1-0", "1-1", count=2)
    assert found.nodes[0] == "g"
    assert found.clusters == ("1-0", "1-1")
    assert len(found) == 2
    assert str(found).splitlines()[0].split() == ["point", "1-0", "1-1"]
    apart = graphsoft.hierarchy(nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4)), levels=[2])
    assert len(apart.between("0-0", "0-1")) == 0


# clusters


@given(factored_graphs(weights=small))
def test_a_description_equals_its_definition(case):
    W, S = case
    graph, m = graph_of(W), S.shape[1]
    found = described(graph, rows_of(S), 3, [()] * m, {})
    hard = np.eye(m)[S.argmax(axis=1)]
    scale, total = W.max() or 1.0, W.sum()
    assert [row.id for row in found] == [f"3-{q}" for q in range(m)]
    for q, row in enumerate(found):
        assert row.size == hard[:, q].sum()
        close(row.mass, S[:, q] @ W.sum(axis=1), scale)
        close(row.share, naive.ratio(row.mass, total))
        close(row.certainty, naive.certainty(S, q))
        close(row.conductance, naive.leaving(W, S[:, q]))
        close(row.hard_conductance, naive.leaving(W, hard[:, q]))
        close(row.cohesion, naive.cohesion(W, S[:, q]), 1e3)
        central = naive.centrality(W, S[:, q])
        close(central[list(row.exemplars)], np.sort(central[central > 0])[::-1][:3], scale)
        others = [naive.chance(W, S[:, q], S[:, p]) if p != q else 0.0 for p in range(m)]
        close([chance for _, chance in row.neighbors], sorted((c for c in others if c > 0), reverse=True)[:3])
        for name, chance in row.neighbors:
            close(chance, others[int(name.split("-")[1])])


def test_a_cluster_that_holds_everything_but_rounding_is_not_compared_with_the_rest():
    S = np.repeat([[1 - 1e-12, 1e-12]], 8, axis=0)
    S[0] = [1 - 2e-12, 2e-12]
    found = described(graph_of(ring_of_cliques(2, 4)), sp.csr_array(S), 0, [(), ()], {})
    assert np.isnan(found[0].cohesion)
    scores, _ = distinctive(np.arange(16.0).reshape(8, 2), sp.csr_array(S), 3, range(2), "difference")
    assert scores[0] == ()


@given(factored_graphs(weights=small), st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_does_not_matter(case, random):
    W, S = case
    order = list(range(len(W)))
    random.shuffle(order)
    one = described(graph_of(W), rows_of(S), 0, [()] * S.shape[1], {})
    other = described(graph_of(W[np.ix_(order, order)]), rows_of(S[order]), 0, [()] * S.shape[1], {})
    for row, moved in zip(one, other, strict=True):
        assert (row.id, row.size) == (moved.id, moved.size)
        close(row.conductance, moved.conductance)
        close(row.hard_conductance, moved.hard_conductance)
        close([chance for _, chance in row.neighbors], [chance for _, chance in moved.neighbors])
    np.testing.assert_array_equal(margins(rows_of(S[order])), margins(rows_of(S))[order])


def test_walks_never_leave_separate_clusters():
    W = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
    h = graphsoft.hierarchy(graph_of(W), levels=[3])
    for row in h.describe():
        assert (row.size, row.conductance, row.hard_conductance, row.cohesion) == (4, 0.0, 0.0, 1.0)
        assert row.certainty == 1.0
        assert row.neighbors == ()
        assert (h[0].margin == 1.0).all()


def test_torn_points_raise_the_conductance_above_that_of_hard_clusters():
    h = graphsoft.hierarchy(graph_of(ring_of_cliques(4, 5)), levels=[4])
    for row in h.describe():
        assert 0 < row.hard_conductance <= row.conductance < 0.2
        assert 0.7 < row.cohesion < 1


@pytest.mark.parametrize("n", [1, 4])
def test_without_edges_measures_of_walks_are_nan(n):
    h = graphsoft.hierarchy(graph_of(np.zeros((n, n))), levels=[1])
    row = h.describe()[0]
    assert row.size == n
    assert np.isnan([row.conductance, row.hard_conductance, row.cohesion, row.share]).all()
    assert row.exemplars == row.neighbors == ()
    assert "nan" not in str(h.describe())


def test_as_many_clusters_as_points():
    h = graphsoft.hierarchy(nx.path_graph(4), levels=[4])
    assert sum(row.size for row in h.describe()) == 4
    np.testing.assert_array_equal(h[0].margin, [naive.margin(row) for row in h[0].memberships.toarray()])


def test_a_description_can_be_printed_and_made_a_data_frame():
    h = graphsoft.hierarchy(cloud(200), levels=[40, 5])
    text = str(h.describe(0)).splitlines()
    assert len(text) == 32
    assert text[-1] == "... and 10 more"
    table = h.describe(feature_names=["width", "height", "depth"])
    assert repr(table) == "Description(level 1: 5 clusters)"
    assert any(name in str(table) for name in ("width", "height", "depth"))
    frame = table.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc["1-3", "size"] == table[3].size
    assert table[1:3] == table.clusters[1:3]
    with pytest.raises(AttributeError):
        table.level = 3


def test_a_data_frame_needs_pandas(monkeypatch):
    table = graphsoft.hierarchy(nx.path_graph(4), levels=[2]).describe()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install"):
        table.to_frame()


def test_steps_taken_in_blocks_give_the_same_description(monkeypatch):
    h = graphsoft.hierarchy(cloud(200), levels=[20, 5])
    whole = h.describe(0)
    monkeypatch.setattr("graphsoft.result.steps.ROWS_PER_PIECE", 7)
    for one, other in zip(whole, h.describe(0), strict=True):
        close(one.conductance, other.conductance)
        close(one.hard_conductance, other.hard_conductance)
        assert one.exemplars == other.exemplars


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    h = graphsoft.hierarchy(cloud(400), levels=[20, 5])
    monkeypatch.setattr("graphsoft.result.steps.ROWS_PER_PIECE", 30)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append((repr(h.describe().clusters), repr(h.distinctive().scores)))
    assert found[0] == found[1]


def test_invalid_arguments_are_refused():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[6, 3])
    points = graphsoft.hierarchy(cloud(40), levels=[4])
    for wrong in ("2-0", "0-6", "00-1", 7, None, "Valjean", np.eye(2), sp.eye_array(2)):
        with pytest.raises(InputError, match="b: there is no node"):
            h.between("0-0", wrong)
    with pytest.raises(InputError, match="name a cluster by its level and its number"):
        h.between("Valjean", "Javert")
    with pytest.raises(InputError, match="b: '1-0' is not on the level"):
        h.between("0-0", "1-0")
    with pytest.raises(InputError, match="a: 'root' is above all levels"):
        h.between("root", "1-0")
    with pytest.raises(InputError, match="b: is cluster 1 again"):
        h.between("0-1", "0-1")
    with pytest.raises(InputError, match="count"):
        h.between("0-0", "0-1", count=0)
    for wrong in (2, -3, 1.5, "0"):
        with pytest.raises(InputError, match="level: got"):
            h.describe(wrong)
    with pytest.raises(InputError, match="feature_names: there are no features to name"):
        h.describe(feature_names=["x"])
    with pytest.raises(InputError, match="X: is not there"):
        h.distinctive()
    with pytest.raises(InputError, match="X: has 3 rows for 77 points"):
        h.distinctive(X=np.ones((3, 2)))
    with pytest.raises(InputError, match="feature_names: got 2 names for 3 features"):
        points.describe(feature_names=["x", "y"])
    for wrong in ("xyz", {"x", "y", "z"}, 3, np.array(3)):
        with pytest.raises(InputError, match=r"feature_names: got.*list of 3"):
            points.distinctive(feature_names=wrong)
    with pytest.raises(InputError, match="count"):
        points.distinctive(count=0)


@given(factored_graphs(), st.integers(1, 4))
def test_best_in_rows_are_the_largest_positive_entries(case, count):
    S = case[1]
    for row, best in zip(S, best_in_rows(rows_of(S), count), strict=True):
        ranked = sorted(range(len(row)), key=lambda q: (-row[q], q))
        assert best == [(q, row[q]) for q in ranked if row[q] > 0][:count]
