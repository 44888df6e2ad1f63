"""Write the pages that the tests in Chromium open: ``python tests/explorer/make_pages.py FOLDER``."""

import json
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

import graphsoft
from graphsoft.formats.frames import columns_to_csv

# Each would do something, or look like something else, if it were taken for more than a text.
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg/onload=alert(3)>",
    "javascript:alert(4)",
    "\"><a href='javascript:alert(5)'>x</a>",
    "<!-- <script>",
    "]]>&lt;b&gt;&amp;",
    "line\u2028and\u2029paragraph",
    "\u202eright to left\u202c",
    "nul\0and\x1b[2J",
    "lone \ud800 surrogate",
    "${alert(6)} {{7*7}} `x`",
    "https://example.com/x.png",
    "long " + "x" * 5000,
    "__proto__",
    "<style>*{display:none}</style>",
    "<base href='https://example.com/'>",
    "url(https://example.com/y.png)",
    '=HYPERLINK("https://example.com")',
    "@SUM(1)",
    '\'+1,"quoted"',
    "-1",
]


def digits(folder: Path) -> None:
    found = load_digits()
    h = graphsoft.hierarchy(found.data, levels=[60, 12, 4]).name_clusters({"2-0": "curved"})
    h.explore(
        folder / "digits.html",
        images=found.images / 16,
        labels=found.target,
        texts=[f"a picture of a {digit}" for digit in found.target],
        features=[f"row {row}, column {column}" for row in range(8) for column in range(8)],
        title="Digits",
    )


def network(folder: Path) -> None:
    """A graph with names, with the stability of its clusters."""
    h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    found = graphsoft.stability(h, rounds=5)
    h.explore(folder / "network.html", stability=found, title="Les Misérables")
    facts = {"clusters": found.clusters[0].tolist(), "lost": found.lost[0].tolist()}
    (folder / "network.json").write_text(json.dumps(facts))


def cloud(folder: Path) -> None:
    """One cloud without gaps, so that points of most clusters are in several clusters of the next level."""
    data = np.random.default_rng(1).normal(size=(1500, 2))
    h = graphsoft.hierarchy(data, levels=[80, 20, 5])
    h.explore(folder / "cloud.html", title="One cloud")
    (folder / "cloud.json").write_text(json.dumps({"flow": h.flow(1).toarray().tolist()}))


def hostile(folder: Path) -> None:
    points = len(HOSTILE) * 4
    texts = [HOSTILE[place % len(HOSTILE)] for place in range(points)]
    data = np.random.default_rng(0).normal(size=(points, 3))
    h = graphsoft.hierarchy(data, levels=[6, 2], n_neighbors=5)
    names = dict(zip([node.id for node in h.tree.nodes[:-1]], HOSTILE, strict=False))
    # every feature is the best one of some cluster
    words = sp.csr_array(np.eye(len(HOSTILE))[np.arange(points) % len(HOSTILE)])
    h.name_clusters(names).explore(
        folder / "hostile.html",
        names=texts,
        texts=texts,
        labels=texts,
        features=(words, HOSTILE),
        title="".join(HOSTILE),
    )
    clean = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for text in HOSTILE]
    # the page writes selected points as Python would
    columns_to_csv({"name": clean * 4, "label": clean * 4}, folder / "hostile.csv")
    (folder / "hostile.json").write_text(json.dumps({"texts": clean, "clusters": len(names)}))


def large(folder: Path, points: int = 100_000, levels: tuple[int, ...] = (10_000, 1_000, 100, 10)) -> None:
    """Many points in many clusters, whose levels are made by hand as far as the page can tell."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(levels[0] // 4, 2)) * 10
    data = centers[rng.integers(0, len(centers), points)] + rng.normal(size=(points, 2)) * 0.2
    h = graphsoft.hierarchy(data, levels=list(levels))
    texts = [f"the text of point {point}, which says little" for point in range(points)]
    h.explore(
        folder / "large.html", coordinates=data, texts=texts, names=[f"p{point}" for point in range(points)]
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for make in (digits, network, cloud, hostile, large):
        make(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
