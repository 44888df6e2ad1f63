"""Compile the loops that most tests need: ``python warm_up.py PART``, in a process for each part.

Every worker of a test run compiles what it does not find in the cache. Workers start together: without this
each of them would compile the same loops at the same time.
"""

import sys
import warnings

import networkx as nx
import numpy as np
import scipy.sparse as sp

import graphsoft
from graphsoft.methods import METHODS, Relation, cluster_surviving


def clouds(points, features):
    rng = np.random.default_rng(0)
    return rng.normal(size=(points, features)) + 5 * rng.integers(0, 4, (points, 1))


def hierarchies():
    """What a hierarchy compiles, for points, sparse rows and graphs, and what its result can be asked."""
    X = clouds(300, 10)
    h = graphsoft.hierarchy(X, [20, 5], max_children=8)
    h.predict(X[:9] + 0.01)
    h.partial_update(X[:5] + 0.02)
    h.circles()
    graphsoft.hierarchy(nx.les_miserables_graph(), [12, 4], polish=False)
    graphsoft.hierarchy(sp.csr_array(np.where(X > 4, X, 0)), [20, 5], metric="cosine", affinity="features")
    graphsoft.knn_graph(X.astype(np.float32), weights="jaccard")
    graphsoft.propagate(h, {0: 0, 9: 1})
    graphsoft.bipartite_graph(np.random.default_rng(0).poisson(0.4, (20, 15)))


def methods():
    """What the other methods compile, and the approximate search for neighbors."""
    from graphsoft.neighbors.descent import descend

    X = clouds(120, 8)
    for name in METHODS:
        graphsoft.cluster(X, 3, method=name)
    graphsoft.cluster(X, 3, method=Relation(support="dense"))
    cluster_surviving(X)
    descend(clouds(2000, 8).astype(np.float32), 10, 0)


PARTS = {"hierarchies": hierarchies, "methods": methods}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    PARTS[sys.argv[1]]()
