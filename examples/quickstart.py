"""Find a hierarchy of the bundled digits and print the top of its tree: ``python examples/quickstart.py``."""

from pathlib import Path

import graphsoft
from graphsoft.datasets import read

DATA = Path(__file__).parent.parent / "data"


def main():
    """Cluster 1797 images of digits without using their labels, and print what came out."""
    digits = read(DATA / "digits.csv.gz", labels="label")
    h = graphsoft.hierarchy(digits.data, levels=[100, 20, 10])
    print(h)

    for name in h.tree.root.children:  # the clusters of the top level
        node = h.tree.find(name)
        shown = digits.labels[h[-1].labels == node.index]
        commonest = max(set(shown.tolist()), key=shown.tolist().count)
        print(f"{node.id}: {node.size} images, most often a {commonest}; children {', '.join(node.children)}")

    image = int(h[0].entropy.argmax())
    print(
        f"\nimage {image} shows a {digits.labels[image]}. No image is more torn between the finest clusters:"
    )
    for level, one in enumerate(h):
        row = one.memberships[[image]]
        chances = sorted(zip(row.data, row.indices, strict=True), reverse=True)
        print(
            f"level {level}: " + ", ".join(f"{chance:.0%} cluster {level}-{q}" for chance, q in chances[:4])
        )


if __name__ == "__main__":
    main()
