"""Loops of the relation factorization: gains of clusters, and the memberships that follow from them.

Memberships are CSR rows with values ``s_iq = p(cluster q | node i)``. The gain of cluster q at node i is

    g_iq = sum_j w_ij / (sum_p s_ip s_jp / mass_p) * s_jq / mass_q / d_i.

At a stationary point it is one where q has a share of i, and at most one where it has none.

Most nodes hold a single cluster, with a share of 1, and most edges lead to such a node. To all neighbors with
the same single cluster the model is the same, so their weights are summed first. Such an edge costs one look
into `EdgeModel.single` and no division.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, inlined, kernel
from graphsoft.kernels.growing import longer

__all__ = [
    "DenseModel",
    "EdgeModel",
    "at_borders",
    "dense_sweep",
    "gains",
    "largest_outside",
    "reweight",
    "sweep",
]


class EdgeModel(NamedTuple):
    """Edges of some nodes, and the memberships that are to explain them: ``w_ij ~ sum_q b_iq b_jq / mass_q``.

    Attributes
    ----------
    edges : Rows
        Edges of the first n nodes, to any of N >= n nodes.
    degrees : ndarray of shape (n,)
    memberships : Rows
        Of all N nodes, in m clusters.
    single : ndarray of shape (N,)
        The cluster of each node that holds just one, -1 for the others.
    inverse_mass : ndarray of shape (m,)
        One over the mass of each cluster, 0 for an empty one.
    floor : float
        Stands for the model at an edge whose ends share no cluster.
    """

    edges: Rows
    degrees: Array
    memberships: Rows
    single: Array
    inverse_mass: Array
    floor: float


class DenseModel(NamedTuple):
    """The edges of a graph, and dense memberships that are to explain them.

    Attributes
    ----------
    edges : Rows
    inverse_degrees : ndarray of shape (n,)
        One over each degree, 0 for a node without edges.
    shares : ndarray of shape (n, m)
    inverse_mass : ndarray of shape (m,)
    floor : float
        The lowest value of the model at an edge.
    """

    edges: Rows
    inverse_degrees: Array
    shares: Array
    inverse_mass: Array
    floor: float


class _Sums(NamedTuple):
    """Numbers for each cluster while one node is looked at.

    Attributes
    ----------
    own : ndarray of shape (m,)
        The node's share, divided by the cluster's mass. It is 0 again after each node.
    gain : ndarray of shape (m,)
        The gain, times the cluster's mass.
    alone : ndarray of shape (m,)
        Weights of the edges to nodes that hold only this cluster, divided by the node's degree.
    seen : ndarray of bool, of shape (m,)
        Whether the cluster is on the list. It is False again after each node.
    """

    own: Array
    gain: Array
    alone: Array
    seen: Array


@inlined
def _is_inside(edges: Rows, single: Array, i: int) -> bool:
    """Tell whether a node and all its neighbors hold just one cluster, the same."""
    ptr, columns, _ = edges
    edge = ptr[i]
    while edge < ptr[i + 1] and single[columns[edge]] == single[i]:
        edge += 1
    return bool(single[i] >= 0 and edge == ptr[i + 1])


@kernel
def _add_to_list(cluster: int, sums: _Sums, clusters: Array, filled: int) -> int:
    """Put a cluster on the list of those found unless it is there already; returns the length of the list."""
    _, gain, alone, seen = sums
    if seen[cluster]:
        return filled
    seen[cluster] = True
    gain[cluster] = alone[cluster] = 0.0
    clusters[filled] = cluster
    return filled + 1


@inlined
def _sum_up(model: EdgeModel, i: int, sums: _Sums, clusters: Array, filled: int) -> tuple[int, float]:
    """Sum up over the edges of node i what its gains are made of, and list the clusters that have a gain.

    Returns the length of the list, and the log-likelihood of the edges to nodes that hold several clusters.
    """
    edges, degrees, memberships, single, inverse_mass, floor = model
    edge_ptr, columns, weights = edges
    ptr, held, shares = memberships
    own, gain, alone, _ = sums
    likelihood = 0.0
    # not at the end: the compiler may regroup such a product, and degrees and masses can both be tiny
    per_degree = 1.0 / degrees[i] if degrees[i] > 0.0 else 0.0
    for at in range(ptr[i], ptr[i + 1]):
        own[held[at]] = shares[at] * inverse_mass[held[at]]
        filled = _add_to_list(held[at], sums, clusters, filled)
    for edge in range(edge_ptr[i], edge_ptr[i + 1]):
        j = columns[edge]
        if single[j] >= 0:
            only = np.uint32(single[j])  # of the type of `held`, so that `_add_to_list` is compiled once
            filled = _add_to_list(only, sums, clusters, filled)
            alone[only] += weights[edge] * per_degree
            continue
        explained = 0.0
        for at in range(ptr[j], ptr[j + 1]):
            explained += own[held[at]] * shares[at]
        explained = max(explained, floor)
        likelihood += weights[edge] * per_degree * np.log(explained)
        ratio = weights[edge] * per_degree / explained
        for at in range(ptr[j], ptr[j + 1]):
            filled = _add_to_list(held[at], sums, clusters, filled)
            gain[held[at]] += ratio * shares[at]
    return filled, likelihood


@kernel
def gains(model: EdgeModel, nodes: Array, start: int, stop: int, likelihood: Array) -> tuple[Array, ...]:
    """Find the gains of all clusters that ``nodes[start:stop]`` or their neighbors hold.

    In each row a node's own clusters come first, in their order. The log-likelihood of each node's edges is
    written to `likelihood`.
    """
    edges, degrees, _, single, inverse_mass, floor = model
    count = len(inverse_mass)
    own, gain, alone = np.zeros(count), np.zeros(count), np.zeros(count)
    seen = np.zeros(count, dtype=np.bool_)
    sums = _Sums(own, gain, alone, seen)
    ptr = np.zeros(stop - start + 1, dtype=np.int64)
    clusters, found = np.empty(stop - start, dtype=np.int32), np.empty(stop - start)
    filled = np.int64(0)  # for a plain 0 Numba would compile `_add_to_list` and `longer` once more
    for row in range(start, stop):
        i, first = nodes[row], filled
        if filled + count > len(clusters):
            room = 2 * (filled + count)  # more than is needed, but counting costs another pass over the edges
            clusters, found = longer(clusters, filled, room), longer(found, filled, room)
        if degrees[i] > 0.0 and _is_inside(edges, single, i):
            clusters[filled], found[filled] = single[i], 1.0
            filled += 1
            likelihood[row - start] = degrees[i] * np.log(inverse_mass[single[i]])
        else:
            filled, per_degree = _sum_up(model, i, sums, clusters, filled)
            for at in range(first, filled):
                cluster = clusters[at]
                if alone[cluster] > 0.0:
                    explained = max(own[cluster], floor)
                    per_degree += alone[cluster] * np.log(explained)
                    gain[cluster] += alone[cluster] / explained
                found[at] = gain[cluster] * inverse_mass[cluster]
                own[cluster] = 0.0
                seen[cluster] = False
            likelihood[row - start] = per_degree * degrees[i]
        ptr[row - start + 1] = filled
    return ptr, longer(clusters, filled, filled), longer(found, filled, filled)


@kernel
def largest_outside(ptr: Array, found: Rows) -> float:
    """Find the largest gain of a cluster that its row does not hold, at least 1.

    `ptr` points to the memberships of the same nodes; in `found` their own clusters come first.
    """
    gain_ptr, _, gain = found
    largest = 1.0
    for i in range(len(ptr) - 1):
        first_other = gain_ptr[i] + ptr[i + 1] - ptr[i]
        for at in range(first_other, gain_ptr[i + 1]):
            largest = max(largest, gain[at])
    return largest


@kernel
def at_borders(ptr: Array, found: Rows, bar: float, rows: Array, kept_ptr: Array) -> int:
    """Keep the rows that hold several clusters or have another with a gain above `bar`.

    Returns how many. Their numbers are written to `rows`; the gains of the clusters held and of the others
    above `bar` to the beginning of `found`, with pointers in `kept_ptr`. `ptr` is as for `largest_outside`.
    """
    gain_ptr, clusters, gain = found
    kept = filled = 0
    for i in range(len(ptr) - 1):
        first, first_other = filled, gain_ptr[i] + ptr[i + 1] - ptr[i]
        for at in range(gain_ptr[i], gain_ptr[i + 1]):
            if at < first_other or gain[at] > bar:
                clusters[filled], gain[filled] = clusters[at], gain[at]
                filled += 1
        if filled - first < 2:
            filled = first
            continue
        rows[kept] = i
        kept += 1
        kept_ptr[kept] = filled
    return kept


@kernel
def sweep(
    model: EdgeModel, nodes: Array, overrelaxation: float, min_share: float,
    start: int, stop: int, stepped: Array,
) -> None:  # fmt: skip
    """Multiply the shares of ``nodes[start:stop]`` by their gains, on the clusters that they hold.

    With an `overrelaxation` r above 1 the factor is ``gain * (1 + (r - 1) * min(gain - 1, 0.5))``: near one
    this is ``gain**r``, and far from one it is less, because that would overshoot. A share up to `min_share`
    becomes 0. A node that would lose everything stays as it is.
    """
    edges, degrees, memberships, single, inverse_mass, floor = model
    edge_ptr, columns, weights = edges
    ptr, clusters, shares = memberships
    count = len(inverse_mass)
    own, alone, gain = np.zeros(count), np.zeros(count), np.zeros(count)
    for row in range(start, stop):
        i = nodes[row]
        per_degree = 1.0 / degrees[i] if degrees[i] > 0.0 else 0.0
        # sums for other clusters are never read, so only these have to be cleared
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            own[cluster] = shares[at] * inverse_mass[cluster]
            alone[cluster] = gain[cluster] = 0.0
        for edge in range(edge_ptr[i], edge_ptr[i + 1]):
            j = columns[edge]
            only = single[j]
            if only >= 0:
                alone[only] += weights[edge] * per_degree
                continue
            explained = 0.0
            for at in range(ptr[j], ptr[j + 1]):
                explained += own[clusters[at]] * shares[at]
            ratio = weights[edge] * per_degree / max(explained, floor)
            for at in range(ptr[j], ptr[j + 1]):
                gain[clusters[at]] += ratio * shares[at]
        total = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            value = own[cluster] * gain[cluster] + alone[cluster] * min(own[cluster] / floor, 1.0)
            if value > 0.0:
                value *= 1.0 + (overrelaxation - 1.0) * min(value / shares[at] - 1.0, 0.5)
            stepped[at] = value if value > min_share else 0.0
            total += stepped[at]
            own[cluster] = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            stepped[at] = stepped[at] / total if total > 0.0 else shares[at]


@inlined
def _entry_bar(gain: Array, start: int, stop: int, largest: Array) -> tuple[float, int]:
    """Find the lowest gain in ``start:stop``, at least 1, with which a cluster enters.

    Also returns how many clusters with exactly that gain enter. As many enter in all as `largest` is long; it
    is filled with the largest gains.
    """
    max_entering = len(largest)
    for place in range(max_entering):
        largest[place] = 1.0
    for at in range(start, stop):
        value, place = gain[at], max_entering - 1
        if value > largest[place]:
            while place > 0 and largest[place - 1] < value:
                largest[place] = largest[place - 1]
                place -= 1
            largest[place] = value
    bar, equal = largest[max_entering - 1], 0
    for place in range(max_entering):
        equal += largest[place] == bar
    return bar, equal


@kernel
def reweight(
    held: Rows, found: Rows, entry_share: float, max_entering: int, min_share: float, out: Rows
) -> int:
    """Multiply the shares of all rows by their gains, written to `out`; returns how many there are.

    A cluster that a row does not hold enters with ``entry_share * min(gain - 1, 1)`` if its gain is above
    one and among the `max_entering` largest; among equal ones the first enter. A share below `min_share` is
    dropped. A row that would lose everything stays as it is.
    """
    ptr, _, shares = held
    gain_ptr, clusters, gain = found
    out_ptr, out_clusters, out_shares = out
    largest = np.empty(max_entering)
    filled = 0
    for i in range(len(ptr) - 1):
        first, total = filled, 0.0
        begin, end = gain_ptr[i], gain_ptr[i + 1]
        first_other = begin + ptr[i + 1] - ptr[i]
        bar, equal = _entry_bar(gain, first_other, end, largest)
        for at in range(begin, end):
            value = 0.0
            if at < first_other:
                value = shares[ptr[i] + (at - begin)] * gain[at]
            elif gain[at] > bar or (gain[at] == bar and equal > 0):
                value = entry_share * min(gain[at] - 1.0, 1.0)
                equal -= gain[at] == bar
            if value > min_share:
                out_clusters[filled], out_shares[filled] = clusters[at], value
                total += value
                filled += 1
        if filled == first:
            for at in range(begin, first_other):
                out_clusters[filled], out_shares[filled] = clusters[at], shares[ptr[i] + (at - begin)]
                total += out_shares[filled]
                filled += 1
        for at in range(first, filled):
            out_shares[at] /= total
        out_ptr[i + 1] = filled
    return filled


@kernel
def dense_sweep(model: DenseModel, start: int, stop: int, stepped: Array, likelihood: Array) -> None:
    """Take one step of expectation maximization for the rows ``start:stop`` of dense memberships."""
    edges, inverse_degrees, shares, inverse_mass, floor = model
    ptr, columns, weights = edges
    count = len(inverse_mass)
    own = np.empty(count)
    gain = np.empty(count)
    for i in range(start, stop):
        for q in range(count):
            own[q] = shares[i, q] * inverse_mass[q]
            gain[q] = 0.0
        worth = 0.0
        for edge in range(ptr[i], ptr[i + 1]):
            j = columns[edge]
            explained = 0.0
            for q in range(count):
                explained += own[q] * shares[j, q]
            explained = max(explained, floor)
            worth += weights[edge] * np.log(explained)
            ratio = weights[edge] / explained
            for q in range(count):
                gain[q] += ratio * shares[j, q]
        for q in range(count):
            gain[q] *= inverse_mass[q] * inverse_degrees[i]
            stepped[i, q] = shares[i, q] * gain[q]
        total = 0.0
        for q in range(count):
            total += stepped[i, q]
        for q in range(count):
            stepped[i, q] = stepped[i, q] / total if total > 0.0 else shares[i, q]
        likelihood[i - start] = worth
