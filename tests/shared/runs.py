"""Runs in a directory: small points, and what is compared of their results."""

import hashlib
from pathlib import Path

import numpy as np

LEVELS = (12, 4)


def nested_clouds(n=900, d=6, seed=0):
    """Points in 12 clouds, three of them in each of 4 larger ones; returns the number of the cloud too."""
    random = np.random.default_rng(seed)
    centers = random.normal(0, 3.0, (4, d)).repeat(3, axis=0) + random.normal(0, 1.0, (12, d))
    cloud = random.integers(0, 12, n)
    return (centers[cloud] + random.normal(0, 0.6, (n, d))).astype(np.float32), cloud


def digest(directory):
    """Tell apart results by all that a run leaves, but for its summary, which has seconds and bytes."""
    found = hashlib.sha256()
    for path in sorted(Path(directory, "parts").rglob("*.arrays")):
        found.update(str(path.relative_to(directory)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()
