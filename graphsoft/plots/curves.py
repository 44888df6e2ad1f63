"""Curves: how torn points are, how the levels were found, and how many clusters there seem to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.colors import level_colors
from graphsoft.errors import InputError, shown
from graphsoft.fitting.suggesting import SURE, Suggestion
from graphsoft.plots.reading import checked
from graphsoft.plots.surface import axes_of, heading, ink, legend, place_labels
from graphsoft.plots.text import counted, listed
from graphsoft.result.hierarchy import Hierarchy

__all__ = ["entropy", "suggestion", "trace"]

# Candidates whose numbers are written beside them.
NUMBERED = 8
# At smaller parts of the largest distance a level has arrived.
ROUNDING = 1e-12


def entropy(h: Hierarchy, ax: Any = None) -> Any:
    """Draw how torn the points are on each level.

    Parameters
    ----------
    h : Hierarchy
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        For every level a curve: how many points have at least so large an entropy. A point in one cluster has
        0, a point that is in two with equal chances 0.69.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> ax = graphsoft.plots.entropy(h)
    >>> [line.get_label() for line in ax.lines]
    ['level 1, 4 clusters', 'level 0, 12 clusters']
    """
    h = checked(h)
    ax = axes_of(ax, (5.6, 4.0))
    for level, color in reversed([*enumerate(level_colors(len(h)))]):
        torn = np.sort(h[level].entropy)
        values = np.concatenate(([0.0], torn, torn[-1:]))
        parts = np.concatenate(([1.0], 1 - np.arange(len(torn)) / len(torn), [0.0]))
        ax.plot(values, parts, color=color, drawstyle="steps-pre", label=_called(h, level))
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("entropy of a point, in nats, at least")
    ax.set_ylabel("part of the points")
    heading(ax, "How torn the points are", legend(ax))
    return ax


def _called(h: Hierarchy, level: int) -> str:
    return f"level {level}, {counted(len(h[level].mass), 'cluster')}"


def trace(h: Hierarchy, ax: Any = None) -> Any:
    """Draw how each level came to its likelihood, or to what its method makes small.

    Parameters
    ----------
    h : Hierarchy
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        For each level how far its `trace` is from its last value, round by round, as a part of the largest
        distance. With the default settings each level takes one round, and there is nothing to draw.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> method = graphsoft.Relation(rounds=5)
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4], method=method, polish=False)
    >>> ax = graphsoft.plots.trace(h)
    >>> [line.get_ydata()[0].item() for line in ax.lines]
    [1.0, 1.0]
    """
    h = checked(h)
    ax = axes_of(ax, (5.6, 4.0))
    drawn = 0
    for level, color in reversed([*enumerate(level_colors(len(h)))]):
        values = np.array(h.report.levels[level].trace)
        away = np.abs(values - values[-1]) if len(values) else values
        if np.count_nonzero(away) and np.isfinite(away).all():
            away = away / away.max()
            rounds = np.flatnonzero(away > ROUNDING)
            ax.plot(rounds + 1, away[rounds], "o-", color=color, markersize=3, label=_called(h, level))
            drawn += 1
    ax.set_yscale("log")
    longest = max(len(each.trace) for each in h.report.levels)
    ax.set_xlim(0.5, max(longest, 2) + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("round")
    ax.set_ylabel("distance to the last value")
    short = f"{counted(len(h) - drawn, 'level')} without a second round" if drawn < len(h) else ""
    heading(ax, "How the levels converged", legend(ax), short)
    return ax


def suggestion(found: Suggestion, ax: Any = None) -> Any:
    """Draw the evidence for each number of clusters.

    Parameters
    ----------
    found : Suggestion
        From :func:`graphsoft.suggest_levels`.
    ax : Axes, optional
        Where to draw. Without it there is a new figure.

    Returns
    -------
    Axes
        The score of each number of clusters. Filled circles are the suggested levels.

    Examples
    --------
    >>> import graphsoft
    >>> found = graphsoft.suggest_levels(graphsoft.patterns.block_graph(0, blocks=5, size=20))
    >>> ax = graphsoft.plots.suggestion(found)
    >>> ax.get_title(loc="left")
    'Suggested: 5 clusters, and levels 20 and 5'
    """
    from matplotlib.ticker import FuncFormatter, NullLocator

    if not isinstance(found, Suggestion):
        raise InputError("found", f"got {shown(found)}", "pass what graphsoft.suggest_levels returns")
    ax = axes_of(ax, (6.0, 4.0))
    many = counted(found.clusters, "cluster")
    levels = f", and levels {listed(found.levels)}" if len(found.levels) > 1 else ""
    if found.candidates:
        places = np.array([(each.clusters, each.score) for each in found.candidates])
        color = level_colors(1)[0]
        ax.plot(*places.T, color=color, linewidth=1.2)
        chosen = np.isin(places[:, 0], found.levels)
        ax.scatter(*places[chosen].T, s=45, color=color, zorder=3)
        if found.by_falls:
            ax.axhline(SURE, color=ink(ax), linewidth=0.8, linestyle=":")
        ax.set_xscale("log")
        ax.set_xlim(places[:, 0].min() / 1.15, places[:, 0].max() * 1.25)
        span = float(np.ptp(places[:, 1])) or 1.0
        ax.set_ylim(places[:, 1].min() - 0.08 * span, places[:, 1].max() + 0.15 * span)
        ticks = [count for count in (2, 3, 5, 10, 20, 30, 50, 100) if count <= places[-1, 0]]
        ax.set_xticks(ticks)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        best = [each.clusters for each in found.best(NUMBERED)]
        ends = [int(np.flatnonzero(places[:, 0] == count)[0]) for count in best]
        above = places + np.array([0.0, 0.06 * span])
        place_labels(ax, above, [f"{count:g}" for count in places[:, 0]], ends)
    ax.set_xlabel("number of clusters")
    ax.set_ylabel("score" if found.by_falls else "score: how well edges left out are predicted")
    notes = [found.reason]
    if found.candidates and found.by_falls:
        notes.append("above the dotted line a number stands out more than where there are no clusters")
    heading(ax, f"Suggested: {many}{levels}", *notes)
    return ax
