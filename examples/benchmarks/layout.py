"""Compare `h.layout()` with UMAP and principal components: seconds, neighbors kept, clusters set apart.

    python examples/benchmarks/layout.py [--data DIR] [--sets a,b] [--points 100000] [--out table.md]
        [--picture picture.png]

``DIR`` holds ``.npz`` files as for ``quality.py``: ``X``, or ``data, indices, indptr, shape`` (CSR, compared
by cosine), and ``y``, the classes. Penguins, iris and digits come along, and a made set of ``--points``
points in 100 clusters of 20 in 5. UMAP (``pip install umap-learn``) is left out where it is not installed.

Trustworthiness says whether the 10 nearest points in the plane are near in the features too; 1 is best.
The separation of labels is the share of points that have the same label as most of their 10 nearest points in
the plane: for the clusters of the finest and of the top level, and for the classes. Both are means over at
most 3,000 points. The seconds of ``h.layout()`` do not include ``hierarchy``, nor those of UMAP its first,
compiling call, but those of UMAP include its search for neighbors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import graphsoft
from graphsoft.datasets import read

NEIGHBORS = 10
SAMPLE = 3000
BUNDLED = {
    "iris": ("iris.csv", "label"),
    "penguins": ("penguins.csv", "species"),
    "digits": ("digits.csv.gz", "label"),
}
DATA = Path(__file__).parents[2] / "data"


@dataclass(frozen=True)
class Labeled:
    """Features, the class of each point, and the levels to cluster to."""

    name: str
    features: Any
    classes: NDArray[Any]
    levels: list[int]

    @property
    def metric(self) -> str:
        """How points are compared."""
        return "cosine" if sp.issparse(self.features) else "euclidean"


def made_set(points: int) -> Labeled:
    """Draw points around 100 middles, which lie around 20 others, and these around 5."""
    random = np.random.default_rng(1)
    middles = 6 * random.normal(size=(5, 20))
    for parts, width in ((4, 2.5), (5, 1.2)):
        middles = np.repeat(middles, parts, axis=0)
        middles += width * random.normal(size=middles.shape)
    classes = random.integers(0, 100, points)
    features = (middles[classes] + random.normal(size=(points, 20))).astype(np.float32)
    return Labeled("made", features, classes, [100, 20, 5])


def sets(options: argparse.Namespace) -> Iterator[Labeled]:
    """List the bundled sets, those of the folder, and the made one."""
    for name, (file, label) in BUNDLED.items():
        found = read(DATA / file, labels=label)
        yield with_levels(name, found.data, np.asarray(found.labels))
    for path in sorted(options.data.glob("*.npz")) if options.data else []:
        with np.load(path, allow_pickle=False) as file:
            if "y" not in file or path.stem.startswith("graph_"):
                continue
            if "X" in file:
                features = file["X"]
            else:
                features = sp.csr_array((file["data"], file["indices"], file["indptr"]), tuple(file["shape"]))
            yield with_levels(path.stem, features, file["y"])
    if options.points:
        yield made_set(options.points)


def with_levels(name: str, features: Any, classes: NDArray[Any]) -> Labeled:
    """Ask for as many top clusters as there are classes, and four times as many below."""
    count = len(np.unique(classes))
    return Labeled(name, features, classes, [4 * count, count])


def laid_out(given: Labeled, h: graphsoft.Hierarchy) -> Iterator[tuple[str, NDArray[Any], float]]:
    """Make the maps, each with its name and seconds."""
    for name, work in (("graphsoft", h.layout), ("UMAP", umap_of(given)), ("PCA", components_of(given))):
        if work is not None:
            began = time.perf_counter()
            places = work()
            yield name, np.asarray(places), time.perf_counter() - began


def umap_of(given: Labeled) -> Any:
    """Prepare UMAP with its defaults; None if it is not installed."""
    try:
        import umap
    except ImportError:
        return None
    features = sp.csr_matrix(given.features) if sp.issparse(given.features) else given.features  # no arrays
    return lambda: umap.UMAP(metric=given.metric, random_state=0, n_jobs=1).fit_transform(features)


def components_of(given: Labeled) -> Any:
    """Prepare the first two principal components."""
    from sklearn.decomposition import PCA, TruncatedSVD

    kind = TruncatedSVD if sp.issparse(given.features) else PCA
    return lambda: kind(2, random_state=0).fit_transform(given.features)


def scores(given: Labeled, h: graphsoft.Hierarchy, places: NDArray[Any]) -> list[float]:
    """Score a map: trustworthiness, then the separation of finest clusters, top clusters and classes."""
    from scipy.spatial import cKDTree
    from sklearn.manifold import trustworthiness

    sample = np.sort(np.random.default_rng(0).permutation(len(places))[:SAMPLE])
    near = min(NEIGHBORS, len(sample) // 2 - 1)
    found = [trustworthiness(given.features[sample], places[sample], n_neighbors=near, metric=given.metric)]
    nearest = cKDTree(places).query(places[sample], NEIGHBORS + 1)[1][:, 1:]
    for labels in (h[0].labels, h[-1].labels, np.unique(given.classes, return_inverse=True)[1]):
        most = [np.bincount(row).argmax() for row in labels[nearest]]
        found.append(float(np.mean(most == labels[sample])))
    return found


def draw(picture: Path, drawn: list[tuple[Labeled, str, NDArray[Any]]]) -> None:
    """Draw all maps, a row for each set, in the colors of the classes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for _, name, _ in drawn))
    rows = list(dict.fromkeys(given.name for given, _, _ in drawn))
    size = (4 * len(names), 3.6 * len(rows))
    figure, panels = plt.subplots(len(rows), len(names), figsize=size, squeeze=False, layout="constrained")
    for given, name, places in drawn:
        axes = panels[rows.index(given.name), names.index(name)]
        colors = plt.get_cmap("tab20")(np.unique(given.classes, return_inverse=True)[1] % 20)
        axes.scatter(*places.T, c=colors, s=np.clip(6000 / len(places), 0.2, 12), linewidths=0)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(f"{given.name}: {name}", loc="left", fontsize="medium")
        axes.set(xticks=[], yticks=[])
    figure.savefig(picture, dpi=90, pil_kwargs={"optimize": True})


def main() -> None:
    """Lay out every set by every method, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder of labeled sets")
    parser.add_argument("--sets", help="names of sets, separated by commas; by default all")
    parser.add_argument("--points", type=int, default=100_000, help="of the made set; 0 leaves it out")
    parser.add_argument("--out", type=Path, help="write the table here too")
    parser.add_argument("--picture", type=Path, help="draw all maps into this file")
    options = parser.parse_args()
    chosen = [each for each in sets(options) if not options.sets or each.name in options.sets.split(",")]
    for _, _, _ in laid_out(chosen[0], graphsoft.hierarchy(chosen[0].features, levels=chosen[0].levels)):
        pass  # compiles
    columns = "set, points", "map", "seconds", "trustworthiness", "finest clusters", "top clusters", "classes"
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    print(*lines, sep="\n")
    drawn = []
    for given in chosen:
        h = graphsoft.hierarchy(given.features, levels=given.levels, metric=given.metric)
        for name, places, seconds in laid_out(given, h):
            values = " | ".join(f"{value:.3f}" for value in scores(given, h, places))
            lines.append(f"| {given.name}, {len(places):,} | {name} | {seconds:.2f} | {values} |")
            print(lines[-1], flush=True)
            drawn.append((given, name, places))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    if options.picture:
        draw(options.picture, drawn)


if __name__ == "__main__":
    main()
