"""Workers read results on disk: blocks of Dask arrays are made where they are needed."""

import numpy as np

import graphsoft
from shared.shapes import cloud
from shared.stored_twin import stored_twin


def test_workers_read_blocks(client, tmp_path):
    h = graphsoft.hierarchy(cloud(60, centers=4), [6, 3], n_neighbors=5)
    stored = stored_twin(h, tmp_path, 3, 11)
    labels = stored[1].labels.to_dask()
    assert (client.compute(labels).result(timeout=60) == h[1].labels).all()
    shares = stored[1].memberships.to_dask()
    sums = shares.map_blocks(lambda block: block.toarray(), meta=np.zeros((0, 0))).sum(axis=0)
    expected = np.asarray(h[1].memberships.sum(axis=0)).ravel()
    assert np.allclose(client.compute(sums).result(timeout=60), expected)
    assert client.submit(len, stored).result(timeout=60) == 2
