"""Time graphsoft and the tools a user could take instead, on the same data, and print the ratios.

    python examples/benchmarks/speed.py [--quick] [--sections S,S] [--output DIR]

All data are points in 8 dimensions around centers. Sections (``small,large,many,soft,linear,startup``):

``small``, ``large``
    Neighbor graphs of 70,000 nodes and a million stored entries, of a million nodes and 20 million; 100
    centers, of which each ten are near each other. Every tool gets a SciPy CSR matrix and is timed from
    there: whatever it builds for itself counts. graphsoft finds soft memberships on levels of 100, 20 and 10
    clusters; Leiden finds one flat partition of its own size, or is searched until it has 10 clusters; Paris
    finds its dendrogram; spectral clustering 100 clusters.
``many``
    graphsoft with two levels from 100 clusters and with four from 10,000: time is to depend little on how
    many there are. On the graph of ``large``, where the 10,000 are cut out of 100 round clouds and nearly
    every point is in several, and on one of a million points around 10,000 centers, ten by ten by ten by ten.
``soft``
    20,000 points around 200 centers. hdbscan, from points to membership vectors, and the vectors alone once
    it is fitted; graphsoft from points, and from its neighbor graph. Ratios are to graphsoft's row of the
    same kind: whole job to whole job, the rest to the rest. fast_hdbscan and evoc give a point one strength
    in one cluster (evoc in each of its layers) and no vector.
``linear``
    Nanoseconds of graphsoft for each stored entry, of graphs of 10^5, 10^6 and 3 * 10^6 nodes.
``startup``
    What the first call costs; see ``startup.py`` here.

Each run is a process of its own, which first works on a small set, so that all is imported and compiled.
Short ones run three times, and the shortest counts. Memory is what the first run comes to hold at most beyond
its input. A tool that takes longer than ``--limit`` is stopped. NMI is with the planted groups or centers.
Machines are noisy: compare the figures of one run only.

``--quick`` takes ``small`` without spectral clustering, ``soft`` without the vectors alone, ``linear`` to
300,000 nodes, and one row of ``startup``.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import matplotlib as mpl
import startup
from processes import in_process

mpl.use("Agg")

LEVELS = [100, 20, 10]
GROUPS, CENTERS, DIMENSIONS = 10, 100, 8
# nodes, and neighbors that give about the stored entries wanted
GRAPHS = {"small": (70_000, 11), "large": (1_000_000, 15)}
NESTED = (12.0, 6.0, 3.0, 1.5)  # how far apart the centers of ``many`` are, within each ten
FEW_LEVELS, MANY_LEVELS = [100, 10], [10_000, 1_000, 100, 10]
LINEAR, LINEAR_QUICK, LINEAR_NEIGHBORS = (100_000, 1_000_000, 3_000_000), (100_000, 300_000), 15
SOFT, WARM = (20_000, 200), (2_000, 20)  # points and centers
MIN_CLUSTER = 25  # with centers so far apart, hdbscan then finds about as many clusters
STATUS = Path("/proc/self/status")
SHORT = 2.0  # seconds; what takes less runs again
# how many times faster than this tool graphsoft is to be, and with what share of its memory
WANTED = {
    "igraph Leiden": 1.0,
    "Leiden searched to 10": 5.0,
    "Paris": 10.0,
    "spectral, 100": 50.0,
    "hdbscan": 100.0,
    "hdbscan, vectors alone": 100.0,
}
WANTED_MEMORY = 20.0
WANTED_GROWTH = 1.3
WANTED_MANY = 1.5
SLOW = ("spectral, 100", "hdbscan, vectors alone")  # left out by --quick


def grouped_points(count):
    """Draw points around centers, of which each ten are near each other; and the group of each."""
    import numpy as np

    rng = np.random.default_rng(0)
    around = 4.0 * rng.normal(size=(GROUPS, DIMENSIONS))
    centers = np.repeat(around, CENTERS // GROUPS, axis=0) + 1.5 * rng.normal(size=(CENTERS, DIMENSIONS))
    center = rng.integers(CENTERS, size=count)
    return centers[center] + rng.normal(size=(count, DIMENSIONS)), center // (CENTERS // GROUPS)


def nested_points(count):
    """Draw points around 10,000 centers, ten by ten by ten by ten; and the first ten that each is of."""
    import numpy as np

    rng = np.random.default_rng(0)
    centers = np.zeros((1, DIMENSIONS))
    for apart in NESTED:
        centers = np.repeat(centers, 10, axis=0)
        centers += apart * rng.normal(size=centers.shape)
    center = rng.integers(len(centers), size=count)
    return centers[center] + rng.normal(size=(count, DIMENSIONS)), center // (len(centers) // GROUPS)


def single_points(count, clusters):
    """Draw points around centers far apart; and the center of each."""
    import numpy as np

    rng = np.random.default_rng(0)
    centers = 5.0 * rng.normal(size=(clusters, DIMENSIONS))
    center = rng.integers(clusters, size=count)
    return centers[center] + rng.normal(size=(count, DIMENSIONS)), center


POINTS = {"grouped": grouped_points, "nested": nested_points}


def make_graph(points, nodes, neighbors, file):
    """Write a neighbor graph, and for every point the group that its center is one of."""
    import numpy as np

    from graphsoft import knn_graph

    features, planted = POINTS[points](nodes)
    W = knn_graph(features, neighbors, rng=0).adjacency
    np.savez(file, data=W.data, indices=W.indices, indptr=W.indptr, planted=planted)


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

        # as many as the nodes of the small graph that each run begins with allow
        fitting = [count for count in levels if count < W.shape[0]]
        return graphsoft.hierarchy(W, levels=fitting, affinity="precomputed")[-1].labels

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


def leidenalg_partition(W):
    import leidenalg

    network, weights = igraph_network(W)
    kind = leidenalg.ModularityVertexPartition
    return leidenalg.find_partition(network, kind, weights=weights, n_iterations=2, seed=0).membership


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


ON_GRAPHS = {
    "graphsoft": ours(LEVELS),
    "igraph Leiden": leiden,
    "leidenalg": leidenalg_partition,
    "Leiden searched to 10": leiden_to_k,
    "Paris": paris,
    "spectral, 100": spectral,
}
MANY = {f"graphsoft {levels}": ours(levels) for levels in (FEW_LEVELS, MANY_LEVELS)}


def as_given(points, clusters):
    return points, clusters


def ours_from_points(given):
    import graphsoft

    points, clusters = given
    return graphsoft.hierarchy(points, [clusters])[0].labels


def our_graph(points, clusters):
    import graphsoft

    return graphsoft.knn_graph(points).adjacency, clusters


def ours_from_graph(given):
    import graphsoft

    W, clusters = given
    return graphsoft.hierarchy(W, [clusters])[0].labels


def hdbscan_fitted(points, _=None):
    import hdbscan

    return hdbscan.HDBSCAN(min_cluster_size=MIN_CLUSTER, prediction_data=True).fit(points)


def hdbscan_vectors(fitted):
    import hdbscan

    return hdbscan.all_points_membership_vectors(fitted).argmax(axis=1)


def fast_hdbscan_labels(given):
    import fast_hdbscan

    return fast_hdbscan.HDBSCAN(min_cluster_size=MIN_CLUSTER).fit_predict(given[0])


def evoc_labels(given):
    import evoc
    import numpy as np

    points, clusters = given
    found = evoc.EVoC(approx_n_clusters=clusters, random_state=0)
    return found.fit_predict(points.astype(np.float32))


# what is done before the clock starts, what is timed, and the row that a ratio is taken to
ON_POINTS = {
    "graphsoft": (as_given, ours_from_points, None),
    "graphsoft, from its graph": (our_graph, ours_from_graph, None),
    "hdbscan": (as_given, lambda given: hdbscan_vectors(hdbscan_fitted(*given)), "graphsoft"),
    "hdbscan, vectors alone": (hdbscan_fitted, hdbscan_vectors, "graphsoft, from its graph"),
    "fast_hdbscan, one strength": (as_given, fast_hdbscan_labels, "graphsoft"),
    "evoc, one strength a layer": (as_given, evoc_labels, "graphsoft"),
}


def memory(word):
    """Read from the kernel how many bytes this process holds (VmRSS) or held at most (VmHWM)."""
    return next(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if word in line)


def clocked(work, given, planted):
    """Run, again if that was short: the least seconds, the memory of the first run, how well it clusters."""
    import numpy as np

    from graphsoft import metrics

    Path("/proc/self/clear_refs").write_text("5")  # forget how much was in use at most
    before, seconds, extra = memory("VmRSS"), [], 0
    while len(seconds) < 3 and sum(seconds) < SHORT:
        began = time.perf_counter()
        found = work(given)
        seconds.append(time.perf_counter() - began)
        extra = extra or max(memory("VmHWM") - before, 1)
    labels = np.unique(np.asarray(found), return_inverse=True)[1]  # -1 is noise to some
    clusters = len(np.unique(np.asarray(found)[np.asarray(found) >= 0]))
    return {
        "seconds": min(seconds),
        "extra": extra,
        "clusters": clusters,
        "nmi": float(metrics.nmi(planted, labels)),
    }


def run_on_graph(tool, file):
    """Run one tool on the graph in a file."""
    from graphsoft import as_graph, patterns

    W, planted = load(file)
    work = (ON_GRAPHS | MANY)[tool]
    work(type(W)(as_graph(patterns.block_graph(0, blocks=10, size=40)).adjacency.copy()))
    row = clocked(work, W, planted)
    size = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    return row | {"graph": size, "nodes": W.shape[0], "entries": W.nnz}


def run_on_points(tool):
    """Run one tool on the points of the section ``soft``."""
    ready, work, _ = ON_POINTS[tool]
    work(ready(single_points(*WARM)[0], WARM[1]))
    points, planted = single_points(*SOFT)
    return clocked(work, ready(points, SOFT[1]), planted)


def run(where, tool, file):
    """Run one tool and print what `clocked` found."""
    import warnings

    warnings.simplefilter("ignore")
    print(json.dumps(run_on_graph(tool, file) if where == "graph" else run_on_points(tool)))


def on_graph(nodes, neighbors, tool, limit, folder, points="grouped"):
    """Run one tool on a neighbor graph, which is made if it is not in the folder yet."""
    file = folder / f"{points}-{nodes}-{neighbors}.npz"
    if not file.exists():
        size = "--points", points, "--nodes", nodes, "--neighbors", neighbors
        failed = in_process(__file__, None, "--make", file, *size)
        if failed:
            return failed
    return in_process(__file__, limit, "--run", "graph", "--tool", tool, "--file", file)


def compare_on_graph(graph, tools, limit, folder):
    """Print a line for each tool, and how many times longer than graphsoft it took."""
    rows, base = {}, None
    for tool in tools:
        row = on_graph(*GRAPHS[graph], tool, limit, folder)
        if isinstance(row, str):
            print(f"{tool:34}{row}", flush=True)
            continue
        if not rows:
            print(f"\n## {graph}: {row['nodes']:,} nodes, {row['entries']:,} stored entries\n")
            print(f"{'':34}{'seconds':>9}{'ratio':>8}{'wanted':>8}{'memory':>8}{'NMI':>7}{'clusters':>10}")
        rows[tool] = row
        base = row["seconds"] if tool == "graphsoft" else base
        ratio = f"{row['seconds'] / base:8.2f}" if base else " " * 8
        wanted = f"{WANTED[tool]:8.0f}" if tool in WANTED else " " * 8
        used = f"{row['extra'] / row['graph']:8.2f}"
        print(f"{tool:34}{row['seconds']:9.2f}{ratio}{wanted}{used}{row['nmi']:7.3f}{row['clusters']:10}")
    print("\nmemory is over the bytes of the graph", flush=True)
    return rows


def compare_on_points(tools, limit):
    """Print a line for each tool, and its seconds and memory over graphsoft's."""
    print(f"\n## soft: {SOFT[0]:,} points, {SOFT[1]} centers\n")
    asked = f"{'ratio':>8}{'wanted':>8}"
    print(f"{'':34}{'seconds':>9}{asked}{'MB':>8}{asked}{'NMI':>7}{'clusters':>10}")
    rows = {}
    for tool in tools:
        row = in_process(__file__, limit, "--run", "points", "--tool", tool)
        if isinstance(row, str):
            print(f"{tool:34}{row}", flush=True)
            continue
        rows[tool] = row
        base = rows.get(ON_POINTS[tool][2])
        ratios = [f"{row[key] / base[key]:8.1f}" if base else " " * 8 for key in ("seconds", "extra")]
        goals = (
            [f"{goal:8.0f}" for goal in (WANTED[tool], WANTED_MEMORY)] if tool in WANTED else [" " * 8] * 2
        )
        print(f"{tool:34}{row['seconds']:9.2f}{ratios[0]}{goals[0]}{row['extra'] / 1e6:8.1f}", end="")
        print(f"{ratios[1]}{goals[1]}{row['nmi']:7.3f}{row['clusters']:10}", flush=True)
    return rows


