"""What a page holds, read back slowly, is what the hierarchy says."""

import json
import re
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphsoft
from graphsoft.colors import class_colors, cluster_colors
from graphsoft.errors import InputError
from graphsoft.explorer.content import CLOSE, EDGES, MIN_FLOW
from graphsoft.explorer.packing import KINDS, Members, clean_text, narrowed, unpacked
from graphsoft.explorer.rows import NEAREST, SHARES, TORN, largest_in_rows, torn_points
from graphsoft.explorer.sampling import chosen_points, chosen_texts

NAN = float("nan")
POINTS = np.random.default_rng(0).normal(size=(120, 3))


@pytest.fixture(scope="module")
def h():
    return graphsoft.hierarchy(POINTS, levels=[12, 4, 2]).name_clusters({"2-0": "<b>"})


def rows_of(members, prefix, *names):
    """Rows as lists of tuples, one entry after another."""
    counts, *columns = (unpacked(members, f"{prefix}_{name}").tolist() for name in ("count", *names))
    entries = iter(zip(*columns, strict=True))
    rows = [[next(entries) for _ in range(count)] for count in counts]
    assert next(entries, None) is None
    return rows


@given(hnp.arrays(st.sampled_from([*KINDS.values()]), st.integers(0, 50)))
def test_arrays_come_back_to_the_last_bit(values):
    members = Members()
    members.add_array("x", values)
    found = unpacked(members, "x")
    assert found.dtype == values.dtype
    assert found.tobytes() == values.tobytes()


@given(st.lists(st.text(st.characters())))
def test_texts_come_back_but_for_lone_surrogates(texts):
    members = Members()
    members.add_json("x", [clean_text(text) for text in texts])
    joined = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for text in texts]
    assert unpacked(members, "x") == joined
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", members.texts["x"])


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_narrowed_numbers_are_the_same(values):
    assert narrowed(values).tolist() == values


def test_levels_hold_what_the_hierarchy_says(h):
    content = h.explore(features=["a", "b", "c"]).content
    members, head = content.members, content.head
    assert head["members"].keys() == members.texts.keys()
    assert [level["clusters"] for level in head["levels"]] == [12, 4, 2]
    assert unpacked(members, "cluster_names") == {"2-0": "<b>"}
    for at, level in enumerate(h):
        described = h.describe(at, feature_names=["a", "b", "c"])
        assert np.allclose(unpacked(members, f"{at}/mass"), level.mass)
        assert unpacked(members, f"{at}/size").tolist() == [each.size for each in described]
        assert np.allclose(unpacked(members, f"{at}/certainty"), [each.certainty for each in described])
        assert np.allclose(unpacked(members, f"{at}/conductance"), [each.conductance for each in described])
        central = rows_of(members, f"{at}/central", "point")
        assert [[h.nodes[point] for (point,) in row[:3]] for row in central] == [
            [*each.exemplars] for each in described
        ]
        near = rows_of(members, f"{at}/near", "cluster", "chance")
        for row, each in zip(near, described, strict=True):
            pairs = [(f"{at}-{cluster}", chance) for cluster, chance in row[: len(each.neighbors)]]
            assert [id for id, _ in pairs] == [id for id, _ in each.neighbors]
            assert np.allclose([chance for _, chance in pairs], [chance for _, chance in each.neighbors])
        apart = rows_of(members, f"{at}/apart", "feature", "score")
        names = unpacked(members, "features")
        found = [[(names[name], pytest.approx(score, abs=1e-5)) for name, score in row] for row in apart]
        assert found == [[*each.features[:8]] for each in described]
    node = h.tree.find("0-3")
    parents = rows_of(members, "0/parents", "cluster", "chance")[3]
    assert [(f"1-{cluster}", pytest.approx(chance)) for cluster, chance in parents] == [*node.parents]
    assert f"1-{unpacked(members, '0/parent')[3]}" == node.parent


def test_bands_of_the_flow_are_those_of_the_hierarchy(h):
    members = h.explore().content.members
    assert "2/flow_count" not in members.table
    for at in range(2):
        expected = h.flow(at).toarray()
        found = np.zeros_like(expected)
        for cluster, row in enumerate(rows_of(members, f"{at}/flow", "cluster", "share")):
            assert [share for _, share in row] == sorted((share for _, share in row), reverse=True)
            for above, share in row:
                found[cluster, above] = share
        np.testing.assert_allclose(found, np.where(expected > MIN_FLOW, expected, 0), atol=1e-6)


def test_stability_is_shown_if_it_is_given(h):
    found = graphsoft.stability(h, np.int64(2))
    content = h.name_clusters({"0-1": "named"}).explore(stability=found).content
    assert content.head["rounds"] == 2
    for at in range(3):
        shown = unpacked(content.members, f"{at}/stability")
        np.testing.assert_allclose(shown, found.clusters[at], rtol=1e-6)
        assert unpacked(content.members, f"{at}/lost").tolist() == found.lost[at].tolist()
    without = h.explore().content
    assert without.head["rounds"] is None
    assert "0/stability" not in without.members.table


