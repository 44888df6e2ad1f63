"""Arrays and matrices: npy, npz and Matrix Market, whole or damaged."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

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


def parts_of(matrix):
    """The arrays that SciPy saves of a matrix."""
    names = {"coo": ("data", "row", "col"), "dia": ("data", "offsets")}
    return {name: getattr(matrix, name) for name in names.get(matrix.format, ("data", "indices", "indptr"))}


FORMATS = ["csr", "csc", "bsr", "coo", "dia"]


@pytest.mark.parametrize("format", FORMATS)
def test_matrices_that_lie_are_refused(tmp_path, format):
    """SciPy cuts off what is behind the last pointer, so it must not see these arrays first."""
    matrix = scipy.sparse.random_array((6, 6), density=0.5, rng=0, format=format)
    sound = parts_of(matrix)
    path = tmp_path / "a.npz"
    for part, values in sound.items():
        longer, shorter = np.append(values, values[-1:], axis=0), values[:-1]
        for wrong in (longer, shorter, *([values * 0] if part == "indptr" else [])):
            named = {"format": format} if format != "csr" else {}
            for said in (named, {"format": format}):
                np.savez(path, **{**sound, part: wrong}, **said, shape=(6, 6))
                with pytest.raises(InputError, match=r"^path: is a malformed sparse matrix"):
                    read(path)


@settings(max_examples=200)
@given(data=st.data(), format=st.sampled_from(FORMATS))
def test_changed_parts_of_matrices_are_refused_or_harmless(tmp_path_factory, data, format):
    matrix = scipy.sparse.random_array((6, 4), density=0.5, rng=0, format=format)
    parts = {**parts_of(matrix), "shape": np.array([6, 4])}
    name = data.draw(st.sampled_from(sorted(parts)))
    values = parts[name].copy()
    flat = values.reshape(-1)
    flat[data.draw(st.integers(0, len(flat) - 1))] = data.draw(st.integers(-(2**31), 2**31 - 1))
    path = tmp_path_factory.mktemp("changed") / "a.npz"
    np.savez(path, **{**parts, name: values}, format=format)
    try:
        found = read(path).data
    except InputError:
        return
    assert found.shape == (6, 4) or name == "shape"
    assert found.indptr[-1] == len(found.indices) == len(found.data)
    assert found.indices.max(initial=0) < found.shape[1]
    rows, columns = found.nonzero()
    assert all(found[i, j] != 0 for i, j in zip(rows[:50], columns[:50], strict=True))


def test_matrices_of_h5ad_that_lie_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    anndata = pytest.importorskip("anndata")
    matrix = scipy.sparse.random_array((6, 4), density=0.5, rng=0, format="csr")
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix):
        anndata.AnnData(kind(matrix)).write_h5ad(tmp_path / "a.h5ad")
        assert (read(tmp_path / "a.h5ad").data != matrix).nnz == 0
        with h5py.File(tmp_path / "a.h5ad", "r+") as file:
            file["X/indptr"][()] = 0
        with pytest.raises(InputError, match=r"^path: is a malformed sparse matrix: indptr ends with 0"):
            read(tmp_path / "a.h5ad")


@pytest.mark.parametrize("change", ["encrypted", "method"])
def test_archives_that_cannot_be_opened_are_explained(tmp_path, change):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(signature) + flags
        content[at if change == "encrypted" else at + 2] = 1 if change == "encrypted" else 97
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"^path: 'a\.npz' cannot be read as npz"):
        read(tmp_path / "a.npz")
