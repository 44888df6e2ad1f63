"""What a page holds: members by name, from facts of levels and what the caller knows of the points.

The contract with ``page/src/data.ts``, which has the same table. Points of the page are numbered from 0 to
``shown - 1``, clusters of a level from 0. "Rows" are lists of lists: ``X_count`` holds how many entries each
row has, and the other arrays hold all entries, row after row.

Head, as JSON in the page itself:
  ``format`` 1, ``title``, ``points`` (n), ``shown``, ``edges``, ``components``,
  ``notes`` (texts: what was done), ``limits`` (texts: what was left out of the page),
  ``features`` (what a score measures, or null), ``rounds`` (of the stability, or null),
  ``box`` ([x0, y0, x1, y1] of the coordinates), ``given`` (whether the caller gave the coordinates),
  ``images`` (null, ``{"form": "files"}``, or
  ``{"form": "sheets", "width", "height", "columns", "rows", "sheets"}``),
  ``levels`` ([{"clusters", "log_likelihood", "status", "entropy"}], finest first; ``entropy`` the largest),
  ``members`` ({name: {"kind", "length"}}).

Of each level l, as ``l/...``, with m clusters:
  mass f4[m] (points, in a graph without edges), size u4[m], color u1[3m]
  certainty f4[m], conductance f4[m] (-1 where not defined)
  stability f4[m] (-1 where not defined) and lost u[m] (in how many rounds), if it was computed
  circle f4[3m] (x, y and radius, from the lower corner of the box and in parts of its longer side)
  parent u[m] (the likeliest), rows of m: parents_count, parents_cluster u, parents_chance f4 (not at the top)
  rows of m: flow_count, flow_cluster u, flow_share f4 (``h.flow(l)``, the largest first; not at the top)
  rows of m: graph_count, graph_cluster u, graph_weight f4 (largest entries of ``h[l].graph``, none diagonal)
  rows of m: near_count, near_cluster u, near_chance f4 (chances of one step along an edge)
  rows of m: apart_count, apart_feature u, apart_score f4 (with features; features are listed in ``features``)
  rows of m: central_count, central_point u (exemplars, the most central first)
  rows of m: torn_count, torn_cluster u, torn_point u (the most torn between the two, grouped by cluster)
  rows of shown points: share_count u1, share_cluster u, share u1 (membership times 255, the largest first)
  entropy u1[shown] (times 255 / the level's largest)
  rows of m: class_count, class_label u, class_points u (of all n points, with labels)

Of the points: x u2[shown], y u2[shown] (0 to 65535 across the box), row u4[shown] (if some are left out),
rows of shown points: close_count u1, close_point u (those with the strongest edges to them, strongest first).
Texts, as JSON: cluster_names ({id: name}), names, texts ([...] of shown), features ([...]), labels ([...]).
With labels: label u[shown], label_color u1[3 * labels]. With images: image/0, image/1, ... of bytes (sheets),
or image_size u4[shown] and image/0 (files, one after another).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.explorer.given import Given
from graphsoft.explorer.packing import Members, clean_text, narrowed
from graphsoft.explorer.sampling import Sample, chosen_points, chosen_texts

__all__ = ["Content", "LevelFacts", "content_of"]

FORMAT = 1
# Entries in a row: memberships of a point, edges of a cluster, and nearest clusters.
SHARES, EDGES, NEAREST = 4, 8, 6
CLOSE = 6  # nearest points of a point
# Points most torn between two clusters. A smaller share than the least one is not torn.
TORN, MIN_TORN = 3, 0.05
MIN_FLOW = 0.001  # smaller parts of a cluster are not drawn
TOP = 255  # shares are written as whole numbers up to this
FAR = 65535  # and coordinates up to this

Rows = tuple[Array, Array, Array]  # counts, columns, values


@dataclass(frozen=True, eq=False)
class LevelFacts:
    """What is known of a level, as the hierarchy found and described it.

    Attributes
    ----------
    memberships : csr_array of shape (n, m)
    parents, flow : csr_array of shape (m, m_above), or None
    mass, certainty, conductance : ndarray of shape (m,)
        NaN where not defined.
    labels : ndarray of shape (n,)
        The likeliest clusters.
    entropy : ndarray of shape (n,)
    color : ndarray of uint8, shape (m, 3)
    circles : ndarray of shape (m, 3)
        x, y and radius, where the longer side of the box of the coordinates is 1.
    graph : csr_array of shape (m, m)
        Edges between clusters.
    chances : csr_array of shape (m, m)
        Of one step along an edge of the points' graph.
    central : list of lists of int
        Exemplars of each cluster, the most central first.
    apart : sequence of m tuples of (name, score)
        What sets each cluster apart; empty without features.
    stability : pair of ndarrays of shape (m,), or None
        How surely each cluster is found again, and in how many rounds it was lost.
    log_likelihood : float
    status : str
    """

    memberships: sp.csr_array
    parents: sp.csr_array | None
    flow: sp.csr_array | None
    mass: Array
    certainty: Array
    conductance: Array
    labels: Array
    entropy: Array
    color: Array
    circles: Array
    graph: sp.csr_array
    chances: sp.csr_array
    central: Sequence[Sequence[int]]
    apart: Sequence[Sequence[tuple[Any, float]]]
    stability: tuple[Array, Array] | None
    log_likelihood: float
    status: str


@dataclass(frozen=True)
class Content:
    """A whole page but for its code: the head, and the members."""

    head: dict[str, Any]
    members: Members


def content_of(
    levels: Sequence[LevelFacts],
    given: Given,
    facts: Mapping[str, Any],
    names: Mapping[str, str],
    adjacency: sp.csr_array,
    label_color: Array | None,
    max_points: int,
) -> Content:
    """Put the content of a page together.

    Parameters
    ----------
    levels : sequence of LevelFacts
        Finest first.
    given : Given
        What the caller knows of the points.
    facts : mapping
        ``edges, components, notes, features, rounds`` of the head.
    names : mapping of str to str
        Names of clusters, by id.
    adjacency : csr_array of shape (n, n)
        Edges between points.
    label_color : ndarray of uint8, shape (number of labels, 3), or None
    max_points : int
        Of more points there is a sample of about so many.
    """
    members = Members()
    needed = {point for level in levels for points in level.central for point in points}
    sample = chosen_points(levels[0].labels, needed, max_points)
    features: dict[str, int] = {}
    heads = [_add_level(members, f"{at}/", level, sample, features) for at, level in enumerate(levels)]
    members.add_json("cluster_names", {id: clean_text(name) for id, name in names.items()})
    if features:
        members.add_json("features", list(features))
    box = _add_places(members, given.coordinates[sample.points])
    limits = [*sample.notes]
    if len(sample.points) < len(given.coordinates):
        members.add_array("row", sample.points.astype(np.uint32))
    counts, columns, _ = _largest(_without_diagonal(adjacency[sample.points][:, sample.points]), CLOSE)
    members.add_array("close_count", narrowed(counts))
    members.add_array("close_point", narrowed(columns))
    if given.names is not None:
        members.add_json("names", [given.names[point] for point in sample.points.tolist()])
    if given.texts is not None:
        kept, note = chosen_texts([given.texts[point] for point in sample.points.tolist()])
        members.add_json("texts", kept)
        limits += note
    if given.labels is not None and label_color is not None:
        _add_labels(members, levels, given.labels, sample)
        members.add_array("label_color", label_color.ravel())
    images = None
    if given.images is not None:
        images, note = given.images.add_to(members, sample.points)
        limits += note
    head = {
        "format": FORMAT, "title": given.title, "points": len(given.coordinates), "shown": len(sample.points),
        **facts, "limits": limits, "box": box, "given": given.placed, "images": images, "levels": heads,
        "members": members.table,
    }  # fmt: skip
    return Content(head, members)


def _add_level(
    members: Members, prefix: str, level: LevelFacts, sample: Sample, features: dict[str, int]
) -> dict[str, Any]:
    """Add the members of one level; returns what the head says of it."""
    count = len(level.mass)
    members.add_array(prefix + "mass", level.mass.astype(np.float32))
    members.add_array(prefix + "size", np.bincount(level.labels, minlength=count).astype(np.uint32))
    members.add_array(prefix + "color", np.ascontiguousarray(level.color, dtype=np.uint8).ravel())
    members.add_array(prefix + "circle", level.circles.astype(np.float32).ravel())
    members.add_array(prefix + "certainty", _or_minus_one(level.certainty))
    members.add_array(prefix + "conductance", _or_minus_one(level.conductance))
    if level.stability is not None:
        overlap, lost = level.stability
        members.add_array(prefix + "stability", _or_minus_one(overlap))
        members.add_array(prefix + "lost", narrowed(lost))
    if level.parents is not None:
        rows = _largest(level.parents, level.parents.shape[1])
        members.add_array(prefix + "parent", narrowed(rows[1][_starts(rows[0])[:-1]]))
        _add_rows(members, prefix, ("parents_count", "parents_cluster", "parents_chance"), rows)
    if level.flow is not None:
        rows = _largest(level.flow, level.flow.shape[1], MIN_FLOW)
        _add_rows(members, prefix, ("flow_count", "flow_cluster", "flow_share"), rows)
    graph = _largest(_without_diagonal(level.graph), EDGES)
    _add_rows(members, prefix, ("graph_count", "graph_cluster", "graph_weight"), graph)
    near = _largest(_without_diagonal(level.chances), NEAREST)
    _add_rows(members, prefix, ("near_count", "near_cluster", "near_chance"), near)
    if any(level.apart):
        apart = [(features.setdefault(clean_text(name), len(features)), score) for row in level.apart
                 for name, score in row]  # fmt: skip
        counts = np.array([len(row) for row in level.apart])
        columns = np.array([column for column, _ in apart])
        scores = np.array([score for _, score in apart])
        _add_rows(members, prefix, ("apart_count", "apart_feature", "apart_score"), (counts, columns, scores))
    members.add_array(prefix + "central_count", narrowed([len(points) for points in level.central]))
    central = [point for points in level.central for point in points]
    members.add_array(prefix + "central_point", narrowed(sample.places(np.array(central, dtype=np.int64))))
    shares = _largest(level.memberships[sample.points], SHARES)
    torn_counts, others, torn = torn_points(shares, count)
    members.add_array(prefix + "torn_count", narrowed(torn_counts))
    members.add_array(prefix + "torn_cluster", narrowed(others))
    members.add_array(prefix + "torn_point", narrowed(torn))
    members.add_array(prefix + "share_count", narrowed(shares[0]))
    members.add_array(prefix + "share_cluster", narrowed(shares[1]))
    members.add_array(prefix + "share", np.rint(shares[2] * TOP).astype(np.uint8))
    entropy = level.entropy[sample.points]
    largest = max(float(entropy.max()), 1e-9)
    members.add_array(prefix + "entropy", np.rint(entropy * (TOP / largest)).astype(np.uint8))
    likelihood = level.log_likelihood if np.isfinite(level.log_likelihood) else None
    return {
        "clusters": count,
        "log_likelihood": likelihood,
        "status": clean_text(level.status),
        "entropy": largest,
    }


def torn_points(shares: Rows, clusters: int) -> Rows:
    """List for every cluster the points most torn between it and each other cluster.

    Parameters
    ----------
    shares : counts, clusters and memberships of points, the largest first
    clusters : int

    Returns
    -------
    ndarray of shape (clusters,), two ndarrays of int
        How many entries each cluster has; the other clusters; the points. At most `NEAREST` other clusters,
        those with the most torn point first, and `TORN` points for each.

    Examples
    --------
    >>> shares = np.array([2, 2, 1]), np.array([0, 1, 1, 0, 1]), np.array([0.6, 0.4, 0.7, 0.3, 1.0])
    >>> [part.tolist() for part in torn_points(shares, 2)]
    [[2, 2], [1, 1, 0, 0], [0, 1, 0, 1]]
    """
    counts, columns, values = shares
    starts = _starts(counts)[:-1]
    parts = []
    for first in range(SHARES):
        for second in range(first + 1, SHARES):
            points = np.flatnonzero(counts > second)
            one, other = starts[points] + first, starts[points] + second
            torn = values[other] >= MIN_TORN
            points, one, other = points[torn], one[torn], other[torn]
            parts.append((columns[one], columns[other], points, values[other]))
            parts.append((columns[other], columns[one], points, values[other]))
    own, other, points, share = (np.concatenate([part[at] for part in parts]) for at in range(4))
    order = np.lexsort((points, -share, other, own))
    own, other, points, share = own[order], other[order], points[order], share[order]
    pair = own.astype(np.int64) * clusters + other
    kept = _rank(pair) < TORN
    own, other, points, share, pair = own[kept], other[kept], points[kept], share[kept], pair[kept]
    _, firsts, pairs = np.unique(pair, return_index=True, return_inverse=True)
    ranked = np.lexsort((other[firsts], -share[firsts], own[firsts]))
    place = np.empty(len(firsts), dtype=np.int64)
    place[ranked] = _rank(own[firsts][ranked])
    kept = place[pairs] < NEAREST
    order = np.lexsort((np.arange(len(own))[kept], place[pairs][kept], own[kept]))
    own, other, points = own[kept][order], other[kept][order], points[kept][order]
    return np.bincount(own, minlength=clusters), other, points


def _rank(sorted_groups: Array) -> Array:
    """Count from 0 within each group."""
    begins = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
    lengths = np.diff(np.append(begins, len(sorted_groups)))
    return np.asarray(np.arange(len(sorted_groups)) - np.repeat(begins, lengths))


def _largest(matrix: sp.csr_array, count: int, least: float = 0.0) -> Rows:
    """Take the entries above `least` of each row, the largest first; of equal ones the lower column."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    large = matrix.data > least
    rows, columns, values = rows[large], matrix.indices[large], matrix.data[large]
    order = np.lexsort((columns, -values, rows))
    order = order[_rank(rows[order]) < count]
    return np.bincount(rows[order], minlength=matrix.shape[0]), columns[order], values[order]


