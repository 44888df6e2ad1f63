"""Importing is quick and light, and the compile cache is never in the way."""

import ast
import os
import shutil
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import graphsoft

HEAVY = ["numba", "sklearn", "pynndescent", "networkx", "pandas", "matplotlib", "scipy", "numpy"]
UNNEEDED = ["sklearn", "pynndescent", "networkx", "pandas", "matplotlib", "scipy.optimize", "scipy.stats"]
# weights of a graph are float64 as it was given, and float32 where it is worked on: these meet both
BOTH_WEIGHTS = {"best_partners", "contract", "gains", "reorder", "row_sums"}
PACKAGE = Path(graphsoft.__file__).parent
MATCH = """if True:
    import numpy as np
    import graphsoft
    from graphsoft.kernels.contraction import greedy_matching
    pairs = greedy_matching(np.arange(3), np.array([1, 0, 0]), np.zeros(3, int), np.zeros(3, int))
    print(graphsoft.__file__, pairs, sum(greedy_matching.stats.cache_hits.values()))
"""
WHOLE_RUN = """if True:
    import graphsoft
    graph = [[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 3], [0, 0, 3, 0]]
    h = graphsoft.hierarchy(graph, [2, 1], affinity="precomputed")
    print(graphsoft.__file__, *h[0].labels)
"""

# loops of the package that this process compiled, and those compiled for several types of input
COUNTED = """if True:
    import gc
    from numba.core.dispatcher import Dispatcher
    loops = [each for each in gc.get_objects() if isinstance(each, Dispatcher)
             and each.py_func.__module__.startswith("graphsoft")]
    print(len([each for each in loops if each.signatures]))
    print(sum(sum(each.stats.cache_misses.values()) for each in loops))
    print({each.py_func.__name__: len(each.signatures) for each in loops if len(each.signatures) > 1})
"""
POINTS = """if True:
    import numpy as np
    import graphsoft
    X = np.random.default_rng(0).normal(size=(300, 10))
    h = graphsoft.hierarchy(X, [20, 5])
"""
KINDS = """if True:
    import networkx as nx
    import scipy.sparse as sp
    W = sp.csr_matrix(h.graph.adjacency)
    graphsoft.hierarchy(W, [20, 5])
    graphsoft.hierarchy(W.astype(np.float32), [20, 5])
    W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    graphsoft.hierarchy(W, [20, 5])
    graphsoft.hierarchy(W.toarray(), [20, 5], affinity="precomputed")
    graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4])
    graphsoft.hierarchy(X, [20, 5], polish=False)
    graphsoft.hierarchy(X, [20, 5], weights="jaccard")
    graphsoft.hierarchy(X, [20, 5], metric="cosine")
    graphsoft.hierarchy(np.vstack([X, X[:9]]), [20, 5])
    graphsoft.hierarchy(X, [20, 5], known={0: "a", 1: "b", 2: "a"})
    graphsoft.hierarchy(X, [20, 5], must_link=[(0, 1)], cannot_link=[(1, 2)])
    graphsoft.hierarchy(X[::2], [20, 5])
    graphsoft.hierarchy(np.asfortranarray(X), [20, 5])
    import tempfile
    h.partial_update(X[:9] + 0.1)
    with tempfile.TemporaryDirectory() as folder:
        h.save(folder + "/model")
        graphsoft.load(folder + "/model").partial_update(X[:9] + 0.1)
"""


