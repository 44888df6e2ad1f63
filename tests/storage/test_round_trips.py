"""What was saved comes back with every bit, and answers as before."""

import copy
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import graphsoft
from graphsoft import InputError
from graphsoft.graph.adjacency import is_clean
from graphsoft.graph.features import FeaturesLeftOut
from graphsoft.input.mapped import is_mapped
from graphsoft.methods import METHODS
from graphsoft.methods.saving import UnknownMethod
from graphsoft.storage import container
from shared.models import LEVELS, MODELS, NAMES, NEW, Halves, X, named_graph
from shared.saved import answers_of, content_of, round_trip


@pytest.mark.parametrize("name", [name for name in MODELS if name != "own method"])
def test_hierarchies_answer_alike(made, tmp_path, name):
    h, new = made[name]
    assert answers_of(round_trip(h, tmp_path / "model"), new) == answers_of(h, new)
    assert sorted(os.listdir(tmp_path)) == ["again", "model"]


@pytest.mark.parametrize("name", ["float32", "sparse", "duplicates", "graph", "known"])
def test_hierarchies_that_stay_in_the_file_answer_alike(made, tmp_path, monkeypatch, name):
    monkeypatch.setattr(container, "MAPPED_BYTES", 1)
    h, new = made[name]
    loaded = round_trip(h, tmp_path / "model")
    assert is_mapped(loaded.graph.adjacency.data)
    assert answers_of(loaded, new) == answers_of(h, new)


def test_own_methods_are_needed_for_clustering_only(made, tmp_path):
    h, new = made["own method"]
    h.save(tmp_path / "model")
    found = graphsoft.load(tmp_path / "model")
    assert found.settings.methods == (METHODS["relation"], UnknownMethod("Halves"))
    assert answers_of(found, new) == answers_of(h, new)
    with pytest.raises(InputError, match=r"^method: Halves was not saved with the model"):
        graphsoft.stability(found, 1)
    found.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    back = replace(found, settings=replace(found.settings, methods=h.settings.methods))
    assert str(graphsoft.stability(back, 1)) == str(graphsoft.stability(h, 1))


def test_a_method_of_ones_own_with_a_known_name_is_not_taken_for_it(tmp_path):
    own = type("Linkage", (Halves,), {})()
    graphsoft.hierarchy(X, [2], method=own).save(tmp_path / "model")
    assert graphsoft.load(tmp_path / "model").settings.methods == (UnknownMethod("Linkage"),)


@pytest.mark.parametrize("method", METHODS)
def test_all_methods(tmp_path, method):
    found = graphsoft.cluster(X, 3, method=method)
    assert round_trip(found, tmp_path / "clustering").trace == found.trace
    h = graphsoft.hierarchy(X, [4, 2], method=method)
    loaded = round_trip(h, tmp_path / "hierarchy")
    assert loaded.settings == h.settings
    assert (loaded.transform(NEW) != h.transform(NEW)).nnz == 0


def test_all_kinds_of_names(tmp_path):
    graph = named_graph()
    found = round_trip(graphsoft.as_graph(graph), tmp_path / "a graph, gräßlich")
    assert list(map(repr, found.nodes)) == list(map(repr, NAMES))
    assert list(map(type, found.nodes)) == list(map(type, NAMES))
    clustering = round_trip(graphsoft.cluster(graph, 3), tmp_path / "clustering")
    assert clustering.nodes == found.nodes
    h = graphsoft.hierarchy(graph, [4, 2], known={None: "x", 2**70: 1}, must_link=[("a", ())])
    new = np.ones((2, len(NAMES)))
    loaded = round_trip(h, tmp_path / "hierarchy")
    one, two = (each.partial_update(new, names=["new", ("new", 2)]) for each in (h, loaded))
    assert content_of(round_trip(two, tmp_path / "grown"))[:-2] == content_of(one)[:-2]
    assert str(loaded.compare(dict.fromkeys(NAMES, 0))) == str(h.compare(dict.fromkeys(NAMES, 0)))


def test_own_neighbors_are_asked_for(tmp_path):
    search = KNeighborsTransformer(n_neighbors=6, mode="distance")
    h = graphsoft.hierarchy(X, LEVELS, neighbors=search)
    path = tmp_path / "model"
    loaded = round_trip(h, path, neighbors=search)
    assert loaded.features.neighbors is search
    assert answers_of(loaded, NEW) == answers_of(h, NEW)
    grown = h.partial_update(NEW)
    assert grown.features.fitted == 40
    assert answers_of(round_trip(grown, path, neighbors=search), NEW) == answers_of(grown, NEW)
    with pytest.raises(InputError, match=r"^neighbors: is missing: .*'KNeighborsTransformer'.*Remedy: pass"):
        graphsoft.load(path)
    for wrong in ("kd_tree", KNeighborsTransformer):
        with pytest.raises(InputError, match=r"^neighbors: got "):
            graphsoft.load(path, neighbors=wrong)
    h.save(path, features=False)
    assert isinstance(graphsoft.load(path).features, FeaturesLeftOut)


@pytest.mark.parametrize("name", ["float64", "float32", "sparse", "duplicates", "graph", "large numbers"])
def test_grown_hierarchies(made, tmp_path, name):
    h, new = made[name]
    grown = h.partial_update(new)
    assert is_clean(grown.graph.adjacency)
    loaded = round_trip(grown, tmp_path / "model")
    if name != "graph":
        assert answers_of(loaded, new) == answers_of(grown, new)
    h.save(tmp_path / "model")
    later = graphsoft.load(tmp_path / "model").partial_update(new)
    assert content_of(later)[:-2] == content_of(grown)[:-2]  # reports differ in their seconds


