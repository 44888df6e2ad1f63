"""Rows in memory that are routed, joined and put into blocks, for tests of these stages."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.cells import choose_cells
from graphsoft.distributed.edges import build_blocks
from graphsoft.distributed.joining import join
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.routing import route
from graphsoft.distributed.run import Run


@dataclass(frozen=True)
class RowsInMemory:
    """A source of rows."""

    values: Any

    @property
    def n(self):
        return self.values.shape[0]

    @property
    def d(self):
        return self.values.shape[1]

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def sparse(self):
        return sp.issparse(self.values)

    def rows(self, start, stop):
        return self.values[start:stop]


def plan_of(values, partitions=1, lends=0, n_neighbors=10, **more):
    settings = {
        "metric": "euclidean", "weights": "local-scaling", "chunk_rows": 100, "levels": (1,),
        "max_memory": 10**9, "coarse_nodes": 100,
    }  # fmt: skip
    n, d = values.shape
    return Plan(
        "points",
        n,
        d,
        sp.issparse(values),
        partitions,
        lends=lends,
        n_neighbors=n_neighbors,
        **settings | more,
    )


def joined_in_blocks(folder, values, plan):
    """Do all stages up to the graph, and return the run and its last records."""
    run, source = Run(folder), RowsInMemory(values)
    choose_cells(run, source, plan)
    return run, build_blocks(run, plan, join(run, plan, route(run, source, plan)))


def read(run, stage, part):
    with run.where(stage, part).open(stage, part) as file:
        return {name: file.array(name) for name in file}


def assembled(run, plan):
    """Put the blocks together, nodes in the order of first rows: weights, degrees, the node of each row."""
    blocks = [read(run, "graph", part) for part in plan.parts]
    rows = [read(run, "rows", part) for part in plan.parts]
    first = [read(run, "points", part)["first"] for part in plan.parts]
    nodes = [len(each["degrees"]) for each in blocks]
    offset = np.append(0, np.cumsum(nodes))
    ones, others, weights = [], [], []
    node_of_row = np.full(plan.rows, -1)
    for part, block in enumerate(blocks):
        halo = offset[block["halo_part"]] + block["halo_place"]
        numbers = np.append(offset[part] + np.arange(nodes[part]), halo)
        ones.append(offset[part] + np.repeat(np.arange(nodes[part]), np.diff(block["ptr"])))
        others.append(numbers[block["columns"]])
        weights.append(block["weights"])
        assert (node_of_row[rows[part]["rows"]] == -1).all()
        node_of_row[rows[part]["rows"]] = offset[part] + rows[part]["node"]
    assert (node_of_row >= 0).all()
    order = np.argsort(np.concatenate(first))
    place = np.argsort(order)
    ones, others, weights = (np.concatenate(each) for each in (ones, others, weights))
    matrix = sp.coo_array((weights, (place[ones], place[others])), shape=(offset[-1], offset[-1]))
    assert len(np.unique(place[ones] * offset[-1] + place[others])) == len(ones)  # no edge twice
    degrees = np.concatenate([block["degrees"] for block in blocks])[order]
    return matrix.tocsr(), degrees, place[node_of_row]
