"""What every method guarantees. The table of methods drives these tests, so a new row is tested at once."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.fitting.finding import find
from graphsoft.graph.features import Features
from graphsoft.input.constraints import matrix_of_pairs
from graphsoft.methods import METHODS, Relation, Sample, takes_pairs
from shared.shapes import cloud, graph_of, ring_of_cliques
from shared.strategies import graphs, small

ALL = sorted(METHODS)
# methods that need a graph only
ON_GRAPHS = [name for name in ALL if METHODS[name].reads(1000, featured=False) == {"graph"}]


def clouds(n=90, seed=0):
    """Positive points in three distant round clouds, and the cloud of each."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    return np.eye(3)[truth] * 8 + 4 + rng.normal(size=(n, 3)), truth


def check(found, n, k):
    S = found.memberships
    assert isinstance(S, sp.csr_array)
    assert S.shape == (n, k)
    assert (S.data > 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, rtol=1e-9)
    assert found.labels.shape == found.entropy.shape == (n,)
    assert found.status
    assert np.isfinite(found.trace).all()


def falls(found, name, total=1.0):
    """The objective never rises, except if adaptive support leaves no common cluster to the ends of an edge.

    This allows for that on tiny graphs; test_relation.py has the strict tests.
    """
    trace = np.array(found.trace)
    allowed = 1e-9 * np.abs(trace).max(initial=1.0) + 0.1 * total * (name == "relation")
    return (np.diff(trace) <= allowed).all()


@pytest.mark.parametrize("name", ALL)
def test_clear_clusters_are_found(name):
    X, truth = clouds()
    kept = X.copy()
    found = graphsoft.cluster(X, 3, method=name)
    check(found, len(X), 3)
    assert graphsoft.metrics.accuracy(truth, found.labels) == 1
    assert falls(found, name)
    assert (kept == X).all()
    S = found.memberships
    assert S.has_sorted_indices
    assert not any(buffer.flags.writeable for buffer in (S.data, S.indices, S.indptr))


@pytest.mark.parametrize("name", ALL)
def test_the_same_call_gives_the_same_answer(name):
    X, _ = clouds()
    first, second = (graphsoft.cluster(X, 4, method=name) for _ in range(2))
    assert first.memberships.data.tobytes() == second.memberships.data.tobytes()
    assert first.memberships.indices.tolist() == second.memberships.indices.tolist()
    assert first.trace == second.trace


@pytest.mark.parametrize("name", ALL)
def test_node_order_does_not_matter(name):
    X, _ = clouds()
    order = np.random.default_rng(3).permutation(len(X))
    S = graphsoft.cluster(X, 3, method=name).memberships.toarray()
    again = graphsoft.cluster(X[order], 3, method=name).memberships.toarray()
    # compared by how much two points share, because the clusters may come in another order
    np.testing.assert_allclose(again @ again.T, (S @ S.T)[order][:, order], atol=0.02)


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_disconnected_graphs(name):
    W = np.zeros((24, 24))
    W[:20, :20] = ring_of_cliques()
    W[0, -5] = W[-5, 0] = W[14, 15] = W[15, 14] = 0
    W[20, 21] = W[21, 20] = 0.1  # two strays, and two nodes without edges
    found = graphsoft.cluster(graph_of(W), 4, method=name)
    check(found, 24, 4)
    cliques = found.labels[:20].reshape(4, 5)
    assert (cliques == cliques[:, :1]).all()
    assert len(set(cliques[:, 0])) == 4


@pytest.mark.parametrize("name", ON_GRAPHS)
@given(graph=graphs(weights=small), data=st.data())
@settings(max_examples=25)
def test_any_graph_is_clustered(name, graph, data):
    k = data.draw(st.integers(1, len(graph)))
    kept = graph.adjacency.copy()
    found = graphsoft.cluster(graph, k, method=name)
    check(found, len(graph), k)
    assert (graph.adjacency != kept).nnz == 0
    assert falls(found, name, graph.degrees.sum())


