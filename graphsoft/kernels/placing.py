"""Forces between points of a plane: along edges, and from all other points by way of a quadtree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, inlined, kernel

__all__ = ["Cells", "attract", "grow_cells", "lean", "measure_cells", "morton_codes", "push_apart", "repel"]


class Cells(NamedTuple):
    """The cells of a quadtree, each before those inside it.

    Attributes
    ----------
    bounds : ndarray of shape (cells, 3)
        The first point of the cell, the one after its last, and the first cell that is not inside it.
    middles : ndarray of shape (cells, 4)
        Its center of mass, its mass, and the square of the longer side of the box around its points.
    """

    bounds: Array
    middles: Array


@kernel
def morton_codes(points: Array, low: Array, scale: float, codes: Array) -> None:
    """Interleave the bits of both coordinates, of which `scale` makes numbers below 2**31."""
    for i in range(len(codes)):
        code = np.uint64(0)
        for axis in range(2):
            bits = np.uint64((points[i, axis] - low[axis]) * scale)
            bits = (bits | (bits << np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
            bits = (bits | (bits << np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
            bits = (bits | (bits << np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            bits = (bits | (bits << np.uint64(2))) & np.uint64(0x3333333333333333)
            bits = (bits | (bits << np.uint64(1))) & np.uint64(0x5555555555555555)
            code |= bits << np.uint64(axis)
        codes[i] = code


@inlined
def _cut(codes: Array, start: int, stop: int, cuts: Array) -> None:
    """Cut a range of codes into four, by the first pair of bits that is not the same in all."""
    cuts[0], cuts[1:] = start, stop
    differing = codes[start] ^ codes[stop - 1]
    if differing == 0:  # all at one place, where any two halves will do
        cuts[1] = (start + stop) // 2
        return
    shift = np.uint64(0)
    while (differing >> shift) > np.uint64(3):
        shift += np.uint64(2)
    for quarter in range(1, 4):
        low, high = cuts[quarter - 1], stop  # the first point of this quarter or of a later one
        while low < high:
            middle = (low + high) // 2
            if (codes[middle] >> shift) & np.uint64(3) < np.uint64(quarter):
                low = middle + 1
            else:
                high = middle
        cuts[quarter] = low


@kernel
def grow_cells(codes: Array, bucket: int, bounds: Array) -> int:
    """Divide points into cells by their sorted codes, until none at the bottom has more than `bucket`.

    Writes the `bounds` of the cells. Returns how many there are, which is below twice the number of points.
    """
    # There are at most 31 cuts by codes on the way down, and 63 into halves. Each leaves three ranges or one.
    waiting = np.empty((256, 2), dtype=np.int64)
    waiting[0, 0], waiting[0, 1] = 0, len(codes)
    cuts = np.empty(5, dtype=np.int64)
    left, count = 1, 0
    while left > 0:
        left -= 1
        start, stop = waiting[left, 0], waiting[left, 1]
        bounds[count, 0], bounds[count, 1] = start, stop
        count += 1
        if stop - start <= bucket:
            continue
        _cut(codes, start, stop, cuts)
        for quarter in range(3, -1, -1):
            if cuts[quarter] < cuts[quarter + 1]:
                waiting[left, 0], waiting[left, 1] = cuts[quarter], cuts[quarter + 1]
                left += 1
    for cell in range(count - 1, -1, -1):
        after = cell + 1
        while after < count and bounds[after, 0] < bounds[cell, 1]:
            after = bounds[after, 2]
        bounds[cell, 2] = after
    return count


@kernel
def measure_cells(points: Array, masses: Array, bounds: Array, start: int, stop: int, middles: Array) -> None:
    """Write the `middles` of the cells ``start:stop``."""
    for cell in range(start, stop):
        mass, x, y = 0.0, 0.0, 0.0
        low_x, high_x, low_y, high_y = np.inf, -np.inf, np.inf, -np.inf
        for i in range(bounds[cell, 0], bounds[cell, 1]):
            mass += masses[i]
            x += masses[i] * points[i, 0]
            y += masses[i] * points[i, 1]
            low_x, high_x = min(low_x, points[i, 0]), max(high_x, points[i, 0])
            low_y, high_y = min(low_y, points[i, 1]), max(high_y, points[i, 1])
        middles[cell, 0], middles[cell, 1], middles[cell, 2] = x / mass, y / mass, mass
        middles[cell, 3] = max(high_x - low_x, high_y - low_y) ** 2


@inlined
def _list_sources(points: Array, masses: Array, cells: Cells, cell: int, opening: float, found: Array) -> int:
    """List what acts on the points of a cell: far cells as one point each, and near points; how many."""
    bounds, middles = cells
    first, last = bounds[cell, 0], bounds[cell, 1]
    low_x, high_x, low_y, high_y = np.inf, -np.inf, np.inf, -np.inf
    for i in range(first, last):
        low_x, high_x = min(low_x, points[i, 0]), max(high_x, points[i, 0])
        low_y, high_y = min(low_y, points[i, 1]), max(high_y, points[i, 1])
    listed, other = 0, 0
    while other < bounds.shape[0]:
        x, y = middles[other, 0], middles[other, 1]
        off_x, off_y = max(low_x - x, x - high_x, 0.0), max(low_y - y, y - high_y, 0.0)
        if middles[other, 3] <= opening * (off_x * off_x + off_y * off_y):
            found[0, listed], found[1, listed], found[2, listed] = x, y, middles[other, 2]
            listed += 1
            other = bounds[other, 2]
        elif bounds[other, 2] == other + 1:
            for j in range(bounds[other, 0], bounds[other, 1]):
                found[0, listed], found[1, listed], found[2, listed] = points[j, 0], points[j, 1], masses[j]
                listed += 1
            other += 1
        else:
            other += 1
    return listed


@kernel
def repel(
    points: Array, masses: Array, cells: Cells, opening: float, start: int, stop: int, out: Array
) -> None:
    """Sum ``m_j k^2 (y_i - y_j)`` and ``m_j k`` over all other points j; ``k = 1 / (1 + |y_i - y_j|^2)``.

    It works on the points of the lowest cells among ``start:stop``.

    Parameters
    ----------
    points, masses : ndarrays of shape (n, 2) and (n,)
        In the order of the cells.
    cells : Cells
    opening : float
        A cell acts as one point where the square of its side is at most `opening` times that of its distance.
    start, stop : int
    out : ndarray of shape (n, 3)
    """
    bounds = cells.bounds
    found = np.empty((3, len(masses)))
    for cell in range(start, stop):
        if bounds[cell, 2] > cell + 1:
            continue
        listed = _list_sources(points, masses, cells, cell, opening, found)
        for i in range(bounds[cell, 0], bounds[cell, 1]):
            x, y = points[i, 0], points[i, 1]
            push_x = push_y = total = 0.0
            for at in range(listed):
                off_x, off_y = x - found[0, at], y - found[1, at]
                near = 1.0 / (1.0 + off_x * off_x + off_y * off_y)
                push = found[2, at] * near
                total += push
                push *= near
                push_x += push * off_x
                push_y += push * off_y
            out[i, 0], out[i, 1], out[i, 2] = push_x, push_y, total - masses[i]


@kernel
def attract(edges: Rows, points: Array, start: int, stop: int, out: Array) -> None:
    """Sum ``w_ij k (y_j - y_i)`` and ``w_ij k`` over the edges of rows ``start:stop``; k as in `repel`."""
    ptr, columns, weights = edges
    for i in range(start, stop):
        x, y = points[i, 0], points[i, 1]
        pull_x = pull_y = stiff = 0.0
        for edge in range(ptr[i], ptr[i + 1]):
            j = columns[edge]
            off_x, off_y = points[j, 0] - x, points[j, 1] - y
            pull = weights[edge] / (1.0 + off_x * off_x + off_y * off_y)
            pull_x += pull * off_x
            pull_y += pull * off_y
            stiff += pull
        out[i, 0], out[i, 1], out[i, 2] = pull_x, pull_y, stiff


@kernel
def lean(aims: Array, points: Array, start: int, stop: int, out: Array) -> None:
    """Average over all aims ``(c - y_i) / (1 + v + |c - y_i|^2)`` for the points ``start:stop``.

    An aim of a point is a place c and a variance v: `aims` has the shape (levels, n, 3).
    """
    for i in range(start, stop):
        x = y = 0.0
        for level in range(len(aims)):
            off_x, off_y = aims[level, i, 0] - points[i, 0], aims[level, i, 1] - points[i, 1]
            pull = 1.0 / (1.0 + aims[level, i, 2] + off_x * off_x + off_y * off_y)
            x += pull * off_x
            y += pull * off_y
        out[i, 0], out[i, 1] = x / len(aims), y / len(aims)


@kernel
def push_apart(centers: Array, radii: Array, order: Array, moves: Array) -> float:
    """Add to `moves` what takes each two overlapping circles apart, the smaller of them further.

    Returns the least distance of two centers, as a part of the sum of their radii, or 1.

    Parameters
    ----------
    centers, radii : ndarrays of shape (m, 2) and (m,)
    order : ndarray of shape (m,)
        The circles by their left ends, ``x - r``.
    moves : ndarray of shape (m, 2)
    """
    least = 1.0
    for place in range(len(order)):
        i = order[place]
        right = centers[i, 0] + radii[i]
        for later in range(place + 1, len(order)):
            j = order[later]
            if centers[j, 0] - radii[j] >= right:
                break
            x, y, reach = centers[j, 0] - centers[i, 0], centers[j, 1] - centers[i, 1], radii[i] + radii[j]
            distance = np.hypot(x, y)
            if distance >= reach:
                continue
            least = min(least, distance / reach)
            if distance < 1e-9 * reach:  # then any direction is as good
                x, y, distance = np.cos(1.0 * i + j), np.sin(1.0 * i + j), 1.0
                step = reach
            else:
                step = reach - distance
            share = radii[j] ** 2 / (radii[i] ** 2 + radii[j] ** 2)
            for axis, part in ((0, x / distance), (1, y / distance)):
                moves[i, axis] -= 0.5 * step * share * part
                moves[j, axis] += 0.5 * step * (1.0 - share) * part
    return least