def compare_many(limit, folder):
    """Print for both graphs how many times longer four levels from 10,000 clusters take than two from 100."""
    print(f"\n## many: {GRAPHS['large'][0]:,} nodes, levels from 100 and from 10,000 clusters\n")
    print(f"{'':34}{'centers':>9}{'seconds':>9}{'ratio':>7}{'wanted':>8}{'memory':>8}{'NMI':>7}")
    for points, centers in (("grouped", CENTERS), ("nested", 10 ** len(NESTED))):
        base = None
        for tool in MANY:
            row = on_graph(*GRAPHS["large"], tool, limit, folder, points)
            if isinstance(row, str):
                print(f"{tool:34}{row}", flush=True)
                continue
            ratio = f"{row['seconds'] / base:7.2f}{WANTED_MANY:8.1f}" if base else " " * 15
            base = base or row["seconds"]
            used = row["extra"] / row["graph"]
            print(
                f"{tool:34}{centers:9,}{row['seconds']:9.2f}{ratio}{used:8.2f}{row['nmi']:7.3f}", flush=True
            )


def grow(sizes, limit, folder):
    """Print nanoseconds for each stored entry of rising graphs."""
    print(f"\n## linear: levels {LEVELS} of graphs of rising size\n")
    print(f"{'nodes':>12}{'entries':>13}{'seconds':>9}{'ns an entry':>13}{'ratio':>7}{'wanted':>8}{'NMI':>7}")
    rows = {}
    for nodes in sizes:
        row = on_graph(nodes, LINEAR_NEIGHBORS, "graphsoft", limit, folder)
        if isinstance(row, str):
            print(f"{nodes:12,}  {row}", flush=True)
            continue
        rows[nodes] = row
        row["each"] = 1e9 * row["seconds"] / row["entries"]
        ratio = row["each"] / next(iter(rows.values()))["each"]
        print(f"{nodes:12,}{row['entries']:13,}{row['seconds']:9.2f}{row['each']:13.0f}{ratio:7.2f}", end="")
        print(f"{WANTED_GROWTH:8.1f}{row['nmi']:7.3f}", flush=True)
    return rows


