import csv
import json
import math
import os
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, load_npz

from graphsoft.errors import InputError
from graphsoft.formats.atomic import write_atomic
from graphsoft.formats.tables import labels_to_csv, memberships_to_npz
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.tree import build_tree


def small_tree(mass=1.0):
    parents = csr_array(np.array([[0.75, 0.25], [0.0, 1.0], [1.0, 0.0]]))
    return build_tree([parents], [[mass, 2.0, 3.0], [3.75, 2.25]], [[1, 2, 3], [4, 2]])


def caterpillar(levels):
    step = csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    return build_tree([step] * (levels - 1), [[1.0, 1.0]] * levels, [[1, 1]] * levels)


def nodes_of(parsed):
    """All nodes of parsed JSON, parents first."""
    waiting, found = [parsed], []
    while waiting:
        found.append(waiting.pop())
        waiting.extend(reversed(found[-1].get("children", [])))
    return found


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


def test_atomic_write_keeps_the_old_file_when_the_writer_fails(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, fail)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_atomic_write_replaces_and_keeps_permissions(tmp_path):
    path = tmp_path / "file"
    write_atomic(path, lambda file: file.write(b"one"))
    path.chmod(0o640)
    write_atomic(str(path), lambda file: file.write(b"two"))
    assert path.read_bytes() == b"two"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_atomic_write_where_folders_cannot_be_synced(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    write_atomic(tmp_path / "file", lambda file: file.write(b"one"))
    assert (tmp_path / "file").read_bytes() == b"one"


def test_atomic_write_refuses_what_is_no_file(tmp_path):
    with pytest.raises(InputError, match=r"^path: .* is not an ordinary file"):
        write_atomic(tmp_path, lambda file: file.write(b""))
    with pytest.raises(InputError, match=r"^path: there is no directory .*missing"):
        write_atomic(tmp_path / "missing" / "file", lambda file: file.write(b""))


def test_memberships_come_back(tmp_path):
    memberships = csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    memberships_to_npz(memberships, tmp_path / "m.npz")
    first = (tmp_path / "m.npz").read_bytes()
    assert (load_npz(tmp_path / "m.npz") != memberships).nnz == 0
    memberships_to_npz(memberships, tmp_path / "m.npz")
    assert (tmp_path / "m.npz").read_bytes() == first  # no time stamps inside


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_labels_csv(tmp_path):
    names = ["a,b", 'q"', "名", -3, "-4.5", "plain"]
    labels = [np.arange(6), np.array([0, 0, 1, 1, 1, 0])]
    entropies = [np.zeros(6), np.full(6, 1 / 3, dtype=np.float32)]
    labels_to_csv(names, labels, entropies, tmp_path / "labels.csv")
    rows = read_csv(tmp_path / "labels.csv")
    assert rows[0] == ["name", "level_0", "level_1", "entropy_0", "entropy_1"]
    assert [row[0] for row in rows[1:]] == [str(name) for name in names]
    assert [int(row[2]) for row in rows[1:]] == labels[1].tolist()
    assert [np.float32(row[4]) for row in rows[1:]] == entropies[1].tolist()
    assert b"\r" not in (tmp_path / "labels.csv").read_bytes()


@pytest.mark.parametrize(
    "name", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\rx", "\0x", "-1+cmd|' /C calc'!A0"]
)
def test_formulas_are_made_harmless(name, tmp_path):
    labels_to_csv([name], [[0]], [[0.0]], tmp_path / "labels.csv")
    assert read_csv(tmp_path / "labels.csv")[1][0] == "'" + name


def test_names_that_do_not_fit_leave_the_old_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="zip"):
        labels_to_csv(["a"], [[0, 1]], [[0.0, 0.0]], path)
    with pytest.raises(UnicodeEncodeError):
        labels_to_csv(["\ud800"], [[0]], [[0.0]], path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["labels.csv"]
