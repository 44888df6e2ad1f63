"""JSON reads back as what was written, at any depth, and damaged files are refused."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsoft
from graphsoft.errors import InputError
from graphsoft.formats.json_text import parsed_json
from graphsoft.formats.reading_json import read_json
from graphsoft.formats.tree_json import tree_to_json
from shared.trees import chain, make_tree, nodes_of, parent_chains, small_tree

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(SCALARS, lambda each: st.lists(each) | st.dictionaries(st.text(), each), max_leaves=20)


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_any_json_is_read(value, ascii, indent):
    assert parsed_json(json.dumps(value, ensure_ascii=ascii, indent=indent)) == value


@given(st.text(alphabet='{}[],:"\\a1-.0e tnu\n', max_size=12))
def test_what_is_no_json_is_refused_as_by_the_standard_library(text):
    try:
        expected = json.loads(text, object_pairs_hook=once)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - the words are our own
            parsed_json(text)
    else:
        assert parsed_json(text) == expected


def test_a_file_may_be_open_in_either_mode(tmp_path):
    path = tmp_path / "tree.json"
    tree_to_json(make_tree([[[1.0], [1.0]]]), path, names={"0-0": "é"})
    for mode in ("rb", "r"):
        with path.open(mode) as file:
            assert read_json(file).names == {"0-0": "é"}
    with pytest.raises(InputError, match="source: holds no JSON"):
        read_json(io.BytesIO(b"\xff"))


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "01", '{"a":1,"a":2}', "[1,]", "'x'", '"\t"', "1" * 9999, ""]
)
def test_json_is_read_strictly(text):
    with pytest.raises(ValueError):  # noqa: PT011
        parsed_json(text)


@given(parent_chains(), st.text(), st.dictionaries(st.sampled_from(["examples", "color"]), VALUES))
def test_a_tree_comes_back(chain, name, details):
    tree = make_tree(chain)
    text = tree_to_json(tree, names={"0-0": name}, details={"0-0": details})
    saved = read_json(io.StringIO(text))
    assert saved.tree == tree
    assert saved.names == ({} if name == "0-0" else {"0-0": name})
    assert saved.details["0-0"] == details
    assert saved.to_json() == text


def test_depth_needs_no_recursion(tmp_path):
    tree = chain(20_000)
    tree_to_json(tree, tmp_path / "deep.json")
    assert read_json(tmp_path / "deep.json").tree == tree
    assert parsed_json("[" * 20_000 + "]" * 20_000) is not None


def test_white_space_and_further_fields_of_other_programs_are_kept(tmp_path):
    document = json.loads(tree_to_json(small_tree()))
    document["children"][0] = {"color": "#fff", "seen": {"by": ["me"]}} | document["children"][0]
    document["children"][0]["name"] = "first"
    (tmp_path / "tree.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    saved = graphsoft.read_json(tmp_path / "tree.json")
    assert (saved.tree, saved.names) == (small_tree(), {"1-0": "first"})
    assert saved.details["1-0"] == {"color": "#fff", "seen": {"by": ["me"]}}
    assert repr(saved) == "SavedTree(Tree(3 -> 2 clusters, root 'root'), 1 names)"


def changed(change):
    document = json.loads(tree_to_json(small_tree()))
    change({node["id"]: node for node in nodes_of(document)})
    return json.dumps(document)


DAMAGE = [
    lambda nodes: nodes["0-1"].pop("mass"),
    lambda nodes: nodes["0-1"].update(mass=-1),
    lambda nodes: nodes["0-1"].update(mass=10**400),
    lambda nodes: nodes["0-1"].update(size=1.5),
    lambda nodes: nodes["0-1"].update(size=True),
    lambda nodes: nodes["0-1"].update(level=10**9),
    lambda nodes: nodes["root"].update(level=10**9),
    lambda nodes: nodes["0-1"].update(id="0-0"),
    lambda nodes: nodes["0-1"].update(id="0-" + "9" * 30),
    lambda nodes: nodes["0-1"].update(id=None),
    lambda nodes: nodes["0-1"].update(name=3),
    lambda nodes: nodes["0-1"].update(parents=[]),
    lambda nodes: nodes["0-1"].update(parents=[{"id": "1-0", "p": 1.0}]),
    lambda nodes: nodes["0-1"].update(parents=[{"id": "1-1", "p": None}]),
    lambda nodes: nodes["0-1"].update(parents={"id": "1-1"}),
    lambda nodes: nodes["1-0"].update(children=nodes["1-0"]["children"][1:]),
    lambda nodes: nodes["1-0"].update(children=[7]),
    lambda nodes: nodes["1-0"].update(children=7),
    lambda nodes: nodes["1-0"].pop("children"),
    lambda nodes: nodes["root"].update(children=[]),
]


@pytest.mark.parametrize("change", DAMAGE)
def test_damaged_trees_are_refused(change):
    with pytest.raises(InputError, match=r"^source: .*Remedy: pass what h\.to_json wrote"):
        read_json(io.StringIO(changed(change)))


@pytest.mark.parametrize(
    "text", ["", "[]", "7", "{}", '{"id":"root"}', "null", "\ufeff{}", tree_to_json(small_tree())[:-9]]
)
def test_what_is_no_tree_is_refused(text):
    with pytest.raises(InputError, match=r"^source: "):
        read_json(io.StringIO(text))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "x.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match=r"^source: holds no JSON"):
        read_json(tmp_path / "x.json")
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "missing.json")


POINTS = [[{"row": 0, "p": 1.0}, {"row": 1, "p": 0.25}], [{"row": 1, "p": 0.75}], []]


def with_points(points):
    details = {f"0-{number}": {"points": each} for number, each in enumerate(points)}
    return read_json(io.StringIO(tree_to_json(small_tree(), details=details)))


def test_memberships_come_from_points():
    np.testing.assert_array_equal(with_points(POINTS).memberships.toarray(), [[1, 0, 0], [0.25, 0.75, 0]])
    assert with_points(POINTS[:1]).memberships is None


@pytest.mark.parametrize(
    "points",
    [[{"row": 10**12, "p": 1.0}], [{"row": 0}], [{"row": "0", "p": 1.0}], [7], 7, [{"row": 0, "p": None}]],
)
def test_points_that_are_no_memberships_are_refused(points):
    with pytest.raises(InputError, match=r"^points: are no memberships"):
        _ = with_points([points, [], []]).memberships
