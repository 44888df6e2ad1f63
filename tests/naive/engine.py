"""Dense, slow, obvious copies of the engine's formulas; imports nothing from the package.

W (n, n) is a symmetric graph, d its degrees, B (n, m) a factor with ``W ~ B L^-1 B^T``, ``L = diag(B^T 1)``;
S (n, m) memberships, ``S = D^-1 B``; P (m, m_above) parents.
"""

import math
import struct

import numpy as np

from naive.descent import mixed


def inverse(values):
    """1 / values, and 0 where a value is 0."""
    return np.array([1 / value if value > 0 else 0.0 for value in values])


def ratio(weights, model):
    """weights / model on the edges, 0 elsewhere."""
    quotient = np.zeros_like(weights)
    quotient[weights > 0] = weights[weights > 0] / model[weights > 0]
    return quotient


def equivalent(B):
    """The graph that a factor stands for, B L^-1 B^T."""
    return B @ np.diag(inverse(B.sum(axis=0))) @ B.T


# One level


def factor(W, S):
    return W.sum(axis=1)[:, None] * S


def model(W, S, floor=0.0):
    """B L^-1 B^T, no less than `floor` times what chance would give."""
    d = W.sum(axis=1)
    return np.maximum(equivalent(factor(W, S)), floor * np.outer(d, d))


def log_likelihood(W, S, floor=0.0):
    M = model(W, S, floor)
    return sum(W[i, j] * math.log(M[i, j]) for i, j in np.argwhere(W > 0))


def gains(W, S, floor=0.0):
    """g_iq = sum_j w_ij / (B L^-1 B^T)_ij h_jq with H = B L^-1."""
    B = factor(W, S)
    H = B @ np.diag(inverse(B.sum(axis=0)))
    return ratio(W, model(W, S, floor)) @ H


def kkt_gap(W, S, floor=0.0):
    G = gains(W, S, floor)
    return max([0.0, *(G[S == 0] - 1)])


def em_step(W, B):
    """The joint update in terms of B alone."""
    H = B @ np.diag(inverse(B.sum(axis=0)))
    return B * (ratio(W, equivalent(B)) @ H)


def em_step_joint(W, H, scale):
    """The joint update as printed: eqs. 3 and 4, with H (n, m) of column sums 1 and the diagonal `scale`."""
    n, m = H.shape
    R = ratio(W, H @ np.diag(scale) @ H.T)
    new_H, new_scale = np.zeros((n, m)), np.zeros(m)
    for p in range(m):
        for i in range(n):
            new_H[i, p] = H[i, p] * sum(R[i, j] * scale[p] * H[j, p] for j in range(n))
            new_scale[p] += scale[p] * sum(R[i, j] * H[i, p] * H[j, p] for j in range(n))
        new_H[:, p] /= new_H[:, p].sum()
    return new_H, new_scale * W.sum() / new_scale.sum()


def reweight(S, G, entry_share, min_share, max_entering=1000):
    """Shares times gains; the `max_entering` others of largest gain enter, if above one; small shares go."""
    result = np.zeros_like(S)
    for i, (shares, gain) in enumerate(zip(S, G, strict=True)):
        entering = np.zeros(len(gain))
        for q in sorted(np.flatnonzero(shares == 0), key=lambda q: -gain[q])[:max_entering]:
            entering[q] = entry_share * np.clip(gain[q] - 1, 0, 1)
        row = np.where(shares > 0, shares * gain, entering)
        row[row <= min_share] = 0
        result[i] = row / row.sum() if row.any() else shares
    return result


def dense_sweep(W, S, floor):
    grown = S * gains(W, S, floor)
    return np.array([new / new.sum() if new.any() else old for new, old in zip(grown, S, strict=True)])


# Contraction


def rounded(value):
    """The nearest number of 40 bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * 2**40 + 0.5), exponent - 40)


def best_partner(W, d, i, keys):
    """The neighbor of largest w_ij / (d_i d_j), or -1; and that score.

    Of equal ones the lightest; of these the one whose key and the node's have the smallest sum; of these the
    one of smallest hash.
    """

    def place(j):
        score = -rounded(W[i, j] / d[j] / d[i])
        hashes = (mixed(i) + mixed(j)) % 2**64
        return score, rounded(d[j]), (keys[i] + keys[j]) % 2**64, hashes

    others = [j for j in range(len(W)) if j != i and W[i, j] > 0]
    best = min(others, key=place, default=-1)
    return best, W[i, best] / d[best] / d[i] if others else 0.0


def hashed_neighborhoods(W, keys):
    """Hashes of each node's key, and of the keys of its neighbors with the first bits of the weights."""
    hashes = []
    for i in range(len(W)):
        total = 3 * keys[i]
        for j in np.flatnonzero(W[i]):
            bits = (struct.unpack("<q", struct.pack("<d", W[i, j]))[0] + 2**31) >> 32
            total += mixed((keys[j] + mixed(bits + (2**63 if j == i else 0))) % 2**64)
        hashes.append(mixed(total % 2**64))
    return hashes


