"""Types and subtypes of blood cells with scanpy: a hierarchy, how torn each cell is, markers, beside Leiden.

    pip install '.[anndata]' scanpy igraph
    python examples/single_cells.py [--output DIR]

The 700 cells come with scanpy, so nothing is downloaded. Their ten types were found by sorted reference
cells, and some of them overlap. The table says how well each level agrees with these types (adjusted Rand
index), and Leiden at the resolution that gives the same number of clusters. A quarter of the cells is then
held out and put into the clusters of the others.

``single_cells.png`` shows the cells in the plane by type, by level, by Leiden, and by how torn they are.
Clusters have shades of their parents' colors. ``single_cells_markers.png`` shows the two genes that set each
cluster apart the most, in the order of the tree.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

import graphsoft
from graphsoft import metrics

LEVELS = [16, 8, 4]
TYPES = "bulk_labels"
GENES_EACH = 2


def read_cells():
    """Read scanpy's cells, and join them to their neighbors with its defaults."""
    import scanpy as sc

    adata = sc.datasets.pbmc68k_reduced()
    sc.pp.pca(adata)
    sc.pp.neighbors(adata)
    return adata


def add_leiden(adata, count):
    """Search the resolution at which Leiden finds so many clusters; return the key of the nearest."""
    import scanpy as sc

    best, low, high = None, 0.01, 4.0
    for _ in range(12):
        resolution = (low * high) ** 0.5
        sc.tl.leiden(adata, resolution, key_added="leiden", flavor="igraph", n_iterations=2, directed=False)
        found = adata.obs["leiden"].nunique()
        if best is None or abs(found - count) < abs(best.nunique() - count):
            best = adata.obs["leiden"].copy()
        if found == count:
            break
        low, high = (resolution, high) if found < count else (low, resolution)
    adata.obs[f"leiden_{count}"] = best


def agreement(adata, one, other):
    """Compute the adjusted Rand index of two columns."""
    return metrics.adjusted_rand(*(adata.obs[key].cat.codes.to_numpy() for key in (one, other)))


def print_scores(adata):
    """Print how well each level and Leiden agree with the types."""
    print("adjusted Rand index with the ten types\nclusters  graphsoft  Leiden (clusters)")
    for level, count in enumerate(LEVELS):
        add_leiden(adata, count)
        ours = agreement(adata, TYPES, f"graphsoft_level_{level}")
        theirs, found = agreement(adata, TYPES, f"leiden_{count}"), adata.obs[f"leiden_{count}"].nunique()
        print(f"{count:8} {ours:10.2f} {theirs:7.2f} ({found})")


def print_new_cells(adata):
    """Hold out a quarter of the cells, and find their clusters."""
    import scanpy as sc

    held = np.arange(adata.n_obs) % 4 == 0
    reference, new = adata[~held].copy(), adata[held].copy()
    sc.pp.pca(reference)
    sc.pp.neighbors(reference)
    graphsoft.tl.hierarchy(reference, LEVELS, key_added="part")
    graphsoft.tl.predict(new, reference, key_added="part")
    print("\nof the cells that were held out\nlevel  adjusted Rand index with the types, and of the others")
    for level in range(len(LEVELS)):
        scores = (agreement(each, TYPES, f"part_level_{level}") for each in (new, reference))
        print(f"{level:5} " + " ".join(f"{score:6.2f}" for score in scores))


def shade(adata):
    """Give the top clusters distinct colors, and all others shades of their parents' colors."""
    from matplotlib import colormaps
    from matplotlib.colors import hsv_to_rgb as rgb
    from matplotlib.colors import rgb_to_hsv, to_hex

    tree = adata.uns["graphsoft"]["tree"]
    colors = {}
    for level in reversed(range(len(LEVELS))):
        clusters = tree[tree["level"] == level]
        for parent, children in clusters.groupby("parent", observed=True):
            for place, id in enumerate(children.index):
                if parent == "":
                    colors[id] = rgb_to_hsv(colormaps["Dark2"](place)[:3])
                    continue
                middle = (place + 0.5) / len(children) - 0.5
                hue, saturation, value = colors[parent]
                spread = 0.06 if level else 0.02
                colors[id] = np.array(
                    [
                        (hue + spread * middle) % 1,
                        np.clip(saturation * (1 - 0.5 * middle), 0, 1),
                        np.clip(value * (1 + 0.7 * middle), 0, 1),
                    ]
                )
        name = f"graphsoft_level_{level}"
        adata.uns[f"{name}_colors"] = [to_hex(rgb(colors[id])) for id in adata.obs[name].cat.categories]


def draw_cells(adata, path):
    """Draw the cells in the plane, and the tree of the clusters."""
    import matplotlib.pyplot as plt
    import scanpy as sc

    figure, axes = plt.subplots(2, 4, figsize=(21, 9), layout="constrained")
    titles = {
        TYPES: "types",
        "graphsoft_level_2": f"{LEVELS[2]} clusters",
        "graphsoft_level_1": f"{LEVELS[1]} clusters",
        "graphsoft_level_0": f"{LEVELS[0]} clusters",
        f"leiden_{LEVELS[1]}": "Leiden",
        "graphsoft_level_1_entropy": f"how torn between the {LEVELS[1]}",
        "graphsoft_level_0_entropy": f"how torn between the {LEVELS[0]}",
    }
    for (key, title), place in zip(titles.items(), axes.flat, strict=False):
        on_data = "on data" if key.startswith("graphsoft") and "entropy" not in key else "right margin"
        sc.pl.umap(
            adata, color=key, title=title, ax=place, show=False, size=60, color_map="viridis",
            legend_loc=on_data, legend_fontsize="small", legend_fontoutline=2,
        )  # fmt: skip
    sc.pl.dendrogram(adata, "graphsoft_level_0", ax=axes.flat[-1], show=False)
    axes.flat[-1].set_title("the tree")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def draw_markers(adata, path):
    """Draw the genes that set the clusters apart, in the order of the tree."""
    import matplotlib.pyplot as plt
    import scanpy as sc

    sc.tl.rank_genes_groups(adata, "graphsoft_level_1", method="wilcoxon")
    names = adata.uns["rank_genes_groups"]["names"]
    print("\ngenes that set the clusters apart")
    for id in names.dtype.names:
        print(f"{id}  {', '.join(names[id][:5])}")
    sc.pl.rank_genes_groups_dotplot(adata, n_genes=GENES_EACH, dendrogram=True, show=False)
    plt.savefig(path, dpi=80, bbox_inches="tight")
    plt.close("all")


def main():
    """Read the arguments, print the tables and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the pictures go")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # scanpy's
    import matplotlib as mpl

    mpl.use("Agg")
    adata = read_cells()
    graphsoft.tl.hierarchy(adata, LEVELS)
    print_scores(adata)
    print_new_cells(adata)
    shade(adata)
    draw_cells(adata, arguments.output / "single_cells.png")
    draw_markers(adata, arguments.output / "single_cells_markers.png")


if __name__ == "__main__":
    main()
