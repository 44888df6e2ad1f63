"""Data with two levels of known classes, for `nested.py`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import graphsoft

# Written down by what the sections mean, before any result was seen.
SECTION_GROUPS = {
    "system": "admin database embedded kernel otherosfs shells tasks utils",
    "network": "comm hamradio mail net news",
    "web": "httpd javascript php web zope",
    "scripting": "interpreters perl python ruby",
    "compiled": "cli-mono golang java rust",
    "functional": "haskell lisp ocaml",
    "development": "devel vcs",
    "desktop": "gnome gnustep kde x11 xfce",
    "media": "graphics sound video",
    "documents": "editors fonts tex text",
    "science": "education electronics gnu-r math science",
    "games": "games",
}
# Digits of similar shape, written down before any result was seen.
DIGIT_PAIRS = ((4, 9), (3, 8), (1, 7), (0, 6), (2, 5))

TEXT = "text_debian_sections.npz"
SEEDS = range(4)
# points, coarse groups, fewest and most fine groups in each, edges of a node, the share of these drawn within
# the fine group, and the share drawn within the coarse group
BLOCKS = ((1000, 4, 2, 5, 10, 0.5, 0.12), (2000, 6, 3, 6, 16, 0.4, 0.12), (3000, 3, 6, 10, 24, 0.4, 0.2))
DIMENSIONS = (5, 10, 20, 50)
GAUSSIAN_POINTS, GAUSSIAN_GROUPS = 2000, 5
DISTANCES = (4.5, 7.0)  # of fine and of coarse centers, in standard deviations of the points

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class NestedSet:
    """A graph with fine and coarse classes, and the features if there are any."""

    name: str
    family: str
    graph: graphsoft.Graph
    features: Any
    fine: Labels
    coarse: Labels

    @property
    def sizes(self) -> tuple[int, int]:
        """How many fine and coarse classes there are."""
        return len(np.unique(self.fine)), len(np.unique(self.coarse))


def text_sets(folders: Sequence[Path], neighbors: int) -> Iterator[NestedSet]:
    """Read the descriptions of packages, with sections and groups of sections."""
    found = [folder / TEXT for folder in folders if (folder / TEXT).is_file()]
    if not found:
        print(f"text: left out, no folder given with --data holds {TEXT}", file=sys.stderr)
        return
    with np.load(found[0], allow_pickle=False) as file:
        points, fine, names = file["X"].astype(np.float32), file["y"].astype(np.int64), file["names"]
    groups = {section: group for group, held in SECTION_GROUPS.items() for section in held.split()}
    numbers = {group: number for number, group in enumerate(SECTION_GROUPS)}
    coarse = np.array([numbers[groups[str(name)]] for name in names])[fine]
    graph = graphsoft.knn_graph(points, neighbors, metric="cosine")
    yield NestedSet("debian", "text", graph, points, fine, coarse)


def digit_sets(folders: Sequence[Path], neighbors: int) -> Iterator[NestedSet]:
    """Load scikit-learn's digits, with pairs of digits."""
    from sklearn.datasets import load_digits

    points, fine = load_digits(return_X_y=True)
    pair_of = np.argsort(np.concatenate(DIGIT_PAIRS)) // 2
    yield NestedSet("digits", "digits", graphsoft.knn_graph(points, neighbors), points, fine, pair_of[fine])


def draw_groups(
    rng: np.random.Generator, points: int, coarse: int, fewest: int, most: int
) -> tuple[Labels, Labels]:
    """Draw unequal fine groups and the coarse group of each; return sorted groups of points, and these."""
    above = np.repeat(np.arange(coarse), rng.integers(fewest, most + 1, size=coarse))
    shares = rng.uniform(1.0, 4.0, size=len(above))
    return np.sort(rng.choice(len(above), size=points, p=shares / shares.sum())), above


def block_graph(
    rng: np.random.Generator, fine: Labels, coarse: Labels, degree: int, inside: float, near: float
) -> Any:
    """Draw edges within fine groups, within coarse groups and anywhere; groups must be sorted."""
    kinds = rng.choice(3, size=(len(fine), degree // 2), p=(inside, near, 1.0 - inside - near))
    ends = np.zeros(kinds.shape, dtype=np.int64)
    for kind, groups in enumerate((fine, coarse, np.zeros_like(fine))):
        start, stop = np.searchsorted(groups, groups, "left"), np.searchsorted(groups, groups, "right")
        drawn = start[:, None] + rng.random(kinds.shape) * (stop - start)[:, None]
        ends = np.where(kinds == kind, drawn.astype(np.int64), ends)
    starts = np.repeat(np.arange(len(fine)), degree // 2)
    apart = starts != ends.ravel()
    half = sp.coo_array((np.ones(apart.sum()), (starts[apart], ends.ravel()[apart])), shape=[len(fine)] * 2)
    return ((half + half.T).tocsr() > 0).astype(np.float64)


def block_sets(folders: Sequence[Path], neighbors: int) -> Iterator[NestedSet]:
    """Draw nested stochastic block models, with the nodes in random order."""
    for points, groups, fewest, most, degree, inside, near in BLOCKS:
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            fine, above = draw_groups(rng, points, groups, fewest, most)
            order = rng.permutation(points)
            adjacency = block_graph(rng, fine, above[fine], degree, inside, near)[order][:, order]
            graph = graphsoft.as_graph(adjacency.tocsr(), affinity="precomputed")
            name = f"blocks {points}, {len(above)} in {groups}, seed {seed}"
            yield NestedSet(name, "blocks", graph, None, fine[order], above[fine][order])


def gaussian_sets(folders: Sequence[Path], neighbors: int) -> Iterator[NestedSet]:
    """Draw Gaussians around fine centers around coarse centers, as far from each other in all dimensions."""
    for dimensions in DIMENSIONS:
        near, far = np.array(DISTANCES) / math.sqrt(2 * dimensions)
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            fine, above = draw_groups(rng, GAUSSIAN_POINTS, GAUSSIAN_GROUPS, 2, 5)
            fine = rng.permutation(fine)
            centers = far * rng.normal(size=(GAUSSIAN_GROUPS, dimensions))[above]
            centers += near * rng.normal(size=centers.shape)
            points = centers[fine] + rng.normal(size=(len(fine), dimensions))
            graph = graphsoft.knn_graph(points, neighbors)
            name = f"gaussians {dimensions}d, {len(above)} in {GAUSSIAN_GROUPS}, seed {seed}"
            yield NestedSet(name, "gaussians", graph, points, fine, above[fine])


FAMILIES: dict[str, Callable[[Sequence[Path], int], Iterator[NestedSet]]] = {
    "text": text_sets,
    "digits": digit_sets,
    "blocks": block_sets,
    "gaussians": gaussian_sets,
}
