"""Where the points of clusters are on the level above, against the formula, and what it conserves."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from naive.description import flow
from shared.strategies import graphs

WAYS = [{}, {"polish": False}, *({"method": name} for name in ("cp", "normalized-cut"))]


@st.composite
def hierarchies(draw):
    """Polished or not, by any method, of graphs that may have nodes and clusters without weight."""
    graph = draw(graphs(2, 12))
    sizes = draw(st.lists(st.integers(1, len(graph)), min_size=2, max_size=3, unique=True))
    return graphsoft.hierarchy(graph, levels=sorted(sizes, reverse=True), **draw(st.sampled_from(WAYS)))


@pytest.mark.filterwarnings("ignore::graphsoft.GraphsoftWarning")  # of fitting such graphs
@settings(max_examples=60)
@given(hierarchies())
def test_the_flow_of_any_hierarchy_is_its_formula_and_conserves_mass(h):
    for at, (below, above) in enumerate(pairwise(h)):
        found = h.flow(at)
        expected = flow(below.memberships.toarray(), above.memberships.toarray(), h.graph.degrees)
        heavy = below.mass > 0
        np.testing.assert_allclose(found.toarray()[heavy], expected[heavy], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.toarray()[~heavy], below.parents.toarray()[~heavy])
        bands = below.mass[:, None] * found.toarray()
        total = h.graph.degrees.sum()
        np.testing.assert_allclose(bands.sum(axis=1), below.mass, rtol=1e-9)
        np.testing.assert_allclose(bands.sum(axis=0), above.mass, rtol=1e-9, atol=1e-12 * total)


def test_of_polished_levels_the_flow_is_a_step_in_the_cluster_graph_and_then_to_a_parent():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[30, 12, 4])
    for at, level in enumerate(h[:-1]):
        step = level.graph.toarray() / level.mass[:, None]
        np.testing.assert_allclose(h.flow(at).toarray(), step @ level.parents.toarray(), atol=1e-12)


def test_levels_count_from_the_top_too_and_the_result_is_read_only():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[30, 12, 4])
    found = h.flow(-2)
    assert found.shape == (12, 4)
    np.testing.assert_array_equal(found.toarray(), h.flow(1).toarray())
    assert not found.data.flags.writeable


@pytest.mark.parametrize("level", [1, -1, 2, "0", None])
def test_other_levels_are_refused(level):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    with pytest.raises(InputError) as error:
        h.flow(level)
    assert error.value.argument == "level"
