"""Names for types that many signatures contain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Array", "Progress"]

Array = np.ndarray[Any, np.dtype[Any]]
Progress = Callable[[str, int, int], None]
"""What ``progress=`` takes: a function of the stage, how much of it is done, and the total."""
