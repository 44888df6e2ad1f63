"""Graphs and features, on the way into a file and out of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError
from graphsoft.graph.features import Features, FeaturesLeftOut
from graphsoft.graph.graph import Graph, checked_graph
from graphsoft.storage.packing import Packer, Unpacker, pack_value, unpack_names, unpack_value

__all__ = ["pack_features", "unpack_features", "unpack_graph"]


def unpack_graph(packed: dict[str, Any], unpacker: Unpacker) -> Graph:
    """Make a graph of its description, and check it."""
    numbers = packed["duplicates"]
    found = Graph(
        unpacker.matrix(packed["adjacency"]),
        unpack_names(packed["nodes"]),
        tuple(map(str, packed["notes"])),
        None if numbers is None else unpacker.array(numbers, "iu"),
        bool(packed["from_distances"]),
        bool(packed["of_neighbors"]),
    )
    return checked_graph(found, "path")


def pack_features(features: Features | FeaturesLeftOut | None, packer: Packer, whole: bool) -> Any:
    """Describe features, and add their values if they are wanted whole."""
    if features is None:
        return None
    columns = None if features.columns is None else list(features.columns)
    if not whole or isinstance(features, FeaturesLeftOut):
        return {"left_out": True, "columns": columns}
    values = features.values
    sparse = sp.issparse(values)
    return {
        "left_out": False,
        "values": packer.matrix("features", values) if sparse else packer.array("features/values", values),
        "metric": features.metric,
        "notes": list(features.notes),
        "columns": columns,
        "own_neighbors": None if features.neighbors is None else type(features.neighbors).__name__,
        "fitted": features.fitted,
        "beside": features.beside,
        "origin": None if features.origin is None else [pack_value(each, "X") for each in features.origin],
    }


def unpack_features(packed: Any, unpacker: Unpacker, neighbors: Any) -> Features | FeaturesLeftOut | None:
    """Make features of their description; `neighbors` is the caller's own search, which no file holds."""
    if packed is None:
        return None
    columns = None if packed["columns"] is None else tuple(map(str, packed["columns"]))
    if packed["left_out"]:
        return FeaturesLeftOut(columns)
    own = packed["own_neighbors"]
    if own is not None and neighbors is None:
        problem = f"is missing: the model was made with neighbors found by {own}, which is not in the file"
        raise InputError("neighbors", problem, "pass that object, fitted as before, to graphsoft.load")
    values, fitted, origin = packed["values"], packed["fitted"], packed["origin"]
    return Features(
        unpacker.array(values, "f", 2) if isinstance(values, str) else unpacker.matrix(values),
        str(packed["metric"]),
        tuple(map(str, packed["notes"])),
        columns,
        neighbors if own is not None else None,
        None if fitted is None else int(fitted),
        None if origin is None else tuple(_whole(unpack_value(each)) for each in origin),
        beside=bool(packed["beside"]),
    )


def _whole(number: Any) -> int | Fraction:
    if not isinstance(number, int | Fraction) or isinstance(number, bool | np.bool_):
        raise ValueError("not an exact number")
    return number
