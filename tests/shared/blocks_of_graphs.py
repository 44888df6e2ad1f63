"""A graph cut into blocks, in the files that a run expects: slowly and obviously."""

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.sweeping import BlocksInFiles


def plan_of_graph(rows, partitions, levels, chunk_rows=None, **more):
    given = {
        "kind": "graph", "features": 0, "sparse": False, "lends": 0, "n_neighbors": 10,
        "metric": "euclidean", "weights": "local-scaling", "max_memory": 1 << 30, "coarse_nodes": 50_000,
    }  # fmt: skip
    return Plan(
        rows=rows, partitions=partitions, levels=tuple(levels), chunk_rows=chunk_rows or rows, **given | more
    )


def cut_into_blocks(run, weights, part, partitions, weight_type=np.float64):
    """Write graph/p and rows/p for nodes that are in these partitions; returns the records of "graph"."""
    weights, part = sp.csr_array(weights), np.asarray(part)
    run.stage("rows", write_rows, range(partitions), part=part)
    return run.stage(
        "graph", write_block, range(partitions), weights=weights, part=part, partitions=partitions,
        weight_type=np.dtype(weight_type).str,
    )  # fmt: skip


def write_rows(where, *, part):
    rows = np.flatnonzero(part == where.part)
    where.write({"rows": rows, "node": np.arange(len(rows), dtype=np.int32)})
    return {}


def write_block(where, *, weights, part, partitions, weight_type):
    place = np.zeros(len(part), dtype=np.int32)
    for each in range(partitions):
        place[part == each] = np.arange(np.count_nonzero(part == each))
    own = np.flatnonzero(part == where.part)
    halo = sorted(
        {j for i in own for j in weights[[i]].indices if part[j] != where.part},
        key=lambda j: (part[j], place[j]),
    )
    column = {node: number for number, node in enumerate([*own, *halo])}
    ptr, columns, values = [0], [], []
    for i in own:
        row = weights[[i]]
        for j in sorted(row.indices, key=lambda j: (part[j], place[j])):
            columns.append(column[j])
            values.append(row[0, j])
        ptr.append(len(columns))
    sent, cuts = [], [0]
    for other in range(partitions):
        if other != where.part:
            sent += [place[i] for i in own if (part[weights[[i]].indices] == other).any()]
        cuts.append(len(sent))
    degrees = np.array([weights[[i]].data.sum() for i in own], dtype=np.float64)
    where.write(
        {
            "ptr": np.array(ptr, dtype=np.int64), "columns": np.array(columns, dtype=np.int32),
            "weights": np.array(values, dtype=weight_type), "degrees": degrees,
            "copies": np.ones(len(own), dtype=np.int32),
            "halo_part": np.array([part[j] for j in halo], dtype=np.int32),
            "halo_place": np.array([place[j] for j in halo], dtype=np.int32),
            "sent": np.array(sent, dtype=np.int32),
        },
        {"sent": np.array(cuts)},
    )  # fmt: skip
    logs = degrees[degrees > 0]
    return {
        "nodes": len(own), "entries": len(columns), "halo": len(halo),
        "crossing": int(sum(c >= len(own) for c in columns)), "weight": degrees.sum(),
        "degree_logs": (logs * np.log(logs)).sum(),
    }  # fmt: skip


def write_divided(where, *, labels):
    where.write({"labels": labels})


def write_groups(where, *, part):
    where.write({"group": np.flatnonzero(part == where.part)})


def blocks_of(folder, weights, part, partitions, labels, levels, weight_type=np.float64):
    """A run whose central graph is the graph itself."""
    run = Run(folder)
    records = cut_into_blocks(run, weights, part, partitions, weight_type)
    run.stage("group", write_groups, range(partitions), part=part)
    run.stage("divided", write_divided, [0], labels=np.asarray(labels, dtype=np.int32))
    return run, BlocksInFiles(run, plan_of_graph(len(part), partitions, levels), records)


def assembled(run, state, part, partitions):
    """The rows of a state in the order of the nodes."""
    rows = []
    for each in range(partitions):
        with run.where(state.held, each).open(state.held, each) as file:
            rows.append(file.rows("own").toarray())
    order = np.concatenate([np.flatnonzero(part == each) for each in range(partitions)])
    found = np.empty((len(part), rows[0].shape[1]))
    found[order] = np.concatenate(rows)
    return found


def communities(n, clusters, seed):
    """Weights of a graph with communities, and the community of each node."""
    random = np.random.default_rng(seed)
    own = np.sort(random.integers(0, clusters, n))
    ends = random.integers(0, n, (2, 12 * n))
    kept = (own[ends[0]] == own[ends[1]]) | (random.random(12 * n) < 0.1)
    ones = sp.coo_array((random.random(kept.sum()) + 0.1, ends[:, kept]), shape=(n, n)).tocsr()
    return sp.csr_array(ones + ones.T), own
