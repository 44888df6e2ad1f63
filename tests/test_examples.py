"""The example scripts: every one can be imported, and prints its help; the walk along one call."""

import doctest
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from graphsoft.patterns import block_graph

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLDERS = [EXAMPLES, EXAMPLES / "papers", EXAMPLES / "benchmarks"]
SCRIPTS = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]
# a script without options, and modules that scripts import
WITHOUT_OPTIONS = {"quickstart", "sets", "nested_sets", "nested_tools", "machine", "peers", "processes"}


@pytest.fixture
def load(monkeypatch):
    """Import a script in the way in which it runs: with its folder first on the path."""

    def script(path):
        monkeypatch.syspath_prepend(str(path.parent))
        spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return script


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_prints_its_help(path, load, monkeypatch, capsys):
    module = load(path)
    assert module.__doc__
    assert not doctest.testmod(module).failed
    if path.stem in WITHOUT_OPTIONS:
        return
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        module.main()
    assert stopped.value.code == 0
    assert module.__doc__.splitlines()[0] in capsys.readouterr().out


def test_the_walk_shows_every_function_once(load, monkeypatch, capsys):
    walk = load(EXAMPLES / "walk_the_call.py")
    monkeypatch.setattr(sys, "argv", ["walk_the_call.py"])
    walk.main()
    *lines, _, last = capsys.readouterr().out.splitlines()
    files, functions = (int(last.split()[place]) for place in (0, 2))
    assert lines[0].split()[:2] == ["hierarchy", "levels.py"]
    assert len(lines) == functions > files
    assert len({tuple(line.split()[:2]) for line in lines}) == functions
    assert any("kernels/factorize.py" in line and "* " in line for line in lines)  # compiled loops are seen


def test_the_walk_counts_changes_of_file(load):
    walk = load(EXAMPLES / "walk_the_call.py")
    one, two = walk.Function("one.py", "f"), walk.Function("one.py", "g")
    other = walk.Function("two.py", "h")
    steps = [walk.Step(one, 1, 1), walk.Step(other, 2, 2), walk.Step(two, 3, 2)]
    assert walk.counts(steps) == (2, 3, 3, 2)


def test_the_limits_of_every_loop_are_measured(load, monkeypatch):
    """This benchmark calls loops of the engine that are not public."""
    limits = load(EXAMPLES / "benchmarks" / "limits.py")

    def run_once(work, repeats=1):
        work()
        return 1.0

    monkeypatch.setattr(limits, "CLUSTERS", 5)
    monkeypatch.setattr(limits, "best", run_once)
    monkeypatch.setattr(limits, "seconds_of_fetches", lambda places, record: 1.0)
    rows, _ = limits.measure_engine(block_graph(0, blocks=10, size=20))
    assert len(rows) == 6
    assert all(isinstance(needs, limits.Needs) for _, needs, _, _ in rows)


def test_the_search_that_is_timed_finds_the_nearest(load):
    """This benchmark calls the search that graphs of neighbors use, which is not public."""
    neighbors = load(EXAMPLES / "benchmarks" / "neighbors.py")
    points = neighbors.make_points("clouds", 200, 3)
    rows = np.arange(50)
    found = neighbors.search(points, None)
    assert neighbors.recall(points, rows, neighbors.exact_reach(points, rows), found[rows]) == 1.0
