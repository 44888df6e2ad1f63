"""Do soft memberships mean what they say? Score them on held-out labels, beside those of other methods.

    python examples/benchmarks/calibration.py --data DIR [--data DIR ...] [--sets a,b] [--neighbors 10]
        [--max-points 20000] [--no-peers] [--plot reliability.png [--rule likeliest]]

``DIR`` holds one ``.npz`` file for each set: ``X``, or ``data, indices, indptr, shape`` (CSR), and ``y`` (the
classes). Files without ``y`` and bare graphs, named ``graph_*``, are skipped.

Clusters are found without labels. What they mean, ``p(class | cluster)``, is learned on half of the points.
The other half is scored by ``p(class | point) = sum over clusters of p(class | cluster) p(cluster | point)``,
and then the halves change places. Scores are means over five ways to halve a set:

- Brier: the sum of squares of ``p(class | point)`` less the truth. Like the log loss it rewards clusters that
  are right, and probabilities that say how surely.
- ECE: expected calibration error. Points are sorted into 15 bins of equal size by their largest probability;
  the error of a bin is how far its mean is from the share of points whose likeliest class is right.
  ``by class`` is the same for each class. ``by chance`` is the ECE of probabilities that are exactly right,
  as bins are finite. Hard labels and one cluster for all have a low ECE by construction: compare Brier.
- AUC: the chance that a point whose class is right is surer of it than one whose class is wrong.

``p(class | cluster)`` is learned by three rules. Counted softly it blurs: memberships that are right in every
point come out too unsure. The likeliest one, given the labels of the half, does not. By majority each cluster
stands for one class. This takes memberships at their word, so hard labels have no advantage.

The last tables tell whether graphsoft's memberships are too sharp or too soft: scores after averaging them
with those of the neighbors (a step of a lazy walk), after raising them to a power, and after both.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import graphsoft
from graphsoft.datasets import read

Array = NDArray[Any]

OURS, HARD = "graphsoft", "graphsoft, hard"
DIRECTIONS = 20  # of features, for methods that do not look at the graph
CLUSTERS = {"text_debian_sections": 40}  # where it is not the number of classes
BINS, SPLITS, MAP_STEPS, DRAWS = 15, 5, 50, 10_000
PSEUDO_POINTS = 0.2  # added to each cluster, in the classes' shares of the training half
TINY = 1e-12
POWERS = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
OWN_SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)  # of the point itself in an average with its neighbors
CHANGES = {f"{own:g} {power:g}": (own, power) for own in OWN_SHARES for power in POWERS}
RULES = ("counted softly", "likeliest", "majority")  # how p(class | cluster) is learned
SCORES = ("Brier", "ECE", "by class", "by chance", "log loss", "accuracy", "AUC")
PANELS = (OURS, "mixture, full", "spectral mixture", "hdbscan 15", "fuzzy c-means 2", "Leiden, hard")


@dataclass(frozen=True)
class Case:
    """One set: its graph, its features in few dimensions, the class of every point, and how many clusters."""

    name: str
    graph: Any
    points: Array
    classes: Array
    k: int
    dimensions: int


Method = Callable[[Case], Array]  # shares of clusters, of shape (n, clusters); rows sum to one
Scored = dict[str, dict[str, Array]]  # by set and method: the scores


def read_cases(folders: Sequence[Path], wanted: Sequence[str], neighbors: int, most: int) -> Iterator[Case]:
    """Read the sets of all folders, and build their graphs."""
    for path in sorted(path for folder in folders for path in folder.glob("*.npz")):
        if path.stem.startswith("graph_") or (wanted and path.stem not in wanted):
            continue
        with np.load(path, allow_pickle=False) as file:
            if "y" not in file or not 2 * neighbors < len(file["y"]) <= most:
                continue
        found = read(path, labels="y")
        classes = np.unique(found.labels, return_inverse=True)[1]
        cosine = sp.issparse(found.data) or path.stem.startswith("text_")
        graph = graphsoft.knn_graph(found.data, neighbors, metric="cosine" if cosine else "euclidean")
        k = CLUSTERS.get(path.stem, int(classes.max()) + 1)
        yield Case(path.stem, graph, reduced(found.data, cosine), classes, k, found.data.shape[1])


def reduced(features: Any, cosine: bool) -> Array:
    """Return the features in at most 20 principal directions; under cosine, rows first get length 1."""
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.preprocessing import normalize

    rows = normalize(features) if cosine else features
    if sp.issparse(rows):
        return TruncatedSVD(DIRECTIONS, random_state=0).fit_transform(sp.csr_matrix(rows))
    rows = np.asarray(rows, dtype=np.float64)
    return rows if rows.shape[1] <= DIRECTIONS else PCA(DIRECTIONS, random_state=0).fit_transform(rows)


def ours(case: Case) -> Array:
    """Return the memberships of the top of at most three levels: 100, max(2k, 20) and k clusters."""
    sizes = [
        size for size in sorted({100, max(2 * case.k, 20)}, reverse=True) if case.k < size < len(case.classes)
    ]
    return graphsoft.hierarchy(case.graph, [*sizes, case.k])[-1].memberships.toarray()


def leiden(case: Case) -> Array:
    """Return the labels of Leiden, searched to k clusters."""
    import peers  # only here: they need the `bench` extra

    labels = np.unique(peers.run("leiden", case.graph.adjacency, case.points, case.k), return_inverse=True)[1]
    return np.eye(labels.max() + 1)[labels]


def mixture(points: Array, k: int, covariance: str) -> Array:
    """Fit a mixture of Gaussians, the best of three starts."""
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(k, covariance_type=covariance, n_init=3, max_iter=300, random_state=0)
    return model.fit(points).predict_proba(points)


def features_mixture(case: Case, covariance: str) -> Array:
    """Fit a mixture to the features: given features with variance 1, principal directions as they are."""
    scale = case.points.std(axis=0)
    scale = scale.max() if case.dimensions > DIRECTIONS else np.where(scale > 0, scale, 1.0)
    return mixture(case.points / scale, case.k, covariance)


def spectral_mixture(case: Case) -> Array:
    """Fit a mixture to the k leading eigenvectors of the normalized graph, its rows of length 1."""
    from graphsoft.methods.parts.eigenvectors import leading_eigenvectors

    vectors = leading_eigenvectors(case.graph, case.k, np.random.default_rng(0)).vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return mixture(vectors / np.where(lengths > 0, lengths, 1.0), case.k, "full")


def fuzzy_means(case: Case, exponent: float) -> Array:
    """Run fuzzy c-means from the centers of k-means."""
    from sklearn.cluster import KMeans

    points, shares = case.points, np.zeros((len(case.points), case.k))
    centers = KMeans(case.k, n_init=3, random_state=0).fit(points).cluster_centers_
    for _ in range(300):
        squares = (points**2).sum(axis=1, keepdims=True) - 2 * points @ centers.T + (centers**2).sum(axis=1)
        logs = -np.log(np.maximum(squares, TINY)) / (exponent - 1)
        before, shares = shares, np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        if np.abs(shares - before).max() < 1e-5:
            break
        weights = shares**exponent
        centers = weights.T @ points / np.maximum(weights.sum(axis=0), TINY)[:, None]
    return shares


def density_vectors(case: Case, size: int) -> Array:
    """Return hdbscan's membership vectors, rows normalized. Points without any share get another column."""
    import hdbscan

    model = hdbscan.HDBSCAN(min_cluster_size=size, prediction_data=True).fit(case.points)
    if model.labels_.max() < 0:
        return np.ones((len(case.points), 1))
    vectors = np.nan_to_num(hdbscan.all_points_membership_vectors(model)).reshape(len(case.points), -1)
    vectors = np.column_stack([vectors, vectors.sum(axis=1) <= 0])
    return vectors / vectors.sum(axis=1, keepdims=True)


