"""Time what a user waits for at first: the import, and the first call, with and without compiled loops.

    python examples/benchmarks/startup.py [--times 3] [--peers]

On a new machine the loops are compiled at the first call, and kept for the next process. Each row runs a
process that clusters a small set with an empty folder for compiled loops, and then another with the folder
filled. Seconds run from `import graphsoft` to the end of the call, without making the data, and the shortest
of several processes counts. ``cpu`` is the processor time of the process itself, which depends less on other
work. ``compiled`` counts graphsoft's loops; one that is compiled for two types of input counts twice.

Machines differ by a factor of three in this. So ``--peers`` times the first call of libraries that compile in
the same way, on the same points. It needs the extra ``[bench]``, and takes minutes for each.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

WANTED = {"import": 0.3, "new": 8.0, "kept": 1.5}
INPUTS = {
    "points": "500 points, 10 features",
    "wide": "5000 points, 50 features",
    "networkx": "networkx graph, 500 nodes",
    "words": "2000 texts, sparse",
}
FIRST_CALL = """if True:
    import gc, json, sys, time
    from startup import data_of
    clocks = time.perf_counter, time.process_time
    began = [clock() for clock in clocks]
    import graphsoft
    imported = clocks[0]() - began[0]
    ready = [clock() for clock in clocks]
    data, options = data_of(sys.argv[1])
    making = [clock() - since for clock, since in zip(clocks, ready)]
    graphsoft.hierarchy(data, [20, 5], **options)
    seconds, cpu = [clock() - since - made for clock, since, made in zip(clocks, began, making)]
    from numba.core.dispatcher import Dispatcher
    ours = [each for each in gc.get_objects() if isinstance(each, Dispatcher)
            and each.py_func.__module__.startswith("graphsoft")]
    compiled = sum(sum(each.stats.cache_misses.values()) for each in ours)
    print(json.dumps({"import": imported, "seconds": seconds, "cpu": cpu, "compiled": compiled}))
"""
PEERS = {  # on the wide points
    "pynndescent": "import pynndescent; pynndescent.NNDescent(data)",
    "fast_hdbscan": "import fast_hdbscan; fast_hdbscan.HDBSCAN().fit(data)",
    "evoc": "import evoc; evoc.EVoC().fit(data)",
}
PEERS_CALL = """if True:
    import json, time
    from startup import data_of
    data, _ = data_of("wide")
    began = time.perf_counter(), time.process_time()
    {call}
    print(json.dumps({{"seconds": time.perf_counter() - began[0], "cpu": time.process_time() - began[1]}}))
"""


def data_of(kind):
    """Make one of the `INPUTS`, and the arguments that a call needs for it."""
    import numpy as np

    rng = np.random.default_rng(0)
    if kind == "points":
        return rng.normal(size=(500, 10)), {}
    if kind == "wide":
        return rng.normal(size=(5000, 50)), {}
    if kind == "networkx":
        import networkx as nx

        return nx.powerlaw_cluster_graph(500, 4, 0.3, seed=0), {}
    import scipy.sparse as sp

    return sp.random_array((2000, 800), density=0.02, rng=rng, format="csr"), {"metric": "cosine"}


def first_call(code, cache, *arguments):
    """Run one process that keeps its compiled loops in the folder `cache`."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"the first call failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(times, kinds=tuple(INPUTS)):
    """Print a table of some of the `INPUTS`."""
    print("\n## start-up\n")
    print(f"{'':25}{'new machine':>32}{'loops kept':>32}")
    print(" " * 25 + 2 * f"{'seconds':>14}{'cpu':>8}{'compiled':>10}")
    imports = []
    for kind in kinds:
        new, kept = [], []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as cache:
                new.append(first_call(FIRST_CALL, cache, kind))
                kept.append(first_call(FIRST_CALL, cache, kind))
        imports += [row["import"] for row in new + kept]
        columns = ""
        for rows in (new, kept):
            seconds, cpu = (min(row[key] for row in rows) for key in ("seconds", "cpu"))
            columns += f"{seconds:14.2f}{cpu:8.2f}{max(row['compiled'] for row in rows):10}"
        print(f"{INPUTS[kind]:25}{columns}", flush=True)
    print(f"{'wanted below':25}{WANTED['new']:14.2f}{WANTED['kept']:32.2f}")
    print(f"\nimport graphsoft: {min(imports):.3f} s, wanted below {WANTED['import']} s")


def measure_peers():
    """Print how long the first call of other libraries takes beside ours, on the wide points."""
    columns = f"{'new machine':>14}{'cpu':>8}{'ours':>8}{'loops kept':>14}{'cpu':>8}"
    print(f"\n{INPUTS['wide'] + ', once':32}{columns}")
    ours = None
    for name in ("graphsoft", *PEERS):
        code = PEERS_CALL.format(call=PEERS[name]) if name in PEERS else FIRST_CALL
        with tempfile.TemporaryDirectory() as cache:
            new, kept = (first_call(code, cache, "wide") for _ in range(2))
        ours = ours or new["cpu"]
        columns = f"{new['seconds']:14.2f}{new['cpu']:8.2f}{new['cpu'] / ours:7.1f}x"
        print(f"{name:32}{columns}{kept['seconds']:14.2f}{kept['cpu']:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=3, help="number of processes of each kind")
    parser.add_argument("--peers", action="store_true", help="also time other libraries")
    options = parser.parse_args()
    measure(options.times)
    if options.peers:
        measure_peers()


if __name__ == "__main__":
    main()
