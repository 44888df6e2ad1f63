"""Names of clusters and points on their way into a file: checked, so that they come back as they were."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.tree import Tree

__all__ = ["checked_names", "distinct_texts", "plain_name", "refuse"]


def checked_names(tree: Tree, names: Mapping[str, str] | None) -> dict[str, str]:
    """Check that names are text and belong to clusters of the tree; without any, take those of the tree.

    Examples
    --------
    >>> from graphsoft.tree_building import build_tree
    >>> checked_names(build_tree([], [[1.0]], [[1]]), {"0-0": "all"})
    {'0-0': 'all'}
    """
    if names is None:
        return dict(tree.names)
    if not isinstance(names, Mapping):
        raise InputError("names", f"got {shown(names)}", "pass a mapping from ids of clusters to their names")
    for id, name in names.items():
        try:
            tree.find(id)
        except InputError as error:
            raise InputError("names", error.problem, error.remedy) from None
        if not isinstance(name, str):
            raise InputError("names", f"names {id!r} {shown(name)}", "pass text")
    return dict(names)


def refuse(names: Iterable[str], unfit: re.Pattern[str], format: str) -> None:
    """Refuse names with characters that a format cannot hold.

    Examples
    --------
    >>> refuse(["a", "b"], re.compile("[<>]"), "XML")
    """
    for name in names:
        found = unfit.search(name)
        if found:
            what = f"the character {found[0]!a}" if found[0] else "no character at all"
            problem = f"{shown(name)} has {what}, which {format} cannot hold"
            raise InputError("names", problem, "rename it, or write JSON or .graphsoft, which hold any text")


def distinct_texts(names: Sequence[Any]) -> list[str]:
    """Write names of points as texts, and refuse two of them that become the same.

    Examples
    --------
    >>> distinct_texts(["a", 1])
    ['a', '1']
    """
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        seen: dict[str, Any] = {}
        for name, text in zip(names, texts, strict=True):
            if text in seen:
                problem = f"{shown(seen[text])} and {shown(name)} are the same text"
                raise InputError("nodes", problem, "give the points names that differ as texts")
            seen[text] = name
    return texts


def plain_name(name: Any) -> str | int:
    """Turn the name of a point into text or a number, as JSON and tables hold them.

    Examples
    --------
    >>> plain_name("a"), plain_name(7), plain_name((1, 2))
    ('a', 7, '(1, 2)')
    """
    value = name.item() if hasattr(name, "item") else name
    return value if isinstance(value, (str, int)) else str(name)
