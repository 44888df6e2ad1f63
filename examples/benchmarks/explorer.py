"""How large a page of the explorer is, how soon it shows its first picture, and how smoothly its map moves.

``python examples/benchmarks/explorer.py`` needs Node.js, a Chromium (or its path in CHROMIUM), and once
``npm ci --prefix graphsoft/explorer/page``. Chromium draws without a graphics card.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from tables import markdown

import graphsoft

ROOT = Path(__file__).parents[2]
SIZES = {"2,000 points": (2_000, (100, 20, 5)), "100,000 points": (100_000, (10_000, 1_000, 100, 10))}
LIMITS = {"2,000 points": 1.5, "100,000 points": 30.0}  # megabytes


def page_of(points: int, levels: tuple[int, ...], path: Path) -> float:
    """Write the page of overlapping clusters with names and texts; returns the seconds of `explore` alone."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(levels[0], 3)) * 4
    data = centers[rng.integers(0, len(centers), points)] + rng.normal(size=(points, 3)) * 0.3
    h = graphsoft.hierarchy(data, levels=list(levels))
    words = np.array([f"word{number}" for number in range(5_000)])
    texts = [" ".join(words[rng.integers(0, len(words), 12)]) for _ in range(points)]
    begin = time.perf_counter()
    h.explore(path, coordinates=data[:, :2], texts=texts, names=[f"point {row}" for row in range(points)])
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", help="keep the pages in this folder")
    options = parser.parse_args()
    rows = [["page", "MB", "limit", "seconds to write", "to first picture", "to map", "frames per second"]]
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(options.output or spare)
        folder.mkdir(parents=True, exist_ok=True)
        for name, (points, levels) in SIZES.items():
            path = folder / f"{points}.html"
            written = page_of(points, levels, path)
            command = ["node", str(ROOT / "tests" / "explorer" / "measure.mjs"), str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            measured = json.loads(done.stdout)
            figures = [path.stat().st_size / 1e6, LIMITS[name], written, measured["first"], measured["map"]]
            rows.append([name, *(f"{figure:.2f}" for figure in figures), f"{measured['frames']:.0f}"])
    print(markdown(rows[0], rows[1:]))


if __name__ == "__main__":
    main()
