"""Dense, slow, obvious copies of what moves and merges nodes; imports nothing from the package.

W (n, n) is a symmetric graph, d its degrees. `labels` has the group of every node, `homes` the home of every
node: groups lie within homes.
"""

import numpy as np


def indicator(labels, groups):
    S = np.zeros((len(labels), groups))
    S[np.arange(len(labels)), labels] = 1
    return S


def same_partition(one, other):
    """Whether two labelings are the same groups, whatever their numbers."""
    pairs = set(zip(list(one), list(other), strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def is_nested(inner, outer):
    """Whether each inner group lies in one outer group."""
    return len(set(zip(list(inner), list(outer), strict=True))) == len(set(inner))


# Moves


def gain(W, d, labels, pull, i, group):
    """Compute w(i, group) - pull d_i (mass of the group without i)."""
    others = [j for j in range(len(W)) if j != i and labels[j] == group]
    return sum(W[i, j] for j in others) - pull * d[i] * sum(d[j] for j in others)


def gains(W, d, labels, homes, pull, i):
    """For each group of i's home with a neighbor of i, how much more i gains by it than by its own."""
    there = {labels[j] for j in range(len(W)) if j != i and W[i, j] > 0 and homes[j] == homes[i]}
    stay = gain(W, d, labels, pull, i, labels[i])
    return {int(group): gain(W, d, labels, pull, i, group) - stay for group in there - {labels[i]}}


def best_groups(W, d, labels, homes, keys, pull, i):
    """Find the groups that may be i's best, of smallest key among equals; its own, if none is better."""
    won = {group: more for group, more in gains(W, d, labels, homes, pull, i).items() if more > 0}
    if not won:
        return [labels[i]]
    equal = [group for group in won if won[group] == max(won.values())]
    return [group for group in equal if keys[group] == min(keys[other] for other in equal)]


def moved(W, labels, nodes, best, least):
    """Move nodes one by one but leave `least` in each group: labels, which nodes to look at again, moves."""
    labels, restless, moves = list(labels), set(), 0
    for i, to in zip(nodes, best, strict=True):
        if to == labels[i]:
            continue
        restless.add(int(i))
        if labels.count(labels[i]) > least:
            labels[i] = to
            restless |= {int(i), *np.flatnonzero(W[i]).tolist()}
            moves += 1
    return labels, restless, moves


def modularity(W, labels, pull):
    """Sum over ordered pairs of nodes the weights inside groups, less what chance gives at this pull."""
    d = W.sum(axis=1)
    together = np.equal.outer(labels, labels)
    return ((W - pull * np.outer(d, d)) * together).sum()


# Merges


def scores(W, d, labels):
    """The ``w / (d d)`` between groups, 0 for a group with itself; groups are called by their numbers."""
    S = indicator(labels, max(labels) + 1)
    between, masses = S.T @ W @ S, S.T @ d
    found = np.zeros_like(between)
    for p, q in np.argwhere(between > 0):
        found[p, q] = 0.0 if p == q else between[p, q] / masses[p] / masses[q]
    return found


def next_merge(W, labels, homes, fragment=0.1, half=0.5):
    """Find the largest score of two groups of one home, fragments aside if others are joined too."""
    found = scores(W, W.sum(axis=1), labels)
    of = dict(zip(labels, homes, strict=True))
    masses = [W[labels == group].sum() for group in range(len(found))]
    inside = [W[np.ix_(labels == group, labels == group)].sum() for group in range(len(found))]
    mean = sum(masses) / len(masses)
    fragments = {
        group
        for group in range(len(found))
        if masses[group] < fragment * mean and inside[group] < half * masses[group]
    }
    pairs = [(p, q) for p, q in np.ndindex(found.shape) if of[p] == of[q]]
    others = [found[p, q] for p, q in pairs if p not in fragments and q not in fragments]
    return max(others, default=0.0) or max([found[p, q] for p, q in pairs])


def is_lightest_pair(d, labels, homes, pair):
    """Whether one of a pair is the lightest group not alone in its home, the other the next there."""
    masses = {int(group): sum(d[labels == group]) for group in set(labels)}
    of = dict(zip(labels, homes, strict=True))
    others = {p: [q for q in masses if q != p and of[q] == of[p]] for p in masses}
    low, high = sorted(pair, key=lambda group: masses[group])
    bars = min(masses[p] for p in masses if others[p]), min((masses[q] for q in others[low]), default=0)
    return high in others[low] and bool(np.allclose((masses[low], masses[high]), bars, rtol=1e-9, atol=0))


def merged(W, d, homes, count):
    """Merge the two groups of largest score until `count` are left; without any, the lightest of a home.

    Returns labels numbered by first nodes, the score of the last merge, and that of the next.
    """
    labels, last = list(range(len(W))), 0.0
    while True:
        labels = [sorted(set(labels), key=labels.index).index(group) for group in labels]
        found = scores(W, d, labels)
        if len(set(labels)) == count:
            return labels, last, found.max()
        if found.max() > 0:
            low, high = np.unravel_index(np.argmax(found), found.shape)
            last = found.max()
        else:
            low, high = two_lightest(d, labels, homes)
        labels = [low if group == high else group for group in labels]


def two_lightest(d, labels, homes):
    """Find the lightest group that is not alone in its home, and the lightest other one there."""
    masses = [sum(d[np.array(labels) == group]) for group in range(max(labels) + 1)]
    of = [homes[labels.index(group)] for group in range(len(masses))]
    low = min((p for p in range(len(of)) if of.count(of[p]) > 1), key=lambda p: masses[p])
    return low, min((q for q in range(len(of)) if q != low and of[q] == of[low]), key=lambda q: masses[q])


def move_dense(W, d, homes, pull, rounds, labels):
    """Move each node in turn to the group that it gains most by, but the last one of a group."""
    labels = np.array(labels)
    for _ in range(rounds):
        for i in range(len(W)):
            if (labels == labels[i]).sum() > 1:
                won = gains(W, d, labels, homes, pull, i)
                best = max(won, key=lambda group: (won[group], -group), default=labels[i])
                if won and won[best] > 0:
                    labels[i] = best
    return labels


# Strays


def strays(W, component, count, stray, counted, most):
    """Tell which nodes lie in components too light for a cluster of their own.

    None do if there is no mass, or too few other nodes would be left, or they have too much of the mass.
    """
    mass = {part: W[component == part].sum() for part in set(component.tolist())}
    average = W.sum() / count
    enough = [part for part in mass if mass[part] >= counted * average]
    if len(enough) != count:
        enough = [part for part in mass if mass[part] >= stray * average]
    light = ~np.isin(component, enough)
    few = W[light].sum() <= most * W.sum()
    return light if W.any() and few and (~light).sum() >= count else np.zeros_like(light)


def agreement(one, other, masses):
    """The adjusted Rand index of two groupings, where pairs of nodes are drawn by mass, with replacement."""
    chance = np.outer(masses, masses) / masses.sum() ** 2
    first, second = np.equal.outer(one, one), np.equal.outer(other, other)
    both, a, b = (chance * first * second).sum(), (chance * first).sum(), (chance * second).sum()
    return (both - a * b) / ((a + b) / 2 - a * b) if (a + b) / 2 > a * b else 1.0
