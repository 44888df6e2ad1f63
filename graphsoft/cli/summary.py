"""A hierarchy as readable tables, and its scores against known classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphsoft import metrics
from graphsoft.cli.terminal import printable
from graphsoft.result.description import certainties
from graphsoft.result.tables import ROWS_SHOWN, aligned, levels_shown, number_or_dash

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["score_levels", "summarize"]

_CHILDREN_SHOWN = 4
_TEXT = frozenset({"cluster", "class", "main children"})  # columns that are aligned on the left


def score_levels(h: Hierarchy, known: ArrayLike) -> list[dict[str, float]]:
    """Score the likeliest clusters of every level against the known classes.

    Parameters
    ----------
    h : Hierarchy
    known : array-like of shape (n,)

    Returns
    -------
    list of dict
        For each level, finest first: accuracy, nmi (by the larger entropy), adjusted_rand, purity.
    """
    return [
        {
            "accuracy": metrics.accuracy(known, level.labels),
            "nmi": metrics.nmi(known, level.labels),
            "adjusted_rand": metrics.adjusted_rand(known, level.labels),
            "purity": metrics.purity(known, level.labels),
        }
        for level in h
    ]


def summarize(
    h: Hierarchy,
    known: NDArray[Any] | None = None,
    scores: list[dict[str, float]] | None = None,
    notes: Sequence[str] = (),
) -> list[str]:
    """Describe the top of a hierarchy in lines of text.

    Parameters
    ----------
    h : Hierarchy
    known : ndarray of shape (n,), optional
        Known classes. They add to every cluster its commonest class, and the share of its points in it.
    scores : list of dict, optional
        From `score_levels`. They add a table.
    notes : sequence of str
        What was assumed about the file. It is printed before the notes of the report.

    Returns
    -------
    list of str
        The top level, then each lower one that has no more than 30 clusters.
    """
    sizes = [len(level.mass) for level in h]
    lines = [f"{len(h.nodes)} points -> {' -> '.join(map(str, sizes))} clusters"]
    lines += [f"note: {printable(note)}" for note in (*notes, *h.report.notes)]
    for index in levels_shown(sizes):
        lines += ["", f"level {index}: {sizes[index]} clusters, heaviest first"]
        lines += aligned(_cluster_rows(h, index, known), _TEXT)
        if sizes[index] > ROWS_SHOWN:
            lines.append(f"... and {sizes[index] - ROWS_SHOWN} more")
    if scores:
        header = ["level", "clusters", "accuracy", "NMI", "adjusted Rand", "purity"]
        rows = [
            [str(index), str(sizes[index]), *(f"{value:.3f}" for value in scores[index].values())]
            for index in reversed(range(len(h)))
        ]
        lines += ["", "scores against the known classes, which the clustering did not use"]
        lines += aligned([header, *rows])
    return lines


def _cluster_rows(h: Hierarchy, index: int, known: NDArray[Any] | None) -> list[list[str]]:
    """Return a header, and one row for each of the heaviest clusters of the level."""
    level = h[index]
    certainty = certainties(level.memberships, level.labels)
    classes = _commonest(known, level.labels, len(level.mass)) if known is not None else {}
    rows = [["cluster", "size", "mass", "share", "certainty", "class", "pure", "main children"]]
    for cluster in np.argsort(-level.mass, kind="stable")[:ROWS_SHOWN].tolist():
        node = h.tree.find(f"{index}-{cluster}")
        share = f"{100 * node.mass / total:.1f} %" if (total := float(level.mass.sum())) > 0 else "-"
        children = sorted(map(h.tree.find, node.children), key=lambda child: -child.mass)
        names = [child.id for child in children[:_CHILDREN_SHOWN]]
        if len(children) > _CHILDREN_SHOWN:
            names.append(f"+{len(children) - _CHILDREN_SHOWN}")
        numbers = [str(node.size), f"{node.mass:.4g}", share, number_or_dash(certainty[cluster])]
        rows.append([node.id, *numbers, *classes.get(cluster, ("", "")), " ".join(names)])
    return rows


def _commonest(known: NDArray[Any], labels: NDArray[np.integer], count: int) -> dict[int, tuple[str, str]]:
    """Return the commonest class of every cluster that has points, and that class's share."""
    table = metrics.confusion(known, labels).tocsc()
    classes = np.unique(known)
    found = {}
    for column, cluster in enumerate(np.unique(labels).tolist()):
        counts = table.data[table.indptr[column] : table.indptr[column + 1]]
        best = int(np.argmax(counts))
        name = str(classes[table.indices[table.indptr[column] + best]])
        found[cluster] = (printable(name)[:20], f"{100 * counts[best] / counts.sum():.0f} %")
    return found
