"""Memberships as npz, labels as csv."""

import csv
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, load_npz

from graphsoft.errors import InputError
from graphsoft.formats.tables import labels_to_csv, memberships_to_npz


def test_memberships_come_back(tmp_path):
    memberships = csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    memberships_to_npz(memberships, tmp_path / "m.npz")
    first = (tmp_path / "m.npz").read_bytes()
    assert (load_npz(tmp_path / "m.npz") != memberships).nnz == 0
    memberships_to_npz(memberships, tmp_path / "m.npz")
    assert (tmp_path / "m.npz").read_bytes() == first  # no time stamps inside


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_labels_csv(tmp_path):
    names = ["a,b", 'q"', "名", -3, "-4.5", "plain"]
    labels = [np.arange(6), np.array([0, 0, 1, 1, 1, 0])]
    entropies = [np.zeros(6), np.full(6, 1 / 3, dtype=np.float32)]
    labels_to_csv(names, labels, entropies, tmp_path / "labels.csv")
    rows = read_csv(tmp_path / "labels.csv")
    assert rows[0] == ["name", "level_0", "level_1", "entropy_0", "entropy_1"]
    assert [row[0] for row in rows[1:]] == [str(name) for name in names]
    assert [int(row[2]) for row in rows[1:]] == labels[1].tolist()
    assert [np.float32(row[4]) for row in rows[1:]] == entropies[1].tolist()
    assert b"\r" not in (tmp_path / "labels.csv").read_bytes()


@pytest.mark.parametrize(
    "name", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\rx", "\0x", "-1+cmd|' /C calc'!A0"]
)
def test_formulas_are_made_harmless(name, tmp_path):
    labels_to_csv([name], [[0]], [[0.0]], tmp_path / "labels.csv")
    assert read_csv(tmp_path / "labels.csv")[1][0] == "'" + name


def test_names_that_do_not_fit_leave_the_old_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="zip"):
        labels_to_csv(["a"], [[0, 1]], [[0.0, 0.0]], path)
    with pytest.raises(InputError, match="a file of text cannot hold"):
        labels_to_csv(["\ud800"], [[0]], [[0.0]], path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["labels.csv"]


@given(st.lists(st.text(alphabet="'=-+@1.b", max_size=6), unique=True, min_size=2))
def test_different_names_stay_different(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("names") / "labels.csv"
    zeros = [0] * len(names)
    labels_to_csv(names, [zeros], [zeros], path)
    written = [row[0] for row in read_csv(path)[1:]]
    assert len(set(written)) == len(names)
    formulas = [name for name in written if re.match(r"[=+\-@]", name)]
    assert all(re.fullmatch(r"[+-]\d+(\.\d+)?", name) for name in formulas)
