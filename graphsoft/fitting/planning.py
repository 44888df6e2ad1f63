"""What a hierarchy depends on, in plain values: a call goes on only with steps of the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.fitting.saving import pack_settings
from graphsoft.fitting.settings import Settings
from graphsoft.methods import Sample
from graphsoft.methods.saving import pack_method
from graphsoft.storage.checkpoint import digest_of
from graphsoft.version import installed_version

__all__ = ["check_plannable", "plan_of"]


def check_plannable(settings: Settings, neighbors: Any) -> None:
    """Refuse what nobody can compare with what it was in another process."""
    if neighbors is not None:
        problem = "holds no search for neighbors of your own, so nobody could tell whether it is the same"
        remedy = "make the graph before: graphsoft.knn_graph(X, neighbors=...), or leave out the checkpoint"
        raise InputError("checkpoint", problem, remedy)
    for method in settings.methods:
        if pack_method(method)["settings"] is None:
            problem = f"holds no method of your own, such as {type(method).__name__}"
            raise InputError("checkpoint", problem, "use methods of graphsoft, or leave out the checkpoint")


def plan_of(
    sample: Sample, settings: Settings, auto: bool, random: np.random.Generator | None
) -> dict[str, Any]:
    """Describe all that the levels depend on: the data and the known pairs by their digests.

    Parameters
    ----------
    sample : Sample
        Points that are not joined yet, or a graph.
    settings : Settings
    auto : bool
        Whether the levels are left to the data.
    random : Generator or None
    """
    # names of points may be anything; what known pairs come to is in their matrix
    described = pack_settings(replace(settings, must_link=(), cannot_link=(), known=()))
    state = None if random is None else random.bit_generator.state
    text = json.dumps(state, default=lambda each: each.tolist(), sort_keys=True)
    return {
        **{
            name: described[name]
            for name in sorted(described)
            if name not in ("must_link", "cannot_link", "known")
        },
        "levels": "auto" if auto else list(settings.levels),
        "points": len(sample),
        "data": digest_of(*_arrays(sample)),
        "known pairs": "none" if sample.pairs is None else digest_of(*_parts(sample.pairs)),
        "rng": "none" if random is None else hashlib.sha256(text.encode()).hexdigest(),
        "version": installed_version(),
    }


def _arrays(sample: Sample) -> list[Array]:
    if sample.given_graph is not None:
        graph = sample.given_graph
        copies = [] if graph.duplicates is None else [graph.duplicates]
        return [*_parts(graph.adjacency), *copies]
    values = sample.features.values
    return _parts(values) if sp.issparse(values) else [values]


def _parts(matrix: sp.csr_array) -> list[Array]:
    return [matrix.data, matrix.indices, matrix.indptr]
