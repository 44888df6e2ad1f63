"""Compare each compiled loop of the engine with what this machine can do.

    python examples/benchmarks/limits.py [--quick] [--nodes 1000000] [--file GRAPH] [--output DIR]

The machine is measured first, see ``machine.py``: streams of memory, fetches from random places, and
arithmetic.

Then the engine is measured on a neighbor graph of a million nodes. For every loop the script counts what it
needs at least: the bytes of its arrays, each read or written once; the records of neighbors that it must
fetch, one for every stored entry; and the arithmetic of its formula. At the machine's best rate each of the
three takes a minimal time. The longest of these is the limit of the loop. The script prints that limit
divided by the measured time. Fetching depends on where the neighbors are, so its minimal time is that of a
loop that goes over the same graph and does nothing but fetch.

A loop cannot beat its limit, and one that reaches 60 % has little left to gain. Coarsening has many steps, so
it is compared with a sweep. Each figure is the best of several. Other work on the machine makes the fractions
meaningless, because it may slow some figures more than others.

``--quick`` takes a graph of 100,000 nodes, which mostly fits in caches. ``--file`` takes a graph that
``planted.py`` wrote.
"""

import argparse
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
from machine import LINE, best, measure_machine, on_threads, rows_fetched, seconds_to_fetch
from planted import held_bytes, load, make_graph

import graphsoft
from graphsoft.engine import polishing, sweeps
from graphsoft.engine.blocks import OneBlock
from graphsoft.engine.coarsening import contracted
from graphsoft.engine.merging import Merging
from graphsoft.engine.ordering import in_clumps
from graphsoft.engine.scales import coarsened
from graphsoft.engine.ties import structure_keys
from graphsoft.methods import relation
from graphsoft.parallel import thread_count

mpl.use("Agg")
import matplotlib.pyplot as plt

NEIGHBORS, CLUSTERS = 15, 100
COLORS = {"streams": "#336699", "gathers": "#cc6633", "arithmetic": "#559955"}


@dataclass(frozen=True)
class Needs:
    """What a loop needs at least.

    Attributes
    ----------
    read, written : int
        Bytes of the arrays that it goes over.
    fetches : tuple of (ndarray, int)
        Places that it must look at, and the bytes of the record at each.
    multiply_adds, logarithms, divisions : int
        How many there are.
    dtype : str
        The type of the numbers that it multiplies.
    """

    read: int
    written: int
    fetches: tuple
    multiply_adds: int = 0
    logarithms: int = 0
    divisions: int = 0
    dtype: str = "float64"


def needs_of_gains(graph, memberships, found):
    """Count for the wide sweep, which computes the gains of all clusters that neighbors hold."""
    all_rows = np.ones(len(graph), dtype=bool)
    return needs_of_rows(graph, memberships, all_rows, held_bytes(found))


def needs_of_sweep(graph, memberships):
    """Count for the narrow sweep, which looks only at nodes of several clusters."""
    several = np.diff(memberships.indptr) > 1
    return needs_of_rows(graph, memberships, several, memberships.data.nbytes)