def refined(W, steps):
    """Classes of nodes that look alike so many steps away: equal labels of nested tuples."""
    labels = [0] * len(W)
    for _ in range(steps):
        around = [
            (labels[i], W[i, i], sorted((labels[j], W[i, j]) for j in np.flatnonzero(W[i]) if j != i))
            for i in range(len(W))
        ]
        kinds = sorted({repr(each) for each in around})
        labels = [kinds.index(repr(each)) for each in around]
    return labels


def matching(partners, order):
    """Pairs of nodes and their partners, no node in two of them, in the given order."""
    pairs, taken = [], set()
    for i in order:
        if partners[i] >= 0 and not {i, partners[i]} & taken:
            pairs.append((min(i, partners[i]), max(i, partners[i])))
            taken |= {i, partners[i]}
    return pairs


def mutual(partners):
    """Pairs of nodes that want each other, by the lower one."""
    return [(i, j) for i, j in enumerate(partners) if j > i and partners[j] == i]


def pairs_by_partner(partners, order):
    """Pairs of nodes that want the same partner, each two that follow one another in the given order."""
    pairs, waiting = [], {}
    for i in order:
        if partners[i] >= 0:
            if partners[i] in waiting:
                pairs.append(tuple(sorted((i, waiting.pop(partners[i])))))
            else:
                waiting[partners[i]] = i
    return pairs


def indicator(group, groups):
    S = np.zeros((len(group), groups))
    S[np.arange(len(group)), group] = 1
    return S


def contract(W, group, groups):
    S = indicator(group, groups)
    return S.T @ W @ S


# From level to level


def cluster_graph(B, d):
    return B.T @ np.diag(inverse(d)) @ B


def chain(steps):
    """The chain rule: the product of row-stochastic matrices, finest first."""
    product = steps[0]
    for step in steps[1:]:
        product = product @ step
    return product


def walk(W, t):
    """How often a walk is at i now and at j after t steps, W (D^-1 W)^(t-1)."""
    step = np.diag(inverse(W.sum(axis=1))) @ W
    return W @ np.linalg.matrix_power(step, t - 1)


def lazy_parents(W, group, stay, min_chance):
    """p(parent | cluster): the group of a walk on W that stayed or stepped; small chances become 0."""
    P = np.zeros_like(group)
    step = np.diag(inverse(W.sum(axis=1))) @ W
    for q in range(len(W)):
        chance = stay * group[q] + (1 - stay) * step[q] @ group
        chance[chance < min_chance] = 0
        P[q] = chance / chance.sum()
    return P


def parent_gains(upper, P):
    """For each cluster the mean gain of its parents."""
    mean = np.zeros((len(upper), len(P)))
    for i, q in np.ndindex(mean.shape):
        mean[i, q] = sum(P[q, p] * upper[i, p] for p in range(P.shape[1]))
    return mean


def group_gains(gain, upper, held, group):
    """Gains of groups for the clusters that nodes hold, and for the best one of each group not held."""
    found = np.full(gain.shape, np.nan)
    for i in range(len(gain)):
        mine = {group[q] for q in np.flatnonzero(held[i])}
        for q in np.flatnonzero(held[i]):
            found[i, q] = upper[i, group[q]]
        for g in range(upper.shape[1]):
            others = [q for q in range(len(group)) if group[q] == g and not np.isnan(gain[i, q])]
            if g not in mine and upper[i, g] > 1 and others:
                found[i, max(others, key=lambda q, i=i: (gain[i, q], -q))] = upper[i, g]
    return found


def polish_step(W, S, P, floor=0.0, factor=1.0):
    """One step on S that raises the log-likelihood of S P."""
    grown = S * parent_gains(overrelaxed(gains(W, S @ P, floor), factor), P)
    return np.array([new / new.sum() if new.any() else old for new, old in zip(grown, S, strict=True)])


def restored(stepped, S, P):
    """Shares scaled so that groups have what they had in S; one that lost all its clusters gets them back."""
    result = np.zeros_like(S)
    for i in range(len(S)):
        for g in range(P.shape[1]):
            inside = P[:, g] > 0
            total, lost = stepped[i, inside].sum(), not (stepped[i, inside] * S[i, inside]).any()
            result[i, inside] = S[i, inside] if lost else stepped[i, inside] * S[i, inside].sum() / total
    return result


def overrelaxed(gain, factor):
    """What an overrelaxed sweep multiplies by: near one this is ``gain**factor``."""
    return gain * (1 + (factor - 1) * np.minimum(gain - 1, 0.5))


# What a level says of a point


def label(shares):
    return max(range(len(shares)), key=lambda q: (shares[q], -q))


def entropy(shares):
    return -sum(share * math.log(share) for share in shares if share > 0)


def clumps(W, size):
    """Nodes clump by clump, each from the lowest node left, breadth first, until it has `size` nodes."""
    order = []
    for lowest in range(len(W)):
        if lowest in order:
            continue
        first, head = len(order), len(order)
        order.append(lowest)
        while head < len(order) < first + size:
            order += [j for j in np.flatnonzero(W[order[head]]).tolist() if j not in order]
            head += 1
    return order
