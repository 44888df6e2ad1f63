"""Readers of files: one function, `read`, turns a table, a matrix or a graph into something to cluster.

Nothing is ever unpickled.
"""

from __future__ import annotations

from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.reading import read

__all__ = ["Dataset", "read"]
