"""Names of clusters; `name_clusters` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphsoft.errors import InputError, shown
from graphsoft.input.checks import integer
from graphsoft.result.distinctive import Scores
from graphsoft.result.feature_scores import DIFFERENCE

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["checked_cluster_names", "name_clusters"]

SEPARATOR = ", "


def checked_cluster_names(names: Any, sizes: Sequence[int]) -> dict[str, str]:
    """Check names of clusters, ``{id: name}``; `sizes` are the numbers of clusters, finest level first.

    Examples
    --------
    >>> checked_cluster_names({"1-0": "fruit"}, [5, 2])
    {'1-0': 'fruit'}
    """
    ids = {f"{level}-{cluster}" for level, size in enumerate(sizes) for cluster in range(size)}
    if not isinstance(names, Mapping):
        raise InputError("names", f"got {shown(names)}", "give {id: name}, such as {'1-0': 'fruit'}")
    for id, name in names.items():
        if id not in ids:
            raise InputError("names", f"there is no cluster {shown(id)}", "use ids of h.tree, such as '1-0'")
        if not isinstance(name, str) or not name.strip():
            raise InputError("names", f"the name of {id} is {shown(name)}", "give texts that are not empty")
    return {str(id): str(name) for id, name in names.items()}


def _name_of_features(scores: Scores, statistic: str) -> str:
    """Make a name of the features that set a cluster apart: words, or what is high and what is low.

    Examples
    --------
    >>> _name_of_features((("size", 3.2), ("price", -2.0)), "difference")
    'high size, low price'
    >>> _name_of_features((("apple", 3.2), ("pear", 2.1)), "rates")
    'apple, pear'
    """
    if statistic == DIFFERENCE:
        return SEPARATOR.join(f"{'high' if score > 0 else 'low'} {name}" for name, score in scores)
    return SEPARATOR.join(str(word) for word, _ in scores)


def name_clusters(
    h: Hierarchy,
    names: Mapping[str, str] | None = None,
    *,
    count: int = 3,
    feature_names: Any = None,
    X: Any = None,
    statistic: str = "auto",
) -> Hierarchy:
    """Name clusters, by what sets them apart or as you say.

    Parameters
    ----------
    names : mapping, optional
        ``{id: name}``, such as ``{"1-0": "fruit"}``. Clusters that are not in it keep the names they
        have, and None takes a name away. Without it every cluster of every level is named by the features
        that set it apart.
    count : int
        Of how many features a name is made.
    feature_names, X, statistic
        The names of the features, another table of the same points, and how features are scored; see
        :meth:`distinctive`.

    Returns
    -------
    Hierarchy
        The same one with `cluster_names`. ``print(h.tree)`` shows them.

    Examples
    --------
    >>> import graphsoft
    >>> h = graphsoft.hierarchy([[0.0, 1.0], [1.0, 9.0], [50.0, 8.0], [51.0, 2.0]], [2], n_neighbors=1)
    >>> h.name_clusters(feature_names=["width", "height"], count=1).cluster_names
    {'0-0': 'low width', '0-1': 'high width'}
    >>> print(h.name_clusters(feature_names=["width", "height"], count=1).tree)
    root (4)
      0-0 (2) low width
      0-1 (2) high width
    >>> h.name_clusters({"0-1": "wide"}).cluster_names
    {'0-1': 'wide'}
    """
    if names is None:
        integer("count", count, 1)
        asked = {"feature_names": feature_names, "X": X, "statistic": statistic}
        names = {
            id: _name_of_features(scores, each.statistic)
            for each in (h.distinctive(level, count, **asked) for level in range(len(h)))
            for id, scores in zip(each.ids, each.scores, strict=True)
            if scores
        }
    return replace(h, cluster_names=with_names(h.cluster_names, names, [len(each.mass) for each in h]))


def with_names(
    known: Mapping[str, str], names: Mapping[str, str | None], counts: Sequence[int]
) -> dict[str, str]:
    """Add names of clusters to those that are known; None takes a name away.

    Examples
    --------
    >>> with_names({"0-0": "fruit"}, {"0-0": None, "0-1": "fish"}, [2])
    {'0-1': 'fish'}
    """
    given: Any = names
    if isinstance(names, Mapping):
        given = {id: name for id, name in names.items() if name is not None}
    found = {**known, **checked_cluster_names(given, counts)}
    return {id: name for id, name in found.items() if names.get(id, "") is not None}
