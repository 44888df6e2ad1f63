"""Compare graphsoft with its peers on folders of labeled sets, every graph method on the same graphs.

    python examples/benchmarks/quality.py --data DIR [--data DIR] [--sets a,b] [--neighbors 7,10,15]
        [--family embeddings|sets|all] [--peers a,b | --no-peers | --methods] [--cache DIR] [--out table.md]

``DIR`` holds one ``.npz`` file for each set: ``X`` (dense features), or ``data, indices, indptr, shape``
(CSR: sparse features, or a graph if the name starts with ``graph_``), and ``y`` (the classes; files without
``y`` are left out). The labels serve for the scores and for the number of clusters k, which all methods are
given. Texts (``text_`` and sparse features) are compared by cosine. The digits of scikit-learn come along.
``text_debian_sections`` makes three rows, of 20, 40 and 80 clusters, each beside all classes.

Every set is clustered at each number of neighbors, bare graphs once, and scores are means over these. There
is a table for embeddings (texts and pixels) and one for the other sets, with means over the sets and
differences to each peer. ARI is the adjusted Rand index, NMI is normalized by the mean of both entropies, and
intervals are of a paired bootstrap over sets.

With ``--methods`` the peers are graphsoft's other methods, flat and with their defaults, in place of other
packages. Those that look at a graph get the same graph, the others get the features (and nothing on bare
graphs). ``--cache`` keeps scores of peers, which are computed anew where the graph is another.
``--scores`` writes all scores for ``tables.py``, which shows several runs beside each other.

The seconds are those of clustering a finished graph. Building the graph is the same for all and has its own
column. For scores from the cache they are those of the run that made them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tables import Row, Rows, Score, family_tables, markdown, save_rows, seconds_table

import graphsoft
from graphsoft import metrics
from graphsoft.datasets import read

OURS = "graphsoft"
EMBEDDINGS = ("ng4_paper", "usps", "digits")  # and what starts with text_ or pixels_
SEVERAL = {"text_debian_sections": (20, 40, 80)}  # numbers of clusters other than that of the classes
TARGET_NEIGHBORS = 10
FEATURES_ONLY = ("ward_free", "kmeans")
ALL_PAIRS, MAX_PAIRED = "ward_free", 30_000  # it holds the distances of all pairs of points


@dataclass(frozen=True)
class LabeledSet:
    """Features (array or sparse matrix) or an adjacency, and the class of every point."""

    name: str
    features: Any
    adjacency: Any
    classes: NDArray[Any]

    @property
    def family(self) -> str:
        """The table that the set belongs to."""
        embedded = self.name.startswith(("text_", "pixels_")) or self.name in EMBEDDINGS
        return "embeddings" if embedded else "sets"

    @property
    def rows(self) -> dict[str, int]:
        """The names of its rows, and the number of clusters in each."""
        if self.name in SEVERAL:
            return {f"{self.name}_{k}": k for k in SEVERAL[self.name]}
        return {self.name: len(np.unique(self.classes))}


@dataclass(frozen=True)
class Rival:
    """Something to compare with: how to run it (None if it cannot), and whether it looks at the graph."""

    labels: Callable[[LabeledSet, Any, int], Any]
    looks: Callable[[LabeledSet], bool]


@dataclass(frozen=True)
class Target:
    """The score that is wanted on one set; its NMI is normalized by the larger entropy."""

    name: str
    levels: tuple[int, ...]
    accuracy: float
    nmi: float | None


TARGETS = (
    Target("usps_1234", (100, 20, 10, 4), accuracy=0.985, nmi=0.94),
    Target("usps", (100, 20, 10), accuracy=0.955, nmi=None),
    Target("ng4_paper", (100, 20, 4), accuracy=0.89, nmi=None),
)

FAILED = Score(np.nan, np.nan, np.nan, np.nan)


class Cache:
    """Scores by a text that says what was run: in memory, and in a file for each set if there is a folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.known: dict[str, dict[str, Score]] = {}

    def of(self, name: str) -> dict[str, Score]:
        """Return the scores of one set."""
        return self.known.setdefault(name, self._stored(name))

    def keep(self, name: str, key: str, found: Score) -> None:
        """Add a score."""
        self.of(name)[key] = found
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            scores = self._stored(name) | self.of(name)  # another process may have added some
            content = json.dumps({each: asdict(score) for each, score in sorted(scores.items())}, indent=1)
            part = self.folder / f"{name}.json.{os.getpid()}"
            part.write_text(content + "\n", encoding="utf-8")
            part.replace(self.folder / f"{name}.json")

    def _stored(self, name: str) -> dict[str, Score]:
        path = None if self.folder is None else self.folder / f"{name}.json"
        if path is None or not path.exists():
            return {}
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {key: Score(**score) for key, score in stored.items()}


