"""How much memory the largest process of each stage needs, from rows to a graph in blocks."""

from __future__ import annotations

import math

from graphsoft.distributed.cell_search import width_seen
from graphsoft.distributed.cells import sample_size
from graphsoft.distributed.plan import PROCESS, UNEVEN, Plan
from graphsoft.distributed.probing import PROBES
from graphsoft.errors import NotEnoughMemory
from graphsoft.fitting.memory import UNCERTAINTY, Extent, memory_text, needed

__all__ = ["bytes_needed", "check_largest", "list_length"]

LEARNING = 120_000_000  # scikit-learn, for the cells
NUMBER, SINGLE = 8, 4

# What the data decide: guesses for clusters that touch.
LENT = 0.6  # rows lent, for each row and each further cell that sees it
LENT_UNKNOWN = 1.0  # the same where the number of cells is not known yet
ABROAD = 1.0  # nodes of other partitions in the lists of a partition, for each of its own

# Bytes at the peak for each entry of a list; each includes the arrays that are written.
OF_MERGING, OF_WEIGHING, OF_SHARED, OF_BLOCK = 30, 35, 40, 75


def list_length(plan: Plan) -> int:
    """Count the neighbors that are listed of each node, if there are so many."""
    return max(1, min(plan.n_neighbors, plan.rows - 1))


def bytes_needed(plan: Plan, row_bytes: float | None = None) -> dict[str, int]:
    """Count the bytes of the largest process of each stage, about.

    Parameters
    ----------
    plan : Plan
        Of points; its `lends` may be -1, not known yet.
    row_bytes : float, optional
        Bytes of the features of a row. By default they are dense, in float32.

    Examples
    --------
    >>> plan = Plan(
    ...     "points", 10**7, 64, False, 40, 10**5, 1, 10, "euclidean", "local-scaling", (20,), 10**9, 10**4
    ... )
    >>> needs = bytes_needed(plan)
    >>> max(needs, key=needs.get), round(needs["find-neighbors"] / 1e6, -1)
    ('find-neighbors', 1060.0)
    """
    width = SINGLE * plan.features if row_bytes is None else row_bytes
    chunk = min(plan.chunk_rows, plan.rows)
    several = plan.partitions > 1
    own = plan.rows / plan.partitions * (UNEVEN if several else 1.0)
    lent = _lent(plan) * own
    length = list_length(plan)
    entries = own * length
    abroad = ABROAD * own if several else 0.0
    shared = plan.weights == "jaccard"
    stages = {
        "route-rows": chunk * ((2 + (lent / own if several else 0)) * width + 10 * NUMBER),
        "find-neighbors": _searching(plan, own + lent, width),
        "rows": own * (NUMBER + SINGLE),
        "merge-neighbors": entries * OF_MERGING,
        "points": own * (width + 4 * NUMBER) + chunk / plan.partitions * width,
        "look-up-neighbors": own * 4 * NUMBER + abroad * 3 * NUMBER * (length if shared else 1),
        "weigh-edges": entries * (OF_WEIGHING + (OF_SHARED if shared else 0)),
        "graph": entries * OF_BLOCK,
    }
    if several:
        seen = width_seen(plan.features) * NUMBER
        stages["sample-rows"] = chunk * width + sample_size(plan) * (NUMBER + seen / len(plan.chunks))
        stages["cells"] = LEARNING + 6 * sample_size(plan) * seen
        probes = PROBES * (width + 50 * NUMBER * (length + 1))
        stages["compare-probes"] = _comparing(plan, chunk, width) + probes
        stages["probe"] = 3 * probes
    return {stage: int(PROCESS + size) for stage, size in stages.items()}


def check_largest(plan: Plan, rows: int, row_bytes: float) -> None:
    """Refuse to go on if too many rows came to a partition; `rows` are its own and those lent to it."""
    need = PROCESS + _searching(plan, rows, row_bytes)
    if need <= (1 + UNCERTAINTY) * plan.max_memory:
        return
    problem = (
        f"the largest of {plan.partitions} partitions sees {rows:,} rows and needs {memory_text(need)}, "
        f"and a process may take {memory_text(plan.max_memory)}"
    )
    enough = math.ceil(1.1 * plan.partitions * need / plan.max_memory)
    raise NotEnoughMemory("max_memory", problem, f"allow more, or use {enough} partitions")


def _lent(plan: Plan) -> float:
    """Guess how many partitions each row is lent to: where there are few, several of its cells share one."""
    others, wanted = plan.partitions - 1, LENT * plan.lends if plan.lends >= 0 else LENT_UNKNOWN
    return others * -math.expm1(-wanted / others) if others else 0.0


def _searching(plan: Plan, rows: float, width: float) -> float:
    """Count the features, the search, and the lists with keys in place of numbers."""
    words = int(rows * width / (2 * NUMBER)) if plan.sparse else None
    extent = Extent(int(rows), plan.features, plan.metric, list_length(plan), words)
    search = needed(extent, ()).stages["neighbors"]
    return rows * (width + 3 * NUMBER) + search + 2 * NUMBER * rows * list_length(plan)


def _comparing(plan: Plan, chunk: int, width: float) -> float:
    """Count a chunk, its rows in float32 or word by word, and hashes of them."""
    return chunk * (2 * width + 6 * NUMBER)
