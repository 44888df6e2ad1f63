"""The folder of labeled sets that the scripts beside this one read."""

import argparse
from pathlib import Path


def folder(text):
    """Read the value of ``--data``; one that is no folder, or holds no sets, ends the script with a word."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    if not any(path.glob("*.npz")):
        raise argparse.ArgumentTypeError(f"{text} holds no .npz file")
    return path
