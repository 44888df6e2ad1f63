"""Minimization by L-BFGS, which remembers a few past steps only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array

__all__ = ["Descent", "descend"]

Function = Callable[[Array], tuple[float, Array]]

# Past steps that the curvature is estimated from; each needs two arrays.
HISTORY = 5
# The Wolfe conditions: a step must bring this share of the decrease that the slope promises, and at most the
# second share of the slope may be left.
SUFFICIENT_DECREASE, MAX_SLOPE_LEFT = 1e-4, 0.9
MAX_TRIES = 30
# The decrease is averaged over this many steps, for a single one may be small by chance.
WINDOW = 5


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a minimization ended.

    Attributes
    ----------
    point : ndarray
    steps : int
    fall : float
        The decrease per step, averaged over the last few steps.
    converged : bool
        False if it stopped at the largest number of steps.
    """

    point: Array
    steps: int
    fall: float
    converged: bool


def descend(
    function: Function,
    start: Array,
    max_steps: int,
    min_fall: float,
    after_step: Callable[[int], None] | None = None,
) -> Descent:
    """Minimize a function of an array of any shape.

    The length of a step is found by bisection until the weak Wolfe conditions hold, which also works if the
    function has kinks. Sums are always taken in the same order, so that the result has the same bits on any
    number of threads.

    Parameters
    ----------
    function : callable
        Takes a point; returns the value there and the gradient, a new array of the same shape.
    start : ndarray
    max_steps : int
    min_fall : float
        It stops when a step lowers the function by no more than this, on average over a few steps.
    after_step : callable, optional
        Called after each step with the number of steps so far.

    Examples
    --------
    >>> found = descend(lambda x: (float((x**4).sum()), 4 * x**3), np.array([1.0, -2.0]), 100, 1e-12)
    >>> bool((abs(found.point) < 1e-2).all())
    True
    """
    point, past = start, deque[tuple[Array, Array, float]](maxlen=HISTORY)
    value, gradient = function(point)
    values = deque([value], maxlen=WINDOW + 1)
    for step in range(1, max_steps + 1):
        found = _step(function, point, value, gradient, past)
        if found is None and past:  # the curvature was misleading
            past.clear()
            found = _step(function, point, value, gradient, past)
        if found is None:
            return Descent(point, step - 1, 0.0, True)
        new, new_value, new_gradient = found
        moved, turned = new - point, new_gradient - gradient
        curvature = _dot(moved, turned)
        if curvature > 0:
            past.append((moved, turned, curvature))
        point, value, gradient = new, new_value, new_gradient
        values.append(value)
        if after_step is not None:
            after_step(step)
        fall = (values[0] - values[-1]) / (len(values) - 1)
        if len(values) > WINDOW and fall <= min_fall:
            return Descent(point, step, fall, True)
    return Descent(point, max_steps, (values[0] - values[-1]) / max(1, len(values) - 1), False)


def _dot(first: Array, second: Array) -> float:
    return float((first * second).sum())


def _direction(gradient: Array, past: deque[tuple[Array, Array, float]]) -> Array:
    """Multiply minus the gradient by the inverse Hessian that is estimated from the past steps."""
    direction, parts = -gradient, []
    for moved, turned, curvature in reversed(past):
        parts.append(_dot(moved, direction) / curvature)
        direction -= parts[-1] * turned
    if past:
        _, turned, curvature = past[-1]
        direction *= curvature / _dot(turned, turned)
    for (moved, turned, curvature), part in zip(past, reversed(parts), strict=True):
        direction += (part - _dot(turned, direction) / curvature) * moved
    return direction


def _step(
    function: Function, point: Array, value: float, gradient: Array, past: deque[tuple[Array, Array, float]]
) -> tuple[Array, float, Array] | None:
    """Take a step in the direction that the past steps suggest; None if no step lowers the function."""
    direction = _direction(gradient, past)
    # nothing is known of the curvature yet, so the first step moves no number by more than a tenth
    length = 1.0 if past else min(1.0, 0.1 / max(float(np.abs(gradient).max()), 1e-300))
    return _search(function, point, direction, value, _dot(gradient, direction), length)


def _search(
    function: Function, point: Array, direction: Array, value: float, slope: float, length: float
) -> tuple[Array, float, Array] | None:
    """Find a step that is neither too long nor too short; None if no step lowers the function."""
    if not slope < 0:
        return None
    low, high, best = 0.0, np.inf, None
    for _ in range(MAX_TRIES):
        new = point + length * direction
        new_value, gradient = function(new)
        if not new_value <= value + SUFFICIENT_DECREASE * length * slope:
            high = length
        else:
            if new_value < value:
                best = new, new_value, gradient
            if _dot(gradient, direction) >= MAX_SLOPE_LEFT * slope:
                return best
            low = length
        length = 2.0 * low if high == np.inf else (low + high) / 2
    return best
