"""Readers of graphs: lists of edges, and GraphML."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array

from graphsoft.datasets.asked import Asked
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.text import as_labels, is_number, open_text
from graphsoft.errors import InputError

__all__ = ["read_edges", "read_graphml"]


def read_edges(path: Path, asked: Asked) -> Dataset:
    """Read a list of edges, with or without weights."""
    numbers: dict[str, int] = {}
    edges: dict[tuple[int, int], tuple[float, int]] = {}
    fields_before = 0
    with open_text(path, asked.limit) as file:
        for line, text in enumerate(file, start=1):
            fields = text.partition("#")[0].split()
            if not fields:
                continue
            if len(fields) not in (2, 3) or fields_before not in (0, len(fields)):
                problem = f"line {line} has {len(fields)} fields"
                raise InputError("path", problem, "write 'u v' on every line, or 'u v weight' on every line")
            fields_before = len(fields)
            weight = _parse_weight(fields[2], line) if len(fields) == 3 else 1.0
            u, v = (numbers.setdefault(name, len(numbers)) for name in fields[:2])
            edge = (u, v) if asked.directed else (min(u, v), max(u, v))
            known, where = edges.setdefault(edge, (weight, line))
            if known != weight:
                problem = (
                    f"edge {fields[0]} {fields[1]} weighs {known} on line {where} and {weight} on line {line}"
                )
                remedy = "write each edge with one weight; sum or average them before"
                raise InputError("path", problem, remedy)
    if not edges:
        raise InputError("path", f"{path.name!r} holds no edges", "write 'u v' or 'u v weight' on each line")
    matrix = _adjacency(edges, len(numbers), asked.directed)
    return Dataset(matrix, names=tuple(numbers), affinity="precomputed")


def _parse_weight(field: str, line: int) -> float:
    weight = float(field) if is_number(field) else math.nan
    if not 0 <= weight < math.inf:
        problem = f"the weight on line {line} is {field[:40]!r}"
        raise InputError("path", problem, "give finite numbers of at least 0")
    return weight


def _adjacency(edges: dict[tuple[int, int], tuple[float, int]], count: int, directed: bool) -> csr_array:
    """Make the adjacency. Edges without direction are stored both ways, self-loops once."""
    ends = np.array(list(edges), dtype=np.int64)
    weights = np.array([weight for weight, _ in edges.values()])
    twice = np.zeros(len(ends), dtype=bool) if directed else ends[:, 0] != ends[:, 1]
    rows = np.concatenate([ends[:, 0], ends[twice, 1]])
    columns = np.concatenate([ends[:, 1], ends[twice, 0]])
    data = np.concatenate([weights, weights[twice]])
    return csr_array(coo_array((data, (rows, columns)), shape=(count, count)))


def read_graphml(path: Path, asked: Asked) -> Dataset:
    """Read a graph in GraphML."""
    import networkx as nx

    with asked.limit.opened(path) as file:
        raw = file.read()
    _refuse_doctype(raw)
    try:
        graph = nx.read_graphml(io.BytesIO(raw))
    except (nx.NetworkXException, SyntaxError, AttributeError) as error:  # XML's ParseError is a SyntaxError
        raise ValueError(str(error)) from error
    known, labels = None, asked.labels
    if labels is not None:
        found = dict(graph.nodes(data=labels))
        without = [node for node, label in found.items() if label is None]
        if without:
            attributes = sorted({name for _, attributes in graph.nodes(data=True) for name in attributes})
            problem = f"node {without[0]!r} and {len(without) - 1} others have no attribute {labels!r}"
            raise InputError("labels", problem, f"choose one of {attributes}")
        known = as_labels(list(found.values()), asked.limit)
    return Dataset(graph, known, tuple(graph.nodes), affinity="precomputed")


def _refuse_doctype(raw: bytes) -> None:
    """Refuse a document type declaration, because its entities can grow without end or read other files."""
    from xml.parsers import expat

    def refuse(*_: object) -> None:
        problem = "the GraphML holds a document type declaration"
        raise InputError("path", problem, "take it out: entities are refused for safety")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error
