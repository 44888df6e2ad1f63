"""Time graphsoft and the tools a user could take instead, on the same graphs, and print the ratios.

    python examples/benchmarks/speed.py [--quick] [--graphs small,large] [--limit SECONDS] [--output DIR]

Two neighbour graphs of points in 8 dimensions around 100 centres, of which each ten are near each other:
``small`` with 70,000 nodes and a million stored entries, ``large`` with a million nodes and 20 million. Every
tool gets the graph as a SciPy CSR matrix and is timed from there: whatever it builds for itself counts.
graphsoft finds soft memberships on levels of 100, 20 and 10 clusters; Leiden finds one flat partition of its
own size, or is searched until it has 10
clusters; Paris finds its dendrogram; spectral clustering 100 clusters. The last two rows are graphsoft with
two levels and with four, from 10,000 clusters: time is to depend little on how many there are.

Each run is a process of its own, which first clusters a small graph, so that all is imported and compiled.
Memory is what it comes to hold at most beyond the graph, over the bytes of the graph, which it holds already.
A tool that takes longer than ``--limit`` is stopped. Machines are noisy: compare the figures of one run only.

``--quick`` takes the small graph only, and leaves out spectral clustering.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

LEVELS = [100, 20, 10]
GROUPS, CENTRES, DIMENSIONS = 10, 100, 8
# nodes, and neighbours that give about the stored entries wanted
GRAPHS = {"small": (70_000, 11), "large": (1_000_000, 15)}
STATUS = Path("/proc/self/status")
# how many times faster than this tool graphsoft is to be
WANTED = {"igraph Leiden": 1.0, "Leiden searched to 10": 5.0, "Paris": 10.0, "spectral, 100": 50.0}


def make_graph(nodes, neighbors, file):
    """Write a neighbour graph, and for every point the group that its centre is one of."""
    import numpy as np

    from graphsoft.graph import knn_graph

    rng = np.random.default_rng(0)
    around = 4.0 * rng.normal(size=(GROUPS, DIMENSIONS))
    centres = np.repeat(around, CENTRES // GROUPS, axis=0) + 1.5 * rng.normal(size=(CENTRES, DIMENSIONS))
    centre = rng.integers(CENTRES, size=nodes)
    points = centres[centre] + rng.normal(size=(nodes, DIMENSIONS))
    W = knn_graph(points, neighbors, rng=0).adjacency
    group = centre // (CENTRES // GROUPS)
    np.savez(file, data=W.data, indices=W.indices, indptr=W.indptr, planted=group)


def load(file):
    import numpy as np
    import scipy.sparse as sp

    with np.load(file, allow_pickle=False) as held:
        buffers = [held[key] for key in ("data", "indices", "indptr")]
        planted = held["planted"]
    W = sp.csr_matrix(tuple(buffers), shape=(len(planted),) * 2)
    W.has_canonical_format = True
    return W, planted


def ours(levels):
    def run(W):
        import graphsoft

        return graphsoft.hierarchy(W, levels=levels, affinity="precomputed")[-1].labels

    return run


def igraph_network(W):
    """Build igraph's graph of the upper half."""
    import igraph
    import numpy as np
    import scipy.sparse as sp

    upper = sp.triu(W, format="coo")
    network = igraph.Graph(n=W.shape[0], edges=np.column_stack([upper.row, upper.col]))
    return network, upper.data


def leiden(W):
    network, weights = igraph_network(W)
    return network.community_leiden("modularity", weights=weights, n_iterations=2).membership


def leiden_to_k(W, count=10):
    network, weights = igraph_network(W)
    low, high = 1e-3, 1e3
    for _ in range(30):
        resolution = (low * high) ** 0.5
        found = network.community_leiden("modularity", weights=weights, resolution=resolution, n_iterations=2)
        if len(found) == count:
            break
        low, high = (resolution, high) if len(found) < count else (low, resolution)
    return found.membership


def paris(W):
    from sknetwork.hierarchy import Paris, cut_straight

    return cut_straight(Paris(reorder=False).fit_predict(W), 10)


def spectral(W):
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(100, affinity="precomputed", random_state=0).fit_predict(W)


TOOLS = {
    "graphsoft": ours(LEVELS),
    "igraph Leiden": leiden,
    "Leiden searched to 10": leiden_to_k,
    "Paris": paris,
    "spectral, 100": spectral,
    "graphsoft [100, 10]": ours([100, 10]),
    "graphsoft [10000, 1000, 100, 10]": ours([10_000, 1_000, 100, 10]),
}


