"""Write the sets that come from scikit-learn, networkx and palmerpenguins: ``python make_bundled.py``."""

import csv
import gzip
import io
from pathlib import Path

import networkx as nx
import numpy as np
from palmerpenguins import load_penguins
from sklearn.datasets import load_digits, load_iris

FOLDER = Path(__file__).parent
BODY = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def table(header: list[str], rows: list[list[object]]) -> bytes:
    """Return a csv file's bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def main() -> None:
    """Write digits.csv.gz, iris.csv, penguins.csv, karate.graphml and les_miserables.graphml."""
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

    measured = load_penguins().dropna(subset=BODY)
    numbers = measured[BODY].to_numpy(dtype=np.float64)
    # millimeters and grams do not compare; standard deviations do
    scaled = ((numbers - numbers.mean(axis=0)) / numbers.std(axis=0)).round(3)
    birds = [[*row, kind] for row, kind in zip(scaled.tolist(), measured["species"], strict=True)]
    titles = [name.rpartition("_")[0] for name in BODY]
    (FOLDER / "penguins.csv").write_bytes(table([*titles, "species"], birds))

    nx.write_graphml_xml(nx.karate_club_graph(), FOLDER / "karate.graphml")
    nx.write_graphml_xml(nx.les_miserables_graph(), FOLDER / "les_miserables.graphml")


if __name__ == "__main__":
    main()
