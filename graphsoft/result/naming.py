"""Names of clusters: the caller's, or words that set them apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.result.distinctive import Scores
from graphsoft.result.feature_scores import DIFFERENCE

__all__ = ["checked_cluster_names", "name_of_features"]

SEPARATOR = ", "


def checked_cluster_names(names: Any, ids: Collection[str]) -> dict[str, str]:
    """Check names of clusters, ``{id: name}``.

    Examples
    --------
    >>> checked_cluster_names({"1-0": "fruit"}, {"1-0", "1-1"})
    {'1-0': 'fruit'}
    """
    if not isinstance(names, Mapping):
        raise InputError("names", f"got {shown(names)}", "give {id: name}, such as {'1-0': 'fruit'}")
    for id, name in names.items():
        if id not in ids:
            raise InputError("names", f"there is no cluster {shown(id)}", "use ids of h.tree, such as '1-0'")
        if not isinstance(name, str) or not name.strip():
            raise InputError("names", f"the name of {id} is {shown(name)}", "give texts that are not empty")
    return {str(id): str(name) for id, name in names.items()}


def name_of_features(scores: Scores, statistic: str) -> str:
    """Make a name of the features that set a cluster apart: words, or what is high and what is low.

    Examples
    --------
    >>> name_of_features((("size", 3.2), ("price", -2.0)), "difference")
    'high size, low price'
    >>> name_of_features((("apple", 3.2), ("pear", 2.1)), "rates")
    'apple, pear'
    """
    if statistic == DIFFERENCE:
        return SEPARATOR.join(f"{'high' if score > 0 else 'low'} {name}" for name, score in scores)
    return SEPARATOR.join(str(word) for word, _ in scores)
