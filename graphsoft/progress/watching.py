"""Progress as public functions take it: True for a bar, a function of the caller's own, or nothing.

A run is watched once, by the public function that was called first. Other public functions that it calls are
given its `Watch`, and pass it on. The stages also go to the log of the name ``graphsoft``, as information.
"""

from __future__ import annotations

import functools
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from graphsoft.aliases import Progress
from graphsoft.interrupts import ctrl_c_comes_out, raise_if_dropped
from graphsoft.progress.estimate import Estimate

if TYPE_CHECKING:
    from graphsoft.progress.bar import Bar

__all__ = ["Watch", "watched", "watches_progress"]

LOG = logging.getLogger("graphsoft")
P = ParamSpec("P")
Result = TypeVar("Result")


class Watch:
    """What a watched run reports to; it is called as every other progress function is.

    Parameters
    ----------
    name : str
        What is running, for the log.
    stages : sequence of str
        The stages that are expected.
    told : callable or None
        The caller's own function.
    """

    def __init__(self, name: str, stages: Sequence[str], told: Progress | None = None) -> None:
        self.run = Estimate(stages)
        self.bar: Bar | None = None
        self._name, self._told = name, told
        self._stage, self._done = "", 0
        self._began = self._since = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take in that `done` of `total` steps of a stage are done, and pass it on."""
        raise_if_dropped()
        if stage != self._stage or done < self._done:
            self._end_stage()
            LOG.info("%s: %s, %s steps", self._name, stage, f"{total:,}")
            self._stage = stage
        self._done = done
        if self.bar is not None:
            self.run.update(stage, done, total)
            self.bar.step(stage, done)
        if self._told is not None:
            self._told(stage, done, total)

    def expect(self, stages: Sequence[str]) -> None:
        """Say which stages are still to come, in their order, in place of those that were expected."""
        self.run.expect(stages)

    def compiling(self, now: bool, loop: str) -> None:
        """Say that a loop is compiled, or that none is any longer."""
        if now:
            LOG.info("%s: compiling %s", self._name, loop)
        if self.bar is not None:
            self.bar.compiling(now)

    def end(self) -> None:
        """Log how long the last stage and the whole run took."""
        self._end_stage()
        LOG.info("%s took %.2f s", self._name, time.monotonic() - self._began)

    def _end_stage(self) -> None:
        if self._stage:
            now = time.monotonic()  # a stage is first reported when a part of it is done
            LOG.info("%s: %s took %.2f s", self._name, self._stage, now - self._since)
            self._stage, self._since = "", now


@contextmanager
def watched(progress: Any, name: str, stages: Sequence[str]) -> Iterator[Any]:
    """Watch a run for as long as the context lasts; yields what to report to.

    Parameters
    ----------
    progress : True, callable or None
        True draws a bar if the standard error is a terminal, or in a notebook.
    name : str
        What is running.
    stages : sequence of str
        The stages that are expected, in their order.
    """
    with ctrl_c_comes_out(), _reported(progress, name, stages) as report:
        yield report


@contextmanager
def _reported(progress: Any, name: str, stages: Sequence[str]) -> Iterator[Any]:
    """Draw a bar and write to the log, if either is wanted."""
    wanted = progress is True and _can_draw()
    if isinstance(progress, Watch) or not (wanted or LOG.isEnabledFor(logging.INFO)):
        yield None if isinstance(progress, bool) else progress
        return
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        yield progress  # the check of arguments says what is wrong with it
        return
    watch = Watch(name, stages, None if isinstance(progress, bool) else progress)
    with ExitStack() as stack:
        if wanted:
            from graphsoft.progress.bar import Bar

            watch.bar = Bar(watch.run, sys.stderr)
            stack.callback(watch.bar.close)
        from graphsoft.kernels import compiling

        stack.enter_context(compiling(watch.compiling))
        yield watch
        watch.end()


def watches_progress(*stages: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Let a function with the keyword ``progress`` take True, and log its stages.

    Parameters
    ----------
    *stages : str
        The stages that are expected, in their order.
    """

    def decorated(function: Callable[P, Result]) -> Callable[P, Result]:
        @functools.wraps(function)
        def run(*arguments: P.args, **keywords: P.kwargs) -> Result:
            with watched(keywords.get("progress"), function.__name__, stages) as progress:
                keywords["progress"] = progress
                return function(*arguments, **keywords)

        return run

    return decorated


def _can_draw() -> bool:
    """Tell whether somebody looks: a terminal, or a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()
