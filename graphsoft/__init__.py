"""A hierarchy of soft clusters in a sparse graph.

>>> import graphsoft
>>> import networkx as nx
>>> h = graphsoft.hierarchy(nx.karate_club_graph(), levels=[8, 2])
>>> h[-1].memberships.shape
(34, 2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphsoft.clustering import cluster
    from graphsoft.distributed.edge_files import PartitionedGraph, partitioned_graph
    from graphsoft.distributed.row_files import rows_in_files
    from graphsoft.errors import GraphsoftError, GraphsoftWarning, InputError, NotEnoughMemory, RunStopped
    from graphsoft.estimation import estimate
    from graphsoft.estimators.soft_clustering import SoftClustering
    from graphsoft.estimators.soft_hierarchy import SoftHierarchy
    from graphsoft.fitting.memory import MemoryEstimate
    from graphsoft.fitting.suggesting import Suggestion
    from graphsoft.formats.reading_json import SavedTree, read_json
    from graphsoft.graph.bipartite import bipartite_graph
    from graphsoft.graph.directed import directed_graph
    from graphsoft.graph.edges import edge_graph
    from graphsoft.graph.graph import Graph
    from graphsoft.graph.joining import knn_graph
    from graphsoft.graph.pairwise import pairwise_graph
    from graphsoft.graph.reading import as_graph
    from graphsoft.levels import hierarchy
    from graphsoft.loading import load
    from graphsoft.methods import Clustering, Relation
    from graphsoft.node_sets import (
        communities,
        overlapping,
        partitions,
        vertex_clustering,
        vertex_cover,
        write_attributes,
    )
    from graphsoft.propagation import Propagated, propagate
    from graphsoft.resampling import stability
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.level import Level
    from graphsoft.result.stability import Stability
    from graphsoft.result.stored import StoredHierarchy, StoredLevel
    from graphsoft.result.stored_points import StoredPoints
    from graphsoft.result.walks import multistep
    from graphsoft.suggestion import suggest_levels
    from graphsoft.tree import Node, Tree

    __version__: str

__all__ = [
    "Clustering",
    "Graph",
    "GraphsoftError",
    "GraphsoftWarning",
    "Hierarchy",
    "InputError",
    "Level",
    "MemoryEstimate",
    "Node",
    "NotEnoughMemory",
    "PartitionedGraph",
    "Propagated",
    "Relation",
    "RunStopped",
    "SavedTree",
    "SoftClustering",
    "SoftHierarchy",
    "Stability",
    "StoredHierarchy",
    "StoredLevel",
    "StoredPoints",
    "Suggestion",
    "Tree",
    "as_graph",
    "bipartite_graph",
    "cluster",
    "communities",
    "directed_graph",
    "edge_graph",
    "estimate",
    "hierarchy",
    "knn_graph",
    "load",
    "multistep",
    "overlapping",
    "pairwise_graph",
    "partitioned_graph",
    "partitions",
    "propagate",
    "read_json",
    "rows_in_files",
    "stability",
    "suggest_levels",
    "vertex_clustering",
    "vertex_cover",
    "write_attributes",
]

# Where each public name lives. They are imported on first use, so that `import graphsoft` stays quick.
_HOME = {
    "Clustering": "methods",
    "Graph": "graph.graph",
    "GraphsoftError": "errors",
    "GraphsoftWarning": "errors",
    "Hierarchy": "result.hierarchy",
    "InputError": "errors",
    "Level": "result.level",
    "MemoryEstimate": "fitting.memory",
    "Node": "tree",
    "NotEnoughMemory": "errors",
    "PartitionedGraph": "distributed.edge_files",
    "Propagated": "propagation",
    "Relation": "methods",
    "RunStopped": "errors",
    "SavedTree": "formats.reading_json",
    "SoftClustering": "estimators.soft_clustering",
    "SoftHierarchy": "estimators.soft_hierarchy",
    "Stability": "result.stability",
    "StoredHierarchy": "result.stored",
    "StoredLevel": "result.stored",
    "StoredPoints": "result.stored_points",
    "Suggestion": "fitting.suggesting",
    "Tree": "tree",
    "as_graph": "graph.reading",
    "bipartite_graph": "graph.bipartite",
    "cluster": "clustering",
    "communities": "node_sets",
    "directed_graph": "graph.directed",
    "edge_graph": "graph.edges",
    "estimate": "estimation",
    "hierarchy": "levels",
    "knn_graph": "graph.joining",
    "load": "loading",
    "multistep": "result.walks",
    "overlapping": "node_sets",
    "pairwise_graph": "graph.pairwise",
    "partitioned_graph": "distributed.edge_files",
    "partitions": "node_sets",
    "propagate": "propagation",
    "read_json": "formats.reading_json",
    "rows_in_files": "distributed.row_files",
    "stability": "resampling",
    "suggest_levels": "suggestion",
    "vertex_clustering": "node_sets",
    "vertex_cover": "node_sets",
    "write_attributes": "node_sets",
}


# Modules that are used by their names, as `graphsoft.methods.METHODS`.
_MODULES = (
    "colors",
    "cuts",
    "datasets",
    "methods",
    "metrics",
    "normalization",
    "patterns",
    "plots",
    "tl",
    "topics",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"graphsoft.{name}")
    if name == "__version__":
        from graphsoft.version import installed_version

        return installed_version()
    if name not in _HOME:
        raise AttributeError(f"module 'graphsoft' has no attribute {name!r}")
    value = getattr(import_module(f"graphsoft.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
