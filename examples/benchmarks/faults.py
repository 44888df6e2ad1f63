"""Kill and stop processes of runs in directories at random times, and compare what comes of them.

    python examples/benchmarks/faults.py [--runs 20] [--every 8] [--points 20000] [--partitions 8]
        [--kinds worker,client,stop] [--seed 0] [--directory DIR]

Every run has a directory, a process that calls ``graphsoft.hierarchy``, and two worker processes of it. At
random times, ``--every`` so many seconds on average, something happens to one of them, until the run is done:
a worker is killed; or the process with the call, after which the call is made again in the same directory; or
a worker is stopped, and goes on a minute later, never two at once. Times and kinds follow from the seed and
the number of the run. The script prints what happened in each run, the tasks that were done again in the last
process, and whether the digest of the result is that of a run in one process that nothing happened to. It
ends with an error if some run has not finished, or has another digest.

Only for Linux: killed workers are found in /proc.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
from processes import in_process, require_proc

LEVELS = [50, 8]
LIMIT = 1800  # seconds of a run
WORKERS, MEMORY = 2, "2GB"
STOPPED = 60  # seconds for which a worker is stopped
KINDS = ("worker", "client", "stop")


def write_points(path, points):
    """Write points around 50 centers, some of which are the same point."""
    rng = np.random.default_rng(0)
    centers = 3.0 * rng.normal(size=(LEVELS[0], 8))
    rows = centers[rng.integers(len(centers), size=points)] + rng.normal(size=(points, 8))
    rows[:: max(1, points // 20)] = rows[0]
    np.save(path, rows.astype(np.float32))


def call(points, directory, partitions, client=None):
    """Find the levels; returns a digest of all that was found."""
    import graphsoft

    h = graphsoft.hierarchy(points, LEVELS, directory=directory, client=client, partitions=partitions)
    digest = hashlib.sha256(h.to_json().encode())
    for level in h:
        digest.update(np.asarray(level.labels).tobytes())
        for rows, shares in level.memberships.blocks():
            for each in (rows, shares.indptr, shares.indices, shares.data):
                digest.update(np.ascontiguousarray(each).tobytes())
    return {"digest": digest.hexdigest()[:16], "notes": h.report.notes}


def call_with_workers(points, directory, partitions, pids):
    """Call with two worker processes, whose numbers are kept in a file."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, memory_limit=MEMORY, dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip

        def tell():
            while True:
                found = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                spare = Path(f"{pids}.tmp")
                spare.write_text(json.dumps(found))
                spare.replace(pids)
                time.sleep(0.2)

        threading.Thread(target=tell, daemon=True).start()
        return call(points, directory, partitions, client)


class Faults:
    """What happens to the processes of one run, at times drawn by chance."""

    def __init__(self, seed, every, kinds, pids):
        self.random = np.random.default_rng(seed)
        self.every, self.kinds, self.pids = every, kinds, pids
        self.happened = Counter()
        self.stopped = {}  # when each stopped worker goes on
        self.next = self.later()

    def later(self):
        """Draw the time of the next one."""
        return time.monotonic() + self.random.exponential(self.every)

    def look(self, process):
        """Do what is due."""
        for pid, until in [*self.stopped.items()]:
            if time.monotonic() > until:
                self.release(pid)
        if time.monotonic() < self.next:
            return
        self.next = self.later()
        kind = self.random.choice(self.kinds)
        if kind == "client":
            process.kill()
            self.happened[kind] += 1
            return
        workers = self.workers(process.pid)
        if not workers or (kind == "stop" and self.stopped):  # somebody has to work
            return
        pid = int(self.random.choice(workers))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if kind == "worker" else signal.SIGSTOP)
            self.happened[kind] += 1
            if kind == "stop":
                self.stopped[pid] = time.monotonic() + STOPPED

    def workers(self, client):
        """List the workers that are there now: children of the process with the call."""
        try:
            known = json.loads(self.pids.read_text())
        except (OSError, ValueError):
            return []
        return sorted(pid for pid in known if parent_of(pid) == client)

    def release(self, pid, kill=False):
        """Let a stopped worker go on; or end it, if what it worked for has ended."""
        del self.stopped[pid]
        if state_of(pid) == "T":
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if kill else signal.SIGCONT)

    def end(self):
        """Leave no stopped process behind."""
        for pid in [*self.stopped]:
            self.release(pid, kill=True)