def test_stability_of_another_hierarchy_is_refused(h):
    fewer = graphsoft.stability(graphsoft.hierarchy(POINTS, levels=[12, 4]), 1)
    others = graphsoft.stability(graphsoft.hierarchy(POINTS**2, levels=[12, 4, 2]), 1)
    changed = replace(graphsoft.stability(h, 1), clusters=(np.ones(12), np.ones(4), np.ones(3)))
    for found in (fewer, others, changed):
        with pytest.raises(InputError, match="another hierarchy") as error:
            h.explore(stability=found)
        assert error.value.argument == "stability"


def test_memberships_of_points_are_those_of_the_level(h):
    members = h.explore().content.members
    for at, level in enumerate(h):
        counts = unpacked(members, f"{at}/share_count")
        clusters, shares = unpacked(members, f"{at}/share_cluster"), unpacked(members, f"{at}/share_part")
        assert counts.max() <= SHARES
        points = np.repeat(np.arange(len(counts)), counts)
        assert np.abs(level.memberships[points, clusters] - shares / 255).max() <= 0.5 / 255 + 1e-9
        first = np.cumsum(counts, dtype=np.int64) - counts
        tops = level.memberships.max(axis=1).toarray().ravel()
        assert np.abs(tops - shares[first] / 255).max() <= 0.5 / 255 + 1e-9


@pytest.mark.parametrize("given", [None, POINTS[:, :2] * 1e9 + 7, np.zeros((120, 2))])
def test_circles_are_those_of_the_map_within_its_box(h, given):
    content = h.explore(coordinates=given).content
    places = h.layout().astype(float) if given is None else given
    low, side = places.min(axis=0), np.ptp(places, axis=0).max() or 1.0
    assert np.allclose(content.head["box"][:2], low)
    for at, circles in enumerate(h.circles(places)):
        x, y, radius = unpacked(content.members, f"{at}/circle").reshape(-1, 3).T
        assert np.allclose(np.column_stack([x, y]), (circles.centers - low) / side, atol=1e-4)
        assert np.allclose(radius, circles.radii / side, atol=1e-4)


def test_points_without_coordinates_are_laid_out(h):
    content = h.explore().content
    x0, y0, x1, y1 = content.head["box"]
    x, y = (unpacked(content.members, name) / 65535 for name in "xy")
    found = np.column_stack([x0 + x * (x1 - x0), y0 + y * (y1 - y0)])
    assert not content.head["given"]
    assert np.allclose(found, h.layout(), atol=1e-4)


def test_torn_points_are_those_of_between(h):
    members = h.explore().content.members
    level = h[0]
    torn = rows_of(members, "0/torn", "cluster", "point")
    assert any(torn)
    for cluster, row in enumerate(torn):
        others = [*dict.fromkeys(other for other, _ in row)]
        assert len(others) <= NEAREST
        for other in others:
            mine = [point for each, point in row if each == other]
            found = h.between(f"0-{cluster}", f"0-{other}", count=TORN)
            both = level.memberships[:, [cluster, other]].toarray().min(axis=1)
            assert np.allclose(both[mine], both[found.points[: len(mine)]])


def naive_torn_points(dense):
    """For every cluster the others, and the points most torn between the two, looked at one by one."""
    clusters, found = range(dense.shape[1]), []
    for own in clusters:
        between = {}
        for other in clusters:
            both = [(-min(row[own], row[other]), point) for point, row in enumerate(dense)]
            most = sorted(each for each in both if other != own and -each[0] >= 0.05)[:TORN]
            if most:
                between[other] = most
        others = sorted(between, key=lambda other: (between[other][0][0], other))[:NEAREST]
        found.append([(other, point) for other in others for _, point in between[other]])
    return found


@given(hnp.arrays(np.int64, (20, 9), elements=st.integers(0, 20)))
def test_torn_points_are_those_that_a_look_at_all_pairs_finds(weights):
    weights[np.arange(20), np.arange(20) % 9] += 1
    weights *= np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1) < SHARES
    dense = weights / weights.sum(axis=1, keepdims=True)
    counts, others, points = torn_points(largest_in_rows(sp.csr_array(dense), SHARES), 9)
    pairs = iter(zip(others.tolist(), points.tolist(), strict=True))
    assert [[next(pairs) for _ in range(count)] for count in counts] == naive_torn_points(dense)


