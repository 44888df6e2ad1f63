"""Files of a graph in blocks, cut from a whole graph by the partition of each node; and its contraction."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.contracting import contract
from graphsoft.distributed.dividing import divide
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Where
from graphsoft.engine.grouping import Limits

__all__ = ["contracted", "nodes_in_order", "plan_of", "records_of", "run_of_blocks"]


def plan_of(graph, partitions, levels, coarse_nodes, max_memory=10**9):
    """A plan for a graph of so many partitions."""
    return Plan(
        kind="graph", rows=len(graph), features=0, sparse=False, partitions=partitions, chunk_rows=1000,
        lends=0, n_neighbors=10, metric="euclidean", weights="local-scaling", levels=tuple(levels),
        max_memory=max_memory, coarse_nodes=coarse_nodes,
    )  # fmt: skip


def nodes_in_order(part, partitions):
    """The nodes of each partition, in rising order."""
    part = np.asarray(part)
    return [np.flatnonzero(part == each) for each in range(partitions)]


def run_of_blocks(directory, graph, part, partitions, dtype=np.float64):
    """A run whose stage "graph" is done: a file for each partition."""
    part = np.asarray(part)
    owned = nodes_in_order(part, partitions)
    place = np.empty(len(part), dtype=np.int64)
    for nodes in owned:
        place[nodes] = np.arange(len(nodes))
    blocks = [_block(graph, part, place, owned, each) for each in range(partitions)]
    for number, (edges, halo) in enumerate(blocks):
        sent = [place[other[part[other] == number]] for _, other in blocks]
        cut = np.concatenate([[0], np.cumsum([len(each) for each in sent])])
        Where(str(directory), "graph", number).write(
            {
                "ptr": edges.indptr.astype(np.int64),
                "columns": edges.indices.astype(np.int32),
                "weights": edges.data.astype(dtype),
                "degrees": graph.degrees[owned[number]],
                "copies": np.ones(len(owned[number]), dtype=np.int32),
                "halo_part": part[halo].astype(np.int32),
                "halo_place": place[halo].astype(np.int32),
                "sent": np.concatenate(sent).astype(np.int32),
            },
            {"sent": cut},
        )
    return Run(directory)


def _block(graph, part, place, owned, number):
    """The rows of a partition with their columns renumbered, and the nodes of its halo."""
    adjacency, nodes = graph.adjacency, owned[number]
    rows = [adjacency.indices[adjacency.indptr[i] : adjacency.indptr[i + 1]] for i in nodes]
    values = [adjacency.data[adjacency.indptr[i] : adjacency.indptr[i + 1]] for i in nodes]
    met = np.unique(np.concatenate([*rows, np.empty(0, dtype=np.int32)]))
    halo = met[part[met] != number]
    halo = halo[np.lexsort((place[halo], part[halo]))]
    column = np.full(len(part), -1, dtype=np.int64)
    column[nodes] = np.arange(len(nodes))
    column[halo] = len(nodes) + np.arange(len(halo))
    orders = [np.lexsort((place[row], part[row])) for row in rows]
    columns = [column[row[order]] for row, order in zip(rows, orders, strict=True)]
    weights = [row[order] for row, order in zip(values, orders, strict=True)]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])]).astype(np.int64)
    indices = np.concatenate([*columns, np.empty(0, dtype=np.int64)])
    data = np.concatenate([*weights, np.empty(0)])
    shape = len(nodes), len(nodes) + len(halo)
    edges = sp.csr_array((data, indices, ptr), shape=shape)
    return edges, halo


def records_of(graph, part, partitions):
    """What the tasks of "graph" would have returned of sizes."""
    return [
        {"nodes": np.array(len(nodes)), "weight": graph.degrees[nodes].sum()}
        for nodes in nodes_in_order(part, partitions)
    ]


@dataclass
class Contracted:
    """What a contraction left behind."""

    run: Run
    plan: object
    group: np.ndarray  # the central node of every node of the graph
    weights: sp.csr_array
    parts: list

    @property
    def dense(self):
        return self.weights.toarray()

    def labels(self, levels, limits=None):
        """The labels of the finest level, and the groups of all."""
        groups = divide(self.run, self.plan, levels, limits or Limits(0, levels[0]))
        with self.run.where("divided", 0).open("divided", 0) as file:
            return file.array("labels")[self.group], groups


def contracted(folder, graph, part, levels=(1,), coarse_nodes=10**6, max_memory=10**9, **others):
    """Contract a graph that is cut into partitions."""
    partitions = others.pop("partitions", int(np.max(part)) + 1)
    run = run_of_blocks(Path(folder), graph, part, partitions, **others)
    plan = plan_of(graph, partitions, levels, coarse_nodes, max_memory)
    contract(run, plan, records_of(graph, part, partitions))
    group = np.full(len(graph), -1)
    for number, nodes in enumerate(nodes_in_order(part, partitions)):
        with run.where("group", number).open("group", number) as file:
            group[nodes] = file.array("group")
    with run.where("central", 0).open("central", 0) as file:
        weights = file.rows("weights")
    return Contracted(run, plan, group, weights, nodes_in_order(part, partitions))
