"""Clusters as readable tables and as plain facts, and their scores against known classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphsoft import metrics
from graphsoft.cli.terminal import printable
from graphsoft.result.description import certainties
from graphsoft.result.tables import ROWS_SHOWN, aligned, levels_shown, number_or_dash

if TYPE_CHECKING:
    from graphsoft.methods import Clustering
    from graphsoft.result.hierarchy import Hierarchy

__all__ = [
    "clustering_facts",
    "hierarchy_facts",
    "score_labels",
    "score_levels",
    "summarize",
    "summarize_clustering",
]

_CHILDREN_SHOWN = 4
_CLASS_SHOWN = 20  # letters
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
    return [score_labels(level.labels, known) for level in h]


def score_labels(labels: ArrayLike, known: ArrayLike) -> dict[str, float]:
    """Score one clustering against the known classes; see `score_levels`.

    Examples
    --------
    >>> score_labels([0, 0, 1], ["a", "a", "b"])["accuracy"]
    1.0
    """
    return {
        "accuracy": metrics.accuracy(known, labels),
        "nmi": metrics.nmi(known, labels),
        "adjusted_rand": metrics.adjusted_rand(known, labels),
        "purity": metrics.purity(known, labels),
    }


def summarize(
    h: Hierarchy,
    known: NDArray[Any] | None = None,
    scores: Sequence[dict[str, float]] = (),
    notes: Sequence[str] = (),
) -> list[str]:
    """Describe the top of a hierarchy in lines of text.

    Parameters
    ----------
    h : Hierarchy
    known : ndarray of shape (n,), optional
        Known classes. They add to every cluster its commonest class, and the share of its points in it.
    scores : list of dict
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
    lines += [f"note: {note}" for note in (*notes, *h.report.notes)]
    for index in levels_shown(sizes):
        lines += ["", f"level {index}: {sizes[index]} clusters, heaviest first"]
        lines += _table(_level_facts(h, index, known))
    return lines + _score_table(
        [(index, sizes[index], scores[index]) for index in reversed(range(len(scores)))]
    )


def hierarchy_facts(
    h: Hierarchy, known: NDArray[Any] | None, scores: list[dict[str, float]], notes: Sequence[str]
) -> dict[str, Any]:
    """List what `summarize` shows, of all clusters of all levels, for a program to read."""
    levels = [
        {
            "level": index,
            "clusters": _level_facts(h, index, known),
            "scores": scores[index] if scores else None,
        }
        for index in range(len(h))
    ]
    return {"points": len(h.nodes), "levels": levels, "notes": [*notes, *h.report.notes]}


def summarize_clustering(
    found: Clustering, known: NDArray[Any] | None, scores: dict[str, float] | None, notes: Sequence[str]
) -> list[str]:
    """Describe a flat clustering in lines of text."""
    points, clusters = found.memberships.shape
    lines = [f"{points} points in {clusters} clusters: {found.status}", *(f"note: {note}" for note in notes)]
    lines += ["", *_table(_flat_facts(found, known))]
    return lines + _score_table([] if scores is None else [(0, clusters, scores)])


def clustering_facts(
    found: Clustering, known: NDArray[Any] | None, scores: dict[str, float] | None, notes: Sequence[str]
) -> dict[str, Any]:
    """List what `summarize_clustering` shows, for a program to read."""
    return {
        "points": found.memberships.shape[0],
        "clusters": _flat_facts(found, known),
        "scores": scores,
        "status": found.status,
        "notes": list(notes),
    }


def _level_facts(h: Hierarchy, index: int, known: NDArray[Any] | None) -> list[dict[str, Any]]:
    """List the clusters of a level, heaviest first."""
    level = h[index]
    facts = _facts(level, level.mass, known)
    for fact in facts:
        node = h.tree.find(f"{index}-{fact['cluster']}")
        children = sorted(map(h.tree.find, node.children), key=lambda child: -child.mass)
        fact |= {"cluster": node.id, "children": [child.id for child in children]}
    return facts


def _flat_facts(found: Clustering, known: NDArray[Any] | None) -> list[dict[str, Any]]:
    """List the clusters, largest first; the mass of a cluster is the sum of its memberships."""
    facts = _facts(found, np.asarray(found.memberships.sum(axis=0)).ravel(), known)
    return [fact | {"cluster": str(fact["cluster"])} for fact in facts]


def _facts(level: Any, mass: NDArray[Any], known: NDArray[Any] | None) -> list[dict[str, Any]]:
    """List the figures of the clusters of anything that has memberships and labels."""
    certainty = certainties(level.memberships, level.labels)
    sizes = np.bincount(level.labels, minlength=len(mass))
    classes = {} if known is None else _commonest(known, level.labels)
    total = float(mass.sum())
    facts = []
    for cluster in np.argsort(-mass, kind="stable").tolist():
        name, pure = classes.get(cluster, (None, None))
        facts.append(
            {
                "cluster": cluster,
                "size": int(sizes[cluster]),
                "mass": float(mass[cluster]),
                "share": float(mass[cluster]) / total if total > 0 else None,
                "certainty": float(certainty[cluster]),
                "class": name,
                "pure": pure,
            }
        )
    return facts


def _table(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Align the heaviest clusters, and say how many are left out."""
    rows = [["cluster", "size", "mass", "share", "certainty", "class", "pure", "main children"]]
    for fact in facts[:ROWS_SHOWN]:
        children = fact.get("children", [])
        names = children[:_CHILDREN_SHOWN]
        if len(children) > _CHILDREN_SHOWN:
            names = [*names, f"+{len(children) - _CHILDREN_SHOWN}"]
        row = [fact["cluster"], str(fact["size"]), f"{fact['mass']:.4g}", _percent(fact["share"], ".1f", "-")]
        row += [number_or_dash(fact["certainty"]), printable(fact["class"] or "")[:_CLASS_SHOWN]]
        rows.append([*row, _percent(fact["pure"], ".0f", ""), " ".join(names)])
    lines = aligned(rows, _TEXT)
    return lines + [f"... and {len(facts) - ROWS_SHOWN} more"] * (len(facts) > ROWS_SHOWN)


def _percent(part: float | None, form: str, otherwise: str) -> str:
    return otherwise if part is None else f"{100 * part:{form}} %"


def _score_table(levels: Sequence[tuple[int, int, Mapping[str, float]]]) -> list[str]:
    """Align the scores of levels, given as level, clusters, scores."""
    if not levels:
        return []
    header = ["level", "clusters", "accuracy", "NMI", "adjusted Rand", "purity"]
    rows = [
        [str(level), str(clusters), *(f"{value:.3f}" for value in scores.values())]
        for level, clusters, scores in levels
    ]
    heading = "scores against the known classes, which the clustering did not use"
    return ["", heading, *aligned([header, *rows])]


def _commonest(known: NDArray[Any], labels: NDArray[np.integer]) -> dict[int, tuple[str, float]]:
    """Return the commonest class of every cluster that has points, and that class's share."""
    table = metrics.confusion(known, labels).tocsc()
    classes = np.unique(known)
    found = {}
    for column, cluster in enumerate(np.unique(labels).tolist()):
        counts = table.data[table.indptr[column] : table.indptr[column + 1]]
        best = int(np.argmax(counts))
        name = str(classes[table.indices[table.indptr[column] + best]])
        found[cluster] = (name, float(counts[best] / counts.sum()))
    return found
