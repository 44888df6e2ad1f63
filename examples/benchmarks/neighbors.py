"""Time the search for nearest neighbors beside pynndescent and scikit-learn, and count how many it finds.

    python examples/benchmarks/neighbors.py [--quick] [--sizes 10000] [--dims 2,16] [--data DIR]

There are two kinds of points. ``clouds`` are 30 clusters that vary in 10 directions each and very little in
the others, as embeddings of real data do. ``noise`` are normal numbers, where every dimension counts. Beyond
some 20 dimensions only a search of all pairs finds the neighbors of such points. ``--data`` adds the dense
sets of a folder of ``.npz`` files with ``X``, of 3000 rows and more.

The tools find 10 neighbors of every point:

- ``search``: the search that :func:`graphsoft.knn_graph` uses;
- ``graph``: all of ``knn_graph``, with checks, identical rows, weights and symmetry;
- ``pynndescent``: with its defaults, asked for 11, because a point is one of its own neighbors there;
- ``to 0.95``: pynndescent, asked for as many neighbors as a recall of 0.95 takes;
- ``sklearn``: ``NearestNeighbors`` with its defaults, up to 100,000 points.

Each run is a process of its own, which first searches a small part of the points, so that everything is
imported and compiled. Then the best of a few runs counts. The first number is seconds by the clock, the
second is processor time of all threads, for machines that others use too. The third is recall, measured on
1000 points against all distances in float64, where equally distant neighbors are equally good. Machines are
noisy: compare figures of the same run only.

``--quick`` takes 10,000 points of clouds only, in 2 and 64 dimensions. Otherwise most of the time goes into
the compilation of pynndescent in every process, which is not counted. The largest set, a million points in
784 dimensions, needs 9 GB of memory.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from processes import in_process

mpl.use("Agg")
import matplotlib.pyplot as plt

NEIGHBORS = 10
SAMPLE = 1000
WANTED = 0.95
TOOLS = ["search", "graph", "pynndescent", "to 0.95", "sklearn"]
COLORS = {
    "search": "#336699",
    "graph": "#88aacc",
    "pynndescent": "#cc7722",
    "to 0.95": "#e5b98f",
    "sklearn": "#999999",
}
SKLEARN_POINTS = 100_000
SMALL = 3000  # points to warm up on, and the minimal size of a set of --data


def make_points(kind, count, dimensions):
    """Draw points, float32."""
    rng = np.random.default_rng(0)
    if kind == "noise":
        return rng.standard_normal((count, dimensions), dtype=np.float32)
    inner = min(10, dimensions)
    points = 0.05 * rng.standard_normal((count, dimensions), dtype=np.float32)
    cloud = rng.integers(30, size=count)
    for number in range(30):
        middle = 3.0 * np.sqrt(inner / dimensions) * rng.standard_normal(dimensions, dtype=np.float32)
        directions = rng.standard_normal((inner, dimensions), dtype=np.float32) / np.sqrt(dimensions)
        rows = np.flatnonzero(cloud == number)
        points[rows] += middle + rng.standard_normal((len(rows), inner), dtype=np.float32) @ directions
    return points


def exact_reach(points, rows):
    """Compute the squared distance from each of `rows` to the last of its true neighbors."""
    queries = points[rows].astype(np.float64)
    lengths = np.square(queries).sum(axis=1)
    best = np.full((len(rows), 0), np.inf)
    for start in range(0, len(points), 10_000):
        block = points[start : start + 10_000].astype(np.float64)
        squares = lengths[:, None] + np.square(block).sum(axis=1) - 2.0 * queries @ block.T
        inside = np.flatnonzero((rows >= start) & (rows < start + len(block)))
        squares[inside, rows[inside] - start] = np.inf
        best = np.concatenate([best, squares], axis=1)
        best = np.partition(best, NEIGHBORS - 1, axis=1)[:, :NEIGHBORS]
    return best.max(axis=1)


def recall(points, rows, reach, found):
    """Compute the share of true neighbors found: those no farther away than `reach`, the last true one."""
    true = 0
    for row, limit, listed in zip(rows, reach, found, strict=True):
        others = np.unique(listed[(listed >= 0) & (listed != row)])
        differences = points[others].astype(np.float64) - points[row].astype(np.float64)
        true += int((np.square(differences).sum(axis=1) <= limit * (1 + 1e-7) + 1e-12).sum())
    return true / (NEIGHBORS * len(rows))


def search(points, _):
    from graphsoft.neighbors.nearest import nearest_neighbors
    from graphsoft.neighbors.points import Points

    return nearest_neighbors(Points.of(points), NEIGHBORS)[0]


def graph(points, _):
    from graphsoft import knn_graph

    knn_graph(points, NEIGHBORS)


def pynndescent(points, asked):
    from pynndescent import NNDescent

    index = NNDescent(points, n_neighbors=asked, random_state=0)
    return index.neighbor_graph[0][:, 1 : NEIGHBORS + 1]


def sklearn(points, _):
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=NEIGHBORS).fit(points).kneighbors(return_distance=False)


CALLS = {
    "search": search,
    "graph": graph,
    "pynndescent": pynndescent,
    "to 0.95": pynndescent,
    "sklearn": sklearn,
}


def best_seconds(call, points, asked):
    """Run several times; return the shortest seconds by the clock and of the processor, and the neighbors."""
    call(points[:SMALL], asked)
    seconds, processor, began, runs = np.inf, np.inf, time.perf_counter(), 0
    # at least twice: a large set may take another way than the small one, which is compiled in the first run
    while runs < 2 or (runs < 5 and time.perf_counter() - began < 3.0):
        start, worked = time.perf_counter(), time.process_time()
        found = call(points, asked)
        seconds = min(seconds, time.perf_counter() - start)
        processor = min(processor, time.process_time() - worked)
        runs += 1
    return seconds, processor, found


def run(tool, folder):
    """Time one tool on the points in a folder."""
    import warnings

    warnings.simplefilter("ignore")
    points = np.load(folder / "points.npy")
    with np.load(folder / "exact.npz", allow_pickle=False) as held:
        rows, reach = held["rows"], held["reach"]
    for asked in (NEIGHBORS + 1, 16, 21, 31, 46, 61):
        seconds, processor, found = best_seconds(CALLS[tool], points, asked)
        share = None if found is None else recall(points, rows, reach, found[rows])
        if tool != "to 0.95" or share >= WANTED:
            break
    return {"seconds": seconds, "processor": processor, "recall": share, "asked": asked}


def prepare(file, folder):
    """Write the exact reach of a sample of the points in a file, see `exact_reach`."""
    points = np.load(file, mmap_mode="r")
    rows = np.random.default_rng(1).choice(len(points), min(SAMPLE, len(points)), replace=False)
    np.savez(folder / "exact.npz", rows=rows, reach=exact_reach(points, rows))


def compare(points, tools, limit):
    """Run all tools on the same points; return a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file, count = Path(folder) / "points.npy", len(points)
        np.save(file, points)
        del points
        prepare(file, Path(folder))
        row = {}
        for tool in tools:
            default = row.get("pynndescent")
            enough = isinstance(default, dict) and default["recall"] >= WANTED
            if (tool == "sklearn" and count > SKLEARN_POINTS) or (tool == "to 0.95" and enough):
                continue
            row[tool] = in_process(__file__, limit, "--run", tool, "--folder", folder)
    return row


