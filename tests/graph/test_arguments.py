"""Graphs of networkx, square sparse matrices, and every argument with everything wrong in it."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import repeat

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft import GraphsoftWarning, InputError
from graphsoft.input.checks import number
from graphsoft.neighbors import nearest
from graphsoft.neighbors.points import Points
from shared.awkward import (
    LEVELS,
    PARTITION,
    SAME,
    VALID,
    A,
    X,
    check,
    outcome,
    refused,
    same_partition,
    stored,
    with_weight,
)
from shared.door import FORMATS


@pytest.fixture(scope="module")
def expected():
    return graphsoft.hierarchy(A, LEVELS)


def weighted_graph():
    return nx.from_scipy_sparse_array(A)


def reweighted(value):
    graph = weighted_graph()
    graph[0][int(A.indices[0])]["weight"] = value
    return graph


def without_weight(all_of_them):
    graph = weighted_graph()
    edges = list(graph.edges(data=True))
    for _, _, attributes in edges if all_of_them else edges[:1]:
        del attributes["weight"]
    return graph


NAMES = [
    1,
    "1",
    b"1",
    (1,),
    frozenset([1]),
    1.5,
    "root",
    3 + 4j,
    "x\x00\n",
    float("inf"),
    "",
    ("a", ("b",)),
    "0-0",
]

NETWORKX = {
    "graph": (weighted_graph(), SAME),
    "directed, symmetric": (weighted_graph().to_directed(), SAME),
    "multigraph": (nx.MultiGraph(weighted_graph()), SAME),
    "frozen": (nx.freeze(weighted_graph()), SAME),
    "view": (weighted_graph().subgraph(range(60)), SAME),
    "reversed view": (nx.reverse_view(weighted_graph().to_directed()), SAME),
    "filtered view": (nx.subgraph_view(weighted_graph(), filter_edge=lambda u, v: (u + v) % 3 > 0), VALID),
    "directed": (nx.DiGraph([(i, i + 1) for i in range(9)]), r"^X: is not symmetric: .* \(0, 1\) is 1"),
    "no nodes": (nx.Graph(), r"without nodes|0 points"),
    "no edges": (nx.empty_graph(9), VALID),
    "self-loops only": (nx.Graph([(i, i) for i in range(9)]), VALID),
    "no weights": (without_weight(True), PARTITION),
    "one weight missing": (
        without_weight(False),
        r"^X: 1 of \d+ edges have no weight, the first is \(0, \d+\)",
    ),
    "weight None": (reweighted(None), r"^X: 1 of \d+ edges have no weight"),
    "weight str": (reweighted("1"), r"^X: the edge \(0, \d+\) has the weight '1'"),
    "weight NaN": (reweighted(float("nan")), r"^X: the edge \(0, \d+\) has the weight nan"),
    "weight inf": (reweighted(float("inf")), r"^X: the edge \(0, \d+\) has the weight inf"),
    "weight complex": (reweighted(1j), r"^X: the edge \(0, \d+\) has the weight 1j"),
    "weight list": (reweighted([1]), r"^X: the edge \(0, \d+\) has the weight \[1\]"),
    "weight beyond float64": (reweighted(10**400), r"^X: the edge \(0, \d+\) has the weight 1000"),
    "weight -1": (reweighted(-1), r"^X: 2 weights are negative, the first is -1 at \(0, "),
    "weight 0": (reweighted(0), VALID),
}


@pytest.mark.parametrize("case", NETWORKX)
def test_networkx_graphs(case, expected):
    data, wanted = NETWORKX[case]
    for affinity in ("auto", "precomputed", "features"):
        outcome(data, wanted, expected, affinity=affinity)


def test_any_hashable_names_a_node():
    graph = nx.relabel_nodes(nx.complete_graph(len(NAMES)), dict(enumerate(NAMES)))
    graph.add_edge("root", float("nan"))
    graph.add_edge("root", unnamed := object())
    h = graphsoft.hierarchy(graph, [4, 2])
    check(h, len(NAMES) + 2, [4, 2])
    assert h.nodes[: len(NAMES)] == tuple(NAMES)
    assert h.nodes[-1] is unnamed


# sparse features, and what a square matrix is taken for


def texts(count, words):
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(count), rng.integers(8, 14, size=count))
    columns = rng.integers(0, words // 3, size=len(rows)) + words // 3 * (rows % 3)
    return sp.csr_array((rng.random(len(rows)) + 0.1, (rows, columns)), shape=(count, words))


@pytest.mark.parametrize("words", [60, 90])
def test_texts(words):
    matrix = texts(60, words)
    for form in set(FORMATS) - {"dia"}:  # SciPy warns of texts as diagonals
        h = graphsoft.hierarchy(matrix.asformat(form), LEVELS, metric="cosine")
        check(h, 60, LEVELS)
        assert same_partition(h[-1].labels, np.arange(60) % 3)
    noted = any("taken as features since metric='cosine'" in note for note in h.report.notes)
    assert noted == (words == 60)


def test_square_sparse_matrices():
    matrix = texts(60, 60)
    refused(r"^X: is not symmetric: .* affinity='features'", graphsoft.hierarchy, matrix, LEVELS)
    refused(r"^X: .* weights are negative.* affinity='features'", graphsoft.hierarchy, -matrix, LEVELS)
    check(graphsoft.hierarchy(-matrix, LEVELS, metric="cosine"), 60, LEVELS)
    forced = graphsoft.hierarchy(matrix, LEVELS, metric="cosine", affinity="features")
    guessed = graphsoft.hierarchy(matrix, LEVELS, metric="cosine")
    np.testing.assert_array_equal(forced[0].memberships.toarray(), guessed[0].memberships.toarray())
    taken = ("a square sparse matrix was taken as a graph",)
    assert graphsoft.as_graph(A).notes == taken
    with pytest.warns(GraphsoftWarning, match="metric='cosine' changed nothing"):
        assert graphsoft.as_graph(A, metric="cosine").notes == taken
    lists = sp.csr_array(
        np.eye(60) + np.eye(60)[np.r_[1:60, 0]]
    )  # as kneighbors_graph gives without distances
    for metric in ("euclidean", "cosine"):
        refused("^X: is not symmetric", graphsoft.as_graph, lists, metric=metric)
    points = sp.csr_array(X)
    refused("^metric: got 'manhattan', but X is sparse", graphsoft.hierarchy, points, 2, metric="manhattan")


# every keyword, wrong


class Unprintable:
    def __repr__(self):
        raise RuntimeError


WRONG = [
    "x", b"x", -1, 1.5, float("nan"), [], (), {}, {"a": 1}, object(), Unprintable(), np.array([1, 2]),
    ["euclidean"], 10**30 * 1j, "euclidean\x1b[31m", "a" * 10_000,
]  # fmt: skip
OF_GRAPHS = ["n_neighbors", "metric", "weights", "rng", "progress"]
FINE = {("rng", "()"), ("rng", "[]"), ("rng", "array([1, 2])")}  # seeds for NumPy


@pytest.mark.parametrize(
    ("function", "keywords"),
    [
        (
            lambda **options: graphsoft.hierarchy(X, LEVELS, **options),
            [*OF_GRAPHS, "affinity", "method", "polish"],
        ),
        (
            lambda **options: graphsoft.hierarchy(A, LEVELS, **options),
            [*OF_GRAPHS, "affinity", "method", "polish"],
        ),
        (lambda **options: graphsoft.as_graph(X, **options), [*OF_GRAPHS, "affinity", "symmetrize"]),
        (lambda **options: graphsoft.as_graph(graphsoft.as_graph(A), **options), [*OF_GRAPHS, "symmetrize"]),
        (lambda **options: graphsoft.knn_graph(X, **options), [*OF_GRAPHS, "symmetrize"]),
    ],
    ids=["hierarchy of points", "hierarchy of a graph", "as_graph", "as_graph of a graph", "knn_graph"],
)
def test_wrong_keywords(function, keywords):
    for keyword in keywords:
        wrong = list(WRONG)
        wrong += [None] * (keyword not in ("rng", "progress")) + [True] * (
            keyword not in ("polish", "progress")
        )
        wrong += [0] * (keyword != "rng")
        for value in wrong:
            if isinstance(value, Unprintable) or (keyword, repr(value)) not in FINE:
                refused(f"^{keyword}: got ", function, **{keyword: value})


LEVELS_REFUSED = [
    "5", b"52", "5,2", 5.0, np.float64(5), True, [], (), np.array([]), [5.0, 2.0], np.array([5.0, 2.0]),
    float("nan"), [float("nan")], -1, 0, [5, -1], [5, 0], None, [None], ["5", "2"], object, 3 + 0j, [[5, 2]],
    np.array([[5, 2]]), [5, [2]], [True], [5, True], [5, 5], [2, 5], [5, 2, 3], 61, [61, 5], 10**30,
    slice(5), np.array(["5"]), np.datetime64("2020"), [np.uint8(200)], Unprintable(), [10**400],
    (word for word in "ab"), np.array(5.0), {5, 2, 3, 4}, {5: 1, 2: 1}, bytearray(b"\x05\x02"),
    np.array(5), 10**5000, [10**5000, 5],
]  # fmt: skip
LEVELS_TAKEN = [5, np.int64(5), (5, 2), np.array([5, 2]), np.array([5, 2], dtype=object), range(5, 0, -1),
                [5, np.uint8(2)], pd.Series([5, 2]), [60, 1], 1, 60]  # fmt: skip


def test_levels():
    for levels in LEVELS_REFUSED:
        for data in (X, A, nx.from_scipy_sparse_array(A)):
            refused("^levels: ", graphsoft.hierarchy, data, levels)
    for levels in LEVELS_TAKEN:
        sizes = np.atleast_1d(np.array(levels, dtype=int)).tolist()
        check(graphsoft.hierarchy(X, levels), 60, sizes)
    check(graphsoft.hierarchy(X, iter([5, 2])), 60, [5, 2])
    for endless in (iter(int, 1), repeat(5)):
        refused("^levels: got", graphsoft.hierarchy, X, endless)


NO_DATA = [
    None, "abc", "data.csv", b"x", 5, 5.0, True, object(), object, {}, {1: 2}, {1, 2}, [], [[]], (),
    iter([[1, 2]]), (row for row in X), np.array(None), np.array("a"), np.array(3.0), print, nx.Graph,
    graphsoft, [None] * 6, pd.Series([1.0, 2.0]), pd.Index([1]), pd.DataFrame(), Unprintable(), [[X]],
    [X, X[:5]], pd.DataFrame({"a": pd.date_range("2020", periods=6)}),
    pd.DataFrame({"a": pd.Categorical(["x"] * 6)}), np.random.default_rng(0),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(NO_DATA)))
def test_no_data(place):
    data = NO_DATA[place]
    for function in (graphsoft.as_graph, graphsoft.knn_graph):
        for affinity in ("auto", "features", "precomputed"):
            options = {"affinity": affinity} if function is graphsoft.as_graph else {}
            refused("^X: ", function, data, **options)
    refused("^(X|levels): ", graphsoft.hierarchy, data, [5, 2])
    refused("^(X|levels): ", graphsoft.hierarchy, data, 1)


def test_graphs_are_no_points():
    for graph in (graphsoft.as_graph(A), nx.path_graph(4)):
        refused("^X: is a graph, not a table", graphsoft.knn_graph, graph)


def test_graphs_made_by_hand():
    graph = graphsoft.knn_graph(np.repeat(X, 2, axis=0), 5)
    named = replace(graph, nodes=tuple(f"point {row}" for row in range(120)))
    h = graphsoft.hierarchy(named, LEVELS)
    check(h, 120, LEVELS)
    assert (h.nodes, h.graph.notes) == (named.nodes, graph.notes)
    expected = graphsoft.hierarchy(graph, LEVELS)
    np.testing.assert_array_equal(h[0].memberships.toarray(), expected[0].memberships.toarray())
    assert graphsoft.as_graph(graph) is graph
    assert graphsoft.as_graph(h.graph) is h.graph
    names = range(60)
    for matrix in (stored(indices=A.indices + 1), with_weight(np.nan), sp.triu(A, format="csr"), A[:, :50]):
        refused("^X: is|^X: 2 entries", graphsoft.hierarchy, graphsoft.Graph(matrix, names), LEVELS)
    refused("^X: has 59 names for 60 nodes", graphsoft.as_graph, graphsoft.Graph(A, names[1:]))
    for duplicates in (np.arange(60) + 1, np.zeros(9, int), np.full(60, 0.5)):
        refused("^X: has duplicates", graphsoft.as_graph, graphsoft.Graph(A, names, (), duplicates))


def test_seeds():
    points = Points.of(X)
    plain = nearest.nearest_neighbors(points, 5)[0]
    for rng in (
        None,
        7,
        np.int64(7),
        [1, 2],
        np.random.SeedSequence(1),
        np.random.PCG64(3),
        np.random.default_rng(2),
    ):
        np.testing.assert_array_equal(nearest.nearest_neighbors(points, 5, rng=rng)[0], plain)
        check(graphsoft.hierarchy(X, LEVELS, rng=rng), 60, LEVELS)


def test_seeds_reach_pynndescent(monkeypatch):
    seeds = []

    def descend(data, metric, listed, seed):
        seeds.append(seed)
        return np.tile(np.arange(listed), (len(data), 1))

    monkeypatch.setattr(nearest, "PRODUCT_WORK", 0)
    monkeypatch.setattr(nearest, "RETURN_WORK", 0)
    monkeypatch.setattr(nearest, "_descend", descend)
    points = np.random.default_rng(0).normal(size=(60, 12))
    generator = np.random.default_rng(5)
    for rng in (None, None, 5, np.int64(5), generator, generator, [1, 2]):
        graphsoft.hierarchy(points, 3, rng=rng)
        graphsoft.as_graph(points, rng=rng)
        graphsoft.knn_graph(points, rng=rng)
    assert seeds[:6] == [nearest.DEFAULT_SEED] * 6
    assert len(set(seeds[6:13])) == 1  # the first draw of the generator is that of its seed
    assert len(set(seeds[12:18])) == 6  # and a generator moves on
    assert len(set(seeds[18:])) == 1
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)


def test_errors_stay_short_and_on_one_line():
    for value in ("a\nb\x1b[2J" * 1000, np.arange(10**6), Unprintable(), 10**5000):
        with pytest.raises(InputError) as caught:
            graphsoft.as_graph(X, metric=value)
        assert len(str(caught.value)) < 300
        assert not re.search(r"[\n\x1b]", str(caught.value))


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int8(1), Fraction(1, 3)])
def test_numbers(value):
    found = number("tolerance", value, minimum=0, maximum=1)
    assert type(found) is float
    assert found == float(value)


@pytest.mark.parametrize("value", [True, np.True_, None, "1", [1], 1j, np.nan, np.inf, -np.inf, 10**400, -1])
def test_what_is_no_number(value):
    with pytest.raises(InputError, match=r"tolerance: got .* use a number of at least 0\."):
        number("tolerance", value, minimum=0)


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (0, {"above": 0}, "above 0"),
        (1, {"minimum": 0, "below": 1}, "of at least 0 and below 1"),
        (1.5, {"above": 0, "maximum": 1}, "above 0 and at most 1"),
    ],
)
def test_bounds_of_numbers(value, bounds, words):
    with pytest.raises(InputError, match=re.escape(f"got {value}. Remedy: use a number {words}.")):
        number("tolerance", value, **bounds)
