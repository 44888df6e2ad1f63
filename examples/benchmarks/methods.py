"""Run every method for sparse graphs on one large graph with known groups, and print what each takes.

    python examples/benchmarks/methods.py [--graph blocks|points] [--nodes 100000] [--k 10] [--methods a,b]

``blocks`` has 15 edges for each node, which are 1.5 million for 100,000 nodes. Four of five join nodes of the
same one of k equal groups, the others join any two nodes. This graph needs much memory, because merging its
nodes merges almost no edges. ``points`` joins each of the points around k centers to its 20 nearest
neighbors.

Each method runs in a process of its own. The process first clusters a small graph, so that everything is
imported and compiled, and then the large one. Memory is the peak beyond what the process held before. It
should stay below ten times the bytes of the graph.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from planted import held_bytes, load, save
from processes import in_process, measured, require_proc

import graphsoft
from graphsoft import metrics
from graphsoft.methods import METHODS

EDGES_PER_NODE = 15
WITHIN = 0.8
NEIGHBORS = 20
MAX_MEMORY = 10.0  # in multiples of the graph


def planted_blocks(nodes, k, rng):
    """Draw edges, four of five within a group; return a graph and the groups."""
    group = np.arange(nodes) % k
    first, second = rng.integers(nodes, size=(2, EDGES_PER_NODE * nodes))
    inside = rng.random(len(first)) < WITHIN
    second[inside] = first[inside] % k + k * rng.integers(nodes // k, size=np.count_nonzero(inside))
    pairs = np.sort(np.column_stack([first, second])[first != second], axis=1)
    first, second = np.unique(pairs, axis=0).T
    weights = rng.uniform(0.5, 1.0, len(first))
    upper = sp.coo_array((weights, (first, second)), shape=(nodes, nodes)).tocsr()
    return graphsoft.as_graph((upper + upper.T).tocsr(), affinity="precomputed"), group


def planted_points(nodes, k, rng):
    """Draw points around k centers in eight dimensions; return their neighbor graph and the groups."""
    group = np.arange(nodes) % k
    points = 3.0 * rng.normal(size=(k, 8))[group] + rng.normal(size=(nodes, 8))
    return graphsoft.knn_graph(points, NEIGHBORS, rng=0), group


KINDS = {"blocks": planted_blocks, "points": planted_points}


def make_graph(kind, nodes, k, file):
    """Write a graph, and the group of every node."""
    graph, group = KINDS[kind](nodes, k, np.random.default_rng(0))
    save(file, graph.adjacency, group)


def run(name, k, file):
    """Cluster the graph in a file by one method; return what it took and what it found."""
    small, _ = planted_blocks(3000, 3, np.random.default_rng(0))
    graphsoft.cluster(small, 3, method=name)
    W, group = load(file)
    graph = graphsoft.as_graph(W, affinity="precomputed")
    found, seconds, extra = measured(lambda: graphsoft.cluster(graph, k, method=name))
    return {
        "seconds": seconds,
        "extra": extra,
        "graph": held_bytes(W),
        "sweeps": found.sweeps,
        "ari": metrics.adjusted_rand(group, found.labels),
        "status": found.status,
    }


def compare(names, kind, nodes, k, folder):
    """Print a line for every method when it is done; return those that failed or took too much memory."""
    file, rejected = folder / "graph.npz", []
    make_graph(kind, nodes, k, file)
    print(f"{nodes} nodes, k = {k}\n")
    print(f"{'method':22}{'seconds':>9}{'MB':>8}{'x graph':>9}{'sweeps':>8}{'ARI':>7}  status")
    for name in names:
        row = in_process(__file__, None, "--k", k, "--run", name, "--file", file)
        if isinstance(row, str):
            rejected.append(name)
            print(f"{name:22}{row}", flush=True)
            continue
        times = row["extra"] / row["graph"]
        rejected += [name] * (times > MAX_MEMORY)
        cells = f"{name:22}{row['seconds']:9.2f}{row['extra'] / 1e6:8.0f}{times:9.2f}"
        print(f"{cells}{row['sweeps']:8}{row['ari']:7.3f}  {row['status']}", flush=True)
    return rejected


def names_for_graphs():
    """List the methods that need only a graph."""
    return [name for name in sorted(METHODS) if METHODS[name].reads(10**5, False) == {"graph"}]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=10, help="number of groups, and of clusters to find")
    parser.add_argument("--graph", choices=list(KINDS), default="blocks")
    parser.add_argument("--methods", default="", help="names, comma-separated; all by default")
    # for the processes that this one starts
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    require_proc(parser)
    if options.run:
        print(json.dumps(run(options.run, options.k, options.file)))
        return
    names = options.methods.split(",") if options.methods else names_for_graphs()
    with tempfile.TemporaryDirectory() as folder:
        rejected = compare(names, options.graph, options.nodes, options.k, Path(folder))
    print(f"\nfailed, or above {MAX_MEMORY:.0f} times the graph: {', '.join(rejected) or 'none'}")
    sys.exit(bool(rejected))


if __name__ == "__main__":
    main()
