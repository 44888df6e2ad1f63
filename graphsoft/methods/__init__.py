"""The clustering methods: one file each, one table of them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from graphsoft.errors import InputError, shown
from graphsoft.methods.baum_eagon import BaumEagon
from graphsoft.methods.completely_positive import CompletelyPositive
from graphsoft.methods.interface import Clustering, Method, Sample, takes_pairs
from graphsoft.methods.kernel_kmeans import KernelKMeans
from graphsoft.methods.kmeans import KMeans, SphericalKMeans
from graphsoft.methods.linkage import Linkage
from graphsoft.methods.mixture import GaussianMixture
from graphsoft.methods.nmf import GNMF, NMF
from graphsoft.methods.relation import Relation
from graphsoft.methods.sof import SoF
from graphsoft.methods.spectral import Spectral
from graphsoft.methods.surviving import cluster_surviving
from graphsoft.methods.symnmf import SymNMF
from graphsoft.methods.tuples import cluster_tuples

__all__ = [
    "GNMF",
    "METHODS",
    "NMF",
    "BaumEagon",
    "Clustering",
    "CompletelyPositive",
    "GaussianMixture",
    "KMeans",
    "KernelKMeans",
    "Linkage",
    "Method",
    "Relation",
    "Sample",
    "SoF",
    "Spectral",
    "SphericalKMeans",
    "SymNMF",
    "cluster_surviving",
    "cluster_tuples",
    "method_named",
    "takes_pairs",
]

# What each name stands for: the settings of the method. This table also drives tests/methods/test_methods.py.
METHODS: dict[str, Method] = {
    "baum-eagon": BaumEagon(),
    "complete-linkage": Linkage("complete"),
    "cp": CompletelyPositive(),
    "gaussian-mixture": GaussianMixture(),
    "gnmf": GNMF(),
    "k-means": KMeans(),
    "kernel-k-means": KernelKMeans(),
    "nmf": NMF(),
    "normalized-cut": Spectral("normalized-cut"),
    "regularized-nmf": NMF(penalty=0.03),
    "relation": Relation(),
    "relation-beta": Relation(loss=1.5),
    "relation-frobenius": Relation(loss="frobenius"),
    "single-linkage": Linkage("single"),
    "sof": SoF(),
    "spectral": Spectral("ng-jordan-weiss"),
    "spherical-k-means": SphericalKMeans(),
    "symnmf": SymNMF(),
    "ward": Linkage("ward"),
}


def method_named(method: Any, argument: str = "method") -> Method:
    """Turn a method's name into its settings; settings are returned as they are.

    Examples
    --------
    >>> method_named("relation")
    Relation(loss='kullback-leibler', support='adaptive', rounds=1, sweeps=3, max_sweeps=200)
    """
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]
    if not isinstance(method, type) and all(hasattr(method, name) for name in ("reads", "cluster")):
        return method  # type: ignore[no-any-return]
    remedy = f"use one of {sorted(METHODS)}, or settings"
    if isinstance(method, str):
        plain = method.casefold().replace("_", "-").replace(" ", "-")
        near = get_close_matches(plain, METHODS, n=1)
        remedy = f"did you mean {near[0]!r}? Else {remedy}" if near else remedy
    elif isinstance(method, type):
        remedy = f"make settings of it: {method.__name__}()"
    elif isinstance(method, list | tuple):
        remedy = "name one; graphsoft.hierarchy takes one for each level"
    raise InputError(argument, f"got {shown(method)}", remedy)
