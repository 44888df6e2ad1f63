"""What a page holds: members by name, from facts of levels and what the caller knows of the points.

The contract with ``page/src/data.ts``, which has the same table. Points of the page are numbered from 0 to
``shown - 1``, clusters of a level from 0. "Rows" are lists of lists: ``X_count`` holds how many entries each
row has, and the other arrays hold all entries, row after row.

Head, as JSON in the page itself:
  ``format`` 1, ``title``, ``points`` (n), ``shown``, ``edges``, ``components``,
  ``notes`` (texts: what was done), ``limits`` (texts: what was left out of the page),
  ``features`` (what a score measures, or null), ``rounds`` (of the stability, or null),
  ``box`` ([x0, y0, x1, y1] of the coordinates of all points), ``given`` (whether the caller gave them),
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
  rows of shown points: share_count u1, share_cluster u, share_part u (memberships, largest first)
  entropy u1[shown] (times 255 / the level's largest)
  Memberships are times 2000, rounded down: tenths of percents, and the halves at which these are rounded.
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
from graphsoft.explorer.rows import NEAREST, SHARES, largest_in_rows, starts_of, torn_points
from graphsoft.explorer.sampling import Sample, chosen_points, chosen_texts
from graphsoft.linalg.csr import without_diagonal

__all__ = ["Content", "HierarchyFacts", "LevelFacts", "box_of", "content_of"]

FORMAT = 1
EDGES = 8  # of a cluster
CLOSE = 6  # nearest points of a point
MIN_FLOW = 0.001  # smaller parts of a cluster are not drawn
SHARE = 2000  # shares are written as whole numbers up to this
ENTROPY = 255  # and entropies up to this
FAR = 65535  # and coordinates up to this


@dataclass(frozen=True, eq=False)
class LevelFacts:
    """What is known of a level, as the hierarchy found and described it.

    Attributes
    ----------
    memberships : csr_array of shape (n, m)
    parents, flow : csr_array of shape (m, m_above), or None
    mass, certainty, conductance : ndarray of shape (m,)
        NaN where not defined.
    sizes : ndarray of shape (m,)
        How many of all points have each as their likeliest cluster.
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
    sizes: Array
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


@dataclass(frozen=True, eq=False)
class HierarchyFacts:
    """What is known of a whole hierarchy, n points of which are known one by one.

    Attributes
    ----------
    points : int
        How many there are in all: n, or more.
    rows : ndarray of shape (n,)
        Which of them are known one by one, rising.
    adjacency : csr_array of shape (n, n)
        Edges between points.
    coordinates : ndarray of shape (n, 2)
        Where points are on the map.
    edges, components : int
    notes : sequence of str
        What was done.
    features : str or None
        What the scores of features measure.
    rounds : int or None
        Of the stability, where it is known.
    cluster_names : mapping of str to str
        Names of clusters, by id.
    label_color : ndarray of uint8, shape (number of labels, 3), or None
    limits : sequence of str
        What was left out of all this.
    """

    points: int
    rows: Array
    adjacency: sp.csr_array
    coordinates: Array
    edges: int
    components: int
    notes: Sequence[str]
    features: str | None
    rounds: int | None
    cluster_names: Mapping[str, str]
    label_color: Array | None
    limits: Sequence[str] = ()


@dataclass(frozen=True)
class Content:
    """A whole page but for its code: the head, and the members."""

    head: dict[str, Any]
    members: Members


def content_of(levels: Sequence[LevelFacts], facts: HierarchyFacts, given: Given, max_points: int) -> Content:
    """Put the content of a page together; `levels` has the finest first.

    Of more than `max_points` points there is a sample of about so many.
    """
    members = Members()
    needed = {point for level in levels for points in level.central for point in points}
    sample = chosen_points(levels[0].labels, needed, max_points)
    features: dict[str, int] = {}
    heads = [_add_level(members, f"{at}/", level, sample, features) for at, level in enumerate(levels)]
    members.add_json("cluster_names", {id: clean_text(name) for id, name in facts.cluster_names.items()})
    if features:
        members.add_json("features", list(features))
    box = _add_places(members, facts.coordinates, sample)
    limits = [*facts.limits, *sample.notes]
    if len(sample.points) < facts.points:
        members.add_array("row", facts.rows[sample.points].astype(np.uint32))
    among = without_diagonal(facts.adjacency[sample.points][:, sample.points])
    _add_rows(members, "", ("close_count", "close_point"), largest_in_rows(among, CLOSE)[:2])
    if given.names is not None:
        members.add_json("names", [given.names[point] for point in sample.points.tolist()])
    if given.texts is not None:
        kept, note = chosen_texts([given.texts[point] for point in sample.points.tolist()])
        members.add_json("texts", kept)
        limits += note
    if given.labels is not None and facts.label_color is not None:
        _add_labels(members, levels, given.labels, sample)
        members.add_array("label_color", facts.label_color.ravel())
    images = None
    if given.images is not None:
        images, note = given.images.add_to(members, sample.points)
        limits += note
    head = {
        "format": FORMAT, "title": given.title, "points": facts.points,
        "shown": len(sample.points), "edges": facts.edges, "components": facts.components,
        "notes": [*facts.notes], "limits": limits, "features": facts.features,
        "rounds": facts.rounds, "box": box,
        "given": given.coordinates is not None, "images": images, "levels": heads, "members": members.table,
    }  # fmt: skip
    return Content(head, members)


