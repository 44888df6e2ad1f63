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


def test_workers_put_new_points_into_clusters(client, tmp_path):
    h = graphsoft.hierarchy(cloud(60, centers=4), [6, 3], n_neighbors=5)
    stored, new = stored_twin(h, tmp_path / "model", 3, 11, lends=1), cloud(32, centers=4, seed=2)
    (tmp_path / "new").mkdir()
    for number, some in enumerate(np.split(new, [5, 20])):
        np.save(tmp_path / "new" / f"part-{number}.npy", some)
    found = stored.transform(tmp_path / "new", directory=tmp_path / "answer", client=client)
    for level in (0, 1):
        expected = stored.predict_proba(new, level)
        assert abs(found[level].memberships[range(len(new))] - expected).max() == 0
        assert (found[level].labels == stored.predict(new, level)).all()
