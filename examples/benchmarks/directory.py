"""Measure hierarchies beyond memory: seconds and bytes of every stage, and the memory of every process.

    python examples/benchmarks/directory.py [--points 200000,1000000] [--workers 0,1,2] [--features 16]
        [--partitions P] [--max-memory 2GB] [--data FILE ...] [--directory DIR]
    python examples/benchmarks/directory.py --only-memory 4GB --max-memory 1GB [--features 1024]
        [--directory DIR]
    python examples/benchmarks/directory.py --edges 100000000 --max-memory 1GB [--directory DIR]

Points around 200 centers in ten groups are written to files. Then levels of 200 and 10 clusters are found by
a single machine in memory, and in a directory: by this process alone (0 workers) and by worker processes of
one thread each. ``--data`` takes npy files of your own instead. For every stage the script prints CPU seconds
and bytes, and at the end the cost beside the single machine, wall-clock seconds, how much two workers do of
what one does, what two runs lose that only share the machine, and the peak of the memory of the client and of
the workers. On a machine that is not idle only CPU seconds say something. Every step has a process of its
own, in which a smaller run first compiles the loops.

``--only-memory SIZE`` writes so many bytes of features, and finds the levels by two workers that may take
``--max-memory`` each. It prints the peak of every process, and fails if one is above 80 % of that.
``--edges`` does the same for a graph of so many edges, ten for each node, eight of them within 200 groups of
nodes, whose numbers say nothing about the group.

Only for Linux, whose kernel is asked for the peaks.
"""

import argparse
import json
import math
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from processes import in_process, memory, require_proc

LEVELS = [200, 10]
GROUPS, CENTERS = 10, 200
BLOCK = 1 << 26  # bytes that are drawn at a time, and of a file
LIMIT = 24 * 3600  # seconds of a step
EDGES_EACH = 10  # of a node
ALLOWED = 0.8  # of the memory that a process may take


