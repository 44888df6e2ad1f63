"""What a file holds and what it leaves out, and what is refused before anything is written."""

import copy
import os
import pickle
from dataclasses import fields, replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import graphsoft
from graphsoft import Clustering, Graph, InputError
from graphsoft.fitting import saving as results
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.settings import Settings
from graphsoft.graph import graph as graphs
from graphsoft.graph import saving as features
from graphsoft.graph.features import Features, FeaturesLeftOut
from graphsoft.methods import interface
from shared.models import LEVELS, X
from shared.saved import answers_of, round_trip


@pytest.mark.parametrize("name", [object(), (1, set), np.datetime64("2020-01-01")])
def test_names_that_cannot_be_saved_are_refused_before_anything_is_written(tmp_path, name):
    path = tmp_path / "model"
    graph = nx.Graph([("a", "b"), ("b", name)])
    path.write_bytes(b"old")
    for model in (graphsoft.as_graph(graph), graphsoft.cluster(graph, 1), graphsoft.hierarchy(graph, [2])):
        with pytest.raises(InputError, match=r"^nodes: .* cannot be saved, it is a .*use texts or numbers"):
            model.save(path)
    h = graphsoft.hierarchy(X, LEVELS, known={0: name, 1: "b"})
    with pytest.raises(InputError, match=r"^known: .* cannot be saved"):
        h.save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_neighbors_that_nobody_asked_for_are_refused(made, tmp_path):
    path, search = tmp_path / "model", KNeighborsTransformer()
    for model in (made["float64"][0], made["graph"][0], made["graph"][0].graph, graphsoft.cluster(X, 2)):
        model.save(path)
        with pytest.raises(InputError, match=r"^neighbors: got KNeighbors.*Remedy: leave it out"):
            graphsoft.load(path, neighbors=search)


@pytest.mark.parametrize("name", ["float64", "sparse", "data frame", "large numbers"])
def test_features_can_be_left_out(made, tmp_path, name):
    h, new = made[name]
    path = tmp_path / "model"
    h.save(path)
    size = path.stat().st_size
    h.save(path, features=False)
    assert path.stat().st_size < size
    found = graphsoft.load(path)
    assert found.features == FeaturesLeftOut(h.features.columns)
    needing = {
        "predict": found.predict,
        "predict_proba": found.predict_proba,
        "transform": found.transform,
        "partial_update": found.partial_update,
        "distinctive": lambda _: found.distinctive(),
    }
    for ask in needing.values():
        with pytest.raises(
            InputError, match=r"^h: was saved without the features .*save it with features=Tr"
        ):
            ask(new)
    assert found.to_json() == h.to_json()
    assert str(found.compare(h)) == str(h.compare(h))
    assert len(found.describe()) == len(h.describe())
    assert str(found.distinctive(X=X)) == str(h.distinctive(X=X))
    assert str(found.describe(X=X)) == str(h.describe(X=X))
    assert graphsoft.propagate(found, {0: 0, 39: 1}).labels[0] == 0
    with pytest.raises(InputError, match="names"):
        found.describe(feature_names=["a", "b", "c"])
    for model in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301
        model.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_graph_has_no_features_to_leave_out(made, tmp_path):
    h, new = made["graph"]
    h.save(tmp_path / "model", features=False)
    assert answers_of(graphsoft.load(tmp_path / "model"), new) == answers_of(h, new)
    with pytest.raises(InputError, match=r"^features: got 'no'\. Remedy: use True or False"):
        h.save(tmp_path / "model", features="no")


