"""A source of rows that are made when they are read, so that nothing holds them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MadeRows:
    """Clouds; the same chunks must be read each time."""

    n: int
    d: int
    sparse = False
    dtype = np.dtype(np.float32)

    def rows(self, start, stop):
        centers = np.random.default_rng(0).normal(size=(50, self.d)) * 1.5
        random = np.random.default_rng(start)
        chosen = centers[random.integers(50, size=stop - start)]
        return (chosen + random.normal(size=chosen.shape)).astype(np.float32)

    def identity(self):
        return {"n": self.n, "d": self.d}
