"""What the lecture notes "Spectral Clustering" claim, looked at.

    python examples/papers/004.py [--data DIR] [--output DIR] [--quick]

The notes (lecturer M. I. Jordan, scribe D. Sontag, 2004) print no figures to compare with; they make three
claims. The relaxed problem bounds the normalized cut from below, and rounding its solution approximates the
least cut: here on a random sample of graphs of 6 to 12 nodes, for which the least cut is found by search. In
the ideal case, k components, the rows of Y are k orthogonal points, and nearly so in cases near it. And
"surprisingly, using the relaxed solution performs better than using the exact solution": here against planted
groups.

With --data, scikit-learn's SpectralClustering is run on the same graphs of labeled sets.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from folder import folder

import graphsoft
from graphsoft import metrics
from graphsoft.cuts import exact_normalized_cut, normalized_cut
from graphsoft.datasets import read
from graphsoft.methods import METHODS
from graphsoft.methods.parts.eigenvectors import leading_eigenvectors
from graphsoft.methods.parts.rounding import by_kmeans, by_pivots, by_rotation, filled, improved, unit_rows

mpl.use("Agg")
import matplotlib.pyplot as plt

DATA = Path(__file__).parents[2] / "data"
COLORS = ["#3366aa", "#dd7733", "#338855", "#aa4488"]
ROUNDINGS = ("k-means", "pivots", "rotation", "rotation, moves")
SETS = [f"zp_{i}" for i in range(1, 7)] + [
    "uci_iris", "uci_glass", "uci_ecoli", "uci_breast_tissue", "uci_transfusion", "uci_satimage",
    "uci_pendigits", "usps_1234", "usps", "sc_worm_neuron_pca50", "ng4_paper", "graph_football",
    "graph_polbooks", "graph_polblogs", "graph_email_eu_core",
]  # fmt: skip


def symmetric(W):
    return np.triu(W, k=1) + np.triu(W, k=1).T


def geometric(rng, n):
    """Gaussian similarities of points in a square."""
    X = rng.random((n, 2))
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    return symmetric(np.exp(-((distance / 0.25) ** 2) / 2))


def blocks(rng, n, groups=3, contrast=0.6):
    """Edges with weights, of which those within a group are likelier."""
    truth = np.arange(n) % groups
    chance = np.where(truth[:, None] == truth, 0.2 + contrast, 0.2)
    return symmetric((rng.random((n, n)) < chance) * rng.uniform(0.5, 1, (n, n)))


def equal_edges(rng, n):
    return symmetric((rng.random((n, n)) < rng.uniform(0.25, 0.7)).astype(float))


def weighted(rng, n):
    """All pairs joined, with weights of very different size."""
    return symmetric(rng.random((n, n)) ** 4)


KINDS = {"geometric": geometric, "blocks": blocks, "equal edges": equal_edges, "weighted": weighted}


def graph_of(W):
    return graphsoft.as_graph(sp.csr_array(W), affinity="precomputed")


def rounded(graph, k):
    """Round one set of eigenvectors in each way; also returns the bound by the eigenvalues."""
    rng = np.random.default_rng(0)
    pairs = leading_eigenvectors(graph, k, rng)
    by = [by_kmeans(pairs.vectors, rng), by_pivots(pairs.vectors), by_rotation(pairs.vectors)]
    by = [filled(labels, pairs.vectors) for labels in by]
    *_, (moved, _) = improved(graph, by[-1], k)
    return dict(zip(ROUNDINGS, [*by, moved], strict=True)), k - pairs.values.sum()


def exact_against_relaxed(count):
    """For each kind of graph the bounds, the least cuts, and the cuts by each rounding."""
    results = {}
    for kind, draw in KINDS.items():
        rng, rows = np.random.default_rng(1), []
        for _ in range(count):
            n, k = int(rng.integers(6, 13)), int(rng.integers(2, 5))
            graph = graph_of(draw(rng, n))
            by, bound = rounded(graph, k)
            cuts = [normalized_cut(graph, labels) for labels in by.values()]
            rows.append([bound, exact_normalized_cut(graph, k)[1], *cuts])
        results[kind] = np.array(rows)
    return results


def print_cuts(results):
    print(
        "\nThe least cut, the bound below it, and what rounding reaches: of graphs whose least cut is not 0,"
    )
    print("the share that reach it, and the cut over the least cut: mean, and the worst\n")
    head = "".join(f"{name:>25}" for name in ROUNDINGS)
    print(f"{'':12}{'graphs':>7}{'bound holds':>13}{'bound/least':>13}{head}")
    for kind, rows in [*results.items(), ("all", np.concatenate(list(results.values())))]:
        bound, least, cuts = rows[:, 0], rows[:, 1], rows[:, 2:]
        some = least > 1e-9
        ratios = cuts[some] / least[some, None]
        cells = "".join(
            f"{(ratio < 1 + 1e-9).mean():>11.0%} {ratio.mean():>6.3f} {ratio.max():>6.2f}"
            for ratio in ratios.T
        )
        holds = (bound <= least + 1e-9).mean()
        print(f"{kind:12}{len(rows):>7}{holds:>13.0%}{(bound[some] / least[some]).mean():>13.3f}{cells}")
        missed = (cuts[~some] > 1e-9).sum()
        if missed:
            print(f"{'':12}{missed} roundings cut what could be left whole")


def draw_cuts(results, file):
    """Plot bounds and cuts over the least cut, for graphs in which that is not 0."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True)
    titles = ("bound by the eigenvalues", "k-means of unit rows", "rotation, then moves")
    for axis, column, title in zip(axes, (0, 2, 5), titles, strict=True):
        for (kind, rows), marker, color in zip(results.items(), "osv^", COLORS, strict=True):
            least, value = rows[rows[:, 1] > 1e-9][:, [1, column]].T
            axis.plot(least, value / least, marker, ms=3.5, mfc="none", mew=0.7, color=color, label=kind)
        axis.axhline(1, color="#999999", lw=0.8, zorder=0)
        axis.set(title=title, xlabel="least normalized cut, by search")
    axes[0].set_ylabel("over the least normalized cut")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=150)
    plt.close(figure)


