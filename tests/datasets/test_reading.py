"""Names of files, damaged files of every kind, and what a Dataset is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.datasets import Dataset, read
from graphsoft.errors import InputError

DATA = Path(__file__).parents[2] / "data"


def test_unknown_endings_and_missing_files(tmp_path):
    for name in ("a.xlsx", "a", "a.gz", "a.npy.gz", "a.npz.gz", "a.pkl"):
        with pytest.raises(InputError, match=r"^path: .*use one of \.csv, "):
            read(tmp_path / name)
    with pytest.raises(InputError, match=r"^path: there is no file"):
        read(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InputError, match=r"^path: .*b.csv' is no file"):
        read(str(tmp_path / "b.csv"))


def test_dataset_is_frozen():
    dataset = Dataset(np.eye(2))
    with pytest.raises(AttributeError):
        dataset.labels = np.arange(2)


@pytest.mark.parametrize(
    "name", ["a.npy", "a.npz", "a.mtx", "a.graphml", "a.csv.gz", "a.edges.gz", "a.graphml.gz"]
)
@given(content=st.binary(max_size=200))
def test_noise_is_an_input_error(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("noise") / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        read(path)


def test_truncated_files_are_input_errors(tmp_path):
    whole = (DATA / "digits.csv.gz").read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    np.savez(tmp_path / "a.npz", X=np.eye(30))
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: len(whole) // 2])
    for name, labels in (("a.csv.gz", "label"), ("a.npz", None)):
        with pytest.raises(InputError, match=r"check that the file is whole"):
            read(tmp_path / name, labels)
