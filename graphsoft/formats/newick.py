"""The tree of clusters in the Newick format of phylogenetics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from graphsoft.formats.naming import checked_names, refuse
from graphsoft.storage.atomic import PathLike, write_atomic
from graphsoft.tree import Node, Tree

__all__ = ["tree_to_newick"]

# Readers agree on these without quotes; some turn an underscore into a space.
_PLAIN = re.compile(r"[A-Za-z0-9.-]+", re.ASCII)
# Readers drop an empty label, take a lone sign for syntax even in quotes, and disagree on control characters.
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|^[(),:;]?$")


def tree_to_newick(
    tree: Tree,
    path: PathLike | None = None,
    names: Mapping[str, str] | None = None,
    heights: Mapping[str, float] | None = None,
) -> str | None:
    r"""Write the tree in Newick format: its leaves are the finest clusters, and inner nodes have labels too.

    Parameters
    ----------
    tree : Tree
    path : path-like, optional
        Write to this file, in UTF-8, whole or not at all.
    names : mapping of str to str, optional
        Names for some or all ids. Those with other characters than letters, digits, dots and dashes stand in
        quotes. Control characters, a lone sign and empty names are refused. Some readers take a number at
        an inner node for the support of its branch.
    heights : mapping of str to float, optional
        The height of every node; branches are as long as heights differ. Without them there are no lengths.

    Returns
    -------
    str or None
        The text if there is no `path`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from graphsoft.tree_building import build_tree
    >>> tree = build_tree([csr_array([[1.0], [1.0]])], [[2.0, 3.0], [5.0]], [[2, 3], [5]])
    >>> tree_to_newick(tree, names={"0-1": "it's"})
    "(0-0,'it''s')1-0;\n"
    """
    names = checked_names(tree, names)
    refuse(names.values(), _UNFIT, "Newick")
    text = "".join(_pieces(tree, names, heights))
    if path is None:
        return text
    write_atomic(path, lambda file: file.write(text.encode("utf-8")))
    return None


def _pieces(tree: Tree, names: Mapping[str, str], heights: Mapping[str, float] | None) -> Iterator[str]:
    """Yield the text piece by piece, without recursion."""
    waiting: list[Node | str] = [";\n", tree.root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
            continue
        label = names.get(item.id, item.id)
        label = label if _PLAIN.fullmatch(label) else "'" + label.replace("'", "''") + "'"
        if heights is not None and item.parent is not None:
            label += f":{heights[item.parent] - heights[item.id]!r}"
        if not item.children:
            yield label
            continue
        yield "("
        waiting.append(f"){label}")
        for child in reversed(item.children):
            waiting += [tree.find(child), ","]
        waiting.pop()  # no comma before the first
