"""Write the sets that come from scikit-learn and networkx: ``python make_bundled.py``."""

import csv
import gzip
import io
from pathlib import Path

import networkx as nx
from sklearn.datasets import load_digits, load_iris

FOLDER = Path(__file__).parent


def table(header: list[str], rows: list[list[object]]) -> bytes:
    """Return a csv file's bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def main() -> None:
    """Write digits.csv.gz, iris.csv, karate.graphml and les_miserables.graphml."""
    digits = load_digits()
    pixels = [[*map(int, image), int(label)] for image, label in zip(digits.data, digits.target, strict=True)]
    # without a time stamp, so that the bytes are the same each time
    packed = gzip.compress(table([*digits.feature_names, "label"], pixels), compresslevel=9, mtime=0)
    (FOLDER / "digits.csv.gz").write_bytes(packed)

    iris = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    flowers = [
        [*row, str(iris.target_names[label])]
        for row, label in zip(iris.data.tolist(), iris.target, strict=True)
    ]
    (FOLDER / "iris.csv").write_bytes(table([*names, "label"], flowers))

    nx.write_graphml_xml(nx.karate_club_graph(), FOLDER / "karate.graphml")
    nx.write_graphml_xml(nx.les_miserables_graph(), FOLDER / "les_miserables.graphml")


if __name__ == "__main__":
    main()