def centers_of(features):
    """Draw centers, of which each twenty are near each other; returns them and the group of each."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(GROUPS), CENTERS // GROUPS)
    # so that neighbors are as easy to tell from others, however many features there are
    scale = (features / 8) ** -0.25
    around = 4.0 * scale * rng.normal(size=(GROUPS, features))
    return around[groups] + 1.5 * scale * rng.normal(size=(CENTERS, features)), groups


def write_points(folder, points, features):
    """Write points around the centers to files, block by block, and the center of each."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    places, _ = centers_of(features)
    step = max(1, BLOCK // (4 * features))
    truth = np.empty(points, dtype=np.int16)
    for part, start in enumerate(range(0, points, step)):
        rng = np.random.default_rng([1, part])
        count = min(step, points - start)
        truth[start : start + count] = chosen = rng.integers(CENTERS, size=count)
        rows = rng.normal(size=(count, features)).astype(np.float32)
        rows += places[chosen]
        np.save(folder / f"part-{part:05}.npy", rows)
    np.save(folder.with_suffix(".truth.npy"), truth)


def write_edges(folder, edges):
    """Write the edges of a graph to files, block by block, and the group of each node."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    members = max(1, edges // EDGES_EACH // CENTERS)
    nodes = members * CENTERS
    # node numbers from groups and members, in an order that looks like chance, without a list of them
    stride = next(each for each in range(int(0.618 * nodes), nodes) if math.gcd(each, nodes) == 1)
    together = CENTERS // GROUPS
    for part, start in enumerate(range(0, edges, BLOCK // 8)):
        rng = np.random.default_rng([2, part])
        count = min(BLOCK // 8, edges - start)
        one = rng.integers(CENTERS, size=count)
        kind = rng.random(count)
        near = one // together * together + rng.integers(together, size=count)
        two = np.where(kind < 0.8, one, np.where(kind < 0.95, near, rng.integers(CENTERS, size=count)))
        row, col = (
            (each + CENTERS * rng.integers(members, size=count)) * stride % nodes for each in (one, two)
        )
        other = row != col
        np.savez(
            folder / f"part-{part:05}.npz", row=row[other].astype(np.int32), col=col[other].astype(np.int32)
        )
    truth = np.empty(nodes, dtype=np.int16)
    truth[np.arange(nodes) * stride % nodes] = np.arange(nodes) % CENTERS
    np.save(folder.with_suffix(".truth.npy"), truth)


def data_in(folder):
    """Describe what is in a folder: edges, or rows of features."""
    import graphsoft

    if any(Path(folder).glob("*.npz")):
        return graphsoft.partitioned_graph(folder, nodes=len(np.load(Path(folder).with_suffix(".truth.npy"))))
    return str(folder)


def quality(folder, labels):
    """Compare the labels of both levels with what the points were drawn from; None for data of the user."""
    path = Path(folder).with_suffix(".truth.npy")
    if not path.exists():
        return None
    from graphsoft.metrics import adjusted_rand

    truth = np.load(path)
    groups = np.repeat(np.arange(GROUPS), CENTERS // GROUPS)
    return [adjusted_rand(known, found) for known, found in zip((truth, groups[truth]), labels, strict=True)]


def warm_up(client=None):
    """Compile all loops, here and in workers; also those for more points than are compared pair by pair."""
    import graphsoft

    X = np.random.default_rng(0).normal(size=(80_000, 16)).astype(np.float32)
    graphsoft.hierarchy(X, [20, 5])
    with tempfile.TemporaryDirectory() as folder:
        graphsoft.hierarchy(X, [20, 5], directory=folder, client=client, partitions=4)


def single(folder):
    """Find the levels in memory."""
    import graphsoft

    warm_up()
    X = np.concatenate([np.load(path) for path in sorted(Path(folder).glob("*.npy"))])
    began, cpu = time.perf_counter(), time.process_time()
    h = graphsoft.hierarchy(X, LEVELS)
    spent = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    return {**spent, "peak": memory("VmHWM"), "quality": quality(folder, [level.labels for level in h])}


def run(folder, directory, workers, max_memory, partitions, warm=True):
    """Find the levels in a directory; tells what each stage took."""
    import graphsoft
    from graphsoft.distributed.plan import mark_of

    with ExitStack() as stack:
        client = None
        if workers:
            from distributed import Client, LocalCluster

            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=workers, threads_per_worker=1, memory_limit=max_memory or "auto",
                    dashboard_address="127.0.0.1:0", silence_logs=50,
                )
            )  # fmt: skip
            client = stack.enter_context(Client(cluster))
        if warm:
            warm_up(client)
        began, cpu = time.perf_counter(), time.process_time()
        h = graphsoft.hierarchy(
            data_in(folder),
            LEVELS,
            directory=directory,
            client=client,
            max_memory=max_memory,
            partitions=partitions,
        )
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        peaks = {"client": memory("VmHWM")}
        if client is not None:
            found = sorted(client.run(memory, "VmHWM").values())
            peaks |= {f"worker {number}": peak for number, peak in enumerate(found, start=1)}
    stages = stages_of(directory, mark_of(h.plan))
    tasks = sum(stage["cpu"] for stage in stages.values())
    return {
        "seconds": seconds,
        "cpu": cpu + (tasks if workers else 0.0),
        "cpu of the client": cpu if workers else cpu - tasks,
        "stages": stages,
        "peaks": peaks,
        "bytes in the directory": sum(
            path.stat().st_size for path in Path(directory).rglob("*.*") if path.is_file()
        ),
        "notes": h.report.notes,
        "quality": quality(folder, [np.asarray(level.labels) for level in h]),
    }


def stages_of(directory, mark):
    """Add up what the records say of the tasks of each kind of stages, such as all sweeps."""
    from graphsoft.distributed.files import open_arrays
    from graphsoft.distributed.run import planned_stages

    names = {"cpu": "cpu_seconds", "read": "bytes_read", "written": "bytes_written", "peak": "peak_memory"}
    stages = {}
    for name in planned_stages(Path(directory)):
        stage = stages.setdefault(re.split(r"-[0-9]", name)[0], dict.fromkeys(("tasks", *names), 0))
        for path in Path(directory, "done", name).glob("*.arrays"):
            with open_arrays(path, mark=mark) as file:
                record = {key: file.array(field).item() for key, field in names.items()}
            stage["tasks"] += 1
            for key, value in record.items():
                stage[key] = max(stage[key], value) if key == "peak" else stage[key] + value
    return stages


def compare(options, folder, points):
    """Print what a single machine and runs in a directory take for the same points."""
    print(f"\n{points:,} points" if points else f"\n{folder}")
    alone = step(options, "single", folder)
    if isinstance(alone, str):
        print(f"single machine: {alone}")
    else:
        print(
            f"single machine: {alone['cpu']:.1f} CPU s, {alone['seconds']:.1f} s, peak {size(alone['peak'])}"
        )
        print(f"  adjusted Rand index {shown(alone['quality'])}")
    found = {}
    for workers in options.workers:
        directory = Path(options.directory, f"run-{points}-{workers}")
        shutil.rmtree(directory, ignore_errors=True)
        done = step(options, "run", folder, directory, workers)
        if isinstance(done, str):
            print(f"{workers} workers: {done}")
            continue
        found[workers] = done
        print_run(workers, done, alone)
        shutil.rmtree(directory)
    if {1, 2} <= found.keys():
        print(f"two workers do {found[1]['seconds'] / found[2]['seconds'] / 2:.0%} of twice what one does")
        print(f"two such runs of one worker at the same time, {side_by_side(options, folder, found[1])}")


def side_by_side(options, folder, alone):
    """Tell what is lost by two runs that share nothing but the machine, such as its memory and its caches."""
    directories = [Path(options.directory, f"run-{number}") for number in range(2)]
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda directory: step(options, "run", folder, directory, 1), directories))
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
    if any(isinstance(each, str) for each in done):
        return "; ".join(map(str, done))
    return f"each at {alone['seconds'] * len(done) / sum(each['seconds'] for each in done):.0%} of its speed"


def print_run(workers, done, alone):
    """Print the table of one run."""
    print(f"\n{workers} workers: {done['cpu']:.1f} CPU s, {done['seconds']:.1f} s", end="")
    print(
        ""
        if isinstance(alone, str)
        else f", {done['cpu'] / alone['cpu']:.2f} times the CPU of a single machine"
    )
    print(f"  {'stage':<20}{'tasks':>7}{'CPU s':>9}{'read':>10}{'written':>10}{'peak':>10}")
    for name, stage in done["stages"].items():
        sizes = "".join(f"{size(stage[key]):>10}" for key in ("read", "written", "peak"))
        print(f"  {name:<20}{stage['tasks']:>7}{stage['cpu']:>9.2f}{sizes}")
    print(f"  {'client':<27}{done['cpu of the client']:>9.2f}")
    print("  peaks: " + ", ".join(f"{name} {size(peak)}" for name, peak in done["peaks"].items()))
    print(f"  in the directory: {size(done['bytes in the directory'])}")
    print(f"  adjusted Rand index {shown(done['quality'])}")
    for note in done["notes"]:
        print(f"  note: {note}")


def only_memory(options, folder):
    """Print the peaks of two workers, and say whether all are far enough below what they may take."""
    if options.edges:
        print(f"{options.edges:,} edges, each of which is stored twice")
        failed = step(options, "write edges", folder, options.edges)
    else:
        wanted = bytes_of(options.only_memory)
        points = wanted // (4 * options.features)
        print(f"{points:,} points with {options.features} features: {size(wanted)} in files")
        failed = step(options, "write", folder, points)
    if failed is not None:
        return failed
    directory = Path(options.directory, "run")
    done = step(options, "first run", folder, directory, 2)
    if isinstance(done, str):
        return done
    print_run(2, done, "")
    limit = ALLOWED * bytes_of(options.max_memory)
    above = [name for name, peak in done["peaks"].items() if peak > limit]
    return f"above {ALLOWED:.0%} of what it may take: {', '.join(above)}" if above else 0


def step(options, name, *arguments):
    """Take a step in a process of its own."""
    settings = ["--features", options.features]
    for option in ("max_memory", "partitions"):
        if getattr(options, option) is not None:
            settings += [f"--{option.replace('_', '-')}", getattr(options, option)]
    return in_process(__file__, LIMIT, "--step", name, *arguments, *settings)


def take(options):
    """Do what a process of its own was started for, and print what came of it."""
    name, folder, *rest = options.step
    if name == "write":
        write_points(folder, int(rest[0]), options.features)
        return
    if name == "write edges":
        write_edges(folder, int(rest[0]))
        return
    if name == "single":
        found = single(folder)
    else:
        # where memory is what counts, nothing else goes before
        limits = options.max_memory, options.partitions
        found = run(folder, rest[0], int(rest[1]), *limits, warm=name == "run")
    print(json.dumps(found))


def bytes_of(text):
    """Read a size.

    Examples
    --------
    >>> bytes_of("1.5GB")
    1500000000
    """
    number, unit = re.fullmatch(r"([\d.]+) *([kMGT]?)i?B?", text).groups()
    return int(float(number) * 1000 ** " kMGT".index(unit or " "))


def size(count):
    """Write a number of bytes.

    Examples
    --------
    >>> size(1_234_000_000), size(5)
    ('1.23 GB', '0.0 MB')
    """
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def shown(scores):
    """Write the scores of the two levels."""
    return "unknown" if scores is None else " and ".join(f"{score:.3f}" for score in scores)


def numbers(text):
    """Read numbers with commas between them."""
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=numbers, default=[200_000], help="how many, with commas")
    parser.add_argument("--workers", type=numbers, default=[0, 1, 2], help="how many, with commas")
    parser.add_argument("--features", type=int, default=None, help="16; 1024 with --only-memory")
    parser.add_argument("--partitions", type=int, help="found out if not given")
    parser.add_argument("--max-memory", metavar="SIZE", help="what a process may take")
    parser.add_argument("--only-memory", metavar="SIZE", help="so many bytes of features, by two workers")
    parser.add_argument("--edges", type=int, help="as many edges, by two workers")
    parser.add_argument("--data", nargs="+", metavar="FILE", help="npy files with points of your own")
    parser.add_argument("--directory", metavar="DIR", help="for files; a temporary one if not given")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    require_proc(parser)
    options.features = options.features or (1024 if options.only_memory else 16)
    if (options.only_memory or options.edges) and not options.max_memory and not options.step:
        parser.error("--only-memory and --edges need --max-memory")
    if options.step:
        take(options)
        return
    with tempfile.TemporaryDirectory(dir=options.directory) as temporary:
        options.directory = temporary
        if options.only_memory or options.edges:
            sys.exit(only_memory(options, Path(temporary, "points")))
        if options.data:
            folder = Path(temporary, "points")
            folder.mkdir()
            for number, name in enumerate(options.data):
                (folder / f"part-{number:05}.npy").symlink_to(Path(name).resolve())
            compare(options, folder, 0)
            return
        for points in options.points:
            folder = Path(temporary, f"points-{points}")
            failed = step(options, "write", folder, points)
            if failed is not None:
                sys.exit(failed)
            compare(options, folder, points)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
