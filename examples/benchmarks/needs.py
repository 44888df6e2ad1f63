"""Compare the memory that `graphsoft.estimate` predicts with what is taken.

    python examples/benchmarks/needs.py [--quick] [--only WORD]

Only for Linux. Every case runs in a process of its own. It first clusters 2,000 of such points or nodes, so
that libraries and compiled loops are in memory, and then resets the peak. Cases with the word ``noise`` have
no clusters, which the estimate does not expect.
"""

import argparse
import ctypes
import json
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from processes import in_process, measured, require_proc

import graphsoft
from graphsoft.neighbors import nearest

FINE, LADDER = (100, 20, 10), (10_000, 1_000, 100, 10)
BORDERS = ("TREE_WORK", "PRODUCT_WORK", "PAIR_WORK", "WORD_WORK")
CENTERS, INNER, BLOCK = 100, 8, 200


@dataclass(frozen=True)
class Case:
    """What is clustered; `d` is the number of neighbors in a network."""

    kind: str
    n: int
    d: int
    levels: tuple = FINE
    k: int = 10
    metric: str = "euclidean"
    dtype: str = "float32"

    @property
    def is_graph(self):
        """Whether it is given as a graph."""
        return self.kind in ("network", "neighbors")


CASES = [
    Case("points", 200_000, 2),
    Case("points", 200_000, 5, k=20),
    Case("points", 100_000, 50, dtype="float64"),
    Case("points", 30_000, 768),
    Case("points", 60_000, 384, metric="cosine"),
    Case("points", 60_000, 300, metric="correlation"),
    Case("points", 100_000, 16, k=40),
    Case("points", 150_000, 24, LADDER),
    Case("points", 150_000, 24, (30_000, 300)),
    Case("points", 400_000, 3, LADDER),
    Case("points", 150_000, 12, metric="manhattan"),
    Case("sparse", 150_000, 8_000),
    Case("noise", 100_000, 32),
    Case("network", 300_000, 6),
    Case("network", 200_000, 20),
    Case("network", 200_000, 10, (5_000, 500, 50)),
    Case("neighbors", 500_000, 3),
    Case("neighbors", 300_000, 20, LADDER),
]
LARGE = [
    Case("points", 1_000_000, 2),
    Case("points", 1_000_000, 100),
    Case("points", 300_000, 768),
    Case("points", 1_000_000, 16, LADDER),
    Case("network", 1_000_000, 10),
    Case("neighbors", 1_000_000, 3),
    Case("neighbors", 3_000_000, 2),
    Case("points", 3_000_000, 3),
]


def points(case, rng):
    """Points of overlapping clusters, in a space of few dimensions that is turned into many."""
    inner = min(INNER, case.d)
    centers = 1.5 * rng.normal(size=(CENTERS, inner))
    turned = np.eye(inner) if inner == case.d else rng.normal(size=(inner, case.d))
    result = np.empty((case.n, case.d), dtype=case.dtype)
    for start in range(0, case.n, 20_000):
        count = min(20_000, case.n - start)
        some = centers[rng.integers(CENTERS, size=count)] + rng.normal(size=(count, inner))
        result[start : start + count] = some @ turned + 0.05 * rng.normal(size=(count, case.d))
    return result


def texts(case, rng):
    """Sparse rows of 20 words: two thirds of a topic's own, most of them frequent."""
    rows, size = np.repeat(np.arange(case.n), 20), case.d // 50
    own = np.repeat(rng.integers(50, size=case.n), 20) * size + (rng.random(len(rows)) ** 3 * size).astype(
        int
    )
    words = np.where(rng.random(len(rows)) < 0.3, rng.integers(case.d, size=len(rows)), own)
    return sp.csr_array((np.ones(len(rows)), (rows, words)), shape=(case.n, case.d))


def network(case, rng):
    """Edges within blocks of nodes, and a tenth of them anywhere."""
    rows = np.repeat(np.arange(case.n), case.d)
    near = rows // BLOCK * BLOCK + rng.integers(BLOCK, size=len(rows))
    columns = np.where(rng.random(len(rows)) < 0.1, rng.integers(case.n, size=len(rows)), near)
    columns = np.minimum(columns, case.n - 1)
    edges = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(case.n, case.n)).tocsr()
    return graphsoft.as_graph(sp.csr_array(edges + edges.T)).adjacency


def made(case):
    """Make the data of a case."""
    rng = np.random.default_rng(0)
    if case.kind == "noise":
        return rng.standard_normal((case.n, case.d), dtype=np.float32)
    if case.kind == "neighbors":
        return graphsoft.knn_graph(points(case, rng), case.k).adjacency
    return {"points": points, "sparse": texts, "network": network}[case.kind](case, rng)


def predicted(case, X):
    """Ask for the estimate as a user would."""
    if case.is_graph:
        d = case.d if case.kind == "neighbors" else None
        return graphsoft.estimate(case.n, d, case.levels, edges=X.nnz // 2)
    nnz = X.nnz if sp.issparse(X) else None
    options = {"n_neighbors": case.k, "metric": case.metric, "dtype": X.dtype}
    return graphsoft.estimate(case.n, case.d, case.levels, nnz=nnz, **options)


def run(case):
    """Measure one case, in this process."""
    warnings.simplefilter("ignore")
    X, few = made(case), made(Case(case.kind, 2_000, case.d, (30, 6), case.k, case.metric, case.dtype))
    options = {} if case.is_graph else {"n_neighbors": case.k, "metric": case.metric}
    graphsoft.hierarchy(few, (30, 6), **options)
    usual = {border: getattr(nearest, border) for border in BORDERS}
    for border in () if case.is_graph else BORDERS:  # the searches for many points too
        setattr(nearest, border, -1)
    graphsoft.hierarchy(few, (30, 6), **options)
    for border, value in usual.items():
        setattr(nearest, border, value)
    ctypes.CDLL(None).malloc_trim(0)
    need = predicted(case, X)
    h, seconds, taken = measured(lambda: graphsoft.hierarchy(X, case.levels, **options))
    held = [level.memberships.nnz / case.n for level in h]
    return {"need": need.peak, "stage": need.stage, "taken": taken, "seconds": seconds, "held": held}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="up to some 100,000 points")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="cases with this word in their description"
    )
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    require_proc(parser)
    cases = CASES + LARGE
    if options.case is not None:
        print(json.dumps(run(cases[options.case])))
        return
    print(f"{'case':66}{'predicted':>10}{'taken':>9}{'ratio':>7}  peak in")
    for number, case in enumerate(CASES if options.quick else cases):
        name = f"{case.n:,} {case.kind}, d={case.d}, levels {','.join(map(str, case.levels))}"
        name += "" if case.is_graph else f", k={case.k} {case.metric}"
        if options.only not in name:
            continue
        found = in_process(__file__, 1800, "--case", number)
        if isinstance(found, str):
            print(f"{name:66}  {found}", flush=True)
            continue
        need, taken = found["need"] / 1e6, found["taken"] / 1e6
        print(f"{name:66}{need:7.0f} MB{taken:6.0f} MB{need / taken:7.2f}  {found['stage']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