def ladder(n: int, k: int) -> list[int]:
    """Choose sizes of levels for n points in k classes: 100, max(2k, 20) and k, falling and below n.

    >>> ladder(4000, 10), ladder(60, 3), ladder(1000, 60), ladder(12, 5), ladder(5, 5)
    ([100, 20, 10], [20, 3], [120, 60], [10, 5], [5])
    """
    sizes = [k]
    for size in (max(2 * k, 20), 100):
        if sizes[0] < size < n:
            sizes.insert(0, size)
    if len(sizes) == 1 and 2 * k < n:
        sizes.insert(0, 2 * k)
    return sizes


def read_sets(folders: Sequence[Path], wanted: Sequence[str]) -> Iterator[LabeledSet]:
    """Read the files of folders in the order of their names, or only the wanted ones, and the digits."""
    paths = {path.stem: path for folder in reversed(folders) for path in folder.glob("*.npz")}
    for name in sorted(wanted or {*paths, "digits"}):
        if name not in paths:
            from sklearn.datasets import load_digits

            digits = load_digits()
            yield LabeledSet(name, digits.data, None, digits.target)
            continue
        with np.load(paths[name], allow_pickle=False) as file:
            if "y" not in file:
                continue
        found = read(paths[name], labels="y")
        data = found.data.astype(np.float32) if found.data.dtype == np.float16 else found.data
        features, adjacency = (None, data) if name.startswith("graph_") else (data, None)
        yield LabeledSet(name, features, adjacency, found.labels)


def build_graph(item: LabeledSet, neighbors: int) -> tuple[Any, float]:
    """Return a graph for `graphsoft.hierarchy`, and the seconds it took to build."""
    if item.features is None:
        return item.adjacency, 0.0
    start = time.perf_counter()
    cosine = sp.issparse(item.features) or item.name.startswith("text_")
    graph = graphsoft.knn_graph(item.features, neighbors, metric="cosine" if cosine else "euclidean")
    return graph, time.perf_counter() - start


def adjacency_of(graph: Any) -> Any:
    """Return the sparse matrix of a graph."""
    return graph if sp.issparse(graph) else graph.adjacency


def digest(data: Any, classes: NDArray[Any]) -> str:
    """Return a short text that is another one for other numbers."""
    arrays = [data.indptr, data.indices, data.data] if sp.issparse(data) else [np.asarray(data)]
    found = hashlib.sha256()
    for array in [*arrays, np.unique(classes, return_inverse=True)[1]]:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def score(classes: NDArray[Any], labels: Any, seconds: float, normalizer: Any = "mean") -> Score:
    """Score labels against the classes."""
    return Score(
        metrics.adjusted_rand(classes, labels),
        metrics.nmi(classes, labels, normalizer=normalizer),
        metrics.accuracy(classes, labels),
        seconds,
    )


def run_ours(graph: Any, classes: NDArray[Any], levels: Sequence[int], normalizer: Any = "mean") -> Score:
    """Score the top level of a hierarchy."""
    start = time.perf_counter()
    # a bare adjacency could be taken for sparse features otherwise
    affinity = "precomputed" if sp.issparse(graph) else "auto"
    hierarchy = graphsoft.hierarchy(graph, list(levels), affinity=affinity)
    return score(classes, hierarchy[-1].labels, time.perf_counter() - start, normalizer)