def cell(value):
    if value is None:
        return f"{'':25}"
    if isinstance(value, str):
        return f"{value[:24]:>25}"
    share = "" if value["recall"] is None else f"{value['recall']:.3f}"
    return f"{value['seconds']:10.3f} {value['processor']:7.2f} {share:>6}"


def ratio(row):
    """Return how many times longer than our search pynndescent took, where both find enough."""
    ours, theirs = row.get("search"), row.get("to 0.95", row.get("pynndescent"))
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return float("nan")
    return theirs["seconds"] / ours["seconds"]


def own_sets(folder):
    """Read the dense sets of a folder."""
    for file in sorted(folder.glob("*.npz")):
        with np.load(file, allow_pickle=False) as held:
            if "X" in held and len(held["X"]) >= SMALL:
                yield file.stem, np.ascontiguousarray(held["X"], dtype=np.float32)


def draw(rows, tools, output):
    """Draw the seconds of every row, a panel for each kind of points."""
    kinds = list(dict.fromkeys(key[0] for key in rows))
    height = max(sum(key[0] == kind for key in rows) for kind in kinds)
    figure, axes = plt.subplots(
        1, len(kinds), figsize=(1.5 + 5.0 * len(kinds), 1.6 + 0.42 * height), squeeze=False, sharex=True
    )
    for axis, kind in zip(axes[0], kinds, strict=True):
        keys = [key for key in rows if key[0] == kind]
        for place, key in enumerate(keys):
            axis.axhline(place, color="#eeeeee", zorder=0)
            for tool in tools:
                found = rows[key].get(tool)
                if isinstance(found, dict):
                    low = found["recall"] is not None and found["recall"] < WANTED
                    face = "white" if low else COLORS[tool]
                    axis.scatter(found["seconds"], place, s=55, color=face, edgecolor=COLORS[tool], zorder=2)
        axis.set_yticks(
            range(len(keys)), [f"{n:,} x {d}" if kind != "sets" else name for _, n, d, name in keys]
        )
        axis.set_ylim(len(keys) - 0.5, -0.5)
        axis.set_xscale("log")
        axis.set_title(kind)
        axis.set_xlabel("seconds, log scale")
        axis.spines[["top", "right"]].set_visible(False)
    marks = [plt.Line2D([], [], marker="o", linestyle="", color=COLORS[tool], label=tool) for tool in tools]
    hollow = {"markerfacecolor": "white", "color": "black", "label": f"recall below {WANTED}"}
    marks.append(plt.Line2D([], [], marker="o", linestyle="", **hollow))
    figure.legend(handles=marks, loc="lower center", ncols=len(marks), frameon=False)
    figure.tight_layout(rect=(0, 0.6 / figure.get_figheight(), 1, 1))
    figure.savefig(output / "neighbors.png", dpi=120)
    print(f"\npicture: {output / 'neighbors.png'}")


