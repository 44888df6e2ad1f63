"""Names of points: those that a data frame brings, and those that the caller gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from graphsoft.errors import InputError, shown

__all__ = ["by_name", "checked_names", "frame_index", "in_row_order", "rows_by_name", "rows_named"]


def frame_index(data: Any) -> tuple[str, ...] | None:
    """List the names that a data frame, or a series, has for its rows.

    Only texts count, and only if none comes twice: an index of numbers may number rows of another table, from
    which these were taken. Pass it as `names` if it holds names.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_index(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"]))
    ('a', 'b')
    >>> frame_index(pd.DataFrame({"x": [1.0, 2.0]})) is None
    True
    """
    index: Any = getattr(data, "index", None)
    if not hasattr(index, "tolist"):  # lists have a method of this name
        return None
    names = index.tolist()
    texts = all(type(name) is str for name in names)
    return tuple(names) if texts and len(set(names)) == len(names) else None


def rows_named(names: Iterable[Any], known: Iterable[Any]) -> tuple[list[int], list[Any]]:
    """Find the rows of names among those that are known, and list the names that are missing there.

    Examples
    --------
    >>> rows_named(["b", "c", "a"], ["a", "b"])
    ([1, 0], ['c'])
    """
    row = {name: place for place, name in enumerate(known)}
    rows: list[int] = []
    missing: list[Any] = []
    for name in names:
        if name in row:
            rows.append(row[name])
        else:
            missing.append(name)
    return rows, missing


def rows_by_name(data: Any, names: Sequence[Any], argument: str = "X") -> Any:
    """Put the rows of a data frame or series in the order of the points, if its index holds their names.

    A frame with other names, and anything else, is taken as it is. One that knows only some of the points is
    refused, because its rows would go to the wrong ones.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"])
    >>> rows_by_name(frame, ("b", "a"))["x"].tolist()
    [2.0, 1.0]
    """
    index = frame_index(data)
    if index is None or len(index) != len(names) or index == tuple(names):
        return data
    rows, missing = rows_named(names, index)
    if not rows:
        return data
    if missing:
        problem = f"has rows of other points, and none of {shown(missing[0])}"
        raise InputError(argument, problem, "give a row for each point, by its name in h.nodes")
    return data.iloc[rows]


def by_name(labels: Any, nodes: Sequence[Any]) -> Any:
    """Turn a pandas Series whose index has the names of points into a mapping; return anything else as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> by_name(pd.Series(["red", "blue"], index=["y", "x"]), ("x", "y", "z"))
    {'y': 'red', 'x': 'blue'}
    """
    series = hasattr(labels, "index") and hasattr(labels, "items") and not hasattr(labels, "columns")
    if isinstance(nodes, range) or not series:
        return labels
    if isinstance(labels, Mapping) or not set(labels.index) <= set(nodes):
        return labels
    return dict(labels.items())


def in_row_order(argument: str, values: Any, nodes: Sequence[Any]) -> Any:
    """List values that are given by the names of points in the order of the rows; return others as they are.

    Parameters
    ----------
    argument : str
        What the caller calls the values.
    values : mapping, pandas Series or data frame with the names as its index, or anything else
    nodes : sequence of n
        The names of the points.

    Examples
    --------
    >>> in_row_order("labels", {"y": "red", "x": "blue"}, ("x", "y"))
    ['blue', 'red']
    >>> in_row_order("labels", ["red", "blue"], ("x", "y"))
    ['red', 'blue']
    """
    values = by_name(rows_by_name(values, nodes, argument), nodes)
    if not isinstance(values, Mapping):
        return values
    missing = [name for name in nodes if name not in values]
    if missing:
        problem = f"has nothing for {shown(missing[0])}"
        raise InputError(argument, problem, "give one for each point, by its name in h.nodes")
    return [values[name] for name in nodes]


def checked_names(names: Any, count: int) -> Sequence[Any]:
    """Check the names of `count` points.

    Examples
    --------
    >>> checked_names(["a", "b"], 2)
    ('a', 'b')
    """
    unfit = (str, bytes, bytearray, Set, Mapping)
    if isinstance(names, unfit) or not isinstance(names, Iterable) or getattr(names, "ndim", 1) != 1:
        raise InputError("names", f"got {shown(names)}", "give a list with a name for each point")
    listed = tuple(names.tolist() if hasattr(names, "tolist") else names)
    if len(listed) != count:
        raise InputError("names", f"got {len(listed)} names for {count} points", "give one for each")
    first: dict[Any, int] = {}
    for row, name in enumerate(listed):
        try:
            earlier = first.setdefault(name, row)
        except TypeError:
            problem = f"holds {shown(name)}, which cannot be looked up"
            raise InputError("names", problem, "use texts or numbers") from None
        if earlier != row:
            problem = f"names points {earlier} and {row} both {shown(name)}"
            raise InputError("names", problem, "give each point a name of its own, or leave names out")
    return listed
