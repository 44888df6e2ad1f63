"""Graphs that a user copied, pickled, changed or made by hand are checked again, and refused if damaged."""

import copy
import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft import Graph, InputError, cuts, metrics
from graphsoft.graph.adjacency import is_clean
from shared.awkward import A, X, stored
from shared.door import digest, weighted
from shared.strategies import weight_matrices

BUFFERS = ("indices", "indptr", "data")
FAR = 2**30  # further away than any row, so that a loop that follows it reads foreign memory
LABELS = np.arange(60) % 3

DOORS = {
    "hierarchy": lambda graph: graphsoft.hierarchy(graph, [5, 3]),
    "cluster": lambda graph: graphsoft.cluster(graph, 3),
    "suggest_levels": graphsoft.suggest_levels,
    "propagate": lambda graph: graphsoft.propagate(graph, {0: "a", 40: "b"}),
    "multistep": lambda graph: graphsoft.multistep(graph, 3),
    "directed_graph": graphsoft.directed_graph,
    "modularity": lambda graph: metrics.modularity(graph, LABELS),
    "log_likelihood": lambda graph: metrics.log_likelihood(graph, LABELS),
    "normalized_cut": lambda graph: cuts.normalized_cut(graph, LABELS),
    "exact_normalized_cut": lambda graph: cuts.exact_normalized_cut(graph, 2),
    "cluster_surviving": graphsoft.methods.cluster_surviving,
    "as_graph": graphsoft.as_graph,
}


def refused_everywhere(graph):
    for door in DOORS.values():
        with pytest.raises(InputError, match=r"^X: |^graph: has the adjacency"):
            door(graph)
    assert "damaged" in repr(graph) or "nodes=" in repr(graph)


def own_copy():
    """A deep copy whose buffers have been made writable, as a user can do."""
    graph = copy.deepcopy(graphsoft.as_graph(A))
    for name in BUFFERS:
        getattr(graph.adjacency, name).flags.writeable = True
    return graph


def test_copies_are_read_only_and_check_themselves():
    graph = graphsoft.as_graph(A)
    for twin in (copy.copy(graph), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):  # noqa: S301
        assert digest(twin) == digest(graph)
        for name in BUFFERS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(twin.adjacency, name)[5] = 0
    assert "degrees" not in vars(copy.deepcopy(graph)), "what was computed from a graph does not travel"


@pytest.mark.parametrize("value", [FAR, -1, 60])
@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_buffers_that_were_made_writable_again(name, value):
    graph = own_copy()
    getattr(graph.adjacency, name)[5] = value
    refused_everywhere(graph)
    for action in (lambda: graph.degrees, lambda: graph.components):
        with pytest.raises(InputError, match=r"^graph: is a malformed sparse matrix"):
            action()


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_weights_that_were_made_bad(value):
    graph = own_copy()
    graph.adjacency.data[5] = value
    refused_everywhere(graph)


@pytest.mark.parametrize("name", BUFFERS)
def test_assigned_buffers(name):
    given_buffer = getattr(A, name)
    for assigned in (
        np.full(len(given_buffer), -FAR, dtype=given_buffer.dtype),
        given_buffer[:3],
        np.zeros(0, dtype=given_buffer.dtype),
        np.zeros((2, 2)),
        np.full(len(given_buffer), np.nan),
        np.full(len(given_buffer), "a"),
        None,
    ):
        graph = copy.deepcopy(graphsoft.as_graph(A))
        setattr(graph.adjacency, name, assigned)
        refused_everywhere(graph)


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers_in_other_clothes_hold_the_same_graph(name):
    graph, expected = copy.deepcopy(graphsoft.as_graph(A)), digest(graphsoft.as_graph(A))
    given_buffer = getattr(A, name)
    wider = np.float32 if name == "data" else np.int64  # whole weights, which float32 holds
    swapped = given_buffer.astype(given_buffer.dtype.newbyteorder())
    for assigned in (given_buffer.astype(wider), swapped, np.repeat(given_buffer, 2)[::2]):
        setattr(graph.adjacency, name, assigned)
        checked = graphsoft.as_graph(graph)
        assert digest(checked) == expected
        assert checked is graph or checked.adjacency.data.flags.c_contiguous


def test_the_callers_own_matrix_can_change():
    matrix = A.copy()
    graph = graphsoft.as_graph(matrix)
    assert np.shares_memory(graph.adjacency.data, matrix.data), "nothing was copied"
    before = graph.degrees.copy()
    matrix.data *= 2
    assert graphsoft.as_graph(graph) is graph
    assert (graph.degrees == 2 * before).all(), "degrees are those of the new weights"
    h = graphsoft.hierarchy(graph, [5, 3])
    np.testing.assert_array_equal(h[0].mass, graphsoft.hierarchy(A * 2, [5, 3])[0].mass)
    matrix.data[3] += 1
    refused_everywhere(graph)
    matrix.data[3] -= 1
    matrix.indices[5] = FAR
    refused_everywhere(graph)


@pytest.mark.parametrize("seed", range(150))
def test_pickles_with_a_flipped_bit(seed):
    rng = np.random.default_rng(seed)
    raw = bytearray(pickle.dumps(graphsoft.as_graph(A)))
    raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    try:
        graph = pickle.loads(bytes(raw))  # noqa: S301
    except Exception:  # whatever pickle, NumPy, SciPy or the constructor finds wrong
        return
    if not isinstance(graph, Graph):
        return
    assert repr(graph)
    try:
        checked = graphsoft.as_graph(graph)
    except InputError:
        return
    assert is_clean(checked.adjacency)
    assert len(checked.degrees) == len(checked.nodes) == checked.components.shape[0]


