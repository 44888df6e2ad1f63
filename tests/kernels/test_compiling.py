"""How kernels are compiled: a cache that fails is no error, and wide indices are taken too."""

import importlib
import inspect
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.caching import FunctionCache, IndexDataCacheFile

import graphsoft
from graphsoft.engine import cluster_graph, coarsening, merging, ordering, sweeps
from graphsoft.graph import adjacency
from graphsoft.graph import graph as graph_module
from graphsoft.kernels import Rows, kernel


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
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator"):
        FunctionCache(double)
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