def status_of(pid, field):
    """Read a line of what the kernel says of a process; an empty text if it is not there."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""
    return next((line.split()[1] for line in text.splitlines() if line.startswith(f"{field}:")), "")


def parent_of(pid):
    """Find the number of the parent of a process, or 0."""
    return int(status_of(pid, "PPid") or 0)


def state_of(pid):
    """Tell the state of a process by its letter; T is stopped."""
    return status_of(pid, "State")


def one_run(options, number, points, expected):
    """Do one run, whatever happens to it; returns the error if it did not come out as it should."""
    directory, pids = Path(options.directory, f"run-{number}"), Path(options.directory, f"pids-{number}")
    faults = Faults([options.seed, number], options.every, options.kinds, pids)
    command = [sys.executable, __file__, "--step", "workers", points, directory, pids]
    command += ["--partitions", str(options.partitions)]
    began, calls, found = time.monotonic(), 0, None
    try:
        while found is None:
            calls += 1
            pids.unlink(missing_ok=True)
            with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
                process = subprocess.Popen([*map(str, command)], stdout=out, stderr=err)
                try:
                    while process.poll() is None:
                        time.sleep(0.05)
                        faults.look(process)
                        if time.monotonic() - began > LIMIT:
                            return report(number, faults, began, calls, f"not done after {LIMIT} s")
                finally:
                    process.kill()
                    process.wait()
                    faults.end()
                if process.returncode == 0:
                    out.seek(0)
                    found = json.loads(out.read().splitlines()[-1])
                elif process.returncode != -signal.SIGKILL:
                    err.seek(0)
                    lines = err.read().strip().splitlines() or ["no message"]
                    return report(number, faults, began, calls, lines[-1])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    again = next(
        re.findall(r"(\d+) of them done again", note)[0] for note in found["notes"] if "again" in note
    )
    wrong = "" if found["digest"] == expected else "ANOTHER DIGEST"
    return report(number, faults, began, calls, wrong, found["digest"], again)


def report(number, faults, began, calls, wrong, digest="-", again="-"):
    """Print a line on a run."""
    counts = "".join(f"{faults.happened[kind]:>8}" for kind in KINDS)
    print(
        f"{number:>4}{time.monotonic() - began:>8.0f}{counts}{calls:>7}{again:>7}  {digest} {wrong}",
        flush=True,
    )
    return wrong, faults.happened


def kinds_of(text):
    """Read kinds of faults with commas between them."""
    kinds = text.split(",")
    if not set(kinds) <= set(KINDS):
        raise argparse.ArgumentTypeError(f"use some of {', '.join(KINDS)}")
    return kinds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--every", type=float, default=8.0, help="seconds from fault to fault, on average")
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--kinds", type=kinds_of, default=KINDS, help="worker, client, stop, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--directory", metavar="DIR", help="for files; a temporary one if not given")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    require_proc(parser)
    if options.step:
        name, *given = options.step
        found = (call if name == "alone" else call_with_workers)(*given[:2], options.partitions, *given[2:])
        print(json.dumps(found))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that nothing stopped is left behind
    with tempfile.TemporaryDirectory(dir=options.directory) as options.directory:
        points = Path(options.directory, "points.npy")
        write_points(points, options.points)
        alone = Path(options.directory, "alone")
        arguments = ("--step", "alone", points, alone, "--partitions", options.partitions)
        found = in_process(__file__, LIMIT, *arguments)
        if isinstance(found, str):
            sys.exit(found)
        print(f"undisturbed, in one process: {found['digest']}")
        print(
            f"{'run':>4}{'seconds':>8}"
            + "".join(f"{kind:>8}" for kind in KINDS)
            + f"{'calls':>7}{'again':>7}  digest"
        )
        done = [one_run(options, number, points, found["digest"]) for number in range(options.runs)]
    total = sum((happened for _, happened in done), Counter())
    wrong = sum(bool(each) for each, _ in done)
    faults = ", ".join(f"{total[kind]} {kind}" for kind in KINDS)
    print(f"{len(done) - wrong} of {len(done)} runs with the right digest; faults: {faults}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