def ideal_case():
    print("\nThe ideal case: 3 complete graphs of 10, 12 and 14 nodes; then all tied to all by weak edges\n")
    group = np.repeat([0, 1, 2], [10, 12, 14])
    same = group[:, None] == group
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    print(f"{'edges up to':>11}{'third, fourth eigenvalue':>26}{'angles within':>15}{'between groups':>20}")
    for weak in (0.0, 0.001, 0.01, 0.1, 0.3):
        W = symmetric(np.where(same, 1.0, weak * np.random.default_rng(1).random(same.shape)))
        pairs = leading_eigenvectors(graph_of(W), 4, np.random.default_rng(0))
        Y = unit_rows(pairs.vectors[:, :3] @ turn)
        angles = np.degrees(np.arccos(np.clip(Y @ Y.T, -1, 1)))
        between = f"{angles[~same].min():.2f} to {angles[~same].max():.2f}"
        values = f"{pairs.values[2]:.4f}, {pairs.values[3]:.4f}"
        print(f"{weak:>11}{values:>26}{f'up to {angles[same].max():.2f}':>15}{between:>20}")


def relaxed_against_exact(count):
    print("\nAgreement with 3 planted groups of 4 nodes (adjusted Rand index, mean and its standard error),")
    print("and how often k-means of the relaxed solution agrees better or worse than the exact one\n")
    names = ["least cut", *ROUNDINGS]
    head = "".join(f"{name:>17}" for name in names)
    print(f"{'contrast':>8}{head}{'better':>9}{'worse':>7}")
    truth = np.arange(12) % 3
    for contrast in (0.3, 0.4, 0.5, 0.6, 0.7):
        rng, rows = np.random.default_rng(2), []
        for _ in range(count):
            graph = graph_of(blocks(rng, 12, contrast=contrast))
            by = [exact_normalized_cut(graph, 3)[0], *rounded(graph, 3)[0].values()]
            rows.append([metrics.adjusted_rand(truth, labels) for labels in by])
        scores = np.array(rows)
        error = scores.std(axis=0) / np.sqrt(count)
        cells = "".join(
            f"{f'{m:.3f} ± {e:.3f}':>17}" for m, e in zip(scores.mean(axis=0), error, strict=True)
        )
        gain = scores[:, 1] - scores[:, 0]
        print(f"{contrast:>8}{cells}{(gain > 1e-9).sum():>9}{(gain < -1e-9).sum():>7}")