def memory(word):
    """Read from the kernel how many bytes this process holds (VmRSS) or held at most (VmHWM)."""
    return next(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if word in line)


def run(tool, file):
    """Run one tool on the graph in a file: seconds, memory, and how well it finds the centres."""
    import warnings

    import numpy as np

    from graphsoft import metrics, patterns
    from graphsoft.graph import as_graph

    warnings.simplefilter("ignore")
    warm = as_graph(patterns.block_graph(0, blocks=10, size=40)).adjacency
    if tool.startswith("graphsoft"):
        ours([100, 20, 10])(warm)
    W, planted = load(file)
    Path("/proc/self/clear_refs").write_text("5")  # forget how much was in use at most
    before, began = memory("VmRSS"), time.perf_counter()
    labels = np.asarray(TOOLS[tool](W))
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "extra": max(memory("VmHWM") - before, 0),
        "graph": W.data.nbytes + W.indices.nbytes + W.indptr.nbytes,
        "nodes": W.shape[0],
        "entries": W.nnz,
        "clusters": int(labels.max()) + 1,
        "nmi": metrics.nmi(planted, labels),
    }


def in_process(limit, *arguments):
    """Run this file in a process of its own: what it printed, or in words what went wrong."""
    command = [sys.executable, __file__, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"stopped after {limit:.0f} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}"
    return json.loads(done.stdout) if done.stdout else None


def compare(graph, tools, limit, folder):
    """Print a line for each tool, and how many times longer than graphsoft it took."""
    nodes, neighbors = GRAPHS[graph]
    file = folder / f"{graph}.npz"
    in_process(None, "--make", file, "--nodes", nodes, "--neighbors", neighbors)
    rows, base = {}, None
    for tool in tools:
        row = in_process(limit, "--run", tool, "--file", file)
        if isinstance(row, str):
            print(f"{tool:34}{row}", flush=True)
            continue
        if not rows:
            print(f"\n## {graph}: {row['nodes']} nodes, {row['entries']} stored entries\n")
            print(f"{'':34}{'seconds':>9}{'ratio':>7}{'wanted':>8}{'memory':>8}{'NMI':>7}{'clusters':>10}")
        rows[tool] = row
        base = row["seconds"] if tool == "graphsoft" else base
        ratio = f"{row['seconds'] / base:7.2f}" if base else " " * 7
        wanted = f"{WANTED[tool]:8.0f}" if tool in WANTED else " " * 8
        memory_used = f"{row['extra'] / row['graph']:8.2f}"
        line = f"{tool:34}{row['seconds']:9.2f}{ratio}{wanted}{memory_used}{row['nmi']:7.3f}"
        print(f"{line}{row['clusters']:10}", flush=True)
    return rows


def draw(tables, output):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(6.5 * len(tables), 3.6), squeeze=False)
    for axis, rows in zip(axes[0], tables.values(), strict=True):
        names = list(rows)[::-1]
        seconds = [rows[name]["seconds"] for name in names]
        axis.barh(names, seconds, color=["#336699" if "graphsoft" in name else "#bbbbbb" for name in names])
        for place, value in enumerate(seconds):
            axis.text(value, place, f" {value:.1f} s", va="center")
        axis.set_xscale("log")
        axis.set_xlim(right=3 * max(seconds))
        nodes, entries = rows[names[0]]["nodes"], rows[names[0]]["entries"]
        axis.set_title(f"{nodes:,} nodes, {entries:,} stored entries")
        axis.set_xlabel("seconds from the CSR matrix, log scale")
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(output / "speed.png", dpi=120)
    print(f"\npicture: {output / 'speed.png'}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="only the small graph, and no spectral clustering"
    )
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="comma-separated")
    parser.add_argument("--tools", default=";".join(TOOLS), help="separated by semicolons")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for each run")
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the picture goes")
    # what the processes that this one starts are asked for
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--neighbors", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make_graph(options.nodes, options.neighbors, options.make)
    elif options.run:
        print(json.dumps(run(options.run, options.file)))
    else:
        if not STATUS.exists():
            parser.error("memory is read from /proc, which only Linux has")
        tools = [name for name in options.tools.split(";") if not (options.quick and "spectral" in name)]
        graphs = ["small"] if options.quick else options.graphs.split(",")
        options.output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            tables = {graph: compare(graph, tools, options.limit, Path(folder)) for graph in graphs}
        draw({graph: rows for graph, rows in tables.items() if rows}, options.output)


if __name__ == "__main__":
    main()
