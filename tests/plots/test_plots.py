"""Each plot draws the numbers of the result that it is given, on the axes that it is given."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import graphsoft
from graphsoft import plots
from graphsoft.colors import blend, cluster_colors
from graphsoft.errors import InputError
from graphsoft.plots.surface import NOTE
from graphsoft.result.stability import Stability

pytest.importorskip("matplotlib", reason="plots need matplotlib")

from matplotlib import pyplot
from matplotlib.figure import Figure

OF_HIERARCHIES = {
    "tree": plots.tree,
    "dendrogram": lambda h, ax: plots.tree(h, ax, kind="dendrogram"),
    "memberships": lambda h, ax: plots.memberships(h, 0, ax),
    "flow": plots.flow,
    "map": lambda h, ax: plots.map(h, 0, ax, coordinates=spread(h)),
    "entropy": plots.entropy,
    "cluster_graph": lambda h, ax: plots.cluster_graph(h, 0, ax),
    "confusion": lambda h, ax: plots.confusion(h, h[-1].labels % 7, 0, ax),
    "trace": plots.trace,
    "walk by steps": lambda h, ax: plots.walk(h, h.nodes[0], ax, steps=2, coordinates=spread(h)),
    "walk by level": lambda h, ax: plots.walk(h, h.nodes[0], ax, level=0, coordinates=spread(h)),
    "compare": lambda h, ax: plots.compare(h.compare(h), ax=ax),
    "compare a level": lambda h, ax: plots.compare(h.compare(h), 0, ax),
    "stability": lambda h, ax: plots.stability(as_stable(h), ax),
}


def spread(h):
    return np.random.default_rng(0).normal(size=(len(h.graph), 2))


def as_stable(h):
    """A stability without the rounds that it takes: every cluster is found again as surely as it is heavy."""
    sizes = tuple(np.bincount(level.labels, minlength=len(level.mass)) for level in h)
    surely = tuple(np.linspace(0, 1, len(level.mass)) for level in h)
    points = tuple(np.ones(len(h.graph)) for _ in h)
    return Stability(3, surely, tuple(np.zeros(len(each), int) for each in sizes), points, sizes, surely)


def new_axes(width=6.0, height=4.5):
    """Axes that pyplot does not know."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def note_of(ax):
    return " ".join(text.get_text() for text in ax.texts if text.get_gid() == NOTE).replace("\n", " ")


def title_of(ax):
    return ax.get_title(loc="left").replace("\n", " ")


def written(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() != NOTE]


@pytest.fixture(scope="module")
def h():
    found = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    return found.name_clusters({"1-0": "barricade", "0-3": "$x^2$ costs $5"})


@pytest.fixture(scope="module")
def large():
    """Two levels of 10,000 and 50 clusters, and one that is torn on both."""
    line = nx.convert_node_labels_to_integers(nx.grid_2d_graph(110, 100))
    return graphsoft.hierarchy(line, levels=[10_000, 50])


@pytest.mark.parametrize("name", OF_HIERARCHIES)
def test_draws_on_the_axes_that_are_given_and_leaves_pyplot_alone(h, name):
    before = pyplot.get_fignums()
    ax = new_axes()
    assert OF_HIERARCHIES[name](h, ax) is ax
    ax.figure.canvas.draw()
    assert title_of(ax)
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize("name", OF_HIERARCHIES)
def test_10_000_clusters_are_drawn_with_a_note_where_some_are_left_out(large, name):
    ax = new_axes()
    OF_HIERARCHIES[name](large, ax)
    ax.figure.canvas.draw()
    whole = {"entropy", "trace", "stability", "compare", "walk by steps", "walk by level"}
    assert name in whole or note_of(ax)
    assert len(ax.texts) + len(ax.get_xticklabels()) < 1000


def test_a_new_figure_is_made_without_axes(h):
    ax = plots.entropy(h)
    try:
        assert pyplot.gca() is ax
    finally:
        pyplot.close(ax.figure)


def test_the_icicle_is_as_wide_as_clusters_are_heavy(h):
    ax = plots.tree(h, new_axes())
    (boxes,) = ax.collections
    corners = [path.get_extents() for path in boxes.get_paths()]
    assert len(corners) == 16
    top = [box.width for box in corners[12:]]
    np.testing.assert_allclose(top, h[1].mass / h[1].mass.sum(), atol=1e-9)
    for node in h.tree.nodes[:12]:
        box, parent = corners[node.index], corners[12 + h.tree.find(node.parent).index]
        assert parent.x0 - 1e-9 <= box.x0 < box.x1 <= parent.x1 + 1e-9
        assert round(box.y0 + 0.5) == node.level
    np.testing.assert_allclose(boxes.get_facecolors()[:, :3], np.vstack(cluster_colors(h)))
    assert "barricade" in written(ax)


