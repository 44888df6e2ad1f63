"""What is known of each point: memberships as npz, and the columns of its clusters."""

import numpy as np
from scipy.sparse import csr_array, load_npz

from graphsoft.formats.tables import memberships_to_npz, point_columns
from graphsoft.methods import Clustering


def test_memberships_come_back(tmp_path):
    memberships = csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    memberships_to_npz(memberships, tmp_path / "m.npz")
    first = (tmp_path / "m.npz").read_bytes()
    assert (load_npz(tmp_path / "m.npz") != memberships).nnz == 0
    memberships_to_npz(memberships, tmp_path / "m.npz")
    assert (tmp_path / "m.npz").read_bytes() == first  # no time stamps inside


def test_every_level_has_three_columns():
    fine = Clustering(csr_array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]), (), "by hand")
    coarse = Clustering(csr_array([[1.0], [1.0]]), (), "by hand")
    columns = point_columns(range(2), [fine, coarse])
    assert list(columns) == [
        "point", "level_0", "probability_0", "entropy_0", "level_1", "probability_1", "entropy_1",
    ]  # fmt: skip
    assert list(columns["point"]) == [0, 1]
    assert columns["level_0"].tolist() == [0, 2]
    assert columns["probability_0"].tolist() == [0.5, 0.75]
    assert columns["entropy_0"].tolist() == fine.entropy.tolist()
    assert columns["probability_1"].tolist() == [1.0, 1.0]


def test_a_level_with_names_has_a_column_of_them():
    fine = Clustering(csr_array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]), (), "by hand")
    coarse = Clustering(csr_array([[1.0], [1.0]]), (), "by hand")
    columns = point_columns(["a", "b"], [fine, coarse], {"0-2": "third"})
    assert list(columns)[:3] == ["point", "level_0", "name_0"]
    assert columns["name_0"] == ["0-0", "third"]
    assert "name_1" not in columns
