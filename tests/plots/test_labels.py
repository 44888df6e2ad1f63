"""Names in plots: ids where there are none, cut to the room there is, and none over another."""

import networkx as nx
import numpy as np
import pytest

import graphsoft
from graphsoft import plots
from graphsoft.plots.surface import NOTE, place_labels
from graphsoft.plots.text import showable
from plots.test_plots import OF_HIERARCHIES, new_axes, note_of, written

pytest.importorskip("matplotlib", reason="plots need matplotlib")

from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def h():
    return graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])


@pytest.fixture(scope="module")
def long(h):
    """Names of all clusters that begin with their ids."""
    return {node.id: f"{node.id} is a name that has no room" for node in h.tree.nodes if node.id != "root"}


def test_the_map_shows_names_and_elsewhere_ids(h):
    angle = 2 * np.pi * h[0].labels / 12
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    ax = plots.map(h.name_clusters({"0-3": "Valjean"}), 0, new_axes(12, 9), coordinates=around)
    assert set(written(ax)) == {*(f"0-{at}" for at in range(12) if at != 3), "Valjean"}
    assert "left out" not in note_of(ax)


@pytest.mark.parametrize("name", ["tree", "dendrogram", "flow"])
def test_long_names_are_cut_to_the_room_where_short_ones_are_shown(h, long, name):
    short = OF_HIERARCHIES[name](h.name_clusters(dict.fromkeys(long, "short")), new_axes())
    ax = OF_HIERARCHIES[name](h.name_clusters(long), new_axes())
    ids = [text.split()[0] for text in written(ax)]
    assert len(ids) == len(set(ids)) >= 0.7 * len(written(short)) > 2
    texts = dict(zip(ids, written(ax), strict=True))
    for id, text in texts.items():
        assert text == showable(long[id]) or (text.endswith("…") and long[id].startswith(text[:-1]))
    assert any(len(text) < len(showable(long[id])) for id, text in texts.items())


def test_names_stay_in_the_boxes_of_the_icicle(h, long):
    figure = Figure(figsize=(7, 5))
    ax = plots.tree(h.name_clusters(long), figure.add_subplot())
    figure.canvas.draw()
    (boxes,) = ax.collections
    corners = {
        node.id: ax.transData.transform_bbox(path.get_extents())
        for node, path in zip(h.tree.nodes, boxes.get_paths(), strict=False)
    }
    for text in (text for text in ax.texts if text.get_gid() != NOTE):
        box, around = text.get_window_extent(), corners[text.get_text().split()[0]]
        assert around.x0 <= box.x0 < box.x1 <= around.x1
        assert around.y0 <= box.y0 < box.y1 <= around.y1


def test_labels_that_would_overlap_are_left_out():
    ax = new_axes()
    places = np.array([[0.5, 0.5], [0.52, 0.5], [0.5, 0.8], [0.999, 0.2]])
    assert place_labels(ax, places, ["first", "second", "third", "beyond"], [0, 1, 2, 3]) == 2
    assert written(ax) == ["first", "third"]


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_text_has_the_color_of_the_style(h, style):
    with pyplot.style.context(style):
        ax = new_axes()
        for name in ("flow", "cluster_graph"):
            ax.clear()
            OF_HIERARCHIES[name](h, ax)
    dark = np.mean(to_rgb(ax.get_facecolor())) < 0.5
    colors = [np.mean(to_rgb(text.get_color())) for text in (*ax.texts, ax.title)]
    assert all((each > 0.5) == dark for each in colors)


def removed(ax):
    ax.remove()
    return ax
