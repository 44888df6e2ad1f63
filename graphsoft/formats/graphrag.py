"""Communities of a knowledge graph as GraphRAG stores them, in ``communities.parquet``."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.containers import names_of_columns
from graphsoft.tree import Tree

__all__ = ["community_columns"]


def community_columns(
    tree: Tree,
    labels: Sequence[Array],
    titles: Sequence[str],
    names: Mapping[str, str],
    entities: Any = None,
    relationships: Any = None,
) -> dict[str, list[Any]]:
    """List the communities, with GraphRAG's columns in its order.

    Parameters
    ----------
    tree : Tree
    labels : sequence of ndarray of int, shape (n,)
        The likeliest cluster of each point on every level, finest first.
    titles : sequence of n str
        The entities, by their title.
    names : mapping of str to str
        Titles of some or all clusters by id; the others are ``Community`` and their number.
    entities, relationships : data frame, optional
        GraphRAG's tables.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from graphsoft.tree_building import build_tree
    >>> tree = build_tree([csr_array([[1.0], [1.0]])], [[2.0, 3.0], [5.0]], [[1, 2], [3]])
    >>> columns = community_columns(tree, [[0, 1, 1], [0, 0, 0]], ["X", "Y", "Z"], {})
    >>> columns["community"], columns["level"], columns["parent"], columns["children"]
    ([0, 1, 2], [0, 1, 1], [-1, 0, 0], [[1, 2], [], []])
    >>> columns["entity_ids"]
    [['X', 'Y', 'Z'], ['X'], ['Y', 'Z']]
    """
    top = len(tree.level_sizes) - 1
    clusters = [node for level in range(top, -1, -1) for node in tree.nodes if node.level == level]
    numbers = {node.id: number for number, node in enumerate(clusters)}
    members = [_grouped(each, size) for each, size in zip(labels, tree.level_sizes, strict=True)]
    edges = _edges_inside(labels, titles, relationships)
    ids = titles if entities is None else _entity_ids(titles, entities)
    held = [[ids[point] for point in members[node.level][node.index]] for node in clusters]
    inside = [edges.get((node.level, node.index), ([], [])) for node in clusters]
    return {
        "id": [
            str(uuid5(NAMESPACE_URL, f"{node.id} {each}")) for node, each in zip(clusters, held, strict=True)
        ],
        "human_readable_id": list(range(len(clusters))),
        "community": list(range(len(clusters))),
        "level": [top - node.level for node in clusters],
        "parent": [numbers.get(node.parent or "", -1) for node in clusters],
        "children": [[numbers[child] for child in node.children] for node in clusters],
        "title": [names.get(node.id, f"Community {number}") for number, node in enumerate(clusters)],
        "entity_ids": held,
        "relationship_ids": [sorted(set(found)) for found, _ in inside],
        "text_unit_ids": [sorted(set(texts)) for _, texts in inside],
        "period": [datetime.datetime.now(datetime.UTC).date().isoformat()] * len(clusters),
        "size": [len(each) for each in held],
    }


def _grouped(labels: Array, count: int) -> list[list[int]]:
    """List the points of each cluster."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels, minlength=count)
    return [part.tolist() for part in np.split(order, np.cumsum(sizes)[:-1])]


def _entity_ids(titles: Sequence[str], entities: Any) -> list[str]:
    title, id = _columns(entities, "entities", ("title", "id"))
    known = dict(zip(title, id, strict=True))
    missing = [each for each in titles if each not in known]
    if missing:
        problem = f"has no entity with the title {shown(missing[0])}"
        raise InputError("entities", problem, "pass the table that the graph was made with")
    return [known[each] for each in titles]


def _edges_inside(
    labels: Sequence[Array], titles: Sequence[str], relationships: Any
) -> dict[tuple[int, int], tuple[list[Any], list[Any]]]:
    """List for each cluster the relationships between its points, and the text units of these."""
    found: dict[tuple[int, int], tuple[list[Any], list[Any]]] = {}
    if relationships is None:
        return found
    rows = {title: row for row, title in enumerate(titles)}
    plain_labels = [np.asarray(each).tolist() for each in labels]
    columns = _columns(relationships, "relationships", ("id", "source", "target", "text_unit_ids"))
    for id, source, target, texts in zip(*columns, strict=True):
        one, other = rows.get(source), rows.get(target)
        if one is None or other is None:
            continue
        for level, label in enumerate(plain_labels):
            if label[one] == label[other]:
                edges, units = found.setdefault((level, label[one]), ([], []))
                edges.append(id)
                units.extend(texts)
    return found


def _columns(frame: Any, argument: str, names: Sequence[str]) -> list[list[Any]]:
    there = names_of_columns(frame) or ()
    missing = [name for name in names if name not in there]
    if missing:
        raise InputError(argument, f"has no column {missing[0]!r}", f"pass GraphRAG's table of {argument}")
    columns = [frame[name] for name in names]
    return [each.to_pylist() if hasattr(each, "to_pylist") else each.to_list() for each in columns]
