"""Time graphsoft and the tools that a user could take instead, on the same data, and print the ratios.

    python examples/benchmarks/speed.py [--quick] [--sections S,S] [--output DIR]

All data are points in 8 dimensions around centers. Sections (``small,large,many,soft,linear,startup``):

``small``, ``large``
    Neighbor graphs of 70,000 nodes and a million stored entries, and of a million nodes and 20 million
    entries. They have 100 centers, of which each ten are near each other. Every tool gets a SciPy CSR matrix
    and is timed from there, so whatever it builds for itself counts. graphsoft finds soft memberships on
    levels of 100, 20 and 10 clusters. Leiden finds one flat partition of its own size, or is searched until
    it has 10 clusters. Paris finds its dendrogram, and spectral clustering finds 100 clusters.
``many``
    graphsoft with two levels from 100 clusters and with four levels from 10,000. The time should depend
    little on the number of clusters. It is measured on two graphs. In that of ``large``, the 10,000 are cut
    out of 100 round clouds, and nearly every point is in several. The other has a million points around
    10,000 nested centers.
``soft``
    20,000 points around 200 centers. hdbscan runs from points to membership vectors; then the vectors alone
    are timed after a fit. graphsoft runs from points, and from its neighbor graph. Ratios compare the whole
    job with the whole job, and the rest with the rest. fast_hdbscan and evoc give a point one strength in one
    cluster (evoc in each of its layers) and no vector.
``linear``
    Nanoseconds of graphsoft for each stored entry, of graphs of 10^5, 10^6 and 3 * 10^6 nodes.
``startup``
    What the first call costs; see ``startup.py`` in this folder.

Each run is a process of its own, which first works on a small set, so that everything is imported and
compiled. Runs that take under two seconds are repeated up to three times, and the shortest counts. Memory is
the peak of the first run beyond its input. A tool that takes longer than ``--limit`` is stopped. NMI compares
with the known groups or centers. Machines are noisy: compare figures of the same run only.

``--quick`` takes ``small`` without spectral clustering, ``soft`` without the vectors alone, ``linear`` to
300,000 nodes, and one row of ``startup``.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib as mpl
import startup
from one_tool import LEVELS, MANY, ON_GRAPHS, ON_POINTS
from one_tool import POINTS as SOFT
from planted import CENTERS, NESTED
from processes import in_process, require_proc

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
# nodes, and neighbors that give about 1 million and 20 million stored entries
GRAPHS = {"small": (70_000, 11), "large": (1_000_000, 15)}
LINEAR, LINEAR_QUICK, LINEAR_NEIGHBORS = (100_000, 1_000_000, 3_000_000), (100_000, 300_000), 15
# the row of `soft` that a tool is compared with: the whole job with the whole job, the rest with the rest
COMPARED_WITH = {
    "hdbscan": "graphsoft",
    "hdbscan, vectors alone": "graphsoft, from its graph",
    "fast_hdbscan, one strength": "graphsoft",
    "evoc, one strength a layer": "graphsoft",
}
# how many times faster than this tool graphsoft should be, and how many times less memory it should take
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


def on_graph(nodes, neighbors, tool, limit, folder, points="grouped"):
    """Run one tool on a neighbor graph, which is first made if it is not in the folder yet."""
    file = folder / f"{points}-{nodes}-{neighbors}.npz"
    if not file.exists():
        size = "--points", points, "--nodes", nodes, "--neighbors", neighbors
        failed = in_process(HERE / "planted.py", None, file, *size)
        if failed:
            return failed
    return in_process(HERE / "one_tool.py", limit, tool, "--file", file)


def compare_on_graph(graph, tools, limit, folder):
    """Print a line for each tool, with how many times longer than graphsoft it took."""
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
    print("\nmemory is in multiples of the bytes of the graph", flush=True)
    return rows


def compare_on_points(tools, limit):
    """Print a line for each tool, with its seconds and memory relative to those of graphsoft."""
    print(f"\n## soft: {SOFT[0]:,} points, {SOFT[1]} centers\n")
    ratio = f"{'ratio':>8}{'wanted':>8}"
    print(f"{'':34}{'seconds':>9}{ratio}{'MB':>8}{ratio}{'NMI':>7}{'clusters':>10}")
    rows = {}
    for tool in tools:
        row = in_process(HERE / "one_tool.py", limit, tool)
        if isinstance(row, str):
            print(f"{tool:34}{row}", flush=True)
            continue
        rows[tool] = row
        base = rows.get(COMPARED_WITH.get(tool))
        ratios = [f"{row[key] / base[key]:8.1f}" if base else " " * 8 for key in ("seconds", "extra")]
        wanted = (WANTED[tool], WANTED_MEMORY) if tool in WANTED else ()
        goals = [f"{goal:8.0f}" for goal in wanted] or [" " * 8] * 2
        print(f"{tool:34}{row['seconds']:9.2f}{ratios[0]}{goals[0]}{row['extra'] / 1e6:8.1f}", end="")
        print(f"{ratios[1]}{goals[1]}{row['nmi']:7.3f}{row['clusters']:10}", flush=True)
    return rows


def compare_many(limit, folder):
    """Print how many times longer four levels from 10,000 clusters take than two from 100, on both graphs."""
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
    """Print nanoseconds for each stored entry of growing graphs."""
    print(f"\n## linear: levels {LEVELS} of growing graphs\n")
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
    limit = WANTED_GROWTH * each[0]
    axis.plot(nodes, each, "o-", color="#336699")
    axis.axhline(limit, color="#bb5544", linestyle="--")
    axis.text(nodes[0], limit, "wanted: below", color="#bb5544", va="bottom")
    axis.set_xscale("log")
    axis.set_ylim(0, 1.3 * max(limit, *each))
    axis.set_title("time grows with the graph")
    axis.set_xlabel("nodes, log scale")
    axis.set_ylabel("nanoseconds for each stored entry")


def draw(tables, output):
    """Draw a panel for each section."""
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


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = [*GRAPHS, "many", "soft", "linear", "startup"]
    parser.add_argument("--quick", action="store_true", help="only what takes under two minutes")
    parser.add_argument("--sections", default="", help=f"some of {','.join(sections)}")
    parser.add_argument("--tools", default="", help="separated by semicolons; all by default")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for each run")
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the picture goes")
    options = parser.parse_args()
    wanted = [name for name in options.sections.split(",") if name]
    slow = ("large", "many") if options.quick else ()
    options.sections = wanted or [name for name in sections if name not in slow]
    if unknown := set(options.sections) - set(sections):
        parser.error(f"no section is called {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    require_proc(parser)
    return options


def main():
    options = read_options()
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
    draw(tables, options.output)


if __name__ == "__main__":
    main()
