"""L-BFGS: smooth functions, functions with kinks, and when it stops."""

import numpy as np

from graphsoft.linalg.lbfgs import descend


def test_a_quadratic_is_minimized():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 12))
    A = A @ A.T + 0.1 * np.eye(12)
    b, seen = rng.normal(size=12), []
    found = descend(
        lambda x: (float(x @ A @ x / 2 - b @ x), A @ x - b), np.zeros(12), 500, 1e-14, seen.append
    )
    assert found.converged
    assert seen == list(range(1, found.steps + 1))
    np.testing.assert_allclose(found.point, np.linalg.solve(A, b), atol=1e-5)


def test_a_kink_at_the_minimum_is_no_obstacle():
    def kinked(x):
        return float(np.abs(x).sum() + (x**2).sum()), np.sign(x) + 2 * x

    found = descend(kinked, np.linspace(-3, 4, 8), 500, 1e-12)
    np.testing.assert_allclose(found.point, 0, atol=1e-3)


def test_it_stops_at_the_largest_number_of_steps():
    def valley(x):
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        slope = [-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)]
        return float(value), np.array(slope)

    found = descend(valley, np.array([-1.2, 1.0]), 5, 1e-12)
    assert (found.steps, found.converged) == (5, False)
    assert found.fall > 0
    np.testing.assert_allclose(descend(valley, np.array([-1.2, 1.0]), 200, 1e-16).point, 1, atol=1e-4)


def test_it_stays_at_a_minimum():
    found = descend(lambda x: (float((x**2).sum()), 2 * x), np.zeros(3), 10, 1e-9)
    assert (found.steps, found.converged, found.point.tolist()) == (0, True, [0, 0, 0])
