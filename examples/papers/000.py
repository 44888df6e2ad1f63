"""Rerun the experiments of "A Unifying Approach to Hard and Probabilistic Clustering".

    python examples/papers/000.py [--data DIR] [--output DIR] [--quick]

The paper (R. Zass, A. Shashua, ICCV 2005) shows patterns of points and gray-level images, but publishes
neither them nor the widths of its affinities. So the patterns are drawn again after its figures, with
Gaussian affinities of all pairs, and a table of its own shows the effect of the width. The image is painted:
head and shoulders in two grays in front of a wall, beside a chair almost as dark as the shoulders. Nothing
here needs --data.

For figure 2, repeated steps towards row sums of one were tried as well. They change little for either method,
as the paper says, and sometimes make it worse. The paper does not mention that narrow affinities, whose row
sums differ much from point to point, do better with factors than with summands.
"""

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from sets import page_parser

import graphsoft
from graphsoft import metrics
from graphsoft.methods import CompletelyPositive
from graphsoft.normalization import additive, doubly_stochastic, normalized_step
from graphsoft.patterns import make_pattern

mpl.use("Agg")
import matplotlib.pyplot as plt

ADDITIVE = CompletelyPositive("additive", start="random")
DONUT_WIDTH = 0.7
# pattern, number of clusters, and the width in the picture
NORMALIZED = [("bowl", 3, 0.3), ("donut", 2, 0.7), ("rim", 5, 0.4), ("lines", 4, 0.3)]
WIDTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


def print_verdict(reproduced, claim):
    print(f"  {'reproduced' if reproduced else 'NOT reproduced'}: {claim}")


def all_pairs(X, width):
    return graphsoft.pairwise_graph(X, weights="gaussian", sigma=width)


def save(figure, file):
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"  wrote {file}")


def scatter(axes, X, labels, title):
    axes.scatter(*X.T, c=labels, cmap="tab10", vmin=0, vmax=9, s=7)
    axes.set(title=title, xticks=[], yticks=[], aspect="equal")


# Figure 1


def print_bridge(output):
    print("Figure 1. Memberships of ten points that bridge two clouds, from left to right")
    X, part = make_pattern("bridge", rng=0)
    bridge = np.flatnonzero(part == 2)
    curves = {}
    for normalization in ("doubly-stochastic", "additive"):
        found = graphsoft.cluster(all_pairs(X, 0.5), 2, method=CompletelyPositive(normalization))
        S = found.memberships.toarray()[:, np.argsort(found.memberships.toarray()[bridge[0]])]
        right = S[bridge, 0]
        crossings = np.count_nonzero(np.diff(right > 0.5))
        print(f"  {normalization:18}" + " ".join(f"{share:.2f}" for share in right))
        rises = bool((np.diff(right) > 0).all())
        print_verdict(
            rises and crossings == 1, f"monotonic, {crossings} crossing (paper: one, in the middle)"
        )
        curves[normalization] = S
    figure, (left, middle, last) = plt.subplots(
        1, 3, figsize=(12, 3.6), layout="constrained", width_ratios=[1.5, 1, 1]
    )
    S = curves["doubly-stochastic"]
    picture = left.scatter(
        *X.T, c=S[:, 0], cmap="coolwarm", vmin=0, vmax=1, s=12, edgecolor="0.4", linewidth=0.2
    )
    left.set(title="all points", aspect="equal")
    figure.colorbar(picture, ax=left, label="p(right cluster)", shrink=0.8)
    for axes, (normalization, S) in zip((middle, last), curves.items(), strict=True):
        axes.plot(np.arange(1, 11), S[bridge, 1], "o-", label="left cluster")
        axes.plot(np.arange(1, 11), S[bridge, 0], "s-", label="right cluster")
        axes.set(title=f"the ten, {normalization}", xlabel="point", ylabel="membership", ylim=(0, 1))
        axes.set_xticks(range(1, 11))
    middle.legend(frameon=False, loc="upper center")
    save(figure, output / "000_figure_1.png")


# Figure 2


def matrices(X, width):
    K = (all_pairs(X, width).adjacency + sp.eye_array(len(X))).tocsr()
    return {
        "Ncuts, one step": normalized_step(K).toarray(),
        "Ncuts, iterated": doubly_stochastic(K).matrix.toarray(),
        "Ncuts, additive": np.maximum(additive(K).toarray(), 0.0),
    }


def by_normalization(X, k, width, starts):
    """Cluster with each normalization: by normalized cut, and by the best of several random starts of CP."""
    found = {}
    for name, F in matrices(X, width).items():
        graph = graphsoft.as_graph(F, affinity="precomputed")
        found[name] = graphsoft.cluster(graph, k, method="normalized-cut").labels
    for name in ("step", "additive"):
        method = CompletelyPositive(name, start="random")
        runs = [graphsoft.cluster(all_pairs(X, width), k, method=method, rng=seed) for seed in range(starts)]
        found[f"CP, {name}"] = min(runs, key=lambda run: run.trace[-1]).labels
    return found


