"""Bipartite graphs: rows and columns of a table in the same clusters."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import bipartite_graph, metrics
from graphsoft.engine.assessing import assess
from graphsoft.engine.blocks import OneBlock
from graphsoft.errors import InputError
from graphsoft.methods import Relation, relation
from naive import directed as naive_flows
from shared.strategies import plain


@st.composite
def tables(draw, min_size=1):
    """Dense tables, rows and columns without entries among them."""
    shape = draw(st.tuples(st.integers(min_size, 7), st.integers(min_size, 7)))
    A = np.zeros(shape)
    entries = st.tuples(*[st.integers(0, length - 1) for length in shape])
    for i, j in draw(st.lists(entries, max_size=20)):
        A[i, j] = draw(plain)
    return A


def planted(rng, rows=120, columns=80, groups=4, rate=3.0):
    """Counts of a table whose rows and columns fall into groups."""
    one, two = np.arange(rows) % groups, np.arange(columns) % groups
    mean = np.where(one[:, None] == two, rate, 0.3) * rng.uniform(0.2, 1.0, columns)
    return sp.csr_array(rng.poisson(mean).astype(float)), one, two


def dense_step(graph, S):
    stepped = np.empty_like(S)
    blocks = OneBlock(graph)
    relation._dense_sweep(blocks.seen(blocks.begin(sp.csr_array(S))), S, stepped)
    return stepped


@given(tables())
def test_the_table_stands_beside_itself_turned(A):
    r, c = A.shape
    expected = np.block([[np.zeros((r, r)), A], [A.T, np.zeros((c, c))]])
    for given_table in (A, sp.csr_array(A), sp.coo_array(A)):
        graph = bipartite_graph(given_table)
        assert (graph.adjacency.toarray() == expected).all()
        assert graph.nodes == range(r + c)
        assert len(graph.components) == r + c


@given(tables(), st.integers(1, 3), st.integers(0, 99))
def test_a_sweep_is_a_step_of_the_aspect_model(A, m, seed):
    if A.sum() == 0:
        return
    r = len(A)
    graph = bipartite_graph(A)
    S = np.random.default_rng(seed).dirichlet(np.ones(m), size=sum(A.shape))
    S = dense_step(graph, S)  # from here on both sides of a cluster have the same mass
    B = graph.degrees[:, None] * S
    np.testing.assert_allclose(B[:r].sum(axis=0), B[r:].sum(axis=0), rtol=1e-9, atol=1e-9)
    stepped = dense_step(graph, S)
    before, after = (naive_flows.aspect_of(each, graph.degrees, r) for each in (S, stepped))
    for found, expected in zip(after, naive_flows.aspect_step(A, *before), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@given(st.integers(0, 99), st.integers(1, 3))
def test_the_likelihood_is_twice_that_of_the_aspect_model(seed, m):
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 4, size=(6, 5)).astype(float) + 0.5
    graph, N = bipartite_graph(A), A.sum()
    S = rng.dirichlet(np.ones(m), size=11)
    S = dense_step(graph, S)
    found = assess(graph, sp.csr_array(S)).log_likelihood
    model = naive_flows.aspect_log_likelihood(A, *naive_flows.aspect_of(S, graph.degrees, 6))
    # lambda_q = 2 N p(q), and half of a row's part of it: (2 N p(q)) (p(row | q) / 2) (p(column | q) / 2)
    np.testing.assert_allclose(found, 2 * (model + N * np.log(N / 2)), rtol=1e-9)


def test_a_fit_ends_where_the_aspect_model_does():
    A, _, _ = planted(np.random.default_rng(0), 40, 30, 3)
    graph = bipartite_graph(A)
    settings = Relation(support="dense", rounds=100, sweeps=3)
    S = graphsoft.cluster(graph, 3, method=settings).memberships.toarray()
    p, R, C = naive_flows.aspect_of(S, graph.degrees, 40)
    fitted = naive_flows.aspect_log_likelihood(A.toarray(), p, R, C)
    rng, best = np.random.default_rng(1), -np.inf
    for _ in range(5):
        p, R, C = np.ones(3) / 3, rng.dirichlet(np.ones(40), 3).T, rng.dirichlet(np.ones(30), 3).T
        for _ in range(400):
            p, R, C = naive_flows.aspect_step(A.toarray(), p, R, C)
        best = max(best, naive_flows.aspect_log_likelihood(A.toarray(), p, R, C))
    assert fitted > best - 1e-3 * abs(best)


def test_both_sides_fall_into_their_groups():
    A, one, two = planted(np.random.default_rng(0))
    h = graphsoft.hierarchy(bipartite_graph(A), levels=[12, 4])
    labels = h[-1].labels
    assert metrics.adjusted_rand(one, labels[:120]) > 0.9
    assert metrics.adjusted_rand(two, labels[120:]) > 0.9
    assert metrics.adjusted_rand(np.concatenate([one, two]), labels) > 0.9
    for level in h:  # the mass of a cluster is half in rows, half in columns, when sweeps were the last step
        halves = level.memberships[:120].T @ level.degrees[:120]
        np.testing.assert_allclose(halves, level.mass / 2, rtol=0.05)


@given(tables(min_size=2), st.integers(0, 99))
def test_the_order_of_rows_and_columns_does_not_matter(A, seed):
    rng = np.random.default_rng(seed)
    one, two = rng.permutation(A.shape[0]), rng.permutation(A.shape[1])
    names = [f"row {i}" for i in range(A.shape[0])], [f"column {j}" for j in range(A.shape[1])]
    turned = [names[0][i] for i in one], [names[1][j] for j in two]
    first = bipartite_graph(A, *names)
    second = bipartite_graph(A[one][:, two], *turned)
    place = [second.nodes.index(name) for name in first.nodes]
    assert (second.adjacency.toarray()[place][:, place] == first.adjacency.toarray()).all()


def test_names_come_back():
    frame = pd.DataFrame([[2, 0], [0, 3]], index=["x", "y"], columns=["p", "q"])
    h = graphsoft.hierarchy(bipartite_graph(frame, frame.index, frame.columns), [2])
    assert h.nodes == ("x", "y", "p", "q")
    assert h[0].labels[0] == h[0].labels[2] != h[0].labels[1] == h[0].labels[3]
    assert bipartite_graph(frame, rows=["x", "y"]).nodes == ("x", "y", 0, 1)
    numbers = bipartite_graph(frame, np.array([7, 8]), columns=range(2)).nodes
    assert numbers == (7, 8, 0, 1)
    assert all(type(name) is int for name in numbers)


def test_a_bipartite_networkx_graph_goes_in_as_it_is():
    graph = nx.Graph([("x", "p"), ("y", "q")])
    nx.set_node_attributes(graph, {"x": 0, "y": 0, "p": 1, "q": 1}, "bipartite")
    found = graphsoft.cluster(graph, 2)
    assert found.labels.tolist() == [0, 0, 1, 1]


def test_rows_without_entries_stay_alone():
    graph = bipartite_graph([[1.0, 0.0], [0.0, 0.0]])
    assert any("2 nodes without edges" in note for note in graph.notes)
    assert graphsoft.hierarchy(graph, [2, 1])[0].memberships.shape == (4, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1, -2]],), "A: 1 weights are negative"),
        (([[1, np.nan]],), "A: .*NaN"),
        ((nx.path_graph(3),), "A: is a graph, not a table"),
        (([[1, 2]], ["a", "b"]), "rows: holds 2 names for 1 rows of A"),
        (([[1, 2]], ["a"], ["b"]), "columns: holds 1 names for 2 columns of A"),
        (([[1, 2]], ["a"], ["b", "a"]), "columns: holds 'a', which is the name of another node"),
        (([[1, 2]], ["a"], [["b"], "c"]), r"columns: holds \['b'\]. Remedy: use names that can be keys"),
        (([[1, 2]], "a"), "rows: got 'a'"),
        (([[1, 2]], 3), "rows: got 3"),
        (([[1, 2]], np.array(3)), r"rows: got array\(3\)"),
        (([[1], [2]], [0, 1]), "columns: holds 0, which is the name of another node"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        bipartite_graph(*arguments)
