"""The clustering methods: one file each, one table of them."""

from __future__ import annotations

from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.methods.interface import Clustering, Method, Sample, takes_pairs
from graphsoft.methods.relation import Relation

__all__ = ["METHODS", "Clustering", "Method", "Relation", "Sample", "method_named", "takes_pairs"]

# What each name stands for: the settings of the method. This table also drives tests/test_methods.py.
METHODS: dict[str, Method] = {
    "relation": Relation(),
}


def method_named(method: Any, argument: str = "method") -> Method:
    """Turn a method's name into its settings; settings are returned as they are.

    Examples
    --------
    >>> method_named("relation")
    Relation(support='adaptive', rounds=3, sweeps=3)
    """
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]
    if not isinstance(method, type) and all(hasattr(method, name) for name in ("reads", "cluster")):
        return method  # type: ignore[no-any-return]
    raise InputError(argument, f"got {shown(method)}", f"use one of {sorted(METHODS)}, or its settings")
