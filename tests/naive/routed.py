"""Slow, obvious copies of what partitions find of neighbors; imports nothing from the package."""

import math


def lists_by_partitions(rows, seen_by, k):
    """The k nearest distinct rows, by (distance, row), among those that some partition sees beside each row.

    Parameters
    ----------
    rows : list of tuples
    seen_by : list of sets
        The partitions that see each row.
    k : int

    Returns
    -------
    dict
        For the first of identical rows its list of (distance, first of identical rows).
    """
    first = {}
    for number, row in enumerate(rows):
        first.setdefault(row, number)
    lists = {}
    for row, number in first.items():
        others = [other for other in first.values() if other != number and seen_by[number] & seen_by[other]]
        lists[number] = sorted((math.dist(row, rows[other]), other) for other in others)[:k]
    return lists