def test_colors_edges_and_entropies_are_those_of_the_level(h):
    content = h.explore().content
    for at, (level, colors) in enumerate(zip(h, cluster_colors(h), strict=True)):
        assert np.array_equal(unpacked(content.members, f"{at}/color"), np.rint(255 * colors).ravel())
        scale = content.head["levels"][at]["entropy"]
        assert np.allclose(unpacked(content.members, f"{at}/entropy") / 255 * scale, level.entropy, atol=0.01)
        weights = level.graph.toarray() * (1 - np.eye(len(level.mass)))
        for cluster, row in enumerate(rows_of(content.members, f"{at}/graph", "cluster", "weight")):
            heaviest = np.sort(weights[cluster])[::-1][: min(EDGES, (weights[cluster] > 0).sum())]
            assert [weight for _, weight in row] == pytest.approx(heaviest.tolist())
            assert weights[cluster, [other for other, _ in row]] == pytest.approx(heaviest)


def test_the_head_says_what_the_report_says(h):
    head = h.explore().content.head
    report = h.report
    assert (head["edges"], head["components"]) == (report.edges, report.components)
    assert head["notes"] == [*report.notes]
    assert [level["status"] for level in head["levels"]] == [level.status for level in report.levels]
    found = [level["log_likelihood"] for level in head["levels"]]
    assert found == [level.log_likelihood for level in report.levels]


def test_nobody_torn():
    hard = np.array([1, 1]), np.array([0, 1]), np.array([1.0, 1.0])
    assert [part.tolist() for part in torn_points(hard, 2)] == [[0, 0], [], []]


