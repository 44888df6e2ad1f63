"""Graphs on disk, as files that hold some of the edges each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphsoft.distributed.edge_archives import looked_at_archive, read_archive
from graphsoft.distributed.edge_parts import EdgeFile, Edges, of_disk, refused
from graphsoft.distributed.edge_tables import looked_at_table, read_table
from graphsoft.distributed.edge_text import looked_at_text, read_text
from graphsoft.errors import InputError, Unreachable, shown
from graphsoft.input.checks import integer

__all__ = ["PartitionedGraph", "partitioned_graph"]

Look = Callable[[EdgeFile, Sequence[str] | None], EdgeFile]
Read = Callable[[EdgeFile, int, int, int | None], Iterator[Edges]]
# How the files of each ending are called, looked at and read.
FORMATS: dict[str, tuple[str, Look, Read]] = {
    ".parquet": ("parquet", looked_at_table, read_table),
    ".npz": ("npz", looked_at_archive, read_archive),
    ".csv": ("csv", looked_at_text, read_text),
    ".tsv": ("csv", looked_at_text, read_text),
    ".edges": ("edges", looked_at_text, read_text),
    ".edgelist": ("edges", looked_at_text, read_text),
    ".txt": ("edges", looked_at_text, read_text),
}
READ = {kind: read for kind, _, read in FORMATS.values()}
# So many edges of each file are read before the work begins.
LOOK = 1000
# Numbers of nodes are kept in int32.
MOST_NODES = 2**31 - 2


@dataclass(frozen=True)
class PartitionedGraph:
    """A graph on disk, as files that hold some of the edges each; :func:`partitioned_graph` makes it.

    Attributes
    ----------
    nodes : int
        They are numbered from 0.
    directed : bool
        Whether the two directions of an edge are two edges.
    files : tuple of EdgeFile
    """

    nodes: int
    directed: bool
    files: tuple[EdgeFile, ...]

    def __repr__(self) -> str:
        about = "about " * any(file.kind in ("csv", "edges") for file in self.files)
        listed = f"listed={about}{sum(file.edges for file in self.files)}"
        return f"PartitionedGraph(nodes={self.nodes}, {listed}, files={len(self.files)})"

    @property
    def n(self) -> int:
        """How many nodes there are."""
        return self.nodes

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return any(file.weighted for file in self.files)

    def identity(self) -> dict[str, Any]:
        """Tell what the graph is known by, for JSON: it changes if a file does."""
        files = [[file.name, file.size, file.mtime_ns, file.digest] for file in self.files]
        return {"nodes": self.nodes, "directed": self.directed, "files": files}

    def slices(self, edges: int) -> list[tuple[int, int, int]]:
        """Cut the files into slices of about so many edges: a file by its number, and from where to where."""
        found = []
        for number, file in enumerate(self.files):
            step = max(1, int(edges * file.each))
            found += [
                (number, start, min(start + step, file.end)) for start in range(file.begin, file.end, step)
            ]
        return found

    def read(self, slice_: tuple[int, int, int]) -> Iterator[Edges]:
        """Read a slice, some edges at a time, and check them."""
        number, start, stop = slice_
        file = self.files[number]
        _refuse_changed(file)
        return READ[file.kind](file, start, stop, self.nodes)


def _refuse_changed(file: EdgeFile) -> None:
    """Refuse a file that is not what was looked at, or not where the task runs."""
    try:
        found = os.stat(file.path)
    except OSError:
        remedy = "keep the files where all workers see them"
        raise Unreachable("path", f"{file.path!r} is not there any more", remedy) from None
    if (found.st_size, found.st_mtime_ns) != (file.size, file.mtime_ns):
        problem = f"{file.path!r} has changed since it was looked at"
        remedy = "put it back as it was, or call graphsoft.partitioned_graph again, for another directory"
        raise Unreachable("path", problem, remedy)


def partitioned_graph(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    nodes: int | None = None,
    directed: bool = False,
    columns: Sequence[str] | None = None,
) -> PartitionedGraph:
    r"""Describe a graph whose edges are in files, which may be larger than memory.

    Only headers and the first edges are looked at, so this takes hardly any time. All edges are checked when
    they are read.

    Parameters
    ----------
    path : path-like, or sequence of them
        A file, files, or a folder of files: ``.parquet`` with a row for each edge; ``.npz`` with arrays
        ``row``, ``col`` and perhaps ``data``, or as :func:`scipy.sparse.save_npz` saves coo and csr, each
        with the shape of the whole graph; ``.csv`` or ``.tsv``, with or without a header; ``.edges``,
        ``.edgelist`` or ``.txt`` with blanks between ``u``, ``v`` and perhaps the weight. Of a folder all
        such files are taken.
    nodes : int, optional
        How many there are; they are numbered from 0. Without it the highest number is looked for: in text,
        and in archives without a shape, this means reading all of them once.
    directed : bool
        Whether edges go one way. The graph then is the mean of both directions, ``(A + A.T) / 2``.
    columns : sequence of str, optional
        The columns of the two nodes and of the weight, in tables. By default ``source``, ``target`` and
        ``weight``, or ``src`` and ``dst``, or the first three.

    Returns
    -------
    PartitionedGraph
        For :func:`graphsoft.hierarchy` with a ``directory``.

    Notes
    -----
    An edge may be listed once or in both directions, and several times, in any file. Its weight must be the
    same each time, up to rounding. Weights are above 0; without any, each edge counts 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "part-0.edges").write_text("0 1\n1 2\n")
    ...     _ = Path(folder, "part-1.edges").write_text("2 3\n3 0\n")
    ...     partitioned_graph(folder)
    PartitionedGraph(nodes=4, listed=about 4, files=2)
    """
    paths = _paths(path)
    if nodes is not None:
        nodes = integer("nodes", nodes, 1, MOST_NODES)
    if not isinstance(directed, bool):
        raise InputError("directed", f"got {shown(directed)}", "use True or False")
    if columns is not None:
        columns = _checked_columns(columns)
    files = tuple(_looked_at(one, columns) for one in paths)
    listing = [file for file in files if file.edges]
    if len({file.weighted for file in listing}) > 1:
        one = next(file for file in listing if not file.weighted)
        raise refused(one, "has no weights, and other files have", "give weights to all edges, or to none")
    count = _count(files, nodes)
    for file in files:
        if file.highest is not None and file.highest >= count:
            problem = f"has a node {file.highest}, outside 0..{count - 1}"
            raise refused(file, problem, "give the right number of nodes, and number them from 0")
        for _ in READ[file.kind](file, file.begin, min(file.end, file.begin + int(LOOK * file.each)), count):
            break
    return PartitionedGraph(count, directed, files)


def _paths(path: Any) -> list[Path]:
    """List the files."""
    remedy = "name a folder or files of " + ", ".join(FORMATS)
    given = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(given, Sequence) or not all(isinstance(one, str | os.PathLike) for one in given):
        raise InputError("path", f"got {shown(path)}", remedy)
    if not given:
        raise InputError("path", "the list of files is empty", remedy)
    if not all(os.fspath(one) for one in given):
        raise InputError("path", f"got {shown(path)}, which names no file", remedy)
    paths = [Path(one).absolute() for one in given]  # tasks may run in another directory
    if len(paths) == 1 and paths[0].is_dir():
        inside = sorted(paths[0].iterdir(), key=lambda one: one.name)
        paths = [one for one in inside if one.suffix.lower() in FORMATS and one.name[0] not in "._"]
    for one in paths:
        if one.suffix.lower() not in FORMATS:
            raise InputError("path", f"cannot read {one.name!r} as edges", remedy)
        if not one.exists():
            raise InputError("path", f"there is no file {str(one)!r}", remedy)
        if not one.is_file():  # to open a pipe may wait for ever
            problem = f"{str(one)!r} is no file of which parts can be read alone"
            raise InputError("path", problem, "write its edges to a file")
    if not paths:
        raise InputError("path", f"there are no edges in {shown(str(path))}", remedy)
    return paths


def _checked_columns(columns: Any) -> list[str]:
    named = not isinstance(columns, str) and isinstance(columns, Sequence)
    if not named or len(columns) not in (2, 3) or not all(isinstance(name, str) for name in columns):
        remedy = "name two columns of nodes and perhaps one of weights, as ['from', 'to', 'calls']"
        raise InputError("columns", f"got {shown(columns)}", remedy)
    if len(set(columns)) < len(columns):
        raise InputError("columns", f"got {shown(columns)}", "name each column once")
    return list(columns)


def _looked_at(path: Path, columns: Sequence[str] | None) -> EdgeFile:
    kind, look, _ = FORMATS[path.suffix.lower()]
    return look(of_disk(path, kind), columns)


def _count(files: Sequence[EdgeFile], nodes: int | None) -> int:
    """Find how many nodes there are."""
    for file in files:
        expected = nodes or max(other.nodes for other in files)
        if file.nodes not in (0, expected):
            problem = f"is of {file.nodes} nodes, not {expected}"
            raise refused(file, problem, "save all parts with the shape of the whole graph")
    if nodes is None:
        nodes = max(file.nodes for file in files) or 1 + max(_highest(file) for file in files)
    if nodes < 1:
        raise InputError(
            "path", "there are no edges in these files", "say how many nodes there are by nodes="
        )
    if nodes > MOST_NODES:
        raise InputError("nodes", f"the nodes are numbered up to {nodes - 1}", "number them 0, 1, 2, ...")
    return nodes


def _highest(file: EdgeFile) -> int:
    """Find the highest node of a file, -1 for none; this reads all of it if need be."""
    if file.highest is not None:
        return file.highest
    edges = READ[file.kind](file, file.begin, file.end, None)
    return max((int(max(each.source.max(), each.target.max())) for each in edges), default=-1)
