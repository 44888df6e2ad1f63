"""The files in data/ hold what they should, and patterns are drawn from their seed only."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from graphsoft.datasets import read
from graphsoft.errors import InputError
from graphsoft.patterns import PATTERNS, block_graph, make_pattern

DATA = Path(__file__).parents[2] / "data"


def same_graph(first, second):
    """Compare nodes, edges and their attributes, not those of the graph: GraphML adds some."""
    return first.adj == second.adj and first.nodes == second.nodes


def test_digits_are_those_of_scikit_learn():
    digits = read(DATA / "digits.csv.gz", labels="label")
    assert digits.data.dtype == np.float64
    assert (digits.data == load_digits().data).all()
    assert (digits.labels == load_digits().target).all()
    assert repr(digits) == "Dataset(1797 x 64, 10 classes)"
    assert len(digits) == 1797
    assert digits.affinity == "features"


def test_iris_is_that_of_scikit_learn():
    iris = read(DATA / "iris.csv", labels="label")
    assert (iris.data == load_iris().data).all()
    assert (iris.labels == load_iris().target_names[load_iris().target]).all()


def test_graphs_are_those_of_networkx():
    karate = read(DATA / "karate.graphml", labels="club")
    assert sorted(set(karate.labels)) == ["Mr. Hi", "Officer"]
    assert karate.data.number_of_edges() == nx.karate_club_graph().number_of_edges()
    assert karate.names == tuple(map(str, range(34)))
    assert repr(karate) == "Dataset(34 nodes, 78 edges, 2 classes)"
    novel = read(DATA / "les_miserables.graphml")
    assert novel.data["Valjean"]["Cosette"]["weight"] == 31
    assert len(novel) == 77


@pytest.mark.parametrize("name", PATTERNS)
def test_carried_patterns_are_the_drawn_ones(name):
    points, labels = make_pattern(name, rng=2026)
    carried = read(DATA / "patterns" / f"{name}.csv", labels="label")
    np.testing.assert_allclose(carried.data, points, atol=1e-4)
    assert (carried.labels == labels).all()


def test_carried_blocks_are_the_drawn_ones():
    carried = read(DATA / "patterns" / "blocks.graphml", labels="block")
    drawn = block_graph(2026)
    assert same_graph(nx.relabel_nodes(carried.data, int), drawn)
    assert carried.labels.tolist() == [drawn.nodes[node]["block"] for node in drawn]


def test_patterns_depend_on_the_seed_only():
    same = [make_pattern("rings", rng=7)[0] for _ in range(2)]
    assert (same[0] == same[1]).all()
    assert (same[0] != make_pattern("rings", rng=np.random.default_rng(8))[0]).any()
    with pytest.raises(InputError, match=r"^name: there is no pattern 'moons'.*bridge, donut"):
        make_pattern("moons")
