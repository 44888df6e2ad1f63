"""Colors and places for as long as `graphsoft.colors` and `h.layout()` are not there."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np

from graphsoft.aliases import Array

__all__ = ["cluster_colors", "layout"]

GOLDEN = 0.6180339887498949


def cluster_colors(tree: Any) -> list[Array]:
    """Choose a color for every cluster: for each level uint8 of shape (m, 3)."""
    tops = tree.level_sizes[-1]
    colors = {}
    for node in reversed(tree.nodes):
        if node.level == len(tree.level_sizes):
            continue
        if node.level == len(tree.level_sizes) - 1:
            colors[node.id] = ((node.index * GOLDEN) % 1.0, 0.45, 0.55 if tops > 1 else 0.65)
        for place, child in enumerate(node.children):
            hue, light, strength = colors[node.id]
            shift = (place + 0.5) / len(node.children) - 0.5
            colors[child] = (hue + 0.04 * shift, min(max(light + 0.16 * shift, 0.3), 0.7), strength)
    return [
        np.array(
            [
                [round(255 * part) for part in colorsys.hls_to_rgb(*colors[f"{level}-{index}"])]
                for index in range(size)
            ],
            dtype=np.uint8,
        )
        for level, size in enumerate(tree.level_sizes)
    ]


def layout(h: Any) -> Array:
    """Place the points: around the centers of their finest clusters, which lie around those of their parents."""
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
