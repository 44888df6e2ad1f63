"""Dense, slow, obvious copies of how communities are counted; imports nothing from the package."""

import math


def held_out(W, left, labels, edge):
    """Nats for each unit of weight left out, from the rates within and between groups of the edges kept."""
    n, whole, rest = len(W), W.sum(), left.sum()
    found = 0.0
    for same in (True, False):
        pairs = [(i, j) for i in range(n) for j in range(n) if (labels[i] == labels[j]) == same]
        kept = sum(W[pair] for pair in pairs) / whole
        chance = sum(W[i].sum() * W[j].sum() for i, j in pairs) / whole**2
        if chance == 0.0:
            return 0.0
        weight = sum(left[pair] for pair in pairs) / rest if rest else 0.0
        found += weight * math.log((kept + edge * chance) / (1 + edge) / chance)
    return found


def worth(W, labels, one, two):
    """w / (d d) of two groups."""
    first, second = (labels == one).nonzero()[0], (labels == two).nonzero()[0]
    masses = W[first].sum() * W[second].sum()
    return W[first][:, second].sum() / masses if masses else 0.0