def _add_level(
    members: Members, prefix: str, level: LevelFacts, sample: Sample, features: dict[str, int]
) -> dict[str, Any]:
    """Add the members of one level; returns what the head says of it."""
    count = len(level.mass)
    members.add_array(prefix + "mass", level.mass.astype(np.float32))
    members.add_array(prefix + "size", level.sizes.astype(np.uint32))
    members.add_array(prefix + "color", np.ascontiguousarray(level.color, dtype=np.uint8).ravel())
    members.add_array(prefix + "circle", level.circles.astype(np.float32).ravel())
    members.add_array(prefix + "certainty", _or_minus_one(level.certainty))
    members.add_array(prefix + "conductance", _or_minus_one(level.conductance))
    if level.stability is not None:
        overlap, lost = level.stability
        members.add_array(prefix + "stability", _or_minus_one(overlap))
        members.add_array(prefix + "lost", narrowed(lost))
    if level.parents is not None:
        rows = largest_in_rows(level.parents, level.parents.shape[1])
        members.add_array(prefix + "parent", narrowed(rows[1][starts_of(rows[0])]))
        _add_rows(members, prefix, ("parents_count", "parents_cluster", "parents_chance"), rows)
    if level.flow is not None:
        rows = largest_in_rows(level.flow, level.flow.shape[1], MIN_FLOW)
        _add_rows(members, prefix, ("flow_count", "flow_cluster", "flow_share"), rows)
    graph = largest_in_rows(without_diagonal(level.graph), EDGES)
    _add_rows(members, prefix, ("graph_count", "graph_cluster", "graph_weight"), graph)
    near = largest_in_rows(without_diagonal(level.chances), NEAREST)
    _add_rows(members, prefix, ("near_count", "near_cluster", "near_chance"), near)
    if any(level.apart):
        apart = [(features.setdefault(clean_text(name), len(features)), score) for row in level.apart
                 for name, score in row]  # fmt: skip
        counts = np.array([len(row) for row in level.apart])
        columns = np.array([column for column, _ in apart])
        scores = np.array([score for _, score in apart])
        _add_rows(members, prefix, ("apart_count", "apart_feature", "apart_score"), (counts, columns, scores))
    counts = np.array([len(points) for points in level.central])
    central = np.array([point for points in level.central for point in points], dtype=np.int64)
    _add_rows(members, prefix, ("central_count", "central_point"), (counts, sample.places(central)))
    shares = largest_in_rows(level.memberships[sample.points], SHARES)
    _add_rows(members, prefix, ("torn_count", "torn_cluster", "torn_point"), torn_points(shares, count))
    shares = *shares[:2], np.floor(shares[2] * SHARE).astype(np.int64)
    _add_rows(members, prefix, ("share_count", "share_cluster", "share_part"), shares)
    entropy = level.entropy[sample.points]
    largest = max(float(entropy.max()), 1e-9)
    members.add_array(prefix + "entropy", np.rint(entropy * (ENTROPY / largest)).astype(np.uint8))
    likelihood = level.log_likelihood if np.isfinite(level.log_likelihood) else None
    return {
        "clusters": count,
        "log_likelihood": likelihood,
        "status": clean_text(level.status),
        "entropy": largest,
    }


def _add_rows(members: Members, prefix: str, names: Sequence[str], rows: Sequence[Array]) -> None:
    """Add counts, columns and perhaps values of rows, each by its name."""
    for name, values in zip(names, rows, strict=True):
        whole = values.dtype.kind in "iu"
        members.add_array(prefix + name, narrowed(values) if whole else values.astype(np.float32))


def _or_minus_one(values: Array) -> Array:
    return np.where(np.isfinite(values), values, -1.0).astype(np.float32)


def box_of(coordinates: Array) -> Array:
    """Return the lower and the upper corner of the box around places; where they have no extent, it has some.

    Examples
    --------
    >>> box_of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[1., 5.],
           [3., 7.]])
    """
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    side = float((high - low).max()) or 1.0
    beyond = np.maximum(low + side, np.nextafter(low, np.inf))  # also where the side is lost in rounding
    return np.array([low, np.where(high > low, high, beyond)])


def _add_places(members: Members, coordinates: Array, sample: Sample) -> list[float]:
    """Add coordinates, as whole numbers across the box of all, which is returned."""
    low, high = box_of(coordinates)
    places = np.rint((coordinates[sample.points] - low) / (high - low) * FAR).astype(np.uint16)
    members.add_array("x", np.ascontiguousarray(places[:, 0]))
    members.add_array("y", np.ascontiguousarray(places[:, 1]))
    return [*low.tolist(), *high.tolist()]


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
        counts, columns, points = largest_in_rows(table, len(names))
        rows = counts, columns, points.astype(np.int64)
        _add_rows(members, f"{at}/", ("class_count", "class_label", "class_points"), rows)
