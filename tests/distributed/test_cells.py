"""Cells, the probe of them, and how rows are dealt to partitions."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphsoft.distributed.cells import lends_needed
from graphsoft.distributed.joining import first_row, join
from graphsoft.distributed.routing import route
from graphsoft.distributed.run import Run
from shared.routed import RowsInMemory, plan_of, read

DATA = Path(os.environ.get("GRAPHSOFT_DATA", "/nowhere"))


def clouds(count=6000, features=8, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(30, features)) * 1.5
    return centers[random.integers(30, size=count)] + random.normal(size=(count, features))


def nested(count=6000, features=16, seed=0):
    """Clouds in clouds in clouds."""
    random = np.random.default_rng(seed)
    places = np.zeros((1, features))
    for size, spread in ((5, 4.0), (4, 2.0), (5, 1.0)):
        places = np.repeat(places, size, axis=0)
        places = places + random.normal(size=places.shape) * spread
    return (
        places[random.integers(len(places), size=count)] + random.normal(size=(count, features)) * 0.6
    ).astype(np.float32)


def images():
    path = DATA / "usps.npz"
    if not path.exists():
        pytest.skip("no images here")
    with np.load(path) as file:
        return file["X"][:5000].astype(np.float32)


def exact_recall(values, keys_of_nodes, first, k):
    """Which part of the exact neighbors of some nodes is listed."""
    probes = np.arange(0, len(first), max(1, len(first) // 300))
    hits = total = 0
    for node in probes:
        distances = ((values.astype(np.float64) - values[first[node]].astype(np.float64)) ** 2).sum(axis=1)
        distances[distances == 0] = np.inf
        near = np.argsort(distances, kind="stable")[:k]
        hits += np.isin(near, first_row(keys_of_nodes[node])).sum()
        total += k
    return hits / total


@pytest.mark.parametrize("make", [clouds, nested, images])
@pytest.mark.parametrize("partitions", [4, 8])
def test_the_probe_tells_what_is_found(tmp_path, make, partitions):
    values = make()
    plan = plan_of(values, partitions, chunk_rows=1500)
    run, source = Run(tmp_path), RowsInMemory(values)
    lends, recall = lends_needed(run, source, plan)
    assert 1 <= lends <= 8
    assert recall >= 0.97
    plan = replace(plan, lends=lends)
    route(run, source, plan)
    join(run, plan)
    lists = [read(run, "merge-neighbors", part) for part in plan.parts]
    first, keys = (np.concatenate([each[name] for each in lists]) for name in ("first", "keys"))
    assert len(first) == len(np.unique(first)) == len(np.unique(values, axis=0))
    found = exact_recall(values, keys, first, plan.n_neighbors)
    assert found >= recall - 0.02
    assert found >= 0.95
    loads = [len(read(run, "rows", part)["rows"]) for part in plan.parts]
    assert max(loads) <= 1.3 * len(values) / partitions


def test_one_partition_needs_no_lending(tmp_path):
    values = clouds(100)
    assert lends_needed(Run(tmp_path), RowsInMemory(values), plan_of(values)) == (0, 1.0)