def cases(options):
    """Yield (kind, points, dimensions, name) and the points, small ones first."""
    for count in options.sizes:
        for dimensions in options.dims:
            for kind in options.kinds.split(","):
                name = f"{kind} {count:,} x {dimensions}"
                yield (kind, count, dimensions, name), make_points(kind, count, dimensions)
    for name, points in own_sets(options.data) if options.data else ():
        yield ("sets", *points.shape, name), points


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="10,000 points of clouds, in 2 and 64 dimensions"
    )
    parser.add_argument("--sizes", type=numbers, default=[10_000, 100_000, 1_000_000], help="comma-separated")
    parser.add_argument("--dims", type=numbers, default=[2, 16, 64, 784], help="comma-separated")
    parser.add_argument("--kinds", default="clouds,noise", help="comma-separated")
    parser.add_argument("--tools", default=",".join(TOOLS), help="comma-separated")
    parser.add_argument("--data", type=Path, help="a folder of .npz files with X")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each process")
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the picture goes")
    # for the processes that this one starts
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run, options.folder)))
        return
    if options.data and not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}")
    if options.quick:
        options.sizes, options.dims, options.kinds = [10_000], [2, 64], "clouds"
    tools = [tool for tool in TOOLS if tool in options.tools.split(",")]
    options.output.mkdir(parents=True, exist_ok=True)
    print("seconds by the clock, seconds of the processor, and recall; the last column is pynndescent's time")
    print("divided by that of search, by the clock\n")
    print(f"{'':28}" + "".join(f"{tool:>25}" for tool in tools) + f"{'ratio':>8}")
    rows = {}
    for key, points in cases(options):
        rows[key] = compare(points, tools, options.limit)
        line = "".join(cell(rows[key].get(tool)) for tool in tools)
        print(f"{key[-1]:28}{line}{ratio(rows[key]):8.2f}", flush=True)
    draw(rows, tools, options.output)


if __name__ == "__main__":
    main()