def test_the_dendrogram_joins_clusters_to_their_parents(h):
    ax = plots.tree(h, new_axes(), kind="dendrogram")
    lines, spots = ax.collections
    places = {node.id: place for node, place in zip(h.tree.nodes, spots.get_offsets().tolist(), strict=False)}
    for node, line in zip(h.tree.nodes, lines.get_segments(), strict=False):
        assert line[0].tolist() == places[node.id]
        if node.parent != "root":
            assert line[-1].tolist() == places[node.parent]
    widths = np.asarray(lines.get_linewidths())[:12]
    shares = np.array([node.parents[0][1] for node in h.tree.nodes[:12]])
    assert (np.argsort(widths, kind="stable") == np.argsort(shares.round(9), kind="stable")).all()
    assert "barricade" in written(ax)
    assert [label.get_text() for label in ax.get_xticklabels()][3] == "$x^2$ costs $5"


def test_memberships_are_the_opacity_of_their_cells(h):
    ax = plots.memberships(h, 0, new_axes(6, 12))
    image = ax.images[0].get_array()
    assert image.shape == (77, 12, 4)
    dense = h[0].memberships.toarray()
    columns = [int(id.partition("-")[2]) for id in (n.id for n in h.tree.walk()) if id.startswith("0-")]
    ours = sorted(map(tuple, image[:, :, 3].round(9)))
    assert ours == sorted(map(tuple, dense[:, columns].round(9)))
    np.testing.assert_allclose(image[0, :, :3], cluster_colors(h)[0][columns], atol=1e-6)
    likeliest = image[:, :, 3].argmax(axis=1)
    assert (np.diff(likeliest) >= 0).all()
    surest = image[:, :, 3].max(axis=1)
    assert (np.diff(surest)[np.diff(likeliest) == 0] <= 0).all()


def test_many_points_share_rows_and_many_clusters_columns(large):
    ax = plots.memberships(large, 0, new_axes())
    image = ax.images[0].get_array()
    assert image.shape[0] < 1000
    assert image.shape[1] < 1000
    np.testing.assert_allclose(image[:, :, 3].sum(axis=1), 1.0, atol=1e-9)
    assert "each row is the mean of" in note_of(ax)
    assert "each column holds" in note_of(ax)


def test_bands_of_the_flow_are_as_wide_as_the_mass_in_both_clusters(h):
    ax = plots.flow(h, new_axes())
    bars = np.array([bar.get_height() for bar in ax.patches])
    share = h[0].mass / h[0].mass.sum()
    order = [node.index for node in h.tree.walk() if node.level == 0]
    np.testing.assert_allclose(bars[:12], share[order] * 0.92, atol=1e-9)
    amounts = (share[:, None] * h.flow(0).toarray())[order]
    amounts = amounts[amounts >= 0.0005]
    (bands,) = ax.collections
    ends = [path.vertices for path in bands.get_paths()]
    # from the finest level, on the left, and in its colors
    assert [round(bar.get_center()[0]) for bar in ax.patches] == [0] * 12 + [1] * 4
    colors = cluster_colors(h)[0]
    np.testing.assert_allclose(np.unique(bands.get_facecolors()[:, :3], axis=0), np.unique(colors, axis=0))
    widths = sorted(abs(end[24, 1] - end[25, 1]) for end in ends)
    np.testing.assert_allclose(widths, np.sort(amounts) * 0.92, atol=1e-9)


def test_the_flow_of_many_clusters_keeps_all_of_the_mass(large):
    ax = plots.flow(large, new_axes())
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert heights.sum() == pytest.approx(2 * 0.92)
    assert len(heights) < 200
    assert "heaviest" in note_of(ax)


def test_the_map_blends_colors_and_rings_torn_points(h):
    places = spread(h)
    ax = plots.map(h, 1, new_axes(), coordinates=places, torn=0.8)
    _, sure, torn = ax.collections
    between = h[1].memberships.max(axis=1).toarray().ravel() < 0.8
    assert 0 < between.sum() < 77
    np.testing.assert_allclose(torn.get_offsets(), places[between])
    mixed = blend(h[1].memberships, cluster_colors(h)[1])
    np.testing.assert_allclose(sure.get_facecolors()[:, :3], mixed[~between])
    assert sure.get_linewidths()[0] == 0 < torn.get_linewidths()[0]
    assert f"{between.mean():.0%} of the points torn" in title_of(ax)
    assert set(written(ax)) <= {"barricade", "1-1", "1-2", "1-3"}