@pytest.mark.parametrize("name", ALL)
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9), data=st.data())
@settings(max_examples=15)
def test_any_points_are_clustered(name, rows, data):
    X = np.array(rows, dtype=float)
    k = data.draw(st.integers(1, len(X)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)  # fewer points than neighbors
        check(graphsoft.cluster(X, k, method=name), len(X), k)


@pytest.mark.parametrize("name", ALL)
def test_a_hierarchy_by_any_method(name):
    X, truth = clouds()
    h = graphsoft.hierarchy(X, levels=[9, 3], method=name)
    np.testing.assert_allclose((h[0].memberships @ h[0].parents - h[1].memberships).toarray(), 0, atol=1e-12)
    np.testing.assert_allclose(h[1].memberships.sum(axis=1), 1, rtol=1e-9)
    assert [len(level.mass) for level in h] == [9, 3]
    for level in h:
        np.testing.assert_allclose(level.graph.sum(axis=1), level.mass, rtol=1e-9)
    # nine factors of three features are not unique
    min_accuracy = 0.6 if name in ("nmf", "regularized-nmf") else 0.95
    assert graphsoft.metrics.accuracy(truth, h[1].labels) > min_accuracy


def test_a_method_for_each_level():
    X, truth = clouds()
    h = graphsoft.hierarchy(X, levels=[9, 5, 3], method=["relation", Relation(support="dense"), "relation"])
    assert graphsoft.metrics.accuracy(truth, h[-1].labels) == 1
    with pytest.raises(InputError, match="method: got 2 methods for 3 levels"):
        graphsoft.hierarchy(X, levels=[9, 5, 3], method=["relation", "relation"])


@pytest.mark.parametrize("name", sorted(set(ALL) - set(ON_GRAPHS)))
def test_methods_for_features_refuse_graphs(name):
    graph = graph_of(ring_of_cliques())
    with pytest.raises(InputError, match=r"method: .* looks at features, and X is a graph"):
        graphsoft.cluster(graph, 2, method=name)
    with pytest.raises(InputError, match=r"method: .* looks at features, and X is a graph"):
        graphsoft.hierarchy(graph, [4, 2], method=name)
    with pytest.raises(InputError, match="looks at features"):
        find(Sample(graph), 2, METHODS[name], np.random.default_rng(0))


@pytest.mark.parametrize("name", ALL)
def test_settings_are_frozen_and_short(name):
    settings_ = METHODS[name]
    assert repr(settings_).startswith(type(settings_).__name__)
    assert hash(settings_) == hash(METHODS[name])
    with pytest.raises(AttributeError):
        settings_.anything = 1


@pytest.mark.parametrize("name", ALL)
def test_identical_points_get_identical_memberships(name):
    X = np.repeat(cloud(30) + 20, 2, axis=0)
    S = graphsoft.cluster(X, 5, method=name).memberships.toarray()
    np.testing.assert_allclose(S[::2], S[1::2], atol=1e-9)


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_known_pairs_decide_between_equally_good_clusterings(name):
    # four cliques in a ring: 0 with 1 and 2 with 3 is as good as 1 with 2 and 3 with 0
    def tied(one, other):
        return [(one + i, other + i) for i in range(5)]

    graph = graph_of(ring_of_cliques())
    for first, second, others in [(0, 5, (10, 15)), (5, 10, (15, 0))]:
        together = [(first + i, second + i) for i in range(5)] + [
            (others[0] + i, others[1] + i) for i in range(5)
        ]
        apart = [(second + i, others[0] + i) for i in range(5)]
        found = graphsoft.cluster(graph, 2, method=name, must_link=together, cannot_link=apart).labels
        assert found[first] == found[second] != found[others[0]] == found[others[1]]


@pytest.mark.parametrize("name", ALL)
def test_known_pairs_are_refused_where_they_have_no_meaning(name):
    X, _ = clouds()
    if "graph" in METHODS[name].reads(len(X), featured=True) or takes_pairs(METHODS[name]):
        assert graphsoft.cluster(X, 3, method=name, must_link=[(0, 3)]).memberships.shape == (90, 3)
        return
    with pytest.raises(InputError, match=r"method: .* has no place for known pairs"):
        graphsoft.cluster(X, 3, method=name, must_link=[(0, 3)])


def test_known_pairs_change_the_graph():
    graph = graph_of(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    side = matrix_of_pairs(range(3), must_link=[(1, 2)], cannot_link=[(0, 2)])
    sample = Sample(graph, None, side)
    assert sample.with_pairs_as_weights().graph.adjacency.toarray().tolist() == [
        [0, 2, 0],
        [2, 0, 2],
        [0, 2, 0],
    ]
    assert Sample(graph).with_pairs_as_weights().graph is graph
    assert sample.take(np.array([1, 2])).pairs.toarray().tolist() == [[0, 1], [1, 0]]


def test_the_status_counts_the_pairs_that_were_kept():
    graph = graph_of(ring_of_cliques(2, 5))
    found = graphsoft.cluster(graph, 2, must_link=[(0, 1), (0, 9)], cannot_link=[(1, 8)])
    assert found.status.endswith("; 2 of 3 known pairs kept")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("K_Means", "did you mean 'k-means'"),
        ("gaussian mixture", "did you mean 'gaussian-mixture'"),
        ("louvain!", r"use one of \['baum-eagon'"),
        (Relation, r"make settings of it: Relation\(\)"),
        (["relation"], "name one; graphsoft.hierarchy takes one for each level"),
    ],
)
def test_a_wrong_method_gets_a_remedy(method, words):
    with pytest.raises(InputError, match=f"method: got .*{words}"):
        graphsoft.cluster(graph_of(ring_of_cliques()), 2, method=method)


def test_points_keep_their_names():
    assert graphsoft.cluster(nx.path_graph(["a", "b", "c"]), 2).nodes == ("a", "b", "c")
    assert list(graphsoft.cluster([[0.0], [1.0], [5.0]], 2, "k-means").nodes) == [0, 1, 2]


def test_more_clusters_than_points():
    with pytest.raises(InputError, match="k: got 4 clusters for 3 points"):
        graphsoft.cluster([[0.0], [1.0], [2.0]], 4)


def test_a_sample_says_what_it_lacks():
    features = Features(np.ones((3, 1)))
    with pytest.raises(InputError, match="needs a graph"):
        _ = Sample(None, features).graph
    with pytest.raises(InputError, match="looks at features"):
        _ = Sample(graph_of(ring_of_cliques())).features
    assert len(Sample(None, features).take(np.array([0, 2]))) == 2


@pytest.mark.parametrize("name", ALL)
def test_a_hierarchy_of_sparse_features(name):
    X = sp.random_array((40, 12), density=0.3, rng=np.random.default_rng(0), format="csr")
    h = graphsoft.hierarchy(X, [6, 2], method=name)
    np.testing.assert_allclose(h[1].memberships.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_the_largest_numbers_can_be_features(name):
    X = np.sign(np.random.default_rng(0).normal(size=(12, 3))) * 1.7e308
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphsoft.GraphsoftWarning)
        check(graphsoft.cluster(X, 2, method=name), 12, 2)
