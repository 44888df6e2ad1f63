"""Whatever the hierarchy and the names of its clusters, plots are drawn without errors and warnings."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import graphsoft
from graphsoft import plots
from graphsoft.plots.text import showable, styled
from plots.test_plots import OF_HIERARCHIES, new_axes
from shared.strategies import graphs, plain

pytest.importorskip("matplotlib", reason="plots need matplotlib")

AWKWARD = [
    "$",
    "$x_",
    r"\frac{a",
    "日本語",
    "עברית",
    "a\nb",
    "\x00",
    "\ud800",
    "<b>&amp;</b>",
    "%s {} {0}",
    "n" * 500,
    "🙂",
    "_a^b",
]
names = st.one_of(st.text(min_size=1).filter(str.strip), st.sampled_from(AWKWARD))


def draw_all(h, width=5.0, height=4.0):
    for draw in OF_HIERARCHIES.values():
        ax = new_axes(width, height)
        draw(h, ax)
        ax.figure.canvas.draw()


@st.composite
def hierarchies(draw):
    graph = draw(graphs(2, 12, weights=plain))
    sizes = draw(st.lists(st.integers(1, len(graph)), min_size=1, max_size=3, unique=True))
    h = graphsoft.hierarchy(graph, levels=sorted(sizes, reverse=True))
    ids = [node.id for node in h.tree.nodes if node.id != "root"]
    return h.name_clusters(draw(st.dictionaries(st.sampled_from(ids), names)))


@pytest.mark.filterwarnings("ignore::graphsoft.GraphsoftWarning")  # of fitting such graphs
@settings(max_examples=15)
@given(hierarchies())
def test_any_hierarchy_is_drawn(h):
    draw_all(h)


@pytest.mark.parametrize("levels", [[1], [2], [2, 1], [6, 1], [5, 4, 3, 2, 1], [30]])
def test_few_clusters_and_single_levels_are_drawn(levels):
    draw_all(graphsoft.hierarchy(nx.ring_of_cliques(6, 5), levels=levels))


@pytest.mark.filterwarnings("ignore::graphsoft.GraphsoftWarning")
@pytest.mark.parametrize("levels", [[1], [3], [4, 2]])
def test_points_without_edges_are_drawn(levels):
    draw_all(graphsoft.hierarchy(nx.empty_graph(7), levels=levels))


@pytest.mark.parametrize("size", [(1.2, 1.0), (2.5, 2.0), (14.0, 9.0)])
def test_any_size_is_drawn(size):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    ax = new_axes(*size)
    for draw in OF_HIERARCHIES.values():
        ax.clear()
        draw(h, ax)


@pytest.mark.parametrize("name", AWKWARD)
def test_names_are_written_as_they_are(name):
    h = graphsoft.hierarchy(nx.ring_of_cliques(3, 5), levels=[3])
    h = h.name_clusters({"0-0": name}) if name.strip() else h
    draw_all(h, 9.0, 6.0)
    ax = plots.tree(h, new_axes(12, 6))
    first = ax.texts[0]
    assert first.get_text() == styled(showable(name))[0]
    assert not first.get_parse_math()


@example("$a$")
@example("a\u0301 日本")
@given(st.text())
def test_text_that_no_font_has_is_replaced_character_by_character(text):
    shown, how = styled(text)
    assert len(shown) == len(text)
    assert all(one == other or one == "\ufffd" for one, other in zip(shown, text, strict=True))
    assert how["parse_math"] is False


def test_a_walk_of_one_point_alone_is_drawn():
    graph = nx.path_graph(4)
    graph.add_node("alone")
    h = graphsoft.hierarchy(graph, levels=[2])
    ax = plots.walk(h, "alone", new_axes(), steps=3, coordinates=np.arange(10.0).reshape(5, 2))
    ax.figure.canvas.draw()
