"""The tree as JSON: it reads back whole, holds any name, and is as deep as it has to be."""

import json
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import InputError
from graphsoft.formats.tree_json import tree_to_json
from shared.trees import caterpillar, nodes_of, small_tree


def test_json_holds_the_whole_tree():
    tree = small_tree()
    found = nodes_of(json.loads(tree_to_json(tree)))
    assert [node["id"] for node in found] == [node.id for node in tree.walk()]
    for node in found:
        twin = tree.find(node["id"])
        assert (node["name"], node["level"], node["mass"], node["size"]) == (
            twin.id,
            twin.level,
            twin.mass,
            twin.size,
        )
        assert [(parent["id"], parent["p"]) for parent in node["parents"]] == list(twin.parents)
        assert tuple(child["id"] for child in node.get("children", [])) == twin.children
        assert ("children" in node) == bool(twin.children)  # d3 takes a node with children for no leaf


def test_file_and_text_are_the_same(tmp_path):
    path = tmp_path / "tree.json"
    assert tree_to_json(small_tree(), path) is None
    assert path.read_bytes().decode("ascii") == tree_to_json(small_tree())
    assert path.read_bytes().endswith(b"}\n")
    assert os.listdir(tmp_path) == ["tree.json"]


@given(st.text())
def test_any_name_comes_back_and_stays_inside_a_script_element(name):
    text = tree_to_json(small_tree(), names={"0-1": name})
    assert "<" not in text
    assert text.isascii()
    assert {node["id"]: node["name"] for node in nodes_of(json.loads(text))}["0-1"] == name


@pytest.mark.parametrize("name", ["</script><script>", "\ud800", "\0\x0b", "名前", '"\\', "\u2028"])
def test_strange_names_by_hand(name, tmp_path):
    tree_to_json(small_tree(), tmp_path / "tree.json", names={"0-0": name})
    parsed = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))
    assert name in {node["name"] for node in nodes_of(parsed)}


@pytest.mark.parametrize("mass", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_refused_and_the_old_file_stays(mass, tmp_path):
    path = tmp_path / "tree.json"
    path.write_text("old")
    with pytest.raises(InputError, match=r"^tree: node (0-0|root)"):
        tree_to_json(small_tree(mass), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_depth_needs_no_recursion(tmp_path):
    text = tree_to_json(caterpillar(5_000))
    assert text.count('"children"') == 5_000
    assert text.count("{") == text.count("}")
    assert text.count("[") == text.count("]")
    head = '{"name":"root"'
    assert text.startswith(head)
