"""The synthetic patterns in the papers behind graphsoft, drawn at random from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from graphsoft.errors import InputError

__all__ = ["PATTERNS", "block_graph", "make_pattern"]

Points = NDArray[np.float64]


def make_pattern(name: str, rng: Generator | int | None = None) -> tuple[Points, NDArray[np.int64]]:
    """Draw one of the patterns in the plane.

    Parameters
    ----------
    name : str
        One of ``PATTERNS``.
    rng : numpy Generator or int, optional
        The same number gives the same points.

    Returns
    -------
    points : ndarray of shape (n, 2)
    labels : ndarray of int, shape (n,)
        The part of the pattern that each point belongs to.

    Examples
    --------
    >>> points, labels = make_pattern("donut", rng=0)
    >>> points.shape
    (400, 2)
    >>> sorted(set(labels.tolist()))
    [0, 1]
    """
    if name not in PATTERNS:
        raise InputError("name", f"there is no pattern {name!r}", f"use one of {', '.join(PATTERNS)}")
    parts = PATTERNS[name](np.random.default_rng(rng))
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return np.concatenate(parts), labels


def block_graph(
    rng: Generator | int | None = None,
    *,
    blocks: int = 5,
    size: int = 20,
    inside: float = 0.6,
    between: float = 0.05,
) -> Any:
    """Draw from a stochastic block model: edges are frequent within a block, and rare between blocks.

    Parameters
    ----------
    rng : numpy Generator or int, optional
    blocks, size : int
        The number of blocks, and of nodes in each.
    inside, between : float
        Probability of an edge within a block, and between two blocks.

    Returns
    -------
    networkx.Graph
        Every node has a ``block``, every edge a ``weight`` between 0.5 and 1.

    Examples
    --------
    >>> graph = block_graph(0, blocks=2, size=10)
    >>> len(graph), graph.nodes[19]
    (20, {'block': 1})
    """
    import networkx as nx

    rng = np.random.default_rng(rng)
    block = np.repeat(np.arange(blocks), size)
    first, second = np.triu_indices(len(block), k=1)
    chance = np.where(block[first] == block[second], inside, between)
    drawn = rng.random(len(first)) < chance
    weights = rng.uniform(0.5, 1.0, len(first)).round(3)
    graph = nx.Graph()
    graph.add_nodes_from((node, {"block": of}) for node, of in enumerate(block.tolist()))
    graph.add_weighted_edges_from(
        zip(first[drawn].tolist(), second[drawn].tolist(), weights[drawn].tolist(), strict=True)
    )
    return graph


def _blob(rng: Generator, count: int, center: tuple[float, float], spread: float) -> Points:
    points: Points = rng.normal(center, spread, (count, 2))
    return points


def _square(rng: Generator, count: int, center: tuple[float, float], side: float) -> Points:
    points: Points = np.asarray(center) + rng.uniform(-side / 2, side / 2, (count, 2))
    return points


def _arc(
    rng: Generator, count: int, radius: float, width: float, turn: tuple[float, float] = (0.0, 1.0)
) -> Points:
    """Points along a part of a circle around the origin; `turn` is in full turns."""
    angle = 2 * np.pi * rng.uniform(*turn, count)
    distance = radius + rng.normal(0.0, width, count)
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])


def _line(
    rng: Generator, count: int, start: tuple[float, float], end: tuple[float, float], width: float
) -> Points:
    along = rng.random((count, 1))
    points: Points = (1 - along) * np.asarray(start) + along * np.asarray(end)
    return points + rng.normal(0.0, width, (count, 2))


def _background(rng: Generator, count: int, squares: list[tuple[float, float]], side: float) -> Points:
    """Points in the unit square, but none in or near the small squares."""
    points = rng.random((4 * count, 2))
    far = np.min([np.abs(points - center).max(axis=1) for center in squares], axis=0) > side
    kept: Points = points[far][:count]
    return kept


def _squares_in_background(rng: Generator, centers: list[tuple[float, float]]) -> list[Points]:
    background = _background(rng, 60 * len(centers), centers, side=0.08)
    return [background, *(_square(rng, 100, center, side=0.08) for center in centers)]


def _bridge(rng: Generator) -> list[Points]:
    """Two clouds, and ten points that lead from one to the other."""
    path = np.column_stack([np.linspace(-0.9, 0.9, 10), np.zeros(10)])
    return [_blob(rng, 100, (-2.0, 0.0), 0.5), _blob(rng, 100, (2.0, 0.0), 0.5), path]


def _donut(rng: Generator) -> list[Points]:
    return [_blob(rng, 100, (0.0, 0.0), 0.2), _arc(rng, 300, radius=2.0, width=0.15)]


def _rim(rng: Generator) -> list[Points]:
    """Four clouds, and a rim around them all."""
    clouds = [_blob(rng, 60, (x, y), 0.12) for x in (-0.6, 0.6) for y in (-0.6, 0.6)]
    return [_arc(rng, 260, radius=2.0, width=0.05), *clouds]


def _cross(rng: Generator) -> list[Points]:
    return [
        _line(rng, 150, (-1.0, -1.0), (1.0, 1.0), width=0.02),
        _line(rng, 150, (-1.0, 1.0), (1.0, -1.0), width=0.02),
    ]


def _two_gaussians(rng: Generator) -> list[Points]:
    return [_blob(rng, 150, (-1.5, 0.0), 0.7), _blob(rng, 150, (1.5, 0.0), 0.7)]


def _rings(rng: Generator) -> list[Points]:
    return [
        _blob(rng, 60, (0.0, 0.0), 0.1),
        _arc(rng, 140, radius=0.8, width=0.04),
        _arc(rng, 160, radius=2.0, width=0.05),
    ]


def _bowl(rng: Generator) -> list[Points]:
    bowl = _arc(rng, 120, radius=1.4, width=0.04, turn=(0.5, 1.0))
    return [bowl, _square(rng, 75, (-0.4, 0.0), 0.4), _square(rng, 75, (0.4, 0.0), 0.4)]


def _lines(rng: Generator) -> list[Points]:
    """Four lines above each other: long, short, long, short."""
    ends = [(0.9, 0.0), (0.3, 0.6), (0.9, 1.1), (0.3, 1.7)]
    return [_line(rng, 125, (-x, y), (x, y), width=0.03) for x, y in ends]


def _ring_with_squares(rng: Generator) -> list[Points]:
    return [
        _arc(rng, 100, radius=1.0, width=0.02),
        _square(rng, 80, (0.0, 0.5), 0.25),
        _square(rng, 100, (0.0, -0.5), 0.25),
    ]


PATTERNS: dict[str, Callable[[Generator], list[Points]]] = {
    "bridge": _bridge,
    "donut": _donut,
    "rim": _rim,
    "cross": _cross,
    "two_gaussians": _two_gaussians,
    "rings": _rings,
    "two_squares": lambda rng: _squares_in_background(rng, [(0.4, 0.4), (0.6, 0.7)]),
    "bowl": _bowl,
    "four_squares": lambda rng: _squares_in_background(
        rng, [(0.3, 0.3), (0.35, 0.7), (0.7, 0.35), (0.7, 0.75)]
    ),
    "lines": _lines,
    "ring_with_squares": _ring_with_squares,
}
