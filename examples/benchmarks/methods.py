"""Run every method for sparse graphs on one large planted graph, and tell what each takes.

    python examples/benchmarks/methods.py [--graph blocks|points] [--nodes 100000] [--k 10] [--methods a,b]

``blocks`` has 15 edges for each node, 1.5 million for 100,000 nodes: four of five join nodes of one of k
equal groups, the others any two nodes. It is hard on memory, for merging its nodes merges next to no edges.
``points`` joins each of the points around k centers to its 20 nearest.

Each method runs in a process of its own, which first clusters a small graph, so that all is imported and
compiled, and then loads the large one. Memory is what it comes to hold at most from then on, beyond what it
holds already. That is to stay below ten times the bytes of the graph.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

EDGES_PER_NODE = 15
WITHIN = 0.8
NEIGHBORS = 20
LIMIT = 10.0
STATUS = Path("/proc/self/status")


def planted_blocks(nodes, k, rng):
    """Draw edges at random, four of five within a group: as symmetric weights, and the groups."""
    import numpy as np
    import scipy.sparse as sp

    group = np.arange(nodes) % k
    first, second = rng.integers(nodes, size=(2, EDGES_PER_NODE * nodes))
    inside = rng.random(len(first)) < WITHIN
    second[inside] = first[inside] % k + k * rng.integers(nodes // k, size=np.count_nonzero(inside))
    pairs = np.sort(np.column_stack([first, second])[first != second], axis=1)
    first, second = np.unique(pairs, axis=0).T
    weights = rng.uniform(0.5, 1.0, len(first))
    upper = sp.coo_array((weights, (first, second)), shape=(nodes, nodes)).tocsr()
    return (upper + upper.T).tocsr(), group


def planted_points(nodes, k, rng):
    """Draw points around k centers in eight dimensions, each joined to its nearest, and the groups."""
    import numpy as np

    from graphsoft.graph.joining import knn_graph

    group = np.arange(nodes) % k
    points = 3.0 * rng.normal(size=(k, 8))[group] + rng.normal(size=(nodes, 8))
    return knn_graph(points, NEIGHBORS, rng=0), group


def make_graph(kind, nodes, k, file):
    """Write a planted graph, checked, and the group of every node."""
    import numpy as np

    from graphsoft.graph.reading import as_graph

    made, group = KINDS[kind](nodes, k, np.random.default_rng(0))
    W = as_graph(made, **({"affinity": "precomputed"} if kind == "blocks" else {})).adjacency
    np.savez(file, data=W.data, indices=W.indices, indptr=W.indptr, planted=group)


KINDS = {"blocks": planted_blocks, "points": planted_points}


def memory(word):
    """Read from the kernel how many bytes this process holds (VmRSS) or held at most (VmHWM)."""
    return next(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if word in line)


def run(name, k, file):
    """Cluster the graph in a file by one method; returns what it took and what came out."""
    import time

    import numpy as np
    import scipy.sparse as sp

    from graphsoft import metrics
    from graphsoft.clustering import DEFAULT_SEED, find
    from graphsoft.graph.graph import Graph
    from graphsoft.methods import METHODS, Sample

    def clustered(data, indices, indptr, count):
        W = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)
        W.has_canonical_format = True
        return find(
            Sample(Graph(W, range(W.shape[0]))), count, METHODS[name], np.random.default_rng(DEFAULT_SEED)
        )

    make_graph("blocks", 3000, 3, small := file.with_name(f"{name}.npz"))
    with np.load(small, allow_pickle=False) as warm:
        clustered(warm["data"], warm["indices"], warm["indptr"], 3)
    with np.load(file, allow_pickle=False) as given:
        buffers, planted = [given[key] for key in ("data", "indices", "indptr")], given["planted"]
    Path("/proc/self/clear_refs").write_text("5")  # forget how much was in use at most
    before, began = memory("VmRSS"), time.perf_counter()
    found = clustered(*buffers, k)
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "extra": max(memory("VmHWM") - before, 0),
        "graph": sum(buffer.nbytes for buffer in buffers),
        "edges": len(buffers[0]) // 2,
        "sweeps": found.sweeps,
        "ari": metrics.adjusted_rand(planted, found.labels),
        "status": found.status,
    }


def in_process(*arguments):
    """Run this file in a process of its own; returns what it printed, or raises what went wrong."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return done.stdout


def compare(names, kind, nodes, k, folder):
    """Print a line for every method as soon as it is done; returns those that failed or took too much."""
    file, amiss = folder / "graph.npz", []
    in_process("--graph", kind, "--nodes", nodes, "--k", k, "--make", file)
    head = f"{'method':22}{'seconds':>9}{'MB':>8}{'x graph':>9}{'sweeps':>8}{'ARI':>7}  status"
    for number, name in enumerate(names):
        try:
            row = json.loads(in_process("--k", k, "--run", name, "--file", file))
        except RuntimeError as error:
            amiss.append(name)
            print(f"{name:22}failed: {error}", flush=True)
            continue
        if number == 0:
            print(f"{nodes} nodes, {row['edges']} edges, {row['graph'] / 1e6:.0f} MB, k = {k}\n\n{head}")
        times = row["extra"] / row["graph"]
        amiss += [name] * (times > LIMIT)
        took = f"{name:22}{row['seconds']:9.2f}{row['extra'] / 1e6:8.0f}{times:9.2f}"
        print(f"{took}{row['sweeps']:8}{row['ari']:7.3f}  {row['status']}", flush=True)
    return amiss


def names_for_graphs():
    """List the methods that a graph is enough for."""
    from graphsoft.methods import METHODS

    return [name for name in sorted(METHODS) if METHODS[name].reads(10**5, False) == {"graph"}]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=10, help="planted groups, and clusters to find")
    parser.add_argument("--graph", choices=list(KINDS), default="blocks", help="what is planted in it")
    parser.add_argument("--methods", default="", help="names, comma-separated; all by default")
    # what the processes that this one starts are asked for
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make_graph(arguments.graph, arguments.nodes, arguments.k, arguments.make)
    elif arguments.run:
        print(json.dumps(run(arguments.run, arguments.k, arguments.file)))
    elif arguments.list:
        print("\n".join(names_for_graphs()))
    else:
        if not STATUS.exists():
            parser.error("memory is read from /proc, which only Linux has")
        names = arguments.methods.split(",") if arguments.methods else in_process("--list").split()
        with tempfile.TemporaryDirectory() as folder:
            amiss = compare(names, arguments.graph, arguments.nodes, arguments.k, Path(folder))
        print(f"\nfailed, or above {LIMIT:.0f} times the graph: {', '.join(amiss) or 'none'}")
        sys.exit(bool(amiss))


if __name__ == "__main__":
    main()
