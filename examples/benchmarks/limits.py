"""Measure what this machine can do, and what part of it each compiled loop of the engine reaches.

    python examples/benchmarks/limits.py [--quick] [--nodes 1000000] [--file GRAPH] [--output DIR]

First the machine, on all threads that graphsoft would use: bytes read, and copied, a second, from arrays far
larger than any cache; 64-byte lines fetched from random places, in arrays of several sizes; fused
multiply-adds from registers; logarithms and divisions.

Then the engine, on a neighbor graph of a million nodes. For every loop it is counted what it cannot do
without: the bytes of its arrays, each read or written once; the records of neighbors that it must fetch, one
for every stored entry; the arithmetic of the formula. Each of the three, at the machine's best rate, takes a
least time, and the longest of these is the limit that binds. What is printed is that time over the one that
was measured. Fetching is limited by where the neighbors are, so its least time is that of a loop which goes
over the same graph and does nothing but fetch.

A loop cannot beat its limit, and one that reaches 60 % has little left to gain. Coarsening has many steps,
and is compared with a sweep instead. Each figure is the best of several; but other work on the machine, which
may slow some more than others, makes the fractions meaningless.

``--quick`` takes a graph of 100,000 nodes, which caches hold for the most part. ``--file`` takes a graph that
``speed.py --make FILE --nodes N --neighbors K`` wrote.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
from speed import load, make_graph

import graphsoft
from graphsoft.engine import sweeps
from graphsoft.engine.coarsening import coarsen, contracted
from graphsoft.engine.merging import Merging
from graphsoft.engine.ordering import in_clumps
from graphsoft.graph.reading import as_graph
from graphsoft.kernels import kernel
from graphsoft.methods import relation
from graphsoft.parallel import blocks, map_pieces, thread_count

mpl.use("Agg")

LINE = 64
NEIGHBORS, CLUSTERS = 15, 100
SIZES = [1 << power for power in (18, 20, 22, 24, 26, 28, 30)]
LANES = 128  # sums side by side, enough to keep every unit busy
CHUNK = 8192  # numbers that a cache holds
COLORS = {"streams": "#336699", "gathers": "#cc6633", "arithmetic": "#559955"}


@kernel
def copied(source, target, start, stop):
    for i in range(start, stop):
        target[i] = source[i]


@kernel
def added(source, start, stop):
    total = 0.0
    for i in range(start, stop):
        total += source[i]
    return total


@kernel
def fetched(table, places, step, start, stop):
    total = 0.0
    for i in range(start, stop):
        total += table[places[i] * step]
    return total


@kernel
def fetched_singly(table, places, step, start, stop):
    # a branch in the loop: it is not made into vector loads, which are slower within the caches
    found = -1
    for i in range(start, stop):
        if table[places[i] * step] < 0.0:
            found = i
            break
    return found


@kernel
def rows_fetched(table, places, start, stop):
    total, width = 0.0, table.shape[1]
    for i in range(start, stop):
        j = places[i]
        for at in range(0, width, LINE // 8):
            total += table[j, at]
        total += table[j, width - 1]
    return total


@kernel
def multiplied_and_added(factors, repeats):
    sums = np.zeros(LANES, dtype=factors.dtype)
    scale, shift = factors[0], factors[1]  # read here, for the compiler cannot know that they are not in sums
    for _ in range(repeats):
        for lane in range(LANES):
            sums[lane] = sums[lane] * scale + shift
    return sums


def best(work, repeats=5):
    """Seconds of the fastest of several runs, after one that does not count."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def on_threads(work, count, repeats=5):
    """Seconds that ``work(start, stop)`` takes for all of ``range(count)``, an equal part on each thread."""
    parts = blocks(count, -(-count // thread_count()))
    return best(lambda: list(map_pieces(work, parts)), repeats)


def each_thread(work):
    """Seconds until every thread has done the same work."""
    return best(lambda: list(map_pieces(lambda start, stop: work(), blocks(thread_count(), 1))))


@dataclass(frozen=True)
class Machine:
    """Rates a second, of all threads together."""

    read: float
    copy: float
    lines: dict
    multiply_adds: dict
    logarithms: float
    divisions: float

    def at_best(self, other):
        """Take the higher of each rate."""

        def higher(mine, theirs):
            if isinstance(mine, dict):
                return {key: max(value, theirs[key]) for key, value in mine.items()}
            return max(mine, theirs)

        names = [each.name for each in fields(self)]
        return Machine(*(higher(getattr(self, name), getattr(other, name)) for name in names))


def measure_machine(quick):
    read, copy = stream_rates(1 << (24 if quick else 26))
    return Machine(
        read,
        copy,
        {size: line_rate(size) for size in SIZES if not quick or size <= 1 << 28},
        {dtype: multiply_add_rate(dtype) for dtype in ("float64", "float32")},
        function_rate(np.log),
        function_rate(np.reciprocal),
    )


def function_rate(function):
    """Values a second by a function of numpy, which are quicker than those of compiled loops."""
    values, repeats = np.linspace(0.5, 2.0, CHUNK), 1000

    def work():
        out = np.empty(CHUNK)
        for _ in range(repeats):
            function(values, out=out)

    return thread_count() * CHUNK * repeats / each_thread(work)


def stream_rates(count):
    """Bytes a second, read, and copied, through arrays of so many numbers."""
    source, target = np.ones(count), np.zeros(count)
    read = on_threads(lambda *part: added(source, *part), count)
    copy = on_threads(lambda *part: copied(source, target, *part), count)
    return source.nbytes / read, 2 * source.nbytes / copy


def line_rate(size):
    """Lines a second from random places in an array of so many bytes."""
    table, step = np.ones(size // 8), LINE // 8
    places = np.random.default_rng(0).integers(len(table) // step, size=1 << 22, dtype=np.int32)
    return len(places) / seconds_to_fetch(table, places, step)


def seconds_to_fetch(table, places, step):
    """Seconds for one number at each place, by vector loads or one by one, whichever is faster."""
    return min(
        on_threads(partial(loop, table, places, step), len(places)) for loop in (fetched, fetched_singly)
    )


def multiply_add_rate(dtype):
    factors, repeats = np.array([0.999, 0.001], dtype=dtype), 1_000_000
    return thread_count() * LANES * repeats / each_thread(lambda: multiplied_and_added(factors, repeats))


@dataclass(frozen=True)
class Needs:
    """What a loop cannot do without.

    Attributes
    ----------
    read, written : int
        Bytes of the arrays that it goes through.
    fetches : tuple of (ndarray, int)
        Places that it must look at, and the bytes of the record at each.
    multiply_adds, logarithms, divisions : int
    dtype : str
        What it multiplies.
    """

    read: int
    written: int
    fetches: tuple
    multiply_adds: int = 0
    logarithms: int = 0
    divisions: int = 0
    dtype: str = "float64"


def held_bytes(matrix):
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def needs_of_gains(graph, memberships, found):
    """Count for the wide sweep: gains of all clusters that neighbors hold, and the likelihood."""
    everybody = np.ones(len(graph), dtype=bool)
    return needs_of_rows(graph, memberships, everybody, held_bytes(found))


def needs_of_sweep(graph, memberships):
    """Count for the narrow sweep, which only concerns nodes of several clusters."""
    several = np.diff(memberships.indptr) > 1
    return needs_of_rows(graph, memberships, several, memberships.data.nbytes)


def needs_of_rows(graph, memberships, rows, written):
    """Count for gains of some rows.

    An edge to a node of one cluster needs neither logarithm nor division, for such weights can be added up
    by cluster first, and all of that node to be fetched is which cluster it is. One of each is left for every
    share held, and for every edge to another node, whose shares have to be fetched.
    """
    adjacency, held = graph.adjacency, np.diff(memberships.indptr)
    edges = adjacency.indices[np.repeat(rows, np.diff(adjacency.indptr))]
    others = edges[held[edges] > 1]
    hard = len(others) + int(held[rows].sum())
    entry = adjacency.indices.itemsize + adjacency.data.itemsize
    share = memberships.indices.itemsize + memberships.data.itemsize
    read = len(edges) * entry + adjacency.indptr.nbytes + graph.degrees.nbytes + held_bytes(memberships)
    record = share * -(-int(held[others].sum()) // max(len(others), 1))
    return Needs(
        read, written, ((edges, 4), (others, record)), len(edges) + 2 * int(held[others].sum()), hard, hard
    )


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
    """Count for the best partner of every node: whose group a neighbor is in, and how heavy that is."""
    adjacency, nodes = graph.adjacency, graph.adjacency.indices.itemsize
    read = held_bytes(adjacency) + graph.degrees.nbytes + nodes * len(graph)
    written = (nodes + graph.degrees.itemsize) * len(graph)
    fetches = ((adjacency.indices, nodes), (adjacency.indices, graph.degrees.itemsize))
    return Needs(read, written, fetches, adjacency.nnz)


def needs_of_contraction(graph, group, smaller):
    """Count for the sums between groups: the group of a neighbor, and where its sum stands."""
    adjacency, nodes = graph.adjacency, np.dtype(np.int64).itemsize
    read = held_bytes(adjacency) + 2 * nodes * len(graph)
    places = group[adjacency.indices].astype(adjacency.indices.dtype)
    fetches = ((adjacency.indices, adjacency.indices.itemsize), (places, nodes))
    return Needs(read, held_bytes(smaller.adjacency), fetches, adjacency.nnz)


@dataclass(frozen=True)
class Row:
    """A loop: its least times by limit, and the time it took."""

    name: str
    least: dict
    seconds: float

    @property
    def bound(self):
        """The limit that takes longest."""
        return max(self.least, key=self.least.get)

    @property
    def fraction(self):
        """Its least time by that limit, over the time it took."""
        return self.least[self.bound] / self.seconds


def measured(name, needs, run, repeats=7):
    """Measure a loop, and right after it the fetching that it cannot do without."""
    return name, needs, best(run, repeats), [seconds_of_fetches(*fetch) for fetch in needs.fetches]


def compare(name, needs, seconds, fetching, machine):
    """Work out the least times by every limit."""
    streams = max(needs.read / machine.read, (needs.read + needs.written) / machine.copy)
    arithmetic = max(
        needs.multiply_adds / machine.multiply_adds[needs.dtype],
        needs.logarithms / machine.logarithms,
        needs.divisions / machine.divisions,
    )
    least = {"streams": streams, "gathers": max(fetching, default=0.0), "arithmetic": arithmetic}
    return Row(name, least, seconds)


def seconds_of_fetches(places, record):
    """Seconds to fetch a record of so many bytes at each place, every line of it, and do nothing else."""
    count = int(places.max()) + 1
    if record > LINE:
        table = np.ones((count, record // 8))
        return on_threads(lambda *part: rows_fetched(table, places, *part), len(places), 3)
    step = -(-record // 4)
    return seconds_to_fetch(np.ones(count * step, dtype=np.float32), places, step)


def measure_engine(W):
    """Measure every loop; the seconds of coarsening come last."""
    print("clustering the graph ...", flush=True)
    graph = as_graph(W)
    found = graphsoft.hierarchy(graph, levels=[CLUSTERS])[0].memberships
    near = in_clumps(graph)
    memberships, rows = found[near.nodes], []

    narrow = partial(sweeps.swept, near.graph, memberships, 1, relation.MIN_SHARE, lambda: None)
    rows.append(measured("narrow sweep", needs_of_sweep(near.graph, memberships), narrow))
    model, everyone = sweeps.Model.of(near.graph, memberships), np.arange(len(graph))
    wide = partial(sweeps.gains_of, model, everyone)
    gain = wide()
    rows.append(measured("wide sweep: gains", needs_of_gains(near.graph, memberships, gain), wide))
    step = partial(sweeps.reweighted, memberships, gain, relation.MIN_SHARE)
    rows.append(measured("wide sweep: new shares", needs_of_reweighting(memberships, gain, step()), step))
    shares = 0.9 * memberships.toarray() + 0.1 / CLUSTERS
    dense = partial(relation._dense_sweep, near.graph, shares, np.empty_like(shares))
    rows.append(measured("dense sweep", needs_of_dense_sweep(near.graph, shares), dense, 3))
    del shares, dense

    graph = near.graph
    merging = Merging(graph.adjacency, graph.degrees)
    look = partial(Merging, graph.adjacency, graph.degrees)
    rows.append(measured("best partners", needs_of_partners(graph), look, 3))
    while len(merging.alive) > len(graph) // 2 and merging.merge_best(len(graph)):
        pass
    group, groups = merging.numbered()
    needs = needs_of_contraction(graph, group, contracted(graph, group, groups))
    rows.append(measured("contraction to half", needs, lambda: contracted(graph, group, groups), 3))
    return rows, best(lambda: coarsen(graph, CLUSTERS), 2)


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
        rates[f"lines at random in {in_words(size)}"] = f"{rate / 1e9:8.2f} 10^9/s"
    for name, value in rates.items():
        print(f"{name:34}{value}")


def in_words(size):
    return f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB" if size < 1 << 30 else "1 GB"


def print_engine(rows, coarsening, nodes, entries):
    print(f"\n## The engine: {nodes} nodes, {entries} stored entries\n")
    print("milliseconds by each limit, and measured\n")
    print(f"{'':28}{'streams':>9}{'gathers':>9}{'arithmetic':>12}{'takes':>9}{'ns/entry':>10}  of its limit")
    for row in rows:
        limits = [1e3 * row.least[limit] for limit in COLORS]
        print(
            f"{row.name:28}{limits[0]:9.1f}{limits[1]:9.1f}{limits[2]:12.1f}{1e3 * row.seconds:9.1f}"
            f"{1e9 * row.seconds / entries:10.2f}  {row.fraction:4.0%} of {row.bound}"
        )
    wide = sum(row.seconds for row in rows if row.name.startswith("wide"))
    print(f"\ncoarsening to {CLUSTERS} nodes: {coarsening:.2f} s, {coarsening / wide:.1f} wide sweeps")
    if max(row.fraction for row in rows) > 1.0:
        print("some loop beat its limit: the machine had other work to do while the limits were measured")


def draw(machine, rows, entries, output):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), width_ratios=(1, 1.9))
    left.plot(list(machine.lines), [rate / 1e9 for rate in machine.lines.values()], "o-", color="#cc6633")
    left.set_xscale("log", base=2)
    left.set_xticks(list(machine.lines), [in_words(size) for size in machine.lines], rotation=45)
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
            if row.least[limit] > 0:
                right.plot(scale * row.least[limit], place, "o", color=color, label=limit, markersize=8)
        right.text(1.15 * scale * row.seconds, place, f"{row.fraction:.0%}", va="center", fontsize=9)
    names = dict(zip(*right.get_legend_handles_labels()[::-1], strict=True))
    right.legend(
        [*names.values(), plt.Line2D([], [], color="#dddddd", linewidth=8)],
        [*names, "measured"], loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, frameon=False,
    )  # fmt: skip
    right.set_yticks(range(len(rows)), [row.name for row in rows[::-1]])
    right.set_xscale("log")
    right.set_xlim(0.01, 4 * scale * max(row.seconds for row in rows))
    right.set_title("least time by each limit, and what the loops take")
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
    # other work may have slowed the machine the first time, or this
    machine = machine.at_best(measure_machine(options.quick))
    rows = [compare(*loop, machine) for loop in loops]
    print_machine(machine)
    print_engine(rows, coarsening, W.shape[0], W.nnz)
    draw(machine, rows, W.nnz, options.output)


if __name__ == "__main__":
    main()
