"""Slow copies of what makes blocks of edges on disk."""

import math


def edges_once(edges, nodes, directed=False):
    """The dense weights of a list of edges, of which each may be listed several times, in both directions."""
    seen = {}
    for u, v, weight in edges:
        for key in {(u, v)} if directed else {(u, v), (v, u)}:
            seen.setdefault(key, set()).add(weight)
    W = [[0.0] * nodes for _ in range(nodes)]
    for (u, v), weights in seen.items():
        mean = (min(weights) + max(weights)) / 2
        if directed:
            W[u][v] += mean / 2
            W[v][u] += mean / 2
        else:
            W[u][v] = mean
    return W


def best_center(W, degrees, is_center, i, tie):
    """The center of largest w / d among the neighbors of i: -1 if none is a center, -2 if there are none."""
    neighbors = [j for j in range(len(W)) if j != i and W[i][j] > 0]
    if not neighbors:
        return -2, 0.0
    centers = [j for j in neighbors if is_center[j]]
    if not centers:
        return -1, 0.0
    best = max(centers, key=lambda j: (W[i][j] / degrees[j], tie(i, j)))
    return best, W[i][best] / degrees[best]


def filled(asking, most):
    """The groups of units that ask (unit, target, load, load of the target), in their order."""
    leaders, now = [], {}
    for unit, target, load, of_target in asking:
        leader, taken = now.get(target, (target, of_target))
        if taken + load > most:
            leader, taken = unit, 0
        now[target] = leader, taken + load
        leaders.append(leader)
    return leaders


def moved(W, loads, labels, room):
    """Labels after each node went where most of its weight leads, and the room that is left."""
    labels, room = list(labels), list(room)
    for i in range(len(loads)):
        sums = [
            math.fsum(W[i][j] for j in range(len(W)) if j != i and labels[j] == q) for q in range(len(room))
        ]
        own = labels[i]
        better = [q for q in range(len(room)) if sums[q] > sums[own] * (1 + 1e-9) and room[q] >= loads[i]]
        if better:
            best = max(better, key=lambda q: (sums[q], -q))
            room[best] -= loads[i]
            room[own] += loads[i]
            labels[i] = best
    return labels, room