def draw_bars(axis, rows, title):
    names = list(rows)[::-1]
    seconds = [rows[name]["seconds"] for name in names]
    axis.barh(names, seconds, color=["#336699" if "graphsoft" in name else "#bbbbbb" for name in names])
    for place, value in enumerate(seconds):
        axis.text(value, place, f" {value:.2g} s" if value < 10 else f" {value:.0f} s", va="center")
    axis.set_xscale("log")
    axis.set_xlim(min(seconds) / 3, 4 * max(seconds))
    axis.set_title(title)
    axis.set_xlabel("seconds, log scale")


def draw_growth(axis, rows):
    nodes, each = list(rows), [row["each"] for row in rows.values()]
    most = WANTED_GROWTH * each[0]
    axis.plot(nodes, each, "o-", color="#336699")
    axis.axhline(most, color="#bb5544", linestyle="--")
    axis.text(nodes[0], most, "wanted: below", color="#bb5544", va="bottom")
    axis.set_xscale("log")
    axis.set_ylim(0, 1.3 * max(most, *each))
    axis.set_title("time grows with the graph")
    axis.set_xlabel("nodes, log scale")
    axis.set_ylabel("nanoseconds for each stored entry")


def draw(tables, output):
    """Draw a panel for each section."""
    import matplotlib.pyplot as plt

    tables = {section: rows for section, rows in tables.items() if rows}
    if not tables:
        return
    across = min(2, len(tables))
    down = -(-len(tables) // across)
    figure, axes = plt.subplots(down, across, figsize=(6.8 * across, 3.6 * down), squeeze=False)
    for axis in axes.ravel()[len(tables) :]:
        axis.set_visible(False)
    for axis, (section, rows) in zip(axes.ravel(), tables.items(), strict=False):
        axis.spines[["top", "right"]].set_visible(False)
        if section == "linear":
            draw_growth(axis, rows)
        elif section == "soft":
            draw_bars(axis, rows, f"soft memberships: {SOFT[0]:,} points, {SOFT[1]} centers")
        else:
            one = next(iter(rows.values()))
            draw_bars(axis, rows, f"{one['nodes']:,} nodes, {one['entries']:,} stored entries")
    figure.tight_layout()
    figure.savefig(output / "speed.png", dpi=120)
    print(f"\npicture: {output / 'speed.png'}")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = [*GRAPHS, "many", "soft", "linear", "startup"]
    parser.add_argument("--quick", action="store_true", help="what takes under two minutes")
    parser.add_argument("--sections", default="", help=f"comma-separated, of {','.join(sections)}")
    parser.add_argument("--tools", default="", help="separated by semicolons; else all")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for each run")
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the picture goes")
    # what the processes that this one starts are asked for
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--points", choices=POINTS, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--neighbors", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--run", choices=["graph", "points"], help=argparse.SUPPRESS)
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    wanted = [name for name in options.sections.split(",") if name]
    slow = ("large", "many") if options.quick else ()
    options.sections = wanted or [name for name in sections if name not in slow]
    if unknown := set(options.sections) - set(sections):
        parser.error(f"no section is called {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    if not STATUS.exists():
        parser.error("memory is read from /proc, which only Linux has")
    return options


def main():
    options = arguments()
    if options.make:
        return make_graph(options.points, options.nodes, options.neighbors, options.make)
    if options.run:
        return run(options.run, options.tool, options.file)
    options.output.mkdir(parents=True, exist_ok=True)
    chosen = options.tools.split(";") if options.tools else [*ON_GRAPHS, *ON_POINTS]
    chosen = [tool for tool in chosen if not (options.quick and tool in SLOW)]
    graph_tools = [tool for tool in ON_GRAPHS if tool in chosen]
    point_tools = [tool for tool in ON_POINTS if tool in chosen]
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        for section in options.sections:
            if section == "startup":
                startup.measure(*((1, ["points"]) if options.quick else (3,)))
            elif section == "linear":
                tables[section] = grow(LINEAR_QUICK if options.quick else LINEAR, options.limit, Path(folder))
            elif section == "many":
                compare_many(options.limit, Path(folder))
            elif section == "soft":
                tables[section] = compare_on_points(point_tools, options.limit)
            else:
                tables[section] = compare_on_graph(section, graph_tools, options.limit, Path(folder))
    return draw(tables, options.output)


if __name__ == "__main__":
    main()
