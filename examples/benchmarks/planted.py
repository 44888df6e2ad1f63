"""Draw points around centers, so that their groups are known, and write their neighbor graph to a file.

    python examples/benchmarks/planted.py FILE [--points grouped|nested] [--nodes N] [--neighbors K]

All points have 8 dimensions. ``grouped`` has 100 centers, of which each ten are near each other; ``nested``
has 10,000 centers, in ten groups of ten groups of ten groups of ten. The known groups are the ten groups of
centers.
"""

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphsoft import knn_graph

GROUPS, CENTERS, DIMENSIONS = 10, 100, 8
NESTED = (12.0, 6.0, 3.0, 1.5)  # distances between centers at each level of ``nested``


def grouped_points(count):
    """Draw points around 100 centers, of which each ten are near each other; return points and groups."""
    rng = np.random.default_rng(0)
    around = 4.0 * rng.normal(size=(GROUPS, DIMENSIONS))
    centers = np.repeat(around, CENTERS // GROUPS, axis=0) + 1.5 * rng.normal(size=(CENTERS, DIMENSIONS))
    center = rng.integers(CENTERS, size=count)
    return centers[center] + rng.normal(size=(count, DIMENSIONS)), center // (CENTERS // GROUPS)


def nested_points(count):
    """Draw points around 10,000 centers, ten by ten by ten by ten; return points and the ten top groups."""
    rng = np.random.default_rng(0)
    centers = np.zeros((1, DIMENSIONS))
    for distance in NESTED:
        centers = np.repeat(centers, 10, axis=0)
        centers += distance * rng.normal(size=centers.shape)
    center = rng.integers(len(centers), size=count)
    return centers[center] + rng.normal(size=(count, DIMENSIONS)), center // (len(centers) // GROUPS)


def separate_points(count, clusters):
    """Draw points around centers that are far apart; return points and the center of each."""
    rng = np.random.default_rng(0)
    centers = 5.0 * rng.normal(size=(clusters, DIMENSIONS))
    center = rng.integers(clusters, size=count)
    return centers[center] + rng.normal(size=(count, DIMENSIONS)), center


POINTS = {"grouped": grouped_points, "nested": nested_points}


def make_graph(points, nodes, neighbors, file):
    """Draw points, and write their neighbor graph."""
    features, groups = POINTS[points](nodes)
    save(file, knn_graph(features, neighbors, rng=0).adjacency, groups)


def save(file, W, groups):
    """Write a graph, and the group of every node."""
    np.savez(file, data=W.data, indices=W.indices, indptr=W.indptr, planted=groups)


def load(file):
    """Read a graph, as a matrix of the type that all tools take, and the group of every node."""
    with np.load(file, allow_pickle=False) as held:
        buffers, groups = [held[key] for key in ("data", "indices", "indptr")], held["planted"]
    W = sp.csr_matrix(tuple(buffers), shape=(len(groups),) * 2)
    W.has_canonical_format = True
    return W, groups


def held_bytes(W):
    """Return the size of a CSR matrix in memory."""
    return W.data.nbytes + W.indices.nbytes + W.indptr.nbytes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="an .npz file to write")
    parser.add_argument("--points", choices=POINTS, default="grouped")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--neighbors", type=int, default=15)
    options = parser.parse_args()
    make_graph(options.points, options.nodes, options.neighbors, options.file)


if __name__ == "__main__":
    main()
