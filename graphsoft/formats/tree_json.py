"""The cluster tree as JSON, in the nested shape that d3-hierarchy reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from graphsoft.errors import InputError
from graphsoft.formats.naming import checked_names
from graphsoft.storage.atomic import PathLike, write_atomic
from graphsoft.tree import Node, Tree

__all__ = ["tree_to_json"]


def tree_to_json(
    tree: Tree,
    path: PathLike | None = None,
    names: Mapping[str, str] | None = None,
    details: Mapping[str, Mapping[str, Any]] | None = None,
) -> str | None:
    """Write the tree in the nested shape that d3-hierarchy reads.

    Every node has ``name, id, level, mass, size``, its soft ``parents`` as ``[{"id", "p"}, ...]``, and,
    unless it is a leaf, ``children``. Mass and size hold for the node as a whole: in d3 use
    ``.sum(d => d.children ? 0 : d.mass)``.

    Parameters
    ----------
    tree : Tree
    path : path-like, optional
        Write to this file, in UTF-8, whole or not at all.
    names : mapping of str to str, optional
        Names for some or all ids, by default those of the tree; a node without one is called by its id.
    details : mapping of str to mapping, optional
        For some or all ids, more fields of the node, of types that JSON has.

    Returns
    -------
    str or None
        The JSON text if there is no `path`. It is plain ASCII, holds no ``<`` and so stays whole inside a
        script element, and reads back as exactly the given names.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from graphsoft.tree_building import build_tree
    >>> tree = build_tree([csr_array([[1.0], [1.0]])], [[2.0, 3.0], [5.0]], [[2, 3], [5]])
    >>> print(tree_to_json(tree, names={"1-0": "all"}))
    {"name":"all","id":"1-0","level":1,"mass":5.0,"size":5,"parents":[],"children":[
    {"name":"0-0","id":"0-0","level":0,"mass":2.0,"size":2,"parents":[{"id":"1-0","p":1.0}]},
    {"name":"0-1","id":"0-1","level":0,"mass":3.0,"size":3,"parents":[{"id":"1-0","p":1.0}]}
    ]}
    <BLANKLINE>
    """
    pieces = _json_pieces(tree, checked_names(tree, names), details or {})
    if path is None:
        return "".join(pieces)
    write_atomic(path, lambda file: file.writelines(piece.encode("ascii") for piece in pieces))
    return None


def _json_pieces(
    tree: Tree, names: Mapping[str, str], details: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the text piece by piece, because json.dumps recurses and fails at a depth of 1000."""
    waiting: list[Node | str] = ["\n", tree.root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
            continue
        head = _json_node(item, names.get(item.id, item.id), details.get(item.id, {}))
        if not item.children:
            yield head + "}"
            continue
        yield head + ',"children":[\n'
        waiting.append("\n]}")
        for child in reversed(item.children):
            waiting += [tree.find(child), ",\n"]
        waiting.pop()  # no comma before the first


def _json_node(node: Node, name: str, details: Mapping[str, Any]) -> str:
    """Return the node as JSON without its children and without the closing brace."""
    fields = {
        "name": name,
        "id": node.id,
        "level": node.level,
        "mass": node.mass,
        "size": node.size,
        "parents": [{"id": parent, "p": chance} for parent, chance in node.parents],
        **details,
    }
    try:
        text = json.dumps(fields, allow_nan=False, separators=(",", ":"))
    except ValueError:
        problem = f"node {node.id} holds a number that is not finite"
        raise InputError(
            "tree", problem, "JSON has no such numbers: correct the mass or the parents"
        ) from None
    return text[:-1].replace("<", "\\u003c")
