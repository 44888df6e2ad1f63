"""Normalizations of affinities, compared with their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsoft.errors import InputError
from graphsoft.normalization import (
    PlusRankTwo,
    additive,
    doubly_stochastic,
    normalized_step,
    rescaled,
)
from naive import completely_positive as naive
from shared.strategies import extreme, small, weight_matrices


@st.composite
def signed(draw, max_size=10):
    """Symmetric matrices with entries of either sign, and a diagonal of any kind."""
    W = draw(weight_matrices(1, max_size, small))
    signs = draw(st.lists(st.sampled_from([-1.0, 1.0, 1.0]), min_size=W.size, max_size=W.size))
    upper = np.triu(W * np.reshape(signs, W.shape))
    return upper + np.triu(upper, 1).T


def with_zero_sums(E):
    """The nearest symmetric matrix whose rows sum to zero."""
    n = len(E)
    center = np.eye(n) - 1 / n
    return center @ (E + E.T) @ center


@given(weight_matrices(weights=small))
def test_one_step_follows_its_formula(K):
    np.testing.assert_allclose(normalized_step(sp.csr_array(K)).toarray(), naive.step(K), rtol=1e-12)


@given(weight_matrices(), st.integers(1, 5))
def test_scaling_repeats_the_step(K, steps):
    found = doubly_stochastic(sp.csr_array(K), tolerance=1e-12, max_steps=steps)
    if "stopped after" in found.status and f" {steps} steps" in found.status:
        np.testing.assert_allclose(found.matrix.toarray(), naive.doubly_stochastic(K, steps), rtol=1e-9)
    assert (found.matrix != found.matrix.T).nnz == 0
    off = abs(found.matrix.sum(axis=1) - 1)[K.any(axis=1)]
    np.testing.assert_allclose(found.off, max(off, default=0), atol=1e-12)


@given(weight_matrices(weights=small))
def test_a_positive_diagonal_allows_row_sums_of_one(K):
    K = K + np.eye(len(K)) * K.max(axis=1)
    found = doubly_stochastic(sp.csr_array(K))
    sums = found.matrix.sum(axis=1)
    np.testing.assert_allclose(sums[K.any(axis=1)], 1, atol=1e-9)
    assert found.status.startswith("doubly stochastic after")
    np.testing.assert_allclose(rescaled(sp.csr_array(K), found.factors).toarray(), found.matrix.toarray())


def test_the_permanent_never_falls():
    from itertools import permutations

    K = np.random.default_rng(0).random((5, 5))
    K = naive.step(K + K.T)
    values = []
    for _ in range(8):
        values.append(sum(np.prod([K[i, p[i]] for i in range(5)]) for p in permutations(range(5))))
        K = normalized_step(sp.csr_array(K)).toarray()
    assert (np.diff(values) >= -1e-15).all()


@pytest.mark.parametrize(
    ("edges", "n"), [([(0, i) for i in range(1, 8)], 8), ([(0, 1), (1, 2), (2, 3)], 4), ([(0, 1), (0, 2)], 4)]
)
def test_if_no_factors_exist_scaling_stops_and_says_so(edges, n):
    K = np.zeros((n, n))
    for i, j in edges:
        K[i, j] = K[j, i] = 1
    found = doubly_stochastic(sp.csr_array(K))
    assert found.status.startswith("stopped after")
    assert "a positive diagonal" in found.status
    assert repr(found) == f"Scaled({found.status})"
    assert found.off > 1e-4
    assert np.isfinite(found.matrix.data).all()


@given(weight_matrices(2, weights=extreme))
def test_scaling_of_extreme_weights(K):
    found = doubly_stochastic(sp.csr_array(K))
    assert np.isfinite(found.matrix.data).all()
    assert (normalized_step(sp.csr_array(K)).data <= 1 + 1e-9).all()


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300])
def test_the_unit_of_the_weights_does_not_matter(scale):
    K = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 2.0, 4.0]])
    given = sp.csr_array(K * scale)
    one, other = doubly_stochastic(sp.csr_array(K)), doubly_stochastic(given)
    np.testing.assert_allclose(other.matrix.toarray(), one.matrix.toarray(), rtol=1e-12)
    np.testing.assert_allclose(other.factors * np.sqrt(scale), one.factors, rtol=1e-12)
    np.testing.assert_allclose(
        normalized_step(given).toarray(), normalized_step(sp.csr_array(K)).toarray(), rtol=1e-12
    )
    if scale > 1e-320:  # smaller numbers have too few digits
        np.testing.assert_allclose(additive(given).mu / scale, additive(sp.csr_array(K)).mu, atol=1e-12)


def test_components_of_very_different_weights():
    K = sp.block_diag([np.full((2, 2), 1e308), np.ones((2, 2))], format="csr")
    np.testing.assert_allclose(doubly_stochastic(K).matrix.toarray()[:2, :2], 0.5)
    np.testing.assert_allclose(normalized_step(K).toarray()[2:, 2:], 0.5)
    assert np.isfinite(additive(K).mu).all()


@given(signed())
def test_additive_follows_equation_10_with_the_smallest_beta(K):
    found, beta = additive(sp.csr_array(K)), naive.smallest_beta(K)
    size = 1 + abs(K).max()
    np.testing.assert_allclose(found.toarray(), naive.additive(K, beta), atol=1e-12 * size)
    assert naive.additive(K, beta).min() >= -1e-12 * size
    assert naive.additive(K, beta - 1e-3 * size).min() < -1e-12 * size


@given(signed(), st.integers(0, 9))
def test_additive_follows_its_definition(K, seed):
    matrix = additive(sp.csr_array(K))
    F, n, size = matrix.toarray(), len(K), 1 + abs(K).max()
    sums = F.sum(axis=1)
    np.testing.assert_allclose(sums, sums.mean(), atol=1e-11 * size)
    assert (F == F.T).all()
    assert F.min() >= -1e-12 * size
    assert F.min() <= 1e-12 * size  # with a smaller beta, entries would be negative
    # it is the nearest of all symmetric matrices with these row sums: the difference E to any other one has
    # rows that sum to zero, and is orthogonal to F - K
    E = with_zero_sums(np.random.default_rng(seed).normal(size=(n, n)))
    assert abs(np.sum((F - K) * E)) <= 1e-9 * size * max(np.linalg.norm(E), 1e-9) * n
    assert np.linalg.norm(F + 0.1 * E - K) >= np.linalg.norm(F - K) - 1e-9 * size


@given(signed(), st.integers(0, 9))
def test_a_matrix_in_parts_equals_the_dense_one(K, seed):
    random = np.random.default_rng(seed)
    matrix = PlusRankTwo(sp.csr_array(K), random.normal(size=len(K)))
    dense, X = matrix.toarray(), random.normal(size=(len(K), 3))
    size = 1 + abs(dense).max()
    np.testing.assert_allclose(matrix @ X, dense @ X, atol=1e-11 * size)
    np.testing.assert_allclose(matrix.row_sums(), dense.sum(axis=1), atol=1e-11 * size)
    np.testing.assert_allclose(matrix.diagonal(), np.diag(dense), atol=1e-11 * size)
    np.testing.assert_allclose(matrix.squared_norm(), np.sum(dense**2), rtol=1e-9, atol=1e-9)
    assert repr(matrix).startswith(f"PlusRankTwo({len(K)} rows")


def test_the_input_does_not_change():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 5.0], [0.0, 5.0, 3.0]])
    given_ = sp.csr_array(K)
    for function in (normalized_step, doubly_stochastic, additive):
        function(given_)
        assert (given_.toarray() == K).all()


def test_additive_stays_sparse():
    n = 20_000
    ring = sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr()
    found = additive(ring)
    assert found.sparse.nnz == ring.nnz
    np.testing.assert_allclose(found.row_sums(), found.row_sums()[0])


@pytest.mark.parametrize("function", [normalized_step, doubly_stochastic, additive])
def test_bad_matrices_are_refused(function):
    for bad, words in [
        (np.eye(2), r"matrix: got .* pass a SciPy sparse matrix"),
        (sp.csr_array(np.ones((2, 3))), r"matrix: has shape \(2, 3\)"),
        (sp.csr_array([[0.0, 1.0], [2.0, 0.0]]), "matrix: is not symmetric: entries differ by 1"),
        (sp.csr_array([[np.nan, 1.0], [1.0, 0.0]]), "matrix: 1 entries are NaN"),
    ]:
        with pytest.raises(InputError, match=words):
            function(bad)


@pytest.mark.parametrize("function", [normalized_step, doubly_stochastic])
def test_factors_need_entries_of_at_least_zero(function):
    with pytest.raises(InputError, match=r"matrix: 2 entries are negative.*additive"):
        function(sp.csr_array([[0.0, -1.0], [-1.0, 0.0]]))


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"tolerance": 0}, "tolerance: got 0"),
        ({"tolerance": "low"}, "tolerance: got 'low'"),
        ({"max_steps": 0}, "max_steps: got 0"),
    ],
)
def test_bad_settings_of_scaling(keywords, words):
    with pytest.raises(InputError, match=words):
        doubly_stochastic(sp.eye_array(2), **keywords)


def test_rounding_differences_between_the_two_directions_are_removed():
    K = np.array([[0.0, 1.0], [1.0 + 1e-12, 0.0]])
    found = additive(sp.csr_array(K)).sparse
    assert (found != found.T).nnz == 0
