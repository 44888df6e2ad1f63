"""Components of the graph of a run, which upper levels group by their features as a single machine does."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphsoft
from graphsoft.metrics import adjusted_rand


def islands(features=6):
    """Draw 24 islands in 4 groups, in random order."""
    random = np.random.default_rng(3)
    around = 300.0 * random.normal(size=(4, features))
    places = np.repeat(around, 6, axis=0) + 30.0 * random.normal(size=(24, features))
    island = random.integers(24, size=1500)
    X = places[island] + random.normal(size=(1500, features))
    X[1400:] = X[:100]  # copies count once
    island[1400:] = island[:100]
    return X, island, island // 6


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("kind", ["dense", "sparse", "cosine"])
def test_groups_of_islands(tmp_path, partitions, kind):
    X, island, group = islands()
    metric = "cosine" if kind == "cosine" else "euclidean"
    alone = graphsoft.hierarchy(X, [24, 4, 2], metric=metric)
    given = sp.csr_array(X) if kind == "sparse" else X
    h = graphsoft.hierarchy(given, [24, 4, 2], metric=metric, directory=tmp_path, partitions=partitions)
    if metric == "euclidean":
        assert adjusted_rand(island, np.asarray(h[0].labels)) == 1
        assert adjusted_rand(group, np.asarray(h[1].labels)) == 1
    assert h.report.components == alone.report.components
    for level, other in zip(h, alone, strict=True):
        assert adjusted_rand(np.asarray(level.labels), other.labels) == 1


def test_means_that_need_much_memory_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("graphsoft.distributed.island_means.ROOM", 0.0)
    X, island, _ = islands()
    h = graphsoft.hierarchy(X, [24, 4], directory=tmp_path, partitions=2)
    assert adjusted_rand(island, np.asarray(h[0].labels)) == 1
    assert "components are more than the 4 clusters" in " ".join(h.report.notes)
    assert not (tmp_path / "done" / "add-islands").exists()
