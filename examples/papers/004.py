"""Check the claims of the lecture notes "Spectral Clustering".

    python examples/papers/004.py [--data DIR] [--output DIR] [--quick]

The notes (lecturer M. I. Jordan, scribe D. Sontag, 2004) print no figures to compare with, but make three
claims. First, the relaxed problem bounds the normalized cut from below, and rounding its solution
approximates the smallest cut. This is checked on random graphs of 6 to 12 nodes, whose smallest cut is found
by exhaustive search. Second, in the ideal case of k components the rows of Y are k orthogonal points, and
nearly so in similar cases. Third, "surprisingly, using the relaxed solution performs better than using the
exact solution". This is checked against planted groups.

--data adds a comparison with scikit-learn's SpectralClustering on the same graphs of labeled sets.
"""

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from sets import bundled, labeled, page_parser

import graphsoft
from graphsoft import metrics
from graphsoft.cuts import exact_normalized_cut, normalized_cut
from graphsoft.methods import METHODS
from graphsoft.methods.parts.eigenvectors import leading_eigenvectors
from graphsoft.methods.parts.rounding import by_kmeans, by_pivots, by_rotation, filled, improved, unit_rows

mpl.use("Agg")
import matplotlib.pyplot as plt

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
    """Draw points in a square; return their Gaussian similarities."""
    X = rng.random((n, 2))
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    return symmetric(np.exp(-((distance / 0.25) ** 2) / 2))


def blocks(rng, n, groups=3, contrast=0.6):
    """Draw weighted edges, which are more likely within a group."""
    truth = np.arange(n) % groups
    chance = np.where(truth[:, None] == truth, 0.2 + contrast, 0.2)
    return symmetric((rng.random((n, n)) < chance) * rng.uniform(0.5, 1, (n, n)))


def equal_edges(rng, n):
    return symmetric((rng.random((n, n)) < rng.uniform(0.25, 0.7)).astype(float))


def weighted(rng, n):
    """Join all pairs, with weights of very different sizes."""
    return symmetric(rng.random((n, n)) ** 4)


KINDS = {"geometric": geometric, "blocks": blocks, "equal edges": equal_edges, "weighted": weighted}


def graph_of(W):
    return graphsoft.as_graph(sp.csr_array(W), affinity="precomputed")


def rounded(graph, k):
    """Round the same eigenvectors in every way; also return the bound by the eigenvalues."""
    rng = np.random.default_rng(0)
    pairs = leading_eigenvectors(graph, k, rng)
    by = [by_kmeans(pairs.vectors, rng), by_pivots(pairs.vectors), by_rotation(pairs.vectors)]
    by = [filled(labels, pairs.vectors) for labels in by]
    *_, (moved, _) = improved(graph, by[-1], k)
    return dict(zip(ROUNDINGS, [*by, moved], strict=True)), k - pairs.values.sum()


def exact_against_relaxed(count):
    """Return for each kind of graph the bounds, the smallest cuts, and the cuts of every rounding."""
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
        "\nThe smallest cut, the bound below it, and the cuts of each rounding. For graphs whose smallest cut"
    )
    print("is not 0: the share that reach it, and the ratio to it, mean and maximum\n")
    head = "".join(f"{name:>25}" for name in ROUNDINGS)
    print(f"{'':12}{'graphs':>7}{'bound holds':>13}{'bound/smallest':>15}{head}")
    for kind, rows in [*results.items(), ("all", np.concatenate(list(results.values())))]:
        bound, smallest, cuts = rows[:, 0], rows[:, 1], rows[:, 2:]
        positive = smallest > 1e-9
        ratios = cuts[positive] / smallest[positive, None]
        cells = "".join(
            f"{(ratio < 1 + 1e-9).mean():>11.0%} {ratio.mean():>6.3f} {ratio.max():>6.2f}"
            for ratio in ratios.T
        )
        holds = (bound <= smallest + 1e-9).mean()
        part = (bound[positive] / smallest[positive]).mean()
        print(f"{kind:12}{len(rows):>7}{holds:>13.0%}{part:>15.3f}{cells}")
        missed = (cuts[~positive] > 1e-9).sum()
        if missed:
            print(f"{'':12}{missed} roundings cut edges where the smallest cut is 0")


def draw_cuts(results, file):
    """Plot bounds and cuts relative to the smallest cut, for graphs where that is not 0."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True)
    titles = ("bound by the eigenvalues", "k-means of unit rows", "rotation, then moves")
    for axis, column, title in zip(axes, (0, 2, 5), titles, strict=True):
        for (kind, rows), marker, color in zip(results.items(), "osv^", COLORS, strict=True):
            smallest, value = rows[rows[:, 1] > 1e-9][:, [1, column]].T
            axis.plot(
                smallest, value / smallest, marker, ms=3.5, mfc="none", mew=0.7, color=color, label=kind
            )
        axis.axhline(1, color="#999999", lw=0.8, zorder=0)
        axis.set(title=title, xlabel="smallest normalized cut, by search")
    axes[0].set_ylabel("relative to the smallest normalized cut")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=150)
    plt.close(figure)


def ideal_case():
    print("\nThe ideal case: 3 complete graphs of 10, 12 and 14 nodes; then with weak edges between all\n")
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
    names = ["smallest cut", *ROUNDINGS]
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
    X = bundled("patterns/two_squares.csv").data
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


def labeled_graph(directory, name):
    """Read a set; return its graph, and the classes of the nodes."""
    data, classes = labeled(directory, name)
    if name.startswith("graph_"):
        return graphsoft.as_graph(data), classes
    return graphsoft.knn_graph(data, metric="cosine" if sp.issparse(data) else "euclidean"), classes


def compare_with_sklearn(directory, quick):
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
    for name in [name for name in SETS if (directory / f"{name}.npz").exists()]:
        graph, y = labeled_graph(directory, name)
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
        print("none of the sets is in the folder, or all are too large for --quick")
        return
    means = np.mean(rows, axis=0)
    print(f"{'mean':25}" + "".join(f"{f'{cut:.4f}  {rand:.3f}':>21}" for cut, rand in means))


def main():
    quick = "fewer graphs, and small sets only"
    parser = page_parser(__doc__, data="folder of labeled sets", quick=quick, output="out/papers")
    options = parser.parse_args()
    results = exact_against_relaxed(60 if options.quick else 500)
    print_cuts(results)
    draw_cuts(results, options.output / "004_cuts.png")
    ideal_case()
    relaxed_against_exact(40 if options.quick else 400)
    draw_embedding(options.output / "004_embedding.png")
    if options.data is None:
        print("\nno --data: the comparison with scikit-learn on labeled sets is skipped")
    else:
        compare_with_sklearn(options.data, options.quick)
    print(f"\nFigures: {options.output / '004_cuts.png'}, {options.output / '004_embedding.png'}")


if __name__ == "__main__":
    main()