def test_the_same_input_gives_the_same_bytes(h, tmp_path):
    asked = {"names": range(len(POINTS)), "texts": ["t"] * len(POINTS), "labels": [1, 2] * (len(POINTS) // 2)}
    for name in ("a.html", "b.html"):
        h.explore(tmp_path / name, **asked)
    page = (tmp_path / "a.html").read_bytes()
    assert page == (tmp_path / "b.html").read_bytes()
    assert page.decode("utf-8") == h.explore(**asked).html


def test_labels_are_counted_in_every_cluster(h):
    labels = np.where(POINTS[:, 0] > 0, "yes", "no")
    members = h.explore(labels=labels).content.members
    names = unpacked(members, "labels")
    assert names == ["no", "yes"]
    assert [names[label] for label in unpacked(members, "label")] == labels.tolist()
    rows = rows_of(members, "2/class", "label", "points")
    for cluster, row in enumerate(rows):
        inside = labels[h[2].labels == cluster]
        assert {names[label]: points for label, points in row} == {
            name: int((inside == name).sum()) for name in set(inside.tolist())
        }


def test_labels_have_colors_of_their_own(h):
    members = h.explore(labels=["b", "a", "b"] * (len(POINTS) // 3)).content.members
    colors = unpacked(members, "label_color").reshape(2, 3)
    assert np.array_equal(colors, np.rint(255 * class_colors([1, 2])))


def test_points_have_those_with_the_strongest_edges_beside_them(h):
    members = h.explore().content.members
    weights = h.graph.adjacency.toarray()
    rows = rows_of(members, "close", "point")
    assert len(rows) == len(POINTS)
    for point, row in enumerate(rows):
        others = [other for (other,) in row]
        strongest = np.sort(weights[point])[::-1][: min(CLOSE, (weights[point] > 0).sum())]
        assert weights[point, others].tolist() == strongest.tolist()
    some = h.explore(max_points=40).content.members
    shown = unpacked(some, "row")
    for point, row in enumerate(rows_of(some, "close", "point")):
        assert all(weights[shown[point], shown[other]] > 0 for (other,) in row)


def test_coordinates_come_back_in_their_box(h):
    given_places = POINTS[:, :2] * 1e6
    content = h.explore(coordinates=given_places).content
    x0, y0, x1, y1 = content.head["box"]
    assert content.head["given"]
    x = x0 + unpacked(content.members, "x") / 65535 * (x1 - x0)
    y = y0 + unpacked(content.members, "y") / 65535 * (y1 - y0)
    assert np.abs(np.stack([x, y], axis=1) - given_places).max() <= (x1 - x0) / 65535
    same = h.explore(coordinates=np.ones((len(POINTS), 2))).content
    assert unpacked(same.members, "x").max() == 0
    assert not h.explore().content.head["given"]


def test_a_line_of_points_has_a_box_as_high_as_it_is_wide(h):
    line = np.column_stack([POINTS[:, 0] * 1e-3, np.full(len(POINTS), 7.0)])
    x0, y0, x1, y1 = h.explore(coordinates=line).content.head["box"]
    assert y0 == 7
    assert y1 - y0 == pytest.approx(x1 - x0) == pytest.approx(np.ptp(line[:, 0]))


def test_the_box_is_that_of_all_points_though_few_are_shown(h):
    places = POINTS[:, :2].copy()
    lonely = np.setdiff1d(np.arange(len(POINTS)), unpacked(h.explore(max_points=40).content.members, "row"))[
        0
    ]
    places[lonely] = 100.0  # not shown
    content = h.explore(coordinates=places, max_points=40).content
    assert content.head["box"][2:] == [100.0, 100.0]
    x, y, _ = unpacked(content.members, "2/circle").reshape(-1, 3).T
    low = places.min(axis=0)
    centers = h.circles(places)[2].centers
    assert np.allclose(np.column_stack([x, y]), (centers - low) / (100 - low).max(), atol=1e-4)


def test_many_points_are_sampled_and_the_page_says_so(h):
    names = [f"p{row}" for row in range(len(POINTS))]
    content = h.explore(names=names, max_points=40).content
    rows = unpacked(content.members, "row")
    assert 40 <= len(rows) == content.head["shown"] < len(POINTS) == content.head["points"]
    assert unpacked(content.members, "names") == [names[row] for row in rows]
    assert f"{len(rows)} of {len(POINTS)} points" in content.head["limits"][0]
    assert unpacked(content.members, "0/size").sum() == len(POINTS)
    central = rows_of(content.members, "0/central", "point")
    assert [[rows[point] for (point,) in row[:3]] for row in central] == [
        [*each.exemplars] for each in h.describe(0)
    ]


@given(st.lists(st.integers(0, 4), min_size=1), st.integers(1, 30))
def test_samples_are_in_proportion(labels, count):
    labels = np.array(labels)
    found = chosen_points(labels, set(), count).points
    assert len(found) == min(count, len(labels))
    for cluster in range(5):
        fair = (labels == cluster).sum() * len(found) / len(labels)
        assert abs((labels[found] == cluster).sum() - fair) < 1 + 1e-9


@given(st.lists(st.text(max_size=3)), st.integers(1, 50))
def test_texts_that_are_kept_are_whole(texts, letters):
    kept, notes = chosen_texts(texts, letters)
    assert all(each in ("", text) for each, text in zip(kept, texts, strict=True))
    assert kept == texts or notes


def test_the_page_cannot_fetch_and_its_policy_fits_its_code(h):
    page = h.explore(
        title="</title><script>", names=["</script><script>alert(1)</script>"] * len(POINTS)
    ).html
    assert page.count("<script>") == 1
    assert page.count("<script ") == len(
        re.findall('<script type="(?:text/plain|application/json)" id="', page)
    )
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "alert(1)" not in page
    head = re.search('id="head">(.*?)</script>', page)[1]
    assert json.loads(head)["title"] == "</title><script>"
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


def test_in_a_notebook_the_page_is_in_a_closed_frame(h):
    page = h.explore()
    frame = page._repr_html_()
    assert frame.startswith("<iframe")
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert frame.count("<") == 2
    assert repr(page).startswith("Explorer(120 points, ")


def test_of_a_table_features_are_found_in_it(h):
    words = sp.random_array((len(POINTS), 30), density=0.3, rng=np.random.default_rng(0))
    names = [f"word {number}" for number in range(30)]
    content = h.explore(features=(words, names)).content
    assert set(unpacked(content.members, "features")) <= set(names)
    assert "standard errors" in content.head["features"]
    number = h.explore(features=words).content
    assert set(unpacked(number.members, "features")) <= set(map(str, range(30)))


def test_a_graph_without_names_or_features_has_a_page():
    h = graphsoft.hierarchy(nx.convert_node_labels_to_integers(nx.karate_club_graph()), levels=[4, 2])
    content = h.explore().content
    assert not {"names", "texts", "features", "label", "row"} & content.members.table.keys()
    assert content.head["title"] == "34 points"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("names", ["a"]),
        ("names", "a text"),
        ("names", 7),
        ("texts", ["a"] * 119),
        ("texts", {"a": 1}),
        ("labels", np.zeros((120, 2))),
        ("labels", [1, 2]),
        ("coordinates", np.zeros((120, 3))),
        ("coordinates", np.zeros((119, 2))),
        ("coordinates", [[0.0, NAN]] * 120),
        ("coordinates", [[1e308, 0.0], [-1e308, 0.0]] * 60),
        ("features", ["a", "b"]),
        ("features", np.zeros((7, 3))),
        ("features", (np.zeros((120, 2)), ["a"])),
        ("stability", [0.5, 1.0]),
        ("title", 7),
        ("max_points", 0),
        ("max_points", None),
        ("path", "no/such/folder/page.html"),
    ],
)
def test_what_does_not_fit_is_refused_before_long_work(h, argument, value, monkeypatch):
    monkeypatch.setattr("graphsoft.result.exploring._facts", lambda *_: pytest.fail("this is long work"))
    with pytest.raises(InputError) as error:
        h.explore(**{argument: value})
    assert error.value.argument == argument
