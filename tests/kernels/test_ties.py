"""Loops that decide between equal scores, against their slow copies; `test_contraction` has them in use."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.engine.ties import ranks
from graphsoft.kernels.ties import hash_neighborhoods, rank_of
from naive import engine as naive
from shared.kernels import cuts, pieces, sparse
from shared.strategies import weight_matrices


@given(weight_matrices(), cuts, st.data())
def test_hash_neighborhoods(W, cut, data):
    each = st.sampled_from([0, 7, 2**64 - 1])
    keys = data.draw(st.lists(each, min_size=len(W), max_size=len(W)))
    scale = 1 / W.max() if W.any() else 1.0
    found = np.zeros(len(W), np.uint64)
    for start, stop in pieces(len(W), cut):
        with np.errstate(over="ignore"):
            hash_neighborhoods(sparse(W), scale, np.array(keys, np.uint64), start, stop, found)
    assert found.tolist() == naive.hashed_neighborhoods(W * scale, keys)


@given(st.lists(st.floats(0, 1e300), min_size=1), st.integers(-3, 3))
def test_ranks_rise_with_the_numbers_and_forget_their_last_bits(values, ulps):
    values = np.array(values)
    found = ranks(values)
    assert found.tolist() == [rank_of(value) for value in values]
    rounded = np.array([naive.rounded(value) for value in values])
    assert (np.sign(np.subtract.outer(found, found)) == np.sign(np.subtract.outer(rounded, rounded))).all()
    short = np.array([0.25, 3.0, 1 / 3, 0.1])  # far from where ranks change
    assert (ranks(short * (1 + ulps * 2.0**-52)) == ranks(short)).all()
    assert (ranks(short * (1 + 2.0**-38)) > ranks(short)).all()