def peer_rivals(names: Sequence[str]) -> dict[str, Rival]:
    """Return tools of other packages."""
    import peers  # only here: they need the `bench` extra

    if unknown := sorted({*names} - {*peers.PEERS}):
        sys.exit(f"--peers: there is no {', '.join(unknown)}; there are {', '.join(peers.PEERS)}")

    def rival(name: str) -> Rival:
        def labels(item: LabeledSet, graph: Any, k: int) -> Any:
            if name == ALL_PAIRS and len(item.classes) > MAX_PAIRED:
                return None
            return peers.run(name, adjacency_of(graph), item.features, k)

        return Rival(labels, lambda item: name not in FEATURES_ONLY or item.features is None)

    return {name: rival(name) for name in names or peers.PEERS}


def method_rivals() -> dict[str, Rival]:
    """Return every method of graphsoft by itself, without a hierarchy."""

    def rival(name: str, method: Any) -> Rival:
        def looks(item: LabeledSet) -> bool:
            return method.reads(len(item.classes), False) == {"graph"}

        def labels(item: LabeledSet, graph: Any, k: int) -> Any:
            checked = graphsoft.as_graph(graph, affinity="precomputed") if sp.issparse(graph) else graph
            given = checked if looks(item) else item.features
            return None if given is None else graphsoft.cluster(given, k, method=name).labels

        return Rival(labels, looks)

    return {name: rival(name, method) for name, method in graphsoft.methods.METHODS.items()}


def run_rival(name: str, rival: Rival, item: LabeledSet, graph: Any, k: int, cache: Cache, key: str) -> Score:
    """Score a rival, or take its score from the cache."""
    if key in cache.of(item.name):
        return cache.of(item.name)[key]
    start = time.perf_counter()
    try:
        labels = rival.labels(item, graph, k)
    except Exception as error:  # one failure must not lose the whole table
        print(f"{item.name}: {name} failed: {error}", file=sys.stderr)
        return FAILED
    if labels is None:
        return FAILED
    found = score(item.classes, labels, time.perf_counter() - start)
    cache.keep(item.name, key, found)
    return found


def run_set(
    item: LabeledSet, neighbors: Sequence[int], rivals: dict[str, Rival], cache: Cache
) -> tuple[Rows, list[tuple[Target, Score]]]:
    """Run everything on one set; return its rows, and how far targets for it are met."""
    rows = {name: Row(item.family, len(item.classes), k) for name, k in item.rows.items()}
    reached = []
    of_features = None if item.features is None else digest(item.features, item.classes)
    for count in [0] if item.features is None else neighbors:
        graph, seconds = build_graph(item, count)
        of_graph = digest(adjacency_of(graph), item.classes)
        for row in rows.values():
            row.building.append(seconds)
            found = {OURS: run_ours(graph, item.classes, ladder(row.n, row.k))}
            for name, rival in rivals.items():
                looks = rival.looks(item)
                sees = f"{count} neighbors {of_graph}" if looks else f"features {of_features}"
                key = f"{name}, {row.k} clusters, {sees}"
                found[name] = run_rival(name, rival, item, graph, row.k, cache, key)
            for name, value in found.items():
                row.scores.setdefault(name, []).append(value)
        if count == TARGET_NEIGHBORS:
            reached += [
                (target, run_ours(graph, item.classes, target.levels, normalizer="max"))
                for target in TARGETS
                if target.name == item.name
            ]
    return rows, reached


def warm_up(rivals: dict[str, Rival]) -> None:
    """Import and compile everything before anything is timed."""
    points = np.random.default_rng(0).normal(size=(60, 2))
    item = LabeledSet("warm-up", np.abs(points), None, np.arange(60) % 3)
    run_set(item, [TARGET_NEIGHBORS], rivals, Cache(None))


