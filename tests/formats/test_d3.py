"""d3-hierarchy reads the JSON: the same nodes, sums and names, and it can lay them out.

This runs in Node.js, with the package that the explorer's page has from ``npm ci``.
"""

import json
import math
import shutil
import subprocess
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings

import graphsoft
from graphsoft.formats.tree_json import tree_to_json
from shared.trees import chain, make_tree, parent_chains

PAGE = Path(__file__).parents[2] / "graphsoft" / "explorer" / "page"
# what d3 makes of a file: all nodes, parents first
READ = """
import { readFileSync } from "node:fs";
import { cluster, hierarchy, partition } from "d3-hierarchy";

const root = hierarchy(JSON.parse(readFileSync(process.argv[1], "utf8")));
root.sum((data) => (data.children ? 0 : data.mass));
partition()(root);
const parts = new Map(root.descendants().map((node) => [node, [node.x0, node.x1]]));
cluster()(root);
const found = [];
root.eachBefore((node) => {
  const { data, parent, value, depth, x, y } = node;
  const [x0, x1] = parts.get(node);
  found.push({ id: data.id, name: data.name, parent: parent && parent.data.id, value, depth, x, y, x0, x1 });
});
process.stdout.write(JSON.stringify(found));
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not there"),
    pytest.mark.skipif(
        not (PAGE / "node_modules" / "d3-hierarchy").is_dir(),
        reason="d3-hierarchy is not there: npm ci --prefix graphsoft/explorer/page",
    ),
]


def by_d3(path):
    command = ["node", "--input-type=module", "--eval", READ, str(path)]
    done = subprocess.run(command, cwd=PAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(found, tree, names):
    """Compare what d3 found with the tree."""
    walk = list(tree.walk())
    assert [(each["id"], each["parent"]) for each in found] == [(node.id, node.parent) for node in walk]
    assert [each["name"] for each in found] == [names.get(node.id, node.id) for node in walk]
    places = {each["id"]: each for each in found}
    whole = math.fsum(node.mass for node in walk if not node.children)
    for node in reversed(walk):
        at, below = places[node.id], [places[id] for id in node.children]
        value = math.fsum(each["value"] for each in below) if below else node.mass
        assert at["value"] == pytest.approx(value)
        assert at["x1"] - at["x0"] == pytest.approx(value / whole, abs=1e-12)  # partition
        if not below:
            assert at["y"] == 1.0  # cluster puts all leaves on one line
            continue
        starts, ends = ([each[side] for each in below] for side in ("x0", "x1"))
        assert [*starts, at["x1"]] == pytest.approx([at["x0"], *ends])
        assert at["x"] == pytest.approx(math.fsum(each["x"] for each in below) / len(below))
        assert all(at["y"] < each["y"] for each in below)
    assert (found[0]["x0"], found[0]["x1"]) == (0.0, 1.0)


def test_a_hierarchy_is_the_same_in_d3(tmp_path):
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    names = {"1-0": "Valjean and Fantine", "0-3": '</script>\u2028"\\ \ud800 \0 名前', "root": ""}
    h.to_json(tmp_path / "tree.json", names=names, examples=2, points=True)
    found = by_d3(tmp_path / "tree.json")
    check(found, h.tree, names)
    masses = {each["id"]: each["value"] for each in found}
    assert masses["root"] == pytest.approx(h[0].mass.sum())
    assert [masses[f"0-{number}"] for number in range(12)] == pytest.approx(h[0].mass.tolist())


@settings(max_examples=20)  # each starts a process
@given(chain=parent_chains())
def test_any_tree_is_the_same_in_d3(tmp_path_factory, chain):
    tree = make_tree(chain)
    path = tmp_path_factory.mktemp("d3") / "tree.json"
    tree_to_json(tree, path)
    check(by_d3(path), tree, {})


def test_a_deep_chain_is_read_and_laid_out(tmp_path):
    tree = chain(20_000)
    tree_to_json(tree, tmp_path / "tree.json")
    found = by_d3(tmp_path / "tree.json")
    check(found, tree, {})
    assert found[-1]["depth"] == 19_999