def _without_diagonal(matrix: sp.csr_array) -> sp.csr_array:
    coordinates = matrix.tocoo()
    off = coordinates.row != coordinates.col
    entries = (coordinates.data[off], (coordinates.row[off], coordinates.col[off]))
    return sp.csr_array(entries, shape=matrix.shape)


def _add_rows(members: Members, prefix: str, names: tuple[str, str, str], rows: Rows) -> None:
    counts, columns, values = rows
    members.add_array(prefix + names[0], narrowed(counts))
    members.add_array(prefix + names[1], narrowed(columns))
    members.add_array(prefix + names[2], values.astype(np.float32))


def _starts(counts: Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)])


def _or_minus_one(values: Array) -> Array:
    return np.where(np.isfinite(values), values, -1.0).astype(np.float32)


def _add_places(members: Members, coordinates: Array) -> list[float]:
    """Add the coordinates, as whole numbers across their box, which is returned."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    places = np.rint((coordinates - low) / span * FAR).astype(np.uint16)
    members.add_array("x", np.ascontiguousarray(places[:, 0]))
    members.add_array("y", np.ascontiguousarray(places[:, 1]))
    return [float(number) for number in (*low, *(low + span))]


def _add_labels(
    members: Members, levels: Sequence[LevelFacts], labels: tuple[list[str], Array], sample: Sample
) -> None:
    """Add labels of the points, and how often each comes in each cluster."""
    names, numbers = labels
    members.add_json("labels", names)
    members.add_array("label", narrowed(numbers[sample.points]))
    for at, level in enumerate(levels):
        shape = (len(level.mass), len(names))
        table = sp.csr_array((np.ones(len(numbers)), (level.labels, numbers)), shape=shape)
        counts, columns, points = _largest(table, len(names))
        for name, values in (("class_count", counts), ("class_label", columns), ("class_points", points)):
            members.add_array(f"{at}/{name}", narrowed(values))