def draw_embedding(file):
    X = np.asarray(read(DATA / "patterns" / "two_squares.csv", labels="label").data, dtype=float)
    graph = graphsoft.knn_graph(X)
    rng = np.random.default_rng(0)
    vectors = leading_eigenvectors(graph, 3, rng).vectors
    Y, labels = unit_rows(vectors), by_kmeans(vectors, rng)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4))
    for q, color in enumerate(COLORS[:3]):
        mine = labels == q
        axes[0].plot(*X[mine].T, "o", ms=3, color=color, mew=0)
        axes[1].plot(*Y[mine, 1:].T, "o", ms=4, color=color, mew=0, alpha=0.5, label=f"cluster {q + 1}")
    axes[0].set(title="points", aspect="equal", xticks=[], yticks=[])
    axes[1].set(title="rows of Y", aspect="equal", xlabel="second eigenvector", ylabel="third eigenvector")
    axes[1].locator_params(nbins=5)
    axes[1].legend(frameon=False, loc="center")
    figure.tight_layout()
    figure.savefig(file, dpi=150)
    plt.close(figure)


def labeled(file):
    """Read a graph and the classes of its nodes."""
    with np.load(file, allow_pickle=False) as data:
        if "X" in data:
            return graphsoft.knn_graph(data["X"]), data["y"]
        matrix = sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=data["shape"])
        if file.stem.startswith("graph"):
            return graphsoft.as_graph(matrix), data["y"]
        return graphsoft.knn_graph(matrix, metric="cosine"), data["y"]


def against_peers(folder, quick):
    import warnings

    from sklearn.cluster import SpectralClustering

    print("\nNormalized cut, and adjusted Rand index with the classes, on the same graphs\n")
    peers = {
        "sklearn k-means": "kmeans",
        "sklearn discretize": "discretize",
        "sklearn cluster_qr": "cluster_qr",
    }
    names = ["spectral", "normalized-cut", *peers]
    print(f"{'':22}{'k':>3}" + "".join(f"{name:>21}" for name in names))
    rows = []
    for name in [name for name in SETS if (folder / f"{name}.npz").exists()]:
        graph, y = labeled(folder / f"{name}.npz")
        if quick and len(graph) > 1000:
            continue
        k = len(np.unique(y))
        found = [graphsoft.cluster(graph, k, METHODS[ours]).labels for ours in names[:2]]
        for assign in peers.values():
            peer = SpectralClustering(k, affinity="precomputed", assign_labels=assign, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # graphs in several pieces
                found.append(peer.fit_predict(sp.csr_matrix(graph.adjacency)))
        rows.append([(normalized_cut(graph, labels), metrics.adjusted_rand(y, labels)) for labels in found])
        print(f"{name:22}{k:>3}" + "".join(f"{f'{cut:.4f}  {rand:.3f}':>21}" for cut, rand in rows[-1]))
    if not rows:
        print("none of the sets is there, or small enough for --quick")
        return
    means = np.mean(rows, axis=0)
    print(f"{'mean':25}" + "".join(f"{f'{cut:.4f}  {rand:.3f}':>21}" for cut, rand in means))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=folder, help="folder of labeled sets")
    parser.add_argument("--output", type=Path, default=Path("out/papers"), help="where the figures go")
    parser.add_argument("--quick", action="store_true", help="fewer graphs, small sets")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    results = exact_against_relaxed(60 if options.quick else 500)
    print_cuts(results)
    draw_cuts(results, options.output / "004_cuts.png")
    ideal_case()
    relaxed_against_exact(40 if options.quick else 400)
    draw_embedding(options.output / "004_embedding.png")
    if options.data is None:
        print("\nComparison with scikit-learn on labeled sets: skipped, --data names their folder")
    else:
        against_peers(options.data, options.quick)
    print(f"\nFigures: {options.output / '004_cuts.png'}, {options.output / '004_embedding.png'}")


if __name__ == "__main__":
    main()
