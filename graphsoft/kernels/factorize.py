"""Loops of the relation factorization: gains of memberships, and the memberships they lead to.

Memberships are CSR rows `(ptr, clusters, shares)` with ``shares[i] = p(cluster | node i)``; `inverse_mass` is
one over each cluster's mass, 0 for a dead one. The gain of cluster q at node i is

    g_iq = sum_j w_ij / (sum_p s_ip s_jp / mass_p) * s_jq / mass_q / d_i,

one where q holds its share at a stationary point, and at most one where it holds none.

Most nodes hold one cluster, with a share of 1, and most edges lead to such a node: `single` has its cluster,
and -1 for every other node. To all neighbors in one single cluster the model is the same, so their weights
are summed first: such an edge costs one look into `single`, and no division.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel
from graphsoft.kernels.growing import longer

__all__ = [
    "at_borders",
    "dense_sweep",
    "gains",
    "largest_outside",
    "reweight",
    "sweep",
]


@kernel
def _is_inside(indptr: Array, indices: Array, single: Array, i: int) -> bool:
    """Tell whether a node and all its neighbors hold just one cluster, the same."""
    edge = indptr[i]
    while edge < indptr[i + 1] and single[indices[edge]] == single[i]:
        edge += 1
    return bool(single[i] >= 0 and edge == indptr[i + 1])


@kernel
def _entered(cluster: int, seen: Array, gain: Array, alone: Array, found: Array, filled: int) -> int:
    """Put a cluster on the list of those found, unless it has been seen; returns how many are on it."""
    if seen[cluster]:
        return filled
    seen[cluster] = True
    gain[cluster] = alone[cluster] = 0.0
    found[filled] = cluster
    return filled + 1


@kernel
def gains(
    indptr: Array,
    indices: Array,
    weights: Array,
    degrees: Array,
    rows: Array,
    ptr: Array,
    clusters: Array,
    shares: Array,
    single: Array,
    inverse_mass: Array,
    floor: float,
    start: int,
    stop: int,
    out_ptr: Array,
    out_likelihood: Array,
) -> tuple[Array, Array]:
    """Find the clusters of the nodes ``rows[start:stop]`` and their gains: own ones first, then neighbors'.

    `floor` stands for the model at an edge whose ends share no cluster.
    """
    count = inverse_mass.shape[0]
    own, alone, gain = np.zeros(count), np.zeros(count), np.zeros(count)
    seen = np.zeros(count, dtype=np.bool_)
    out_clusters, out_gains = np.empty(stop - start, dtype=np.int32), np.empty(stop - start)
    filled = np.int64(0)  # a plain 0 is a type of its own at first, and all that is called compiles for both
    for row in range(start, stop):
        i = rows[row]
        first, likelihood = filled, 0.0
        if filled + count > len(out_clusters):
            room = 2 * (filled + count)  # seldom filled, but counting would cost another pass over the edges
            out_clusters, out_gains = longer(out_clusters, filled, room), longer(out_gains, filled, room)
        if degrees[i] > 0.0 and _is_inside(indptr, indices, single, i):
            out_clusters[filled], out_gains[filled] = single[i], 1.0
            filled += 1
            out_ptr[row - start + 1] = filled
            out_likelihood[row - start] = degrees[i] * np.log(inverse_mass[single[i]])
            continue
        # at once, for the compiler may regroup a product at the end, and degrees and masses may both be tiny
        per_degree = 1.0 / degrees[i] if degrees[i] > 0.0 else 0.0
        for at in range(ptr[i], ptr[i + 1]):
            own[clusters[at]] = shares[at] * inverse_mass[clusters[at]]
            filled = _entered(clusters[at], seen, gain, alone, out_clusters, filled)
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            if single[j] >= 0:
                only = np.uint32(single[j])  # of the type of `clusters`, so that `_entered` is compiled once
                filled = _entered(only, seen, gain, alone, out_clusters, filled)
                alone[only] += weights[edge] * per_degree
                continue
            model = 0.0
            for at in range(ptr[j], ptr[j + 1]):
                model += own[clusters[at]] * shares[at]
            model = max(model, floor)
            likelihood += weights[edge] * per_degree * np.log(model)
            ratio = weights[edge] * per_degree / model
            for at in range(ptr[j], ptr[j + 1]):
                filled = _entered(clusters[at], seen, gain, alone, out_clusters, filled)
                gain[clusters[at]] += ratio * shares[at]
        for at in range(first, filled):
            cluster = out_clusters[at]
            if alone[cluster] > 0.0:
                model = max(own[cluster], floor)
                likelihood += alone[cluster] * np.log(model)
                gain[cluster] += alone[cluster] / model
            out_gains[at] = gain[cluster] * inverse_mass[cluster]
            own[cluster] = 0.0
            seen[cluster] = False
        out_likelihood[row - start] = likelihood * degrees[i]
        out_ptr[row - start + 1] = filled
    return longer(out_clusters, filled, filled), longer(out_gains, filled, filled)


@kernel
def largest_outside(ptr: Array, gain_ptr: Array, gain: Array) -> float:
    """Find the largest gain of a cluster that its row does not hold, at least 1; own ones come first."""
    largest = 1.0
    for i in range(len(ptr) - 1):
        for at in range(gain_ptr[i] + ptr[i + 1] - ptr[i], gain_ptr[i + 1]):
            largest = max(largest, gain[at])
    return largest


@kernel
def at_borders(
    ptr: Array, gain_ptr: Array, clusters: Array, gain: Array, bar: float, rows: Array, out_ptr: Array
) -> int:
    """Keep the rows that hold several clusters or have another with a gain above `bar`; returns how many.

    Their numbers are written to `rows`; what is kept of `clusters` and `gain`, own ones first, to their
    beginning.
    """
    kept = filled = 0
    for i in range(len(ptr) - 1):
        first, own = filled, gain_ptr[i] + ptr[i + 1] - ptr[i]
        for at in range(gain_ptr[i], gain_ptr[i + 1]):
            if at < own or gain[at] > bar:
                clusters[filled], gain[filled] = clusters[at], gain[at]
                filled += 1
        if filled - first < 2:
            filled = first
            continue
        rows[kept] = i
        kept += 1
        out_ptr[kept] = filled
    return kept


@kernel
def sweep(
    indptr: Array,
    indices: Array,
    weights: Array,
    degrees: Array,
    rows: Array,
    ptr: Array,
    clusters: Array,
    shares: Array,
    single: Array,
    inverse_mass: Array,
    floor: float,
    over: float,
    min_share: float,
    start: int,
    stop: int,
    out_shares: Array,
) -> None:
    """Multiply the shares of the nodes ``rows[start:stop]`` by their gains, on the clusters that they hold.

    With an `over` above 1 by ``gain * (1 + (over - 1) * min(gain - 1, 0.5))``, near one that power of the
    gain; far from there more would overshoot. A share up to `min_share` becomes 0. A node that would lose
    everything stays as it is.
    """
    count = inverse_mass.shape[0]
    own, alone, gain = np.zeros(count), np.zeros(count), np.zeros(count)
    for row in range(start, stop):
        i = rows[row]
        per_degree = 1.0 / degrees[i] if degrees[i] > 0.0 else 0.0
        # what other clusters collect is never read, so that only these have to be cleared
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            own[cluster] = shares[at] * inverse_mass[cluster]
            alone[cluster] = gain[cluster] = 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            only = single[j]
            if only >= 0:
                alone[only] += weights[edge] * per_degree
                continue
            model = 0.0
            for at in range(ptr[j], ptr[j + 1]):
                model += own[clusters[at]] * shares[at]
            ratio = weights[edge] * per_degree / max(model, floor)
            for at in range(ptr[j], ptr[j + 1]):
                gain[clusters[at]] += ratio * shares[at]
        total = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            value = own[cluster] * gain[cluster] + alone[cluster] * min(own[cluster] / floor, 1.0)
            if value > 0.0:
                value *= 1.0 + (over - 1.0) * min(value / shares[at] - 1.0, 0.5)
            out_shares[at] = value if value > min_share else 0.0
            total += out_shares[at]
            own[cluster] = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            out_shares[at] = out_shares[at] / total if total > 0.0 else shares[at]


@kernel
def _entry_bar(gain: Array, start: int, stop: int, largest: Array) -> tuple[float, int]:
    """Find the least gain in ``start:stop``, at least 1, by which a cluster enters; how many have it."""
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
    ptr: Array,
    shares: Array,
    gain_ptr: Array,
    gain_clusters: Array,
    gain: Array,
    entry_share: float,
    max_entering: int,
    min_share: float,
    out_ptr: Array,
    out_clusters: Array,
    out_shares: Array,
) -> int:
    """Multiply the shares of all rows by their gains; returns how many remain.

    The pointers of shares and of gains need not begin at 0.

    A cluster that a row does not hold enters with ``entry_share * min(gain - 1, 1)`` if its gain is above
    one and one of the `max_entering` largest; of equal ones the first enters. A share below `min_share` is
    dropped. A row that would lose everything stays as it is.
    """
    filled = 0
    largest = np.empty(max_entering)
    for i in range(len(ptr) - 1):
        first, total = filled, 0.0
        held, own, offset = ptr[i + 1] - ptr[i], ptr[i], gain_ptr[i]
        bar, equal = _entry_bar(gain, offset + held, gain_ptr[i + 1], largest)
        for at in range(gain_ptr[i + 1] - offset):
            times, value = gain[offset + at], 0.0
            if at < held:
                value = shares[own + at] * times
            elif times > bar or (times == bar and equal > 0):
                value = entry_share * min(times - 1.0, 1.0)
                equal -= times == bar
            if value > min_share:
                out_clusters[filled] = gain_clusters[offset + at]
                out_shares[filled] = value
                total += value
                filled += 1
        if filled == first:
            for at in range(held):
                out_clusters[filled] = gain_clusters[offset + at]
                out_shares[filled] = shares[own + at]
                total += shares[own + at]
                filled += 1
        for at in range(first, filled):
            out_shares[at] /= total
        out_ptr[i + 1] = filled
    return filled


@kernel
def dense_sweep(
    indptr: Array,
    indices: Array,
    weights: Array,
    inverse_degree: Array,
    shares: Array,
    inverse_mass: Array,
    floor: float,
    start: int,
    stop: int,
    out_shares: Array,
    out_likelihood: Array,
) -> None:
    """Take one expectation-maximization step on dense memberships, (n, m), for the rows `start:stop`."""
    count = inverse_mass.shape[0]
    own = np.empty(count)
    gain = np.empty(count)
    for i in range(start, stop):
        for q in range(count):
            own[q] = shares[i, q] * inverse_mass[q]
            gain[q] = 0.0
        likelihood = 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            model = 0.0
            for q in range(count):
                model += own[q] * shares[j, q]
            model = max(model, floor)
            likelihood += weights[edge] * np.log(model)
            ratio = weights[edge] / model
            for q in range(count):
                gain[q] += ratio * shares[j, q]
        total = 0.0
        for q in range(count):
            gain[q] *= inverse_mass[q] * inverse_degree[i]
            out_shares[i, q] = shares[i, q] * gain[q]
            total += out_shares[i, q]
        for q in range(count):
            out_shares[i, q] = out_shares[i, q] / total if total > 0.0 else shares[i, q]
        out_likelihood[i - start] = likelihood