def needs_of_rows(graph, memberships, rows, written):
    """Count for the gains of some rows.

    An edge to a node of one cluster needs neither a logarithm nor a division, because such weights can be
    added up by cluster first. Only the number of that cluster has to be fetched. One logarithm and one
    division are needed for every share of a row, and for every edge to a node of several clusters, whose
    shares are fetched.
    """
    adjacency, held = graph.adjacency, np.diff(memberships.indptr)
    edges = adjacency.indices[np.repeat(rows, np.diff(adjacency.indptr))]
    torn = edges[held[edges] > 1]
    functions = len(torn) + int(held[rows].sum())
    entry = adjacency.indices.itemsize + adjacency.data.itemsize
    share = memberships.indices.itemsize + memberships.data.itemsize
    read = len(edges) * entry + adjacency.indptr.nbytes + graph.degrees.nbytes + held_bytes(memberships)
    shares_fetched = int(held[torn].sum())
    record = share * -(-shares_fetched // max(len(torn), 1))
    fetches = ((edges, 4), (torn, record))
    return Needs(read, written, fetches, len(edges) + 2 * shares_fetched, functions, functions)


def needs_of_reweighting(memberships, found, after):
    read = held_bytes(found) + memberships.data.nbytes + memberships.indptr.nbytes
    return Needs(read, held_bytes(after), (), 2 * found.nnz, 0, len(held_rows(after)))


def held_rows(matrix):
    return np.flatnonzero(np.diff(matrix.indptr))


def needs_of_dense_sweep(graph, shares):
    adjacency = graph.adjacency
    record = shares.shape[1] * shares.itemsize
    read = held_bytes(adjacency) + graph.degrees.nbytes + shares.nbytes
    multiply_adds = (2 * adjacency.nnz + 3 * len(graph)) * shares.shape[1]
    return Needs(
        read, shares.nbytes, ((adjacency.indices, record),), multiply_adds, adjacency.nnz, adjacency.nnz,
        shares.dtype.name,
    )  # fmt: skip


def needs_of_partners(graph):
    """Count for the best partner of every node: the group of each neighbor, and its weight."""
    adjacency, nodes = graph.adjacency, graph.adjacency.indices.itemsize
    read = held_bytes(adjacency) + graph.degrees.nbytes + nodes * len(graph)
    written = (nodes + graph.degrees.itemsize) * len(graph)
    fetches = ((adjacency.indices, nodes), (adjacency.indices, graph.degrees.itemsize))
    return Needs(read, written, fetches, adjacency.nnz)


def needs_of_contraction(graph, group, smaller):
    """Count for the sums between groups: the group of each neighbor, and the place of its sum."""
    adjacency, nodes = graph.adjacency, np.dtype(np.int64).itemsize
    read = held_bytes(adjacency) + 2 * nodes * len(graph)
    places = group[adjacency.indices].astype(adjacency.indices.dtype)
    fetches = ((adjacency.indices, adjacency.indices.itemsize), (places, nodes))
    return Needs(read, held_bytes(smaller.adjacency), fetches, adjacency.nnz)


@dataclass(frozen=True)
class Row:
    """A loop: its minimal seconds by each limit, and the seconds that it took."""

    name: str
    minimal: dict
    seconds: float

    @property
    def bound(self):
        """The limit that takes longest."""
        return max(self.minimal, key=self.minimal.get)

    @property
    def fraction(self):
        """The minimal time by that limit, divided by the time that it took."""
        return self.minimal[self.bound] / self.seconds


def measured(name, needs, run, repeats=7):
    """Measure a loop, and right after it the fetches that it needs."""
    return name, needs, best(run, repeats), [seconds_of_fetches(*fetch) for fetch in needs.fetches]


def compare(name, needs, seconds, fetching, machine):
    """Compute the minimal times by every limit."""
    streams = max(needs.read / machine.read, (needs.read + needs.written) / machine.copy)
    arithmetic = max(
        needs.multiply_adds / machine.multiply_adds[needs.dtype],
        needs.logarithms / machine.logarithms,
        needs.divisions / machine.divisions,
    )
    minimal = {"streams": streams, "gathers": max(fetching, default=0.0), "arithmetic": arithmetic}
    return Row(name, minimal, seconds)


def seconds_of_fetches(places, record):
    """Return the seconds to fetch every line of a record of so many bytes at each place."""
    count = int(places.max()) + 1
    if record > LINE:
        table = np.ones((count, record // 8))
        return on_threads(lambda *part: rows_fetched(table, places, *part), len(places), 3)
    step = -(-record // 4)
    return seconds_to_fetch(np.ones(count * step, dtype=np.float32), places, step)


def measure_engine(W):
    """Return the measurements of every loop, and the seconds of coarsening."""
    print("clustering the graph ...", flush=True)
    graph = graphsoft.as_graph(W)
    found = graphsoft.hierarchy(graph, levels=[CLUSTERS])[0].memberships
    near = in_clumps(graph)
    memberships, rows = found[near.nodes], []

    blocks = OneBlock(near.graph, near.degrees)
    seen = blocks.seen(blocks.begin(memberships))
    narrow = partial(sweeps.narrow_sweep, seen, polishing.MIN_SHARE)
    rows.append(measured("narrow sweep", needs_of_sweep(near.graph, memberships), narrow))
    wide = partial(sweeps.gain_matrix, seen)
    gain = wide()
    rows.append(measured("wide sweep: gains", needs_of_gains(near.graph, memberships, gain), wide))
    step = partial(sweeps.reweighted, memberships, gain, polishing.MIN_SHARE)
    rows.append(measured("wide sweep: new shares", needs_of_reweighting(memberships, gain, step()), step))
    shares = 0.9 * memberships.toarray() + 0.1 / CLUSTERS
    dense = partial(relation._dense_sweep, seen, shares, np.empty_like(shares))
    rows.append(measured("dense sweep", needs_of_dense_sweep(near.graph, shares), dense, 3))
    del shares, dense

    graph, keys = near.graph, structure_keys(near.graph.adjacency)
    merging = Merging(graph.adjacency, graph.degrees, keys)
    look = partial(Merging, graph.adjacency, graph.degrees, keys)
    rows.append(measured("best partners", needs_of_partners(graph), look, 3))
    while len(merging.alive) > len(graph) // 2 and merging.merge_best(len(graph)):
        pass
    group, groups = merging.numbered()
    needs = needs_of_contraction(graph, group, contracted(graph, group, groups))
    rows.append(measured("contraction to half", needs, lambda: contracted(graph, group, groups), 3))
    return rows, best(lambda: coarsened(graph, CLUSTERS), 2)


def print_machine(machine):
    print(f"\n## The machine, {thread_count()} threads\n")
    rates = {
        "bytes read from memory": f"{machine.read / 1e9:8.1f} GB/s",
        "bytes copied, read and written": f"{machine.copy / 1e9:8.1f} GB/s",
        "multiply-adds, float64": f"{machine.multiply_adds['float64'] / 1e9:8.1f} 10^9/s",
        "multiply-adds, float32": f"{machine.multiply_adds['float32'] / 1e9:8.1f} 10^9/s",
        "logarithms": f"{machine.logarithms / 1e9:8.2f} 10^9/s",
        "divisions": f"{machine.divisions / 1e9:8.2f} 10^9/s",
    }
    for size, rate in machine.lines.items():
        rates[f"lines at random in {size_text(size)}"] = f"{rate / 1e9:8.2f} 10^9/s"
    for name, value in rates.items():
        print(f"{name:34}{value}")


def size_text(size):
    return f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB" if size < 1 << 30 else "1 GB"


def print_engine(rows, coarsening, nodes, entries):
    print(f"\n## The engine: {nodes} nodes, {entries} stored entries\n")
    print("milliseconds by each limit, and measured\n")
    print(f"{'':28}{'streams':>9}{'gathers':>9}{'arithmetic':>12}{'takes':>9}{'ns/entry':>10}  of its limit")
    for row in rows:
        limits = [1e3 * row.minimal[limit] for limit in COLORS]
        print(
            f"{row.name:28}{limits[0]:9.1f}{limits[1]:9.1f}{limits[2]:12.1f}{1e3 * row.seconds:9.1f}"
            f"{1e9 * row.seconds / entries:10.2f}  {row.fraction:4.0%} of {row.bound}"
        )
    wide = sum(row.seconds for row in rows if row.name.startswith("wide"))
    print(f"\ncoarsening to {CLUSTERS} nodes: {coarsening:.2f} s, {coarsening / wide:.1f} wide sweeps")
    if max(row.fraction for row in rows) > 1.0:
        print("a loop beat its limit, so other work slowed the machine while the limits were measured")


def draw(machine, rows, entries, output):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), width_ratios=(1, 1.9))
    left.plot(list(machine.lines), [rate / 1e9 for rate in machine.lines.values()], "o-", color="#cc6633")
    left.set_xscale("log", base=2)
    left.set_xticks(list(machine.lines), [size_text(size) for size in machine.lines], rotation=45)
    left.set_yscale("log")
    left.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    left.minorticks_off()
    left.set_title("fetching from memory")
    left.set_xlabel("size of the array")
    left.set_ylabel("$10^9$ lines at random a second")
    left.grid(alpha=0.3)
    scale = 1e9 / entries
    for place, row in enumerate(rows[::-1]):
        right.barh(place, scale * row.seconds, color="#dddddd", height=0.5)
        for limit, color in COLORS.items():
            if row.minimal[limit] > 0:
                right.plot(scale * row.minimal[limit], place, "o", color=color, label=limit, markersize=8)
        right.text(1.15 * scale * row.seconds, place, f"{row.fraction:.0%}", va="center", fontsize=9)
    names = dict(zip(*right.get_legend_handles_labels()[::-1], strict=True))
    right.legend(
        [*names.values(), plt.Line2D([], [], color="#dddddd", linewidth=8)],
        [*names, "measured"], loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, frameon=False,
    )  # fmt: skip
    right.set_yticks(range(len(rows)), [row.name for row in rows[::-1]])
    right.set_xscale("log")
    right.set_xlim(0.01, 4 * scale * max(row.seconds for row in rows))
    right.set_title("minimal time by each limit, and the time that the loops take")
    right.set_xlabel("nanoseconds for each stored entry; the percentage is of the rightmost limit")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(output / "limits.png", dpi=120)
    print(f"\npicture: {output / 'limits.png'}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a graph of 100,000 nodes")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path, help="take this graph instead of making one")
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the picture goes")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    print("measuring the machine ...", flush=True)
    machine = measure_machine(options.quick)
    if options.file:
        W, _ = load(options.file)
    else:
        print("making the graph ...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "graph.npz"
            make_graph("grouped", 100_000 if options.quick else options.nodes, NEIGHBORS, file)
            W, _ = load(file)
    loops, coarsening = measure_engine(W)
    # other work may have slowed the machine during one of the two measurements
    machine = machine.at_best(measure_machine(options.quick))
    rows = [compare(*loop, machine) for loop in loops]
    print_machine(machine)
    print_engine(rows, coarsening, W.shape[0], W.nnz)
    draw(machine, rows, W.nnz, options.output)


if __name__ == "__main__":
    main()
