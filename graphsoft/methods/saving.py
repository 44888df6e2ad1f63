"""Methods, on the way into a file and out of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.errors import InputError
from graphsoft.methods import METHODS
from graphsoft.methods.interface import Clustering, Method, Sample
from graphsoft.storage.packing import pack_value, unpack_value

__all__ = ["UnknownMethod", "pack_method", "unpack_method"]

# The kinds of settings that a file may name.
KNOWN = {type(method).__name__: type(method) for method in METHODS.values()}


@dataclass(frozen=True)
class UnknownMethod:
    """Stands for a method of the caller's own, which a file does not hold."""

    name: str

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Say something: it never clusters."""
        return frozenset({"graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Refuse to."""
        raise InputError("method", f"{self.name} was not saved with the model", "cluster the points again")


def pack_method(method: Method) -> dict[str, Any]:
    """Describe a method by its settings, or one of the caller's own by its name.

    Examples
    --------
    >>> pack_method(METHODS["ward"])
    {'name': 'Linkage', 'settings': {'kind': 'ward'}}
    """
    if isinstance(method, UnknownMethod):
        return {"name": method.name, "settings": None}
    name = type(method).__name__
    if KNOWN.get(name) is not type(method):
        return {"name": name, "settings": None}
    settings = {
        each.name: pack_value(getattr(method, each.name), "method")
        for each in fields(method)  # type: ignore[arg-type]
    }
    return {"name": name, "settings": settings}


def unpack_method(packed: dict[str, Any]) -> Method:
    """Make a method of its description; its settings are checked as always."""
    name, settings = packed["name"], packed["settings"]
    if not isinstance(name, str):
        raise ValueError("not the name of a method")
    if settings is None:
        return UnknownMethod(name)
    if name not in KNOWN:
        raise ValueError(f"{name} is no method of this version")
    return KNOWN[name](**{key: unpack_value(value) for key, value in settings.items()})