def run(code, folder=None, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,  # where it looks for the package first
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def elsewhere(tmp_path):
    """A copy of the package in a folder of its own; run it from there."""
    shutil.copytree(PACKAGE, tmp_path / "graphsoft", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def cache_hits(folder, **environment):
    """Run one kernel of the package in `folder`; 1 if it came from the cache, 0 if it was compiled."""
    file, pairs, hits = run(MATCH, folder, **environment).split()
    assert Path(file).parent.parent == folder
    assert pairs == "1"
    return int(hits)


def test_import_is_quick():
    code = "import time; start = time.perf_counter(); import graphsoft; print(time.perf_counter() - start)"
    assert statistics.median(float(run(code)) for _ in range(5)) < 0.3


def test_import_pulls_in_nothing_heavy():
    code = f"import sys, graphsoft; print([name for name in {HEAVY} if name in sys.modules])"
    assert run(code).strip() == "[]"


def test_graph_and_methods_pull_in_only_what_they_need():
    code = f"import sys, graphsoft; graphsoft.hierarchy; print([n for n in {HEAVY[1:6]} if n in sys.modules])"
    assert run(code).strip() == "[]"


def test_public_names_are_found_and_listed():
    for name in graphsoft.__all__:
        assert getattr(graphsoft, name).__name__ == name
    assert set(graphsoft.__all__) <= set(dir(graphsoft))
    with pytest.raises(AttributeError, match="has no attribute 'louvain'"):
        graphsoft.louvain  # noqa: B018


def test_the_version_is_found_when_it_is_asked_for(monkeypatch):
    code = "import sys, graphsoft; print('importlib.metadata' in sys.modules, graphsoft.__version__)"
    assert run(code).split() == ["False", metadata.version("graphsoft")]
    assert "__version__" in dir(graphsoft)
    assert "__version__" not in vars(graphsoft)

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert graphsoft.__version__ == "unknown"


def test_kernels_are_cached(elsewhere, tmp_path):
    cache = str(tmp_path / "cache")
    assert cache_hits(elsewhere, NUMBA_CACHE_DIR=cache) == 0
    assert cache_hits(elsewhere, NUMBA_CACHE_DIR=cache) == 1


def test_a_second_process_compiles_nothing():
    run(POINTS)  # fills the cache, unless it is full already
    used, compiled, _ = run(POINTS + COUNTED).split("\n", 2)
    assert int(used) > 5
    assert compiled == "0"


def test_loops_are_compiled_for_one_type_of_input():
    *_, several = run(POINTS + KINDS + COUNTED).split("\n", 2)
    several = ast.literal_eval(several)
    assert set(several) <= BOTH_WEIGHTS
    assert set(several.values()) <= {2}


def test_loops_assign_no_slice_to_a_slice():
    """Numba compiles the making of an error message for it, which took a quarter of a first call."""

    def slices(tree, context):
        return any(
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, context)
            and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))
            for node in ast.walk(tree)
        )

    found = [
        f"{file.name}:{node.lineno}"
        for file in (PACKAGE / "kernels").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Assign) and slices(node, ast.Store) and slices(node.value, ast.Load)
    ]
    assert found == []


def test_a_call_on_few_points_pulls_in_only_what_it_needs():
    code = f"import sys; print([name for name in {UNNEEDED} if name in sys.modules])"
    assert run(f"{POINTS}\n{code}").strip() == "[]"


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage"])
def test_a_damaged_cache_is_no_error(elsewhere, tmp_path, damage):
    cache = tmp_path / "cache"
    cache_hits(elsewhere, NUMBA_CACHE_DIR=str(cache))
    files = [file for file in cache.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} == {".nbi", ".nbc"}
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(
            {"cut": whole[: len(whole) // 2], "empty": b"", "garbage": b"\x80garbage" * 9}[damage]
        )
    assert cache_hits(elsewhere, NUMBA_CACHE_DIR=str(cache)) == 0
    assert cache_hits(elsewhere, NUMBA_CACHE_DIR=str(cache)) == 1  # mended


def test_no_place_for_a_cache_is_no_error(elsewhere):
    # numba looks beside the module, then below HOME: here neither can hold a folder
    for folder in (elsewhere / "graphsoft", elsewhere / "graphsoft" / "kernels"):
        (folder / "__pycache__").write_text("a file, no folder")
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "LOCALAPPDATA": os.devnull}
    assert cache_hits(elsewhere, NUMBA_CACHE_DIR="", **nowhere) == 0


def test_a_read_only_folder_is_no_error(elsewhere):
    folders = [elsewhere, *(path for path in elsewhere.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        out = run(WHOLE_RUN, elsewhere, HOME=os.devnull, XDG_CACHE_HOME=os.devnull)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    file, *labels = out.split()
    assert Path(file).parent.parent == elsewhere
    assert labels in (["0", "0", "1", "1"], ["1", "1", "0", "0"])


def test_a_full_disk_is_no_error(elsewhere, tmp_path):
    resource = pytest.importorskip("resource")  # not on every system
    cache = tmp_path / "cache"
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, {resource.RLIM_INFINITY}))\n"
    out = run(full + MATCH, elsewhere, NUMBA_CACHE_DIR=str(cache))
    assert out.split()[1:] == ["1", "0"]
    assert not any(file.stat().st_size for file in cache.rglob("*") if file.is_file())


def test_modules_are_found_by_their_names():
    names = "cuts", "datasets", "methods", "metrics", "normalization", "patterns", "tl"
    for name in names:  # each in a process that has imported nothing else
        assert run(f"import graphsoft; print(graphsoft.{name}.__name__)").strip() == f"graphsoft.{name}"
