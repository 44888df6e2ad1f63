"""How kernels are compiled: a cache that fails is no error, and wide indices are taken too."""

import importlib
import inspect
import os
import signal
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

import graphsoft
from graphsoft.engine import cluster_graph, coarsening, merging, ordering, sweeps
from graphsoft.graph import adjacency
from graphsoft.graph import graph as graph_module
from graphsoft.kernels import Rows, _OptionalCache, kernel
from graphsoft.kernels.caching import SafePlaces, only_we_write


def double(x):
    return 2 * x


@pytest.mark.parametrize("problem", [OSError("read-only"), EOFError("cut"), ValueError("garbage")])
def test_a_cache_that_fails_is_passed_over(monkeypatch, tmp_path, problem):
    def fail(*arguments):
        raise problem

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    cache = kernel(double)._cache
    assert kernel(double)(4) == 8
    monkeypatch.setattr(IndexDataCacheFile, "_load_index", fail)
    context = numba.core.registry.cpu_target.target_context
    assert cache.load_overload((numba.int64,), context) is None
    cache.save_overload((numba.int64,), None)
    monkeypatch.setattr(IndexDataCacheFile, "_save_index", fail)
    if isinstance(problem, OSError):
        assert cache.load_overload((numba.int64,), context) is None


def test_no_place_for_a_cache_leaves_the_kernel(monkeypatch):
    monkeypatch.setattr(SafePlaces, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator"):
        _OptionalCache(double)
    assert kernel(double)(4) == 8


def test_loops_take_the_wide_indices_of_graphs_with_more_edges(monkeypatch):
    graph = graphsoft.as_graph(graphsoft.patterns.block_graph(0, blocks=5, size=20))
    narrow = graphsoft.hierarchy(graph, [12, 4])

    def wide(matrix, start=0, stop=None):
        ptr = matrix.indptr[start : None if stop is None else stop + 1]
        return Rows(ptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)

    for module in (adjacency, coarsening, graph_module, merging, ordering, sweeps, cluster_graph):
        monkeypatch.setattr(module, "rows_of", wide)
    monkeypatch.setattr(coarsening, "unsigned", lambda indices: indices.astype(np.int64))
    again = graphsoft.hierarchy(sp.csr_array(graph.adjacency), [12, 4])
    for one, other in zip(narrow, again, strict=True):
        assert one.memberships.indices.tolist() == other.memberships.indices.tolist()
        np.testing.assert_allclose(one.memberships.data, other.memberships.data, rtol=1e-9)


def test_no_kernel_returns_a_named_tuple():
    # Ctrl-C that arrives while Numba makes one ends the process with a segmentation fault
    for file in Path(graphsoft.kernels.__file__).parent.glob("*.py"):
        module = importlib.import_module(
            f"graphsoft.kernels.{file.stem}" if file.stem != "__init__" else "graphsoft.kernels"
        )
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, numba.core.dispatcher.Dispatcher):
                returned = inspect.signature(found.py_func).return_annotation
                assert not hasattr(getattr(module, str(returned), None), "_fields"), name


def test_places_that_others_can_write_to_are_not_safe(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    assert only_we_write(home / ".cache" / "numba")
    home.chmod(0o777)
    assert not only_we_write(home / ".cache" / "numba")
    home.chmod(0o1777)  # as /tmp is: what is ours there is safe, but not the folder itself
    assert not only_we_write(home)
    (home / ".cache").mkdir()
    assert only_we_write(home / ".cache")
    monkeypatch.setattr(os, "geteuid", lambda: (home.stat().st_uid or 1000) + 1)
    if home.stat().st_uid != 0:
        assert not only_we_write(home / ".cache")
    monkeypatch.chdir(home)
    assert not only_we_write(Path("~/.cache/numba"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_waits_for_the_compiler_of_another_thread():
    begun, go_on = threading.Event(), threading.Event()

    def compiling():
        with global_compiler_lock:
            begun.set()
            go_on.wait(30)

    other = threading.Thread(target=compiling)
    other.start()
    begun.wait(30)
    threading.Timer(0.2, go_on.set).start()
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # the hang would end it
        os._exit(0 if kernel(double)(4) == 8 else 3)
    assert go_on.is_set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    other.join()
