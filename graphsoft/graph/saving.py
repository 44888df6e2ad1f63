"""Features, on the way into a file and out of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import scipy.sparse as sp

from graphsoft.errors import InputError, shown
from graphsoft.graph.features import Features, FeaturesLeftOut
from graphsoft.neighbors.external import check_finder
from graphsoft.storage.packing import Packer, Unpacker, pack_value, unpack_value
from graphsoft.storage.records import (
    are_texts,
    is_flag,
    is_text,
    is_whole_or_none,
    pack_record,
    unpack_record,
)

__all__ = ["pack_features", "unpack_features"]

OF_FEATURES = {"metric": is_text, "notes": are_texts, "fitted": is_whole_or_none, "beside": is_flag}


def pack_features(features: Features | FeaturesLeftOut | None, packer: Packer, whole: bool) -> Any:
    """Describe checked features, and add their values if they are wanted whole."""
    if features is None:
        return None
    columns = features.columns
    if columns is not None and not are_texts(columns):
        raise InputError("h", f"has {shown(columns)} as names of columns", "use a tuple of texts")
    packed: dict[str, Any] = {"columns": pack_value(columns, "columns")}
    if not whole or isinstance(features, FeaturesLeftOut):
        return {**packed, "left_out": True}
    values, origin, search = features.values, features.origin, features.neighbors
    if origin is not None and len(origin) != values.shape[1]:
        raise InputError("h", f"has {shown(origin)} as origin", "leave results as they were")
    return {
        **packed,
        "left_out": False,
        **pack_record(features, OF_FEATURES, "h"),
        "values": packer.matrix("features", values)
        if sp.issparse(values)
        else packer.array("features/values", values),
        "own_neighbors": None if search is None else type(search).__name__,
        "origin": None if origin is None else [pack_value(number, "X") for number in origin],
    }


def unpack_features(packed: Any, unpacker: Unpacker, neighbors: Any) -> Features | FeaturesLeftOut | None:
    """Make features of their description; whoever calls must check their values.

    `neighbors` is the caller's own search, which no file holds.
    """
    own = None if packed is None or packed["left_out"] else packed["own_neighbors"]
    if own is not None and not is_text(own):
        raise ValueError("not the name of a search for neighbors")
    if own is None and neighbors is not None:
        problem = f"got {shown(neighbors)}, but this model does not ask for a search of your own"
        raise InputError("neighbors", problem, "leave it out")
    if own is not None and neighbors is None:
        problem = f"is missing: the model was made with neighbors found by {shown(own)}, which is not saved"
        raise InputError("neighbors", problem, "pass that object, fitted as before, to graphsoft.load")
    check_finder(neighbors, "euclidean")
    if packed is None:
        return None
    columns = unpack_value(packed["columns"])
    if columns is not None and not are_texts(columns):
        raise ValueError("not names of columns")
    if packed["left_out"]:
        return FeaturesLeftOut(columns)
    values, origin = packed["values"], packed["origin"]
    found = Features(
        unpacker.array(values, "f", 2) if isinstance(values, str) else unpacker.matrix(values),
        columns=columns,
        neighbors=neighbors,
        origin=None if origin is None else tuple(_exact(unpack_value(number)) for number in origin),
        **unpack_record(packed, OF_FEATURES),
    )
    if found.origin is not None and len(found.origin) != found.values.shape[1]:
        raise ValueError("an origin of other features")
    return found


def _exact(number: Any) -> int | Fraction:
    if type(number) not in (int, Fraction):
        raise ValueError("not an exact number")
    return number  # type: ignore[no-any-return]