def targets_table(rows: Sequence[tuple[Target, Score]]) -> str:
    """Write the targets, and whether they are met."""
    lines = []
    for target, reached in rows:
        wanted = f"{target.accuracy}" + (f", NMI {target.nmi}" if target.nmi else "")
        met = reached.accuracy >= target.accuracy and reached.nmi >= (target.nmi or 0.0)
        got = f"{reached.accuracy:.4f}, NMI {reached.nmi:.4f}"
        levels = ", ".join(map(str, target.levels))
        lines.append(
            [target.name, f"[{levels}]", wanted, got, "yes" if met else "NO", f"{reached.seconds:.2f}"]
        )
    header = ["set", "levels", "accuracy wanted", "reached", "met", "seconds"]
    heading = f"## Targets: {TARGET_NEIGHBORS} neighbors, NMI by the larger entropy"
    return "\n\n".join([heading, markdown(header, lines)])


def compare(
    sets: Iterator[LabeledSet], neighbors: Sequence[int], rivals: dict[str, Rival], cache: Cache
) -> tuple[Rows, list[tuple[Target, Score]]]:
    """Run everything on all sets, and say how each went."""
    rows: Rows = {}
    reached: list[tuple[Target, Score]] = []
    for item in sets:
        added, met = run_set(item, neighbors, rivals, cache)
        rows |= added
        reached += met
        for name, row in added.items():
            told = ", ".join(
                f"{method} {row.mean(method, 'ari'):.3f} / {row.mean(method, 'nmi'):.3f}"
                for method in row.scores
            )
            print(f"{name}: n {row.n}, k {row.k}, {told}", file=sys.stderr, flush=True)
    return rows, reached


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labeled sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    parser.add_argument("--neighbors", default="7,10,15", help="numbers of neighbors, comma-separated")
    parser.add_argument("--family", choices=["embeddings", "sets", "all"], default="all")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--peers", default="", help="names, comma-separated; all by default")
    instead.add_argument("--no-peers", action="store_true", help="run graphsoft alone")
    instead.add_argument(
        "--methods", action="store_true", help="run graphsoft's other methods in place of the peers"
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps the scores of peers")
    parser.add_argument("--scores", type=Path, help="write all scores here, for tables.py")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    arguments = parser.parse_args()
    for folder in arguments.data:
        if not folder.is_dir():
            parser.error(f"--data: there is no folder {folder}")
        if not any(folder.glob("*.npz")):
            parser.error(f"--data: {folder} holds no .npz files")
    for name in ("sets", "neighbors", "peers"):
        setattr(arguments, name, [each for each in getattr(arguments, name).split(",") if each])
    there = {"digits", *(path.stem for folder in arguments.data for path in folder.glob("*.npz"))}
    if missing := sorted({*arguments.sets} - there):
        parser.error(f"--sets: no folder has {', '.join(missing)}")
    if not all(each.isdecimal() and int(each) > 0 for each in arguments.neighbors) or not arguments.neighbors:
        parser.error("--neighbors: whole numbers above 0, as in 7,10,15")
    return arguments


def main() -> None:
    arguments = read_arguments()
    neighbors = [int(each) for each in arguments.neighbors]
    rivals: dict[str, Rival] = {}
    if arguments.methods:
        rivals = method_rivals()
    elif not arguments.no_peers:
        rivals = peer_rivals(arguments.peers)
    warm_up(rivals)
    sets = (
        item for item in read_sets(arguments.data, arguments.sets) if arguments.family in ("all", item.family)
    )
    # graphsoft's own methods change with its code, so their scores are not kept
    cache = Cache(None if arguments.methods else arguments.cache)
    rows, reached = compare(sets, neighbors, rivals, cache)
    if not rows:
        sys.exit("no such sets")
    if arguments.scores:
        save_rows(arguments.scores, rows, neighbors)
    tables = [*family_tables(rows, neighbors), seconds_table(rows)]
    text = "\n\n".join(tables + ([targets_table(reached)] if reached else [])) + "\n"
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