def test_of_very_many_points_torn_ones_fade(large):
    ax = plots.map(large, 0, new_axes(), coordinates=spread(large))
    assert all(spots.get_linewidths()[0] == 0 for spots in ax.collections[-2:])
    assert "torn points are faint" in note_of(ax)
    assert "edges left out" in note_of(ax)


def test_two_features_are_the_default_place_of_points():
    X = np.random.default_rng(1).normal(size=(60, 2))
    found = graphsoft.hierarchy(X, levels=[3])
    ax = plots.map(found, ax=new_axes(), torn=0)
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), X)


def test_entropy_counts_points(h):
    ax = plots.entropy(h, new_axes())
    top, finest = ax.lines
    for line, level in ((top, h[1]), (finest, h[0])):
        x, y = line.get_data()
        np.testing.assert_array_equal(np.sort(level.entropy), x[1:-1])
        values, first = np.unique(x[1:-1], return_index=True)
        np.testing.assert_allclose(y[1:-1][first], [(level.entropy >= value).mean() for value in values])
        assert (y[0], y[-1]) == (1.0, 0.0)


def test_circles_of_the_cluster_graph_are_as_large_as_masses_and_do_not_overlap(h):
    ax = plots.cluster_graph(h, 0, new_axes())
    lines, circles = ax.collections
    boxes = [path.get_extents() for path in circles.get_paths()]
    radius = np.array([box.width / 2 for box in boxes])
    np.testing.assert_allclose(radius**2 / (radius**2).sum(), h[0].mass / h[0].mass.sum())
    places = np.array([(box.min + box.max) / 2 for box in boxes])
    away = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(12)
    assert (away >= radius[:, None] + radius - 1e-6).all()
    joined = np.triu(h[0].graph.toarray(), k=1)
    assert 0 < len(lines.get_segments()) <= np.count_nonzero(joined)
    assert max(lines.get_linewidths()) == pytest.approx(6.3)
    again = plots.cluster_graph(h, 0, new_axes())
    for one, other in zip(again.collections[1].get_paths(), circles.get_paths(), strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)


def test_the_cluster_graph_has_the_four_heaviest_edges_of_each_cluster(h):
    lines, _ = plots.cluster_graph(h, 0, new_axes()).collections
    joined = h[0].graph.toarray() * (1 - np.eye(12))
    fourth = np.sort(joined, axis=1)[:, -4]
    least = np.minimum(fourth[:, None], fourth)  # of either end
    drawn = np.triu(joined)[np.triu((joined > 0) & (joined >= least))]
    widths = 0.3 + 6 * drawn / drawn.max()
    np.testing.assert_allclose(np.sort(lines.get_linewidths()), np.sort(widths))
    assert len(drawn) < np.count_nonzero(np.triu(joined))


def test_confusion_counts_points_of_classes(h):
    known = {name: "AB"[row % 2] for row, name in enumerate(h.nodes)}
    ax = plots.confusion(h, known, -1, new_axes())
    order = [node.index for node in h.tree.walk() if node.level == 1]
    classes = [label.get_text() for label in ax.get_yticklabels()]
    table = {(each, cluster): 0 for each in classes for cluster in order}
    for name, label in zip(h.nodes, h[1].labels, strict=True):
        table[known[name], label] += 1
    counts = [[table[each, cluster] for cluster in order] for each in classes]
    assert written(ax) == [str(count) for row in counts for count in row]
    shares = np.array(counts) / np.sum(counts, axis=0)
    np.testing.assert_allclose(ax.images[0].get_array()[:, :, 3], shares)


def test_trace_shows_distances_to_the_last_value():
    method = graphsoft.Relation(rounds=5)
    found = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4], method=method, polish=False)
    ax = plots.trace(found, new_axes())
    for line, level in zip(ax.lines, reversed(found.report.levels), strict=True):
        values = np.array(level.trace)
        away = np.abs(values - values[-1])
        away = away[away > 1e-12 * away.max()]
        np.testing.assert_allclose(line.get_ydata(), away / away.max())


def test_levels_with_one_round_are_counted(h):
    ax = plots.trace(h, new_axes())
    assert not ax.lines
    assert note_of(ax) == "2 levels without a second round"