@pytest.mark.parametrize("name", ["float64", "graph", "known", "own method"])
def test_pickles_and_copies_are_written_alike(made, tmp_path, name):
    h, new = made[name]
    h.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    loaded = graphsoft.load(tmp_path / "model")
    h[0].labels, h.tree, loaded[0].entropy, loaded.predict(new)  # what is kept is not written
    for model in (h, loaded):
        for twin in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301
            twin.save(tmp_path / "twin")
            assert (tmp_path / "twin").read_bytes() == data


@pytest.mark.parametrize("mapped_bytes", [1 << 20, 1], ids=["read", "mapped"])
def test_a_model_can_be_saved_over_the_file_that_it_is_mapped_from(made, tmp_path, monkeypatch, mapped_bytes):
    monkeypatch.setattr(container, "MAPPED_BYTES", mapped_bytes)
    h, new = made["float64"]
    path, expected = tmp_path / "model", answers_of(h, new)
    h.save(path)
    first = graphsoft.load(path)
    for _ in range(2):
        graphsoft.load(path).save(path)
        first.save(path)
    other = graphsoft.hierarchy(X[:20], [3])
    other.save(path)
    assert answers_of(first, new) == expected
    assert content_of(graphsoft.load(path)) == content_of(other)
    path.unlink()
    assert answers_of(first, new) == expected


def test_few_points(tmp_path):
    for data in ([[1.0]], [[1.0], [1.0]], [[0.0], [5.0]]):
        h = graphsoft.hierarchy(data, [1], affinity="features")
        loaded = round_trip(h, tmp_path / "model")
        assert loaded.predict([[1.0]]).tolist() == h.predict([[1.0]]).tolist()
        assert (
            loaded.partial_update([[2.0]])[0].labels.tolist() == h.partial_update([[2.0]])[0].labels.tolist()
        )
    no_edges = graphsoft.as_graph(sp.csr_array((3, 3)), affinity="precomputed")
    assert round_trip(no_edges, tmp_path / "graph").adjacency.nnz == 0
    h = graphsoft.hierarchy(no_edges, [2])
    loaded = round_trip(h, tmp_path / "model")
    assert loaded.predict(np.zeros((1, 3))).tolist() == h.predict(np.zeros((1, 3))).tolist()
    round_trip(graphsoft.cluster([[1.0], [2.0]], 1), tmp_path / "clustering")


def test_strange_traces(tmp_path):
    strange = (-0.0, 0.0, np.inf, -np.inf, np.nan, 1, np.float64(0.1), np.float32(0.1), 5e-324)
    found = replace(graphsoft.cluster(X, 2), trace=strange, sweeps=np.int64(3), status="", pairs_kept=2)
    loaded = round_trip(found, tmp_path / "clustering")
    assert [(type(a), repr(a)) for a in loaded.trace] == [(type(a), repr(a)) for a in strange]
    h = graphsoft.hierarchy(X, [2])
    level = replace(h.report.levels[0], trace=strange, log_likelihood=np.inf, kkt_gap=np.nan, seconds=0)
    loaded = round_trip(replace(h, report=replace(h.report, levels=(level,))), tmp_path / "hierarchy")
    assert repr(loaded.report.levels) == repr((level,))


def test_indices_of_64_bits_stay_so(made, tmp_path):
    h, new = made["float64"]
    wide = copy.deepcopy(h)
    for level in wide:
        for matrix in (level.memberships, level.parents, level.graph):
            if matrix is not None:
                matrix.indices, matrix.indptr = (
                    matrix.indices.astype(np.int64),
                    matrix.indptr.astype(np.int64),
                )
    loaded = round_trip(wide, tmp_path / "model")
    assert loaded[0].memberships.indices.dtype == np.int64
    assert answers_of(loaded, new) == answers_of(wide, new)
    found = graphsoft.cluster(X, 3)
    found.memberships.indptr = found.memberships.indptr.astype(np.int64)
    found.memberships.indices = found.memberships.indices.astype(np.int64)
    round_trip(found, tmp_path / "clustering")
    graph = graphsoft.knn_graph(X, 5)
    graph.adjacency.indptr = graph.adjacency.indptr.astype(np.int64)
    graph.adjacency.indices = graph.adjacency.indices.astype(np.int64)
    graph.save(tmp_path / "graph")  # it is made as narrow as all functions make it
    assert content_of(graphsoft.load(tmp_path / "graph")) == content_of(graphsoft.knn_graph(X, 5))


def test_columns_in_disorder_stay_so(made, tmp_path):
    h = copy.deepcopy(made["float64"][0])
    rows = h[0].memberships
    for part in (rows.indices, rows.data):
        part.flags.writeable = True
    row = int(np.argmax(np.diff(rows.indptr) > 1))
    pair = slice(rows.indptr[row], rows.indptr[row] + 2)
    rows.indices[pair], rows.data[pair] = rows.indices[pair][::-1].copy(), rows.data[pair][::-1].copy()
    rows.has_sorted_indices = False
    loaded = round_trip(h, tmp_path / "model")
    assert not loaded[0].memberships.has_sorted_indices
    assert loaded.predict(NEW).tolist() == h.predict(NEW).tolist()
