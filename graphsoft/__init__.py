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
    from graphsoft.errors import GraphsoftError, GraphsoftWarning, InputError
    from graphsoft.graph import Graph, as_graph, knn_graph
    from graphsoft.levels import hierarchy
    from graphsoft.methods import Clustering, Relation
    from graphsoft.pairwise import pairwise_graph
    from graphsoft.result import Hierarchy, Level
    from graphsoft.tree import Node, Tree
    from graphsoft.walks import multistep

__all__ = [
    "Clustering",
    "Graph",
    "GraphsoftError",
    "GraphsoftWarning",
    "Hierarchy",
    "InputError",
    "Level",
    "Node",
    "Relation",
    "Tree",
    "as_graph",
    "cluster",
    "hierarchy",
    "knn_graph",
    "multistep",
    "pairwise_graph",
]

# Where each public name lives. They are imported on first use, so that `import graphsoft` stays quick.
_HOME = {
    "Clustering": "methods",
    "Graph": "graph",
    "GraphsoftError": "errors",
    "GraphsoftWarning": "errors",
    "Hierarchy": "result",
    "InputError": "errors",
    "Level": "result",
    "Node": "tree",
    "Relation": "methods",
    "Tree": "tree",
    "as_graph": "graph",
    "cluster": "clustering",
    "hierarchy": "levels",
    "knn_graph": "graph",
    "multistep": "walks",
    "pairwise_graph": "pairwise",
}


# Modules that are used by their names, as `graphsoft.methods.METHODS`.
_MODULES = ("cuts", "datasets", "methods", "metrics", "normalization", "patterns")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"graphsoft.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'graphsoft' has no attribute {name!r}")
    value = getattr(import_module(f"graphsoft.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