def test_walks_shade_points_by_how_often_they_are_reached(h):
    for how, walk in (
        ({"steps": 2}, graphsoft.multistep(h.graph, 2)),
        ({"level": 1}, h[1].equivalent_adjacency),
    ):
        ax = plots.walk(h, "Valjean", new_axes(), coordinates=spread(h), **how)
        points, star = ax.collections[-2:]
        row = h.nodes.index("Valjean")
        similar = walk.row(row) / h.graph.degrees
        np.testing.assert_allclose(
            points.get_offsets(), spread(h)[np.argsort(np.sqrt(similar / similar.max()), kind="stable")]
        )
        strength = 1 - points.get_facecolors()[:, :3].min(axis=1)  # on white
        assert (np.diff(strength) >= -1e-6).all()
        np.testing.assert_allclose(star.get_offsets()[0], spread(h)[row])


def test_the_suggestion_shows_every_candidate():
    found = graphsoft.suggest_levels(graphsoft.patterns.block_graph(0, blocks=5, size=20))
    ax = plots.suggestion(found, new_axes())
    x, y = ax.lines[0].get_data()
    assert x.tolist() == [each.clusters for each in found.candidates]
    assert y.tolist() == [each.score for each in found.candidates]
    assert set(ax.collections[0].get_offsets()[:, 0].tolist()) == set(found.levels)
    assert "5" in written(ax)
    assert title_of(ax) == "Suggested: 5 clusters, and levels 20 and 5"


def test_a_suggestion_without_candidates_says_why():
    found = graphsoft.suggest_levels(nx.empty_graph(5))
    ax = plots.suggestion(found, new_axes())
    assert note_of(ax) == found.reason


def removed(ax):
    ax.remove()
    return ax


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: plots.tree(7), "h: got 7"),
        (lambda h: plots.entropy("no"), "h: got 'no'"),
        (lambda h: plots.entropy(h, 3), "ax: got 3"),
        (lambda h: plots.tree(h, Figure().add_subplot(projection="polar")), "ax: got"),
        (lambda h: plots.map(h, ax=Figure().add_subplot(projection="3d")), "ax: got"),
        (lambda h: plots.flow(h, removed(Figure().add_subplot())), "ax: got"),
        (lambda h: plots.tree(h, kind="bush"), "kind: got 'bush'"),
        (lambda h: plots.map(h, coordinates=np.full((77, 2), 1e308)), "coordinates: got 1e"),
        (lambda h: plots.walk(h, "Valjean", steps=10**20), "steps: got 100"),
        (lambda h: plots.memberships(h, 2), "level: got 2"),
        (lambda h: plots.map(h, coordinates=np.zeros((3, 2))), r"coordinates: got shape \(3, 2\)"),
        (lambda h: plots.map(h, coordinates=spread(h), torn=2), "torn: got 2"),
        (lambda h: plots.walk(h, "nobody", steps=1), "point: there is no point 'nobody'"),
        (lambda h: plots.walk(h, "Valjean", coordinates=spread(h)), "steps: got both or neither"),
        (lambda h: plots.confusion(h, [1, 2]), "labels: has 2 points"),
        (plots.suggestion, "found: got"),
        (plots.stability, "found: got"),
        (plots.compare, "found: got"),
    ],
)
def test_wrong_arguments_are_named(h, call, message):
    before = pyplot.get_fignums()
    with pytest.raises(InputError, match=message):
        call(h)
    assert pyplot.get_fignums() == before


def test_nothing_of_matplotlib_is_imported_before_a_plot():
    code = "import sys, graphsoft; graphsoft.plots.tree; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_one_error_says_what_to_install(h, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    for draw in (plots.tree, plots.flow, plots.entropy):
        with pytest.raises(
            ImportError, match=r"graphsoft.plots needs matplotlib: pip install 'graphsoft\[plot\]'"
        ):
            draw(h)


def test_points_without_coordinates_lie_where_the_layout_puts_them():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4])
    ax = plots.map(h, ax=new_axes())
    drawn = np.concatenate([spots.get_offsets() for spots in ax.collections if hasattr(spots, "get_sizes")])
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(h.layout(), axis=0))


def test_places_may_be_said_by_the_names_of_points():
    G = nx.les_miserables_graph()
    h, places = graphsoft.hierarchy(G, [4]), nx.circular_layout(sorted(G))
    ax = plots.map(h, ax=new_axes(), coordinates=places)
    drawn = np.concatenate([spots.get_offsets() for spots in ax.collections if hasattr(spots, "get_sizes")])
    drawn = {tuple(spot) for spot in drawn if np.isfinite(spot).all()}
    assert drawn == {tuple(places[name]) for name in G}


def test_clusters_lie_where_the_circles_are():
    h = graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4])
    ax = plots.cluster_graph(h, 0, new_axes())
    patches = ax.collections[-1].get_paths()
    centers = [(path.vertices.max(axis=0) + path.vertices.min(axis=0)) / 2 for path in patches]
    np.testing.assert_allclose(centers, h.circles()[0].centers, atol=1e-5)
