"""Places of points for as long as `h.layout()` is not there."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array

__all__ = ["layout"]

GOLDEN = 0.6180339887498949


def layout(h: Any) -> Array:
    """Place points around their finest clusters, and these around their parents."""
    tree, places = h.tree, {h.tree.root.id: (0.0, 0.0, 1.0)}
    for node in tree.walk():
        x, y, radius = places[node.id]
        for place, child in enumerate(node.children):
            angle = 2 * np.pi * GOLDEN * place
            away = radius * 0.75 * np.sqrt((place + 0.5) / len(node.children)) * (len(node.children) > 1)
            own = radius * 0.8 / np.sqrt(len(node.children))
            places[child] = (x + away * np.cos(angle), y + away * np.sin(angle), own)
    centers = np.array([places[f"0-{index}"] for index in range(tree.level_sizes[0])])
    memberships = h[0].memberships
    around = memberships @ centers
    turn = 2 * np.pi * GOLDEN * np.arange(memberships.shape[0])
    distance = around[:, 2] * np.sqrt((np.arange(memberships.shape[0]) * 0.7548776662466927) % 1.0)
    offsets = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(around[:, :2] + 0.8 * distance[:, None] * offsets, dtype=np.float32)
