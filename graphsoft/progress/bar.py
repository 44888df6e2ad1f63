"""One bar for a whole run, drawn by rich while the run lasts; imported only where a bar is drawn."""

from __future__ import annotations

import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

from graphsoft.progress.estimate import Estimate

__all__ = ["Bar"]

COMPILING = "compiling, once on this machine"
# No time is foretold before this part of the run is done: it would be far off.
MIN_PART = 0.02


class Bar:
    """Shows the stage, a bar, how much is done, how fast, for how long, and how long it will take.

    Seconds in which loops are compiled say nothing of the rest, so they are left out where it is foretold.

    Parameters
    ----------
    run : Estimate
        How far the run is. Whoever reports to it calls `step` afterwards.
    stream : text file
        A terminal.
    """

    def __init__(self, run: Estimate, stream: TextIO) -> None:
        self._run = run
        self._rate = _Rate()
        self._compiling_since: float | None = None
        self._compiled = 0.0
        self._began = time.monotonic()
        columns = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=None),
            TaskProgressColumn(), _Figures(self),
        )  # fmt: skip
        console = Console(file=stream)
        # what is printed to the standard output may go to a file, so it is left alone
        self._drawn = Progress(*columns, console=console, transient=True, redirect_stdout=False, expand=True)
        self._drawn.start()
        console.show_cursor(True)  # if the process is killed, the terminal must not be left without one
        self._task = self._drawn.add_task(run.stage, total=1.0)

    def step(self, stage: str, done: int) -> None:
        """Take over what the run has been told."""
        self._rate.step(stage, done)
        self._draw()

    def compiling(self, now: bool) -> None:
        """Say that loops are compiled, or that they no longer are."""
        if now:
            self._compiling_since = time.monotonic()
        elif self._compiling_since is not None:
            self._compiled += time.monotonic() - self._compiling_since
            self._compiling_since = None
        self._draw()

    def close(self) -> None:
        """Erase the bar."""
        self._drawn.stop()

    def figures(self) -> str:
        """Write how fast it goes, how long it has taken, and how long it will take."""
        seconds = time.monotonic() - self._began
        said = [_clock(seconds)]
        if self._compiling_since is None:
            if rate := self._rate.per_second():
                said.insert(0, f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            part = self._run.part
            if MIN_PART <= part < 1.0:
                said.append(f"{_clock((seconds - self._compiled) * (1 - part) / part)} left")
        return ", ".join(said)

    def _draw(self) -> None:
        words = self._run.stage if self._compiling_since is None else COMPILING
        self._drawn.update(self._task, completed=self._run.part, description=words)


class _Rate:
    """Counts the steps of a stage for each second since its first report."""

    def __init__(self) -> None:
        self._stage, self._first, self._since, self._done = "", 0, 0.0, 0

    def step(self, stage: str, done: int) -> None:
        if stage != self._stage or done < self._done:
            self._stage, self._first, self._since = stage, done, time.monotonic()
        self._done = done

    def per_second(self) -> float:
        seconds, steps = time.monotonic() - self._since, self._done - self._first
        return steps / seconds if steps and seconds > 0 else 0.0


class _Figures(TextColumn):
    """A column that asks the bar each time it is drawn, so that seconds go on while a stage is silent."""

    def __init__(self, bar: Bar) -> None:
        super().__init__("")
        self._bar = bar

    def render(self, task: Task) -> Text:
        return Text(self._bar.figures(), style="dim")


def _clock(seconds: float) -> str:
    """Write seconds as a clock does.

    Examples
    --------
    >>> _clock(61.2), _clock(7200.0)
    ('1:01', '2:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
