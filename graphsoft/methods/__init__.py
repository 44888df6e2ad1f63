"""The clustering methods: one file each, one table of them."""

from __future__ import annotations

from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.methods.relation import Relation

__all__ = ["METHODS", "Relation", "method_named"]

METHODS: dict[str, type[Relation]] = {"relation": Relation}


def method_named(method: Any) -> Relation:
    """Turn a method's name into its settings; settings are returned as they are.

    Examples
    --------
    >>> method_named("relation")
    Relation(support='adaptive', rounds=3, sweeps=3)
    """
    if isinstance(method, Relation):
        return method
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    raise InputError("method", f"got {shown(method)}", f"use one of {sorted(METHODS)}, or its settings")
