"""What a hierarchy writes on request, by which names it calls clusters, and how it looks in a notebook."""

import io
import json
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.html import html_table
from shared.trees import chain, nodes_of, small_tree

WRITERS = ["to_json", "to_newick", "to_graphml", "to_gexf", "to_csv", "to_parquet"]


@pytest.fixture(scope="module")
def novel():
    return graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])


@pytest.fixture(scope="module")
def points():
    return graphsoft.hierarchy(np.random.default_rng(0).normal(size=(200, 3)), levels=[10, 3])


def by_id(text):
    return {node["id"]: node for node in nodes_of(json.loads(text))}


def test_plain_json_has_nothing_more(novel):
    expected = {"name", "id", "level", "mass", "size", "parents"}
    assert all(set(node) - {"children"} == expected for node in by_id(novel.to_json()).values())


def test_examples_are_those_of_the_description(novel):
    nodes = by_id(novel.to_json(examples=3))
    for level in range(2):
        for row in novel.describe(level):
            assert nodes[row.id]["examples"] == list(row.exemplars)
    assert (
        max(len(node["examples"]) for node in by_id(novel.to_json(examples=7)).values() if "examples" in node)
        == 7
    )


def test_words_come_from_the_features_or_from_elsewhere(points):
    nodes = by_id(points.to_json(words=2))
    for level in range(2):
        found = points.distinctive(level, 2)
        for id, scores in zip(found.ids, found.scores, strict=True):
            assert [(each["word"], each["score"]) for each in nodes[id]["words"]] == list(scores)
    other = np.random.default_rng(1).poisson(1.0, size=(200, 5)).astype(float)
    words = points.distinctive(1, 3, X=other, feature_names=list("abcde"))
    nodes = by_id(points.to_json(words=[words]))
    assert [each["word"] for each in nodes["1-0"]["words"]] == [word for word, _ in words.scores[0]]
    assert "words" not in nodes["0-0"]


def test_points_hold_all_memberships(novel, points):
    for h in (novel, points):
        saved = graphsoft.read_json(io.StringIO(h.to_json(points=True)))
        assert (saved.memberships != h[0].memberships).nnz == 0
        listed = {
            each["row"]: each["name"]
            for node in saved.tree.nodes
            for each in saved.details[node.id].get("points", [])
        }
        assert [listed[row] for row in range(len(h.nodes))] == list(h.nodes)
        parents = np.zeros((len(h[0].mass), len(h[1].mass)))
        for node in saved.tree.nodes[: len(parents)]:
            for parent, chance in node.parents:
                parents[node.index, int(parent[2:])] = chance
        np.testing.assert_allclose(saved.memberships @ parents, h[1].memberships.toarray(), atol=1e-12)


def test_everything_at_once_comes_back(points, tmp_path):
    names = {"0-0": "</script>", "root": "\ud800", "1-1": ""}
    points.to_json(tmp_path / "tree.json", names=names, examples=2, words=1, points=True)
    saved = graphsoft.read_json(tmp_path / "tree.json")
    assert (saved.tree, saved.names) == (points.tree, names)
    saved.to_json(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tree.json").read_bytes()


def test_names_of_points_of_any_kind():
    graph = nx.relabel_nodes(
        nx.karate_club_graph(), {0: (0, 1), 1: "=1+1", 2: "\ud800", 3: 3.5, 4: None.__class__}
    )
    h = graphsoft.hierarchy(graph, levels=[4, 2])
    saved = graphsoft.read_json(io.StringIO(h.to_json(points=True, examples=40)))
    listed = {
        each["row"]: each["name"]
        for node in saved.tree.nodes
        for each in saved.details[node.id].get("points", [])
    }
    assert [listed[row] for row in range(6)] == ["(0, 1)", "=1+1", "\ud800", "3.5", str(type(None)), 5]


def test_names_given_to_the_hierarchy_are_used_unless_others_are_passed():
    h = graphsoft.hierarchy(np.random.default_rng(0).normal(size=(60, 3)), levels=[4, 2])
    h = h.name_clusters({"1-0": "the first"})
    assert by_id(h.to_json())["1-0"]["name"] == "the first"
    assert "'the first'" in h.to_newick()
    assert h.to_networkx().nodes["1-0"]["label"] == "the first"
    assert "the first" in h.to_frame("clusters")["name"].tolist()
    assert h.to_graphrag()["title"][0] == "the first"
    assert "the first" in h._repr_html_()
    assert by_id(h.to_json(names={"1-1": "x"}))["1-0"]["name"] == "1-0"
    assert by_id(h.to_json(names={}))["1-0"]["name"] == "1-0"


@pytest.mark.parametrize("method", ["to_json", "to_newick"])
def test_text_and_file_are_the_same(method, novel, tmp_path):
    text = getattr(novel, method)()
    assert getattr(novel, method)(tmp_path / "tree") is None
    assert (tmp_path / "tree").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("method", WRITERS)
def test_unknown_clusters_are_refused_and_the_old_file_stays(method, novel, tmp_path):
    if method == "to_parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "old"
    path.write_text("old")
    arguments = {"of": "clusters"} if method in ("to_csv", "to_parquet") else {}
    with pytest.raises(InputError, match=r"^names: there is no node '2-0'"):
        getattr(novel, method)(path, names={"2-0": "x"}, **arguments)
    assert path.read_text() == "old"
    with pytest.raises(InputError, match=r"^path: there is no directory"):
        getattr(novel, method)(tmp_path / "missing" / "file")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"examples": -1}, "^examples: got -1"),
        ({"examples": True}, "^examples: got True"),
        ({"words": 1.5}, "^words: got 1.5"),
        ({"words": "two"}, "^words: got 'two'"),
        ({"words": 3}, "^X: is not there, and a graph has no features"),
    ],
)
def test_wrong_requests_are_named(arguments, problem, novel):
    with pytest.raises(InputError, match=problem):
        novel.to_json(**arguments)


