"""Which `n_neighbors`, `weights`, `symmetrize` and sizes of levels serve which kind of data.

    python examples/benchmarks/defaults.py --data DIR [--data DIR] [--sets a,b]

``DIR`` holds labeled sets as for ``quality.py``; sets of more than 12,000 points are left out. Each family of
sets has two tables:

- Graphs: the top level with other numbers of neighbors, other weights, and other ways to make the graph
  symmetric. Bare graphs have nothing to change there.
- Levels: how pure the finest level is by the classes, with n/100, n/50, n/20 and n/10 clusters for n points,
  and what its size changes at the top.

The top level has as many clusters as there are classes. NMI is normalized by the larger entropy. Scores are
means over the sets of a family, and differences are to the defaults. Intervals are of a paired bootstrap over
sets. A set counts as up or down from a difference of 0.005 on. Most families have few sets, so trust only
differences that many sets share. ``short_texts.py`` does the same for short texts as TF-IDF.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from quality import LabeledSet, ladder, read_sets
from tables import bootstrap, markdown

import graphsoft
from graphsoft import metrics

DEFAULT, ALONE = "default", "k alone"
SMALL = 0.005  # a smaller difference is none
MOST = 12_000  # points in a set
PARTS = (100, 50, 20, 10)  # one cluster for so many points

Scores = dict[str, float]
Results = dict[str, dict[str, Scores]]  # by set, then by setting
Labels = NDArray[Any]

# the beginnings of names: the family
FAMILIES = {
    ("fcps_", "graves_", "other_", "sipu_", "wut_", "zp_"): "points in 2 or 3 dimensions",
    ("uci_",): "measurements",
    ("usps", "digits", "pixels_"): "pixels",
    ("text_",): "dense embeddings of texts",
    ("ng4_",): "long texts as TF-IDF",
    ("sc_",): "single cells",
    ("graph_",): "bare graphs",
    ("",): "others",
}

# setting: options of `graphsoft.knn_graph`
GRAPHS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    **{f"{count} neighbors": {"n_neighbors": count} for count in (5, 7, 15, 20, 30, 50)},
    **{
        f"{weights}, {count}": {"weights": weights, "n_neighbors": count}
        for weights in ("relative", "gaussian", "connectivity", "jaccard")
        for count in (10, 15)
    },
    **{
        f"{symmetrize}, {count}": {"symmetrize": symmetrize, "n_neighbors": count}
        for symmetrize in ("mutual", "average")
        for count in (10, 15)
    },
}


def family_of(name: str) -> str:
    """Return the family of a set.

    >>> family_of("uci_iris"), family_of("mine")
    ('measurements', 'others')
    """
    return next(family for starts, family in FAMILIES.items() if name.startswith(starts))


def top_scores(classes: Labels, labels: Labels) -> Scores:
    """Score the labels of a top level."""
    return {"ARI": metrics.adjusted_rand(classes, labels), "NMI": metrics.nmi(classes, labels)}


def joined(item: LabeledSet, options: Mapping[str, Any]) -> graphsoft.Graph:
    """Make the graph of a set."""
    if item.features is None:
        return graphsoft.as_graph(item.adjacency, affinity="precomputed")
    cosine = sp.issparse(item.features) or item.name.startswith("text_")
    return graphsoft.knn_graph(item.features, metric="cosine" if cosine else "euclidean", **options)


def scores_of_graphs(item: LabeledSet) -> dict[str, Scores]:
    """Score the top level on every graph."""
    levels = ladder(len(item.classes), len(np.unique(item.classes)))
    return {
        setting: top_scores(item.classes, graphsoft.hierarchy(joined(item, options), levels)[-1].labels)
        for setting, options in GRAPHS.items()
    }


def scores_of_levels(item: LabeledSet) -> dict[str, Scores]:
    """Score the finest level for every size above the number of classes, and the top level over it."""
    n, k = len(item.classes), len(np.unique(item.classes))
    graph = joined(item, {})
    sizes = {ALONE: [k], **{f"n/{part}": [n // part, k] for part in PARTS if n // part > k}}
    found = {}
    for setting, levels in sizes.items():
        h = graphsoft.hierarchy(graph, levels)
        found[setting] = {
            "purity": metrics.purity(item.classes, h[0].labels),
            "ARI": metrics.adjusted_rand(item.classes, h[-1].labels),
        }
    return found


def compared(results: Results, scores: Sequence[str]) -> str:
    """Write the mean of every setting over all sets without NaN, and the difference to the defaults."""
    lines = []
    for setting in next(iter(results.values())):
        held = [found for found in results.values() if not np.isnan([*found[setting].values()]).any()]
        if not held:
            continue
        line = [setting, *(f"{np.mean([found[setting][score] for found in held]):.3f}" for score in scores)]
        for score in scores:
            changes = np.array([found[setting][score] - found[DEFAULT][score] for found in held])
            mean, low, high = bootstrap(changes)
            counts = f"{(changes >= SMALL).sum()} up, {(changes <= -SMALL).sum()} down"
            line += ["", ""] if setting == DEFAULT else [f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]", counts]
        lines.append(line)
    header = ["setting", *scores]
    for score in scores:
        header += [f"{score} less the default's", "sets"]
    return markdown(header, lines)


def table_of_levels(results: Results) -> str:
    """Write the mean purity of the finest level, and what its size changes at the top."""
    lines = []
    for setting in (ALONE, *(f"n/{part}" for part in PARTS)):
        held = [found for found in results.values() if setting in found]
        if held:
            pure, before = (np.mean([found[each]["purity"] for found in held]) for each in (setting, ALONE))
            mean, low, high = bootstrap([found[setting]["ARI"] - found[ALONE]["ARI"] for found in held])
            change = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
            lines.append([setting, f"{len(held)}", f"{pure:.3f}", f"{before:.3f}", change])
    header = ["finest level", "sets", "purity", "purity of the top, k alone", "ARI of the top less k alone"]
    return markdown(header, lines)


def by_family(results: Results) -> dict[str, Results]:
    """Sort sets into their families."""
    found: dict[str, Results] = {family: {} for family in FAMILIES.values()}
    for name, scores in results.items():
        found[family_of(name)][name] = scores
    return {family: held for family, held in found.items() if held}


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labeled sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    arguments = parser.parse_args()
    arguments.sets = [name for name in arguments.sets.split(",") if name]
    there = {"digits", *(path.stem for folder in arguments.data for path in folder.glob("*.npz"))}
    if missing := sorted({*arguments.sets} - there):
        parser.error(f"--sets: no folder has {', '.join(missing)}")
    return arguments


def main() -> None:
    arguments = read_arguments()
    warnings.simplefilter("ignore")
    graphs: Results = {}
    levels: Results = {}
    for item in read_sets(arguments.data, arguments.sets):
        if len(item.classes) <= MOST:
            start = time.perf_counter()
            if item.features is not None:
                graphs[item.name] = scores_of_graphs(item)
            levels[item.name] = scores_of_levels(item)
            print(f"{item.name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    texts = []
    for family, held in by_family(graphs).items():
        texts += [f"## Graphs: {family}, {len(held)} sets", compared(held, ["ARI", "NMI"])]
    for family, held in by_family(levels).items():
        texts += [f"## Levels: {family}, {len(held)} sets", table_of_levels(held)]
    print("\n\n".join(texts))


if __name__ == "__main__":
    main()