PEERS: dict[str, Method] = {
    **{f"mixture, {kind}": partial(features_mixture, covariance=kind) for kind in ("diag", "full")},
    "spectral mixture": spectral_mixture,
    **{f"hdbscan {size}": partial(density_vectors, size=size) for size in (5, 15, 50)},  # its default is 5
    **{f"fuzzy c-means {power:g}": partial(fuzzy_means, exponent=power) for power in (2.0, 1.3)},
    "Leiden, hard": leiden,
}


def halves(classes: Array) -> Iterator[Array]:
    """Draw random halves, with half of every class, as masks."""
    random = np.random.default_rng(0)
    for _ in range(SPLITS):
        half = np.empty(len(classes), dtype=bool)
        half[np.lexsort((random.random(len(classes)), classes))] = np.arange(len(classes)) % 2 == 0
        yield half


def class_table(shares: Array, classes: Array, count: int, rule: str) -> Array:
    """Learn p(class | cluster) from labeled points by one of the rules."""
    truth = sp.csr_array((np.ones(len(classes)), (np.arange(len(classes)), classes)), (len(classes), count))
    usual = np.bincount(classes, minlength=count) + 1.0
    added = PSEUDO_POINTS * usual / usual.sum()
    table = shares.T @ truth + added
    table /= table.sum(axis=1, keepdims=True)
    if rule == "majority":
        return np.eye(count)[table.argmax(axis=1)]
    for _ in range(MAP_STEPS if rule == "likeliest" else 0):
        chances = np.einsum("ic,ic->i", shares, table.T[classes])
        table = table * (shares.T @ (truth / np.maximum(chances, TINY)[:, None])) + added
        table /= table.sum(axis=1, keepdims=True)
    return table


