"""The cluster tree: every cluster of every level under its likeliest parent."""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from graphsoft.errors import InputError, shown
from graphsoft.html import html_table
from graphsoft.lazy import lazy

__all__ = ["ROOT", "Node", "SoftParents", "Tree"]

ROOT = "root"
NODES_SHOWN = 40  # in a notebook
# 18 digits are enough for every index; int() refuses very long strings of digits with an error of its own
_ID = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)

# Of a larger tree, ``print`` leaves out the lower levels.
LINES_SHOWN = 200

SoftParents = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One cluster in the tree.

    Attributes
    ----------
    id : str
        ``"level-index"``, for example ``"0-17"``, or ``"root"``.
    level : int
        0 is the finest.
    index : int
        Column of the cluster in ``h[level].memberships``.
    mass : float
        Weight of the graph that the cluster holds. The masses of all levels have the same sum.
    size : int
        Number of points that have it as their likeliest cluster on this level.
    parent : str or None
        Id of the likeliest parent; None at the root.
    children : tuple of str
        Ids of the clusters that have it as their likeliest parent, in the order of their index.
    parents : tuple of (str, float)
        Every parent with its probability, likeliest first.
    """

    id: str
    level: int
    index: int
    mass: float
    size: int
    parent: str | None
    children: tuple[str, ...]
    parents: SoftParents


@dataclass(frozen=True, repr=False)
class Tree:
    """Clusters of all levels, each under its likeliest parent, up to one root.

    ``print`` shows each cluster under its parent, with size and name; of a large tree the upper levels.

    Attributes
    ----------
    nodes : tuple of Node
        Finest level first, by index within a level, the root last.
    level_sizes : tuple of int
        Clusters on each level, finest first, without an added root.
    names : mapping of str to str
        Names of clusters, by their ids; see :meth:`graphsoft.Hierarchy.name_clusters`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from graphsoft.tree_building import build_tree
    >>> parents = csr_array(np.array([[0.9, 0.1], [0.8, 0.2], [0.0, 1.0]]))
    >>> tree = build_tree([parents], [[2.0, 3.0, 5.0], [4.2, 5.8]], [[2, 3, 5], [5, 5]])
    >>> tree
    Tree(3 -> 2 clusters, root 'root')
    >>> tree.find("1-0").children
    ('0-0', '0-1')
    >>> tree.cut(count=3)
    ['0-0', '0-1', '1-1']
    >>> print(tree)
    root (10)
      1-0 (5)
        0-0 (2)
        0-1 (3)
      1-1 (5)
        0-2 (5)
    """

    nodes: tuple[Node, ...]
    level_sizes: tuple[int, ...]
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the fields only: the copy is checked again."""
        return {"nodes": self.nodes, "level_sizes": self.level_sizes, "names": self.names}

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        try:
            return f"Tree({_arrows(self.level_sizes)} clusters, root {self.root.id!r})"
        except InputError:
            return "Tree(damaged)"

    def __str__(self) -> str:
        try:
            top = self.root.level
        except InputError:
            return repr(self)
        deep = sum(total <= LINES_SHOWN for total in accumulate(reversed(self.level_sizes)))
        lowest = len(self.level_sizes) - max(deep, 1)
        lines = [
            f"{'  ' * (top - node.level)}{node.id} ({node.size}) {self.names.get(node.id, '')}".rstrip()
            for node in self._depth_first()
            if node.level >= lowest
        ][: LINES_SHOWN + 1]
        left_out = len(self) - len(lines)
        return "\n".join([*lines, f"... and {left_out} more"] if left_out else lines)

    @lazy
    def _offsets(self) -> tuple[int, ...]:
        """The place in `nodes` at which each level begins. The first use checks the tree."""
        try:
            sound = _is_sound(self.nodes, self.level_sizes)
        except (AttributeError, IndexError, KeyError, TypeError):  # something else than nodes and ids
            sound = False
        if not sound:
            problem = "has nodes that do not hang together, or are not in order"
            raise InputError("tree", problem, "leave trees as they were, or take h.tree")
        return (0, *accumulate(self.level_sizes))

    @property
    def root(self) -> Node:
        """The node above all others: the only cluster of the top level, or a node added above several."""
        return self.nodes[self._offsets[-1] - (self.level_sizes[-1] == 1)]

    @lazy
    def leaves(self) -> tuple[Node, ...]:
        """Nodes without children: the finest level, and any cluster that is nobody's likeliest parent."""
        return tuple(node for node in self.nodes if not node.children)

    def find(self, id: str) -> Node:
        """Return the node called `id`.

        Raises
        ------
        InputError
            If there is none. The message names the nearest id that exists.
        """
        position = self._position(id)
        if position is None:
            raise InputError("id", f"there is no node {shown(id)}", f"the nearest is {self._nearest(id)!r}")
        return self.nodes[position]

    def _position(self, id: str) -> int | None:
        match, offsets = _ID.fullmatch(id) if isinstance(id, str) else None, self._offsets
        if match is None:
            return len(self.nodes) - 1 if isinstance(id, str) and id == self.root.id else None
        level, index = int(match[1]), int(match[2])
        if level >= len(self.level_sizes) or index >= self.level_sizes[level]:
            return None
        position = offsets[level] + index
        return position if self.nodes[position].id == id else None  # "00-1" is not "0-1"

    def _nearest(self, id: object) -> str:
        match = _ID.fullmatch(str(id))
        if match is None:
            return self.root.id
        level = min(int(match[1]), len(self.level_sizes) - 1)
        return f"{level}-{min(int(match[2]), self.level_sizes[level] - 1)}"

    def walk(self, order: Literal["down", "up"] = "down") -> Iterator[Node]:
        """Iterate over all nodes along the branches.

        Parameters
        ----------
        order : {"down", "up"}
            ``"down"`` gives a parent before its children, ``"up"`` the children first.

        Yields
        ------
        Node
        """
        if order == "down":
            yield from self._depth_first()
        elif order == "up":
            yield from reversed([*self._depth_first(last_child_first=True)])
        else:
            raise InputError("order", f"got {order!r}", 'say "down" or "up"')

    def _depth_first(self, last_child_first: bool = False) -> Iterator[Node]:
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            children = node.children if last_child_first else reversed(node.children)
            waiting.extend(self.find(child) for child in children)

    def _repr_html_(self) -> str:
        return self.as_html(repr(self))

    def as_html(self, caption: str) -> str:
        """Write the top of the tree as a table in HTML."""
        depths = {self.root.id: 0}  # of the nodes that are shown: those nearest to the root
        waiting = deque([self.root])
        while waiting and len(depths) < NODES_SHOWN:
            node = waiting.popleft()
            fitting = node.children[: NODES_SHOWN - len(depths)]
            depths |= dict.fromkeys(fitting, depths[node.id] + 1)
            waiting.extend(map(self.find, fitting))
        nodes = [node for node in self._depth_first() if node.id in depths]
        rows = [["cluster", "size", "share", "in its parent"]]
        for node in nodes:
            name = f"{node.id} {self.names.get(node.id, '')}".rstrip()
            share = f"{node.mass / self.root.mass:.1%}" if self.root.mass > 0 else "-"
            rows.append([name, str(node.size), share, f"{node.parents[0][1]:.0%}" if node.parents else ""])
        indents, more = [depths[node.id] for node in nodes], len(self) - len(nodes)
        return html_table(rows, caption, left=["cluster"], indents=indents, more=more)

    def path(self, id: str) -> tuple[str, ...]:
        """Ids from the root down to `id`, both included."""
        up = [self.find(id)]
        while up[-1].parent is not None:
            up.append(self.find(up[-1].parent))
        return tuple(node.id for node in reversed(up))

    def cut(self, level: int | None = None, *, count: int | None = None) -> list[str]:
        """Cut the tree into flat clusters, by level or by their number.

        Parameters
        ----------
        level : int, optional
            Take the clusters of this level; negative numbers count from the top.
        count : int, optional
            Start at the root and split the heaviest node whose children still fit, until there are `count`.
            A split replaces a node by all its children, so the result can be shorter than `count`, but never
            longer. Every finest cluster has exactly one node of the result among itself and its ancestors.
            Clusters without any finest cluster below them hold no points and are left out.

        Returns
        -------
        list of str
            Ids: of a level in the order of their index, of a count in the order of ``walk()``.
        """
        if (level is None) == (count is None):
            raise InputError("level", "got both or neither of level and count", "give one of the two")
        if level is not None:
            return self._cut_level(level)
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise InputError("count", f"got {count!r}", "give a whole number of at least 1")
        chosen = self._split_heaviest(int(count))
        return [node.id for node in self._depth_first() if node.id in chosen]

    def _cut_level(self, level: int) -> list[str]:
        levels = len(self._offsets) - 1
        if (
            not isinstance(level, int | np.integer)
            or isinstance(level, bool)
            or not -levels <= level < levels
        ):
            raise InputError("level", f"got {level!r}", f"give a whole number from {-levels} to {levels - 1}")
        start = self._offsets[int(level) % levels]
        return [node.id for node in self.nodes[start : start + self.level_sizes[level]]]

    def _split_heaviest(self, count: int) -> set[str]:
        """Return the ids of at most `count` nodes that partition the finest clusters."""
        chosen = {self.root.id}
        waiting = [_heaviest_first(self.root)]
        while waiting:
            name = heapq.heappop(waiting)[-1]
            parts = self._parts(self.find(name))
            if len(parts) > 1 and len(chosen) - 1 + len(parts) <= count:
                chosen.remove(name)
                for part in parts:
                    chosen.add(part.id)
                    heapq.heappush(waiting, _heaviest_first(part))
        return chosen

    def _parts(self, node: Node) -> list[Node]:
        """Return what `node` splits into. An only child holds the same points, so its children are taken."""
        parts = [node]
        while len(parts) == 1 and parts[0].children:
            parts = [child for child in map(self.find, parts[0].children) if child.id in self._reached]
        return parts

    @lazy
    def _reached(self) -> frozenset[str]:
        """Ids of the nodes that have a finest cluster at or below them."""
        reached = {node.id for node in self.nodes[: self.level_sizes[0]]}
        for node in self.nodes:  # children come before their parents
            if node.id in reached and node.parent is not None:
                reached.add(node.parent)
        return frozenset(reached)


def _is_sound(nodes: Sequence[Node], level_sizes: Sequence[int]) -> bool:
    """Tell whether each node is at its place, and a child of the one that it names as its parent."""
    ids = [f"{level}-{index}" for level, size in enumerate(level_sizes) for index in range(size)]
    ids += [ROOT] * (level_sizes[-1] > 1)
    if [node.id for node in nodes] != ids:
        return False
    places = {id: place for place, id in enumerate(ids)}
    up = [(child, node.id) for node in nodes for child in node.children]
    if sorted(up) != sorted((node.id, node.parent) for node in nodes[:-1]) or nodes[-1].parent is not None:
        return False
    return all(places[child] < places[parent] for child, parent in up)


def _heaviest_first(node: Node) -> tuple[float, int, int, str]:
    """Return a sort key: by mass, and for equal mass coarse before fine, then by index."""
    return -node.mass, -node.level, node.index, node.id


def _arrows(sizes: Sequence[int]) -> str:
    """Write ``100 -> 20 -> 10``, without the middle of a long list."""
    shown = [str(size) for size in sizes]
    if len(shown) > 6:
        shown[3:-3] = ["..."]
    return " -> ".join(shown)