def print_normalizations(output, quick):
    widths = WIDTHS[1::2] if quick else WIDTHS
    print(
        "\nFigure 2. Additive against multiplicative normalization: accuracy by the width of the affinities"
    )
    figure, grid = plt.subplots(len(NORMALIZED), 5, figsize=(13, 10), layout="constrained")
    better = []
    for row, (pattern, k, drawn) in zip(grid, NORMALIZED, strict=True):
        X, part = make_pattern(pattern, rng=0)
        for width in sorted({*widths, drawn}):
            found = by_normalization(X, k, width, 3 if quick else 10)
            scores = {name: metrics.accuracy(part, labels) for name, labels in found.items()}
            if width == min(widths):
                print(f"  {pattern}, k = {k}\n    width" + "".join(f"{name:>17}" for name in found))
            print(f"    {width:5}" + "".join(f"{score:17.3f}" for score in scores.values()))
            better.append((scores["Ncuts, additive"] - scores["Ncuts, one step"], width))
            if width == drawn:
                for axes, (name, labels) in zip(row, found.items(), strict=True):
                    scatter(axes, X, labels, f"{name}: {scores[name]:.2f}")
                row[0].set_ylabel(f"{pattern}, width {width}")
    wins = [width for gain, width in better if gain > 0.02]
    losses = [width for gain, width in better if gain < -0.02]
    print_verdict(not losses, "additive worked better in all experiments (paper)")
    for name, rows in (("better", wins), ("worse", losses)):
        at = ", ".join(f"{width} ({rows.count(width)})" for width in sorted(set(rows)))
        print(f"    additive is {name} by more than 0.02 in {len(rows)} rows, at the widths {at}")
    save(figure, output / "000_figure_2.png")


# Figure 5


def print_donut(output, runs):
    from sklearn.cluster import KMeans

    print(f"\nFigure 5a. The donut from {runs} random starts")
    X, part = make_pattern("donut", rng=0)
    graph = all_pairs(X, DONUT_WIDTH)
    cp = [graphsoft.cluster(graph, 2, method=ADDITIVE, rng=seed) for seed in range(runs)]
    right = sum(metrics.accuracy(part, found.labels) == 1 for found in cp)
    means = [KMeans(2, init="random", n_init=1, random_state=seed).fit_predict(X) for seed in range(runs)]
    right_means = sum(metrics.accuracy(part, labels) == 1 for labels in means)
    print(
        f"  CP right in {right} of {runs} (paper: 1000 of 1000), k-means in {right_means} (paper: 9 of 1000)"
    )
    print_verdict(right == runs, "CP finds ring and core from every start")
    print_verdict(right_means < 0.05 * runs, "k-means rarely does: it cuts across the ring")

    print("\nFigure 5b. The same with 10 % of the pairs")
    scores = {"weighted CP": [], "CP, others zero": [], "normalized cut": []}
    for seed in range(5):
        some = sampled(graph, 0.1, np.random.default_rng(seed))
        weighted = CompletelyPositive("additive", "unknown", start="random")
        labels = {
            "weighted CP": graphsoft.cluster(some, 2, method=weighted, rng=seed).labels,
            "CP, others zero": graphsoft.cluster(some, 2, method=ADDITIVE, rng=seed).labels,
            "normalized cut": graphsoft.cluster(some, 2, method="normalized-cut").labels,
        }
        for name, each in labels.items():
            scores[name].append(metrics.accuracy(part, each))
    for name, each in scores.items():
        print(f"  {name:16}" + " ".join(f"{score:.4f}" for score in each))
    print_verdict(min(scores["weighted CP"]) == 1, "weighted CP is right in every sample")
    print_verdict(max(scores["normalized cut"]) < 0.99, "normalized cut is wrong in every sample")
    full = graphsoft.cluster(graph, 2, method="normalized-cut").labels
    print(f"  (normalized cut on all pairs of this width: {metrics.accuracy(part, full):.4f})")

    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    scatter(axes[0], X, cp[0].labels, f"CP: {right} of {runs} right")
    scatter(axes[1], X, means[0], f"k-means: {right_means} of {runs} right")
    scatter(axes[2], X, labels["weighted CP"], "10 % of pairs, weighted CP")
    scatter(axes[3], X, labels["normalized cut"], "10 % of pairs, normalized cut")
    save(figure, output / "000_figure_5.png")


def sampled(graph, part, rng):
    """Keep some of the pairs."""
    pairs = sp.triu(graph.adjacency, k=1).tocoo()
    kept = rng.random(pairs.nnz) < part
    half = sp.coo_array((pairs.data[kept], (pairs.row[kept], pairs.col[kept])), shape=pairs.shape)
    return graphsoft.as_graph((half + half.T).tocsr())


