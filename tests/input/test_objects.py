"""Objects that hold points or graphs but are neither: errors say what to take of them."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import graphsoft
from graphsoft import InputError
from graphsoft.datasets.dataset import Dataset

NOVEL = nx.les_miserables_graph()
H = graphsoft.hierarchy(NOVEL, [12, 4])
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["width", "height"])


def functions():
    yield lambda X: graphsoft.hierarchy(X, [8, 2])
    yield lambda X: graphsoft.cluster(X, 2)
    yield from (graphsoft.suggest_levels, graphsoft.as_graph, graphsoft.knn_graph, graphsoft.directed_graph)


@pytest.mark.parametrize("result", [H, H[0], graphsoft.cluster(NOVEL, 2), Dataset(FRAME)])
def test_results_are_refused_with_what_to_take_of_them(result):
    kind = type(result).__name__
    for function in functions():
        with pytest.raises(InputError, match=rf"^X: is a {kind}\. Remedy: .*the \.graph of a hierarchy"):
            function(result)
    assert graphsoft.suggest_levels(H.graph).levels


def test_anndata():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(np.random.default_rng(0).normal(size=(12, 3)))
    for function in functions():
        with pytest.raises(
            InputError, match=r"^X: is an AnnData.*tl\.hierarchy.*obsp\['connec.*obsm\['X_pca'\]"
        ):
            function(adata)


@pytest.mark.parametrize(
    "names", ["Valjean", ["Valjean"], ("Valjean", "Javert"), np.array(["Valjean"]), pd.Series(["Valjean"])]
)
def test_names_of_nodes_are_no_new_nodes(names):
    for function in (H.predict, H.predict_proba, H.transform, H.partial_update):
        with pytest.raises(InputError, match=r"^X: .*which are names.*rows of weights to the 77 nodes"):
            function(names)


def test_a_series_is_no_table():
    h = graphsoft.hierarchy(FRAME, [2])
    for X in (FRAME.iloc[0], FRAME["width"]):
        with pytest.raises(
            InputError, match=r"^X: has 1 dimension.*frame\.iloc\[\[0\]\].*frame\[\['name'\]\]"
        ):
            h.predict(X)
        with pytest.raises(InputError, match=r"frame\.iloc\[\[0\]\]"):
            graphsoft.hierarchy(X, [2])
    assert h.predict(FRAME.iloc[[0]]) == h[0].labels[:1]


class Raises:
    """An object that says it is an array, and then raises an error."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("boom"), OSError(5, "boom")])
def test_errors_of_an_object_as_an_array_are_explained(error):
    for function in functions():
        with pytest.raises(InputError, match=r"^X: cannot be read as an array"):
            function(Raises(error))
    h = graphsoft.hierarchy(FRAME, [2])
    with pytest.raises(InputError, match=r"^X: cannot be read as an array"):
        h.predict(Raises(error))
    for score in (graphsoft.metrics.purity, graphsoft.metrics.nmi, graphsoft.metrics.wilcoxon):
        with pytest.raises(InputError, match=r"got <.*Raises"):
            score([1, 2], Raises(error))


def test_an_object_that_runs_out_of_memory_says_so():
    for function in functions():
        with pytest.raises(MemoryError, match="little"):
            function(Raises(MemoryError("little")))


def test_data_frames_of_dask_are_computed():
    frames = pytest.importorskip("dask.dataframe")
    lazy = frames.from_pandas(FRAME, npartitions=3)
    h = graphsoft.hierarchy(FRAME, [8, 2])
    assert graphsoft.hierarchy(lazy, [8, 2])[0].labels.tolist() == h[0].labels.tolist()
    assert h.predict(lazy).tolist() == h.predict(FRAME).tolist()
    assert graphsoft.cluster(lazy, 2).memberships.shape == (30, 2)
    with pytest.raises(InputError, match="finest level of 31 clusters, but there are 30"):
        graphsoft.hierarchy(lazy, [31])


def test_fractions_are_numbers():
    edges = nx.gnp_random_graph(20, 0.3, seed=0, directed=True)
    found = graphsoft.directed_graph(edges, teleport=Fraction(1, 4))
    assert (found.adjacency != graphsoft.directed_graph(edges, teleport=0.25).adjacency).nnz == 0
    assert found.notes == graphsoft.directed_graph(edges, teleport=0.25).notes
    near = graphsoft.pairwise_graph(FRAME, weights="gaussian", sigma=Fraction(1, 2))
    expected = graphsoft.pairwise_graph(FRAME, weights="gaussian", sigma=0.5)
    assert (near.adjacency != expected.adjacency).nnz == 0