def test_loaded_results_are_read_only(made, tmp_path):
    h, _ = made["duplicates"]
    h.save(tmp_path / "model")
    found = graphsoft.load(tmp_path / "model")
    arrays = [found.features.values, found.graph.adjacency.data, found.graph.duplicates, found[0].mass]
    arrays += [found[0].degrees, found[0].memberships.data, found[0].parents.indices, found[0].graph.data]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    "change",
    [
        lambda h: replace(h, report=None),
        lambda h: replace(h, settings=None),
        lambda h: replace(h, levels=h.levels[:1]),
        lambda h: replace(h, levels=()),
        lambda h: replace(h, report=replace(h.report, levels=h.report.levels[:1])),
        lambda h: replace(h, report=replace(h.report, notes=("a", 1))),
        lambda h: replace(h, report=replace(h.report, nodes=1.5)),
        lambda h: replace(
            h, report=replace(h.report, levels=(replace(h.report.levels[0], status=None),) * 2)
        ),
        lambda h: replace(h, settings=replace(h.settings, levels=(5, 3))),
        lambda h: replace(h, settings=replace(h.settings, methods=h.settings.methods[:1])),
        lambda h: replace(h, settings=replace(h.settings, known=((1,),))),
        lambda h: replace(h, features=replace(h.features, columns=[1, 2, 3])),
        lambda h: replace(h, features=replace(h.features, origin=(1,))),
        lambda h: replace(h, features=replace(h.features, fitted=2.5)),
        lambda h: replace(h, features="none"),
        lambda h: replace(h, levels=(h[0], replace(h[1], graph=h[0].graph))),
        lambda h: replace(h, levels=(h[0], replace(h[1], degrees=h[1].degrees + 1))),
        lambda h: replace(h, levels=(h[0], replace(h[1], mass=h[1].mass[:1]))),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(made, tmp_path, change):
    h = change(made["float64"][0])
    with pytest.raises(InputError):
        h.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_clusterings_with_other_names_are_not_saved(tmp_path):
    found = replace(graphsoft.cluster(X, 2), nodes=("a", "b"))
    with pytest.raises(InputError, match=r"^clustering: has 2 names for 40 points"):
        found.save(tmp_path / "model")
    round_trip(replace(found, nodes=()), tmp_path / "model")


def test_graphs_made_by_hand(tmp_path):
    weights = sp.csr_array([[0, 1], [1, 0]])
    Graph(weights, ["a", "b"]).save(tmp_path / "graph")
    found = graphsoft.load(tmp_path / "graph")
    assert found.nodes == ("a", "b")
    assert found.adjacency.dtype == np.float64
    for nodes in (np.arange(2), pd.Index([5, 6]), range(2, 4), "ab"):
        Graph(weights, nodes).save(tmp_path / "graph")
        assert list(graphsoft.load(tmp_path / "graph").nodes) == list(nodes)
    Graph(weights, range(2), duplicates=np.zeros(2, dtype=np.uint8)).save(tmp_path / "graph")
    assert graphsoft.load(tmp_path / "graph").duplicates.tolist() == [0, 0]
    with pytest.raises(InputError, match=r"^graph: has 3 names for 2 nodes"):
        Graph(weights, range(3)).save(tmp_path / "graph")


def test_every_field_is_written():
    """A field that is added later must be saved too, and what older files say of it must be decided."""

    def names(kind):
        return {each.name for each in fields(kind)}

    assert set(graphs.FIELDS) | {"adjacency", "nodes", "duplicates"} == names(Graph)
    assert set(interface.FIELDS) | {"memberships", "nodes"} == names(Clustering)
    held = {"values", "columns", "neighbors", "origin"}
    assert set(features.OF_FEATURES) | held | {"names"} == names(Features)  # the graph has the names
    assert set(results.OF_LEVEL_REPORT) == names(LevelReport)
    assert set(results.OF_REPORT) | {"levels", "seconds"} == names(Report)
    assert set(results.OF_SETTINGS) | {"methods"} == names(Settings)
    assert names(graphsoft.Hierarchy) == {
        "levels", "graph", "report", "settings", "features", "cluster_names",
    }  # fmt: skip
    assert names(graphsoft.Level) == {"memberships", "parents", "mass", "graph", "degrees", "report"}
