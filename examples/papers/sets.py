"""What the examples share: the sets that they read, and their options on the command line."""

import argparse
from pathlib import Path

import numpy as np

from graphsoft.datasets import read

BUNDLED = Path(__file__).parents[2] / "data"


def page_parser(doc, data=None, quick=None, output="out"):
    """Make the parser of ``--data``, ``--output`` and ``--quick``.

    `data` and `quick` are the help texts. An option without a text is left out.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("--data", type=folder_of_sets, metavar="DIR", help=data)
    parser.add_argument("--output", type=new_folder, default=output, metavar="DIR", help="for the pictures")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def folder_of_sets(text):
    """Check the value of ``--data``."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    if not any(path.glob("*.npz")):
        raise argparse.ArgumentTypeError(f"{text} holds no .npz file")
    return path


def new_folder(text):
    """Make the folder that ``--output`` names, unless it is there."""
    path = Path(text)
    path.mkdir(parents=True, exist_ok=True)
    return path


def bundled(name):
    """Read a table that comes with the project; its column ``label`` holds the classes."""
    return read(BUNDLED / name, labels="label")


def labeled(folder, name):
    """Read the features, or the graph, and the classes of one set in a folder."""
    found = read(folder / f"{name}.npz", labels="y")
    return found.data, found.labels


def labeled_sets(folder):
    """Yield name, features or graph, and classes of every set in a folder that has classes."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as held:
            has_classes = "y" in held
        if has_classes:
            yield path.stem, *labeled(folder, path.stem)
