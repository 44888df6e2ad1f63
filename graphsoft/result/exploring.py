"""The explorer, a page that shows everything; `explore` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.colors import class_colors, cluster_colors
from graphsoft.errors import InputError, shown
from graphsoft.explorer.content import HierarchyFacts, LevelFacts, box_of, content_of
from graphsoft.explorer.given import Given, checked_given, texts_of
from graphsoft.explorer.page import Explorer
from graphsoft.graph.features import FeaturesLeftOut
from graphsoft.input.checks import integer
from graphsoft.input.dense_input import frame_columns
from graphsoft.result.circles import Circles, weights_of
from graphsoft.result.description import certainties
from graphsoft.result.distinctive import Distinctive, feature_names_of, table_of
from graphsoft.result.intact import intact_features, intact_graph
from graphsoft.result.stability import Stability
from graphsoft.result.steps import best_in_rows, one_step
from graphsoft.storage.atomic import PathLike, check_target

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["Whole", "explore", "page_of"]

EXEMPLARS = 5
APART = 8  # features of a cluster


def explore(
    h: Hierarchy,
    path: PathLike | None = None,
    *,
    names: Any = None,
    texts: Any = None,
    images: Any = None,
    labels: Any = None,
    coordinates: Any = None,
    features: Any = None,
    stability: Stability | None = None,
    title: str | None = None,
    max_points: int = 200_000,
) -> Explorer | None:
    """Write one HTML page that shows the whole hierarchy, and opens from disk without a network.

    Parameters
    ----------
    path : path-like, optional
        The file to write. Without it the page is returned, and a notebook shows it in a frame.
    names : sequence of n, or mapping from `nodes`, optional
        What the points are called; by default the names in `nodes`, if they have names.
    texts : sequence of n texts, or mapping from `nodes`, optional
        What is read of a point. Long texts are cut.
    images : sequence of n bytes, mapping from `nodes`, or array of (n, height, width[, 3 or 4]), optional
        PNG, JPEG or WebP files; or pixels, as uint8 or as floats from 0 to 1.
    labels : sequence of n, or mapping from `nodes`, optional
        Known classes of the points. None and NaN become "missing".
    coordinates : array_like of shape (n, 2), or mapping from `nodes`, optional
        Where the points are on the map, such as two dimensions of UMAP, or longitude and latitude. By default
        those of :meth:`layout`.
    features : sequence of d names, table of shape (n, d), or pair of both, optional
        What sets clusters apart is found in this table, or in the features that were clustered; see
        :meth:`distinctive`. A pair is a table and the names of its columns.
    stability : Stability, optional
        How surely its clusters are found again, from :func:`graphsoft.stability`.
    title : str, optional
    max_points : int
        Of more points the page holds a sample of about so many, in proportion to the clusters, and says so.

    Returns
    -------
    Explorer or None
        None if there is a `path`.

    Notes
    -----
    A page holds every cluster. Names, texts and labels are shown as they are, and never run or fetched.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> page = h.explore(title="Les Misérables")
    >>> page.html[:15], "https://" in page.html
    ('<!doctype html>', False)
    """
    if path is not None:
        check_target(path)
    graph = intact_graph(h)
    if names is None and [*graph.nodes] != [*range(len(graph))]:
        names = graph.nodes
    _check_stability(h, stability)
    max_points = integer("max_points", max_points, 1)
    known = {"names": names, "texts": texts, "images": images, "labels": labels, "coordinates": coordinates}
    given = checked_given(graph.nodes, **known, title=title)
    page = page_of(h, given, features, stability, max_points)
    if path is None:
        return page
    page.save(path)
    return None


@dataclass(frozen=True, eq=False)
class Whole:
    """What is known of the whole of which a hierarchy is a sample.

    Attributes
    ----------
    points, edges, components : int
    rows : ndarray
        Which of its points are in the sample.
    levels : sequence
        Each with `mass`, `sizes` and `graph`.
    limits : sequence of str
        What to say about the points that are missing.
    """

    points: int
    edges: int
    components: int
    rows: Array
    levels: Sequence[Any]
    limits: Sequence[str] = ()


def page_of(
    h: Hierarchy,
    given: Given,
    features: Any,
    stability: Stability | None,
    max_points: int,
    whole: Whole | None = None,
) -> Explorer:
    """Make the page of `explore` of what has been checked; with `whole`, its numbers are of all points."""
    graph = intact_graph(h)
    table, columns = _features(h, features)
    apart = [_apart(h, level, table, columns) for level in range(len(h))]
    places = h.layout().astype(np.float64) if given.coordinates is None else given.coordinates
    low, high = box_of(places)
    circles = h.circles((places - low) / (high - low).max())
    colors = [_bytes_of(each) for each in cluster_colors(h)]
    levels = [
        _facts(h, level, colors[level], circles[level], apart[level], stability) for level in range(len(h))
    ]
    if whole is None:
        whole = Whole(len(graph), h.report.edges, h.report.components, np.arange(len(graph)), levels)
    else:
        levels = [
            replace(level, mass=each.mass, sizes=each.sizes, graph=each.graph)
            for level, each in zip(levels, whole.levels, strict=True)
        ]
    facts = HierarchyFacts(
        points=whole.points,
        rows=whole.rows,
        adjacency=graph.adjacency,
        coordinates=places,
        edges=whole.edges,
        components=whole.components,
        notes=h.report.notes,
        features=None if apart[0] is None else apart[0].meaning,
        rounds=None if stability is None else int(stability.rounds),
        cluster_names=h.cluster_names,
        label_color=None if given.labels is None else _bytes_of(class_colors(np.bincount(given.labels[1]))),
        limits=whole.limits,
    )
    return Explorer(content_of(levels, facts, given, max_points))


def _check_stability(h: Hierarchy, stability: Any) -> None:
    """Refuse what is no stability, or that of another hierarchy."""
    if stability is None:
        return
    remedy = "pass what graphsoft.stability(h) returned"
    if not isinstance(stability, Stability):
        raise InputError("stability", f"got {shown(stability)}", remedy)
    sizes = [np.bincount(level.labels, minlength=len(level.mass)).tolist() for level in h]
    shapes = [[np.shape(each) for each in part] for part in (stability.clusters, stability.lost)]
    fits = all(shape == [(len(each),) for each in sizes] for shape in shapes)
    if not fits or [np.asarray(each).tolist() for each in stability.sizes] != sizes:
        raise InputError("stability", "is that of another hierarchy", remedy)


def _features(h: Hierarchy, features: Any) -> tuple[Any, Any]:
    """Check a table, names of features, or a pair of both; either is None if it is not given."""
    if features is None:
        return None, None
    pair = isinstance(features, tuple) and len(features) == 2 and np.ndim(features[1]) == 1
    table, columns = (None, None)
    if pair and (sp.issparse(features[0]) or np.ndim(features[0]) == 2):
        table, columns = features
    elif sp.issparse(features) or frame_columns(features) is not None or _dimensions(features) == 2:
        table = features
    else:
        columns = features
    if table is not None:
        try:
            checked = table_of(table, h.nodes)
        except InputError as error:
            raise InputError("features", error.problem, error.remedy) from None
        return table, _columns(frame_columns(table) if columns is None else columns, checked.shape[1])
    own = None if isinstance(h.features, FeaturesLeftOut) else intact_features(h)
    if own is None:
        problem = f"got {shown(features)}, and there are no features to name"
        raise InputError("features", problem, "give a table, or a pair (table, names)")
    return None, _columns(columns, own.values.shape[1])


def _columns(names: Any, count: int) -> list[str]:
    """Check the names of features; without any, they are called by their numbers."""
    try:
        listed = feature_names_of(names, count)
    except InputError as error:
        raise InputError("features", error.problem, error.remedy) from None
    return texts_of("features", listed, "unnamed")


def _dimensions(values: Any) -> int:
    try:
        return np.ndim(values)
    except ValueError:  # rows of different lengths
        return 0


def _apart(h: Hierarchy, level: int, table: Any, columns: Any) -> Distinctive | None:
    if table is None and (h.features is None or isinstance(h.features, FeaturesLeftOut)):
        return None
    return h.distinctive(level, APART, feature_names=columns, X=table)


def _bytes_of(colors: Array) -> Array:
    return np.asarray(np.rint(255 * colors), dtype=np.uint8)


def _facts(
    h: Hierarchy,
    at: int,
    color: Array,
    circles: Circles,
    apart: Distinctive | None,
    stability: Stability | None,
) -> LevelFacts:
    """Gather what is known of a level."""
    level, memberships = h[at], h._memberships(at)
    weights, inside, _ = one_step(intact_graph(h), memberships, level.labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        conductance = np.clip(1.0 - weights.diagonal() / level.mass, 0.0, 1.0)
    per_mass = np.divide(1.0, level.mass, out=np.zeros(len(level.mass)), where=level.mass > 0)
    central: Sequence[Sequence[int]] = [
        [point for point, _ in row] for row in best_in_rows(inside.T.tocsr(), EXEMPLARS)
    ]
    return LevelFacts(
        memberships=memberships,
        parents=level.parents,
        flow=None if at == len(h) - 1 else h.flow(at),
        mass=weights_of(level),
        certainty=certainties(memberships, level.labels),
        conductance=conductance,
        sizes=np.bincount(level.labels, minlength=len(level.mass)),
        labels=level.labels,
        entropy=level.entropy,
        color=color,
        circles=np.column_stack([circles.centers, circles.radii]),
        graph=level.graph,
        chances=sp.csr_array(sp.diags_array(per_mass) @ weights),
        central=central,
        apart=[()] * len(level.mass) if apart is None else apart.scores,
        stability=None if stability is None else (stability.clusters[at], stability.lost[at]),
        log_likelihood=level.report.log_likelihood,
        status=level.report.status,
    )