def held_out(shares: Array, classes: Array, half: Array, rule: str) -> Array:
    """Return p(class | point) of all points, each from what the clusters mean in the other half."""
    count = int(classes.max()) + 1
    found = np.empty((len(classes), count))
    for train in (half, ~half):
        found[~train] = shares[~train] @ class_table(shares[train], classes[train], count, rule)
    return found / found.sum(axis=1, keepdims=True)


def calibration_error(said: Array, right: Array) -> float:
    """Compute the ECE over bins of equal size; what is said alike is in one bin."""
    edges = np.quantile(said, np.arange(1, BINS) / BINS)
    bins = np.searchsorted(edges, said, side="right")
    return float(np.abs(np.bincount(bins, said - right)).sum() / len(said))


def scores_of(found: Array, classes: Array, random: np.random.Generator) -> list[float]:
    """Compute all scores of the probabilities of classes, in the order of SCORES."""
    from sklearn.metrics import roc_auc_score

    truth = np.eye(found.shape[1])[classes]
    said, right = found.max(axis=1), found.argmax(axis=1) == classes
    by_class = [calibration_error(*pair) for pair in zip(found.T, truth.T, strict=True)]
    by_chance = [calibration_error(said, random.random(len(said)) < said) for _ in range(10)]
    log_loss = -np.log(np.maximum((found * truth).sum(axis=1), 1e-6)).mean()
    brier = ((found - truth) ** 2).sum(axis=1).mean()
    errors = [calibration_error(said, right), np.mean(by_class), np.mean(by_chance)]
    auc = roc_auc_score(right, said) if 0 < right.sum() < len(right) else np.nan
    return [brier, *errors, log_loss, right.mean(), auc]


def score(shares: Array, classes: Array, rule: str) -> Array:
    """Score shares of clusters: means over the ways to halve the set."""
    if np.isnan(shares).any():
        return np.full(len(SCORES), np.nan)
    random = np.random.default_rng(0)
    found = [held_out(shares, classes, half, rule) for half in halves(classes)]
    return np.mean([scores_of(each, classes, random) for each in found], axis=0)


def changed(shares: Array, graph: Any, own: float, power: float) -> Array:
    """Average the shares with those of the neighbors, then raise them to a power."""
    degrees = graph.degrees[:, None]
    walked = np.where(degrees > 0, graph.adjacency @ shares / np.maximum(degrees, TINY), shares)
    found = (own * shares + (1 - own) * walked) ** power
    return found / found.sum(axis=1, keepdims=True)


