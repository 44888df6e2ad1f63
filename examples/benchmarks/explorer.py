"""How large a page of the explorer is, how soon it shows its first picture, and how smoothly its map moves.

``python examples/benchmarks/explorer.py`` needs Node.js, a Chromium (or its path in CHROMIUM), and once
``npm ci --prefix graphsoft/explorer/page``. Chromium draws without a graphics card.

With DataMapPlot installed, its page of the same points, texts and clusters of all levels stands beside that
of up to 100,000 points. It loads libraries from unpkg.com when it is opened. Here npm installs them first: no
network is measured. The time of both is that of the first picture that then stays the same.
"""

import argparse
import importlib.util
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tables import markdown

import graphsoft
from graphsoft.topics import label_layers

ROOT = Path(__file__).parents[2]
MANY = (10_000, 1_000, 100, 10)
SIZES = {
    "2,000 points": (2_000, (100, 20, 5)),
    "100,000 points": (100_000, MANY),
    "1,000,000 points": (1_000_000, MANY),
}
LIBRARIES = ("deck.gl@9.1", "apache-arrow@latest", "jquery@3.7.1")  # that DataMapPlot's page asks for
LIMITS = {"2,000 points": "1.5", "100,000 points": "30"}  # megabytes


def made(points: int, levels: tuple[int, ...]) -> tuple[graphsoft.Hierarchy, np.ndarray, list[str]]:
    """Overlapping clusters, two coordinates of the points, and texts."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(levels[0], 3)) * 4
    data = centers[rng.integers(0, len(centers), points)] + rng.normal(size=(points, 3)) * 0.3
    words = np.array([f"word{number}" for number in range(5_000)])
    texts = [" ".join(words[rng.integers(0, len(words), 12)]) for _ in range(points)]
    return graphsoft.hierarchy(data, levels=list(levels)), data[:, :2], texts


def explored(h: graphsoft.Hierarchy, places: np.ndarray, texts: list[str], path: Path) -> float:
    """Write the page; returns the seconds of `explore` alone."""
    begin = time.perf_counter()
    names = [f"point {row}" for row in range(len(texts))]
    h.explore(path, coordinates=places, texts=texts, names=names, max_points=len(texts))
    return time.perf_counter() - begin


def plotted(h: graphsoft.Hierarchy, places: np.ndarray, texts: list[str], path: Path) -> float:
    """Write DataMapPlot's page of the same, in its folder; returns the seconds."""
    import datamapplot

    hover = [f"point {row}: {text}" for row, text in enumerate(texts)]
    begin = time.perf_counter()
    page = datamapplot.create_interactive_plot(
        places, *label_layers(h), hover_text=hover, enable_topic_tree=True, enable_search=True
    )
    page.save(path)
    return time.perf_counter() - begin


def measured(script: Path, *arguments: Path) -> dict[str, Any]:
    command = ["node", str(script), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def beside(name: str, path: Path, seconds: float, libraries: Path) -> list[str]:
    """One row of the comparison: bytes, and seconds to the first picture that stays."""
    found = measured(ROOT / "examples" / "benchmarks" / "finished_picture.mjs", path, libraries)
    finished = "none in a minute" if found["finished"] is None else f"{found['finished']:.1f}"
    megabytes = [f"{size / 1e6:.2f}" for size in (path.stat().st_size, found["fetched"])]
    return [name, *megabytes, f"{seconds:.1f}", finished]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", help="keep the pages in this folder")
    options = parser.parse_args()
    rows = [["page", "MB", "limit", "seconds to write", "to first picture", "to map", "frames per second"]]
    both = [["page", "MB", "MB from the network", "seconds to write", "to a picture that stays"]]
    compared = importlib.util.find_spec("datamapplot") is not None
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(options.output or spare)
        folder.mkdir(parents=True, exist_ok=True)
        if compared:
            subprocess.run(["npm", "install", "--silent", "--prefix", spare, *LIBRARIES], check=True)
        for name, (points, levels) in SIZES.items():
            content = made(points, levels)
            path = folder / f"{points}.html"
            written = explored(*content, path)
            found = measured(ROOT / "tests" / "explorer" / "measure.mjs", path)
            size = f"{path.stat().st_size / 1e6:.2f}"
            seconds = [f"{figure:.2f}" for figure in (written, found["first"], found["map"])]
            rows.append([name, size, LIMITS.get(name, "none"), *seconds, f"{found['frames']:.0f}"])
            if compared and name in LIMITS:
                both.append(beside(f"{name}, graphsoft", path, written, Path(spare)))
                other = folder / f"{points}-datamapplot.html"
                both.append(beside(f"{name}, DataMapPlot", other, plotted(*content, other), Path(spare)))
    print(markdown(rows[0], rows[1:]))
    if compared:
        print(f"\n{markdown(both[0], both[1:])}")


if __name__ == "__main__":
    main()