def test_replaced_fields():
    graph = graphsoft.as_graph(A)
    bad = {
        "adjacency": [stored(indices=np.full(A.nnz, FAR)), A[:, :50], A.toarray(), A.tocsc(), None],
        "nodes": [range(59), None, 5],
        "duplicates": [np.full(60, FAR), np.full(60, -1), np.full(60, 2), np.full(60, 0.5), np.zeros(9, int)],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(InputError):
                graphsoft.hierarchy(replace(graph, **{name: value}), [5, 3])
    assert replace(graph, from_distances=True).from_distances


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("adjacency", stored(indices=np.full(A.nnz, FAR))),
        ("adjacency", A.tocsr()[:, :50]),
        ("adjacency", A.toarray()),
        ("adjacency", None),
        ("nodes", 5),
        ("nodes", range(59)),
        ("duplicates", np.full(60, FAR)),
        ("duplicates", "one"),
    ],
)
def test_fields_set_against_the_will_of_the_class(name, value):
    graph = copy.deepcopy(graphsoft.as_graph(A))
    object.__setattr__(graph, name, value)
    refused_everywhere(graph)


def test_what_was_computed_from_a_graph_is_computed_again():
    graph = graphsoft.as_graph(A)
    expected = graph.degrees.copy(), graph.components.copy()
    graph.__dict__.update(degrees=np.zeros(1), components=np.full(60, FAR, dtype=np.int32))
    assert graphsoft.as_graph(graph) is graph
    np.testing.assert_array_equal(graph.degrees, expected[0])
    np.testing.assert_array_equal(graph.components, expected[1])


def test_subclasses_count_by_what_they_hold():
    class Liar(Graph):
        asked = 0

        def __len__(self):
            return 10**6

        @property
        def degrees(self):
            return np.zeros(1)

        def __getattribute__(self, name):
            if name == "adjacency":
                Liar.asked += 1
                return stored(indices=np.full(A.nnz, FAR)) if Liar.asked % 2 else A
            return object.__getattribute__(self, name)

    class Changing(sp.csr_array):
        pass

    for _ in range(4):
        liar = Liar(A, range(60))
        try:
            checked = graphsoft.as_graph(liar)
        except InputError:
            continue
        assert type(checked) is Graph
        assert digest(checked) == digest(graphsoft.as_graph(A))
    graph = copy.deepcopy(graphsoft.as_graph(A))
    object.__setattr__(graph, "adjacency", Changing(A))
    assert type(graphsoft.as_graph(graph).adjacency) is sp.csr_array


def test_notes_and_names_of_a_graph_that_is_made_again():
    graph = graphsoft.as_graph(nx.relabel_nodes(nx.path_graph(4), dict(enumerate("abcd"))))
    loose = Graph(sp.csr_array(graph.adjacency.astype(np.float32)), graph.nodes, graph.notes)
    checked = graphsoft.as_graph(loose)
    assert (checked.nodes, checked.notes) == (graph.nodes, graph.notes)
    object.__setattr__(loose, "notes", None)
    assert graphsoft.as_graph(loose).notes == ()


def test_graphs_remember_that_they_were_made_of_distances():
    from sklearn.neighbors import KNeighborsTransformer

    made = graphsoft.as_graph(KNeighborsTransformer(n_neighbors=6, mode="distance").fit_transform(X))
    assert made.from_distances
    for graph in (pickle.loads(pickle.dumps(made)), replace(made, notes=()), copy.copy(made)):  # noqa: S301
        assert graph.from_distances
        assert graphsoft.as_graph(graph).from_distances
    h = graphsoft.hierarchy(replace(made, notes=("something else",)), [5, 3])
    with pytest.warns(graphsoft.GraphsoftWarning, match="made of distances"):
        grown = h.partial_update(sp.csr_array(([1.0, 2.0], ([0, 0], [3, 4])), shape=(1, 60)))
    assert grown.graph.from_distances
    assert not graphsoft.as_graph(A).from_distances


# what "in order" means, against the definition


def in_order(dense, columns_of_rows):
    """The definition of a clean matrix, entry by entry."""
    if not all(sorted(set(columns)) == list(columns) for columns in columns_of_rows):
        return False
    if any(not 0 <= column < len(dense) for columns in columns_of_rows for column in columns):
        return False
    return bool((dense == dense.T).all() and np.isfinite(dense).all() and (dense >= 0).all())


@given(weight_matrices(weights=st.sampled_from([1.0, 2.0, 3.0])), st.integers(0, 99), st.booleans())
def test_clean_is_what_the_definition_says(W, seed, damage):
    matrix = sp.csr_array(W)
    rng = np.random.default_rng(seed)
    if damage and matrix.nnz:
        place = int(rng.integers(matrix.nnz))
        if seed % 2:
            matrix.indices[place] = rng.integers(len(W))
        else:
            matrix.data[place] = rng.choice([0.5, -1.0, np.nan, np.inf])
    rows = [matrix.indices[a:b].tolist() for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
    assert is_clean(matrix) == in_order(matrix.toarray(), rows)


def test_a_clean_graph_is_neither_copied_nor_changed():
    graph = graphsoft.as_graph(sp.csr_array(weighted()))
    kept = [getattr(graph.adjacency, name) for name in BUFFERS]
    assert graphsoft.as_graph(graph) is graph
    assert all(getattr(graph.adjacency, name) is part for name, part in zip(BUFFERS, kept, strict=True))
