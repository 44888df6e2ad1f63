"""Arrays and matrices: npy, npz and Matrix Market, whole or damaged."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from graphsoft.datasets import read
from graphsoft.errors import InputError

DATA = Path(__file__).parents[2] / "data"


def test_npy(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "a.npy", values)
    dataset = read(tmp_path / "a.npy")
    assert (dataset.data == values).all()
    assert dataset.affinity == "auto"
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npy").read_bytes())
    with pytest.raises(InputError, match="no archive"):
        read(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"^labels: \.npy files hold no labels"):
        read(tmp_path / "a.npy", labels="y")


def test_npy_that_promises_too_much_costs_no_memory(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 8), }".ljust(117) + "\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    with pytest.raises(InputError, match=r"^path: 'a.npy' cannot be read as npy"):
        read(path)


def test_objects_are_never_unpickled(tmp_path):
    marker = tmp_path / "marker"

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=trap)
    np.savez(tmp_path / "b.npz", format=trap, data=trap)
    for name in ("a.npy", "a.npz", "b.npz"):
        with pytest.raises(InputError, match=r"^path: "):
            read(tmp_path / name)
    assert not marker.exists()


def test_npz_that_is_encrypted(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    for begin, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # of the member, and in the list
        content[content.index(begin) + flags] |= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read as npz: .*encrypted"):
        read(tmp_path / "a.npz")


def test_npz_with_dense_features(tmp_path):
    values, known = np.eye(3), np.array(["a", "b", "a"])
    np.savez(tmp_path / "a.npz", X=values, y=known, train=np.ones(3))
    dataset = read(tmp_path / "a.npz", labels="y")
    assert (dataset.data == values).all()
    assert (dataset.labels == known).all()
    assert read(tmp_path / "a.npz").labels is None
    np.savez(tmp_path / "b.npz", values)
    assert (read(tmp_path / "b.npz").data == values).all()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_as_scipy_saves_it(tmp_path, format):
    matrix = scipy.sparse.random_array((6, 6), density=0.4, rng=0, format=format)
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert (read(tmp_path / "a.npz").data.toarray() == matrix.toarray()).all()


def test_npz_with_csr_parts(tmp_path):
    matrix = scipy.sparse.random_array((5, 7), density=0.4, rng=0, format="csr")
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    np.savez(tmp_path / "a.npz", **parts, y=np.arange(5))
    dataset = read(tmp_path / "a.npz", labels="y")
    assert (dataset.data != matrix).nnz == 0
    assert len(dataset) == 5
    assert repr(dataset) == "Dataset(5 x 7, 5 classes)"


@pytest.mark.parametrize(
    ("arrays", "labels", "message"),
    [
        ({"X": np.eye(3), "y": np.arange(2)}, "y", r"^labels: array 'y' has shape \(2,\), the data \(3, 3\)"),
        ({"X": np.eye(3), "y": np.arange(3)}, "z", r"^labels: there is no array 'z'.*X, y"),
        ({"A": np.eye(3), "B": np.eye(3)}, None, r"^path: 'a.npz' holds A, B.*call the data X"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 9], "shape": [1, 1]}, None, r"^path: "),
    ],
)
def test_wrong_npz_are_explained(tmp_path, arrays, labels, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.npz", labels=labels)


def test_flipped_bits_in_npz_are_input_errors(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.arange(100.0).reshape(10, 10))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        start = archive.getinfo("X.npy").header_offset + 300
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[start] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match="CRC"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_matrix_market(tmp_path, file, name):
    matrix = scipy.sparse.random_array((5, 5), density=0.4, rng=0, format="csr")
    scipy.io.mmwrite(tmp_path / "plain.mtx", matrix)
    path = file(name, (tmp_path / "plain.mtx").read_bytes())
    dataset = read(path)
    assert dataset.data.format == "csr"
    assert abs(dataset.data - matrix).max() < 1e-12
    with pytest.raises(InputError, match=r"^labels"):
        read(path, labels="y")
    scipy.io.mmwrite(tmp_path / "dense.mtx", np.eye(3))
    assert isinstance(read(tmp_path / "dense.mtx").data, np.ndarray)
