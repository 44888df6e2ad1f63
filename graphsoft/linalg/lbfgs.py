"""Minimization by L-BFGS, in the little memory that a few steps back take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array

__all__ = ["Descent", "descend"]

Function = Callable[[Array], tuple[float, Array]]

# Steps that the curvature is learned from; each holds two arrays.
HISTORY = 5
# A step must bring this part of what the slope promises, and leave no more than that part of the slope.
ENOUGH, STEEP = 1e-4, 0.9
TRIES = 30
# The fall is looked at over so many steps, for a single one may be small by chance.
WINDOW = 5


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a minimization ended.

    Attributes
    ----------
    point : ndarray
    steps : int
    fall : float
        By how much a step lowered the function in the end, on average over a few.
    converged : bool
        False if the steps ran out.
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
    seen: Callable[[int], None] | None = None,
) -> Descent:
    """Minimize a function of an array of any shape.

    Steps are sought by bisection until the weak Wolfe conditions hold, which works where the function has
    kinks too. Sums are taken in one order, so that the result is the same to the last bit everywhere.

    Parameters
    ----------
    function : callable
        From a point to the value there and the gradient, a new array of the same shape.
    start : ndarray
    max_steps : int
        Steps at most.
    min_fall : float
        Stop when a step lowers the function by no more than this, on average over a few steps.
    seen : callable, optional
        Called with the number of steps after each.

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
        if found is None and past:  # the curvature misled it
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
        if seen is not None:
            seen(step)
        fall = (values[0] - values[-1]) / (len(values) - 1)
        if len(values) > WINDOW and fall <= min_fall:
            return Descent(point, step, fall, True)
    return Descent(point, max_steps, (values[0] - values[-1]) / max(1, len(values) - 1), False)


def _dot(first: Array, second: Array) -> float:
    return float((first * second).sum())


def _direction(gradient: Array, past: deque[tuple[Array, Array, float]]) -> Array:
    """Multiply minus the gradient with the inverse Hessian that the past steps tell of."""
    way, parts = -gradient, []
    for moved, turned, curvature in reversed(past):
        parts.append(_dot(moved, way) / curvature)
        way -= parts[-1] * turned
    if past:
        _, turned, curvature = past[-1]
        way *= curvature / _dot(turned, turned)
    for (moved, turned, curvature), part in zip(past, reversed(parts), strict=True):
        way += (part - _dot(turned, way) / curvature) * moved
    return way


def _step(
    function: Function, point: Array, value: float, gradient: Array, past: deque[tuple[Array, Array, float]]
) -> tuple[Array, float, Array] | None:
    """Find a step along the way that the past ones tell of; None if none lowers the function."""
    way = _direction(gradient, past)
    # the first step moves no number by more than a tenth: nothing is known of the curvature yet
    length = 1.0 if past else min(1.0, 0.1 / max(float(np.abs(gradient).max()), 1e-300))
    return _search(function, point, way, value, _dot(gradient, way), length)


def _search(
    function: Function, point: Array, way: Array, value: float, slope: float, length: float
) -> tuple[Array, float, Array] | None:
    """Find a step along `way` that is neither too long nor too short; None if none lowers the function."""
    if not slope < 0:
        return None
    low, high, best = 0.0, np.inf, None
    for _ in range(TRIES):
        new = point + length * way
        new_value, gradient = function(new)
        if not new_value <= value + ENOUGH * length * slope:
            high = length
        else:
            if new_value < value:
                best = new, new_value, gradient
            if _dot(gradient, way) >= STEEP * slope:
                return best
            low = length
        length = 2.0 * low if high == np.inf else (low + high) / 2
    return best
