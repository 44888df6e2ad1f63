"""Points become a graph in blocks: the one of a single machine if there is one, and a sound one if there are more."""

import numpy as np
import pytest
import scipy.sparse as sp

from graphsoft import knn_graph
from graphsoft.engine.coarsening import without_copies
from graphsoft.engine.ordering import weight_type
from graphsoft.graph.graph import Graph
from graphsoft.neighbors.weights import WEIGHTS
from shared.routed import assembled, joined_in_blocks, plan_of, read


def clouds(count=400, seed=0, features=3, dtype=np.float64):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(8, features)) * 4
    return (centers[random.integers(8, size=count)] + random.normal(size=(count, features))).astype(dtype)


def with_copies(values, seed=1):
    """Repeat some rows, one of them often."""
    random = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(len(values)), random.integers(0, 30, 60), np.full(25, 7)])
    return values[random.permutation(rows)]


SETS = {
    "plane": clouds(features=2),
    "float32": clouds(features=12, dtype=np.float32),
    "copies": with_copies(clouds()),
    "grid": np.random.default_rng(3).integers(0, 9, (300, 2)).astype(np.float64),
}


def check_single(folder, values, weights, metric="euclidean", n_neighbors=6):
    plan = plan_of(values, n_neighbors=n_neighbors, weights=weights, metric=metric, chunk_rows=64)
    run, _ = joined_in_blocks(folder, values, plan)
    graph, node = without_copies(knn_graph(values, n_neighbors, metric, weights))
    expected = graph.adjacency.copy()
    expected.sort_indices()
    block, rows = read(run, "graph", 0), read(run, "rows", 0)
    assert block["weights"].dtype == weight_type(expected.data)
    np.testing.assert_array_equal(block["ptr"], expected.indptr)
    np.testing.assert_array_equal(block["columns"], expected.indices)
    np.testing.assert_array_equal(block["weights"], expected.data.astype(block["weights"].dtype))
    np.testing.assert_array_equal(block["degrees"], Graph(expected, range(len(node))).degrees)
    np.testing.assert_array_equal(
        rows["rows"], np.arange(len(values) if not sp.issparse(values) else values.shape[0])
    )
    np.testing.assert_array_equal(rows["node"], node)
    assert len(block["halo_part"]) == len(block["sent"]) == 0


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", SETS)
def test_one_partition_is_the_single_machine(tmp_path, name, weights):
    check_single(tmp_path, SETS[name], weights)
