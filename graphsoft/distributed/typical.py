"""What new points need of all nodes: their typical and their least local scale, and one without neighbors.

The typical scale is the median. It is exact: positive numbers are in the order of their bits, so that their
digits to base 2**16 are found one after the other. For each digit every partition counts those of its scales
that begin like the median.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.summing import packed, summed
from graphsoft.distributed.tasks import Where

__all__ = ["bare_and_least", "typical_scale"]

BITS = 16  # of a digit


def typical_scale(run: Run, plan: Plan) -> float:
    """Find the median of the local scales of all nodes that have neighbors; 1 if there are none."""
    count = sum(int(record["count"]) for record in run.stage("count-scales", count_scales, plan.parts))
    if not count:
        return 1.0
    known, ranks = [0, 0], [(count - 1) // 2, count // 2]
    for shift in (48, 32, 16, 0):
        stage = f"count-digits-{shift}"
        run.stage(stage, count_digits, plan.parts, known=tuple(known), shift=shift)
        counts = summed(run, stage, plan.partitions, ["counts"])["counts"].toarray()
        run.forget(stage)
        for middle in (0, 1):
            digit = int(np.searchsorted(np.cumsum(counts[middle]), ranks[middle], side="right"))
            ranks[middle] -= int(counts[middle, :digit].sum())
            known[middle] = (known[middle] << BITS) | digit
    low, high = (float(np.uint64(bits).view(np.float64)) for bits in known)
    return low if low == high else low / 2 + high / 2 if high > 2.0**1022 else (low + high) / 2


def bare_and_least(run: Run, plan: Plan) -> tuple[tuple[int, int] | None, float]:
    """Find the first node without edges, by its partition and place, if there is one; and the least scale."""
    records = run.stage("bare-nodes", find_bare, plan.parts)
    bare = [
        (int(record["first"]), part, int(record["place"]))
        for part, record in zip(plan.parts, records, strict=True)
        if record["place"] >= 0
    ]
    return min(bare)[1:] if bare else None, min(float(record["least"]) for record in records)


def find_bare(where: Where) -> dict[str, Any]:
    """Find the first node of a partition without edges, -1 if there is none, and its least scale."""
    with where.open("graph", where.part) as file:
        places = np.flatnonzero(np.diff(file.array("ptr")) == 0)
    with where.open("points", where.part) as file:
        first, least = file.array("first")[places], file.array("scale").min(initial=np.inf)
    at = first.argmin() if len(first) else None
    return {
        "place": -1 if at is None else places[at], "first": -1 if at is None else first[at], "least": least,
    }  # fmt: skip


def count_scales(where: Where) -> dict[str, Any]:
    """Count the nodes of a partition that have neighbors."""
    return {"count": len(_scales(where))}


def count_digits(where: Where, known: tuple[int, int], shift: int) -> None:
    """Count the next digits of the scales that begin with known ones: a row for each of two numbers."""
    bits = _scales(where).view(np.uint64) >> np.uint64(shift)
    rows = []
    for begin in known:
        digits = bits[bits >> np.uint64(BITS) == begin] & np.uint64((1 << BITS) - 1)
        rows.append(np.bincount(digits.astype(np.int64), minlength=1 << BITS))
    where.write(packed({"counts": sp.csr_array(np.array(rows))}))


def _scales(where: Where) -> Array:
    """Read the scales of the nodes of a partition that have neighbors."""
    with where.open("merge-neighbors", where.part) as file:
        bare = file.array("scale") == 0
        if bare.any():
            bare[bare] = (file.array("keys")[bare, 0]) < 0
    with where.open("points", where.part) as file:
        return np.asarray(file.array("scale")[~bare])