def shares_by_method(case: Case, with_peers: bool) -> dict[str, Array]:
    """Run all methods on one set; those that fail give NaN."""
    shares = ours(case)
    found = {OURS: shares, HARD: np.eye(shares.shape[1])[shares.argmax(axis=1)]}
    found["one cluster"] = np.ones((len(shares), 1))
    for name, method in PEERS.items() if with_peers else ():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = method(case)
        except Exception as error:  # one failure must not lose the whole table
            found[name] = np.full((len(shares), 1), np.nan)
            print(f"{case.name}: {name} failed: {error}", file=sys.stderr)
    return found | {name: changed(shares, case.graph, *how) for name, how in CHANGES.items()}


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table with columns of equal width."""
    cells = [header, ["---"] * len(header), *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [" | ".join(map(str.ljust, row, widths)) for row in cells]
    return "\n".join([f"## {title}", "", *(f"| {line} |" for line in lines)])


def difference(each: Array) -> str:
    """Write the mean of differences, and its 95 % interval by a bootstrap over the sets."""
    each = each[~np.isnan(each)]
    draws = np.random.default_rng(0).integers(len(each), size=(DRAWS, len(each)))
    low, high = np.quantile(each[draws].mean(axis=1), [0.025, 0.975])
    return f"{each.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def mean_table(title: str, scored: Scored) -> str:
    """Write means over the sets, and how much graphsoft's scores are above those of each other method."""
    rows = []
    for name in [name for name in next(iter(scored.values())) if name not in CHANGES]:
        values = np.array([row[name] for row in scored.values()])
        apart = np.array([row[OURS] for row in scored.values()]) - values
        written = [difference(apart[:, column]) if name != OURS else "" for column in (0, 1)]
        rows.append([name, *(f"{value:.4f}" for value in np.nanmean(values, axis=0)), *written])
    return table(title, ["method", *SCORES, "Brier, graphsoft less this", "ECE, graphsoft less this"], rows)


def set_table(title: str, scored: Scored) -> str:
    """Write two scores of all methods on all sets."""
    methods = [name for name in next(iter(scored.values())) if name not in CHANGES]
    return pair_table(title, methods, {name: [row[m] for m in methods] for name, row in scored.items()})


def changes_table(title: str, scored: Scored) -> str:
    """Write means for every power and every share of the point's own memberships."""
    mean = {name: np.mean([row[name] for row in scored.values()], axis=0) for name in CHANGES}
    lines = {f"own share {own:g}": [mean[f"{own:g} {power:g}"] for power in POWERS] for own in OWN_SHARES}
    return pair_table(title, [f"power {power:g}" for power in POWERS], lines)


def pair_table(title: str, header: Sequence[str], lines: dict[str, list[Array]]) -> str:
    """Write the first two of the scores in each cell."""
    rows = [[name, *(f"{cell[0]:.4f} {cell[1]:.4f}" for cell in row)] for name, row in lines.items()]
    return table(title, ["Brier ECE", *header], rows)


