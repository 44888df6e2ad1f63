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
    from graphsoft.errors import GraphsoftError, GraphsoftWarning, InputError
    from graphsoft.graph import Graph, as_graph, knn_graph
    from graphsoft.levels import Hierarchy, Level, hierarchy
    from graphsoft.methods import Relation
    from graphsoft.tree import Node, Tree

__all__ = [
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
    "hierarchy",
    "knn_graph",
]

# Where each public name lives. They are imported on first use, so that `import graphsoft` stays quick.
_HOME = {
    "Graph": "graph",
    "GraphsoftError": "errors",
    "GraphsoftWarning": "errors",
    "Hierarchy": "levels",
    "InputError": "errors",
    "Level": "levels",
    "Node": "tree",
    "Relation": "methods",
    "Tree": "tree",
    "as_graph": "graph",
    "hierarchy": "levels",
    "knn_graph": "graph",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'graphsoft' has no attribute {name!r}")
    value = getattr(import_module(f"graphsoft.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