def test_words_of_another_hierarchy_are_refused(points, novel):
    larger = graphsoft.hierarchy(np.random.default_rng(0).normal(size=(200, 3)), levels=[20, 3])
    with pytest.raises(InputError, match=r"^words: "):
        points.to_json(words=[larger.distinctive(0)])


def test_points_that_share_a_name_cannot_be_nodes():
    twins = graphsoft.hierarchy(np.random.default_rng(0).normal(size=(200, 3)), levels=[10, 3])
    vars(twins.graph)["nodes"] = ("same",) * 200
    with pytest.raises(InputError, match=r"^nodes: 200 points are called 'same'"):
        twins.to_networkx("points")


class Cells(HTMLParser):
    """The texts of a page, and which tags it has."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th", "caption"):
            self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


@given(st.text(max_size=80))
def test_any_text_stays_text(text):
    found = Cells(html_table([["head"], [text]], text))
    assert found.tags <= {"table", "caption", "tr", "td", "th"}
    kept = "".join(
        c
        if c in "\t\n" or (c >= " " and not "\x7f" <= c <= "\x9f" and not "\ud800" <= c <= "\udfff")
        else "\ufffd"
        for c in text
    )
    assert found.texts[2].rstrip("\n") == kept.rstrip("\n")


def test_a_hierarchy_in_a_notebook(novel):
    page = novel._repr_html_()
    texts = Cells(page).texts
    assert "Hierarchy(77 points: 12 -> 4 clusters)" in texts[0]
    assert [text for text in texts if text in {node.id for node in novel.tree.nodes}] == [
        node.id for node in novel.tree.walk()
    ]
    assert "39" in texts
    assert "<script" not in page
    assert novel.tree._repr_html_().startswith("<table><caption>Tree(12 -&gt; 4 clusters")


def test_large_and_deep_trees_are_cut_short():
    points = np.random.default_rng(0).normal(size=(500, 2))
    page = graphsoft.hierarchy(points, levels=[100, 60, 2])._repr_html_()
    assert "... and 123 more" in page
    assert page.count("<tr>") == 1 + 40 + 1
    assert "... and 19960 more" in chain(20_000)._repr_html_()
    assert len(small_tree()._repr_html_()) < 2000


def test_a_description_in_a_notebook(points):
    page = points.describe(0)._repr_html_()
    texts = Cells(page).texts
    assert {row.id for row in points.describe(0)} <= set(texts)
    assert str(points.describe(0)[0].size) in texts
    graph = nx.relabel_nodes(nx.karate_club_graph(), {33: "<img src=x onerror=alert(1)>"})
    assert "<img" not in graphsoft.hierarchy(graph, levels=[2]).describe()._repr_html_()
    many = graphsoft.hierarchy(np.random.default_rng(0).normal(size=(500, 2)), levels=[60]).describe()
    assert "... and 30 more" in many._repr_html_()
