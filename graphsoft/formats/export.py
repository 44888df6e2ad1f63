"""Results as files: the tree as JSON, one row a point as CSV, memberships as npz.

Every file appears whole or not at all: it is written beside its final place and then moved there.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, save_npz

from graphsoft.errors import InputError
from graphsoft.tree import Node, Tree

__all__ = ["labels_to_csv", "memberships_to_npz", "tree_to_json", "write_atomic"]

PathLike = str | os.PathLike[str]


def write_atomic(path: PathLike, writer: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that at any moment `path` is either what it was or what it will be.

    Parameters
    ----------
    path : path-like
        Where the file goes. A file that is there already is replaced and its permissions are kept.
    writer : callable
        Gets a binary file to write to. If it raises, `path` is left alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "greeting.txt")
    ...     write_atomic(path, lambda file: file.write(b"hello"))
    ...     path.read_text()
    'hello'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError("path", f"there is no directory {str(target.parent)!r}", "make it first")
    mode = 0o666  # the system takes off what the umask says
    if target.exists():
        if not target.is_file():
            raise InputError("path", f"{str(target)!r} is not an ordinary file", "give the name of a file")
        mode = stat.S_IMODE(target.stat().st_mode)
    spare = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    handle = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with open(handle, "wb") as file:
            writer(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(spare, target)
    except BaseException:
        spare.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    """Make the renaming itself last through a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some network and user file systems cannot
            os.fsync(handle)
    finally:
        os.close(handle)


@overload
def tree_to_json(tree: Tree, path: None = None, names: Mapping[str, str] | None = None) -> str: ...
@overload
def tree_to_json(tree: Tree, path: PathLike, names: Mapping[str, str] | None = None) -> None: ...
def tree_to_json(
    tree: Tree, path: PathLike | None = None, names: Mapping[str, str] | None = None
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
        Names for some or all ids; a node without one is called by its id.

    Returns
    -------
    str or None
        The JSON text if there is no `path`. It is plain ASCII, holds no ``<`` and so stays whole inside a
        script element, and reads back as exactly the given names.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from graphsoft.tree import build_tree
    >>> tree = build_tree([csr_array([[1.0], [1.0]])], [[2.0, 3.0], [5.0]], [[2, 3], [5]])
    >>> print(tree_to_json(tree, names={"1-0": "all"}))
    {"name":"all","id":"1-0","level":1,"mass":5.0,"size":5,"parents":[],"children":[
    {"name":"0-0","id":"0-0","level":0,"mass":2.0,"size":2,"parents":[{"id":"1-0","p":1.0}]},
    {"name":"0-1","id":"0-1","level":0,"mass":3.0,"size":3,"parents":[{"id":"1-0","p":1.0}]}
    ]}
    <BLANKLINE>
    """
    pieces = _json_pieces(tree, names or {})
    if path is None:
        return "".join(pieces)
    write_atomic(path, lambda file: file.writelines(piece.encode("ascii") for piece in pieces))
    return None


def _json_pieces(tree: Tree, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the text piece by piece; json.dumps would recurse, and fail at a depth of 1000."""
    waiting: list[Node | str] = ["\n", tree.root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
            continue
        head = _json_node(item, names)
        if not item.children:
            yield head + "}"
            continue
        yield head + ',"children":[\n'
        waiting.append("\n]}")
        for child in reversed(item.children):
            waiting += [tree.find(child), ",\n"]
        waiting.pop()  # no comma before the first


def _json_node(node: Node, names: Mapping[str, str]) -> str:
    """Return the node as JSON without its children and without the closing brace."""
    fields = {
        "name": str(names.get(node.id, node.id)),
        "id": node.id,
        "level": node.level,
        "mass": node.mass,
        "size": node.size,
        "parents": [{"id": parent, "p": chance} for parent, chance in node.parents],
    }
    try:
        text = json.dumps(fields, allow_nan=False, separators=(",", ":"))
    except ValueError:
        problem = f"node {node.id} holds a number that is not finite"
        raise InputError(
            "tree", problem, "JSON has no such numbers: correct the mass or the parents"
        ) from None
    return text[:-1].replace("<", "\\u003c")


def memberships_to_npz(memberships: csr_array, path: PathLike) -> None:
    """Write one level's memberships so that ``scipy.sparse.load_npz`` reads them.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
    path : path-like
        Should end in ``.npz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy.sparse import csr_array, load_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "memberships.npz")
    ...     memberships_to_npz(csr_array([[0.5, 0.5], [0.0, 1.0]]), path)
    ...     load_npz(path).toarray()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    write_atomic(path, lambda file: save_npz(file, memberships))


# what a spreadsheet takes for the start of a formula
_FORMULA = re.compile(r"[=+\-@\t\r\0]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)


def labels_to_csv(
    nodes: Iterable[object], labels: Sequence[ArrayLike], entropies: Sequence[ArrayLike], path: PathLike
) -> None:
    """Write one row for each point: its name, its likeliest cluster on every level, how torn it is there.

    The columns are ``name, level_0, level_1, ..., entropy_0, entropy_1, ...``. Cluster 17 of level 0 is the
    tree's node ``"0-17"``. A name that a spreadsheet would run as a formula gets a ``'`` before it.

    Parameters
    ----------
    nodes : iterable of n names
        In the order of the points.
    labels : sequence of array-like of int, shape (n,)
        For every level, finest first.
    entropies : sequence of array-like of float, shape (n,)
        For every level, in nats.
    path : path-like

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.csv")
    ...     labels_to_csv(["a", "=b"], [[1, 0]], [[0.0, 0.25]], path)
    ...     print(path.read_text(encoding="utf-8"))
    "name","level_0","entropy_0"
    "a",1,0.0
    "'=b",0,0.25
    <BLANKLINE>
    """
    columns = [np.asarray(column).tolist() for column in [*labels, *entropies]]
    header = [f"level_{level}" for level in range(len(labels))]
    header += [f"entropy_{level}" for level in range(len(entropies))]

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        # all text in quotes: without them Python before 3.13 would let a lone carriage return end the row
        table = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        table.writerow(["name", *header])
        table.writerows([_harmless(name), *row] for name, *row in zip(nodes, *columns, strict=True))
        text.detach()

    write_atomic(path, write)


def _harmless(name: object) -> str:
    text = str(name)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
