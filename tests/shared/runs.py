"""Runs in a directory: small points, and what is compared of their results."""

import hashlib
from pathlib import Path

import numpy as np

from graphsoft.distributed.files import MARK_BYTES

LEVELS = (12, 4)


def nested_clouds(n=900, d=6, seed=0):
    """Points in 12 clouds, three of them in each of 4 larger ones; returns the number of the cloud too."""
    random = np.random.default_rng(seed)
    centers = random.normal(0, 3.0, (4, d)).repeat(3, axis=0) + random.normal(0, 1.0, (12, d))
    cloud = random.integers(0, 12, n)
    return (centers[cloud] + random.normal(0, 0.6, (n, d))).astype(np.float32), cloud


def digest(directory):
    """Tell apart results by all that a run leaves.

    Its summary is left out, which has seconds and bytes, and so is the mark of each file, which says from
    which input it came.
    """
    found = hashlib.sha256()
    for path in sorted(Path(directory, "parts").rglob("*.arrays")):
        found.update(str(path.relative_to(directory)).encode())
        content = path.read_bytes()
        found.update(content[:8] + content[8 + MARK_BYTES :])
    return found.hexdigest()
