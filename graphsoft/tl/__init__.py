"""Tools for AnnData objects, in the way of scanpy's: clusters are written where scanpy looks for them.

``graphsoft.tl.hierarchy`` stands beside ``sc.tl.leiden``, and ``graphsoft.tl.predict`` beside
``sc.tl.ingest``. They need anndata: ``pip install 'graphsoft[anndata]'``.
"""

from __future__ import annotations

from graphsoft.tl.finding import hierarchy
from graphsoft.tl.predicting import predict

__all__ = ["hierarchy", "predict"]
