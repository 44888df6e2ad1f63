"""The public function `read_json`: a tree, its names and what else was written with it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from graphsoft.errors import InputError, shown
from graphsoft.formats.json_text import parsed_json
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.storage.atomic import PathLike
from graphsoft.tree import ROOT, Node, Tree

__all__ = ["SavedTree", "read_json"]

_OF_TREE = frozenset({"name", "id", "level", "mass", "size", "parents", "children"})
_REMEDY = "pass what h.to_json wrote; names and further fields may be changed"


@dataclass(frozen=True, eq=False, repr=False)
class SavedTree:
    """A tree that was read from JSON, with its names.

    Attributes
    ----------
    tree : Tree
    names : dict of str to str
        The names of clusters that have one, by their id.
    details : dict of str to dict
        The further fields of each cluster, such as ``examples``, ``words`` and ``points``.
    """

    tree: Tree
    names: dict[str, str]
    details: dict[str, dict[str, Any]]

    def __repr__(self) -> str:
        return f"SavedTree({self.tree!r}, {len(self.names)} names)"

    @property
    def memberships(self) -> csr_array | None:
        """Memberships of the points in the finest clusters; None if they were not written."""
        finest = self.tree.nodes[: self.tree.level_sizes[0]]
        if not all("points" in self.details.get(node.id, {}) for node in finest):
            return None
        lists: list[Any] = [self.details[node.id]["points"] for node in finest]
        try:
            entries = [
                (each["row"], column, each["p"]) for column, points in enumerate(lists) for each in points
            ]
            rows, columns, shares = (np.array(part) for part in zip(*entries, strict=True))
            count = len(set(rows.tolist()))
            if set(rows.tolist()) != set(range(count)) or not np.isfinite(shares).all():
                raise ValueError
            return csr_array(coo_array((shares.astype(float), (rows, columns)), shape=(count, len(finest))))
        except (KeyError, TypeError, ValueError):
            raise InputError("points", "are no memberships of points", _REMEDY) from None

    def to_json(self, path: PathLike | None = None) -> str | None:
        """Write it again, as ``h.to_json`` does."""
        return tree_to_json(self.tree, path, self.names, self.details)


def read_json(source: PathLike | IO[str] | IO[bytes]) -> SavedTree:
    """Read the tree that ``h.to_json`` wrote.

    Parameters
    ----------
    source : path-like or file
        A path, or an open file such as ``io.StringIO(text)``.

    Returns
    -------
    SavedTree
        ``tree, names, details``. Together they hold all that was written, and write the same again.

    Raises
    ------
    InputError
        If it is no JSON, or no tree of clusters.

    Examples
    --------
    >>> import io
    >>> import graphsoft
    >>> h = graphsoft.hierarchy([[0.0], [0.1], [5.0], [5.1]], levels=[2], n_neighbors=1)
    >>> saved = graphsoft.read_json(io.StringIO(h.to_json(names={"0-1": "far"})))
    >>> saved.tree, saved.names
    (Tree(2 clusters, root 'root'), {'0-1': 'far'})
    """
    try:
        text = source.read() if hasattr(source, "read") else Path(source).read_bytes()
        document = parsed_json(text.decode("utf-8") if isinstance(text, bytes) else text)
    except ValueError as error:
        raise InputError("source", f"holds no JSON: {error}", _REMEDY) from None
    nodes, names, details = _nodes(document)
    sizes = Counter(node.level for node in nodes if node.id != ROOT)
    tree = Tree(tuple(nodes), tuple(sizes[level] for level in range(len(sizes))))
    try:
        if tree.root.level == len(sizes) - (tree.root.id != ROOT):
            return SavedTree(tree, names, details)
    except InputError:
        pass
    raise InputError("source", "holds clusters that make no tree", _REMEDY)


def _nodes(document: Any) -> tuple[list[Node], dict[str, str], dict[str, dict[str, Any]]]:
    """Make a node of each object, and sort them as trees do."""
    nodes, names, details = [], {}, {}
    waiting: list[tuple[Any, str | None]] = [(document, None)]
    while waiting:
        record, parent = waiting.pop()
        node = _node(record, parent)
        nodes.append(node)
        if record["name"] != node.id:
            names[node.id] = record["name"]
        details[node.id] = {key: value for key, value in record.items() if key not in _OF_TREE}
        waiting.extend((child, node.id) for child in record.get("children", ()))
    return sorted(nodes, key=lambda node: (node.level, node.index)), names, details


def _node(record: Any, parent: str | None) -> Node:
    """Check one object, and make a node of it."""
    if not isinstance(record, Mapping) or not isinstance(record.get("id"), str):
        raise InputError("source", f"holds {shown(record)}, which is no cluster with an id", _REMEDY)
    id = record["id"]
    children: Any = record.get("children", [])
    parents: Any = record.get("parents")
    fits = {
        "name": isinstance(record.get("name"), str),
        "level": _is_whole(record.get("level")),
        "size": _is_whole(record.get("size")),
        "mass": _is_number(record.get("mass")),
        "children": isinstance(children, list) and all(_has_id(child) for child in children),
        "parents": isinstance(parents, list)
        and all(_has_id(each) and _is_number(each.get("p")) for each in parents),
    }
    for field, fit in fits.items():
        if not fit:
            raise InputError(
                "source", f"cluster {shown(id)} has no sound {field!r}: {shown(record.get(field))}", _REMEDY
            )
    likeliest = parents[0]["id"] if parents else None
    if likeliest != parent:
        problem = f"cluster {shown(id)} stands below {shown(parent)}, not below {shown(likeliest)}"
        raise InputError("source", problem, _REMEDY)
    number = id.partition("-")[2]
    index = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0
    return Node(
        id, record["level"], index, float(record["mass"]), record["size"], parent,
        tuple(child["id"] for child in children),
        tuple((each["id"], float(each["p"])) for each in parents),
    )  # fmt: skip


def _has_id(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("id"), str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    return fits and 0 <= value <= sys.float_info.max  # NaN is not
