"""Which column of a table is what: features, labels, or names of the points."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from graphsoft.datasets.asked import Asked
from graphsoft.errors import InputError
from graphsoft.input.dense_input import USUAL_LABELS

__all__ = ["TEXT_COLUMN", "Layout", "column_called", "columns_called", "lay_out"]

# What to do about a column of texts among the features, in Python and on the command line.
TEXT_COLUMN = (
    "name it by labels= or --labels if it is the known classes, else leave it out by drop= or --drop"
)


@dataclass(frozen=True)
class Layout:
    """Which column of a table is what.

    Attributes
    ----------
    titles : sequence of str
        Of all columns.
    features : list of int
        Columns, in the order that they were asked for.
    label, name : int or None
    """

    titles: Sequence[str]
    features: list[int]
    label: int | None
    name: int | None

    @property
    def feature_titles(self) -> tuple[str, ...]:
        """The titles of the features."""
        return tuple(self.titles[column] for column in self.features)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed."""
        if self.name is None:
            return ()
        return (f"column {self.titles[self.name]!r} was taken as names of the points",)


def lay_out(titles: Sequence[str], asked: Asked, name: int | None = None) -> Layout:
    """Decide what each column is for.

    Parameters
    ----------
    titles : sequence of str
    asked : Asked
        Its labels, columns and drop are looked at.
    name : int, optional
        The column that holds names. By default it is the first one, if its title says so.

    Examples
    --------
    >>> lay_out(["id", "x", "kind", "y"], Asked(labels="kind"))
    Layout(titles=['id', 'x', 'kind', 'y'], features=[1, 3], label=2, name=0)
    >>> lay_out(["id", "x", "kind", "y"], Asked(columns=["y", "x"])).feature_titles
    ('y', 'x')
    """
    label = None if asked.labels is None else column_called(asked.labels, titles, "labels")
    if name is None and _is_name(titles[0].casefold()):
        name = 0
    if asked.columns is not None:
        features = columns_called(asked.columns, titles, "columns")
        if label in features:
            raise InputError("columns", f"{asked.labels!r} is the labels", "take it out of one of the two")
        if len(set(features)) < len(features):
            raise InputError("columns", "names a column twice", "name each column once")
        name = None if name in features or name == label else name
    else:
        left_out = {label, *columns_called(asked.drop or (), titles, "drop")}
        name = None if name in left_out else name
        left_out.add(name)
        features = [column for column in range(len(titles)) if column not in left_out]
    if not features and asked.columns is None:
        problem = f"the columns are {list(titles)}, none of them a feature"
        raise InputError("path", problem, "add columns of numbers")
    return Layout(titles, features, label, name)


def column_called(title: str, titles: Sequence[str], argument: str) -> int:
    """Find a column by its title.

    Examples
    --------
    >>> column_called("hight", ["height", "width"], "drop")
    Traceback (most recent call last):
    graphsoft.errors.InputError: drop: there is no column 'hight'. Remedy: choose a column, such as 'height'.
    """
    return columns_called([title], titles, argument)[0]


def columns_called(wanted: Sequence[str], titles: Sequence[str], argument: str) -> list[int]:
    """Find columns by their titles; of several with the same title the first.

    Examples
    --------
    >>> columns_called(["width", "height"], ["height", "width"], "columns")
    [1, 0]
    """
    first = {title: column for column, title in reversed(list(enumerate(titles)))}
    for title in wanted:
        if title not in first:
            close = difflib.get_close_matches(title, titles, n=3) or titles[:8]
            choice = ", ".join(map(repr, close))
            raise InputError(argument, f"there is no column {title!r}", f"choose a column, such as {choice}")
    return [first[title] for title in wanted]


def _is_name(title: str) -> bool:
    """Tell the usual titles of a column of names."""
    of_class = title.removesuffix("_id") in {*USUAL_LABELS, "cluster"}
    return title in ("", "id", "name", "index") or (title.endswith("_id") and not of_class)