def draw(dots: dict[str, Array], path: Path) -> None:
    """Draw a reliability diagram for each method: how often points are right, by how sure they are."""
    from matplotlib.figure import Figure

    columns = min(3, len(dots))
    rows = -(-len(dots) // columns)
    figure = Figure(figsize=(0.8 + 2.6 * columns, 0.7 + 2.6 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(dots) :]:
        axes.set_visible(False)
    for (name, (sure, share)), axes in zip(dots.items(), grid.flat, strict=False):
        color, weight = ("#3b6ea5", "bold") if name == OURS else ("0.35", "normal")
        axes.plot([0, 1], [0, 1], "--", color="0.6", linewidth=1)
        axes.vlines(sure, sure, share, color=color, linewidth=1, alpha=0.5)
        axes.plot(sure, share, "o", color=color, markersize=5.5)
        axes.set_title(name, fontsize=11, fontweight=weight)
        axes.text(0.97, 0.04, f"error {np.abs(sure - share).mean():.3f}", ha="right", fontsize=10)
        axes.set(xlim=(0, 1.03), ylim=(0, 1.03), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("how sure: probability of the likeliest class", fontsize=11)
    figure.supylabel("how often that class is right", fontsize=11)
    figure.savefig(path, dpi=150, facecolor="white")


def pooled(pairs: Sequence[tuple[Array, Array]]) -> Array:
    """Sort the points of all sets into 15 bins, every set with the same weight; return the means of both."""
    said, right = np.concatenate([np.array(pair, dtype=float) for pair in pairs], axis=1)
    weights = np.concatenate([np.full(len(pair[0]), 1 / len(pair[0])) for pair in pairs])
    order = np.argsort(said, kind="stable")
    bins = np.minimum(np.cumsum(weights[order]) / len(pairs) * BINS, BINS - 1).astype(int)
    sums = [np.bincount(bins, (weights * each)[order]) for each in (said, right, np.ones(len(said)))]
    return np.array(sums[:2]) / sums[2]


def compare(cases: Iterator[Case], with_peers: bool, plot: Path | None, rule_drawn: str) -> str:
    """Run everything and return the tables as one text."""
    scored: dict[str, Scored] = {rule: {} for rule in RULES}
    pairs: dict[str, list[tuple[Array, Array]]] = {name: [] for name in PANELS}
    few: set[str] = set()  # sets of at most 3 features
    for case in cases:
        found = shares_by_method(case, with_peers)
        for rule in RULES:
            scored[rule][case.name] = {name: score(each, case.classes, rule) for name, each in found.items()}
        for name in (name for name in PANELS if name in found and not np.isnan(found[name]).any()):
            chances = held_out(found[name], case.classes, next(halves(case.classes)), rule_drawn)
            pairs[name].append((chances.max(axis=1), chances.argmax(axis=1) == case.classes))
        few |= {case.name} if case.dimensions <= 3 else set()
        values = scored[RULES[0]][case.name][OURS]
        print(f"{case.name}: k {case.k}, Brier {values[0]:.3f}, ECE {values[1]:.3f}", file=sys.stderr)
    if plot:
        draw({name: pooled(each) for name, each in pairs.items() if each}, plot)
    first, last = [], []
    for rule, rows in scored.items():
        groups = {"all": set(rows), "up to 3 features": few, "more features": set(rows) - few}
        for group, names in ((group, names) for group, names in groups.items() if names):
            part = {name: rows[name] for name in rows if name in names}
            first.append(mean_table(f"{rule}, {group}: {len(part)} sets", part))
            last.append(changes_table(f"Memberships changed, {rule}, {group}: {len(part)} sets", part))
    by_set = [set_table(f"By set, {rule}", rows) for rule, rows in scored.items() if rows]
    return "\n\n".join([*first, *by_set, *last]) or "no labeled sets of features were found"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder of labeled sets")
    parser.add_argument("--sets", default="", help="names, comma-separated; all by default")
    parser.add_argument("--neighbors", type=int, default=10, help="of every point in the graph")
    parser.add_argument("--max-points", type=int, default=20_000, help="larger sets are skipped")
    parser.add_argument("--no-peers", action="store_true", help="run graphsoft only")
    parser.add_argument("--plot", type=Path, help="draw reliability diagrams into this file")
    parser.add_argument("--rule", choices=RULES, default=RULES[0], help="by which the diagrams are drawn")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "Mean of empty slice")  # no AUC where every point is right
    if missing := [str(folder) for folder in given.data if not folder.is_dir()]:
        parser.error(f"--data: there is no folder {missing[0]}")
    wanted = [name for name in given.sets.split(",") if name]
    cases = read_cases(given.data, wanted, given.neighbors, given.max_points)
    print(compare(cases, not given.no_peers, given.plot, given.rule))


if __name__ == "__main__":
    main()
