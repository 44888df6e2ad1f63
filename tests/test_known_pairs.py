"""What a user knows, and wants, of a hierarchy: known pairs, and how many children a cluster has."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.engine.grouping import Limits, grouped_within, pairs_between_groups
from graphsoft.errors import InputError
from graphsoft.input.constraints import matrix_of_pairs
from graphsoft.methods import Sample
from naive import constraints as naive_constraints
from naive import engine as naive
from shared.shapes import bits, cloud, graph_of, ring_of_cliques
from shared.strategies import graphs, plain, weight_matrices

both = pytest.mark.parametrize("polish", [True, False])


@st.composite
def known_pairs(draw, n, max_pairs=6):
    """Pairs that are together and pairs that are apart, without contradiction."""
    classes = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    nodes = st.integers(0, n - 1)
    pairs = {(i, j) for i, j in draw(st.lists(st.tuples(nodes, nodes), max_size=max_pairs)) if i != j}
    together = sorted((i, j) for i, j in pairs if classes[i] == classes[j])
    return together, sorted(pairs - set(together))


@st.composite
def limited(draw):
    """A graph, a number of groups, and limits that can be met, with known pairs."""
    W = draw(weight_matrices(2, 12))
    n = len(W)
    count = draw(st.integers(1, n))
    min_children = draw(st.integers(0, n // count))
    max_children = draw(st.integers(-(-n // count), n))
    pairs = matrix_of_pairs(range(n), *draw(known_pairs(n)))
    return W, count, Limits(min_children, max_children, pairs)


def falling(n):
    return st.sets(st.integers(1, n), min_size=1, max_size=3).map(lambda sizes: sorted(sizes, reverse=True))


@given(limited())
def test_groups_keep_to_their_limits(drawn):
    W, count, limits = drawn
    found = grouped_within(graph_of(W), count, limits)
    sizes = np.asarray(found.sum(axis=0))
    assert found.shape == (len(W), count)
    assert (found.sum(axis=1) == 1).all()
    assert sizes.min() >= max(limits.min_children, 1)
    assert sizes.max() <= limits.max_children


@given(graphs(2), st.data())
def test_children_keep_to_their_limits(graph, data):
    sizes = data.draw(falling(len(graph)))
    ratios = [(below // above, -(-below // above)) for below, above in pairwise(sizes)]
    smallest = data.draw(st.integers(1, min([low for low, _ in ratios], default=3)))
    largest = data.draw(
        st.integers(max([high for _, high in ratios], default=smallest), 12).map(lambda x: max(x, smallest))
    )
    together, apart = data.draw(known_pairs(len(graph)))
    h = graphsoft.hierarchy(
        graph, sizes, min_children=smallest, max_children=largest, must_link=together, cannot_link=apart
    )
    for level in h[:-1]:
        counts = naive_constraints.children(level.parents.toarray())
        assert min(counts) >= smallest
        assert max(counts) <= largest
    for node in h.tree.nodes:
        if node.level > 0 and node.id != "root":
            assert smallest <= len(node.children) <= largest
    holds(h, sizes)


def adds_up(h, sizes):
    """Whatever is known and wanted, masses and graphs of clusters are those of the graph as it was given."""
    d = h.graph.adjacency.toarray().sum(axis=1)
    chained = np.eye(len(d))
    for level, m in zip(h, sizes, strict=True):
        S = level.memberships.toarray()
        assert S.shape == (len(d), m)
        np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(level.mass, d @ S, rtol=1e-12)
        assert (level.degrees == h.graph.degrees).all()
        np.testing.assert_allclose(level.graph.sum(axis=1), level.mass, rtol=1e-8, atol=1e-12 * d.sum())
        if level is not h[0]:
            np.testing.assert_allclose(S, chained, atol=1e-12)
        chained = S if level.parents is None else S @ level.parents.toarray()


def holds(h, sizes, polish=True):
    """The same, and the graphs of clusters are walks by way of the points."""
    adds_up(h, sizes)
    d = h.graph.degrees
    for level in h if polish else h[:1]:
        expected = naive.cluster_graph(d[:, None] * level.memberships.toarray(), d)
        np.testing.assert_allclose(level.graph.toarray(), expected, rtol=1e-8, atol=1e-12 * d.sum())


@given(weight_matrices(2, 10, plain), st.data(), st.booleans())
def test_known_pairs_go_into_the_graph_that_is_clustered(W, data, polish):
    together, apart = data.draw(known_pairs(len(W)))
    sizes = data.draw(falling(len(W)))
    graph = graph_of(W)
    known = matrix_of_pairs(range(len(W)), together, apart)
    R = np.zeros_like(W) if known is None else known.toarray()
    changed = Sample(graph, None, known).with_pairs_as_weights().graph
    assert (changed.adjacency.toarray() == naive_constraints.informed(W, R)).all()
    h = graphsoft.hierarchy(graph, sizes, polish=polish, must_link=together, cannot_link=apart)
    assert h.graph is graph
    holds(h, sizes, polish)
    if sizes[1:] and polish:
        return
    # without groups of clusters to decide on, memberships are those of the changed graph. The numbers of the
    # clusters go by the graph as it was given.
    other = graphsoft.hierarchy(graph_of(naive_constraints.informed(W, R)), sizes, polish=polish)
    assert [sorted(level.memberships.T.toarray().tolist()) for level in h] == [
        sorted(level.memberships.T.toarray().tolist()) for level in other
    ]


@given(weight_matrices(2, 10, plain), st.data())
def test_the_report_counts_what_came_out_as_known(W, data):
    together, apart = data.draw(known_pairs(len(W)))
    sizes = data.draw(falling(len(W)))
    h = graphsoft.hierarchy(graph_of(W), sizes, must_link=together, cannot_link=apart)
    known = matrix_of_pairs(range(len(W)), together, apart)
    for level, report in zip(h, h.report.levels, strict=True):
        if known is None:
            assert "known pairs" not in report.status
            continue
        right, pairs = naive_constraints.kept(known.toarray(), level.labels)
        assert report.status.endswith(f"; {right} of {pairs} known pairs kept")


@given(weight_matrices(2, 8), st.data())
def test_what_is_known_adds_up_between_groups(W, data):
    n = len(W)
    known = matrix_of_pairs(range(n), *data.draw(known_pairs(n)))
    if known is None:
        return
    m = data.draw(st.integers(1, 4))
    group = np.array(data.draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n)))
    expected = naive_constraints.between(known.toarray(), group, m)
    assert (pairs_between_groups(known, group, m).toarray() == expected).all()


@both
@pytest.mark.parametrize("method", ["relation", "cp", "symnmf", "normalized-cut"])
def test_known_pairs_decide_between_equals(polish, method):
    # four cliques in a ring: 0 with 1 and 2 with 3 is as good as 1 with 2 and 3 with 0
    graph = graph_of(ring_of_cliques())
    for first, second, others in [(0, 5, (10, 15)), (5, 10, (15, 0))]:
        together = [(first + i, second + i) for i in range(5)]
        together += [(others[0] + i, others[1] + i) for i in range(5)]
        apart = [(second + i, others[0] + i) for i in range(5)]
        h = graphsoft.hierarchy(
            graph, [4, 2], polish=polish, method=method, must_link=together, cannot_link=apart
        )
        found = h[-1].labels
        assert found[first] == found[second] != found[others[0]] == found[others[1]]
        assert "known pairs kept" in h.report.levels[-1].status
        adds_up(h, [4, 2])


def test_clusters_known_to_be_apart_are_not_grouped():
    # a chain of four cliques, of which the middle two are tied the most
    W = ring_of_cliques()
    W[0, -1] = W[-1, 0] = 0.0
    W[9, 10] = W[10, 9] = 3.0
    graph = graph_of(W)
    plain_labels = graphsoft.hierarchy(graph, [4, 2])[-1].labels
    assert plain_labels[6] == plain_labels[12]
    apart = [(i, j) for i in (5, 6) for j in (11, 12)]
    h = graphsoft.hierarchy(graph, [4, 2], cannot_link=apart)
    labels = h[-1].labels
    assert labels[6] != labels[12]
    assert h.report.levels[-1].status.endswith("4 of 4 known pairs kept")
    # three that are all apart do not fit into two: what is known gives way
    classes = {0: "a", 6: "b", 12: "c"}
    assert len(set(graphsoft.hierarchy(graph, [4, 2], known=classes)[-1].labels)) == 2


def test_apart_gives_way_only_where_nothing_else_can_merge():
    W = np.zeros((4, 4))
    for i, j, weight in [(0, 1, 9), (1, 2, 1), (2, 3, 1)]:
        W[i, j] = W[j, i] = weight
    known = matrix_of_pairs(range(4), cannot_link=[(0, 1)])
    group = grouped_within(graph_of(W), 2, Limits(0, 4, known)).indices
    assert group[0] != group[1]
    assert grouped_within(graph_of(W), 1, Limits(0, 4, known)).shape == (4, 1)


def test_where_all_are_apart_the_most_similar_merge():
    W = np.full((6, 6), 0.1)
    for i, weight in [(0, 9), (2, 8), (4, 7)]:
        W[i, i + 1] = W[i + 1, i] = weight
    everybody = matrix_of_pairs(range(6), cannot_link=[(i, j) for i in range(6) for j in range(i)])
    found = grouped_within(graph_of(W), 3, Limits(0, 6, everybody))
    assert found.indices.tolist() == [0, 0, 1, 1, 2, 2]


def test_nodes_and_parts_known_to_be_apart_do_not_meet():
    # a light part, which joins the heavier of two cliques but for what is known
    W = np.zeros((10, 10))
    W[:4, :4], W[4:8, 4:8], W[8, 9], W[9, 8] = 1.0, 0.8, 0.001, 0.001
    assert grouped_within(graph_of(W), 2, Limits(0, 10)).indices.tolist() == [0] * 4 + [1] * 4 + [0] * 2
    known = matrix_of_pairs(range(10), cannot_link=[(8, 0)])
    assert grouped_within(graph_of(W), 2, Limits(0, 10, known)).indices.tolist() == [0] * 4 + [1] * 6
    # four parts that no edge joins
    pairs = graph_of(np.kron(np.eye(4), [[0, 1], [1, 0]]))
    assert grouped_within(pairs, 2, Limits(0, 8)).indices.tolist() == [0] * 4 + [1] * 4
    known = matrix_of_pairs(range(8), cannot_link=[(0, 2), (4, 6)])
    group = grouped_within(pairs, 2, Limits(0, 8, known)).indices
    assert group[0] != group[2]
    assert group[4] != group[6]


def test_no_group_that_is_just_large_enough_gives_a_node():
    # node 7 is alone, being apart from all; node 0 is tied to it, but its group has two nodes only
    W = np.zeros((8, 8))
    W[:2, :2] = W[2:7, 2:7] = 3.0
    W[0, 7] = W[7, 0] = 1.0
    known = matrix_of_pairs(range(8), cannot_link=[(7, i) for i in range(7)])
    group = grouped_within(graph_of(W), 3, Limits(2, 6, known)).indices
    assert group[0] == group[1]
    assert sorted(np.bincount(group).tolist()) == [2, 2, 4]


def test_copies_known_to_be_apart_are_not_grouped():
    # four clouds on a line, of which the middle two are the nearest; every point twice
    starts = np.repeat([0, 6, 7.5, 13.5], 8)
    X = np.repeat(starts + np.random.default_rng(0).random(32), 2)[:, None]
    free = graphsoft.hierarchy(X, [4, 2], n_neighbors=12)[-1].labels
    assert free[20] == free[36]
    constrained = graphsoft.hierarchy(X, [4, 2], n_neighbors=12, cannot_link=[(20, 36), (21, 37), (24, 40)])
    labels = constrained[-1].labels
    assert len(set(labels[16:32])) == len(set(labels[32:48])) == 1
    assert labels[20] != labels[36]


def test_limits_that_bind_nothing_change_nothing():
    X = cloud()
    free = graphsoft.hierarchy(X, [20, 8, 3])
    assert bits(graphsoft.hierarchy(X, [20, 8, 3], min_children=1, max_children=20)) == bits(free)
    assert bits(graphsoft.hierarchy(X, [20, 8, 3], must_link=[], known={})) == bits(free)
    star = nx.star_graph(29)  # which contraction without limits would take by pairs of leaves
    children = naive_constraints.children(graphsoft.hierarchy(star, [20, 5])[0].parents.toarray())
    within = graphsoft.hierarchy(star, [20, 5], min_children=min(children), max_children=max(children))
    assert bits(within) == bits(graphsoft.hierarchy(star, [20, 5]))


def test_the_least_tied_is_moved():
    # two groups of three and one of a single node, which 2 is tied to a little more than 3 is
    W = np.zeros((7, 7))
    for i, j, weight in [
        (0, 1, 9),
        (0, 2, 5),
        (1, 2, 5),
        (3, 4, 9),
        (3, 5, 9),
        (4, 5, 9),
        (2, 6, 2),
        (3, 6, 1),
    ]:
        W[i, j] = W[j, i] = weight
    group = grouped_within(graph_of(W), 3, Limits(2, 3)).indices.tolist()
    assert group[0] == group[1] != group[2] == group[6]
    assert group[3] == group[4] == group[5]
    known = matrix_of_pairs(range(7), cannot_link=[(2, 6)])  # now it is 3 that is moved
    group = grouped_within(graph_of(W), 3, Limits(2, 3, known)).indices.tolist()
    assert group[0] == group[1] == group[2] != group[3] == group[6]


def test_equal_halves_are_made_where_they_are_wanted():
    h = graphsoft.hierarchy(nx.star_graph(19), [12, 4], min_children=3, max_children=3)
    assert naive_constraints.children(h[0].parents.toarray()) == [3, 3, 3, 3]


def test_strays_go_where_there_is_room():
    W = np.zeros((23, 23))
    W[:20, :20] = ring_of_cliques()
    W[20, 21] = W[21, 20] = W[21, 22] = W[22, 21] = 0.01
    h = graphsoft.hierarchy(graph_of(W), [23, 4], max_children=6, min_children=5)
    counts = naive_constraints.children(h[0].parents.toarray())
    assert sorted(counts) == [5, 6, 6, 6]


@both
def test_names_stand_for_rows(polish):
    graph = nx.karate_club_graph()
    names = {node: f"member {node}" for node in graph}
    together, apart, known = [(0, 33)], [(1, 2)], {5: "x", 7: "y"}
    first = graphsoft.hierarchy(
        graph, [8, 2], polish=polish, must_link=iter(together), cannot_link=apart, known=known
    )
    second = graphsoft.hierarchy(
        nx.relabel_nodes(graph, names),
        [8, 2],
        polish=polish,
        must_link=[(names[i], names[j]) for i, j in together],
        cannot_link=[(names[i], names[j]) for i, j in apart],
        known={names[i]: label for i, label in known.items()},
    )
    assert bits(first) == bits(second)
    assert first.settings.must_link == ((0, 33),)
    assert second.settings.known == (("member 5", "x"), ("member 7", "y"))


def test_settings_are_enough_to_fit_again():
    rng = np.random.default_rng(0)
    known = np.full(80, -1)
    known[rng.choice(80, 9, replace=False)] = rng.integers(0, 3, 9)
    h = graphsoft.hierarchy(
        cloud(), [20, 8, 3], known=known, max_children=4, cannot_link=zip([0], [1], strict=True)
    )
    asked = h.settings
    again = graphsoft.hierarchy(
        h.graph,
        asked.levels,
        method=asked.methods,
        polish=asked.polish,
        must_link=asked.must_link,
        cannot_link=asked.cannot_link,
        known=dict(asked.known),
        min_children=asked.min_children,
        max_children=asked.max_children,
    )
    assert bits(h) == bits(again)
    assert asked.cannot_link == ((0, 1),)
    assert len(asked.known) == 9


@settings(max_examples=15)
@given(st.integers(0, 99))
def test_the_order_of_the_nodes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(1.0, 1.1, (20, 20))
    W = ring_of_cliques() * (noise + noise.T)
    order = rng.permutation(20)
    place = np.argsort(order)
    pairs = [(0, 6), (1, 12)]
    keywords = {"min_children": 2, "max_children": 3}
    first = graphsoft.hierarchy(graph_of(W), [8, 3], cannot_link=pairs, **keywords)[-1].labels
    turned = [(int(place[i]), int(place[j])) for i, j in pairs]
    second = graphsoft.hierarchy(graph_of(W[order][:, order]), [8, 3], cannot_link=turned, **keywords)[
        -1
    ].labels
    same = first[:, None] == first
    assert (same == (second[place][:, None] == second[place])).all()


@both
def test_identical_points_may_be_known_to_be_apart(polish):
    X = np.repeat(cloud(30), 2, axis=0)  # point 2 i + 1 is a copy of 2 i
    apart = [(0, 1)]
    h = graphsoft.hierarchy(X, [20, 5], polish=polish, cannot_link=apart, must_link=[(20, 40)])
    S = h[-1].memberships.toarray()
    others = [i for i in range(0, 60, 2) if not {i, i + 1} & {0, 1, 20, 40}]
    for i in others:
        assert (S[i] == S[i + 1]).all()
    graph = Sample(h.graph, None, matrix_of_pairs(range(60), cannot_link=apart)).with_pairs_as_weights().graph
    assert graph.duplicates[0] != graph.duplicates[1]
    assert graph.duplicates[2] == graph.duplicates[3]
    assert sorted(set(graph.duplicates.tolist())) == list(range(31))
    assert not graph.adjacency[[0]].toarray()[0, 1]


def test_identical_points_known_to_be_apart_come_out_apart():
    X = np.array([[0.0], [0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [5.3]])
    found = graphsoft.hierarchy(
        X, [4, 2], n_neighbors=3, cannot_link=[(0, 1)], must_link=[(1, i) for i in range(4, 8)]
    )
    labels = found[-1].labels
    assert labels[0] != labels[1] == labels[4]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"min_children": 0}, "min_children: got 0"),
        ({"max_children": 2.5}, r"max_children: got 2\.5"),
        ({"min_children": 3}, "min_children: got 3, but 20 clusters under 8 are 2.5 for each.*at most 2"),
        ({"max_children": 2}, "max_children: got 2, but 20 clusters under 8 are 2.5 for each.*at least 3"),
        ({"min_children": 4, "max_children": 3}, "min_children: got 4, which is above max_children=3"),
        ({"max_children": 9, "polish": False}, "max_children: got 9, but only polished relation"),
        ({"min_children": 1, "method": "cp"}, "min_children: got 1, but only polished relation"),
        ({"must_link": [(0, 80)]}, "must_link: names no point: 80"),
        ({"cannot_link": 5}, "cannot_link: got 5"),
        ({"known": [1, 2]}, r"known: got \[1, 2\] for 80 points"),
        (
            {"must_link": [(0, 1)], "cannot_link": [(1, 0)]},
            "cannot_link: holds 1 and 0|cannot_link: holds 0 and 1",
        ),
        ({"must_link": [(0, 1)], "method": "k-means"}, "method: .*has no place for known pairs"),
        (
            {"must_link": [(0, 1)], "method": ["ward", "relation", "cp"]},
            "method: ward.*no place for known",
        ),
    ],
)
def test_bad_arguments_are_named_before_any_work(keywords, words):
    def never(*_):
        raise AssertionError("work was done")

    with pytest.raises(InputError, match=words):
        graphsoft.hierarchy(cloud(), [20, 8, 3], progress=never, **keywords)


def test_known_pairs_beside_features_above_the_finest_level():
    h = graphsoft.hierarchy(cloud(), [20, 3], method=["relation", "k-means"], must_link=[(0, 1)])
    assert h[-1].memberships.shape == (80, 3)


def test_nothing_is_known_of_graphs_without_edges():
    empty = sp.csr_array((6, 6))
    h = graphsoft.hierarchy(empty, [4, 2], cannot_link=[(0, 1)], must_link=[(2, 3)], max_children=2)
    holds(h, [4, 2])
    assert naive_constraints.children(h[0].parents.toarray()) == [2, 2]