# Figure 4


def painted(size, chair, rng):
    """Paint grays from 0 to 1; also return where the person is, and strips that a user might draw."""
    y, x = np.mgrid[:size, :size] / size
    image = np.where(y < 0.75, 0.9, 0.65)  # wall and floor
    image[(x > 0.62) & (x < 0.95) & (y > 0.5)] = chair
    head = ((x - 0.45) / 0.13) ** 2 + ((y - 0.3) / 0.18) ** 2 < 1
    shoulders = (((x - 0.45) / 0.27) ** 2 + ((y - 0.85) / 0.42) ** 2 < 1) & (y > 0.44)
    image[shoulders] = 0.24
    image[head] = 0.55
    down = (x > 0.425) & (x < 0.475) & (y > 0.225) & (y < 0.95)
    across = (x > 0.25) & (x < 0.6) & (y > 0.7) & (y < 0.75)
    on_chair = (x > 0.75) & (x < 0.8) & (y > 0.55) & (y < 0.95)
    noisy = np.clip(image + rng.normal(0, 0.02, image.shape), 0, 1)
    return noisy, head | shoulders, down | across, on_chair


def pixel_graph(image, radius=5, gray=0.06, near=4.0):
    """Join pixels within a radius, with weights by brightness and by distance, as Shi and Malik do."""
    size = len(image)
    number = np.arange(size * size).reshape(size, size)
    rows, columns, weights = [], [], []
    for down in range(radius + 1):
        for right in range(-radius, radius + 1):
            if not 0 < down**2 + right**2 <= radius**2 or (down == 0 and right < 0):
                continue
            here = np.s_[: size - down, max(0, -right) : size - max(0, right)]
            there = np.s_[down:, max(0, right) : size + min(0, right)]
            weight = np.exp(-(((image[here] - image[there]) / gray) ** 2) - (down**2 + right**2) / near**2)
            rows.append(number[here].ravel())
            columns.append(number[there].ravel())
            weights.append(weight.ravel())
    parts = np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))
    half = sp.coo_array(parts, shape=(size * size, size * size))
    return graphsoft.as_graph((half + half.T).tocsr())


def overlap(mask, labels):
    """Find the cluster with the largest intersection over union with the mask."""
    clusters = [labels == q for q in range(labels.max() + 1)]
    scores = [np.sum(mask & each) / np.sum(mask | each) for each in clusters]
    return max(scores), clusters[int(np.argmax(scores))]


def print_image(output, size):
    print(
        "\nFigure 4. An image segmented with and without side information, k = 5: overlap of the best cluster"
    )
    print("  with the person, whose shoulders are 0.24 gray, by the gray of the chair beside them")
    print("    chair  without     with")
    for chair in (0.30, 0.34, 0.38):
        image, person, front, back = painted(size, chair, np.random.default_rng(0))
        number = np.arange(size * size).reshape(size, size)
        known = {int(pixel): 1 for pixel in number[front]} | {int(pixel): 0 for pixel in number[back]}
        shown = {}
        for name, given in (("without", None), ("with", known)):
            labels = graphsoft.cluster(pixel_graph(image), 5, method="cp", known=given).labels
            labels = labels.reshape(size, size)
            shown[name] = labels, *overlap(person, labels)
        print(f"    {chair:5.2f} {shown['without'][1]:8.2f} {shown['with'][1]:8.2f}")
    print_verdict(
        shown["with"][1] > 0.9 > shown["without"][1],
        "side information makes the person one cluster (at the last gray)",
    )
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.7), layout="constrained")
    axes[0].imshow(image, cmap="gray", vmin=0, vmax=1)
    axes[0].set_title("image; red: one cluster, blue: not it", fontsize=11)
    for mask, color in ((front, "tab:red"), (back, "tab:blue")):
        down, right = np.nonzero(mask)
        axes[0].plot(right, down, "s", color=color, markersize=1.5)
    for panel, (name, (labels, score, _)) in zip(axes[1:], shown.items(), strict=False):
        panel.imshow(labels, cmap="tab10", vmin=0, vmax=9)
        panel.set_title(f"{name} side information: {score:.2f}", fontsize=11)
    axes[3].imshow(np.where(shown["with"][2], image, 1.0), cmap="gray", vmin=0, vmax=1)
    axes[3].set_title("the cluster of the person", fontsize=11)
    for panel in axes:
        panel.set(xticks=[], yticks=[])
    save(figure, output / "000_figure_4.png")


def main():
    quick = "fewer starts and widths, a smaller image"
    options = page_parser(__doc__, data="not needed here", quick=quick, output="out/papers").parse_args()
    print_bridge(options.output)
    print_normalizations(options.output, options.quick)
    print_donut(options.output, 50 if options.quick else 1000)
    print_image(options.output, 40 if options.quick else 60)


if __name__ == "__main__":
    main()
