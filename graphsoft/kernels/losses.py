"""Loops of the factorization under beta-divergences: stored pairs, and pairs of pooled rows that are zero.

The model of a pair is ``m_ij = sum_p g_ip g_jp``, and the divergence of a weight w from it

    d(w | m) = m^(beta-1) / beta (w ln_beta(w / m) - w + m),   ln_beta(q) = (q^(beta-1) - 1) / (beta - 1),

with the natural logarithm for beta = 1. In this form all is stable near 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["Pulls", "stored_pairs", "zero_pairs"]


class Pulls(NamedTuple):
    """Results for each row of the factor: what raises and what lowers its entries, and its divergence."""

    pull: Array
    push: Array
    divergence: Array


@kernel
def stored_pairs(
    edges: Rows, factor: Array, beta: float, floor: float, start: int, stop: int, result: Pulls
) -> None:
    """Write how the stored pairs of the rows `start:stop` pull at the factor.

    ``pull_ip = sum_j w_ij m_ij^(beta-2) g_jp``, ``push_ip = sum_j m_ij^(beta-1) g_jp``, and the divergence of
    each row. The model of a stored pair is `floor` times its weight more than the factor gives it.
    """
    pull, push = result.pull, result.push
    count = factor.shape[1]
    for i in range(start, stop):
        total = 0.0
        for p in range(count):
            pull[i, p] = 0.0
            push[i, p] = 0.0
        for edge in range(edges.ptr[i], edges.ptr[i + 1]):
            weight, j = edges.values[edge], edges.columns[edge]
            model = floor * weight
            for p in range(count):
                model += factor[i, p] * factor[j, p]
            ratio = weight / model
            surprise = np.log(ratio)
            power = 1.0
            if beta != 1.0:
                surprise = np.expm1((beta - 1.0) * surprise) / (beta - 1.0)
                power = np.exp((beta - 1.0) * np.log(model))
            total += power * (weight * surprise - weight + model) / beta
            for p in range(count):
                pull[i, p] += ratio * power * factor[j, p]
                push[i, p] += power * factor[j, p]
        result.divergence[i] = total


@kernel
def zero_pairs(
    pooled: Array, pairs: Array, beta: float, start: int, stop: int, push: Array, divergence: Array
) -> None:
    """Write how pairs of weight zero push at the pooled rows `start:stop` of the factor.

    `pairs` (q, q) counts them for every two pools. ``push_ap = sum_b pairs_ab m_ab^(beta-1) g_bp``, and the
    divergence of each row is ``sum_b pairs_ab m_ab^beta / beta``.
    """
    count = pooled.shape[1]
    for a in range(start, stop):
        total = 0.0
        for p in range(count):
            push[a, p] = 0.0
        for b in range(len(pooled)):
            model = 0.0
            for p in range(count):
                model += pooled[a, p] * pooled[b, p]
            if model <= 0.0 or pairs[a, b] == 0.0:
                continue  # pools without a common cluster have nothing to push
            power = pairs[a, b]
            if beta != 1.0:
                power *= np.exp((beta - 1.0) * np.log(model))
            total += power * model / beta
            for p in range(count):
                push[a, p] += power * pooled[b, p]
        divergence[a] = total
