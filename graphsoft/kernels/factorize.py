"""Loops of the relation factorization: gains of memberships, and the memberships they lead to.

Memberships are CSR rows `(ptr, clusters, shares)` with ``shares[i] = p(cluster | node i)``; `inverse_mass` is
one over each cluster's mass, 0 for a dead one. The gain of cluster q at node i is

    g_iq = sum_j w_ij / (sum_p s_ip s_jp / mass_p) * s_jq / mass_q / d_i,

one where q holds its share at a stationary point, and at most one where it holds none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = ["dense_sweep", "gains", "lift_gains", "reach", "reweight"]

Array = np.ndarray[Any, np.dtype[Any]]


@kernel
def reach(indptr: Array, indices: Array, ptr: Array, start: int, stop: int, most: int) -> int:
    """Bound the number of clusters that the rows `start:stop` and their neighbours hold."""
    total = 0
    for i in range(start, stop):
        row = ptr[i + 1] - ptr[i]
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            row += ptr[j + 1] - ptr[j]
        total += min(row, most)
    return total


@kernel
def gains(
    indptr: Array,
    indices: Array,
    weights: Array,
    inverse_degree: Array,
    ptr: Array,
    clusters: Array,
    shares: Array,
    inverse_mass: Array,
    floor: float,
    spread: bool,
    start: int,
    stop: int,
    out_ptr: Array,
    out_clusters: Array,
    out_gains: Array,
    out_likelihood: Array,
) -> int:
    """Write the gains of the rows `start:stop`: own clusters first, then, if `spread`, their neighbours'.

    `floor` stands for the model at an edge whose ends share no cluster. Returns how many were written.
    """
    place = np.full(inverse_mass.shape[0], -1, dtype=np.int64)
    own = np.zeros(inverse_mass.shape[0])
    filled = 0
    for i in range(start, stop):
        first = filled
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            own[cluster] = shares[at] * inverse_mass[cluster]
            place[cluster] = filled
            out_clusters[filled] = cluster
            out_gains[filled] = 0.0
            filled += 1
        likelihood = 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            model = 0.0
            for at in range(ptr[j], ptr[j + 1]):
                model += own[clusters[at]] * shares[at]
            model = max(model, floor)
            likelihood += weights[edge] * np.log(model)
            ratio = weights[edge] / model
            for at in range(ptr[j], ptr[j + 1]):
                cluster = clusters[at]
                if place[cluster] < 0:
                    if not spread:
                        continue
                    place[cluster] = filled
                    out_clusters[filled] = cluster
                    out_gains[filled] = 0.0
                    filled += 1
                out_gains[place[cluster]] += ratio * shares[at] * inverse_mass[cluster]
        for at in range(first, filled):
            out_gains[at] *= inverse_degree[i]
            place[out_clusters[at]] = -1
            own[out_clusters[at]] = 0.0
        out_likelihood[i - start] = likelihood
        out_ptr[i - start + 1] = filled
    return filled


@kernel
def lift_gains(
    ptr: Array,
    clusters: Array,
    upper_ptr: Array,
    upper_clusters: Array,
    upper_gain: Array,
    parent_ptr: Array,
    parents: Array,
    parent_shares: Array,
    upper_count: int,
    start: int,
    stop: int,
    out_gain: Array,
) -> None:
    """Give each cluster of the rows `start:stop` the mean gain of its parents, ``P g_upper``."""
    above = np.zeros(upper_count)
    for i in range(start, stop):
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = upper_gain[at]
        for at in range(ptr[i], ptr[i + 1]):
            mean = 0.0
            for up in range(parent_ptr[clusters[at]], parent_ptr[clusters[at] + 1]):
                mean += parent_shares[up] * above[parents[up]]
            out_gain[at] = mean
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = 0.0


@kernel
def reweight(
    ptr: Array,
    shares: Array,
    gain_ptr: Array,
    gain_clusters: Array,
    gain: Array,
    seed: float,
    least: float,
    start: int,
    stop: int,
    out_ptr: Array,
    out_clusters: Array,
    out_shares: Array,
) -> int:
    """Multiply the shares of the rows `start:stop` by their gains; returns how many remain.

    A cluster that a row does not hold enters with ``seed * min(gain - 1, 1)`` if its gain is above one, and a
    share below `least` is dropped. A row that would lose everything stays as it is.
    """
    filled = 0
    for i in range(start, stop):
        first = filled
        held = ptr[i + 1] - ptr[i]
        offset = gain_ptr[i]
        total = 0.0
        for at in range(gain_ptr[i + 1] - offset):
            value = 0.0
            if at < held:
                value = shares[ptr[i] + at] * gain[offset + at]
            elif gain[offset + at] > 1.0:
                value = seed * min(gain[offset + at] - 1.0, 1.0)
            if value > least:
                out_clusters[filled] = gain_clusters[offset + at]
                out_shares[filled] = value
                total += value
                filled += 1
        if filled == first:
            for at in range(held):
                out_clusters[filled] = gain_clusters[offset + at]
                out_shares[filled] = shares[ptr[i] + at]
                total += shares[ptr[i] + at]
                filled += 1
        for at in range(first, filled):
            out_shares[at] /= total
        out_ptr[i - start + 1] = filled
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
