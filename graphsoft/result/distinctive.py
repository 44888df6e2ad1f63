"""Features that set clusters apart from the other points: columns of a table, or words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, overload

import scipy.sparse as sp

from graphsoft.errors import InputError, imported, shown
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.names import rows_by_name
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.result.feature_scores import C_TF_IDF, MEANINGS, best_features, statistic_for
from graphsoft.result.tables import aligned, shortened

__all__ = ["Distinctive", "Scores", "distinctive", "feature_names_of", "table_of"]

Scores = tuple[tuple[Any, float], ...]


@dataclass(frozen=True, repr=False)
class Distinctive(Sequence[Scores]):
    """For each cluster of a level, the features that set it apart, the most distinctive first.

    ``print`` shows a table, and ``to_frame()`` makes a data frame.

    Attributes
    ----------
    ids : tuple of str
        Ids of the clusters.
    scores : tuple of tuples of (name, float)
    statistic : str
        ``"rates"``, ``"c-tf-idf"`` or ``"difference"``; see :mod:`graphsoft.result.feature_scores`.
    """

    ids: tuple[str, ...]
    scores: tuple[Scores, ...]
    statistic: str

    @overload
    def __getitem__(self, index: int) -> Scores: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Scores, ...]: ...
    def __getitem__(self, index: int | slice) -> Scores | tuple[Scores, ...]:
        return self.scores[index]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def meaning(self) -> str:
        """What a score measures."""
        return MEANINGS[self.statistic]

    def __repr__(self) -> str:
        return f"Distinctive({len(self)} clusters; {self.meaning})"

    def __str__(self) -> str:
        form = ".3f" if self.statistic == C_TF_IDF else "+.1f"
        rows = [["cluster", self.meaning]]
        for id, scores in zip(self.ids, self.scores, strict=True):
            rows.append([id, ", ".join(f"{name} {score:{form}}" for name, score in scores)])
        return "\n".join(shortened(aligned(rows, left=rows[0])))

    def to_frame(self) -> Any:
        """Make a pandas data frame: a row, with cluster, rank and score, for each feature of a cluster."""
        pandas = imported("pandas", "to_frame", "'graphsoft[frames]'")
        rows = [
            (id, rank, feature, score)
            for id, scores in zip(self.ids, self.scores, strict=True)
            for rank, (feature, score) in enumerate(scores)
        ]
        return pandas.DataFrame(rows, columns=["cluster", "rank", "feature", "score"])


def distinctive(
    values: Any, memberships: sp.csr_array, count: int, names: Sequence[Any], statistic: str
) -> tuple[tuple[Scores, ...], str]:
    """Rank the features that set each cluster apart from all other points.

    Returns
    -------
    tuple of tuples of (name, float), str
        At most `count` features for each cluster, and the statistic of their scores.

    Examples
    --------
    >>> hard = sp.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> words = sp.csr_array([[2, 0, 0], [1, 0, 0], [0, 4, 0]])
    >>> scores, statistic = distinctive(words, hard, 5, ["sea", "sky", "sun"], "auto")
    >>> statistic, [each[0][0] for each in scores]
    ('rates', ['sea', 'sky'])
    """
    statistic = statistic_for(values, statistic)
    best = best_features(values, memberships, statistic, count)
    return tuple(tuple((names[column], score) for column, score in each) for each in best), statistic


def table_of(X: Any, nodes: Sequence[Any]) -> Any:
    """Check a table that has one row for each point; those of a data frame may be known by their names."""
    X = rows_by_name(X, nodes)
    values = sparse_matrix(X) if sp.issparse(X) else dense_matrix(X)
    if values.shape[0] != len(nodes):
        raise InputError(
            "X", f"has {values.shape[0]} rows for {len(nodes)} points", "give one for each point"
        )
    return values


def feature_names_of(names: Any, count: int) -> Sequence[Any]:
    """Check the names of `count` features. If they are None, features are called by their numbers.

    Examples
    --------
    >>> feature_names_of(["a", "b"], 2), feature_names_of(None, 2)
    (['a', 'b'], range(0, 2))
    """
    if names is None:
        return range(count)
    single = not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0
    if single or isinstance(names, str | bytes | Set):
        raise InputError("feature_names", f"got {shown(names)}", f"give a list of {count} names")
    listed: list[Any] = names.tolist() if hasattr(names, "tolist") else list(names)
    if len(listed) != count:
        raise InputError(
            "feature_names", f"got {len(listed)} names for {count} features", "give one for each"
        )
    return listed
