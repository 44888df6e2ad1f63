"""Cluster a file of features that is larger than the memory.

    python examples/benchmarks/memory.py [--quick] [--output DIR]

Only for Linux. It writes a file of 1.5 GB, or of 0.8 GB with --quick.

The features are written to a file and opened as a ``numpy.memmap``, in a process that may not have as much
memory as the file is large. That process makes a hierarchy and predicts the clusters of new points. The
script prints the limit, the peak of the memory, and how well the clusters agree with those that the points
were drawn from.

The limit is ``RLIMIT_DATA``: all private memory that can be written to, whether it is used or not. ``ulimit
-v`` (``RLIMIT_AS``) would count the mapped file too, so that the file could not be opened under a limit below
its size. Pages of the file that are in memory belong to the system's cache, which gives them up where memory
is short. What graphsoft derives from the features, such as their copy in float32, is in a temporary file as
well. So ``TMPDIR`` should not be a file system in memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

CLUSTERS, INNER = 100, 12  # clusters, and the dimensions of each


def write(path: Path, points: int, features: int) -> np.ndarray:
    """Write points of clusters that have few dimensions each, block by block; return their clusters."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLUSTERS, features)).astype(np.float32)
    planes = rng.normal(size=(CLUSTERS, INNER, features)).astype(np.float32) / np.sqrt(INNER)
    truth = rng.integers(CLUSTERS, size=points)
    with path.open("wb") as file:
        for start in range(0, points, 2000):
            part = truth[start : start + 2000]
            inner = rng.normal(size=(len(part), INNER)).astype(np.float32)
            rows = centers[part]
            for cluster in np.unique(part):
                rows[part == cluster] += inner[part == cluster] @ planes[cluster]
            rows += 0.1 * rng.normal(size=rows.shape).astype(np.float32)
            rows.tofile(file)
    return truth


class Watch(threading.Thread):
    """Record the peak of this process's memory, in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = {"VmData": 0.0, "RssAnon": 0.0}

    def run(self) -> None:
        """Look every 20 ms."""
        while True:
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in self.peak:
                    self.peak[name] = max(self.peak[name], int(value.split()[0]) * 1024 / 1e6)
            time.sleep(0.02)


def clustered(path: str, points: int, features: int) -> dict:
    """Cluster under the limit that this process was started with."""
    import graphsoft

    X = np.memmap(path, dtype=np.float32, mode="r", shape=(points, features))
    new = X[::1000] + np.float32(1e-3)
    watch = Watch()
    watch.start()
    began = time.perf_counter()
    h = graphsoft.hierarchy(X, [4 * CLUSTERS, CLUSTERS])
    fitted = time.perf_counter()
    labels = h.predict(new)
    seconds = fitted - began, time.perf_counter() - fitted
    agree = float(np.mean(labels == h[-1].labels[::1000]))
    return {"seconds": seconds, "peak": watch.peak, "labels": h[-1].labels.tolist(), "agree": agree}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=250_000)
    parser.add_argument("--features", type=int, default=1536)
    parser.add_argument("--limit", type=float, help="MB for the process; by default 2/3 of the file")
    parser.add_argument("--output", default="out", help="folder for the file, which is deleted at the end")
    parser.add_argument("--quick", action="store_true", help="50,000 points with 4096 features")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    points, features = (50_000, 4096) if options.quick else (options.points, options.features)
    path = Path(options.output, "features.float32")
    if options.child:
        print(json.dumps(clustered(str(path), points, features)))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        truth = write(path, points, features)
        size = path.stat().st_size
        limit = int((options.limit or size / 1.5e6) * 1e6)
        print(f"{points} points with {features} features: a file of {size / 1e6:.0f} MB")
        print(f"memory that the process may have: {limit / 1e6:.0f} MB")
        command = [sys.executable, __file__, "--child", *sys.argv[1:]]
        limits = (resource.RLIMIT_DATA, (limit, limit))
        done = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, preexec_fn=lambda: resource.setrlimit(*limits)
        )
    finally:
        path.unlink(missing_ok=True)
    report(json.loads(done.stdout), truth, size)


def report(found: dict, truth: np.ndarray, size: int) -> None:
    from graphsoft.metrics import nmi

    peak = found["peak"]
    share = 100e6 * peak["VmData"] / size
    print(f"allocated at the peak:   {peak['VmData']:7.0f} MB, {share:.0f} % of the file")
    print(f"used at the peak:        {peak['RssAnon']:7.0f} MB")
    print(f"seconds to fit, predict: {found['seconds'][0]:7.1f}, {found['seconds'][1]:.1f}")
    print(f"clusters against those drawn: NMI {nmi(truth, np.array(found['labels'])):.3f}")
    print(f"points moved a little whose predicted cluster is the old one: {100 * found['agree']:.1f} %")


if __name__ == "__main__":
    main()
