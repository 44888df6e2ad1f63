"""Sweeps until the objective is flat, and the status that says how an iteration ended."""

from __future__ import annotations

from collections.abc import Callable

from graphsoft.aliases import Progress

__all__ = ["repeat_until_flat", "stop_status"]


def stop_status(steps: int, converged: bool, still_changing: str = "", unit: str = "sweeps") -> str:
    """Say how an iteration ended, and what to do if more steps would help.

    Examples
    --------
    >>> stop_status(9, True), stop_status(300, False, "still falling")
    ('converged after 9 sweeps', 'stopped at 300 sweeps, still falling: raise max_sweeps')
    """
    if converged:
        return f"converged after {steps} {unit}"
    return f"stopped at {steps} {unit}{', ' if still_changing else ''}{still_changing}: raise max_{unit}"


def repeat_until_flat(
    sweep: Callable[[], float],
    first: float,
    max_sweeps: int,
    min_fall: float,
    stage: str,
    progress: Progress | None,
) -> tuple[tuple[float, ...], str]:
    """Repeat a sweep that returns the objective, until one lowers it by less than `min_fall`.

    Returns
    -------
    tuple of float
        The objective: `first`, and then after each sweep.
    str
        The status.

    Examples
    --------
    >>> left = iter([4.0, 2.0, 2.0])
    >>> repeat_until_flat(lambda: next(left), 8.0, 10, 0.5, "halving", None)
    ((8.0, 4.0, 2.0, 2.0), 'converged after 3 sweeps')
    """
    trace, fall = [first], 0.0
    for done in range(1, max_sweeps + 1):
        trace.append(sweep())
        fall = trace[-2] - trace[-1]
        if progress is not None:
            progress(stage, done, max_sweeps)
        if fall < min_fall:
            break
    return tuple(trace), stop_status(len(trace) - 1, fall < min_fall, f"still falling by {fall:.1g} a sweep")
