"""Send Ctrl-C at many moments of every phase: see if it comes out, how soon, and what is left.

    python examples/benchmarks/interrupts.py --moments 50 [--phases save predict] [--limit 900]

Each phase runs in a process of its own. Its moments are spread evenly over the time that the phase takes when
everything is compiled. Times are of the processor, so that other work on the machine does not count; where
several threads work, the time by the clock is shorter. Lost means that the call went on to its end, and wrong
that another error came out.
"""

import argparse
import contextlib
import hashlib
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from processes import in_process

import graphsoft
from graphsoft.methods import METHODS
from graphsoft.neighbors import nearest

MODEL = "model"


def clouds(points, features=10):
    rng = np.random.default_rng(0)
    return np.abs(rng.normal(size=(points, features)) + 4 * rng.integers(0, 4, (points, 1)))


def words(points):
    return sp.random_array((points, 400), density=0.05, random_state=np.random.default_rng(0), format="csr")


def fitted(points=6000):
    return graphsoft.hierarchy(clouds(points), [100, 10])


def by_pynndescent(X, **options):
    """Find neighbors as if there were too many points for an exact search."""
    nearest.PAIR_WORK = nearest.WORD_WORK = 0
    return graphsoft.knn_graph(X, **options).adjacency.data


def shares(*levels):
    return [level.memberships.data for level in levels]


def saved(h, folder):
    h.save(folder / MODEL)
    return np.frombuffer((folder / MODEL).read_bytes()[:200], dtype=np.uint8)


def explored(h, folder):
    h.explore(folder / "page.html")
    return np.frombuffer((folder / "page.html").read_bytes(), dtype=np.uint8)


def own_search(X):
    from sklearn.neighbors import KNeighborsTransformer

    finder = KNeighborsTransformer(mode="distance", n_neighbors=15)
    return graphsoft.knn_graph(X, neighbors=finder).adjacency.data


def phases():
    """List what is interrupted: how it is prepared, and what is called then."""
    few = clouds(1200, 6)
    found = {
        "points": (lambda: clouds(20_000), lambda X, _: shares(*graphsoft.hierarchy(X, [300, 20]))),
        "graph": (
            lambda: nx.to_scipy_sparse_array(nx.grid_2d_graph(120, 120)),
            lambda W, _: shares(*graphsoft.hierarchy(W, [300, 20])),
        ),
        "random trees": (lambda: clouds(25_000, 40), lambda X, _: graphsoft.knn_graph(X).adjacency.data),
        "pynndescent": (lambda: clouds(6000, 12), lambda X, _: by_pynndescent(X, metric="manhattan")),
        "pynndescent, sparse": (lambda: words(4000), lambda X, _: by_pynndescent(X, metric="cosine")),
        "own search": (lambda: clouds(4000, 12), lambda X, _: own_search(X)),
        "levels": (lambda: clouds(3000), lambda X, _: graphsoft.suggest_levels(X).counts),
        "predict": (fitted, lambda h, _: h.predict_proba(clouds(3000) + 0.1).data),
        "update": (fitted, lambda h, _: shares(*h.partial_update(clouds(600) + 0.1))),
        "layout": (fitted, lambda h, _: h.layout()),
        "explorer": (fitted, explored),
        "save": (fitted, saved),
        "load": (fitted, lambda h, folder: saved(h, folder) if not (folder / MODEL).exists() else
                 shares(*graphsoft.load(folder / MODEL))),
        "stability": (lambda: fitted(1500), lambda h, _: graphsoft.stability(h, 2).clusters),
        "propagate": (fitted, lambda h, _: graphsoft.propagate(h, {0: "a", 1: "b"}).probabilities),
        "describe": (fitted, lambda h, _: h.describe(X=clouds(6000)).sizes),
    }  # fmt: skip
    for name in METHODS:
        found[name] = (lambda: few, lambda X, _, name=name: graphsoft.cluster(X, 5, method=name).memberships)
    return found


def digest(result):
    """Hash whatever arrays a call returned."""
    parts = result if isinstance(result, list) else [result]
    arrays = [part.data if sp.issparse(part) else part for part in parts]
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()


def interrupted(call, seconds):
    """Interrupt a call after so many seconds of the processor; say how it ended, and how much later."""
    came = []

    def ctrl_c(number, frame):
        came.append(number)
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGPROF, ctrl_c)
    ended, began = "finished", time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-6))
        call()
        signal.setitimer(signal.ITIMER_PROF, 0)
        ended = "lost" if came else "finished"
    except KeyboardInterrupt:
        ended = "interrupted"
    except BaseException as error:  # whatever comes out in its place
        ended = f"{type(error).__name__}: {str(error)[:80]}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    return ended, time.process_time() - began - seconds


def one(name, moments):
    """Interrupt one phase at so many moments."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs in the background
    prepare, call = phases()[name]
    with tempfile.TemporaryDirectory() as folder:
        given = prepare()

        def run():
            return call(given, Path(folder))

        run()
        here = digest(run())  # everything is compiled
        began = time.process_time()
        run()
        took = time.process_time() - began
        ends, late = [], []
        for moment in np.linspace(0, took, moments, endpoint=False):
            with contextlib.suppress(KeyboardInterrupt):
                ended, later = interrupted(run, moment)
            ends.append(ended)
            if ended == "interrupted":
                late.append(later)
        return {"took": took, "ends": ends, "late": late, "same": digest(run()) == here}


def row(name, found):
    if isinstance(found, str):
        return f"| {name} | {found} |"
    ends, late = found["ends"], found["late"] or [0.0]
    wrong = [end for end in ends if end not in ("interrupted", "finished", "lost")]
    figures = [
        name, f"{found['took']:.2f}", len(ends), ends.count("interrupted"), ends.count("finished"),
        ends.count("lost"), len(wrong), f"{np.median(late):.3f}", f"{np.percentile(late, 99):.3f}",
        f"{max(late):.3f}", "yes" if found["same"] else "NO", "; ".join(sorted(set(wrong))),
    ]  # fmt: skip
    return "| " + " | ".join(map(str, figures)) + " |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--phases", nargs="+", default=list(phases()))
    parser.add_argument("--limit", type=float, default=1800, help="seconds for each phase")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.moments)))
        return
    print("| phase | s | moments | came out | ended before | lost | wrong | median | p99 | max | same | |")
    print(12 * "|---" + "|")
    for name in given.phases:
        done = in_process(__file__, given.limit, "--one", name, "--moments", given.moments)
        print(row(name, done), flush=True)


if __name__ == "__main__":
    sys.exit(main())
