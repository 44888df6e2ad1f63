"""Which stages a run will have, as far as that is certain before it begins."""

from __future__ import annotations

from graphsoft.distributed.plan import Plan
from graphsoft.fitting.descending import UPPER_SWEEPS
from graphsoft.methods import Relation

__all__ = ["expected_stages"]


def expected_stages(plan: Plan, method: Relation) -> dict[str, int]:
    """List the stages of a run in their order, and how many tasks each has.

    Others come between them, depending on the data.
    """
    parts, chunks = plan.partitions, len(plan.chunks)
    stages: dict[str, int] = {}
    if plan.kind == "points":
        if parts > 1:
            stages |= {"sample-rows": chunks, "cells": 1, "gather-probes": 1, "compare-probes": chunks}
            stages |= {"probe": 1}
        stages |= {"cells": 1, "route-rows": chunks, "find-neighbors": parts, "rows": parts}
        stages |= {"merge-neighbors": parts, "points": parts, "graph": parts, "bare-nodes": parts}
    else:
        stages |= {"sort-edges": parts, "rows": parts, "graph": parts}
    stages |= {"group": parts, "central": 1}
    stages |= ({"islands": 1} if plan.kind == "points" else {}) | {"divided": 1}
    stages |= {"begin-sweeps": parts} | dict.fromkeys(_sweeps(plan, method), parts)
    return stages | {
        "number-clusters": 1, "memberships": parts, "send-home": parts, "homes": chunks,
        "send-home-summed": 1, "check-files": parts,
    }  # fmt: skip


def _sweeps(plan: Plan, method: Relation) -> list[str]:
    """Name all sweeps, as `BlocksInFiles` does."""
    of_upper = ["widened-for-upper", *["narrowed-upper"] * UPPER_SWEEPS, "lowered"]
    of_finest = ["widened", *["narrowed"] * method.sweeps] * method.rounds
    steps = of_upper * (len(plan.levels) - 1) + of_finest
    return [f"sweep-{number:03d}-{step}" for number, step in enumerate(steps, start=1)]
